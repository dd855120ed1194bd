#include "api/ctl/reconctl_link.h"

#include <stdlib.h>
#include <string.h>

/* Reads the first line of the token file. */
static int read_token(struct reconctl_link *link, const char *file, struct err *err)
{
    FILE *in = fopen(file, "r");
    int rc = 0;

    if (!in)
        return err_at(err, ERR_NOT_FOUND, file, "cannot be read: %m");
    if (!fgets(link->token, sizeof link->token, in))
        rc = err_at(err, ERR_INPUT, file, "holds no token");
    link->token[strcspn(link->token, " \t\r\n")] = '\0';
    if (rc == 0 && !link->token[0])
        rc = err_at(err, ERR_INPUT, file, "holds no token in its first line");
    fclose(in);
    return rc;
}

static const struct client_hints hints = {
    .no_server = "start one there with `recond`, or name another with --url",
    .untrusted = "--ca FILE names the authority that signed the certificate",
    .no_token = "--token-file FILE or RECOND_TOKEN_FILE gives one",
};

static int answers(struct reconctl_link *link, struct err *err)
{
    return client_request(link->client, "GET", "/livez", NULL, NULL, NULL, NULL, err);
}

static int start_own(struct reconctl_link *link, struct err *err)
{
    char path[4096];
    int rc;

    if (!reconctl_server_find(path, sizeof path))
        return err_set(err, ERR_IO,
                       "no server answers at %s and no recond is beside reconctl or in PATH: start "
                       "one with `recond`, or name one with --url",
                       RECONCTL_DEFAULT_URL);
    client_close(&link->client);
    rc = reconctl_server_start(&link->server, err);
    if (rc)
        return rc;
    fprintf(stderr, "reconctl: no server answers at %s: started %s at %s for this run\n",
            RECONCTL_DEFAULT_URL, path, link->server.url);
    link->config.url = link->server.url;
    return client_open(&link->client, &link->config, err);
}

int reconctl_link_open(struct reconctl_link *link, const struct reconctl_common *common,
                       bool may_start, struct err *err)
{
    const char *env_url = getenv("RECOND_URL"), *env_file = getenv("RECOND_TOKEN_FILE");
    const char *env_ca = getenv("RECOND_CA_FILE");
    const char *file = common->token_file ? common->token_file : env_file;
    bool chosen = common->url || (env_url && *env_url);
    int rc = 0;

    *link = (struct reconctl_link){0};
    if (file && *file)
        rc = read_token(link, file, err);
    if (rc)
        return rc;
    link->config.url = common->url ? common->url : chosen ? env_url : RECONCTL_DEFAULT_URL;
    link->config.token = link->token[0] ? link->token : NULL;
    link->config.agent = "reconctl/" RECOND_VERSION;
    link->config.ca_file = common->ca_file ? common->ca_file : env_ca && *env_ca ? env_ca : NULL;
    link->config.timeout_s = common->timeout_s;
    link->config.hints = &hints;
    rc = client_open(&link->client, &link->config, err);
    if (rc == 0 && may_start && !chosen && answers(link, err) == ERR_IO)
        rc = start_own(link, err);
    if (rc)
        reconctl_link_close(link);
    return rc;
}

int reconctl_delete_session(const struct client_config *config, const struct client_session *s,
                            struct err *err)
{
    struct client_config own = *config;
    struct client *client;
    char path[96];
    int rc;

    if (s->ingest_token[0])
        own.token = s->ingest_token;
    rc = client_open(&client, &own, err);
    if (rc)
        return rc;
    snprintf(path, sizeof path, "/v1/sessions/%s", s->id);
    rc = client_request(client, "DELETE", path, NULL, NULL, NULL, NULL, err);
    client_close(&client);
    return rc;
}

void reconctl_link_close(struct reconctl_link *link)
{
    client_close(&link->client);
    reconctl_server_stop(&link->server);
    explicit_bzero(link->token, sizeof link->token);
}

int reconctl_get(struct client *client, const char *path, struct json **doc, struct err *err)
{
    char *body = NULL;
    size_t len = 0;
    int rc = client_request(client, "GET", path, NULL, &body, &len, NULL, err);

    *doc = NULL;
    if (rc == 0)
        rc = json_parse(doc, body, len, 16, err);
    free(body);
    return rc;
}
