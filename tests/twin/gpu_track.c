/*
 * gpu_track - tracks and landmarks on CUDA are what the CPU makes
 *
 * Bound:   equal bits. A residual that could decide is computed in the same float arithmetic on
 *          both sides, and the smallest (residual, number) wins. Windows are whole numbers, and so
 *          are sums over them; a track's own arithmetic has one order.
 */
#include <string.h>

#include "tests/support/gpu_case.h"
#include "tests/support/landmark_case.h"
#include "tests/support/track_rig_cuda.h"
#include "tests/support/views_case.h"
#include "tests/support/unit.h"

/* A tentative definition: in a build with CUDA the linker takes that of track_rig_cuda.cu. */
const struct track_rig_api *track_rig_cuda __attribute__((common));

#define LANDMARKS 7

/* Among the landmarks: one without observations, one behind the cameras, one so near that its cube
 * reaches them, one that is perfect, one with an observation so wrong that many places have the
 * same residual but for rounding. */
static void spoil(struct landmark_case *c)
{
    struct landmark_search_observation *o =
        (struct landmark_search_observation *)(uintptr_t)c->b.observation;
    c->b.landmark[1].n = 0;
    c->b.landmark[2].p.z = -3.0f;
    c->b.landmark[3].p.z = 0.3f;
    c->b.landmark[4].p = c->truth[4];
    o[c->b.landmark[5].first].x = 9000.0f;
}

TEST(landmarks_agree)
{
    const struct landmark_search_params params[] = {
        {4096, 1, 2.0f, 0.5f, 1.0f},  {2048, 4, 4.0f, 0.5f, 100.0f},  {320, 16, 1e-3f, 0.5f, 10.0f},
        {576, 3, 2.0f, 0.4f, 100.0f}, {128, 14, 2.0f, 0.45f, 100.0f}, {64, 2, 1.0f, 0.5f, 1.0f}};
    float *noise = malloc(LANDMARK_SEARCH_NOISE_BYTES);
    landmark_search_noise(noise);
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        struct landmark_case c;
        struct landmark_search_landmark there[LANDMARKS];
        struct landmark_search_batch b;
        struct err err = {0};
        int rc;
        landmark_case_open(&c, LANDMARKS, i == 0 ? LANDMARK_SEARCH_OBSERVATIONS : 5 + (int)i, 0.5f,
                           0.05f);
        spoil(&c);
        memcpy(there, c.b.landmark, sizeof there);
        b = c.b;
        b.landmark = there;
        assert_int_equal(landmark_search_check(&b, &err), 0);
        rc = track_rig_cuda ? track_rig_cuda->landmark_search(&b, &params[i], &err)
                            : err_set(&err, ERR_UNSUPPORTED, "this build has no CUDA");
        if (rc)
            print_message("# %s%s\n", rc == ERR_UNSUPPORTED ? "hardware: " : "", err.text);
        if (rc == ERR_UNSUPPORTED) {
            landmark_case_close(&c);
            free(noise);
            skip();
        }
        assert_int_equal(rc, 0);
        landmark_search_cpu(&c.b, noise, &params[i]);
        for (int k = 0; k < LANDMARKS; k++)
            assert_memory_equal(&there[k], &c.b.landmark[k], sizeof there[k]);
        assert_true(there[0].residual_px < there[0].prior_px);
        landmark_case_close(&c);
    }
    free(noise);
}

#define SIDES 2
#define FRAMES 14

/* Two sessions of odd sizes: one leaves its place empty at times, begins anew and has a mask. */
static const int wide[SIDES] = {131, 97}, high[SIDES] = {83, 101};

struct side {
    struct track cpu, there;
    uint8_t *cpu_arena, *arena, *mask;
    struct views_case scene;
};

static void open_side(struct side *s, int w, int h)
{
    size_t bytes = track_lay_out(&s->cpu, NULL, w, h);
    s->cpu_arena = calloc(1, bytes);
    s->arena = calloc(1, bytes);
    s->mask = calloc((size_t)w, (size_t)h);
    track_lay_out(&s->cpu, s->cpu_arena, w, h);
    track_lay_out(&s->there, s->arena, w, h);
    views_case_open(&s->scene, w, h);
    memset(s->mask + (size_t)w * (size_t)h / 2, 1, (size_t)w * 20);
}

static void close_side(struct side *s)
{
    views_case_close(&s->scene);
    free(s->cpu_arena);
    free(s->arena);
    free(s->mask);
}

static void compare_tracks(const struct track *a, const struct track *b)
{
    uint32_t f = a->n_frames - 1;
    assert_int_equal(a->n_frames, b->n_frames);
    assert_int_equal(a->next_id, b->next_id);
    assert_int_equal(a->n_live, b->n_live);
    assert_int_equal(a->n_new, b->n_new);
    assert_true(a->shift_x == b->shift_x && a->shift_y == b->shift_y);
    assert_memory_equal(a->pyramid[f % 2], b->pyramid[f % 2], a->pyramid_bytes);
    assert_memory_equal(a->claim, b->claim, 4 * (size_t)a->n_cells * sizeof *a->claim);
    assert_memory_equal(a->best, b->best, (size_t)a->n_cells * sizeof *a->best);
    for (uint32_t i = 0; i < (uint32_t)a->n_slots; i++) {
        assert_int_equal(a->slot[i].id, b->slot[i].id);
        if (a->slot[i].id == 0)
            continue;
        assert_memory_equal(&a->slot[i], &b->slot[i], sizeof a->slot[i]);
        for (uint32_t k = 0; k < track_length(a, &a->slot[i]); k++)
            assert_memory_equal(track_seen(a, i, f - k), track_seen(b, i, f - k),
                                2 * sizeof(float));
    }
}

/* What the tracks of both sides become by the given poses. Returns how many landmarks there are. */
static uint32_t compare_landmarks(const struct side *s, const struct landmark_search_camera *camera)
{
    size_t n = (size_t)s->cpu.n_slots, seen = n * TRACK_KEPT;
    struct landmark_params p = {3, 10, 0.003f};
    struct landmark_session a = {
        &s->cpu, camera, calloc(n, sizeof *a.landmark), calloc(seen, sizeof *a.observation),
        120,     7};
    struct landmark_session b = a;
    struct err err = {0};
    uint32_t found = landmark_cpu(&a, &p);
    b.track = &s->there;
    b.landmark = calloc(n, sizeof *b.landmark);
    b.observation = calloc(seen, sizeof *b.observation);
    assert_int_equal(track_rig_cuda->landmarks(&b, s->arena, &p, &err), 0);
    assert_memory_equal(a.landmark, b.landmark, n * sizeof *a.landmark);
    assert_memory_equal(a.observation, b.observation, seen * sizeof *a.observation);
    free(a.landmark);
    free(a.observation);
    free(b.landmark);
    free(b.observation);
    return found;
}

TEST(tracks_agree)
{
    struct landmark_search_camera camera[SIDES][TRACK_KEPT] = {0};
    struct side s[SIDES];
    struct err err = {0};
    uint32_t kept = 0, landmarks = 0;
    int rc = 0;
    if (!track_rig_cuda) {
        print_message("# hardware: this build has no CUDA\n");
        skip();
    }
    for (int i = 0; i < SIDES; i++)
        open_side(&s[i], wide[i], high[i]);
    for (int frame = 0; frame < FRAMES && rc == 0; frame++) {
        struct track there[SIDES] = {s[0].there, s[1].there};
        uint8_t *const arena[SIDES] = {s[0].arena, s[1].arena};
        struct track_frame f[SIDES];
        for (int i = 0; i < SIDES; i++) {
            views_case_draw(&s[i].scene, frame == 9 ? 20 : frame, 1.0f);
            camera[i][s[i].cpu.n_frames % TRACK_KEPT] = (struct landmark_search_camera){
                rigid_inverse(&s[i].scene.frame.T_wc), s[i].scene.frame.K};
            f[i] = (struct track_frame){s[i].scene.rgb, i == 1 && frame > 6 ? s[i].mask : NULL,
                                        i == 1 && frame == 5};
        }
        if (frame % 5 == 3)
            f[1].rgb = NULL;
        rc = track_rig_cuda->tracks(there, arena, f, SIDES, &err);
        for (int i = 0; i < SIDES && rc == 0; i++) {
            s[i].there = there[i];
            if (f[i].rgb)
                track_cpu(&s[i].cpu, &f[i]);
            compare_tracks(&s[i].cpu, &s[i].there);
            kept += s[i].cpu.n_live - s[i].cpu.n_new;
        }
    }
    for (int i = 0; i < SIDES; i++) {
        landmarks += rc ? 0 : compare_landmarks(&s[i], camera[i]);
        close_side(&s[i]);
    }
    gpu_case_need(rc, &err);
    print_message("# %u tracks went on, %u landmarks\n", kept, landmarks);
    assert_true(landmarks > 50);
    assert_true(kept > 300);
}

#define PATH_FRAMES 16

/* What a path keeps from frame to frame. */
static void compare_paths(const struct path *a, const struct path *b)
{
    assert_memory_equal(&a->T, &b->T, sizeof a->T);
    assert_true(a->bias == b->bias);
    assert_memory_equal(&a->told, &b->told, sizeof a->told);
    assert_int_equal(a->n_frames, b->n_frames);
    assert_int_equal(a->n_kept, b->n_kept);
    assert_memory_equal(a->order, b->order, sizeof a->order);
    assert_memory_equal(&a->since, &b->since, sizeof a->since);
    assert_memory_equal(a->keyframe, b->keyframe, sizeof a->keyframe);
    assert_memory_equal(a->landmark, b->landmark, 2 * (size_t)a->n_slots * sizeof *a->landmark);
}

/* A camera that walks on, jumps where nothing is known, and begins anew. Both start each frame from
 * what the CPU has. */
TEST(paths_agree)
{
    struct side s;
    struct path cpu, there;
    struct err err = {0};
    struct rigid guess = rigid_identity();
    size_t bytes;
    uint8_t *cpu_arena, *arena;
    uint32_t states = 0, keyframes = 0;
    int rc = 0;
    if (!track_rig_cuda) {
        print_message("# hardware: this build has no CUDA\n");
        skip();
    }
    open_side(&s, 163, 121);
    bytes = path_lay_out(&cpu, NULL, s.cpu.n_slots);
    cpu_arena = calloc(1, bytes);
    arena = calloc(1, bytes);
    path_lay_out(&cpu, cpu_arena, s.cpu.n_slots);
    path_lay_out(&there, arena, s.cpu.n_slots);
    for (int frame = 0; frame < PATH_FRAMES && rc == 0; frame++) {
        struct track_frame tf = {s.scene.rgb, NULL, frame == 13};
        struct path_frame f;
        views_case_draw(&s.scene, frame > 9 ? frame + 40 : frame, 1.1f);
        f = (struct path_frame){s.scene.depth, &guess, s.scene.frame.K, frame == 13};
        if (frame % 4) { /* of some frames samples say how the camera turned */
            f.turn[0] = 0.01f * (float)frame;
            f.turn[1] = -0.02f;
            f.turn_s = 0.0625f;
        }
        track_cpu(&s.cpu, &tf);
        rc = track_rig_cuda->path(&there, arena, &s.cpu, s.cpu_arena, &f, &err);
        if (rc)
            break;
        path_cpu(&cpu, &s.cpu, &f);
        compare_paths(&cpu, &there);
        states |= 1u << cpu.told.state;
        keyframes += cpu.told.is_keyframe;
        guess = path_T_wc(&cpu);
    }
    close_side(&s);
    free(cpu_arena);
    free(arena);
    gpu_case_need(rc, &err);
    assert_int_equal(states, 1u << PATH_BEGUN | 1u << PATH_FOUND | 1u << PATH_LOST);
    assert_true(keyframes > 8);
}
