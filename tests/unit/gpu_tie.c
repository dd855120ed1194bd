/* Worlds that are tied by pictures and depth: descriptors, confirmed pairs, the graph; and above
 * all what must not be tied. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/tie/convention.h"
#include "gpu/tie/graph.h"
#include "gpu/tie/ties.h"
#include "tests/support/stones.h"
#include "tests/support/unit.h"

#define RAD (3.14159265358979323846 / 180)

static struct describe_keyframe one, other;

/* Metres and degrees between what is found and what is true. */
static void off_by(double out[2], const struct sim3 *found, const struct sim3 *truth)
{
    double d2 = 0;

    for (int i = 0; i < 3; i++)
        d2 += (found->t[i] - truth->t[i]) * (found->t[i] - truth->t[i]);
    out[0] = sqrt(d2);
    out[1] = sim3_angle_deg(found, truth);
}

static void motion(struct sim3 *T_ba, const struct rigid *T_a, const struct rigid *T_b)
{
    struct sim3 a, b;

    small_from(&a, T_a);
    small_from(&b, T_b);
    small_inverse(&b, &b);
    small_mul(T_ba, &b, &a);
}

static struct confirm_result result;

TEST(bits_that_differ)
{
    uint64_t a[4] = {0, ~0ull, 0x0123456789abcdefull, 5}, b[4];

    assert_int_equal(describe_differ(a, a), 0);
    for (int n = 0; n < 256; n++) {
        memcpy(b, a, sizeof b);
        for (int i = 0; i < n; i++)
            b[i * 7 % 256 / 64] ^= 1ull << (i * 7 % 64);
        assert_int_equal(describe_differ(a, b), n);
    }
}

/* The same picture gives the same keyframe; one that is grey all over, too small or without depth
 * gives one that ties nothing. */
TEST(nothing_to_see)
{
    const struct rigid T = scene_pose(0.2f, 0, -1, 0.1f);
    struct tie_params strict = *stones_params();
    struct describe_picture p = {.width = STONES_W,
                                 .height = STONES_H,
                                 .K = scene_intrinsics(STONES_W, STONES_H),
                                 .depth = stones.depth,
                                 .depth_w = STONES_W,
                                 .depth_h = STONES_H};

    strict.confirm_least = 320;
    stones_see(&one, &T, 7, 1);
    stones_see(&other, &T, 7, 1);
    assert_true(one.n > 200 && memcmp(&one, &other, sizeof one) == 0);
    assert_true(confirm_pair(&result, &one, &other, stones_params()));
    assert_false(confirm_pair(&result, &one, &other, &strict));
    for (int i = 0; i < STONES_W * STONES_H; i++)
        stones.depth[i] = i % 3 ? 0 : NAN;
    describe_grey(&p, stones.grey, stones.rgb);
    describe_picture(&other, &stones.room, &p, stones_params());
    assert_false(confirm_pair(&result, &one, &other, stones_params()));
    memset(stones.rgb, 99, sizeof stones.rgb);
    describe_grey(&p, stones.grey, stones.rgb);
    describe_picture(&other, &stones.room, &p, stones_params());
    assert_int_equal(other.n, 0);
    assert_false(confirm_pair(&result, &one, &other, stones_params()));
    assert_false(confirm_pair(&result, &other, &other, stones_params()));
    p.width = 63, p.height = 48;
    describe_grey(&p, stones.grey, stones.rgb);
    describe_picture(&other, &stones.room, &p, stones_params());
    assert_int_equal(other.n, 0);
}

/* Two views of one room, exact and with depth that errs by 8 %, as networks do: a pixel is a
 * centimetre at the wall, so two are allowed at most, three where the depths err against each
 * other. */
TEST(one_room)
{
    static const struct {
        float x, z, yaw, by, m, degrees;
    } to[] = {{0.1f, -1.0f, 0.05f, 1, 0.01f, 0.2f},
              {0.25f, -0.8f, 0.15f, 1, 0.02f, 0.2f},
              {0.0f, -0.6f, -0.1f, 1, 0.01f, 0.2f},
              {0.1f, -1.0f, 0.05f, 1.08f, 0.03f, 0.5f}};
    const struct rigid T_a = scene_pose(0, 0, -1, 0);
    struct sim3 truth;
    double off[2];

    stones_see(&one, &T_a, 7, 1);
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        const struct rigid T_b = scene_pose(to[i].x, 0.05f, to[i].z, to[i].yaw);

        stones_see(&other, &T_b, 7, to[i].by);
        motion(&truth, &T_a, &T_b);
        assert_true(confirm_pair(&result, &one, &other, stones_params()));
        off_by(off, &result.T_ba, &truth);
        if (off[0] > (double)to[i].m || off[1] > (double)to[i].degrees)
            fail_msg("view %zu: %.4f m, %.3f degrees", i, off[0], off[1]);
        assert_true(confirm_alike(&one, &other, stones_params()) >
                    confirm_alike(&one, &one, stones_params()) / 4);
    }
}

/* Other rooms, and walls that are the same everywhere: no pair is confirmed that is wrong. */
TEST(other_rooms)
{
    struct sim3 truth;
    double off[2];

    for (int i = 0; i < 12; i++) {
        const struct rigid T_a = scene_pose(0.1f * (float)i - 0.5f, 0, -1, 0.3f * (float)i);
        const struct rigid T_b = scene_pose(0.3f, 0, -1.2f, 0.3f * (float)(i % 5));

        stones_see(&one, &T_a, 7, 1);
        stones_see(&other, &T_b, 1000 + (uint32_t)i, 1);
        assert_false(confirm_pair(&result, &one, &other, stones_params()));
        stones_see(&one, &T_a, 0, 1);
        stones_see(&other, &T_b, 0, 1);
        motion(&truth, &T_a, &T_b);
        off_by(off, &result.T_ba, &truth);
        if (confirm_pair(&result, &one, &other, stones_params())) {
            off_by(off, &result.T_ba, &truth);
            assert_true(off[0] < 0.1 && off[1] < 2);
        }
    }
}

/* ------------------------------------------------------------------------- worlds */

static void add(struct ties *t, uint32_t n, uint32_t world, const struct rigid *T,
                const struct sim3 *place, uint32_t seed)
{
    struct ties_keyframe *k = ties_room(t, n);
    struct sim3 at, back;

    assert_non_null(k);
    stones_see(&k->seen, T, seed, 1);
    small_from(&at, T);
    small_inverse(&back, place);
    small_mul(&at, &back, &at);
    small_to(&k->T_wc, &at);
    k->world = world;
}

static void begin(struct ties_place *place)
{
    memset(place, 0, TIES_WORLDS * sizeof *place);
    for (int i = 0; i < TIES_WORLDS; i++)
        place[i].T = sim3_identity();
    place[0].fixed = true;
}

/* Kept and read back they say the same; cut short or changed anywhere they say nothing, or what
 * numbers within their bounds say. */
static void kept_and_read_back(struct ties *t, uint32_t n, const struct ties_place *said)
{
    static struct ties_place place[TIES_WORLDS];
    size_t cap = ties_state_bytes(n), len, again_len;
    uint8_t *once = malloc(cap), *twice = malloc(cap);
    struct ties *back;
    struct err err = {0};
    uint32_t n_back;

    assert_true(once && twice);
    assert_int_equal(ties_save(t, n, once, cap, &len, &err), 0);
    assert_int_equal(ties_save(t, n, twice, len - 1, &again_len, &err), ERR_LIMIT);
    assert_int_equal(ties_new(&back, stones_params(), &err), 0);
    assert_int_equal(ties_load(back, &n_back, once, len, &err), 0);
    assert_int_equal(n_back, n);
    assert_int_equal(ties_save(back, n, twice, cap, &again_len, &err), 0);
    assert_true(again_len == len && memcmp(once, twice, len) == 0);
    begin(place);
    assert_int_equal(ties_solve(back, place, &err), 0);
    assert_memory_equal(place, said, sizeof place);
    ties_free(&back);
    for (size_t i = 0; i < 400; i++) {
        const size_t cut = i * (len - 1) / 400, bit = i * 7919 % (8 * len);

        assert_int_equal(ties_new(&back, stones_params(), &err), 0);
        assert_int_equal(ties_load(back, &n_back, once, cut, &err), ERR_INPUT);
        assert_int_equal(n_back, 0);
        once[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (ties_load(back, &n_back, once, len, &err) == 0)
            assert_int_equal(ties_solve(back, place, &err), 0);
        once[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ties_free(&back);
    }
    free(once);
    free(twice);
}

/* Three worlds of one room and one of another: the second is tied to the first by its second
 * keyframe, not by its first; the third through the second; the last to none, and where it was
 * claimed to be it stays. */
TEST(worlds_of_a_room)
{
    static struct ties_place place[TIES_WORLDS];
    struct sim3 truth[4];
    struct err err = {0};
    struct ties *t;
    uint32_t n = 0;

    assert_int_equal(ties_new(&t, stones_params(), &err), 0);
    for (int i = 0; i < 4; i++) {
        const double d[6] = {0.2 * i, -0.9 * i, 0.1 * i, 3.0 * i, -0.5 * i, 2.0 * i};

        truth[i] = sim3_identity();
        small_move(&truth[i], d);
    }
    for (uint32_t i = 0; i < 10; i++) {
        const uint32_t world = i < 4 ? 0 : i < 6 ? 1 : i < 8 ? 2 : 3;
        const struct rigid T =
            scene_pose(0.06f * (float)i, 0, -1, world == 2 ? 0.5f : 0.07f * (float)i);
        bool more;

        add(t, n, world, &T, &truth[world], world == 3 ? 99 : 7);
        more = ties_next(t, n++);
        assert_true(world == 0 || world == 3 ? !more : more);
        begin(place);
        assert_int_equal(ties_solve(t, place, &err), 0);
        assert_int_equal(place[1].known, i >= 5);
        assert_int_equal(place[2].known, i >= 7);
        assert_false(place[3].known);
    }
    for (int i = 1; i < 3; i++) {
        double off[2];

        off_by(off, &place[i].T, &truth[i]);
        if (off[0] > 0.03 || off[1] > 0.5) /* two ties, one after the other */
            fail_msg("world %d: %.4f m, %.3f degrees", i, off[0], off[1]);
    }
    ties_claim(t, &(struct ties_claim){3, 1, rigid_identity(), 1, 0.5, false});
    assert_int_equal(ties_solve(t, place, &err), 0);
    assert_true(place[3].known);
    assert_true(memcmp(place[3].T.t, place[1].T.t, sizeof place[3].T.t) == 0 ||
                fabs(place[3].T.t[0] - place[1].T.t[0]) < 1e-6);
    kept_and_read_back(t, n, place);
    ties_free(&t);
}

/* What a client of a wrong convention says of a camera at T. */
static struct rigid said_so(struct rigid T, enum convention c)
{
    const float turned[3] = {1, -1, -1}, mirrored[3] = {1, -1, 1};

    if (c == CONVENTION_INVERSE)
        return rigid_inverse(&T);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            T.r[3 * i + k] *= c == CONVENTION_OPENGL     ? turned[k]
                              : c == CONVENTION_MIRRORED ? mirrored[i] * mirrored[k]
                                                         : 1;
        T.t[i] *= c == CONVENTION_MIRRORED ? mirrored[i] : c == CONVENTION_MILLIMETRES ? 1000 : 1;
    }
    return T;
}

static void from_another_walk(struct convention_votes *v, const struct sim3 *T_ba, int i)
{
    const struct rigid from =
        scene_pose(0.3f * (float)(i % 3), 0.2f * (float)(i % 2), 0, 0.9f * (float)i);
    const struct rigid to = scene_pose(-0.2f * (float)i, 0, 0.5f * (float)(i % 5), 0.3f);

    convention_note(v, T_ba, &from, &to, stones_params());
}

/* A walk that is said in each convention is named by that one, however much the depth errs; one
 * that is said as it should be is not, nor is a camera that turns on the spot, stands still, or
 * whose poses are those of another walk. */
TEST(conventions_are_named)
{
    struct convention_votes votes[CONVENTIONS] = {{.n = 0}}, spot = {.n = 0}, wrong = {.n = 0};
    struct rigid last = {.t = {0}}, T;
    int n = 0;

    for (int i = 0; i < 18; i++) {
        float a = 0.4f * (float)i;

        T = scene_pose(0.09f * (float)i - 0.7f, 0.12f * sinf(a), -1 + 0.15f * cosf(a),
                       0.3f * sinf(a));
        stones_see(&other, &T, 7, 1 + 0.15f * sinf(a));
        if (i && confirm_pair(&result, &one, &other, stones_params())) {
            for (int c = 0; c < CONVENTIONS; c++) {
                struct rigid from = said_so(last, c), to = said_so(T, c);

                convention_note(&votes[c], &result.T_ba, &from, &to, stones_params());
            }
            from_another_walk(&wrong, &result.T_ba, i);
            n++;
        }
        one = other;
        last = T;
    }
    assert_true(n >= 14);
    for (int c = 0; c < CONVENTIONS; c++)
        if (convention_of(&votes[c], stones_params()) != (enum convention)c)
            fail_msg("convention %d is taken for %d: %u moves, %u %u %u %u %u", c,
                     convention_of(&votes[c], stones_params()), votes[c].n, votes[c].of[0],
                     votes[c].of[1], votes[c].of[2], votes[c].of[3], votes[c].of[4]);
    assert_int_equal(convention_of(&wrong, stones_params()), CONVENTION_GIVEN);
    for (int i = 0; i < 40; i++) {
        const struct rigid from = scene_pose(1, 2, 3, 0.08f * (float)i);
        struct sim3 m;

        T = scene_pose(1, 2, 3, 0.08f * (float)(i + i % 2));
        motion(&m, &from, &T);
        convention_note(&spot, &m, &from, &T, stones_params());
    }
    assert_int_equal(spot.n, 20); /* the others stood still */
    assert_int_equal(convention_of(&spot, stones_params()), CONVENTION_GIVEN);
}

TEST(room_for_keyframes)
{
    struct err err = {0};
    struct ties *t;

    assert_int_equal(ties_new(&t, stones_params(), &err), 0);
    for (uint32_t i = 0; i < TIES_KEYFRAMES; i++)
        assert_non_null(ties_room(t, i));
    assert_null(ties_room(t, TIES_KEYFRAMES));
    ties_free(&t);
}

/* ------------------------------------------------------------------------- the graph */

#define NODES 21

static void edge_of(struct graph_edge *e, uint32_t a, uint32_t b, const struct sim3 *T_b_a,
                    double sigma_m)
{
    *e = (struct graph_edge){.a = a, .b = b, .sigma_m = sigma_m, .sigma_rad = sigma_m};
    e->T_a = sim3_identity();
    e->T_b = *T_b_a;
}

/* A way of 40 m around a square in twenty pieces, each of which is 2 % too long and turns a little
 * too far. The last one sees the first: what the end is off by goes down to a tenth, and the pieces
 * between share it. */
TEST(a_loop)
{
    struct graph_node node[NODES], truth[NODES];
    struct graph_edge edge[NODES];
    struct err err = {0};
    double before, after, halfway;

    truth[0].T = sim3_identity();
    for (int i = 1; i < NODES; i++) {
        const double d[6] = {0, i % 5 == 0 ? 90 * RAD : 0, 0, 0, 0, 0};
        const double drift[6] = {0.002, -0.004, 0.001, 0, 0, 0};
        struct sim3 step = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {2, 0, 0}, 1}, measured;

        small_move(&step, d);
        small_mul(&truth[i].T, &truth[i - 1].T, &step);
        measured = step;
        measured.t[0] *= 1.02;
        measured.t[2] *= 1.02;
        small_move(&measured, drift);
        edge_of(&edge[i - 1], (uint32_t)i, (uint32_t)i - 1, &measured, 0.04);
    }
    for (int i = 0; i < NODES; i++)
        node[i] = (struct graph_node){.fixed = i == 0, .T = sim3_identity()};
    assert_int_equal(graph_solve(node, NODES, edge, NODES - 1, 3, &err), 0);
    before = hypot(node[20].T.t[0] - truth[20].T.t[0], node[20].T.t[2] - truth[20].T.t[2]);
    assert_true(before > 0.2);
    for (int i = 0; i < NODES; i++)
        assert_true(node[i].known);
    edge_of(&edge[20], 20, 0, &truth[20].T, 0.02);
    assert_int_equal(graph_solve(node, NODES, edge, NODES, 3, &err), 0);
    after = hypot(node[20].T.t[0] - truth[20].T.t[0], node[20].T.t[2] - truth[20].T.t[2]);
    halfway = hypot(node[10].T.t[0] - truth[10].T.t[0], node[10].T.t[2] - truth[10].T.t[2]);
    if (after > 0.1 * before || halfway > before)
        fail_msg("%.3f m before, %.3f after, %.3f halfway", before, after, halfway);
}

/* One edge of many is wrong by metres: it moves nothing much. What nothing ties is not known. */
TEST(a_wrong_edge)
{
    struct graph_node node[4];
    struct graph_edge edge[6];
    struct sim3 step = sim3_identity(), wrong = sim3_identity();
    struct err err = {0};

    step.t[0] = 1;
    wrong.t[1] = 4;
    for (int i = 0; i < 4; i++)
        node[i] = (struct graph_node){.fixed = i == 0, .T = sim3_identity()};
    for (uint32_t i = 0; i < 4; i++)
        edge_of(&edge[i], 1 + i / 2, i / 2, &step, 0.02);
    edge_of(&edge[4], 2, 0, &wrong, 0.02);
    assert_int_equal(graph_solve(node, 4, edge, 5, 3, &err), 0);
    assert_true(node[2].known && !node[3].known);
    assert_true(fabs(node[2].T.t[0] - 2) < 0.02 && fabs(node[2].T.t[1]) < 0.02);
}

/* exp and log, and what takes them back. */
TEST(small_things)
{
    double A[9] = {4, 0, 0, 2, 5, 0, 1, 3, 6}, b[3] = {7, 10, 10};
    double singular[4] = {1, 0, 1, 1}, c[2] = {1, 1};

    for (int i = 0; i < 20; i++) {
        const double d[6] = {0.14 * i, -0.03 * i, 0.05 * i, i, 2, -i};
        struct sim3 T = sim3_identity(), back;
        double e[6];

        small_move(&T, d);
        small_log(e, &T);
        for (int k = 0; k < 6; k++)
            assert_float_equal(e[k], d[k], 1e-9);
        small_inverse(&back, &T);
        small_mul(&T, &T, &back);
        small_log(e, &T);
        for (int k = 0; k < 6; k++)
            assert_float_equal(e[k], 0, 1e-9);
    }
    assert_true(small_solve(A, b, 3));
    assert_float_equal(b[0], 1, 1e-12);
    assert_float_equal(b[1], 1, 1e-12);
    assert_float_equal(b[2], 1, 1e-12);
    assert_false(small_solve(singular, c, 2));
}
