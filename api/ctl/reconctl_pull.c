#include "api/ctl/reconctl_maps.h"
#include "api/ctl/reconctl_progress.h"
#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"

#include "proto/cloud/ply.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITE_EVERY_S 2.0 /* follow: time between two writes of the file */
#define RETRY_S 60.0

struct pull_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *output, *depth_out;
    bool follow, unplaced;
    double retry_s;
};

#define AT(field) offsetof(struct pull_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"output", 'O', "FILE", RECONCTL_OUTPUT, AT(output), 0, 0, "Write the cloud as PLY"},
    {"follow", 'f', NULL, RECONCTL_FLAG, AT(follow), 0, 0,
     "Stay until the session is closed, and write the file again as it grows"},
    {"unplaced", 0, NULL, RECONCTL_FLAG, AT(unplaced), 0, 0,
     "Write submaps without a place too, as they lie in themselves"},
    {"depth-out", 0, "FOLDER", RECONCTL_TEXT, AT(depth_out), 0, 0,
     "With --follow: write the depth of frames as 16-bit PNG as they are used"},
    {"retry", 0, "SECONDS", RECONCTL_REAL, AT(retry_s), 0, 86400,
     "Connect again while nothing has worked for less than this (60); 0 = give up at once"},
    {0},
};
/* clang-format on */

static void pull_defaults(void *arguments)
{
    ((struct pull_options *)arguments)->retry_s = RETRY_S;
}

struct pull {
    const struct pull_options *o;
    char id[CONTROL_ID_CAP];
    struct client_stream *stream;
    struct reconctl_maps *maps;
    bool synced, equal, changed, json, away;
    struct control_sync sync;
    /* members of the session's document */
    bool closed;
    uint64_t hash;
    char up[PLY_UP_CAP];
    bool guessed; /* poses are learned */
    double written_s;
    struct reconctl_progress progress;
};

static void on_cloud(void *ctx, const struct cloud *cloud)
{
    struct pull *p = ctx;

    (void)cloud;
    p->changed = true;
}

static void on_sync(void *ctx, const struct control_sync *sync, bool hash_equal)
{
    struct pull *p = ctx;

    p->synced = true;
    p->equal = hash_equal;
    p->sync = *sync;
}

static int on_result(void *ctx, const uint8_t *msg, size_t len, struct err *err)
{
    struct pull *p = ctx;

    return p->o->depth_out ? reconctl_maps_take(&p->maps, p->o->depth_out, msg, len, err) : 0;
}

static void on_ready(void *ctx, const struct control_ready *ready)
{
    (void)ready;
    ((struct pull *)ctx)->away = false;
}

/* The mirror is incomplete or may be behind: the session goes on without a connection. */
static void on_lost(void *ctx, const struct err *why, int retry_ms)
{
    struct pull *p = ctx;
    char text[RECONCTL_SHOWN];

    (void)retry_ms;
    if (!p->away)
        fprintf(stderr, "%sreconctl: %s: connecting again\n", reconctl_progress_clear(&p->progress),
                reconctl_shown(text, why->text, RECONCTL_SHOWN));
    p->away = true;
    p->synced = p->equal = false;
}

static void on_retry(void *ctx, const struct err *why, int wait_ms)
{
    char text[RECONCTL_SHOWN];
    (void)ctx;
    fprintf(stderr, "reconctl: %s: asking again in %.1f s\n",
            reconctl_shown(text, why->text, RECONCTL_SHOWN), wait_ms * 1e-3);
}

static bool pull_stopped(void *ctx)
{
    (void)ctx;
    return reconctl_stopped() > 0;
}

static void pull_show(struct pull *p, const char *type)
{
    const struct cloud *cloud = client_stream_cloud(p->stream);
    struct client_stream_stats stats;
    char buf[512];
    struct json_writer w = json_writer(buf, sizeof buf);

    client_stream_get_stats(p->stream, &stats);
    if (p->json) {
        json_open_map(&w, NULL);
        json_put_text(&w, "type", type);
        json_put_u64(&w, "revision", cloud_revision(cloud));
        json_put_u64(&w, "points", cloud_points(cloud));
        json_put_hex64(&w, "hash", cloud_hash(cloud));
        json_put_bool(&w, "hash_equal", p->synced && p->equal);
        json_put_u64(&w, "unplaced", cloud_unplaced(cloud));
        json_put_u64(&w, "blocks", stats.blocks);
        json_put_u64(&w, "block_bytes", stats.block_bytes);
        json_put_u64(&w, "reconnects", stats.reconnects);
        if (p->o->depth_out)
            json_put_u64(&w, "maps", stats.results);
        reconctl_print(&w);
        fflush(stdout);
    }
    if (!p->json && strcmp(type, "summary") == 0)
        printf("%llu points, revision %llu, hash %016llx: %s\n",
               (unsigned long long)cloud_points(cloud), (unsigned long long)cloud_revision(cloud),
               (unsigned long long)cloud_hash(cloud), p->equal ? "equal" : "NOT the server's");
    else if (p->progress.terminal) {
        struct reconctl_progress *q = &p->progress;

        snprintf(q->part[0], sizeof q->part[0], "%llu points",
                 (unsigned long long)cloud_points(cloud));
        snprintf(q->part[1], sizeof q->part[1], "%s", p->away ? "reconnecting" : "");
        snprintf(q->part[2], sizeof q->part[2], "revision %llu",
                 (unsigned long long)cloud_revision(cloud));
        snprintf(q->part[3], sizeof q->part[3], "%.1f kB received",
                 (double)stats.bytes_received * 1e-3);
        reconctl_progress_show(q, -1);
    }
}

static int write_cloud(struct pull *p, struct err *err)
{
    const struct control_ready *ready = client_stream_ready(p->stream);
    struct ply_frame frame;

    p->changed = false;
    p->written_s = reconctl_now_s();
    if (!p->o->output || !ready)
        return 0;
    frame = (struct ply_frame){ready->step_m, p->up, p->guessed};
    return ply_write_file(p->o->output, client_stream_cloud(p->stream), &frame, p->o->unplaced,
                          err);
}

/* Asks for the state of the session and the address of its stream. */
static int get_session(struct pull *p, struct client *client, char stream_url[256], struct err *err)
{
    char path[96];
    struct json *doc = NULL;
    int rc;

    snprintf(path, sizeof path, "/v1/sessions/%s", p->id);
    rc = reconctl_get(client, path, &doc, err);
    if (rc == 0) {
        snprintf(stream_url, 256, "%s", json_text(json_member(doc, "stream_url")));
        p->closed = strcmp(json_text(json_member(doc, "state")), "closed") == 0;
        snprintf(p->up, sizeof p->up, "%s",
                 json_text(json_member(json_member(doc, "options"), "up")));
        p->guessed = json_member(doc, "guessed") != NULL;
        p->hash = reconctl_hex(json_text(json_member(doc, "hash")));
    }
    json_free(&doc);
    return rc;
}

/* The same with retries, because nothing else is waiting yet. */
static int find_session(struct pull *p, const struct reconctl_link *link, char stream_url[256],
                        struct err *err)
{
    struct client_config config = link->config;
    struct client *client;
    int rc;

    config.retry_s = p->o->retry_s;
    config.on_retry = on_retry;
    config.stopped = pull_stopped;
    rc = client_open(&client, &config, err);
    if (rc == 0)
        rc = reconctl_find_session(p->id, client, p->o->common.operands[0], err);
    if (rc == 0)
        rc = get_session(p, client, stream_url, err);
    client_close(&client);
    return rc;
}

static bool whole(const struct pull *p)
{
    return p->synced && p->equal && !(p->closed && p->sync.hash != p->hash);
}

/* Runs the stream until the mirror equals the server's cloud and, with --follow, the session is
 * closed. */
static int pull_follow(struct pull *p, struct reconctl_link *link, struct err *err)
{
    char url[256];
    double asked_s = 0;
    int rc = 0;

    while (rc == 0 && !reconctl_stopped()) {
        rc = client_stream_run(p->stream, 200, err);
        if (rc || (p->synced && !p->o->follow))
            break;
        if (p->o->follow && reconctl_now_s() - asked_s > 1.0) {
            asked_s = reconctl_now_s();
            rc = get_session(p, link->client, url, err);
            if (rc == ERR_IO || rc == ERR_BUSY)
                rc = 0; /* the stream decides when to give up */
        }
        if (rc || (p->closed && whole(p)))
            break;
        if (p->changed && reconctl_now_s() - p->written_s > WRITE_EVERY_S) {
            rc = write_cloud(p, err);
            pull_show(p, "progress");
        }
        if ((p->changed || p->away) && reconctl_progress_due(&p->progress))
            pull_show(p, "");
    }
    /* A closed session ends the stream, which is no failure once the cloud is whole. */
    return rc == ERR_END && whole(p) ? 0 : rc;
}

static int pull_check(const struct pull_options *o, struct err *err)
{
    if (!o->depth_out)
        return 0;
    if (!o->follow)
        return err_set(err, ERR_INPUT,
                       "--depth-out goes with --follow: depth comes as frames are used");
    return reconctl_maps_check(o->depth_out, err);
}

static int pull_write(struct pull *p, struct err *err)
{
    int rc = write_cloud(p, err);

    return rc || !p->maps ? rc : reconctl_maps_end(p->maps, p->o->depth_out, err);
}

static void print_output(const struct pull *p)
{
    uint64_t left_out = p->o->unplaced ? 0 : cloud_unplaced(client_stream_cloud(p->stream));

    printf("cloud    %s\n", p->o->output);
    if (left_out)
        printf("         without %llu points of unplaced submaps (--unplaced)\n",
               (unsigned long long)left_out);
}

static int run_pull(void *arguments)
{
    const struct pull_options *o = arguments;
    struct pull p = {
        .o = o, .json = reconctl_json(&o->common), .progress = reconctl_progress_start()};
    struct reconctl_link link;
    struct client_stream_config config = {.role = CONTROL_VIEW,
                                          .reconnect_s = o->retry_s,
                                          .depth_every = o->depth_out != NULL,
                                          .ctx = &p,
                                          .on_ready = on_ready,
                                          .on_lost = on_lost,
                                          .on_cloud = on_cloud,
                                          .on_sync = on_sync,
                                          .on_result = on_result};
    struct err err;
    char url[256];
    int rc, code = RECONCTL_OK;

    rc = pull_check(o, &err);
    if (rc) {
        code = reconctl_fail(&o->common, &err);
        return rc == ERR_INPUT ? RECONCTL_USAGE : code;
    }
    rc = reconctl_link_open(&link, &o->common, false, &err);
    if (rc)
        return reconctl_fail(&o->common, &err);
    rc = find_session(&p, &link, url, &err);
    config.url = url;
    config.token = link.config.token;
    config.ca_file = link.config.ca_file;
    if (rc == 0)
        rc = client_stream_open(&p.stream, &config, &err);
    if (rc == 0)
        rc = pull_follow(&p, &link, &err);
    reconctl_progress_end(&p.progress, false);
    if (rc)
        code = reconctl_fail_server(&o->common, &err);
    /* Received data are kept even if the server failed. */
    if (p.stream && client_stream_ready(p.stream) && pull_write(&p, &err)) {
        code = reconctl_fail(&o->common, &err);
        goto out;
    }
    if (rc)
        goto out;
    pull_show(&p, "summary");
    if (o->output && !p.json)
        print_output(&p);
    if (o->depth_out && !p.json)
        printf("maps     %s\n", o->depth_out);
    if (p.synced && !p.equal)
        code = RECONCTL_HASH;
    else if (reconctl_stopped())
        code = RECONCTL_INTERRUPTED;
out:
    client_stream_close(&p.stream);
    reconctl_maps_free(&p.maps);
    reconctl_link_close(&link);
    return code;
}

RECONCTL_COMMAND(pull, "pull", "SESSION", "Receive a session's cloud as it grows", run_pull,
                 sizeof(struct pull_options), options, 0, pull_defaults);
