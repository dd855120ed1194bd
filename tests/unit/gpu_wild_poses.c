/*
 * gpu_wild_poses.c - poses, intrinsics and depths of chance, from the message to the cloud
 *
 * Each is written into a frame message as its 32 bits: NaN, infinities, denormals, what is no
 * rotation, the largest and smallest that are allowed. What frame_parse() lets through goes through
 * the whole line on the CPU, and what that publishes into a cloud. Nothing that a session keeps is
 * ever less than finite, and no frame allocates. 20,000 frames in a second or two; N=1000000 in the
 * environment for more.
 */
#include <stdbool.h>

#include "proto/bytes.h"
#include "proto/cloud/cloud.h"
#include "proto/wire/frame.h"
#include "tests/support/count_malloc.h"
#include "tests/support/line.h"
#include "tests/support/unit.h"

#define FRAMES 20000
#define FRAMES_A_SESSION 500
#define W 16
#define H 16
#define POINTS 4096
#define PAYLOAD 4 /* bytes that stand for the picture */

struct wild {
    uint64_t random;
    uint8_t msg[FRAME_HEAD_BYTES + PAYLOAD];
    struct frame f; /* the last one that was let through, if there was one */
    bool has_frame;
    struct line line;
    struct cloud *cloud;
    uint64_t seen, passed, inserted, published, left_out;
};

static uint32_t draw(struct wild *w)
{
    uint64_t x = w->random += 0x9e3779b97f4a7c15ull; /* splitmix64 */

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((x ^ x >> 31) >> 32);
}

static uint32_t below(struct wild *w, uint32_t n)
{
    return (uint32_t)((uint64_t)draw(w) * n >> 32);
}

static float unit(struct wild *w)
{
    return (float)(draw(w) >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

/* Any bits, the ends of what floats are, or a small number. */
static float any(struct wild *w)
{
    static const float ends[] = {
        0.0f,       -0.0f, 1e-45f,        -1e-45f, 1.17549435e-38f, 1e-30f,    1e-6f,
        0.5f,       1.0f,  -1.0f,         1e5f,    -1e5f,           100001.0f, 524288.f,
        -524288.0f, 1e30f, 3.4028235e38f, -3e38f,  INFINITY,        -INFINITY, NAN};
    uint32_t bits = draw(w);
    float v;

    if (below(w, 3) == 0)
        return unit(w);
    if (below(w, 2))
        return ends[below(w, sizeof ends / sizeof *ends)];
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A quaternion as a rotation has it, but for at most a hundredth in length. */
static void any_rotation(struct wild *w, float q[4])
{
    float norm = 0, length = 1 + 0.0099f * unit(w);

    for (int i = 0; i < 4; i++) {
        q[i] = below(w, 4) ? unit(w) : 0;
        norm += q[i] * q[i];
    }
    if (norm < 1e-6f)
        q[3] = norm = 1;
    for (int i = 0; i < 4; i++)
        q[i] *= length / sqrtf(norm);
}

/* As extreme as is allowed: focal lengths and centres at both ends, the edge of the world. */
static void allowed(struct wild *w, float v[11])
{
    static const float focal[] = {1.0f, 1.5f, 13.0f, 500.0f, 65536.0f, 524288.0f};
    static const float centre[] = {0.0f, 7.5f, -524288.0f, 524288.0f, 320.0f, -1e-40f};
    static const float place[] = {0.0f, 1.0f, 1e-40f, 57735.0f, -57735.0f, -1.0f, 0.01f};

    for (int i = 0; i < 2; i++) {
        v[i] = focal[below(w, 6)];
        v[2 + i] = centre[below(w, 6)];
    }
    any_rotation(w, v + 4);
    for (int i = 8; i < 11; i++)
        v[i] = place[below(w, 7)] * (below(w, 2) ? 1.0f : unit(w));
}

static void write_message(struct wild *w)
{
    struct bytes_writer out = bytes_writer(w->msg, sizeof w->msg);
    float v[11];

    allowed(w, v);
    if (below(w, 2)) /* and one to four of them are anything */
        for (uint32_t n = 1 + below(w, 4); n > 0; n--)
            v[below(w, 11)] = any(w);
    bytes_put_u8(&out, FRAME_OP);
    bytes_put_u8(&out, FRAME_VERSION);
    bytes_put_u16(&out, FRAME_HEADER_BYTES);
    bytes_put_u32(&out, FRAME_HAS_POSE | FRAME_HAS_CAMERA);
    bytes_put_u64(&out, w->seen + 1);
    bytes_put_u64(&out, 0);
    bytes_put_u32(&out, 0);
    bytes_put_u16(&out, 1);
    bytes_put_u16(&out, FRAME_PART_BYTES);
    for (int i = 0; i < 11; i++)
        bytes_put_f32(&out, v[i]);
    bytes_put_u32(&out, 0);
    bytes_put_u8(&out, FRAME_COLOUR);
    bytes_put_u8(&out, FRAME_JPEG);
    bytes_put_u16(&out, 0);
    bytes_put_u16(&out, (uint16_t)(below(w, 4) ? W : 1 + below(w, FRAME_SIDE_MAX)));
    bytes_put_u16(&out, (uint16_t)(below(w, 4) ? H : 1 + below(w, FRAME_SIDE_MAX)));
    bytes_put_u32(&out, 0);
    bytes_put_u32(&out, PAYLOAD);
    for (int i = 0; i < PAYLOAD; i++)
        bytes_put_u8(&out, 0);
    assert_false(out.bad);
}

/* A network can say anything; the depth stage has made what is not finite 0 by then. */
static void draw_picture(struct wild *w)
{
    static const float ends[] = {0.0f, 1e-45f, 0.1f, 0.100001f, 30.0f, 29.9f, 31.0f, 1000.0f};
    uint32_t kind = below(w, 3);
    float all = 0.1f + 15.0f * (1.0f + unit(w));

    for (int i = 0; i < W * H; i++) {
        w->line.depth[i] = kind == 0   ? all
                           : kind == 1 ? 0.1f + 15.0f * (1.0f + unit(w))
                                       : ends[below(w, 8)];
        for (int k = 0; k < 3; k++)
            w->line.rgb[3 * i + k] = (uint8_t)draw(w);
    }
}

static void check_points(const struct session_cpu *s)
{
    for (uint32_t i = 0; i < s->n_slots; i++) {
        const struct point_place *p = &s->place[i];
        const struct point_stat *t = &s->stat[i];

        if (t->state == POINT_FREE)
            continue;
        assert_true(isfinite(p->x) && isfinite(p->y) && isfinite(p->z));
        assert_true(isfinite(t->c_c) && t->c_c >= 0 && isfinite(t->w_a) && t->w_a >= 0);
        for (int k = 0; k < 3; k++)
            assert_true(t->rgb[k] >= 0 && t->rgb[k] <= 255.001f);
    }
    for (uint32_t i = 0; i < s->n_pixels; i++)
        assert_true(s->usable[i] == 0 || (isfinite(s->world[i].x) && isfinite(s->world[i].y) &&
                                          isfinite(s->world[i].z)));
}

static void publish(struct wild *w)
{
    const uint32_t *changed;
    uint32_t n;

    for (uint32_t i = 0; i < w->line.f.result.n_changes; i++) {
        const struct gpu_change *c = &w->line.f.changes[i];
        struct key_look look;

        assert_true(c->slot < POINTS &&
                    (c->kind == GPU_CHANGE_PUT || c->kind == GPU_CHANGE_REMOVE));
        assert_true(c->kind != GPU_CHANGE_PUT || (c->confidence >= 1 && c->confidence <= 15));
        look = (struct key_look){{c->rgb[0], c->rgb[1], c->rgb[2]}, c->confidence, c->normal};
        if (c->kind == GPU_CHANGE_REMOVE)
            cloud_stage_remove(w->cloud, c->slot);
        else if (cloud_stage_put(w->cloud, c->slot, 0, c->p_q, &look, NULL))
            w->left_out++;
        else
            w->published++;
    }
    cloud_commit(w->cloud, &changed, &n);
    assert_true(cloud_points(w->cloud) <= w->line.cpu->n_stable);
}

/* What the message may say of a large picture can be no camera any more once it is scaled down;
 * the device refuses that frame before it does anything. */
static bool device_takes(struct wild *w)
{
    struct gpu_frame f = {.item.session = w->line.s,
                          .rgb = w->line.rgb,
                          .width = W,
                          .height = H,
                          .K = w->line.K,
                          .has_pose = 1,
                          .T_wc = w->f.T_wc};
    const struct intrinsics *K = &w->line.K;
    struct gpu_item *batch = &f.item;

    if (K->fx >= 1 && K->fy >= 1 && K->fx < 1e6f && K->fy < 1e6f && fabsf(K->cx) < 1e6f &&
        fabsf(K->cy) < 1e6f)
        return true;
    assert_int_equal(gpu_submit(w->line.g, &gpu_line_mono, &batch, 1, NULL), ERR_INPUT);
    return false;
}

static void one_frame(struct wild *w)
{
    size_t before;
    struct frame f;
    struct err err = {0};

    w->seen++;
    if (!w->has_frame || below(w, 4) == 0) { /* else once more from there: points become stable */
        write_message(w);
        if (frame_parse(&f, w->msg, sizeof w->msg, below(w, 2), &err)) {
            assert_true(err.code == ERR_INPUT && err.where[0]);
            return;
        }
        w->f = f;
        w->has_frame = true;
    }
    w->line.K = intrinsics_scale(w->f.K, w->f.width, w->f.height, W, H);
    if (!device_takes(w))
        return;
    w->passed++;
    draw_picture(w);
    before = count_malloc_all;
    assert_int_equal(line_frame(&w->line, &w->f.T_wc), 0);
    if (w->passed > 1) /* at the first one OpenMP makes itself at home in this thread */
        assert_int_equal(count_malloc_all, before);
    w->inserted += w->line.f.result.n_inserted;
    check_points(w->line.cpu);
    publish(w);
}

static void open_session(struct wild *w)
{
    const struct cloud_limits limits = {2000, POINTS};
    struct gpu_session_config c = line_config(W, H);

    c.max_points = POINTS;
    c.step_m = below(w, 2) ? 0.0005f : 0.1f;
    c.fuse.min_observations = 1 + (int)below(w, 3);
    c.fuse.edge_rel = below(w, 2) ? 0.0f : c.fuse.edge_rel;
    c.fuse.max_depth_m = below(w, 2) ? 1000.0f : 30.0f;
    c.fuse.stable_rel = below(w, 2) ? 10.0f : c.fuse.stable_rel;
    assert_int_equal(line_open(&w->line, &c), 0);
    assert_int_equal(cloud_new(&w->cloud, &limits, NULL), 0);
}

TEST(nothing_but_finite_numbers)
{
    uint64_t frames = getenv("N") ? strtoull(getenv("N"), NULL, 10) : FRAMES;
    static struct wild w;

    w.random = 1;
    while (w.seen < frames) {
        open_session(&w);
        for (int i = 0; i < FRAMES_A_SESSION; i++)
            one_frame(&w);
        cloud_free(&w.cloud);
        line_close(&w.line);
        w.line = (struct line){0};
    }
    printf("# %llu frames, %llu through the line, %llu points inserted, %llu published, %llu left "
           "out of the cloud\n",
           (unsigned long long)w.seen, (unsigned long long)w.passed, (unsigned long long)w.inserted,
           (unsigned long long)w.published, (unsigned long long)w.left_out);
    assert_true(w.passed > w.seen / 2 && w.passed < w.seen);
    assert_true(w.inserted > w.seen && w.published > w.seen); /* all of it was really used */
}
