#include "api/ctl/reconctl_push.h"

#include "api/file.h"
#include "proto/cloud/ply.h"

#include <stdlib.h>
#include <string.h>

#define RATE_SLACK 0.95 /* share of the source's rate; a useful rate above it means all frames */
#define SILENCE_S 60.0  /* a server that sends nothing for so long is given up */

/* ------------------------------------------------------------------------------------ stream */

/* The answer to a frame that was sent again does not tell how long it took. */
static void on_ack(void *ctx, const struct control_ack *ack)
{
    struct reconctl_push_job *j = ctx;
    uint64_t before = j->stats.duplicates;
    double *sent_s = &j->sent_s[ack->seq % RECONCTL_PUSH_SENT_MAX];

    j->n_answered++;
    client_stream_get_stats(j->stream, &j->stats);
    if (j->stats.duplicates != before)
        reconctl_meter_duplicate(j->meter);
    reconctl_meter_answered(j->meter, ack, ack->again ? -1 : reconctl_now_s() - *sent_s);
}

static void on_ready(void *ctx, const struct control_ready *ready)
{
    struct reconctl_push_job *j = ctx;

    if (j->n_sent == 0 && ready->any_seq)
        j->first_seq = ready->last_seq + 1;
    atomic_store(&j->reconnecting, false);
}

static void on_lost(void *ctx, const struct err *why, int retry_ms)
{
    struct reconctl_push_job *j = ctx;
    char text[RECONCTL_SHOWN];

    (void)retry_ms;
    if (!atomic_exchange(&j->reconnecting, true) && j->index == 0)
        fprintf(stderr, "%sreconctl: %s: connecting again\n", j->terminal ? "\r\033[K" : "",
                reconctl_shown(text, why->text, RECONCTL_SHOWN));
    j->ended = j->hash_equal = false;
}

static void on_cloud(void *ctx, const struct cloud *cloud)
{
    struct reconctl_push_job *j = ctx;

    client_stream_get_stats(j->stream, &j->stats);
    atomic_store(&j->points, cloud_points(cloud));
    atomic_store(&j->block_bytes, j->stats.block_bytes);
    atomic_store(&j->points_received, j->stats.points_received);
}

/* The session has dropped an object for another one; here the first lost object is dropped. */
static void on_objects(void *ctx, const struct control_objects *objects)
{
    struct reconctl_push_job *j = ctx;

    for (int i = 0; i < objects->n; i++) {
        int at = 0;

        while (at < j->n_objects && j->objects[at].id != objects->at[i].id)
            at++;
        for (int k = 0; at == RECONCTL_PUSH_OBJECTS_MAX && k < at; k++)
            if (j->objects[k].state == CONTROL_OBJECT_LOST)
                at = k;
        if (at == RECONCTL_PUSH_OBJECTS_MAX)
            continue;
        j->n_objects += at == j->n_objects;
        j->objects[at] = objects->at[i];
    }
}

static void on_sync(void *ctx, const struct control_sync *sync, bool hash_equal)
{
    struct reconctl_push_job *j = ctx;

    j->hash_equal = hash_equal;
    j->sync = *sync;
}

static void on_ended(void *ctx, bool closed)
{
    struct reconctl_push_job *j = ctx;
    j->ended |= !closed;
}

static void on_error(void *ctx, const struct control_error *error)
{
    struct reconctl_push_job *j = ctx;
    j->server_said = *error;
}

static const char *stream_token(const struct reconctl_push_job *j)
{
    return j->session.ingest_token[0] ? j->session.ingest_token : j->rest->token;
}

static int on_result(void *ctx, const uint8_t *msg, size_t len, struct err *err)
{
    struct reconctl_push_job *j = ctx;
    const struct reconctl_push_options *o = j->options;
    const char *folder = o->depth_out;

    client_stream_get_stats(j->stream, &j->stats);
    if (!reconctl_push_kind(o)->has_map) {
        folder = o->output;
        atomic_store(&j->points, j->stats.results);
        atomic_store(&j->points_received, j->stats.results);
        atomic_store(&j->block_bytes, j->stats.result_bytes);
    }
    return reconctl_maps_take(&j->maps, j->index ? NULL : folder, msg, len, err);
}

static int open_stream(struct reconctl_push_job *j)
{
    struct client_stream_config config = {
        .url = j->session.stream_url,
        .token = stream_token(j),
        .ca_file = j->rest->ca_file,
        .role = CONTROL_INGEST,
        .source = j->options->source,
        .codecs = j->options->codecs,
        .pose = FRAME_POSE_CV,
        .reconnect_s = j->options->retry_s,
        .depth_every = j->options->depth_out && j->index == 0,
        .ctx = j,
        .on_ready = on_ready,
        .on_lost = on_lost,
        .on_ack = on_ack,
        .on_cloud = on_cloud,
        .on_objects = on_objects,
        .on_sync = on_sync,
        .on_ended = on_ended,
        .on_error = on_error,
        .on_result = on_result,
    };

    int rc = client_stream_open(&j->stream, &config, &j->err);

    return rc ? rc : reconctl_source_declare(&j->info, j->stream, &j->err);
}

static int run_stream(struct reconctl_push_job *j, int timeout_ms)
{
    return client_stream_run(j->stream, timeout_ms, &j->err);
}

/* ------------------------------------------------------------------------------------ rest */

static void on_retry(void *ctx, const struct err *why, int wait_ms)
{
    struct reconctl_push_job *j = ctx;
    char text[RECONCTL_SHOWN];

    if (!atomic_exchange(&j->reconnecting, true) && j->index == 0)
        fprintf(stderr, "%sreconctl: %s: asking again in %.1f s\n", j->terminal ? "\r\033[K" : "",
                reconctl_shown(text, why->text, RECONCTL_SHOWN), wait_ms * 1e-3);
}

/* Once there is a session the first Ctrl-C only ends the input, so that frames already sent are not
 * lost. */
static bool job_stopped(void *ctx)
{
    const struct reconctl_push_job *j = ctx;

    return reconctl_stopped() > 0 && !j->session.id[0];
}

static int open_client(struct reconctl_push_job *j)
{
    struct client_config config = *j->rest;

    config.retry_s = j->options->retry_s;
    config.ctx = j;
    config.on_retry = on_retry;
    config.stopped = job_stopped;
    return client_open(&j->client, &config, &j->err);
}

/* ------------------------------------------------------------------------------------ frames */

static int job_open(struct reconctl_push_job *j)
{
    const struct reconctl_push_options *o = j->options;
    char body[4096];
    int rc = j->source ? 0 : reconctl_push_source(&j->source, o, &j->err);

    if (rc) {
        j->exit = RECONCTL_FAILURE;
        return rc;
    }
    reconctl_source_get_info(j->source, &j->info);
    if (j->info.camera_guessed && j->index == 0)
        fprintf(stderr, "reconctl: no intrinsics known: guessed fx = fy = %.0f px (--camera)\n",
                (double)j->info.K.fx);
    rc = reconctl_push_options_json(body, sizeof body, o, &j->info, j->index, &j->err);
    if (rc == 0 && o->sheet && j->index == 0)
        rc = reconctl_sheet_new(&j->sheet, o->sheet_rows, &j->err);
    if (rc == 0)
        rc = open_client(j);
    if (rc) {
        j->exit = RECONCTL_FAILURE;
        return rc;
    }
    if (o->into)
        rc = client_session_find(j->client, o->into, &j->session, &j->err);
    else
        rc = client_session_create(j->client, body, &j->session, &j->err);
    atomic_store(&j->reconnecting, false);
    if (rc == 0)
        rc = open_stream(j);
    return rc;
}

static int send_frame(struct reconctl_push_job *j, const struct frame *from)
{
    struct frame f = *from;
    int rc;

    f.seq += j->first_seq;
    if (j->index == 0)
        reconctl_check_picture(&j->pictures, &f);
    j->sent_s[f.seq % RECONCTL_PUSH_SENT_MAX] = reconctl_now_s();
    rc = client_stream_send(j->stream, &f, &j->err);
    if (rc)
        return rc;
    reconctl_meter_sent(j->meter);
    j->n_sent++;
    return 0;
}

/* Waits for all answers, then adds a row to the contact sheet for the last frame. */
static int take_shot(struct reconctl_push_job *j, const struct frame *f, uint64_t total)
{
    double heard_s = reconctl_now_s();
    uint64_t answered = j->n_answered;
    int rc = 0;

    if (!j->sheet || !reconctl_sheet_due(j->sheet, j->n_sent, total))
        return 0;
    while (rc == 0 && j->n_answered < j->n_sent && reconctl_now_s() - heard_s < SILENCE_S) {
        rc = run_stream(j, 100);
        if (j->n_answered != answered)
            heard_s = reconctl_now_s();
        answered = j->n_answered;
    }
    if (rc)
        return rc;
    return reconctl_sheet_add(j->sheet, j->client, j->session.id, f, client_stream_cloud(j->stream),
                              client_stream_ready(j->stream)->step_m, &j->err);
}

/* Makes a slow reader for tests: nothing is read for a while, and frames are sent as far as
 * possible. */
static int pause_reading(struct reconctl_push_job *j)
{
    double until = reconctl_now_s() + j->options->pause_s;
    int rc = 0;

    client_stream_pause(j->stream, true);
    while (rc == 0 && reconctl_now_s() < until && !reconctl_stopped())
        rc = run_stream(j, 100);
    client_stream_pause(j->stream, false);
    j->pause = false;
    return rc;
}

struct feed {
    struct frame f;
    bool have;      /* f is waiting to be sent */
    bool done;      /* the source is over */
    double t0_s;    /* time at which frame 0 was due */
    double next_ns; /* time from which the next frame is useful, on the source's clock */
    uint64_t limit, total;
};

/* Tells whether the frame comes sooner after the one before it than the server finds useful. The
 * source's JPEGs get the quality that the server asks for. */
static bool too_soon(struct reconctl_push_job *j, struct feed *s)
{
    double t = (double)s->f.t_capture_ns, period;
    float rate;
    int jpeg;

    client_stream_pace(j->stream, &rate, &jpeg);
    if (jpeg)
        reconctl_source_set_quality(j->source, jpeg);
    if (!(rate > 0) || (double)rate > RATE_SLACK * j->info.fps)
        return false;
    period = 1e9 / (double)rate;
    if (t + 0.5e9 / j->info.fps < s->next_ns)
        return true;
    s->next_ns = t < s->next_ns + period ? s->next_ns + period : t + period;
    return false;
}

/* Sends as many frames as the window allows. Returns the time until the next one in ms, < 0 on
 * errors. */
static int feed(struct reconctl_push_job *j, struct feed *s)
{
    bool realtime = j->options->realtime;
    double due_ms;
    int rc = 0;

    while (rc == 0 && !s->done) {
        if (!s->have) {
            s->done = s->limit && s->f.payload && s->f.seq + 1 >= s->limit;
            if (s->done)
                break;
            rc = reconctl_source_next(j->source, &s->f, &j->err);
            if (rc == ERR_BUSY)
                return 5;
            if (rc == ERR_END) {
                s->done = true;
                return 0;
            }
            s->have = rc == 0;
            j->exit = rc ? RECONCTL_FAILURE : 0;
            continue;
        }
        if (s->t0_s == 0)
            s->t0_s = reconctl_now_s();
        due_ms = 1e3 * (s->t0_s + 1e-9 * (double)s->f.t_capture_ns - reconctl_now_s());
        if (realtime && due_ms > 0)
            return due_ms > 20 ? 20 : (int)due_ms + 1;
        if (realtime && too_soon(j, s)) {
            reconctl_meter_skipped(j->meter);
            s->have = false;
            continue;
        }
        if (client_stream_window(j->stream) == 0) {
            if (!realtime || due_ms > -500.0 / j->info.fps)
                return realtime ? 2 : 200;
            reconctl_meter_skipped(j->meter); /* like a camera, the source does not wait */
            s->have = false;
            continue;
        }
        reconctl_source_lower(j->source, &s->f);
        rc = send_frame(j, &s->f);
        s->have = false;
        if (rc == 0)
            rc = take_shot(j, &s->f, s->total);
    }
    return rc;
}

static int push_frames(struct reconctl_push_job *j)
{
    struct feed s = {.limit = (uint64_t)j->options->frames, .total = (uint64_t)j->info.n_frames};
    double heard_s = reconctl_now_s();
    uint64_t heard = 0;
    int rc = 0, wait_ms = 0;

    if (s.limit && (s.total == 0 || j->options->loop || s.limit < s.total))
        s.total = s.limit;
    else if (j->options->loop)
        s.total = 0;
    atomic_store(&j->total, s.total);
    while (rc == 0 && !s.done && !reconctl_stopped()) {
        if (wait_ms || !client_stream_connected(j->stream))
            rc = run_stream(j, wait_ms ? wait_ms : 200);
        if (rc == 0 && j->pause && j->n_answered > 3)
            rc = pause_reading(j);
        if (rc || !client_stream_connected(j->stream))
            goto next;
        wait_ms = feed(j, &s);
        if (wait_ms < 0)
            rc = wait_ms;
    next:
        client_stream_get_stats(j->stream, &j->stats);
        if (j->stats.bytes_received + j->stats.frames_sent != heard || wait_ms != 200 ||
            !client_stream_connected(j->stream))
            heard_s = reconctl_now_s();
        heard = j->stats.bytes_received + j->stats.frames_sent;
        if (rc == 0 && reconctl_now_s() - heard_s > SILENCE_S)
            rc = err_set(&j->err, ERR_IO, "the server has been silent for %.0f s", SILENCE_S);
    }
    return rc;
}

/* ------------------------------------------------------------------------------------ end */

/* Ends the input and waits until all frames are answered and the mirror holds the server's
 * cloud. */
static int finish_stream(struct reconctl_push_job *j)
{
    double heard_s = reconctl_now_s();
    uint64_t heard = 0;
    int rc = client_stream_end(j->stream, &j->err);

    while (rc == 0 && !(j->ended && j->hash_equal)) {
        rc = run_stream(j, 200);
        client_stream_get_stats(j->stream, &j->stats);
        if (j->stats.bytes_received != heard || !client_stream_connected(j->stream))
            heard_s = reconctl_now_s();
        heard = j->stats.bytes_received;
        if (rc == 0 && reconctl_now_s() - heard_s > (j->ended ? 5.0 : SILENCE_S))
            break;
    }
    if (rc == 0 && !j->ended)
        return err_set(&j->err, ERR_IO, "the server has not said that it is done for %.0f s",
                       SILENCE_S);
    return rc;
}

static int exit_of(int rc, int before)
{
    if (before)
        return before;
    switch (rc) {
    case ERR_IO:
        return RECONCTL_UNREACHABLE;
    case ERR_MEMORY:
    case ERR_FILE:
        return RECONCTL_FAILURE;
    default:
        return RECONCTL_REFUSED;
    }
}

void *reconctl_push_job(void *argument)
{
    struct reconctl_push_job *j = argument;
    int rc = job_open(j);

    if (rc == 0)
        rc = push_frames(j);
    if (rc == 0)
        rc = finish_stream(j);
    if (rc == 0)
        rc = reconctl_push_verify(j);
    if (j->stream)
        client_stream_get_stats(j->stream, &j->stats);
    if (rc && j->server_said.detail[0] && (rc == ERR_END || rc == ERR_IO))
        err_at(&j->err, rc, j->server_said.pointer, "%s", j->server_said.detail);
    if (rc)
        j->exit = exit_of(rc, j->exit);
    reconctl_push_deliver(j, rc);
    reconctl_push_leave(j, rc);
    if (j->source) {
        j->broken = reconctl_source_broken(j->source);
        reconctl_source_said(j->source, j->source_said, sizeof j->source_said);
    }
    client_stream_close(&j->stream);
    reconctl_maps_free(&j->maps);
    reconctl_check_end(&j->pictures);
    reconctl_sheet_free(&j->sheet);
    reconctl_source_close(&j->source);
    client_close(&j->client);
    return j;
}
