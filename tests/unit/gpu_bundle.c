/* A walk that goes twice around a room is bundled: drift goes, right poses stay as they are, other
 * rooms and pictures that contradict each other change nothing; the same bits every time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/tie/bundle.h"
#include "gpu/tie/small.h"
#include "tests/support/stones.h"
#include "tests/support/unit.h"

#define ROUND 18 /* keyframes of one round: 4.4 m */
#define N (2 * ROUND)

static struct rigid truth[N];
static struct describe_keyframe seen[N], elsewhere[ROUND];
static struct ties_place places[TIES_WORLDS];

FIXTURE(draw_all)
{
    for (int i = 0; i < N; i++) {
        float a = 6.2831853f * (float)(i % ROUND) / ROUND, by = i < ROUND ? 1 : 1.03f;

        truth[i] = scene_pose(0.7f * sinf(a) + (i < ROUND ? 0 : 0.02f), 0, -1 + 0.7f * cosf(a),
                              0.25f * sinf(a));
        stones_see(&seen[i], &truth[i], 7, by);
        if (i >= ROUND)
            stones_see(&elsewhere[i - ROUND], &truth[i], 99, 1);
    }
    memset(places, 0, sizeof places);
    for (int i = 0; i < TIES_WORLDS; i++)
        places[i].T = sim3_identity();
    places[0].fixed = true;
    return 0;
}

/* Keyframe i as a path says it that errs more and more: by a share of its way, and turned. */
static struct rigid drifted(int i, double drift)
{
    const double way = 4.4 * i / ROUND;
    const double d[6] = {0, 0.1 * drift * way, 0, drift * way, 0, 0.3 * drift * way};
    struct sim3 T;
    struct rigid out;

    small_from(&T, &truth[i]);
    small_move(&T, d);
    small_to(&out, &T);
    return out;
}

/* cut: the world goes on as another one in the middle. */
static struct ties *walk(double drift, bool cut)
{
    struct err err = {0};
    struct ties *t;

    assert_int_equal(ties_new(&t, stones_params(), &err), 0);
    for (int i = 0; i < N; i++) {
        struct ties_keyframe *k = ties_room(t, (uint32_t)i);

        assert_non_null(k);
        k->seen = seen[i];
        k->T_wc = drifted(i, drift);
        k->world = cut && i >= ROUND - 4;
    }
    if (cut)
        ties_claim(t, &(struct ties_claim){1, 0, drifted(ROUND - 4, drift), 0.08, 0.008, true});
    return t;
}

static void bundle_all(struct bundle_result *r, struct rigid *T_wc, struct ties *t)
{
    struct err err = {0};
    struct bundle *b;
    int steps = 0;

    assert_int_equal(bundle_new(&b, t, N, places, &err), 0);
    while (bundle_step(b))
        assert_true(++steps < N + 32);
    bundle_tell(b, r);
    assert_int_equal(r->n_keyframes, N);
    for (uint32_t k = 0; k < N; k++)
        bundle_pose(b, k, &T_wc[k]);
    bundle_free(&b);
}

/* The worst and the last one's distance from the truth. */
static void far_off(double off[2], const struct rigid *T)
{
    off[0] = 0;
    for (int i = 0; i < N; i++) {
        off[1] =
            hypot(hypot((double)(T[i].t[0] - truth[i].t[0]), (double)(T[i].t[1] - truth[i].t[1])),
                  (double)(T[i].t[2] - truth[i].t[2]));
        off[0] = fmax(off[0], off[1]);
    }
}

/* From keyframe to keyframe the path stays what it was, but for a share of its drift. */
static void steps_stay(const struct rigid *before, const struct rigid *after)
{
    for (int i = 1; i < N; i++)
        for (int k = 0; k < 3; k++)
            assert_float_equal(after[i].t[k] - after[i - 1].t[k],
                               before[i].t[k] - before[i - 1].t[k], 0.03);
}

TEST(drift_goes)
{
    struct rigid before[N], T[N], again[N];
    struct bundle_result r;
    double was[2], is[2];

    for (int cut = 0; cut < 2; cut++) {
        struct ties *t = walk(0.03, cut);

        for (int i = 0; i < N; i++)
            before[i] = drifted(i, 0.03);
        places[1].known = cut;
        bundle_all(&r, T, t);
        far_off(was, before);
        far_off(is, T);
        print_message("# %u pairs, %.2f to %.2f deviations; worst %.3f m before, %.3f after; last "
                      "%.3f, %.3f\n",
                      (unsigned)r.n_pairs, (double)r.off_before, (double)r.off_after, was[0], is[0],
                      was[1], is[1]);
        assert_int_equal(r.end, BUNDLE_CORRECTED);
        assert_true(r.n_pairs >= 8);
        assert_true(is[1] < 0.2 * was[1]);
        assert_true(is[0] < 0.5 * was[0]);
        assert_memory_equal(&T[0], &before[0], sizeof T[0]);
        steps_stay(before, T);
        bundle_all(&r, again, t);
        assert_memory_equal(T, again, sizeof T);
        places[1].known = false;
        ties_free(&t);
    }
}

/* Poses that are corrected stay so, and so do right ones. */
TEST(right_poses_stay)
{
    struct rigid T[N];
    struct bundle_result r;
    struct ties *t = walk(0, false);

    bundle_all(&r, T, t);
    print_message("# %u pairs, %.2f deviations\n", (unsigned)r.n_pairs, (double)r.off_before);
    assert_int_equal(r.end, BUNDLE_RIGHT);
    assert_true(r.n_pairs >= 8);
    for (uint32_t i = 0; i < N; i++)
        assert_memory_equal(&T[i], &ties_room(t, i)->T_wc, sizeof T[i]);
    ties_free(&t);
    t = walk(0.03, false);
    bundle_all(&r, T, t);
    for (uint32_t i = 0; i < N; i++)
        ties_room(t, i)->T_wc = T[i];
    bundle_all(&r, T, t);
    assert_int_equal(r.end, BUNDLE_RIGHT);
    ties_free(&t);
}

TEST(other_rooms_change_nothing)
{
    struct rigid T[N];
    struct bundle_result r;
    struct ties *t = walk(0.03, false);

    for (uint32_t i = 0; i < ROUND; i++)
        ties_room(t, ROUND + i)->seen = elsewhere[i];
    ties_room(t, N - 3)->seen = seen[2]; /* one that lies, and that no other one supports */
    bundle_all(&r, T, t);
    assert_int_equal(r.end, BUNDLE_UNSEEN);
    assert_int_equal(r.n_pairs, 0);
    for (uint32_t i = 0; i < N; i++)
        assert_memory_equal(&T[i], &ties_room(t, i)->T_wc, sizeof T[i]);
    ties_free(&t);
}

/* Worlds that nothing places are not compared with others. */
TEST(loose_worlds_stay_apart)
{
    struct rigid T[N];
    struct bundle_result r;
    struct ties *t = walk(0.03, false);

    for (uint32_t i = 0; i < ROUND; i++)
        ties_room(t, ROUND + i)->world = 1;
    bundle_all(&r, T, t);
    assert_int_equal(r.end, BUNDLE_UNSEEN);
    ties_free(&t);
}

/* A system in rows of their own lengths has the solution that it has as a whole. */
TEST(rows_of_a_system)
{
    enum { n = 9 };
    double whole[n * n] = {0}, rows[n * n], b[n], x[n];
    size_t at[n], len = 0;
    int first[n];

    for (int i = 0; i < n; i++) {
        first[i] = i == n - 1 ? 0 : i > 1 ? i - 2 : 0;
        at[i] = len;
        b[i] = x[i] = 1 + i % 4;
        for (int k = first[i]; k <= i; k++)
            whole[i * n + k] = rows[len++] = i == k ? 9 : 1.0 / (1 + i + k);
    }
    assert_true(small_solve(whole, x, n));
    assert_true(small_solve_rows(rows, at, first, b, n));
    for (int i = 0; i < n; i++)
        assert_float_equal(b[i], x[i], 1e-12);
    rows[0] = -1;
    assert_false(small_solve_rows(rows, at, first, b, n));
}

TEST_GROUP(draw_all, NULL)
