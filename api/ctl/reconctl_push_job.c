#include "api/ctl/reconctl_push.h"

#include "proto/cloud/ply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_S 60.0 /* a server from which nothing comes for so long is given up */
#define CLOSE_S 30.0   /* finalized, nothing new heard, and still not `closed` or not equal */

/* ------------------------------------------------------------------------------------ stream */

/* The answer to a frame that was sent again does not tell whether the frame was used, nor how long
 * it took. */
static void on_ack(void *ctx, const struct control_ack *ack)
{
    struct reconctl_push_job *j = ctx;
    uint64_t before = j->stats.duplicates;
    double *sent_s = &j->sent_s[ack->seq % RECONCTL_PUSH_SENT_MAX];

    j->n_answered++;
    client_stream_get_stats(j->stream, &j->stats);
    if (j->stats.duplicates != before)
        reconctl_meter_duplicate(j->meter);
    else
        reconctl_meter_answered(j->meter, ack, reconctl_now_s() - *sent_s);
}

static void on_ready(void *ctx, const struct control_ready *ready)
{
    struct reconctl_push_job *j = ctx;

    (void)ready;
    atomic_store(&j->reconnecting, false);
}

static void on_lost(void *ctx, const struct err *why, int retry_ms)
{
    struct reconctl_push_job *j = ctx;

    (void)retry_ms;
    if (!atomic_exchange(&j->reconnecting, true) && j->index == 0)
        fprintf(stderr, "%sreconctl: %s: connecting again\n", j->terminal ? "\r\033[K" : "",
                why->text);
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

static void on_sync(void *ctx, const struct control_sync *sync, bool hash_equal)
{
    struct reconctl_push_job *j = ctx;

    j->hash_equal = hash_equal;
    j->server_hash = sync->hash;
    j->server_points = sync->points;
    j->ended = sync->ended;
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

static int parse_codec(const char *name, uint32_t *mask, struct err *err)
{
    enum codec_kind codec;
    int rc;

    *mask = 0;
    if (!name)
        return 0;
    rc = codec_parse(name, &codec, err);
    if (rc == 0)
        *mask = 1u << codec;
    return rc;
}

static int write_cloud(struct reconctl_push_job *j)
{
    const struct control_ready *ready = client_stream_ready(j->stream);

    return ply_write_file(j->options->output, client_stream_cloud(j->stream),
                          ready ? ready->step_m : 0.001f, &j->err);
}

const struct reconctl_push_kind reconctl_push_mono = {
    .noun = "point", .output = "cloud", .has_map = true, .write = write_cloud};

#define KIND(WORD, word) [SESSION_##WORD] = &reconctl_push_##word,
const struct reconctl_push_kind *reconctl_push_kind(const struct reconctl_push_options *o)
{
    static const struct reconctl_push_kind *const kinds[SESSION_KINDS_END] = {
        [SESSION_KIND_DEFAULT] = &reconctl_push_mono, SESSION_KINDS(KIND)};

    return kinds[o->asked.kind];
}

static int on_result(void *ctx, const uint8_t *msg, size_t len, struct err *err)
{
    struct reconctl_push_job *j = ctx;
    const struct reconctl_push_kind *kind = reconctl_push_kind(j->options);

    client_stream_get_stats(j->stream, &j->stats);
    atomic_store(&j->points, j->stats.results);
    atomic_store(&j->points_received, j->stats.results);
    atomic_store(&j->block_bytes, j->stats.result_bytes);
    return kind->take ? kind->take(j, msg, len, err) : 0;
}

static int open_stream(struct reconctl_push_job *j)
{
    struct client_stream_config config = {
        .url = j->session.stream_url,
        .token = stream_token(j),
        .ca_file = j->rest->ca_file,
        .role = CONTROL_INGEST,
        .pose = FRAME_POSE_CV,
        .reconnect_s = j->options->retry_s,
        .ctx = j,
        .on_ready = on_ready,
        .on_lost = on_lost,
        .on_ack = on_ack,
        .on_cloud = on_cloud,
        .on_sync = on_sync,
        .on_error = on_error,
        .on_result = on_result,
    };
    int rc = parse_codec(j->options->codec, &config.codecs, &j->err);

    return rc ? rc : client_stream_open(&j->stream, &config, &j->err);
}

static int run_stream(struct reconctl_push_job *j, int timeout_ms)
{
    return client_stream_run(j->stream, timeout_ms, &j->err);
}

/* ------------------------------------------------------------------------------------ rest */

static void on_retry(void *ctx, const struct err *why, int wait_ms)
{
    struct reconctl_push_job *j = ctx;

    if (!atomic_exchange(&j->reconnecting, true) && j->index == 0)
        fprintf(stderr, "%sreconctl: %s: asking again in %.1f s\n", j->terminal ? "\r\033[K" : "",
                why->text, wait_ms * 1e-3);
}

/* Once there is a session the first Ctrl-C only ends the input, so that frames already sent are not
 * lost. */
static bool stopped(void *ctx)
{
    const struct reconctl_push_job *j = ctx;

    return reconctl_stopped() > 0 && !j->session.id[0];
}

static int open_client(struct reconctl_push_job *j, double retry_s)
{
    struct client_config config = *j->rest;

    config.retry_s = retry_s;
    config.ctx = j;
    config.on_retry = on_retry;
    config.stopped = stopped;
    return client_open(&j->client, &config, &j->err);
}

/* ------------------------------------------------------------------------------------ frames */

static int open_all(struct reconctl_push_job *j)
{
    const struct reconctl_push_options *o = j->options;
    struct reconctl_source_config config = {
        .path = o->common.operands[0],
        .poses = o->poses,
        .fps = o->fps,
        .loop = o->loop,
        .camera = o->camera,
    };
    char body[4096];
    int rc = reconctl_source_open(&j->source, &config, &j->err);

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
        rc = open_client(j, o->retry_s);
    if (rc) {
        j->exit = RECONCTL_FAILURE;
        return rc;
    }
    rc = client_session_create(j->client, body, &j->session, &j->err);
    atomic_store(&j->reconnecting, false);
    if (rc == 0)
        rc = open_stream(j);
    return rc;
}

static int send_frame(struct reconctl_push_job *j, const struct frame *f)
{
    int rc;

    j->sent_s[f->seq % RECONCTL_PUSH_SENT_MAX] = reconctl_now_s();
    rc = client_stream_send(j->stream, f, &j->err);
    if (rc)
        return rc;
    reconctl_meter_sent(j->meter);
    j->n_sent++;
    return 0;
}

/* Waits for all answers, then adds a row to the contact sheet for the frame that was sent last. */
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
    bool have;   /* f is waiting to be sent */
    bool done;   /* the source is over */
    double t0_s; /* when frame 0 was due */
    uint64_t limit, total;
};

/* Sends what the window takes. Returns for how many ms the stream may work then, < 0 on errors. */
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
            continue;
        }
        if (s->t0_s == 0)
            s->t0_s = reconctl_now_s();
        due_ms = 1e3 * (s->t0_s + 1e-9 * (double)s->f.t_capture_ns - reconctl_now_s());
        if (realtime && due_ms > 0)
            return due_ms > 20 ? 20 : (int)due_ms + 1;
        if (client_stream_window(j->stream) == 0) {
            if (!realtime || due_ms > -500.0 / j->info.fps)
                return realtime ? 2 : 200;
            reconctl_meter_skipped(j->meter); /* as a camera, the source does not wait */
            s->have = false;
            continue;
        }
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

static int get_session(struct reconctl_push_job *j)
{
    struct json *doc = NULL;
    const struct json *counts;
    char path[96];
    int rc;

    snprintf(path, sizeof path, "/v1/sessions/%s", j->session.id);
    rc = reconctl_get(j->client, path, &doc, &j->err);
    if (rc == 0) {
        j->closed = strcmp(json_text(json_member(doc, "state")), "closed") == 0;
        j->server_hash = reconctl_hex(json_text(json_member(doc, "hash")));
        j->server_points = (uint64_t)json_i64(json_member(doc, "points"));
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

/* Finalizes the session. To do so twice does no harm, so the request is repeated where its answer
 * was lost: a session that is closed, or that takes no more frames, got the first one. */
static int finalize(struct reconctl_push_job *j)
{
    const struct timespec pause = {.tv_nsec = 500000000}; /* also after Ctrl-C */
    double start_s = reconctl_now_s();
    char path[96];
    int rc;

    snprintf(path, sizeof path, "/v1/sessions/%s/finalize", j->session.id);
    for (int n = 0;; n++) {
        rc = client_request(j->client, "POST", path, NULL, NULL, NULL, NULL, &j->err);
        if (n > 0 && rc == ERR_STATE)
            return 0;
        if (rc != ERR_IO || reconctl_now_s() - start_s >= j->options->retry_s)
            return rc;
        nanosleep(&pause, NULL);
    }
}

/* Finalizes the session and compares the mirror with the closed session and its export. */
static int verify(struct reconctl_push_job *j)
{
    const struct cloud *cloud = client_stream_cloud(j->stream);
    double heard_s = reconctl_now_s();
    uint64_t heard = 0;
    struct err ignored;
    int rc = finalize(j);

    while (rc == 0) {
        rc = get_session(j);
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

static int write_outputs(struct reconctl_push_job *j)
{
    const struct reconctl_push_options *o = j->options;
    char path[96];
    int rc = 0;

    if (o->output && j->index == 0)
        rc = reconctl_push_kind(o)->write(j);
    snprintf(path, sizeof path, "/v1/sessions/%s/trajectory", j->session.id);
    if (rc == 0 && o->trajectory && j->index == 0)
        rc = client_download(j->client, path, o->trajectory, &j->err);
    if (rc == 0 && j->sheet)
        rc = reconctl_sheet_write(j->sheet, o->sheet, &j->err);
    return rc;
}

/* patient: with retries, which are of no use where the server was given up already. */
static void delete_session(struct reconctl_push_job *j, bool patient)
{
    char path[96];
    struct err why = {0};

    if (!patient)
        client_close(&j->client);
    if (!patient && open_client(j, 0))
        return;
    snprintf(path, sizeof path, "/v1/sessions/%s", j->session.id);
    if (client_request(j->client, "DELETE", path, NULL, NULL, NULL, NULL, &why))
        fprintf(stderr, "reconctl: session %s stays: %s\n", j->session.id, why.text);
}

static int exit_of(int rc, int before)
{
    if (before)
        return before;
    switch (rc) {
    case ERR_IO:
        return RECONCTL_UNREACHABLE;
    case ERR_MEMORY:
        return RECONCTL_FAILURE;
    default:
        return RECONCTL_REFUSED;
    }
}

void *reconctl_push_job(void *argument)
{
    struct reconctl_push_job *j = argument;
    int rc = open_all(j);

    if (rc == 0)
        rc = push_frames(j);
    if (rc == 0)
        rc = finish_stream(j);
    if (rc == 0)
        rc = verify(j);
    if (j->stream)
        client_stream_get_stats(j->stream, &j->stats);
    if (rc) {
        if (j->server_said.detail[0] && (rc == ERR_END || rc == ERR_IO))
            err_at(&j->err, rc, j->server_said.pointer, "%s", j->server_said.detail);
        j->exit = exit_of(rc, j->exit);
    } else if (write_outputs(j)) {
        j->exit = RECONCTL_FAILURE;
    } else if (j->hash != j->server_hash || j->hash != j->export_hash) {
        j->exit = RECONCTL_HASH;
        err_set(&j->err, ERR_STATE,
                "the mirror's hash %016llx is not the server's %016llx (export %016llx)",
                (unsigned long long)j->hash, (unsigned long long)j->server_hash,
                (unsigned long long)j->export_hash);
    }
    j->broken = j->source ? reconctl_source_broken(j->source) : 0;
    client_stream_close(&j->stream);
    if (j->session.id[0] && !j->options->keep)
        delete_session(j, rc != ERR_IO && rc != ERR_BUSY);
    if (reconctl_push_kind(j->options)->free)
        reconctl_push_kind(j->options)->free(j);
    reconctl_sheet_free(&j->sheet);
    reconctl_source_close(&j->source);
    client_close(&j->client);
    return j;
}
