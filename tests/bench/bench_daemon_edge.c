/*
 * bench_daemon_edge - what one frame costs the host, piece by piece
 *
 * SESSIONS clients in threads of their own push 720p JPEG over a real WebSocket edge into a small
 * core of this file: queue, decoder, mirror and outbox are the daemon's, the device is a generator
 * that moves points in those of a scene's blocks that are in view: 3,000 a frame in a hall of many
 * thin blocks, then 2,500 close to a wall, where few blocks hold all points of a picture. All
 * threads share the machine, so times are processor time of the thread that does the work:
 *
 *     edge      everything the edge's threads do, a frame (receive, unmask, queue, encode, send)
 *     frame     of it stream_frame(): parse, queue_push()
 *     next      of it stream_next(): mirror_read(), delta_encode()
 *     library   the rest: frames of RFC 6455, the kernel's sockets, the receive buffer
 *     decode    one JPEG at the scale that covers the network's input
 *     commit    mirror_commit() and outbox_mark()
 */
#include "api/client/client.h"
#include "api/server/http.h"
#include "api/server/ws.h"
#include "daemon/clock.h"
#include "daemon/session/outbox.h"
#include "daemon/session/queue.h"
#include "proto/image/jpeg.h"
#include "tests/support/jpeg_write.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SESSIONS 8
#define FRAMES 150 /* a session */
#define WARM 20    /* frames of each session before anything is counted */
#define WINDOW 4
#define W 1280
#define H 720
#define NET_W 512
#define NET_H 288
#define JPEG_BYTES 100000 /* aimed at */
#define CHANGES_MAX 3000
#define ROW 12 /* blocks side by side */

static const struct scene {
    const char *name;
    uint32_t changes; /* a frame */
    uint32_t blocks;  /* that hold points */
    uint32_t view;    /* of them in one picture */
    uint32_t slots;
} scenes[] = {{"hall", 3000, 96, 24, 300000}, {"wall", 2500, 8, 7, 200000}};

struct core {
    pthread_t thread;
    struct queue *queue;
    struct mirror *mirror;
    struct outbox *outbox; /* of the one client */
    void *cookie;
    struct jpeg_decoder *decoder;
    uint32_t random;
    int n;
    struct gpu_change changes[CHANGES_MAX];
};

struct stream {
    struct core *core;
    struct outbox_sent sent;
};

struct pusher {
    pthread_t thread;
    struct core *core;
    const char *url;
    bool synced; /* the mirror holds all that there is */
};

static struct {
    const struct scene *scene;
    struct ws *ws;
    struct auth *auth;
    struct core cores[SESSIONS];
    uint8_t *jpeg;
    size_t jpeg_len;
    atomic_bool stop;
    atomic_ullong edge_ns, frame_ns, next_ns, frames, messages, blocks, block_bytes;
    atomic_ullong decode_ns, commit_ns, points;
    uint64_t warm_us;
} bench;

static _Thread_local uint64_t edge_last_ns;

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "bench_daemon_edge: %s: %s\n", what, err->text);
    exit(1);
}

static uint32_t random_u32(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

/* ------------------------------------------------------------------------- the small core */

/* A point of the surface that crosses the block. */
static void place(struct core *c, struct gpu_change *g, uint32_t block)
{
    uint32_t slots = bench.scene->slots / bench.scene->blocks; /* a block */

    *g = (struct gpu_change){.slot = random_u32(&c->random) % slots + block * slots,
                             .kind = GPU_CHANGE_PUT,
                             .confidence = (uint8_t)(random_u32(&c->random) & 3),
                             .normal = 32 << 6 | 32};
    g->p_q[0] = (int32_t)(1024 * (block % ROW) + random_u32(&c->random) % 1024);
    g->p_q[1] = (int32_t)(1024 * (block / ROW) + random_u32(&c->random) % 1024);
    g->p_q[2] = 512 + (g->p_q[0] >> 3) % 64 + (int32_t)(random_u32(&c->random) % 8);
    for (int k = 0; k < 3; k++)
        g->rgb[k] = (uint8_t)(128 + (g->p_q[k] >> 4) % 64 + (int)(random_u32(&c->random) % 16));
}

static void change(struct core *c)
{
    const struct scene *scene = bench.scene;
    struct mirror_commit commit;
    uint32_t first = (uint32_t)c->n / 8; /* the camera turns */

    for (uint32_t i = 0; i < scene->changes; i++)
        place(c, &c->changes[i], (first + i % scene->view) % scene->blocks);
    uint64_t t0 = cpu_ns();
    mirror_commit(c->mirror, 0, c->changes, scene->changes, &commit);
    outbox_mark(c->outbox, commit.changed, commit.n_changed, commit.revision);
    c->n++;
    atomic_fetch_add(&bench.commit_ns, cpu_ns() - t0);
}

static void decode(struct core *c, const struct queue_item *item)
{
    static const struct jpeg_limits limits = {4096, 4096, 100, 8u << 20, 1000};
    struct jpeg_info info;
    struct err err;
    uint64_t t0 = cpu_ns();
    int w, h;

    if (jpeg_probe(&info, item->frame.payload, item->frame.payload_len, &limits, &err))
        die("probe", &err);
    jpeg_scaled_size(&info, NET_W, NET_H, &w, &h);
    if (jpeg_decode(c->decoder, item->rgb, w, h, item->frame.payload, item->frame.payload_len,
                    &limits, &err))
        die("decode", &err);
    atomic_fetch_add(&bench.decode_ns, cpu_ns() - t0);
}

static void *work(void *argument)
{
    struct core *c = argument;
    struct queue_item *item;
    struct err err;

    while (!atomic_load(&bench.stop)) {
        struct control_ack ack = {.status = CONTROL_USED};

        item = queue_take_waiting(c->queue);
        if (!item) {
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
            continue;
        }
        if (!item->rgb && queue_set_pictures(c->queue, item, (size_t)W * H * 3, &err))
            die("pictures", &err);
        decode(c, item);
        queue_ready(c->queue, item);
        item = queue_take_ready(c->queue);
        ack.seq = item->frame.seq;
        change(c);
        queue_release(c->queue, item);
        outbox_ack(c->outbox, &ack);
        ws_wake(bench.ws, c->cookie);
    }
    return NULL;
}

static void fill(struct core *c)
{
    const struct scene *scene = bench.scene;
    struct mirror_commit commit;

    for (uint32_t n = 0; n < 4 * scene->slots / scene->changes; n++) { /* nearly all slots */
        for (uint32_t i = 0; i < scene->changes; i++)
            place(c, &c->changes[i], random_u32(&c->random) % scene->blocks);
        mirror_commit(c->mirror, 0, c->changes, scene->changes, &commit);
    }
}

static void open_core(struct core *c, int index)
{
    struct cloud_limits limits = {1024, bench.scene->slots};
    struct err err;

    c->random = (uint32_t)index + 1;
    if (queue_new(&c->queue, 2 * WINDOW, 1 << 20, &err) || mirror_new(&c->mirror, &limits, &err) ||
        outbox_new(&c->outbox, c->mirror, 1, WINDOW, &err) || jpeg_decoder_new(&c->decoder, &err))
        die("core", &err);
    fill(c);
}

static void close_core(struct core *c)
{
    outbox_free(&c->outbox);
    mirror_free(&c->mirror);
    queue_free(&c->queue);
    jpeg_decoder_free(&c->decoder);
}

/* ------------------------------------------------------------------------- what the edge calls */

/* Processor time of this thread since it was here last is the edge's. */
static uint64_t edge_enter(void)
{
    uint64_t now = cpu_ns();

    if (edge_last_ns)
        atomic_fetch_add(&bench.edge_ns, now - edge_last_ns);
    edge_last_ns = now;
    return now;
}

static void edge_leave(uint64_t entered, atomic_ullong *sum)
{
    uint64_t now = cpu_ns();

    atomic_fetch_add(sum, now - entered);
    atomic_fetch_add(&bench.edge_ns, now - entered);
    edge_last_ns = now;
}

/* What was counted until now was the way there: the whole clouds, cold memory. */
static void forget(void)
{
    atomic_store(&bench.edge_ns, 0);
    atomic_store(&bench.frame_ns, 0);
    atomic_store(&bench.next_ns, 0);
    atomic_store(&bench.messages, 0);
    atomic_store(&bench.blocks, 0);
    atomic_store(&bench.block_bytes, 0);
    atomic_store(&bench.points, 0);
    atomic_store(&bench.decode_ns, 0);
    atomic_store(&bench.commit_ns, 0);
    bench.warm_us = clock_us();
}

static int core_expect(struct core *c, const char *id, int *retry_after_s, struct err *err)
{
    (void)c, (void)id, (void)retry_after_s, (void)err;
    return 0;
}

static int core_stream_open(struct core *c, const char *id, enum control_role role, void *cookie,
                            struct stream **s, struct err *err)
{
    struct core *mine = &bench.cores[(id[0] - 'a') % SESSIONS];

    (void)c, (void)role;
    *s = calloc(1, sizeof **s);
    if (!*s)
        return err_set(err, ERR_MEMORY, "no memory");
    (*s)->core = mine;
    mine->cookie = cookie;
    return 0;
}

static int core_stream_start(struct stream *s, const struct control_start *start, struct err *err)
{
    struct mirror_summary now;
    struct control_ready ready = {.session = "a",
                                  .epoch = 1,
                                  .codec = CODEC_DEFLATE,
                                  .step_m = 0.001f,
                                  .window = WINDOW,
                                  .max_frame_bytes = 1 << 20,
                                  .net_w = NET_W,
                                  .net_h = NET_H};

    mirror_summary(s->core->mirror, &now);
    ready.revision = now.revision;
    if (pthread_create(&s->core->thread, NULL, work, s->core))
        return err_set(err, ERR_MEMORY, "no thread");
    return outbox_start(s->core->outbox, &ready, start, err);
}

static int core_frame(struct stream *s, const uint8_t *msg, size_t len, struct err *err)
{
    uint64_t entered = edge_enter();
    struct queue_arrival a = {.header = msg, .stream = 1};
    struct queue_dropped dropped;
    struct queue_item *item;
    struct frame f;
    int rc = outbox_admit(s->core->outbox, err);

    if (!rc)
        rc = frame_parse(&f, msg, len, FRAME_POSE_CV, err);
    a.frame = &f;
    a.received_us = clock_us();
    if (!rc)
        rc = queue_push(s->core->queue, &a, &item, &dropped, err);
    if (rc || dropped.any)
        die("frame", err);
    queue_stored(s->core->queue, item);
    if (atomic_fetch_add(&bench.frames, 1) + 1 == WARM * SESSIONS)
        forget();
    edge_leave(entered, &bench.frame_ns);
    return 0;
}

static int core_control(struct stream *s, const struct control_message *m, struct err *err)
{
    (void)err;
    if (m->op == CONTROL_END)
        outbox_end(s->core->outbox);
    return 0;
}

static enum stream_kind core_next(struct stream *s, const uint8_t **msg, size_t *len)
{
    uint64_t entered = edge_enter();
    enum stream_kind kind = outbox_next(s->core->outbox, msg, len, &s->sent);

    atomic_fetch_add(&bench.messages, kind != STREAM_NONE);
    atomic_fetch_add(&bench.blocks, s->sent.blocks);
    atomic_fetch_add(&bench.points, s->sent.points);
    if (s->sent.blocks)
        atomic_fetch_add(&bench.block_bytes, *len);
    edge_leave(entered, &bench.next_ns);
    return kind;
}

static void core_close(struct stream *s)
{
    free(s);
}

/* No owner has a quota here. */
static uint64_t core_ahead_us(struct stream *s)
{
    (void)s;
    return 0;
}

static const struct core_ops ops = {
    .stream_expect = core_expect,
    .stream_open = core_stream_open,
    .stream_start = core_stream_start,
    .stream_frame = core_frame,
    .stream_ahead_us = core_ahead_us,
    .stream_control = core_control,
    .stream_next = core_next,
    .stream_close = core_close,
};

/* ------------------------------------------------------------------------- clients */

static void on_sync(void *ctx, const struct control_sync *sync, bool hash_equal)
{
    (void)sync;
    if (!hash_equal) { /* then what was fast is of no use */
        fprintf(stderr, "bench_daemon_edge: the client's cloud is not the server's\n");
        exit(1);
    }
    ((struct pusher *)ctx)->synced = true;
}

/* One frame at a time, the next when all blocks have come: nothing is left out that a client at
 * the camera's pace would get. */
static void *push(void *argument)
{
    static pthread_mutex_t connect_lock = PTHREAD_MUTEX_INITIALIZER;
    struct pusher *p = argument;
    struct client_stream_config config = {
        .url = p->url, .role = CONTROL_INGEST, .pose = FRAME_POSE_CV, .ctx = p, .on_sync = on_sync};
    struct client_stream_stats stats = {0};
    struct client_stream *s;
    struct err err = {0};
    struct frame f = {.flags = FRAME_HAS_POSE | FRAME_HAS_CAMERA,
                      .width = W,
                      .height = H,
                      .K = {900, 900, 640, 360},
                      .T_wc = rigid_identity(),
                      .payload = bench.jpeg,
                      .payload_len = (uint32_t)bench.jpeg_len};
    int rc;

    pthread_mutex_lock(&connect_lock);
    rc = client_stream_open(&s, &config, &err);
    pthread_mutex_unlock(&connect_lock);
    if (rc)
        die("connect", &err);
    while (rc == 0 && stats.frames_answered < FRAMES + WARM) {
        if (p->synced && f.seq == stats.frames_answered) {
            rc = client_stream_send(s, &f, &err);
            f.seq++;
            f.t_capture_ns += 33333333;
            p->synced = false;
        }
        if (rc == 0)
            rc = client_stream_run(s, 50, &err);
        client_stream_get_stats(s, &stats);
    }
    if (rc)
        die("client", &err);
    pthread_mutex_lock(&connect_lock);
    client_stream_close(&s);
    pthread_mutex_unlock(&connect_lock);
    return p;
}

/* A picture with as much detail as makes about JPEG_BYTES. */
static void draw(void)
{
    uint8_t *rgb = malloc((size_t)W * H * 3);
    uint32_t random = 7;
    size_t len = 0;

    for (uint32_t noise = 4; noise < 128 && len < JPEG_BYTES; noise += 4) {
        for (int i = 0; i < W * H; i++)
            for (int k = 0; k < 3; k++)
                rgb[3 * i + k] = (uint8_t)((i % W / 8 + i / W / 4 * (k + 1)) % 100 +
                                           random_u32(&random) % noise);
        free(bench.jpeg);
        bench.jpeg = jpeg_write(rgb, W, H, 85, &len);
    }
    bench.jpeg_len = len;
    free(rgb);
}

static void figure(const char *name, atomic_ullong *ns, double frames)
{
    printf("@ %s_%s %.1f us_a_frame\n", bench.scene->name, name,
           1e-3 * (double)atomic_load(ns) / frames);
}

static void report(void)
{
    double frames = FRAMES * SESSIONS, seconds = 1e-6 * (double)(clock_us() - bench.warm_us), edge;

    printf("%s: %d sessions, %.0f frames of %zu bytes in %.2f s: %.0f frames/s\n",
           bench.scene->name, SESSIONS, frames, bench.jpeg_len, seconds, frames / seconds);
    printf("%.1f messages, %.1f blocks, %.0f points, %.0f bytes of blocks a frame\n",
           (double)atomic_load(&bench.messages) / frames,
           (double)atomic_load(&bench.blocks) / frames, (double)atomic_load(&bench.points) / frames,
           (double)atomic_load(&bench.block_bytes) / frames);
    if (atomic_load(&bench.points) == 0) {
        fprintf(stderr, "bench_daemon_edge: no points were sent\n");
        exit(1);
    }
    edge = 1e-3 * (double)atomic_load(&bench.edge_ns) / frames;
    printf("@ %s_edge %.1f us_a_frame\n", bench.scene->name, edge);
    figure("edge_frame", &bench.frame_ns, frames);
    figure("edge_next", &bench.next_ns, frames);
    printf("@ %s_edge_library %.1f us_a_frame\n", bench.scene->name,
           edge - 1e-3 * (double)(atomic_load(&bench.frame_ns) + atomic_load(&bench.next_ns)) /
                      frames);
    figure("decode", &bench.decode_ns, frames);
    figure("commit", &bench.commit_ns, frames);
    printf("one thread of the edge carries %.0f frames/s\n", 1e6 / edge);
}

static void run(const struct scene *scene)
{
    struct api_config config = {.ops = &ops,
                                .core = bench.cores,
                                .ws_host = "127.0.0.1",
                                .http_host = "127.0.0.1",
                                .http_fd = -1,
                                .ws_fd = -1,
                                .public_ws_url = "",
                                .auth_mode = API_AUTH_NONE,
                                .max_message_bytes = 1 << 20,
                                .max_connections = 256,
                                .max_per_address = 256,
                                .header_timeout_s = 5,
                                .message_timeout_s = 10,
                                .ping_s = 20,
                                .hangup_s = 30,
                                .version = "bench"};
    struct pusher pushers[SESSIONS] = {0};
    char urls[SESSIONS][96];
    struct err err = {0};

    bench.scene = scene;
    atomic_store(&bench.stop, false);
    atomic_store(&bench.frames, 0);
    for (int i = 0; i < SESSIONS; i++) {
        memset(&bench.cores[i], 0, sizeof bench.cores[i]);
        open_core(&bench.cores[i], i);
    }
    if (auth_open(&bench.auth, &config, &err) || ws_start(&bench.ws, &config, bench.auth, &err))
        die("edge", &err);
    for (int i = 0; i < SESSIONS; i++) {
        snprintf(urls[i], sizeof urls[i], "ws://127.0.0.1:%d/v1/sessions/%c/stream",
                 ws_port(bench.ws), 'a' + i);
        pushers[i].url = urls[i];
        if (pthread_create(&pushers[i].thread, NULL, push, &pushers[i]))
            die("thread", &err);
    }
    for (int i = 0; i < SESSIONS; i++)
        pthread_join(pushers[i].thread, NULL);
    report();
    atomic_store(&bench.stop, true);
    for (int i = 0; i < SESSIONS; i++)
        pthread_join(bench.cores[i].thread, NULL);
    ws_stop(&bench.ws);
    auth_close(&bench.auth);
    for (int i = 0; i < SESSIONS; i++)
        close_core(&bench.cores[i]);
}

int main(void)
{
    draw();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        run(&scenes[i]);
    free(bench.jpeg);
    return 0;
}
