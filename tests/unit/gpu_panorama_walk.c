/* One camera's pictures on the CPU: which make pairs, which picture is kept, and its state. */
#include "gpu/panorama/panorama_cpu.h"
#include "proto/section.h"
#include "tests/support/gpu_case.h"
#include "tests/support/pair_scene.h"
#include "tests/support/unit.h"

#include <stdlib.h>

static const struct gpu_config cpu = {.device = "cpu", .threads = 2};

/* Returns what became of a picture from (x, y, z). */
static enum gpu_paired stand(struct gpu *g, struct gpu_session *s, struct pair_scene *scene,
                             float x, float y, float z)
{
    pair_stand(scene, s, x, y, z);
    pair_compute(g, scene);
    return (enum gpu_paired)scene->pair.result.paired;
}

static struct gpu_session_config walk_config(enum gpu_consistency consistency)
{
    struct gpu_session_config c = pair_config();

    c.baseline_m = 0.15f;
    c.consistency = consistency;
    return c;
}

/* A picture makes a pair with the one that was kept last, if its camera stands between one and four
 * baselines from there; one that is nearer leaves no trace, one that is farther is kept alone. */
TEST(pictures_of_one_camera_make_pairs)
{
    static struct pair_scene scene;
    const struct gpu_session_config c = walk_config(GPU_CONSISTENCY_PAPER);
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *s = gpu_case_session(g, &c);
    const struct panorama_cpu *p = panorama_cpu_of(s);
    size_t bytes = panorama_voxels(&c) * sizeof *p->voxels;
    uint32_t *before = malloc(bytes);

    assert_non_null(before);
    assert_int_equal(stand(g, s, &scene, -0.6f, -0.5f, 0.6f), GPU_PAIRED_KEPT);
    assert_int_equal(scene.pair.result.n_changes, 0);
    assert_int_equal(stand(g, s, &scene, -0.46f, -0.5f, 0.6f), GPU_PAIRED_NONE);
    assert_int_equal(scene.pair.result.n_changes, 0);
    assert_int_equal(stand(g, s, &scene, -0.44f, -0.5f, 0.6f), GPU_PAIRED_LAID);
    assert_true(scene.pair.result.n_changes > 1000 && scene.pair.result.settled);
    assert_int_equal(stand(g, s, &scene, -0.3f, -0.5f, 0.6f), GPU_PAIRED_NONE); /* from -0.44 */
    assert_int_equal(stand(g, s, &scene, -0.44f, -0.3f, 0.6f), GPU_PAIRED_LAID);
    memcpy(before, p->voxels, bytes);
    assert_int_equal(stand(g, s, &scene, 0.5f, -0.3f, 0.6f), GPU_PAIRED_KEPT);
    assert_memory_equal(p->voxels, before, bytes);
    assert_int_equal(stand(g, s, &scene, 0.5f, -0.3f, 0.4f), GPU_PAIRED_LAID); /* upwards as well */
    assert_int_equal(scene.pair.result.n_opaque, carve_cpu_count(p));
    free(before);
    gpu_session_free(&s);
    gpu_close(&g);
}

/* The pair of one camera is that of two: the picture that was kept is the second. */
TEST(a_kept_picture_is_a_second_one)
{
    static struct pair_scene one, two;
    struct gpu_session_config c = walk_config(GPU_CONSISTENCY_PATCH), both = c;
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *a, *b;

    both.baseline_m = 0;
    a = gpu_case_session(g, &c);
    b = gpu_case_session(g, &both);
    for (int i = 0; i < 3; i++) {
        float x = -0.5f + 0.2f * (float)i;

        (void)stand(g, a, &one, x, -0.4f, 0.6f);
        if (i == 0)
            continue;
        pair_stand(&two, b, x - 0.2f, -0.4f, 0.6f);
        memcpy(two.rgb[1], two.rgb[0], sizeof two.rgb[1]);
        two.pair.eye[1] = two.pair.eye[0];
        two.pair.eye[1].rgb = two.rgb[1];
        two.pair.eye[0] = one.pair.eye[0];
        pair_compute(g, &two);
        assert_memory_equal(&one.pair.result, &two.pair.result, sizeof one.pair.result);
    }
    assert_true(one.pair.result.n_opaque > 1000);
    assert_memory_equal(panorama_cpu_of(a)->voxels, panorama_cpu_of(b)->voxels,
                        4 * panorama_voxels(&c));
    gpu_session_free(&a);
    gpu_session_free(&b);
    gpu_close(&g);
}

static void refuses_kept(struct gpu *g, const struct gpu_session_config *c, const uint8_t *buf,
                         size_t len, const char *what)
{
    struct gpu_session *s = gpu_case_session(g, c);
    struct err err = {0};

    assert_int_equal(gpu_session_load(s, buf, len, &err), ERR_INPUT);
    if (!strstr(err.text, what))
        fail_msg("%s", err.text);
    assert_int_equal(panorama_cpu_of(s)->kept.there, 0);
    gpu_session_free(&s);
}

/* The kept picture is a section of its own; a state without one is that of a session that has none.
 */
TEST(a_kept_picture_is_saved)
{
    static struct pair_scene scene;
    const struct gpu_session_config c = walk_config(GPU_CONSISTENCY_PAPER);
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *a = gpu_case_session(g, &c), *b = gpu_case_session(g, &c);
    size_t cap, len, without = gpu_session_state_bytes(a);
    uint8_t *buf, *again;
    float nan = NAN;
    int32_t wide = PAIR_SIDE + 1;
    struct err err = {0};

    (void)stand(g, a, &scene, -0.5f, 0, 0.6f);
    (void)stand(g, a, &scene, -0.3f, 0, 0.6f);
    cap = gpu_session_state_bytes(a);
    buf = aligned_alloc(16, cap);
    again = aligned_alloc(16, cap);
    assert_true(buf && again);
    assert_int_equal(gpu_session_save(a, buf, cap, &len, &err), 0);
    assert_int_equal(len, cap);
    assert_int_equal(len - without, 16 + PANORAMA_KEPT_BYTES + 2 * PAIR_SIDE * PAIR_SIDE);
    assert_int_equal(gpu_session_save(a, again, len - 16, &cap, &err), ERR_LIMIT);
    assert_int_equal(gpu_session_load(b, buf, len, &err), 0);
    assert_int_equal(stand(g, b, &scene, -0.1f, 0, 0.6f), GPU_PAIRED_LAID);
    assert_int_equal(stand(g, a, &scene, -0.1f, 0, 0.6f), GPU_PAIRED_LAID);
    assert_memory_equal(panorama_cpu_of(a)->voxels, panorama_cpu_of(b)->voxels,
                        4 * panorama_voxels(&c));
    assert_int_equal(gpu_session_save(b, again, gpu_session_state_bytes(b), &cap, &err), 0);
    assert_int_equal(cap, len);
    gpu_session_free(&b);
    b = gpu_case_session(g, &c);
    assert_int_equal(gpu_session_load(b, buf, without, &err), 0);
    assert_int_equal(stand(g, b, &scene, -0.1f, 0, 0.6f), GPU_PAIRED_KEPT);
#define DAMAGED(at, value, what)                                            \
    memcpy(again, buf, len);                                                \
    memcpy(again + without + SECTION_HEAD_BYTES + (at), value, sizeof nan); \
    refuses_kept(g, &c, again, len, what)
    DAMAGED(0, &wide, "another size");
    wide = 1 << 20;
    DAMAGED(0, &wide, "a picture of");
    wide = -PAIR_SIDE;
    DAMAGED(4, &wide, "a picture of");
    DAMAGED(8, &nan, "intrinsics");
    DAMAGED(24, &nan, "a pose that is");
    wide = 0x41200000; /* 10 m */
    DAMAGED(60, &wide, "outside of the volume");
    wide = LENS_MODELS;
    DAMAGED(72, &wide, "model of a camera");
    free(buf);
    free(again);
    gpu_session_free(&a);
    gpu_session_free(&b);
    gpu_close(&g);
}

TEST(what_is_no_picture_of_it_is_refused)
{
    static struct pair_scene scene;
    const struct gpu_session_config c = walk_config(GPU_CONSISTENCY_PATCH);
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *s = gpu_case_session(g, &c);
    struct gpu_item *item = &scene.pair.item;
    struct err err = {0};

#define REFUSED(change)                       \
    pair_stand(&scene, s, 0.2f, -0.2f, 0.6f); \
    change;                                   \
    assert_int_equal(gpu_submit(g, &gpu_line_panorama, &item, 1, &err), ERR_INPUT)
    REFUSED(scene.pair.eye[0].rgb = NULL);
    REFUSED(scene.pair.eye[0].T_wc.t[0] = NAN);
    REFUSED(scene.pair.eye[0].T_wc.r[4] = 0.5f);
    REFUSED(scene.pair.eye[0].T_wc.t[1] = -1.01f);
    assert_non_null(strstr(err.text, "outside of the volume"));
    REFUSED(scene.pair.eye[0].height = PAIR_SIDE + 1);
    assert_int_equal(panorama_cpu_of(s)->kept.there, 0);
    gpu_session_free(&s);
    gpu_close(&g);
}
