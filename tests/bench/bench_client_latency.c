/*
 * bench_client_latency - from a frame's last byte out to the first byte of its changes in
 *
 *   bench_client_latency URL FOLDER FRAMES FPS OPTIONS
 *
 * One session, one frame at a time: the next one goes when the last one was answered and its time
 * has come. OPTIONS is the body of POST /v1/sessions. The clock starts when the kernel has taken
 * the last byte of the frame, and stops when the first block message behind it begins. A frame that
 * changes nothing has no block message; those are counted apart.
 * Prints one line of JSON: frames, those without a change, milliseconds p50, p95, p99 and largest
 * to the first block (block) and to the answer (ack). The first FRAMES / 10 are left out: what a
 * session makes with its first frame is not its pace.
 * Exit: 0; 1 something failed; 77 without arguments: tests/bench/run has no server
 */
#include "api/client/client.h"
#include "api/client/client_sequence.h"
#include "proto/image/jpeg.h"
#include "tests/bench/support_load.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAMES_MAX 100000
#define PATIENCE_US 20000000
#define AFTER_US 5000 /* a change may come this long after the answer */

struct bench {
    struct client *rest;
    struct client_session session;
    struct client_sequence *sequence;
    struct client_sequence_info info;
    struct support_load *stream;
    double *block_ms, *ack_ms;
    int n_block, n_ack, unchanged, refused;
    uint64_t acked_us;
    struct err err;
};

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void on_ack(void *ctx, const struct control_ack *ack, uint64_t due_us, int phase)
{
    struct bench *b = ctx;

    (void)due_us;
    (void)phase;
    b->acked_us = now_us();
    b->refused += ack->status != CONTROL_USED;
}

/* The i-th picture of the folder, which begins again at its end. */
static int read_frame(struct bench *b, int i, struct support_load_picture *p, struct rigid *T_wc)
{
    const struct jpeg_limits limits = {FRAME_SIDE_MAX, FRAME_SIDE_MAX, 100, 8u << 20, 1000};
    struct jpeg_info info;
    struct frame f = {.T_wc = rigid_identity()};
    int rc = client_sequence_read(b->sequence, i % b->info.n_frames, &f, &b->err);

    if (rc == 0)
        rc = jpeg_probe(&info, f.payload, f.payload_len, &limits, &b->err);
    if (rc)
        return rc;
    *p = (struct support_load_picture){f.payload, f.payload_len, info.width, info.height};
    *T_wc = f.T_wc;
    return 0;
}

/* Until the frame is answered and its first change is here, or it is plain that it has none. */
static int wait_for_both(struct bench *b)
{
    uint64_t began_us = now_us(), out_us, in_us;
    int rc = 0;

    while (rc == 0) {
        struct pollfd p = {.fd = support_load_fd(b->stream),
                           .events =
                               (short)(POLLIN | (support_load_pending(b->stream) ? POLLOUT : 0))};
        rc = support_load_run(b->stream, &b->err);
        support_load_moments(b->stream, &out_us, &in_us);
        if (b->acked_us && (in_us || now_us() > b->acked_us + AFTER_US))
            break;
        if (now_us() > began_us + PATIENCE_US)
            return err_set(&b->err, ERR_IO, "a frame is not answered");
        poll(&p, 1, 1);
    }
    return rc;
}

static int measure(struct bench *b, int n, double fps)
{
    uint64_t next_us = now_us(), out_us, in_us;
    struct support_load_picture picture;
    struct rigid T_wc;
    int rc = 0;

    for (int i = 0; i < n && rc == 0; i++, next_us += (uint64_t)(1e6 / fps)) {
        while (now_us() < next_us)
            poll(NULL, 0, 1);
        next_us = now_us(); /* frames that catch up would come faster than the session's fps */
        rc = read_frame(b, i, &picture, &T_wc);
        b->acked_us = 0;
        if (rc == 0 && !support_load_frame_of(b->stream, &picture, &T_wc, now_us(), 0))
            rc = err_set(&b->err, ERR_STATE, "a frame could not be sent");
        if (rc == 0)
            rc = wait_for_both(b);
        if (rc || i < n / 10)
            continue;
        support_load_moments(b->stream, &out_us, &in_us);
        b->ack_ms[b->n_ack++] = (double)(b->acked_us - out_us) * 1e-3;
        if (in_us)
            b->block_ms[b->n_block++] = (double)(in_us - out_us) * 1e-3;
        else
            b->unchanged++;
    }
    return rc;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_ranks(const char *name, double *ms, int n)
{
    static const double share[] = {0.5, 0.95, 0.99};

    qsort(ms, (size_t)n, sizeof(*ms), by_size);
    printf(",\"%s\":{", name);
    for (int i = 0; i < 3; i++) {
        int at = (int)ceil(share[i] * n);
        printf("\"p%d_ms\":%.3f,", (int)(100 * share[i]), n ? ms[at ? at - 1 : 0] : 0.0);
    }
    printf("\"max_ms\":%.3f}", n ? ms[n - 1] : 0.0);
}

static int open_all(struct bench *b, char **argv)
{
    const struct client_config config = {.url = argv[1],
                                         .token = getenv("RECOND_TOKEN"),
                                         .agent = "bench_client_latency",
                                         .timeout_s = 30};
    struct support_load_picture picture;
    struct rigid T_wc;
    int rc = client_sequence_open(&b->sequence, argv[2], NULL, &b->err);

    if (rc == 0) {
        client_sequence_get_info(b->sequence, &b->info);
        rc = read_frame(b, 0, &picture, &T_wc);
    }
    if (rc == 0)
        rc = client_open(&b->rest, &config, &b->err);
    if (rc == 0)
        rc = client_session_create(b->rest, argv[5], &b->session, &b->err);
    if (rc == 0)
        rc = support_load_open(&b->stream, b->session.stream_url, b->session.ingest_token, &picture,
                               on_ack, b, &b->err);
    return rc;
}

static void close_all(struct bench *b)
{
    char path[96];

    support_load_close(&b->stream);
    snprintf(path, sizeof(path), "/v1/sessions/%s", b->session.id);
    if (b->session.id[0] && client_request(b->rest, "DELETE", path, NULL, NULL, NULL, NULL, NULL))
        fprintf(stderr, "bench_client_latency: the session stays\n");
    if (b->rest)
        client_close(&b->rest);
    if (b->sequence)
        client_sequence_close(&b->sequence);
    free(b->block_ms);
    free(b->ack_ms);
}

int main(int argc, char **argv)
{
    static struct bench b;
    int n, rc;

    if (argc != 6) {
        puts("needs a server: tests/bench/latency");
        return 77;
    }
    n = atoi(argv[3]);
    n = n < 10 ? 10 : n > FRAMES_MAX ? FRAMES_MAX : n;
    b.block_ms = calloc((size_t)n, sizeof(double));
    b.ack_ms = calloc((size_t)n, sizeof(double));
    rc = b.block_ms && b.ack_ms ? open_all(&b, argv) : err_set(&b.err, ERR_MEMORY, "no memory");
    if (rc == 0)
        rc = measure(&b, n, atof(argv[4]) > 0 ? atof(argv[4]) : 30);
    if (rc) {
        fprintf(stderr, "bench_client_latency: %s\n", b.err.text);
    } else {
        printf("{\"frames\":%d,\"unchanged\":%d,\"not_used\":%d", b.n_ack, b.unchanged, b.refused);
        print_ranks("block", b.block_ms, b.n_block);
        print_ranks("ack", b.ack_ms, b.n_ack);
        puts("}");
    }
    close_all(&b);
    return rc != 0;
}
