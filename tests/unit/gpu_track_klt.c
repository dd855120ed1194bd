/* Tracks: (L1)-(L6) by hand, on pictures that moved by a known way, and on what cannot be
 * followed. */
#include <stdlib.h>
#include <string.h>

#include "gpu/track/corner_point.h"
#include "tests/support/unit.h"

#define W 160
#define H 120

struct rig {
    struct track t;
    uint8_t *arena, *rgb;
};

static void open_rig(struct rig *r)
{
    r->arena = calloc(1, track_lay_out(&r->t, NULL, W, H));
    r->rgb = malloc((size_t)W * H * 3);
    track_lay_out(&r->t, r->arena, W, H);
}

static void close_rig(struct rig *r)
{
    free(r->arena);
    free(r->rgb);
}

static float noise(int x, int y)
{
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca6bu;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h ^= h >> 12;
    return (float)(h >> 8) / 16777216.0f;
}

/* A smooth random surface: noise at whole multiples of `step`, cosines between. */
static float surface(float x, float y, float step)
{
    int ix = (int)floorf(x / step), iy = (int)floorf(y / step);
    float fx = 0.5f - 0.5f * cosf(3.14159265f * (x / step - (float)ix));
    float fy = 0.5f - 0.5f * cosf(3.14159265f * (y / step - (float)iy));
    float a = noise(ix, iy) + fx * (noise(ix + 1, iy) - noise(ix, iy));
    float b = noise(ix, iy + 1) + fx * (noise(ix + 1, iy + 1) - noise(ix, iy + 1));
    return a + fy * (b - a);
}

/* The picture of a camera that has moved by (dx, dy) pixels, a little brighter or not. */
static void draw(struct rig *r, float dx, float dy, float brighter)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float u = (float)x + dx + 500.0f, v = (float)y + dy + 500.0f;
            float level = 30.0f + 90.0f * surface(u, v, 7.0f) + 60.0f * surface(u, v, 31.0f);
            memset(r->rgb + 3 * (size_t)(y * W + x), (int)(level * brighter + 0.5f), 3);
        }
}

static void run(struct rig *r, const uint8_t *mask, int restart)
{
    struct track_frame f = {r->rgb, mask, restart};
    track_cpu(&r->t, &f);
}

static uint32_t live(const struct track *t)
{
    uint32_t n = 0;
    for (int i = 0; i < t->n_slots; i++)
        n += t->slot[i].id != 0;
    return n;
}

/* (L1) A picture with one white pixel at (4, 4): weights 3, 3 of 64 at (2, 2); 1, 3 at (1, 2). */
TEST(halves_by_hand)
{
    uint8_t p[10 * 10] = {0};
    p[44] = 255;
    assert_int_equal(pyramid_half(p, 10, 10, 2, 2), (9 * 255 + 32) / 64);
    assert_int_equal(pyramid_half(p, 10, 10, 1, 2), (3 * 255 + 32) / 64);
    assert_int_equal(pyramid_half(p, 10, 10, 1, 1), (255 + 32) / 64);
    assert_int_equal(pyramid_half(p, 10, 10, 3, 2), 0);
    memset(p, 200, sizeof p); /* edges go on */
    for (int i = 0; i < 25; i++)
        assert_int_equal(pyramid_half(p, 10, 10, i % 5, i / 5), 200);
    assert_true(klt_up(klt_down(37.25f, 1)) == 37.25f);
}

/* (L3) The same gradient everywhere is no structure: there is no step. */
TEST(windows_without_structure_are_none)
{
    struct klt_window s = {.x = KLT_WINDOW * 160,
                           .y = KLT_WINDOW * 80,
                           .xx = KLT_WINDOW * 160 * 160,
                           .xy = KLT_WINDOW * 160 * 80,
                           .yy = KLT_WINDOW * 80 * 80};
    struct klt_matrix m = klt_matrix_of(&s);
    struct klt_other d = {10, 100, 100, 100};
    struct klt_place p = {20.0f, 20.0f, 1};
    const struct track_level l = {W, H, 0};
    assert_true(m.det == 0.0);
    struct track t;
    params_fill(&t.params, &track_params_stage, NULL, NULL);
    assert_false(klt_is_corner(&t, &m));
    assert_int_equal(klt_step(&p, &m, &s, &d, &l), 0);
    assert_int_equal(p.is_found, 0);
}

/* (L3) Gradients of 16 sixteenths, a level a pixel, along x in one half of the window and along y
 * in the other; no means. Where the first window is 8 eighths, a level, above the second one times
 * the gradient's sign, the step is a pixel: bx = N/2 * 16 * 8, xx = N/2 * 256, 2 bx / xx = 1. */
TEST(step_by_hand)
{
    int half = KLT_WINDOW / 2;
    struct klt_window s = {.vv = 1000, .xx = half * 256, .yy = half * 256, .xv = half * 16 * 8};
    struct klt_matrix m = klt_matrix_of(&s);
    struct klt_other d = {.vv = 1000, .yv = half * 16 * 4};
    struct klt_place p = {20.0f, 30.0f, 1};
    const struct track_level l = {W, H, 0};
    assert_int_equal(klt_step(&p, &m, &s, &d, &l), 1);
    assert_float_equal(p.x, 21.0f, 1e-6f);
    assert_float_equal(p.y, 29.5f, 1e-6f);
    d.vv = 4000 / 9; /* its contrast is less by a third: 1.5 times what it says */
    assert_int_equal(klt_step(&p, &m, &s, &d, &l), 1);
    assert_float_equal(p.y, 28.75f, 1e-3f);
    p.x = 0.5f;
    s.xv = -s.xv;
    assert_int_equal(klt_step(&p, &m, &s, &d, &l), 0); /* out of the picture */
    assert_int_equal(p.is_found, 0);
}

/* (L6) Against a plain sum over the window. */
TEST(response_is_that_of_a_naive_sum)
{
    struct rig r;
    open_rig(&r);
    draw(&r, 0, 0, 1);
    run(&r, NULL, 0);
    for (int y = CORNER_BORDER; y < H - CORNER_BORDER; y += 7)
        for (int x = CORNER_BORDER; x < W - CORNER_BORDER; x += 5) {
            double a = 0, b = 0, c = 0, n = 0;
            for (int i = y - CORNER_RADIUS; i <= y + CORNER_RADIUS; i++)
                for (int k = x - CORNER_RADIUS; k <= x + CORNER_RADIUS; k++) {
                    double gx = (r.rgb[3 * (i * W + k + 1)] - r.rgb[3 * (i * W + k - 1)]) / 2.0;
                    double gy = (r.rgb[3 * (i * W + k + W)] - r.rgb[3 * (i * W + k - W)]) / 2.0;
                    a += gx * gx, b += gx * gy, c += gy * gy, n++;
                }
            assert_float_equal(r.t.response[y * W + x],
                               ((a + c) / 2 - sqrt((a - c) * (a - c) / 4 + b * b)) / n,
                               1e-4 * (1 + (a + c) / n));
        }
    close_rig(&r);
}

/* Frames move by an even way, by several pixels a frame, and get brighter: each track ends up where
 * its start was carried, to a tenth of a pixel. */
TEST(tracks_follow)
{
    struct rig r;
    uint32_t n = 0, wrong = 0;
    const uint32_t frames = 12;
    open_rig(&r);
    for (uint32_t f = 0; f < frames; f++) {
        draw(&r, 3.4f * (float)f, -1.7f * (float)f, 1.0f + 0.02f * (float)f);
        run(&r, NULL, 0);
    }
    for (uint32_t i = 0; i < (uint32_t)r.t.n_slots; i++) {
        uint32_t length = track_length(&r.t, &r.t.slot[i]);
        for (uint32_t k = 1; k < length; k++) {
            const float *a = track_seen(&r.t, i, frames - 1),
                        *b = track_seen(&r.t, i, frames - 1 - k);
            float ex = a[0] - b[0] + 3.4f * (float)k, ey = a[1] - b[1] - 1.7f * (float)k;
            n++;
            wrong += ex * ex + ey * ey > 0.01f;
        }
    }
    print_message("# %u pairs, %u of them off by more than a tenth of a pixel\n", n, wrong);
    assert_true(n > 500);
    assert_true(wrong * 100 <= n);
    close_rig(&r);
}

/* (L2) A jump of a quarter of the picture: found by the shift of the smallest pictures. */
TEST(large_jumps_are_followed)
{
    struct rig r;
    uint32_t went_on;
    open_rig(&r);
    draw(&r, 0, 0, 1);
    run(&r, NULL, 0);
    draw(&r, -41.3f, 22.6f, 1);
    run(&r, NULL, 0);
    went_on = r.t.n_live - r.t.n_new;
    assert_true(r.t.shift_x == 40.0f && r.t.shift_y == -24.0f);
    assert_true(went_on > 40);
    for (uint32_t i = 0; i < (uint32_t)r.t.n_slots; i++)
        if (track_length(&r.t, &r.t.slot[i]) == 2) {
            assert_float_equal(track_seen(&r.t, i, 1)[0] - track_seen(&r.t, i, 0)[0], 41.3f, 0.2f);
            assert_float_equal(track_seen(&r.t, i, 1)[1] - track_seen(&r.t, i, 0)[1], -22.6f, 0.2f);
        }
    close_rig(&r);
}

/* The same picture again and again: nothing moves, nothing is lost or new, ids stay, and a track
 * has TRACK_KEPT observations at most. */
TEST(a_frozen_picture_stays)
{
    struct rig r;
    struct track_slot *was;
    open_rig(&r);
    draw(&r, 0, 0, 1);
    run(&r, NULL, 0);
    was = malloc((size_t)r.t.n_slots * sizeof *was);
    memcpy(was, r.t.slot, (size_t)r.t.n_slots * sizeof *was);
    assert_true(r.t.n_live > 100);
    assert_int_equal(r.t.n_live, live(&r.t));
    for (int f = 1; f < 70; f++) {
        run(&r, NULL, 0);
        assert_int_equal(r.t.n_new, 0);
    }
    for (int i = 0; i < r.t.n_slots; i++) {
        assert_int_equal(r.t.slot[i].id, was[i].id);
        if (was[i].id == 0)
            continue;
        assert_memory_equal(&r.t.slot[i], &was[i], sizeof *was);
        assert_int_equal(track_length(&r.t, &r.t.slot[i]), TRACK_KEPT);
    }
    free(was);
    close_rig(&r);
}

/* New corners: one a cell at most, where there is none; ids in the order of cells. */
TEST(corners_are_balanced)
{
    struct rig r;
    uint8_t *used;
    uint32_t last = 0;
    open_rig(&r);
    used = calloc((size_t)r.t.n_cells, 1);
    draw(&r, 0, 0, 1);
    run(&r, NULL, 0);
    for (int i = 0; i < r.t.n_slots; i++) {
        const struct track_slot *s = &r.t.slot[i];
        int cell = corner_cell(&r.t, (int)s->x, (int)s->y);
        if (s->id == 0)
            continue;
        assert_int_equal(used[cell], 0);
        used[cell] = 1;
        assert_int_equal(s->id, last + 1);
        last = s->id;
        assert_true(r.t.response[(int)s->y * W + (int)s->x] >= r.t.params.corner_least);
    }
    assert_int_equal(last, r.t.n_new);
    free(used);
    close_rig(&r);
}

/* (L5) Two tracks are put into one place: the older one stays. */
TEST(of_two_in_one_place_the_older_stays)
{
    struct rig r;
    struct track_slot *a, *b;
    uint32_t younger, older;
    open_rig(&r);
    draw(&r, 0, 0, 1);
    run(&r, NULL, 0);
    a = &r.t.slot[r.t.n_live / 2];
    b = a + 1;
    older = a->id;
    younger = b->id;
    assert_true(older && younger > older);
    b->x = a->x;
    b->y = a->y;
    run(&r, NULL, 0);
    assert_int_equal(a->id, older);
    for (int i = 0; i < r.t.n_slots; i++)
        assert_int_not_equal(r.t.slot[i].id, younger);
    close_rig(&r);
}

TEST(masks_and_restarts)
{
    struct rig r;
    uint8_t *mask = calloc(W, H);
    uint32_t ids;
    open_rig(&r);
    draw(&r, 0, 0, 1);
    run(&r, NULL, 0);
    for (int y = 0; y < H; y++)
        memset(mask + y * W, y >= 40 && y < 80 ? 1 : 0, W);
    run(&r, mask, 0);
    for (int i = 0; i < r.t.n_slots; i++)
        if (r.t.slot[i].id)
            assert_false(r.t.slot[i].y >= 40.0f && r.t.slot[i].y <= 79.0f);
    assert_true(r.t.n_live > 50);
    ids = r.t.next_id;
    run(&r, NULL, 1);
    assert_int_equal(r.t.n_new, r.t.n_live);
    for (int i = 0; i < r.t.n_slots; i++)
        assert_true(r.t.slot[i].id == 0 || r.t.slot[i].id >= ids);
    free(mask);
    close_rig(&r);
}

/* No texture gives no tracks; another picture ends nearly all of them, and those that seem to go on
 * are few. */
TEST(what_cannot_be_followed)
{
    struct rig r;
    open_rig(&r);
    memset(r.rgb, 127, (size_t)W * H * 3);
    run(&r, NULL, 0);
    assert_int_equal(r.t.n_live, 0);
    draw(&r, 0, 0, 1);
    run(&r, NULL, 0);
    assert_true(r.t.n_live > 100);
    draw(&r, 3000, 3000, 1);
    run(&r, NULL, 0);
    print_message("# %u go on in a picture of something else\n", r.t.n_live - r.t.n_new);
    assert_true(r.t.n_live - r.t.n_new < 12);
    for (size_t i = 0; i < (size_t)W * H * 3; i++)
        r.rgb[i] = (uint8_t)(255.0f * noise((int)i, 77));
    run(&r, NULL, 0);
    memset(r.rgb, 127, (size_t)W * H * 3);
    run(&r, NULL, 0);
    assert_int_equal(r.t.n_live, 0);
    close_rig(&r);
}

/* Pictures of any size have no more than TRACK_MOST tracks, and room for all that is laid out. */
TEST(sizes)
{
    const int side[][2] = {{64, 64}, {65, 97}, {256, 192}, {416, 128}, {1920, 1080}};
    for (size_t i = 0; i < sizeof side / sizeof *side; i++) {
        struct track t;
        size_t bytes = track_lay_out(&t, NULL, side[i][0], side[i][1]);
        uint8_t *base = calloc(1, bytes);
        assert_int_equal(track_lay_out(&t, base, side[i][0], side[i][1]), bytes);
        assert_in_range(t.n_slots, 64, TRACK_MOST);
        assert_true((uint8_t *)(t.best + t.n_cells) <= base + bytes);
        assert_int_equal(corner_cell(&t, t.w - 1, t.h - 1), t.n_cells - 1);
        free(base);
    }
}
