/* Tracks become landmarks (T6): by hand, and through the optimiser to the true places. */
#include "gpu/track/landmark_point.h"
#include "tests/support/landmark_case.h"
#include "tests/support/unit.h"

#include <string.h>

#define SIDE 64

/* A session whose tracks are made by hand: what cameras of landmark_case.h see of its places. */
struct rig {
    struct track t;
    struct landmark_session s;
    struct landmark_case c;
    struct landmark_search_camera camera[TRACK_KEPT];
    uint8_t *arena;
};

static void open_rig(struct rig *r, int n, int frames)
{
    size_t slots;
    r->arena = calloc(1, track_lay_out(&r->t, NULL, SIDE, SIDE));
    track_lay_out(&r->t, r->arena, SIDE, SIDE);
    landmark_case_open(&r->c, n, frames, 0.2f, 0.0f);
    slots = (size_t)r->t.n_slots;
    assert_true(n <= r->t.n_slots);
    memset(r->camera, 0, sizeof r->camera);
    for (int k = 0; k < frames; k++)
        r->camera[k % TRACK_KEPT] = r->c.b.camera[k];
    for (int i = 0; i < n; i++) {
        r->t.slot[i].id = (uint32_t)i + 1;
        for (int k = 0; k < frames; k++) {
            const struct landmark_search_observation *o = &r->c.b.observation[i * frames + k];
            float *seen = r->t.seen + 2 * ((size_t)(k % TRACK_KEPT) * slots + (size_t)i);
            seen[0] = o->x;
            seen[1] = o->y;
        }
    }
    r->t.n_frames = (uint32_t)frames;
    r->s = (struct landmark_session){&r->t,
                                     r->camera,
                                     calloc(slots, sizeof *r->s.landmark),
                                     calloc(slots * TRACK_KEPT, sizeof *r->s.observation),
                                     0,
                                     0};
}

static void close_rig(struct rig *r)
{
    landmark_case_close(&r->c);
    free(r->arena);
    free(r->s.landmark);
    free(r->s.observation);
}

static float distance(struct vec3 a, struct vec3 b)
{
    return sqrtf(vec3_norm2(vec3_sub(a, b)));
}

/* Two cameras at x = 0 and x = 2, f = 100, c = 50, look along z. Both see (1, 0, 5): at 70 and
 * at 30. */
TEST(two_rays_by_hand)
{
    struct landmark_search_camera a = {rigid_identity(), {100, 100, 50, 50}}, b = a;
    const float left[2] = {70, 50}, right[2] = {30, 50};
    struct landmark_sum s = {{0}, {0}};
    struct vec3 p = {0, 0, 0};
    b.T_cw.t[0] = -2;
    landmark_add(&s, &a, left);
    landmark_add(&s, &b, right);
    assert_int_equal(landmark_solve(&p, &s, 2, 0.01f), 1);
    assert_float_equal(distance(p, vec3_make(1, 0, 5)), 0.0f, 1e-5f);
    /* the rays lie 11.3 degrees to both sides of their mean: sine 0.196 */
    assert_int_equal(landmark_solve(&p, &s, 2, 0.19f), 1);
    assert_int_equal(landmark_solve(&p, &s, 2, 0.25f), 0);
    memset(&s, 0, sizeof s);
    landmark_add(&s, &a, left); /* parallel */
    landmark_add(&s, &b, left);
    assert_int_equal(landmark_solve(&p, &s, 2, 0.01f), 0);
}

/* More frames than are kept: the last ones count, and the optimiser brings landmarks to their
 * places. An observation of 0.2 pixels at 4 m, f = 220, is 4 mm across. */
TEST(landmarks_come_to_their_places)
{
    struct landmark_params p = landmark_params_default();
    struct landmark_search_params mp = landmark_search_params_default();
    float *noise = malloc(LANDMARK_SEARCH_NOISE_BYTES);
    struct landmark_search_batch b;
    struct err err;
    struct rig r;
    open_rig(&r, 40, 75);
    landmark_search_noise(noise);
    r.t.slot[3].id = 0;
    r.t.slot[4].born = 72; /* three observations */
    r.t.slot[5].born = 70; /* five */
    assert_int_equal(landmark_cpu(&r.s, &p), 38);
    b = (struct landmark_search_batch){r.s.landmark, r.s.observation,          r.camera,
                                       r.t.n_slots,  r.t.n_slots * TRACK_KEPT, TRACK_KEPT};
    assert_int_equal(landmark_search_check(&b, &err), 0);
    landmark_search_cpu(&b, noise, &mp);
    for (int i = 0; i < r.t.n_slots; i++) {
        const struct landmark_search_landmark *m = &r.s.landmark[i];
        uint32_t n = i > 39 || i == 3 || i == 4 ? 0 : i == 5 ? 5 : TRACK_KEPT;
        assert_int_equal(m->n, n);
        if (n == 0) {
            assert_true(isinf(m->residual_px));
            continue;
        }
        assert_true(m->residual_px <= m->prior_px && m->residual_px < 0.2f);
        if (n == TRACK_KEPT)
            assert_true(distance(m->p, r.c.truth[i]) < 0.01f);
    }
    p.most = 12;
    (void)landmark_cpu(&r.s, &p);
    assert_int_equal(r.s.landmark[0].n, 12);
    assert_int_equal(r.s.observation[0].camera, 74 % TRACK_KEPT);
    assert_int_equal(r.s.observation[11].camera, 63 % TRACK_KEPT);
    free(noise);
    close_rig(&r);
}

/* A camera that does not move sees no landmark. */
TEST(a_camera_that_stands_has_none)
{
    struct landmark_params p = landmark_params_default();
    struct rig r;
    open_rig(&r, 20, 30);
    for (int k = 0; k < TRACK_KEPT; k++)
        r.camera[k] = r.camera[0];
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 30; k++)
            memcpy(r.t.seen + 2 * (k * r.t.n_slots + i), r.t.seen + 2 * i, 2 * sizeof(float));
    assert_int_equal(landmark_cpu(&r.s, &p), 0);
    close_rig(&r);
}
