#include "api/ctl/reconctl_push.h"
#include "api/ctl/reconctl_link.h"

#include "proto/cloud/ply.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASK_FIRST_S 0.02 /* pause between two requests for a closing session; at the end: */
#define ASK_LAST_S 0.5
#define CLOSE_S 30.0 /* longest wait without news for `closed` or equal hashes */

static int get_session(struct reconctl_push_job *j)
{
    struct json *doc = NULL;
    const struct json *counts, *scale;
    char path[96];
    int rc;

    snprintf(path, sizeof path, "/v1/sessions/%s", j->session.id);
    rc = reconctl_get(j->client, path, &doc, &j->err);
    if (rc == 0) {
        j->closed = strcmp(json_text(json_member(doc, "state")), "closed") == 0;
        j->server_hash = reconctl_hex(json_text(json_member(doc, "hash")));
        j->server_points = (uint64_t)json_i64(json_member(doc, "points"));
        j->guessed = *json_text(json_member(doc, "guessed"));
        j->poses_wrong = strcmp(json_text(json_member(json_member(doc, "views"), "state")),
                                "poses_disagree") == 0;
        scale = json_member(doc, "scale");
        j->scale = (float)json_f64(json_member(scale, "median"));
        j->sigma = (float)json_f64(json_member(scale, "median_sigma"));
        counts = json_member(doc, "counts");
        j->counts.received = (uint64_t)json_i64(json_member(counts, "received"));
        j->counts.used = (uint64_t)json_i64(json_member(counts, "used"));
        j->counts.dropped = (uint64_t)json_i64(json_member(counts, "dropped"));
        j->counts.refused = (uint64_t)json_i64(json_member(counts, "refused"));
        j->counts.keyframes = (uint64_t)json_i64(json_member(counts, "keyframes"));
    }
    json_free(&doc);
    return rc;
}

static int get_export_hash(struct reconctl_push_job *j)
{
    char path[96], header[PLY_HEADER_MAX + 1], *at;
    size_t len;
    int rc;

    snprintf(path, sizeof path, "/v1/sessions/%s/cloud", j->session.id);
    rc = client_peek(j->client, path, header, sizeof header, &len, &j->err);
    if (rc)
        return rc;
    at = strstr(header, "hash ");
    if (!at)
        return err_set(&j->err, ERR_INPUT, "the exported PLY names no hash");
    j->export_hash = reconctl_hex(at + 5);
    return 0;
}

/* Closes the session. Closing twice does no harm, so the request is repeated if its answer was
 * lost; a session that is closed or takes no more frames got the first request. */
static int close_session(struct reconctl_push_job *j)
{
    const struct timespec pause = {.tv_nsec = 500000000}; /* also after Ctrl-C */
    double start_s = reconctl_now_s();
    char path[96];
    int rc;

    snprintf(path, sizeof path, "/v1/sessions/%s/close", j->session.id);
    for (int n = 0;; n++) {
        rc = client_request(j->client, "POST", path, NULL, NULL, NULL, NULL, &j->err);
        if (n > 0 && rc == ERR_STATE)
            return 0;
        if (rc != ERR_IO || reconctl_now_s() - start_s >= j->options->retry_s)
            return rc;
        nanosleep(&pause, NULL);
    }
}

/* A session that other clients may feed goes on: the mirror was compared at the last `sync`. */
static int verify_open(struct reconctl_push_job *j)
{
    const struct cloud *cloud = client_stream_cloud(j->stream);
    int rc = get_session(j);

    j->server_hash = j->export_hash = j->sync.hash;
    j->server_points = j->sync.points;
    j->hash = j->hash_equal ? j->sync.hash : cloud_hash(cloud);
    j->n_points = j->hash_equal ? j->sync.points : cloud_points(cloud);
    client_stream_get_stats(j->stream, &j->stats);
    return rc;
}

int reconctl_push_verify(struct reconctl_push_job *j)
{
    const struct cloud *cloud = client_stream_cloud(j->stream);
    double heard_s = reconctl_now_s(), ask_s = 0, pause_s = ASK_FIRST_S;
    uint64_t heard = 0;
    struct err ignored;
    int rc;

    if (j->options->into)
        return verify_open(j);
    rc = close_session(j);

    while (rc == 0) {
        /* the pauses grow, because the connection is busy with the cloud */
        if (reconctl_now_s() >= ask_s) {
            rc = get_session(j);
            ask_s = reconctl_now_s() + pause_s;
            pause_s = pause_s * 1.5 < ASK_LAST_S ? pause_s * 1.5 : ASK_LAST_S;
        }
        j->hash = cloud_hash(cloud);
        j->n_points = cloud_points(cloud);
        client_stream_get_stats(j->stream, &j->stats);
        if (j->stats.bytes_received != heard)
            heard_s = reconctl_now_s();
        heard = j->stats.bytes_received;
        if (rc || (j->closed && j->hash == j->server_hash) || reconctl_now_s() - heard_s > CLOSE_S)
            break;
        /* Closing ends the stream, so its last messages are read first. */
        if (client_stream_run(j->stream, 20, &ignored) || !client_stream_connected(j->stream))
            reconctl_sleep_ms(20);
    }
    if (!reconctl_push_kind(j->options)->has_map) {
        j->export_hash = j->server_hash;
        j->n_points = j->stats.results;
    } else if (rc == 0) {
        rc = get_export_hash(j);
    }
    atomic_store(&j->reconnecting, false);
    return rc;
}

/* ------------------------------------------------------------------------------------ results */

static int write_outputs(struct reconctl_push_job *j, struct err *err)
{
    const struct reconctl_push_options *o = j->options;
    char path[96];
    int rc = 0;

    if (o->output && j->index == 0) {
        rc = reconctl_push_kind(o)->write(j, err);
        j->written = rc == 0;
    }
    if (rc == 0 && o->depth_out && j->index == 0 && j->stats.results)
        rc = reconctl_maps_end(j->maps, o->depth_out, err);
    snprintf(path, sizeof path, "/v1/sessions/%s/trajectory%s", j->session.id,
             o->unplaced ? "?unplaced=1" : "");
    if (rc == 0 && j->exit == 0 && o->trajectory && j->index == 0)
        rc = client_download(j->client, path, o->trajectory, err);
    if (rc == 0 && j->sheet)
        rc = reconctl_sheet_write(j->sheet, o->sheet, j->session.up, err);
    return rc;
}

void reconctl_push_deliver(struct reconctl_push_job *j, int rc)
{
    const struct cloud *cloud = j->stream ? client_stream_cloud(j->stream) : NULL;
    struct err why;

    if (rc && reconctl_push_kind(j->options)->has_map && cloud) {
        j->hash = cloud_hash(cloud);
        j->n_points = cloud_points(cloud);
    } else if (rc) {
        j->n_points = j->stats.results;
    }
    if ((rc == 0 || j->n_points) && write_outputs(j, rc ? &why : &j->err)) {
        if (rc)
            fprintf(stderr, "reconctl: %s: %s\n", why.where, why.text);
        j->exit = rc ? j->exit : RECONCTL_FAILURE;
    } else if (rc == 0 && (j->hash != j->server_hash || j->hash != j->export_hash)) {
        j->exit = RECONCTL_HASH;
        err_set(&j->err, ERR_STATE,
                "the mirror's hash %016llx is not the server's %016llx (export %016llx)",
                (unsigned long long)j->hash, (unsigned long long)j->server_hash,
                (unsigned long long)j->export_hash);
    }
}

/* ------------------------------------------------------------------------------------ session */

/* Returns whether the server said that the session no longer exists. */
static bool gone(struct reconctl_push_job *j, const char *path)
{
    struct err ignored;

    return client_request(j->client, "GET", path, NULL, NULL, NULL, NULL, &ignored) ==
           ERR_NOT_FOUND;
}

void reconctl_push_leave(struct reconctl_push_job *j, int rc)
{
    bool away = rc == ERR_IO || rc == ERR_BUSY; /* the job gave up on the server */
    char path[96];
    struct err why = {0};

    if (!j->session.id[0] || j->options->keep || j->options->into)
        return;
    snprintf(path, sizeof path, "/v1/sessions/%s", j->session.id);
    if (j->exit == 0 || (j->n_sent == 0 && !away)) {
        struct client_config config = *j->rest;

        config.retry_s = j->options->retry_s;
        j->kept = reconctl_delete_session(&config, &j->session, &why) != 0;
        if (j->kept)
            fprintf(stderr, "reconctl: session %s stays: %s\n", j->session.id, why.text);
        return;
    }
    j->kept = away || !gone(j, path);
    if (j->kept)
        fprintf(stderr,
                "reconctl: session %s stays at %s, because its results are not here: `reconctl "
                "%s %s` fetches its %s\n",
                j->session.id, j->rest->url,
                reconctl_push_kind(j->options)->has_map ? "export" : "session get", j->session.id,
                reconctl_push_kind(j->options)->has_map ? "cloud" : "state");
}
