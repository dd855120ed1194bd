/*
 * The fusion kernels against their CPU twins, on a drawn room with noise, holes and a box that
 * moves.
 *
 * Both sides are given the same depth and poses, and round alike: they must agree in every bit of
 * every list, slot, id, point and map.
 *
 * timeout: 400
 */
#include "tests/support/fusion_case.h"
#include "tests/support/image_box.h"
#include "tests/support/line.h"
#include "tests/support/unit.h"

#define FRAMES 40
#define N_SIZES 3

static const int sizes[N_SIZES][2] = {{64, 48}, {99, 35}, {416, 128}};

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const uint8_t *b = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * 1099511628211ull;
    return h;
}

/* Few places for keyframes and points. */
static struct gpu_session_config rough_config(int size)
{
    struct gpu_session_config c = line_config(sizes[size][0], sizes[size][1]);
    c.fuse.max_keyframes = 7;
    c.fuse.grace_frames = 4;
    c.fuse.carve_votes = 2;
    c.max_points = (uint32_t)(c.net_w * c.net_h) * (size == 1 ? 3 : 12) / 2;
    return c;
}

/* The same with points in cubes of three levels. */
static struct gpu_session_config cells_config(int size)
{
    struct gpu_session_config c = rough_config(size);
    fuse_params_cells(&c.fuse);
    c.fuse.max_keyframes = 7;
    c.fuse.min_observations = 2;
    c.fuse.carve_votes = 1;
    c.fuse.grace_frames = 4;
    c.fuse.cell_depth_m = 1.0f;
    if (size == 1)
        c.max_points = (uint32_t)(c.net_w * c.net_h / 4);
    return c;
}

static struct rigid walk(int i, int n)
{
    float t = 6.2831853f * (float)i / (float)n;
    return scene_pose(1.2f * sinf(t), 0.1f * sinf(2.0f * t), -1.8f + 0.3f * cosf(t) - 0.3f,
                      0.4f * sinf(t));
}

/* Frame i of the walk: a jump now and then, a box that comes and goes, holes, a frame without
 * depth. */
static struct rigid draw(int i, int w, int h, float *depth, uint8_t *rgb, uint32_t *random)
{
    struct scene scene = scene_make();
    struct rigid T = walk(i + (i % 11 == 10 ? 40 : 0), 100);
    float noise = i % 7 == 3 ? 0.2f : 0.01f;
    int n = w * h;
    scene.box_hi.x = i / 10 % 2 ? scene.box_lo.x : 0.4f;
    scene_draw(&scene, &T, scene_intrinsics(w, h), w, h, depth, rgb);
    for (int k = 0; k < n; k++)
        depth[k] *= 1.0f + noise * (2.0f * scene_random(random) - 1.0f);
    for (int k = 0; k < n; k += 13)
        depth[(k + 7 * i) % n] = k % 2 ? NAN : 0.0f;
    if (i % 17 == 5)
        memset(depth, 0, (size_t)n * sizeof *depth);
    return T;
}

static struct gpu_frame frame_of(const uint8_t *rgb, int w, int h, const struct rigid *T)
{
    struct gpu_frame f = {.rgb = rgb,
                          .width = w,
                          .height = h,
                          .K = scene_intrinsics(w, h),
                          .has_pose = 1,
                          .T_wc = *T};
    return f;
}

static void check_result(const struct gpu_result *a, const struct gpu_result *b)
{
    assert_memory_equal(&a->T_wc, &b->T_wc, sizeof a->T_wc);
    assert_int_equal(a->n_covisible, b->n_covisible);
    assert_int_equal(a->n_valid, b->n_valid);
    assert_int_equal(a->n_associated, b->n_associated);
    assert_true(a->median_depth_m == b->median_depth_m);
    assert_int_equal(a->is_keyframe, b->is_keyframe);
    assert_int_equal(a->n_keyframes, b->n_keyframes);
    assert_int_equal(a->n_updated, b->n_updated);
    assert_int_equal(a->n_inserted, b->n_inserted);
    assert_int_equal(a->n_left_out, b->n_left_out);
    assert_int_equal(a->n_carved, b->n_carved);
    assert_int_equal(a->n_removed, b->n_removed);
    assert_int_equal(a->n_points, b->n_points);
    assert_int_equal(a->n_stable, b->n_stable);
    assert_int_equal(a->n_changes, b->n_changes);
}

/* Two NaN are no difference: a grid point without depth is never read. */
static void check_keyframe(const struct keyframe *a, const struct keyframe *b)
{
    assert_int_equal(a->frame, b->frame);
    assert_memory_equal(&a->camera, &b->camera, sizeof a->camera);
    assert_memory_equal(a->grid.valid, b->grid.valid, sizeof a->grid.valid);
    for (int i = 0; i < COVISIBLE_GRID; i++)
        if (a->grid.valid[i])
            assert_memory_equal(&a->grid.p[i], &b->grid.p[i], sizeof a->grid.p[i]);
}

static void check_state(struct fusion_rig *r, int session, const struct session_cpu *s)
{
    size_t k = (size_t)s->base.config.fuse.max_keyframes, n = s->n_slots;
    struct fusion_state st;
    assert_int_equal(fusion_cuda->state(r, session, &st, NULL), 0);
    assert_int_equal(st.n_guards_hurt, 0);
    assert_int_equal(st.n_claims_left, 0);
    assert_int_equal(st.n_bins_left, 0);
    assert_int_equal(st.n_slots, s->n_slots);
    assert_int_equal(st.n_points, s->n_points);
    assert_int_equal(st.n_stable, s->n_stable);
    assert_int_equal(st.n_unstable, s->n_unstable);
    assert_int_equal(st.n_free, s->n_free);
    assert_int_equal(st.next_id, s->next_id);
    assert_memory_equal(st.rgb, s->rgb, 3 * s->n_pixels);
    assert_memory_equal(st.unstable, s->unstable, s->n_unstable * sizeof *st.unstable);
    assert_memory_equal(st.free_slots, s->free_slots, s->n_free * sizeof *st.free_slots);
    assert_memory_equal(st.id, s->id, n * sizeof *st.id);
    assert_memory_equal(st.place, s->place, n * sizeof *st.place);
    assert_memory_equal(st.stat, s->stat, n * sizeof *st.stat);
    assert_memory_equal(st.normal, s->normal, n * sizeof *st.normal);
    for (size_t i = 0; i < n; i++) /* what an unpublished point was last sent as does not count */
        if (st.out[i].confidence || s->out[i].confidence)
            assert_memory_equal(&st.out[i], &s->out[i], sizeof st.out[i]);
    assert_int_equal(st.n_keyframes, s->n_keyframes);
    for (uint32_t i = 0; i < s->n_keyframes; i++)
        check_keyframe(&st.keyframes[i], &s->keyframes[i]);
    assert_memory_equal(st.overlaps, s->overlaps, k * k);
    if (s->table)
        assert_memory_equal(st.key, s->key, n * sizeof *st.key);
    else
        assert_memory_equal(st.maps, s->maps, k * s->n_pixels * sizeof *st.maps);
    fusion_cuda->state_free(&st);
}

static void lists_and_points_are_the_cpu_twins(int cells)
{
    for (int size = 0; size < N_SIZES; size++) {
        struct gpu_session_config c = cells ? cells_config(size) : rough_config(size);
        struct fusion_rig *r = fusion_case_open(&c, 1);
        struct line l = {0};
        uint32_t random = 99, left_out = 0, carved = 0, removed = 0, changes = 0;
        assert_int_equal(line_open(&l, &c), 0);
        for (int i = 0; i < FRAMES; i++) {
            struct rigid T = draw(i, l.w, l.h, l.depth, l.rgb, &random);
            struct gpu_frame f = frame_of(l.rgb, l.w, l.h, &T);
            const float *depth = l.depth;
            f.submap = l.submap = i < 30 ? 0 : (uint32_t)(i & 1); /* worlds in turn at last */
            assert_int_equal(line_frame(&l, &T), 0);
            assert_int_equal(fusion_cuda->run(r, &f, &depth, NULL), 0);
            check_result(&f.result, &l.f.result);
            assert_memory_equal(f.changes, l.f.changes, f.result.n_changes * sizeof *f.changes);
            check_state(r, 0, l.cpu);
            left_out += f.result.n_left_out;
            carved += f.result.n_carved;
            removed += f.result.n_removed;
            changes += f.result.n_changes;
        }
        print_message("# %dx%d: %u changes, %u carved, %u removed, %u left out\n", l.w, l.h,
                      changes, carved, removed, left_out);
        assert_true(changes && carved && removed);
        assert_true(size != 1 || left_out);
        line_close(&l);
        fusion_cuda->close(&r);
    }
}

TEST(lists_points_and_maps_are_the_cpu_twins)
{
    lists_and_points_are_the_cpu_twins(0);
}

TEST(lists_points_and_cubes_are_the_cpu_twins)
{
    lists_and_points_are_the_cpu_twins(1);
}

/* A camera that hardly moves, and all frames keyframes: they overlap alike, so the newest are
 * tested and the oldest goes. */
TEST(keyframes_that_overlap_alike_are_told_apart)
{
    struct gpu_session_config c = rough_config(0);
    struct scene scene = scene_make();
    struct fusion_rig *r;
    struct line l = {0};
    uint32_t most = 0;
    c.fuse.kf_translation_rel = 1e-3f;
    r = fusion_case_open(&c, 1);
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < 16; i++) {
        struct rigid T = scene_pose(0.01f * (float)i, 0.0f, -1.8f, 0.0f);
        struct gpu_frame f = frame_of(l.rgb, l.w, l.h, &T);
        const float *depth = l.depth;
        uint32_t alike = 0;
        assert_int_equal(line_scene(&l, &scene, &T), 0);
        assert_int_equal(fusion_cuda->run(r, &f, &depth, NULL), 0);
        check_result(&f.result, &l.f.result);
        assert_memory_equal(f.changes, l.f.changes, f.result.n_changes * sizeof *f.changes);
        check_state(r, 0, l.cpu);
        for (int k = 0; k < c.fuse.max_keyframes; k++)
            alike += l.cpu->overlap_now[k] == 2 * COVISIBLE_GRID;
        most = alike > most ? alike : most;
    }
    assert_true(most > (uint32_t)c.fuse.n_covisible);
    line_close(&l);
    fusion_cuda->close(&r);
}

/* 24 frames of the walk on both sides; what `count` finds in all of them. */
static uint32_t walk_both(const struct gpu_session_config *c,
                          uint32_t (*count)(const struct line *))
{
    struct fusion_rig *r = fusion_case_open(c, 1);
    struct line l = {0};
    uint32_t random = 3, n = 0;
    assert_int_equal(line_open(&l, c), 0);
    for (int i = 0; i < 24; i++) {
        struct rigid T = draw(i, l.w, l.h, l.depth, l.rgb, &random);
        struct gpu_frame f = frame_of(l.rgb, l.w, l.h, &T);
        const float *depth = l.depth;
        assert_int_equal(line_frame(&l, &T), 0);
        n += count(&l);
        assert_int_equal(fusion_cuda->run(r, &f, &depth, NULL), 0);
        check_result(&f.result, &l.f.result);
        assert_memory_equal(f.changes, l.f.changes, f.result.n_changes * sizeof *f.changes);
        check_state(r, 0, l.cpu);
    }
    line_close(&l);
    fusion_cuda->close(&r);
    return n;
}

/* Points that are updated although a pixel sees through them. */
static uint32_t count_contested(const struct line *l)
{
    const struct session_cpu *s = l->cpu;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_pixels; i++)
        n += s->through[i] != POINT_NONE && s->stat[s->through[i]].last_seen == s->frame;
    return n;
}

/* With narrow bounds and noise one pixel observes a point and another sees through it. */
TEST(an_observation_comes_before_all_votes)
{
    struct gpu_session_config c = rough_config(0);
    uint32_t n;
    c.fuse.gate_rel = 0.02f;
    c.fuse.carve_rel = 0.02f;
    c.fuse.edge_rel = 0.0f;
    n = walk_both(&c, count_contested);
    print_message("# %u contested\n", n);
    assert_true(n > 20);
}

/* Points that clients held, and that live on unstable. */
static uint32_t count_unstable_again(const struct line *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->f.result.n_changes; i++)
        n += l->f.changes[i].kind == GPU_CHANGE_REMOVE &&
             l->cpu->stat[l->f.changes[i].slot].state == POINT_UNSTABLE;
    return n;
}

/* With short memories points are soon stable, and soon no more: they come before new ones. */
TEST(points_become_unstable_again)
{
    struct gpu_session_config c = rough_config(0);
    uint32_t n;
    c.fuse.w_max = 1.0f;
    c.fuse.min_observations = 2;
    c.fuse.initial_rel = 0.05f;
    c.fuse.stable_rel = 0.03f;
    c.fuse.hysteresis_rel = 0.003f;
    n = walk_both(&c, count_unstable_again);
    print_message("# %u unstable again\n", n);
    assert_true(n > 20);
}

/* What sessions told their clients, in one number each; sessions i with bit i in `which` run, all
 * in one batch. */
static void run_hashes(uint64_t *hash, const struct gpu_session_config *c, int n, unsigned which)
{
    struct fusion_rig *r = fusion_case_open(c, n);
    float *depth[FUSION_CUDA_MAX] = {NULL};
    uint8_t *rgb[FUSION_CUDA_MAX] = {NULL};
    uint32_t random[FUSION_CUDA_MAX];
    for (int k = 0; k < n; k++) {
        size_t pixels = (size_t)c[k].net_w * (size_t)c[k].net_h;
        depth[k] = malloc(pixels * sizeof(float));
        rgb[k] = malloc(3 * pixels);
        random[k] = 7u + (uint32_t)k;
        if (which >> k & 1)
            hash[k] = 14695981039346656037ull;
    }
    for (int i = 0; i < FRAMES; i++) {
        struct gpu_frame f[FUSION_CUDA_MAX];
        memset(f, 0, sizeof f);
        for (int k = 0; k < n; k++) {
            struct rigid T = draw(i + 3 * k, c[k].net_w, c[k].net_h, depth[k], rgb[k], &random[k]);
            if (which >> k & 1 && (i + k) % 9) /* some places in the batch are empty */
                f[k] = frame_of(rgb[k], c[k].net_w, c[k].net_h, &T);
        }
        assert_int_equal(fusion_cuda->run(r, f, (const float *const *)depth, NULL), 0);
        for (int k = 0; k < n; k++) {
            if (!f[k].rgb)
                continue;
            hash[k] = hash_bytes(hash[k], &f[k].result, sizeof f[k].result);
            hash[k] =
                hash_bytes(hash[k], f[k].changes, f[k].result.n_changes * sizeof *f[k].changes);
        }
    }
    for (int k = 0; k < n; k++) {
        free(depth[k]);
        free(rgb[k]);
    }
    fusion_cuda->close(&r);
}

TEST(a_batch_is_its_frames_alone_and_runs_repeat)
{
    struct gpu_session_config c[5];
    uint64_t together[5], again[5], alone[5];
    for (int k = 0; k < 5; k++) {
        c[k] = rough_config(k % N_SIZES);
    }
    c[3].fuse.n_covisible = 9;
    c[3].fuse.max_keyframes = 40;
    run_hashes(together, c, 5, 0x1f);
    run_hashes(again, c, 5, 0x1f);
    for (int k = 0; k < 5; k++)
        run_hashes(alone, c, 5, 1u << k);
    assert_memory_equal(again, together, sizeof together);
    assert_memory_equal(alone, together, sizeof together);
}

static float half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    float v = e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);
    return h & 0x8000 ? -v : v;
}

static void check_half(uint16_t h, float want)
{
    float d = half_value(h) - want;
    assert_true(fabsf(d) <= 1e-3f * fabsf(want) + 1e-6f); /* half of 2^-10, and a little */
}

/* What is a half already stays the same number; nearer to 0 than 2^-14 one has fewer bits. */
static void check_same_half(uint16_t h, float want)
{
    assert_true(fabsf(half_value(h) - want) <= 0x1p-25f);
}

/* Channels of pixel `at` for network `net` of a picture. */
static void check_planes(const uint16_t *halves, const uint8_t *rgb, int w, int h, int out_w,
                         int out_h, uint32_t at, int net)
{
    for (int ch = 0; ch < 3; ch++) {
        uint64_t sum = image_box(rgb, w, h, out_w, out_h, (int)at % out_w, (int)at / out_w, ch);
        check_same_half(halves[ch],
                        image_normalise(sum, (uint64_t)w * (uint64_t)h, FUSION_CUDA_MEAN(net, ch),
                                        FUSION_CUDA_STD(net, ch)));
    }
}

static void check_image(const struct fusion_state *st, const struct gpu_frame *f,
                        const struct gpu_frame *before, int w, int h)
{
    struct intrinsics K = intrinsics_scale(f->K, f->width, f->height, w, h);
    assert_memory_equal(&st->K, &K, sizeof K);
    for (uint32_t i = 0; i < (uint32_t)(w * h); i++) {
        const uint16_t *motion = st->motion_in + 8 * (size_t)i;
        for (int ch = 0; ch < 3; ch++) {
            uint64_t sum = image_box(f->rgb, f->width, f->height, w, h, (int)i % w, (int)i / w, ch);
            assert_int_equal(st->rgb[3 * i + (uint32_t)ch],
                             image_round(sum, (uint64_t)f->width * (uint64_t)f->height));
        }
        const uint16_t *in =
            st->depth_in + 4 * (size_t)image_turned((int)i % w, (int)i / w, w, h, f->item.turn);
        check_planes(in, f->rgb, f->width, f->height, w, h, i, 0);
        assert_int_equal(in[3], 0);
        check_planes(motion + 3, f->rgb, f->width, f->height, w, h, i, 1);
        if (before)
            check_planes(motion, before->rgb, before->width, before->height, w, h, i, 1);
        check_half(motion[6], ((float)(int)(i % (uint32_t)w) - K.cx) / K.fx);
        check_half(motion[7], ((float)(int)(i / (uint32_t)w) - K.cy) / K.fy);
    }
}

TEST(pictures_come_as_boxes_and_the_last_one_too)
{
    const int picture[5][2] = {{640, 480}, {97, 211}, {99, 35}, {31, 20}, {640, 479}};
    struct gpu_model motion = {0}, model = {.info = {.min_depth_m = 0.5f, .max_depth_m = 10}};
    struct gpu_session_config c = line_config(99, 35);
    struct rigid T = scene_pose(0, 0, -2, 0);
    struct gpu_frame f[5];
    struct fusion_rig *r;
    float *depth, *depth_out;
    uint8_t *rgb;
    uint32_t random = 5;
    c.motion = &motion;
    c.depth = &model;
    c.max_image_w = 640;
    c.max_image_h = 480;
    r = fusion_case_open(&c, 1); /* leaves the test where there is no device: nothing is held yet */
    depth = calloc(99 * 35, sizeof *depth);
    depth_out = malloc(99 * 35 * sizeof *depth);
    rgb = malloc(640 * 480 * 3);
    for (int i = 0; i < 640 * 480 * 3; i++)
        rgb[i] = (uint8_t)(255.99f * scene_random(&random));
    for (int i = 0; i < 99 * 35; i++)
        depth[i] = 1.0f + scene_random(&random);
    for (int i = 0; i < 5; i++) {
        const float *given = depth;
        struct fusion_state st;
        f[i] = frame_of(rgb, picture[i][0], picture[i][1], &T);
        /* square in the network's picture */
        f[i].K.fy = f[i].K.fx * (float)(99 * f[i].height) / (float)(35 * f[i].width);
        f[i].has_pose = i != 3; /* without a network's answer the last pose stands */
        f[i].depth_out = depth_out;
        f[i].item.turn = i % 4;
        assert_int_equal(fusion_cuda->run(r, &f[i], &given, NULL), 0);
        assert_memory_equal(&f[i].result.T_wc, &T, sizeof T);
        for (int k = 0; k < 99 * 35; k++)
            assert_true(depth_out[k] == depth[image_turned(k % 99, k / 99, 99, 35, i % 4)]);
        assert_int_equal(fusion_cuda->state(r, 0, &st, NULL), 0);
        assert_int_equal(st.n_guards_hurt, 0);
        check_image(&st, &f[i], i ? &f[i - 1] : NULL, 99, 35);
        fusion_cuda->state_free(&st);
    }
    fusion_cuda->close(&r);
    free(depth);
    free(depth_out);
    free(rgb);
}
