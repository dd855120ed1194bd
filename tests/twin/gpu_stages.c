/*
 * gpu_stages - a frame's stages one by one: what each CUDA pass leaves is what the CPU's stages
 * have left at the same boundary
 *
 * Bound:   equal bits at every boundary but the last, where all first weights are 1 (gpu_line says
 *          why); a value that no stage reads is not compared. Sizes are odd and cut blocks, warps
 *          and groups of pixels; guard bands beside every array stay as they were.
 *
 * timeout: 400
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fusion_case.h"
#include "tests/support/lens_case.h"
#include "tests/support/line.h"
#include "tests/support/unit.h"

#define FRAMES 14

static const int sizes[][2] = {{33, 17}, {99, 35}, {131, 67}};
#define PIXELS_MAX (131 * 67)

struct both {
    struct line cpu;
    struct fusion_rig *cuda;
    uint32_t n_frames, n_found, n_through, n_keyframes, n_final;
};

/* Cubes, with the depth of each frame as it is, or out of many views, or cameras of every model. */
enum rules { PAPER, CELLS, VIEWS, LENSES };

static void open_both(struct both *b, int size, enum rules rules)
{
    struct gpu_session_config c = line_config(sizes[size][0], sizes[size][1]);

    if (rules != PAPER)
        fuse_params_cells(&c.fuse);
    c.views = rules == VIEWS ? GPU_VIEWS_REFINED : GPU_VIEWS_NONE;
    c.fuse.max_keyframes = 7;
    c.fuse.grace_frames = 4;
    c.fuse.carve_votes = 2;
    if (rules != PAPER) { /* far levels, a budget that runs short, a table that is soon worn */
        c.fuse.carve_votes = 1;
        c.fuse.min_observations = 2;
        c.fuse.cell_depth_m = 2.0f;
        c.max_points = (uint32_t)(c.net_w * c.net_h * 3);
    }
    memset(b, 0, sizeof *b);
    b->cuda = fusion_case_open(&c, 1);
    assert_int_equal(line_open(&b->cpu, &c), 0);
}

static void close_both(struct both *b)
{
    line_close(&b->cpu);
    fusion_cuda->close(&b->cuda);
}

/* ------------------------------------------------------------------------- boundaries */

static void check_image(struct both *b, const struct fusion_frame *f)
{
    const struct session_cpu *s = b->cpu.cpu;

    assert_memory_equal(f->rgb, s->rgb, 3 * s->n_pixels);
    assert_memory_equal(&f->camera.K, &s->camera.K, sizeof s->camera.K);
}

static void check_depth(struct both *b, const struct fusion_frame *f)
{
    const struct session_cpu *s = b->cpu.cpu;

    assert_memory_equal(f->depth, s->depth, s->n_pixels * sizeof *s->depth);
}

static void check_covisible(struct both *b, const struct fusion_frame *f)
{
    const struct session_cpu *s = b->cpu.cpu;

    assert_memory_equal(&f->camera, &s->camera, sizeof s->camera);
    assert_memory_equal(f->grid.valid, s->grid.valid, sizeof s->grid.valid);
    for (int i = 0; i < COVISIBLE_GRID; i++)
        if (s->grid.valid[i])
            assert_memory_equal(&f->grid.p[i], &s->grid.p[i], sizeof s->grid.p[i]);
    assert_memory_equal(f->overlap_now, s->overlap_now, (size_t)s->base.config.fuse.max_keyframes);
    assert_int_equal(f->n_covisible, s->n_covisible);
    for (int k = 0; k < s->n_covisible; k++) {
        assert_int_equal(f->covisible_place[k], s->covisible[k].place);
        assert_int_equal(f->covisible_overlap[k], s->covisible[k].overlap);
    }
}

static void check_associate(struct both *b, const struct fusion_frame *f)
{
    const struct session_cpu *s = b->cpu.cpu;

    assert_memory_equal(f->usable, s->usable, s->n_pixels * sizeof *s->usable);
    assert_memory_equal(f->found, s->found, s->n_pixels * sizeof *s->found);
    assert_memory_equal(f->through, s->through, s->n_pixels * sizeof *s->through);
    for (uint32_t i = 0; i < s->n_pixels; i++) {
        if (s->usable[i] > 0.0f)
            assert_memory_equal(&f->world[i], &s->world[i], sizeof s->world[i]);
        if (s->found[i] != POINT_NONE)
            assert_true(f->distance[i] == s->distance[i]);
        b->n_found += s->found[i] != POINT_NONE;
        b->n_through += s->through[i] != POINT_NONE;
    }
}

static void check_keyframe(struct both *b, const struct fusion_frame *f)
{
    const struct session_cpu *s = b->cpu.cpu;

    assert_int_equal(f->n_valid, s->n_valid);
    assert_int_equal(f->n_associated, s->n_associated);
    assert_true(f->median_depth_m == s->median_depth_m);
    assert_int_equal(f->is_keyframe, s->is_keyframe);
    assert_int_equal(f->n_keyframes, s->n_keyframes);
    if (s->is_keyframe)
        assert_int_equal(f->place_new, s->place_new);
    assert_memory_equal(f->overlap_now, s->overlap_now, (size_t)s->base.config.fuse.max_keyframes);
    b->n_keyframes += s->is_keyframe != 0;
    b->n_final += s->views && s->views->plan.final >= 0;
}

/* Where the last pass is over: the model, and that all is tidy for the next frame. */
static void check_model(struct both *b, const struct fusion_frame *f)
{
    const struct session_cpu *s = b->cpu.cpu;
    struct fusion_state st;

    (void)f;
    assert_int_equal(fusion_cuda->state(b->cuda, 0, &st, NULL), 0);
    assert_int_equal(st.n_guards_hurt, 0);
    assert_int_equal(st.n_claims_left, 0);
    assert_int_equal(st.n_bins_left, 0);
    assert_int_equal(st.n_slots, s->n_slots);
    assert_int_equal(st.n_unstable, s->n_unstable);
    assert_int_equal(st.n_free, s->n_free);
    assert_memory_equal(st.place, s->place, s->n_slots * sizeof *st.place);
    assert_memory_equal(st.stat, s->stat, s->n_slots * sizeof *st.stat);
    assert_memory_equal(st.unstable, s->unstable, s->n_unstable * sizeof *st.unstable);
    assert_memory_equal(st.free_slots, s->free_slots, s->n_free * sizeof *st.free_slots);
    fusion_cuda->state_free(&st);
}

/* Behind this stage of the CPU and this pass of CUDA both have done the same. */
static const struct {
    const char *stage, *pass;
    void (*check)(struct both *b, const struct fusion_frame *f);
} boundaries[] = {
    {"image", "image", check_image},
    {"depth", "depth", check_depth},
    {"covisible", "covisible", check_covisible},
    {"associate", "associate", check_associate},
    {"keyframe", "update", check_keyframe},
    {"change", "remove", check_model},
};

#define BOUNDARIES (sizeof boundaries / sizeof *boundaries)

/* ------------------------------------------------------------------------- a frame */

/* Runs CUDA's passes from *pass up to the one of this name. */
static void run_passes(struct both *b, int *pass, const char *last)
{
    int done = 0;

    while (!done && fusion_cuda->pass_name(*pass)) {
        done = !strcmp(fusion_cuda->pass_name(*pass), last);
        assert_int_equal(fusion_cuda->pass(b->cuda, (*pass)++, NULL), 0);
    }
    assert_true(done);
}

static void run_frame(struct both *b)
{
    static float depth_here[PIXELS_MAX], depth_there[PIXELS_MAX];
    size_t depth_bytes = (size_t)b->cpu.w * (size_t)b->cpu.h * sizeof *depth_here;
    struct gpu_frame f;
    const float *depth = b->cpu.depth;
    size_t at = 0;
    int pass = 0;

    b->cpu.f.depth_out = b->n_frames++ % 3 ? depth_here : NULL;
    f = b->cpu.f;
    f.depth_out = f.depth_out ? depth_there : NULL;
    assert_int_equal(session_cpu_put_depth(b->cpu.s, b->cpu.depth, NULL), 0);
    assert_int_equal(fusion_cuda->upload(b->cuda, &f, &depth, NULL), 0);
    for (int i = 0; i < gpu_line_mono.n_stages; i++) {
        const struct gpu_stage *stage = &gpu_line_mono.stages[i];
        struct fusion_frame look;

        assert_int_equal(stage->run(&b->cpu.f.item, NULL), 0);
        if (at == BOUNDARIES || strcmp(stage->name, boundaries[at].stage))
            continue;
        run_passes(b, &pass, boundaries[at].pass);
        assert_int_equal(fusion_cuda->frame(b->cuda, 0, &look, NULL), 0);
        boundaries[at++].check(b, &look);
        fusion_cuda->frame_free(&look);
    }
    assert_int_equal(at, BOUNDARIES);
    assert_int_equal(fusion_cuda->take(b->cuda, &f, NULL), 0);
    assert_int_equal(f.result.n_changes, b->cpu.f.result.n_changes);
    assert_memory_equal(&f.result.views, &b->cpu.f.result.views, sizeof f.result.views);
    assert_memory_equal(f.changes, b->cpu.f.changes, f.result.n_changes * sizeof *f.changes);
    assert_memory_equal(depth_here, depth_there, depth_bytes); /* as it was, if not asked for */
}

/* A walk along a box that is taken away in the middle, with noise and holes. */
static void draw(struct line *l, int i, uint32_t *random)
{
    struct rigid T = scene_pose(0.12f * (float)i - 0.7f, 0.0f, -1.8f, 0.03f * (float)i);
    struct scene scene = scene_make();
    int n = l->w * l->h;

    if (i >= FRAMES / 2)
        scene.box_hi.x = scene.box_lo.x;
    scene_draw(&scene, &T, l->K, l->w, l->h, l->depth, l->rgb);
    for (int k = 0; k < n; k++)
        l->depth[k] *= 1.0f + 0.01f * (2.0f * scene_random(random) - 1.0f);
    for (int k = 0; k < n; k += 13)
        l->depth[(k + 7 * i) % n] = k % 2 ? NAN : 0.0f;
    line_set_frame(l, &T);
}

/* Are there pixels that the picture does not show, and that have no depth? */
static int unseen(const struct both *b)
{
    const struct session_cpu *s = b->cpu.cpu;
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_pixels; i++)
        if (!lens_map_shows(&s->map, (int)i % s->w, (int)i / s->w)) {
            assert_true(s->depth[i] == 0.0f);
            n++;
        }
    return n > s->n_pixels / 50;
}

static void passes_leave_what_stages_leave(enum rules rules)
{
    for (int size = 0; size < (int)(sizeof sizes / sizeof *sizes); size++) {
        struct both b;
        uint32_t random = 11, n_unseen = 0;

        open_both(&b, size, rules);
        for (int i = 0; i < (rules == VIEWS ? FRAMES + 8 : FRAMES); i++) {
            draw(&b.cpu, i, &random);
            if (rules == LENSES)
                assert_int_equal(
                    lens_case(i % LENS_CASES, &b.cpu.f.lens, &b.cpu.f.K, b.cpu.w, b.cpu.h), 0);
            run_frame(&b);
            n_unseen += rules == LENSES && unseen(&b);
        }
        print_message("# %dx%d: %u found, %u seen through, %u keyframes\n", b.cpu.w, b.cpu.h,
                      b.n_found, b.n_through, b.n_keyframes);
        assert_true(b.n_found && b.n_through && b.n_keyframes > 1);
        assert_int_equal(n_unseen > 1, rules == LENSES);
        assert_int_equal(b.n_final > 0, rules == VIEWS);
        close_both(&b);
    }
}

TEST(each_pass_leaves_what_the_stages_leave)
{
    passes_leave_what_stages_leave(PAPER);
}

TEST(the_same_where_points_lie_in_cubes)
{
    passes_leave_what_stages_leave(CELLS);
}

TEST(the_same_where_many_views_make_depth)
{
    passes_leave_what_stages_leave(VIEWS);
}

TEST(the_same_through_cameras_of_every_model)
{
    passes_leave_what_stages_leave(LENSES);
}
