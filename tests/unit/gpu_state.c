/*
 * gpu_state - a session that was saved and loaded goes on bit for bit as if nothing had happened,
 * and bytes that are not a session's state are refused or do no harm
 */
#include <unistd.h>

#include "tests/support/pixel_nets.h"
#include "tests/support/sample.h"
#include "tests/support/state_walk.h"
#include "tests/support/line_case.h"

#define FRAMES 40

static struct gpu_session_config walk_config(int cells)
{
    struct gpu_session_config c =
        line_config(63, 47); /* odd: pieces do not end where others begin */
    c.max_points = 4500;
    if (cells) {
        fuse_params_cells(&c.fuse);
        c.fuse.cell_m = 0.06f;
        c.fuse.grace_frames = 10;
    }
    c.fuse.max_keyframes = 7;
    return c;
}

/* What a frame answered. */
struct step {
    struct gpu_result result;
    struct gpu_change *changes;
};

static void keep(struct step *to, const struct gpu_frame *f)
{
    size_t n = f->result.n_changes;
    to->result = f->result;
    to->changes = malloc((n + 1) * sizeof *to->changes);
    assert_non_null(to->changes);
    memcpy(to->changes, f->changes, n * sizeof *to->changes);
}

static void assert_same(const struct step *a, const struct gpu_frame *f)
{
    struct gpu_result r = f->result;
    assert_memory_equal(&a->result, &r, sizeof r);
    assert_memory_equal(a->changes, f->changes, r.n_changes * sizeof *f->changes);
}

/* The uninterrupted walk. Returns its last state. */
static uint8_t *walk_all(const struct gpu_session_config *c, struct step *steps, size_t *len)
{
    struct line l;
    uint32_t n_left_out = 0, n_carved = 0, n_removed = 0, n_updated = 0;
    uint8_t *last;

    assert_int_equal(line_open(&l, c), 0);
    for (int i = 0; i < FRAMES; i++) {
        walk(&l, i);
        keep(&steps[i], &l.f);
        n_left_out += l.f.result.n_left_out;
        n_carved += l.f.result.n_carved;
        n_removed += l.f.result.n_removed;
        n_updated += l.f.result.n_updated;
    }
    print_message("# %u left out, %u carved, %u expired, %u updated\n", n_left_out, n_carved,
                  n_removed, n_updated);
    /* all that a state has to hold did happen */
    assert_true(n_left_out && n_carved && n_removed && n_updated);
    assert_int_equal(l.f.result.n_keyframes, 7);
    assert_true(l.cpu->n_free > 0 && l.cpu->n_unstable > 0 && l.cpu->n_stable > 0);
    last = save(l.s, len);
    print_message("# %u slots, %u free, %u unstable; %zu bytes\n", l.cpu->n_slots, l.cpu->n_free,
                  l.cpu->n_unstable, *len);
    line_close(&l);
    return last;
}

/* Frames 0 ... at-1 in one session, the others in one that was loaded. */
static void walk_in_two(const struct gpu_session_config *c, int at, const struct step *steps,
                        const uint8_t *last, size_t last_len)
{
    struct line a, b;
    size_t len, again_len;
    uint8_t *state, *again;

    assert_int_equal(line_open(&a, c), 0);
    assert_int_equal(line_open(&b, c), 0);
    for (int i = 0; i < at; i++)
        walk(&a, i);
    state = save(a.s, &len);
    line_close(&a);
    assert_int_equal(gpu_session_load(b.s, state, len, NULL), 0);
    again = save(b.s, &again_len);
    assert_int_equal(again_len, len);
    assert_memory_equal(again, state, len);
    for (int i = at; i < FRAMES; i++) {
        walk(&b, i);
        assert_same(&steps[i], &b.f);
    }
    free(state);
    free(again);
    state = save(b.s, &len);
    assert_int_equal(len, last_len);
    assert_memory_equal(state, last, len);
    free(state);
    line_close(&b);
}

TEST(a_loaded_session_goes_on_as_the_saved_one)
{
    static const int at[] = {0, 1, 2, 5, 11, 18, 19, 27, 33, 39, 40};
    struct step steps[FRAMES];

    for (int cells = 0; cells < 2; cells++) {
        const struct gpu_session_config c = walk_config(cells);
        size_t len;
        uint8_t *last = walk_all(&c, steps, &len);

        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            walk_in_two(&c, at[i], steps, last, len);
        for (int i = 0; i < FRAMES; i++)
            free(steps[i].changes);
        free(last);
    }
}

TEST(only_a_new_session_of_the_same_shape_takes_it)
{
    struct gpu_session_config c = walk_config(0), other;
    struct line a, b;
    struct err err = {0};
    size_t len, n;
    uint8_t *buf;

    assert_int_equal(line_open(&a, &c), 0);
    walk(&a, 0);
    buf = save(a.s, &len);
    assert_int_equal(gpu_session_save(a.s, buf, len - 1, &n, &err), ERR_LIMIT);
    assert_int_equal(n, 0);
    assert_int_equal(gpu_session_load(a.s, buf, len, &err), ERR_STATE);
    assert_int_equal(gpu_session_load(a.s, NULL, 0, &err), ERR_INPUT);
    for (int i = 0; i < 6; i++) {
        other = c;
        other.net_w += i == 0;
        other.net_h += i == 1;
        other.step_m *= i == 2 ? 2.0f : 1.0f;
        other.max_points = i == 3 ? a.cpu->n_slots - 1 : a.cpu->n_slots;
        other.fuse.cells = i == 4;
        assert_int_equal(line_open(&b, &other), 0);
        assert_int_equal(gpu_session_load(b.s, buf, len, &err), i < 5 ? ERR_INPUT : 0);
        line_close(&b);
    }
    free(buf);
    line_close(&a);
}

/* ------------------------------------------------------------------------- a stranger's bytes */

static void try_truncations(const struct gpu_session_config *c)
{
    struct line l;
    size_t len;
    uint8_t *buf = small_state(&l, c, &len);

    assert_true(try_state(&l, buf, len));
    for (size_t n = 0; n < len; n++) {
        uint8_t *cut = malloc(n + 1); /* as long as it is: a read past the end is seen */
        memcpy(cut, buf, n);
        assert_false(try_state(&l, cut, n));
        free(cut);
    }
    free(buf);
    line_close(&l);
}

TEST(every_truncation_is_refused)
{
    const struct gpu_session_config paper = small_config(), cells = small_cells_config();

    try_truncations(&paper);
    try_truncations(&cells);
}

static void try_flips(const struct gpu_session_config *c)
{
    struct line l;
    size_t len, n = 0, n_taken = 0;
    uint8_t *buf = small_state(&l, c, &len);
    uint32_t seed = sample_seed();

    for (size_t i = 0; i < len; i++) {
        uint8_t was = buf[i];
        if (!sample_takes(seed, i, 5))
            continue;
        buf[i] ^= i % 2 ? 0x81 : 0x7e;
        n_taken += (size_t)try_state(&l, buf, len);
        n++;
        buf[i] = was;
    }
    print_message("# %zu of %zu changed states were taken, and did no harm\n", n_taken, n);
    assert_true(n > len / 10 && n_taken < n);
    free(buf);
    line_close(&l);
}

TEST(a_flipped_byte_is_refused_or_harmless)
{
    const struct gpu_session_config paper = small_config(), cells = small_cells_config();

    try_flips(&paper);
    try_flips(&cells);
}

static uint32_t *words(uint8_t *buf, size_t at)
{
    return (uint32_t *)(void *)(buf + at); /* pieces begin at multiples of 16 */
}

static void add(uint8_t *to, uint32_t n)
{
    uint32_t v;
    memcpy(&v, to, sizeof v);
    v += n;
    memcpy(to, &v, sizeof v);
}

/* A state that a lie is told in, and what stands in it. */
struct told {
    uint8_t *buf;
    size_t len;
    struct state_head h;
    struct state_layout l;
};

/* The first slot in a state. */
static uint32_t slot_in(const struct told *t, int wanted)
{
    for (uint32_t i = 0; i < t->h.n_slots; i++) {
        struct point_stat stat;
        memcpy(&stat, t->buf + t->l.stat + i * sizeof stat, sizeof stat);
        if (stat.state == wanted)
            return i;
    }
    fail_msg("no slot in state %d", wanted);
    return 0;
}

/* Each of these tells one lie a turn, so that lengths still add up, and answers 0 when there are no
 * more. */
typedef int lie_fn(struct told *t, int which);

static int lie_of_lists(struct told *t, int which)
{
    uint32_t *unstable = words(t->buf, t->l.unstable), *unused = words(t->buf, t->l.free_slots);
    const uint32_t stable = slot_in(t, POINT_STABLE);
    const uint32_t wrong[] = {unstable[1], stable, unused[0],   t->h.n_slots,
                              unused[1],   stable, unstable[0], t->h.n_slots};

    if (which < 4)
        unstable[0] = wrong[which];
    else if (which < 8)
        unused[0] = wrong[which];
    else if (which == 8)
        add(field(t->buf, t->len, "GMOD", 12), 1); /* n_points */
    else if (which == 9)
        add(field(t->buf, t->len, "GMOD", 16), UINT32_MAX); /* n_stable */
    else if (which == 10)
        memset(field(t->buf, t->len, "GMOD", 24), 0, 8); /* next_id */
    else
        return 0;
    return 1;
}

static int lie_of_points(struct told *t, int which)
{
    const uint32_t i = slot_in(t, POINT_STABLE), none = slot_in(t, POINT_FREE);
    uint64_t *id = (uint64_t *)(void *)(t->buf + t->l.id);
    struct point_place *place = (struct point_place *)(void *)(t->buf + t->l.place);
    struct point_stat *stat = (struct point_stat *)(void *)(t->buf + t->l.stat);
    struct point_out *out = (struct point_out *)(void *)(t->buf + t->l.out);
    struct point_normal *normal = (struct point_normal *)(void *)(t->buf + t->l.normals);

    if (which == 0)
        memcpy(field(t->buf, t->len, "GMOD", 24), &id[i], 8); /* next_id */
    place[i].tag += which == 1;
    place[none].tag = which == 2;
    stat[i].state = (uint8_t)(which == 3 ? POINT_STABLE + 1 : POINT_STABLE);
    stat[i].last_seen = which == 4 ? t->h.frame + 1 : stat[i].last_seen;
    stat[i].vote_frame = which == 5 ? t->h.frame + 1 : stat[i].vote_frame;
    stat[i].w_a = which == 6 ? -1.0f : stat[i].w_a;
    stat[i].c_c = which == 7 ? NAN : stat[i].c_c;
    place[i].y = which == 8 ? INFINITY : place[i].y;
    out[i].confidence = which == 9 ? 16 : out[i].confidence;
    normal[i].code = which == 10 ? 0x1000 : normal[i].code;
    return which < 11;
}

static int lie_of_keyframes(struct told *t, int which)
{
    const uint32_t none = slot_in(t, POINT_FREE);
    struct keyframe *kf = (struct keyframe *)(void *)(t->buf + t->l.keyframes);
    uint32_t *cell = words(t->buf, t->l.maps);
    const float nan = NAN;

    kf->camera.w += which == 0;
    kf->frame = which == 1 ? 0 : which == 2 ? t->h.frame + 1 : kf->frame;
    kf->camera.T_cw.r[4] = which == 3 ? NAN : kf->camera.T_cw.r[4];
    kf->grid.valid[3] = which == 4 ? 2 : kf->grid.valid[3];
    cell[0] = which == 5 ? 2 * t->h.n_slots : which == 6 ? 2 * none : cell[0];
    t->buf[t->l.overlaps] = which == 7 ? 97 : t->buf[t->l.overlaps];
    if (which == 8)
        memcpy(field(t->buf, t->len, "GSES", 28 + 36), &nan, 4); /* T_last.t[0] */
    if (which == 9)
        add(field(t->buf, t->len, "GSES", 24), 1); /* has_last */
    if (which == 10)                               /* the same section twice */
        memcpy(field(t->buf, t->len, "GKEY", 0) - SECTION_HEAD_BYTES, "GMOD", 4);
    return which < 11;
}

static int lie_of_cells(struct told *t, int which)
{
    const uint32_t lives[] = {slot_in(t, POINT_STABLE), slot_in(t, POINT_UNSTABLE)};
    uint8_t *section = field(t->buf, t->len, "GCEL", 0) - SECTION_HEAD_BYTES;

    if (which < 2) /* a point that lies nowhere */
        memset(t->buf + t->l.keys + 8 * (size_t)lives[which], 0, 8);
    else if (which == 2) /* no keys, or those of others */
        memcpy(section, "GXEL", 4);
    else if (which == 3)
        memcpy(section, "GMOD", 4);
    return which < 4;
}

static void tell_lies(const struct gpu_session_config *c, lie_fn *const *lies)
{
    struct line l;
    struct told t;
    uint8_t *buf = small_state(&l, c, &t.len);

    assert_int_equal(state_check(&t.h, &t.l, buf, t.len, c, NULL), 0);
    t.buf = malloc(t.len);
    assert_non_null(t.buf);
    for (int k = 0; lies[k]; k++)
        for (int which = 0; memcpy(t.buf, buf, t.len), lies[k](&t, which); which++)
            if (try_state(&l, t.buf, t.len))
                fail_msg("lie %d of kind %d was believed", which, k);
    free(t.buf);
    free(buf);
    line_close(&l);
}

TEST(lies_are_refused)
{
    const struct gpu_session_config paper = small_config(), cells = small_cells_config();
    lie_fn *const of_paper[] = {lie_of_lists, lie_of_points, lie_of_keyframes, NULL};
    lie_fn *const of_cells[] = {lie_of_lists, lie_of_points, lie_of_cells, NULL};

    tell_lies(&paper, of_paper);
    tell_lies(&cells, of_cells);
}

/* Keys that no cube has, and one for two points: nothing is found by them, and nothing breaks. */
LINE_TEST(keys_of_no_cube_do_no_harm)
{
    const struct gpu_session_config c = small_cells_config();
    struct state_head h;
    struct state_layout layout;
    size_t len;
    uint8_t *buf = small_state(&line, &c, &len);

    assert_int_equal(state_check(&h, &layout, buf, len, &c, NULL), 0);
    memset(buf + layout.keys, 0xff, 8 * (size_t)h.n_slots);
    assert_true(try_state(&line, buf, len));
    free(buf);
}

/* ------------------------------------------------------------------------- with networks */

#define W 64
#define H 48

struct nets {
    struct gpu *g;
    struct gpu_model *depth, *motion;
    char depth_path[64], motion_path[64];
};

static void open_model(struct gpu_model **m, struct gpu *g, enum gpu_model_kind kind,
                       const char *path)
{
    struct gpu_model_info info = {.kind = kind,
                                  .name = "tiny",
                                  .std = {1, 1, 1},
                                  .min_depth_m = 0.5f,
                                  .max_depth_m = 3.0f,
                                  .rays = kind == GPU_MODEL_MOTION,
                                  .multiple = 16};
    snprintf(info.path, sizeof info.path, "%s", path);
    assert_int_equal(gpu_model_open(m, g, &info, NULL), 0);
}

/* motion = 0.05 (mean previous red, mean previous - current green, ray x), so
 * that a pose shows whether the previous picture was the right one. */
static void open_nets(struct nets *n)
{
    const struct gpu_config device = {.device = "cpu", .threads = 1};
    const float motion_w[48] = {[0] = 0.05f, [8 + 1] = 0.05f, [8 + 4] = -0.05f, [16 + 6] = 0.05f};

    *n = (struct nets){.depth_path = "/tmp/gpu_state_depth_XXXXXX",
                       .motion_path = "/tmp/gpu_state_motion_XXXXXX"};
    pixel_nets_write(n->depth_path, n->motion_path, motion_w);
    assert_int_equal(gpu_open(&n->g, &device, NULL), 0);
    open_model(&n->depth, n->g, GPU_MODEL_DEPTH, n->depth_path);
    open_model(&n->motion, n->g, GPU_MODEL_MOTION, n->motion_path);
}

static void close_nets(struct nets *n)
{
    gpu_model_close(&n->depth);
    gpu_model_close(&n->motion);
    gpu_close(&n->g);
    unlink(n->depth_path);
    unlink(n->motion_path);
}

static struct gpu_session *new_session(const struct nets *n, struct gpu_model *motion)
{
    struct gpu_session_config c = line_config(W, H);
    struct gpu_session *s;
    c.depth = n->depth;
    c.motion = motion;
    assert_int_equal(gpu_session_new(&s, n->g, &c, NULL), 0);
    return s;
}

/* A picture without a pose, through all stages. */
static void learned_frame(struct gpu_frame *f, struct gpu *g, struct gpu_session *s, uint8_t *rgb,
                          int i)
{
    struct gpu_item *batch = &f->item;
    uint32_t random = 77u + (uint32_t)i;

    for (size_t k = 0; k < (size_t)W * H * 3; k++)
        rgb[k] = (uint8_t)(60.0f + 20.0f * scene_random(&random) + (float)(5 * i % 90));
    *f = (struct gpu_frame){
        .item.session = s, .rgb = rgb, .width = W, .height = H, .K = {50, 50, 21.5f, 28.5f}};
    assert_int_equal(gpu_submit(g, &gpu_line_mono, &batch, 1, NULL), 0);
    assert_int_equal(gpu_wait(g, &batch, 1, NULL), 0);
}

TEST(the_previous_picture_is_kept)
{
    static uint8_t rgb[W * H * 3];
    struct gpu_session *whole, *first, *second, *without;
    struct gpu_frame f;
    struct step step;
    struct nets n;
    uint8_t *buf;
    size_t len;

    open_nets(&n);
    whole = new_session(&n, n.motion);
    first = new_session(&n, n.motion);
    second = new_session(&n, n.motion);
    without = new_session(&n, NULL);
    for (int i = 0; i < 12; i++) {
        learned_frame(&f, n.g, whole, rgb, i);
        keep(&step, &f);
        assert_true(i == 0 || step.result.T_wc.t[0] != 0.0f);
        learned_frame(&f, n.g, i < 6 ? first : second, rgb, i);
        assert_same(&step, &f);
        free(step.changes);
        if (i == 5) {
            buf = save(first, &len);
            assert_int_equal(gpu_session_load(without, buf, len, NULL), ERR_INPUT);
            assert_int_equal(gpu_session_load(second, buf, len, NULL), 0);
            free(buf);
        }
    }
    gpu_session_free(&whole);
    gpu_session_free(&first);
    gpu_session_free(&second);
    gpu_session_free(&without);
    close_nets(&n);
}
