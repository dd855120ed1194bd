/*
 * gpu_state - a session's state on a CUDA device: one that was loaded goes on bit for bit, and the
 * CPU twin reads and writes the same bytes
 *
 * Twins agree in every bit (gpu_line.c): the bytes that they write differ in the back end's name
 * alone, and a session may go from one to the other between any two frames.
 *
 * timeout: 400
 */
#include "proto/section.h"
#include "tests/support/fusion_case.h"
#include "tests/support/line.h"
#include "tests/support/views_case.h"

#define FRAMES 40
#define FRAMES_TRACKED 12 /* where there is no GPU, tracks take their time */
#define W 99
#define H 35
#define H_TRACKED 66

/* Points of the paper; points in cubes of space; depth out of many views as well; poses of tracks,
 * and views by them. */
enum kind { POINTS, CELLS, VIEWS, TRACKS };

static int is_tracked, h = H, n_frames = FRAMES;

static struct gpu_session_config walk_config(enum kind kind)
{
    struct gpu_session_config c;
    is_tracked = kind == TRACKS;
    h = is_tracked ? H_TRACKED : H;
    n_frames = is_tracked ? FRAMES_TRACKED : FRAMES;
    c = line_config(W, h);
    if (kind)
        fuse_params_cells(&c.fuse);
    c.views = kind == VIEWS || is_tracked ? GPU_VIEWS_REFINED : GPU_VIEWS_NONE;
    c.tracks = is_tracked;
    c.fuse.max_keyframes = 7;
    c.fuse.grace_frames = 4;
    c.fuse.carve_votes = 2;
    c.max_points = (uint32_t)(W * h * 3 / 2);
    return c;
}

/* Waves on all surfaces, for tracks. */
static void paint(uint8_t *rgb, const float *depth, const struct rigid *T)
{
    struct intrinsics K = scene_intrinsics(W, h);
    for (int k = 0; k < W * h; k++) {
        float z = depth[k], x = ((float)(k % W) - K.cx) / K.fx * z;
        float y = ((float)(k / W) - K.cy) / K.fy * z;
        float level = 128.0f + views_case_paint(rigid_apply(T, vec3_make(x, y, z)));
        rgb[3 * k] = rgb[3 * k + 1] = rgb[3 * k + 2] = (uint8_t)fminf(fmaxf(level, 0), 255);
    }
}

/* Frame i, with a box that comes and goes and noise. */
static struct rigid draw(int i, float *depth, uint8_t *rgb)
{
    struct scene scene = scene_make();
    float t = 0.16f * (float)i;
    struct rigid T = scene_pose(0.8f * sinf(t), 0.1f * sinf(0.7f * t), -1.2f + 0.02f * (float)i,
                                0.9f * sinf(0.5f * t));
    uint32_t random = 99u + (uint32_t)i;
    if (i / 9 % 2)
        scene.box_hi.x = scene.box_lo.x;
    scene_draw(&scene, &T, scene_intrinsics(W, h), W, h, depth, rgb);
    if (is_tracked)
        paint(rgb, depth, &T);
    for (int k = 0; k < W * h; k++)
        depth[k] *= 1.0f + 0.02f * (2.0f * scene_random(&random) - 1.0f);
    for (int k = 0; k < W * h; k += is_tracked ? 131 : 13)
        depth[(k + 7 * i) % (W * h)] = k % 2 ? NAN : 0.0f;
    return T;
}

/* Frame i of the sessions [from, to) of a rig of n; the others' places stay empty. */
static void cuda_frame(struct fusion_rig *r, int n, int from, int to, struct gpu_frame *f, int i,
                       float *depth, uint8_t *rgb)
{
    const float *given[FUSION_CUDA_MAX] = {NULL};
    struct rigid T = draw(i, depth, rgb);
    memset(f, 0, (size_t)n * sizeof *f);
    for (int k = from; k < to; k++) {
        f[k] = (struct gpu_frame){.rgb = rgb,
                                  .width = W,
                                  .height = h,
                                  .K = scene_intrinsics(W, h),
                                  .has_pose = !is_tracked,
                                  .T_wc = T};
        given[k] = depth;
    }
    assert_int_equal(fusion_cuda->run(r, f, given, NULL), 0);
}

static void assert_same_frame(const struct gpu_frame *a, const struct gpu_frame *b)
{
    struct gpu_result x = a->result, y = b->result;
    assert_memory_equal(&x, &y, sizeof x);
    assert_memory_equal(a->changes, b->changes, x.n_changes * sizeof *a->changes);
}

static uint8_t *cuda_save(struct fusion_rig *r, int session, size_t *len)
{
    size_t cap = fusion_cuda->state_bytes(r, session);
    uint8_t *buf = malloc(cap + 1);
    struct err err = {0};
    assert_non_null(buf);
    assert_true(cap > SECTION_HEAD_BYTES);
    assert_int_equal(fusion_cuda->save(r, session, buf, cap - 1, len, &err), ERR_LIMIT);
    if (fusion_cuda->save(r, session, buf, cap, len, &err))
        fail_msg("%s", err.text);
    assert_int_equal(*len, cap);
    return buf;
}

static void assert_guards(struct fusion_rig *r, int session)
{
    struct fusion_state st;
    assert_int_equal(fusion_cuda->state(r, session, &st, NULL), 0);
    assert_int_equal(st.n_guards_hurt, 0);
    assert_int_equal(st.n_claims_left, 0);
    fusion_cuda->state_free(&st);
}

/* The session writes these bytes, too. */
static void assert_same_saved(struct fusion_rig *r, int session, const uint8_t *buf, size_t len)
{
    size_t again_len;
    uint8_t *again = cuda_save(r, session, &again_len);
    assert_int_equal(len, again_len);
    assert_memory_equal(buf, again, len);
    assert_guards(r, session);
    free(again);
}

/* Session 0 goes all the way, alone in its batches; the next one begins where it is at at[0], and
 * so on: they share batches. */
static void check_load(enum kind kind)
{
    enum { N = 6 };
    static const int all[N] = {0, 1, 7, 18, 31};
    static const int two[N] = {7, 31}; /* the zeros behind are past; views take their time */
    const int *at = kind == VIEWS ? two : all;
    static float depth[W * H_TRACKED];
    static uint8_t rgb[W * H_TRACKED * 3];
    struct gpu_session_config c[N];
    struct fusion_rig *r;
    struct gpu_frame whole[N], f[N];
    size_t len;
    uint8_t *buf;
    int n = 1;

    for (int k = 0; k < N; k++)
        c[k] = walk_config(kind);
    r = fusion_case_open(c, N);
    for (int i = 0; i < n_frames; i++) {
        if (n < N && i == at[n - 1]) {
            buf = cuda_save(r, 0, &len);
            assert_int_equal(fusion_cuda->load(r, n, buf, len, NULL), 0);
            assert_int_equal(fusion_cuda->load(r, 0, buf, len, NULL), i ? ERR_STATE : 0);
            assert_same_saved(r, n++, buf, len);
            free(buf);
        }
        cuda_frame(r, N, 0, 1, whole, i, depth, rgb);
        cuda_frame(r, N, 1, n, f, i, depth, rgb);
        for (int k = 1; k < n; k++)
            assert_same_frame(&whole[0], &f[k]);
    }
    buf = cuda_save(r, 0, &len);
    for (int k = 0; k < n; k++)
        assert_same_saved(r, k, buf, len);
    free(buf);
    fusion_cuda->close(&r);
}

static void assert_same_bytes(const uint8_t *cpu, size_t cpu_len, uint8_t *cuda, size_t cuda_len)
{
    assert_int_equal(cpu_len, cuda_len);
    assert_string_equal((const char *)cuda + SECTION_HEAD_BYTES, "cuda");
    memcpy(cuda + SECTION_HEAD_BYTES, cpu + SECTION_HEAD_BYTES, 8);
    assert_memory_equal(cpu, cuda, cpu_len);
}

/* One session changes its back end every five frames, beside twins that stay where they are. */
static void check_other_back_end(enum kind kind)
{
    struct gpu_session_config c[FUSION_CUDA_MAX];
    struct fusion_rig *r;
    struct line own;
    struct gpu_frame f[FUSION_CUDA_MAX];
    size_t cpu_len, cuda_len;
    uint8_t *cpu, *cuda;
    int n_found = 0;

    for (int i = 0; i < FUSION_CUDA_MAX; i++)
        c[i] = walk_config(kind);
    r = fusion_case_open(c, FUSION_CUDA_MAX);
    assert_int_equal(line_open(&own, &c[0]), 0);
    for (int i = 0, at = 0; i < (is_tracked ? n_frames : 35); i++) {
        struct rigid T = draw(i, own.depth, own.rgb);
        struct line other = own;
        if (i % 5 == 0) { /* CPU -> the next session on the device, and back to a new one here */
            cpu = malloc(gpu_session_state_bytes(own.s));
            assert_int_equal(
                gpu_session_save(own.s, cpu, gpu_session_state_bytes(own.s), &cpu_len, NULL), 0);
            assert_int_equal(fusion_cuda->load(r, ++at, cpu, cpu_len, NULL), 0);
            cuda = cuda_save(r, at, &cuda_len);
            assert_int_equal(session_cpu_new(&other.s, own.g, &c[0], NULL), 0);
            assert_int_equal(gpu_session_load(other.s, cuda, cuda_len, NULL), 0);
            assert_same_bytes(cpu, cpu_len, cuda, cuda_len);
            free(cpu);
            free(cuda);
            gpu_session_free(&own.s);
            own.s = other.s;
        }
        assert_int_equal(line_frame(&own, &T), 0);
        cuda_frame(r, FUSION_CUDA_MAX, at, at + 1, f, i, own.depth, own.rgb);
        assert_memory_equal(&own.f.result.tracks, &f[at].result.tracks, sizeof own.f.result.tracks);
        n_found += own.f.result.tracks.state == GPU_TRACKS_FOUND;
        assert_int_equal(own.f.result.n_changes, f[at].result.n_changes);
        assert_memory_equal(own.f.changes, f[at].changes,
                            own.f.result.n_changes * sizeof *own.f.changes);
    }
    assert_true(is_tracked ? n_found > 5 : n_found == 0);
    line_close(&own);
    fusion_cuda->close(&r);
}

#define STATE_TESTS(kind)                                      \
    TEST(a_loaded_session_goes_on_as_the_saved_one_##kind)     \
    {                                                          \
        check_load(kind);                                      \
    }                                                          \
    TEST(a_session_goes_from_one_back_end_to_the_other_##kind) \
    {                                                          \
        check_other_back_end(kind);                            \
    }

STATE_TESTS(POINTS)
STATE_TESTS(CELLS)
STATE_TESTS(VIEWS)
STATE_TESTS(TRACKS)
