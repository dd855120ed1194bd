#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_TOLERANCE_S 5.0

enum verdict { GOOD, WARN, BAD };

struct report {
    bool json;
    int bad, warnings;
    int code; /* exit code of the first failed check */
};

static void report_say(struct report *r, enum verdict v, int code, const char *what,
                       const char *fmt, ...) ERR_PRINTF(5, 6);

static void report_say(struct report *r, enum verdict v, int code, const char *what,
                       const char *fmt, ...)
{
    static const char *const names[] = {"ok", "warning", "bad"};
    char text[400], buf[700];
    struct json_writer w = json_writer(buf, sizeof buf);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->bad += v == BAD;
    r->warnings += v == WARN;
    if (v == BAD && !r->code)
        r->code = code;
    if (!r->json) {
        reconctl_put_text(19, "%-8s %-9s %s", names[v], what, text);
        return;
    }
    json_open_map(&w, NULL);
    json_put_text(&w, "type", "check");
    json_put_text(&w, "check", what);
    json_put_text(&w, "verdict", names[v]);
    json_put_text(&w, "text", text);
    reconctl_print(&w);
}

/* ------------------------------------------------------------------------- this host */

static void check_machine(struct report *r, const struct reconctl_common *common)
{
    const char *env = getenv("RECOND_TOKEN_FILE");
    const char *file = common->token_file ? common->token_file : env && *env ? env : NULL;
    char path[4096];
    struct stat st;
    time_t now = time(NULL);

    report_say(r, GOOD, 0, "version", "reconctl %s", RECOND_VERSION);
    if (reconctl_server_in_path("ffmpeg", path, sizeof path))
        report_say(r, GOOD, 0, "ffmpeg", "%s", path);
    else
        report_say(r, WARN, 0, "ffmpeg",
                   "not in PATH: `push` takes folders and MJPEG, but no video files");
    if (reconctl_server_find(path, sizeof path))
        report_say(r, GOOD, 0, "recond", "%s", path);
    else
        report_say(r, WARN, 0, "recond",
                   "not beside reconctl nor in PATH: `push` cannot start one");
    if (now < 1600000000)
        report_say(r, BAD, RECONCTL_FAILURE, "clock", "this machine's clock says %lld: set it",
                   (long long)now);
    if (!file)
        report_say(r, GOOD, 0, "token", "none given (enough where the server asks for none)");
    else if (stat(file, &st) != 0)
        report_say(r, BAD, RECONCTL_FAILURE, "token", "%s cannot be read: %m", file);
    else if (st.st_mode & 077)
        report_say(r, WARN, 0, "token", "%s can be read by others: chmod 600", file);
    else
        report_say(r, GOOD, 0, "token", "%s", file);
}

/* ------------------------------------------------------------------------------------ server */

/* Makes a session, reads the server's clock from it and deletes it. */
static void check_session(struct report *r, struct client *client,
                          const struct client_config *config)
{
    struct client_session s;
    struct json *doc = NULL;
    struct err err;
    struct tm tm = {0};
    char path[96];
    double off;
    time_t before = time(NULL);

    if (client_session_create(client, "{\"name\":\"doctor\"}", &s, &err)) {
        report_say(r, BAD, RECONCTL_REFUSED, "session", "cannot be created: %s", err.text);
        return;
    }
    snprintf(path, sizeof path, "/v1/sessions/%s", s.id);
    if (reconctl_get(client, path, &doc, &err) == 0 &&
        strptime(json_text(json_member(doc, "created")), "%Y-%m-%dT%H:%M:%S", &tm)) {
        off = difftime(timegm(&tm), before);
        report_say(r, fabs(off) > CLOCK_TOLERANCE_S ? WARN : GOOD, 0, "clock",
                   "the server's differs by %.0f s", off);
    }
    json_free(&doc);
    if (reconctl_delete_session(config, &s, &err)) {
        report_say(r, WARN, 0, "session", "%s was created and stays: %s", s.id, err.text);
    } else {
        /* If the port is right, a stream of a deleted session is answered with 404. */
        struct client_stream_config to = {.url = s.stream_url,
                                          .token = s.ingest_token,
                                          .ca_file = config->ca_file,
                                          .role = CONTROL_VIEW};
        struct client_stream *stream = NULL;
        int rc;

        report_say(r, GOOD, 0, "session", "created and deleted; streams at %s", s.stream_url);
        rc = client_stream_open(&stream, &to, &err);

        for (int i = 0; rc == 0 && i < 50; i++)
            rc = client_stream_run(stream, 100, &err);
        if (rc == ERR_IO || rc == 0)
            report_say(r, BAD, RECONCTL_UNREACHABLE, "stream", "%s: %s", s.stream_url,
                       rc ? err.text : "no answer");
        else
            report_say(r, GOOD, 0, "stream", "port answers");
        client_stream_close(&stream);
    }
}

static void check_devices(struct report *r, struct client *client)
{
    struct json *doc = NULL;
    const struct json *list, *d;
    struct err err;
    int rc = reconctl_get(client, "/v1/devices", &doc, &err);

    if (rc) {
        report_say(r, BAD, RECONCTL_REFUSED, "devices", "%s", err.text);
        return;
    }
    list = json_member(doc, "devices");
    for (size_t i = 0; (d = json_item(list, i)); i++) {
        bool cpu = strcmp(json_text(json_member(d, "backend")), "cpu") == 0;

        report_say(r, GOOD, 0, "device", "%s: %s, %s%s%s", json_text(json_member(d, "name")),
                   json_text(json_member(d, "backend")), json_text(json_member(d, "model")),
                   *json_text(json_member(d, "why")) ? ": " : "", json_text(json_member(d, "why")));
        if (cpu && access("/proc/driver/nvidia/version", R_OK) == 0)
            report_say(r, WARN, 0, "gpu",
                       "this machine has an NVIDIA driver, the server computes on the CPU");
    }
    if (json_count(list) == 0)
        report_say(r, BAD, RECONCTL_FAILURE, "devices", "the server has none");
    json_free(&doc);
    if (reconctl_get(client, "/v1/models", &doc, &err) == 0) {
        size_t n = json_count(json_member(doc, "models"));

        report_say(r, n ? GOOD : BAD, RECONCTL_FAILURE, "models", "%zu networks", n);
    }
    json_free(&doc);
}

static int run_doctor(void *arguments)
{
    const struct reconctl_common *common = arguments;
    struct report r = {.json = reconctl_json(common)};
    struct reconctl_link link;
    struct err err;
    int rc;

    check_machine(&r, common);
    rc = reconctl_link_open(&link, common, false, &err);
    if (rc) {
        report_say(&r, BAD, RECONCTL_FAILURE, "server", "%s%s%s", err.where,
                   err.where[0] ? ": " : "", err.text);
        return r.code;
    }
    rc = client_request(link.client, "GET", "/livez", NULL, NULL, NULL, NULL, &err);
    if (rc) {
        report_say(&r, BAD, rc == ERR_IO ? RECONCTL_UNREACHABLE : RECONCTL_REFUSED, "server", "%s",
                   err.text);
        goto out;
    }
    rc = client_request(link.client, "GET", "/readyz", NULL, NULL, NULL, NULL, &err);
    report_say(&r, rc ? BAD : GOOD, RECONCTL_REFUSED, "server", "%s%s", link.config.url,
               rc ? " answers, but is not ready" : " is ready");
    if (rc == 0) {
        check_devices(&r, link.client);
        check_session(&r, link.client, &link.config);
    }
out:
    reconctl_link_close(&link);
    if (!r.json)
        printf("%d bad, %d warnings\n", r.bad, r.warnings);
    return r.code;
}

RECONCTL_COMMAND(doctor, "doctor", "", "Check this machine, the server and the way between them",
                 run_doctor, sizeof(struct reconctl_common));
