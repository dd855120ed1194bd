#include "api/ctl/reconctl_eval_feed.h"

#include "api/ctl/reconctl_eval_cloud.h"
#include "api/ctl/reconctl_push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest wait for an answer. The first frame takes long, because the network is planned for
 * it. */
#define SILENCE_S 120.0

struct reconctl_eval_feed {
    const struct reconctl_link *link;
    struct client_session session;
    struct client_stream *stream;
    struct control_ack ack;
    bool answered;
    struct lens lens;          /* of the frames */
    struct control_error said; /* the last `error` message */
};

static void on_ack(void *ctx, const struct control_ack *ack)
{
    struct reconctl_eval_feed *e = ctx;

    e->ack = *ack;
    e->answered = true;
}

static void on_error(void *ctx, const struct control_error *error)
{
    ((struct reconctl_eval_feed *)ctx)->said = *error;
}

static int create(struct reconctl_eval_feed *e, const struct reconctl_eval_feed_config *config,
                  struct err *err)
{
    struct reconctl_push_options *o = calloc(1, sizeof *o);
    char body[4096];
    int rc;

    if (!o)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    o->asked = (struct session_options){.name = "eval depth",
                                        .pose_source = SESSION_POSE_DEVICE,
                                        .net_w = config->net.w,
                                        .net_h = config->net.h,
                                        .max_depth_m = (float)config->max_depth_m,
                                        .preview = true,
                                        .journal = SESSION_JOURNAL_OFF,
                                        .mode = SESSION_LOSSLESS};
    o->option = *config->options;
    rc = reconctl_push_options_json(body, sizeof body, o, config->info, 0, err);
    free(o);
    return rc ? rc : client_session_create(e->link->client, body, &e->session, err);
}

int reconctl_eval_feed_open(struct reconctl_eval_feed **out,
                            const struct reconctl_eval_feed_config *config, struct err *err)
{
    struct reconctl_eval_feed *e = calloc(1, sizeof *e);
    struct client_stream_config stream = {.role = CONTROL_INGEST,
                                          .pose = FRAME_POSE_CV,
                                          .ctx = e,
                                          .on_ack = on_ack,
                                          .on_error = on_error};
    int rc;

    *out = e;
    if (!e)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    e->link = config->link;
    e->lens = config->info->lens;
    rc = create(e, config, err);
    if (rc == 0) {
        stream.url = e->session.stream_url;
        stream.token = e->session.ingest_token[0] ? e->session.ingest_token : e->link->config.token;
        stream.ca_file = e->link->config.ca_file;
        rc = client_stream_open(&e->stream, &stream, err);
    }
    if (rc == 0)
        rc = reconctl_source_declare(config->info, e->stream, err);
    if (rc)
        reconctl_eval_feed_close(out);
    return rc;
}

void reconctl_eval_feed_close(struct reconctl_eval_feed **out)
{
    struct reconctl_eval_feed *e = *out;
    struct err why = {0};
    char path[96];

    if (!e)
        return;
    client_stream_close(&e->stream);
    snprintf(path, sizeof path, "/v1/sessions/%.60s", e->session.id);
    if (e->session.id[0] &&
        client_request(e->link->client, "DELETE", path, NULL, NULL, NULL, NULL, &why))
        fprintf(stderr, "reconctl: session %s stays: %s\n", e->session.id, why.text);
    free(e);
    *out = NULL;
}

/* Lets the stream work. An error that the server sent before it closed the connection takes the
 * place of that of the connection. */
static int run_stream(struct reconctl_eval_feed *e, struct err *err)
{
    int rc = client_stream_run(e->stream, 100, err);

    if ((rc == ERR_END || rc == ERR_IO) && e->said.detail[0])
        return err_at(err, ERR_STATE, e->said.pointer, "%s", e->said.detail);
    return rc == ERR_END ? err_set(err, ERR_STATE, "the server ended the stream") : rc;
}

static int exchange(struct reconctl_eval_feed *e, const struct frame *f, struct err *err)
{
    double start_s = reconctl_now_s();
    bool sent = false;
    int rc = 0;

    e->answered = false;
    while (rc == 0 && !e->answered) {
        if (!sent && client_stream_window(e->stream) > 0) {
            rc = client_stream_send(e->stream, f, err);
            sent = true;
        }
        if (rc == 0)
            rc = run_stream(e, err);
        if (rc == 0 && reconctl_stopped())
            rc = err_set(err, ERR_END, "interrupted");
        if (rc == 0 && reconctl_now_s() - start_s > SILENCE_S)
            rc = err_set(err, ERR_IO, "the server has not answered a frame for %.0f s", SILENCE_S);
    }
    return rc;
}

/* Each pixel of a map of w x h pixels over the picture as it came has the depth that the server's
 * map has there. Where the server saw the picture as it came, that is its map itself. */
static int undo_map(const struct reconctl_eval_feed *e, float **depth, int w, int h,
                    const struct frame *f, struct err *err)
{
    const struct lens_map m = lens_map_make(&e->lens, f->K, f->width, f->height, w, h);
    float by_x = (float)f->width / (float)w, by_y = (float)f->height / (float)h;
    float *seen = *depth;

    if (!m.mapped)
        return 0;
    *depth = calloc((size_t)w * (size_t)h, sizeof **depth);
    for (int i = 0; *depth && i < w * h; i++) {
        float u = ((float)(i % w) + 0.5f) * by_x - 0.5f, v = ((float)(i / w) + 0.5f) * by_y - 0.5f;
        struct vec3 ray;

        if (!lens_ray(&m.lens, m.from, u, v, &ray) || !(ray.z > 0.1f))
            continue;
        u = m.K.fx * ray.x / ray.z + m.K.cx + 0.5f;
        v = m.K.fy * ray.y / ray.z + m.K.cy + 0.5f;
        if (u >= 0 && v >= 0 && u < (float)w && v < (float)h)
            (*depth)[i] = seen[(size_t)v * (size_t)w + (size_t)u];
    }
    free(seen);
    return *depth ? 0 : err_set(err, ERR_MEMORY, "no memory for a map");
}

int reconctl_eval_feed_frame(struct reconctl_eval_feed *e, float **depth, int *w, int *h,
                             const struct frame *frame, struct err *err)
{
    struct frame f = *frame;
    uint64_t seq = 0;
    int rc;

    *depth = NULL;
    if (!(f.flags & FRAME_HAS_POSE)) {
        f.T_wc = rigid_identity();
        f.flags |= FRAME_HAS_POSE | FRAME_TRACKING_NORMAL << 2;
    }
    rc = exchange(e, &f, err);
    if (rc)
        return rc;
    if (e->ack.status != CONTROL_USED)
        return err_set(err, ERR_UNSUPPORTED, "the server did not use it (%s)",
                       control_reason_name(e->ack.reason));
    rc = client_depth(e->link->client, e->session.id, depth, w, h, &seq, err);
    if (rc == 0 && seq != f.seq) {
        free(*depth);
        *depth = NULL;
        rc = err_set(err, ERR_STATE, "the server's depth is of frame %llu, not of %llu",
                     (unsigned long long)seq, (unsigned long long)f.seq);
    }
    return rc ? rc : undo_map(e, depth, *w, *h, &f, err);
}

int reconctl_eval_feed_exit(int rc, const struct reconctl_eval_feed *feed)
{
    if (rc == ERR_END)
        return RECONCTL_INTERRUPTED;
    if (rc == ERR_IO)
        return RECONCTL_UNREACHABLE;
    return !feed || rc == ERR_STATE || rc == ERR_BUSY || rc == ERR_DEVICE || rc == ERR_DENIED
               ? RECONCTL_REFUSED
               : RECONCTL_FAILURE;
}

int reconctl_eval_feed_finish(struct reconctl_eval_feed *e, struct ply_cloud *cloud,
                              struct err *err)
{
    double start_s = reconctl_now_s();
    char path[96];
    bool closed = false;
    int rc;

    *cloud = (struct ply_cloud){0};
    snprintf(path, sizeof path, "/v1/sessions/%.60s/close", e->session.id);
    rc = client_request(e->link->client, "POST", path, NULL, NULL, NULL, NULL, err);
    snprintf(path, sizeof path, "/v1/sessions/%.60s", e->session.id);
    while (rc == 0 && !closed) {
        struct json *doc = NULL;

        rc = reconctl_get(e->link->client, path, &doc, err);
        closed = rc == 0 && strcmp(json_text(json_member(doc, "state")), "closed") == 0;
        json_free(&doc);
        if (rc == 0 && !closed)
            reconctl_sleep_ms(50);
        if (rc == 0 && reconctl_stopped())
            rc = err_set(err, ERR_END, "interrupted");
        if (rc == 0 && !closed && reconctl_now_s() - start_s > SILENCE_S)
            rc = err_set(err, ERR_IO, "the session has not closed for %.0f s", SILENCE_S);
    }
    return rc ? rc : reconctl_eval_session_cloud(cloud, e->link->client, e->session.id, err);
}
