/*
 * bench_proto_delta [FOLDER] - what block messages weigh and cost
 *
 * In:      a folder of sequences (docs/TESTING.md) with depth, or nothing: the drawn room
 * The true depth of its frames is fused at about one point a cell of SPACING_M, a mean of all that
 * fell into it; its colours and its noise are what a session has, but it has no normals. Three
 * questions: a whole cloud as puts, a client that keeps up from frame to frame, and the time that
 * it takes.
 */
#include "proto/cloud/cloud.h"
#include "proto/wire/delta.h"
#include "tests/bench/support_sequence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH_W 320
#define DEPTH_H 240
#define FRAMES_MAX 250
#define FRAME_STRIDE 5 /* frames between two that are fused */
#define SPACING_M 0.01f
#define STEP_M 0.001f
#define DEPTH_MIN_M 0.3f
#define DEPTH_MAX_M 4.0f
#define CELLS (1u << 22) /* of the hash table */
#define MOVED_Q 5        /* steps, and ... */
#define COLOUR_MOVED 12  /* ... levels from which a point is published again */
#define REPEAT 5         /* of timed work; the best counts */

struct cell {
    int32_t name[3];
    uint32_t n;
    float p[3], rgb[3]; /* means */
    int32_t sent_p[3];
    uint8_t sent_rgb[3];
};

struct fusion {
    struct cell *cells;
    struct cloud *cloud;
    uint64_t n_staged;
};

/* One client: what it holds of each block, and what it was sent. */
struct reader {
    const char *name;
    enum codec_kind codec;
    int period; /* in fused frames; 0 = only once, at the end */
    uint64_t *held;
    uint64_t bytes, points, removed, messages;
    struct cloud *mirror;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "bench_proto_delta: %s: %s\n", what, err->text);
    exit(1);
}

static uint32_t cell_of(struct fusion *f, const int32_t name[3])
{
    uint64_t h = (uint64_t)(uint32_t)name[0] * 0x9e3779b97f4a7c15ull ^
                 (uint64_t)(uint32_t)name[1] * 0xbf58476d1ce4e5b9ull ^
                 (uint64_t)(uint32_t)name[2] * 0x94d049bb133111ebull;
    uint32_t at = (uint32_t)(h >> 32) & (CELLS - 1);

    while (f->cells[at].n && memcmp(f->cells[at].name, name, sizeof f->cells[at].name) != 0)
        at = (at + 1) & (CELLS - 1);
    return at;
}

static uint8_t confidence(uint32_t n)
{
    uint8_t level = 1;

    while (n >> (level + 2) && level < KEY_CONFIDENCE_MAX)
        level++;
    return level;
}

/* Tell the cloud of a cell's point, if it moved or changed colour enough. */
static void publish(struct fusion *f, uint32_t slot)
{
    struct cell *c = &f->cells[slot];
    struct err err;
    int moved = c->n == 2; /* seen twice: stable */
    struct key_look look;
    int32_t p_q[3];
    uint8_t rgb[3];

    if (c->n < 2)
        return;
    for (int k = 0; k < 3; k++) {
        p_q[k] = (int32_t)floorf(c->p[k] / STEP_M + 0.5f);
        rgb[k] = (uint8_t)(c->rgb[k] + 0.5f);
        moved |= abs(p_q[k] - c->sent_p[k]) >= MOVED_Q;
        moved |= abs(rgb[k] - c->sent_rgb[k]) >= COLOUR_MOVED;
    }
    if (!moved)
        return;
    look = (struct key_look){{rgb[0], rgb[1], rgb[2]}, confidence(c->n), 0};
    if (cloud_stage_put(f->cloud, slot, 0, p_q, &look, &err))
        die("stage", &err);
    memcpy(c->sent_p, p_q, sizeof p_q);
    memcpy(c->sent_rgb, rgb, sizeof rgb);
    f->n_staged++;
}

static void fuse_pixel(struct fusion *f, const struct support_frame *frame, int x, int y)
{
    float z = frame->depth[y * DEPTH_W + x], sx = (float)frame->width / DEPTH_W;
    float sy = (float)frame->height / DEPTH_H;
    int u = (int)(sx * ((float)x + 0.5f)), v = (int)(sy * ((float)y + 0.5f));
    const uint8_t *rgb = frame->rgb + 3 * ((size_t)v * (size_t)frame->width + (size_t)u);
    int32_t name[3];
    struct vec3 p;
    struct cell *c;
    uint32_t slot;
    float w;

    if (!(z > DEPTH_MIN_M && z < DEPTH_MAX_M))
        return;
    p = rigid_apply(&frame->T_wc, vec3_make(((float)u - frame->K.cx) * z / frame->K.fx,
                                            ((float)v - frame->K.cy) * z / frame->K.fy, z));
    name[0] = (int32_t)floorf(p.x / SPACING_M);
    name[1] = (int32_t)floorf(p.y / SPACING_M);
    name[2] = (int32_t)floorf(p.z / SPACING_M);
    slot = cell_of(f, name);
    c = &f->cells[slot];
    memcpy(c->name, name, sizeof name);
    w = 1.0f / (float)++c->n;
    c->p[0] += w * (p.x - c->p[0]);
    c->p[1] += w * (p.y - c->p[1]);
    c->p[2] += w * (p.z - c->p[2]);
    for (int k = 0; k < 3; k++)
        c->rgb[k] += w * ((float)rgb[k] - c->rgb[k]);
    publish(f, slot);
}

/* Send a reader every block that is newer than what it holds, as the smaller of patch and put. */
static void sync(struct fusion *f, struct reader *r, struct delta_scratch *s)
{
    for (uint32_t i = 0; i < cloud_blocks(f->cloud); i++) {
        struct cloud_block b = cloud_block(f->cloud, i);
        struct cloud_patch patch;
        struct delta d = {.op = b.n ? DELTA_PUT : DELTA_DELETE,
                          .codec = r->codec,
                          .revision = b.revision,
                          .name = b.name,
                          .n_points = b.n,
                          .n_added = b.n,
                          .added = b.keys};
        const uint8_t *msg;
        struct err err;
        size_t len;

        if (b.revision == r->held[i])
            continue;
        if (b.n && cloud_patch(f->cloud, i, r->held[i], &patch, NULL) == 0 &&
            2 * (patch.n_added + patch.n_removed) < b.n) {
            d.op = DELTA_PATCH;
            d.base_revision = patch.base_revision;
            d.removed = patch.removed;
            d.n_removed = patch.n_removed;
            d.added = patch.added;
            d.n_added = patch.n_added;
        }
        r->held[i] = b.revision;
        if (delta_encode(s, &d, &msg, &len, &err) || cloud_apply(r->mirror, msg, len, &err))
            die("message", &err);
        r->bytes += len;
        r->points += d.n_added;
        r->removed += d.n_removed;
        r->messages++;
    }
}

static void report(const struct fusion *f, const struct reader *r)
{
    int same = cloud_hash(r->mirror) == cloud_hash(f->cloud);

    printf("%-26s %-11s %7.2f %9.2f %9llu %8.0f  %s\n", r->name, codec_name(r->codec),
           (double)r->bytes / (double)(r->points ? r->points : 1),
           (double)r->bytes / (double)cloud_points(f->cloud), (unsigned long long)r->points,
           (double)r->bytes / 1024, same ? "equal" : "DIFFERENT");
    printf("@ %s_period%d %.3f bytes_a_point_put\n", codec_name(r->codec), r->period,
           (double)r->bytes / (double)(r->points ? r->points : 1));
}

/* Seconds to encode all blocks, and to decode and apply them to an empty mirror; the best of
 * REPEAT. */
static void time_codec(struct fusion *f, enum codec_kind codec, struct delta_scratch *s)
{
    struct cloud_limits limits = {1u << 16, CELLS};
    double encode = 1e9, apply = 1e9, mb = 8e-6 * (double)cloud_points(f->cloud);

    for (int i = 0; i < REPEAT; i++) {
        double t_encode = 0, t_apply = 0;
        struct cloud *mirror;
        struct err err;

        if (cloud_new(&mirror, &limits, &err))
            die("mirror", &err);
        for (uint32_t k = 0; k < cloud_blocks(f->cloud); k++) {
            struct cloud_block b = cloud_block(f->cloud, k);
            struct delta d = {.op = DELTA_PUT,
                              .codec = codec,
                              .revision = 1,
                              .name = b.name,
                              .n_points = b.n,
                              .n_added = b.n,
                              .added = b.keys};
            double t0 = now_s(), t1;
            const uint8_t *msg;
            size_t len;

            if (delta_encode(s, &d, &msg, &len, &err))
                die("encode", &err);
            t1 = now_s();
            if (cloud_apply(mirror, msg, len, &err))
                die("apply", &err);
            t_encode += t1 - t0;
            t_apply += now_s() - t1;
        }
        cloud_free(&mirror);
        encode = t_encode < encode ? t_encode : encode;
        apply = t_apply < apply ? t_apply : apply;
    }
    printf("%-11s encode %6.0f MB/s of keys (%5.1f ns a point), decode and apply %6.0f MB/s (%5.1f "
           "ns)\n",
           codec_name(codec), mb / encode, 8e3 * encode / mb, mb / apply, 8e3 * apply / mb);
}

static void fuse_all(struct fusion *f, struct support_sequence *seq, struct reader *readers, int n,
                     struct delta_scratch *s)
{
    double staged_s = 0, commit_s = 0;
    struct support_frame frame;
    struct err err;
    int fused = 0;

    for (int i = 0; i < FRAMES_MAX && support_sequence_next(seq, &frame, &err) == 0; i++) {
        const uint32_t *changed;
        uint32_t n_changed;
        double t0 = now_s(), t1;

        if (i % FRAME_STRIDE)
            continue;
        for (int y = 0; y < DEPTH_H; y++)
            for (int x = 0; x < DEPTH_W; x++)
                fuse_pixel(f, &frame, x, y);
        t1 = now_s();
        cloud_commit(f->cloud, &changed, &n_changed);
        commit_s += now_s() - t1;
        staged_s += t1 - t0;
        fused++;
        for (int k = 0; k < n; k++)
            if (readers[k].period && fused % readers[k].period == 0)
                sync(f, &readers[k], s);
    }
    if (!fused)
        die("sequence", &err);
    for (int k = 0; k < n; k++)
        sync(f, &readers[k], s);
    printf("%d frames fused, %llu points in %u blocks of %.3f m, %.1f MB held\n", fused,
           (unsigned long long)cloud_points(f->cloud), cloud_blocks(f->cloud),
           (double)(STEP_M * KEY_BLOCK_STEPS), 1e-6 * (double)cloud_bytes(f->cloud));
    printf("%.0f changes a frame, commit %.2f ms a frame\n", (double)f->n_staged / fused,
           1e3 * commit_s / fused);
}

int main(int argc, char **argv)
{
    struct cloud_limits limits = {1u << 16, CELLS};
    struct reader readers[] = {{"whole, once", CODEC_RAW, 0},
                               {"whole, once", CODEC_DEFLATE, 0},
                               {"live, every frame", CODEC_DEFLATE, 1},
                               {"live, every 5th frame", CODEC_DEFLATE, 5}};
    int n = (int)(sizeof readers / sizeof *readers);
    struct support_sequence *seq;
    struct delta_scratch *s;
    struct fusion f = {0};
    struct err err;

    f.cells = calloc(CELLS, sizeof *f.cells);
    if (!f.cells || cloud_new(&f.cloud, &limits, &err) || delta_scratch_new(&s, &err) ||
        support_sequence_open(&seq, argc > 1 ? argv[1] : NULL, DEPTH_W, DEPTH_H, &err))
        die(argc > 1 ? argv[1] : "start", &err);
    for (int k = 0; k < n; k++) {
        readers[k].held = calloc(1u << 16, sizeof *readers[k].held);
        if (!readers[k].held || cloud_new(&readers[k].mirror, &limits, &err))
            die("mirror", &err);
    }
    fuse_all(&f, seq, readers, n, s);
    printf("%-26s %-11s %7s %9s %9s %8s  %s\n", "client", "codec", "B/put", "B/point", "points",
           "KiB", "hash");
    for (int k = 0; k < n; k++)
        report(&f, &readers[k]);
    for (int codec = 0; codec < CODEC_WIRE_KINDS; codec++)
        time_codec(&f, (enum codec_kind)codec, s);
    for (int k = 0; k < n; k++) {
        cloud_free(&readers[k].mirror);
        free(readers[k].held);
    }
    support_sequence_close(&seq);
    delta_scratch_free(&s);
    cloud_free(&f.cloud);
    free(f.cells);
    return 0;
}
