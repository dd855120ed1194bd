/* The line of pairs on the CPU: each stage against answers that are known, and what it refuses. */
#include "gpu/panorama/blend_point.h"
#include "gpu/panorama/panorama_cpu.h"
#include "proto/section.h"
#include "tests/support/gpu_case.h"
#include "tests/support/pair_scene.h"
#include "tests/support/unit.h"

#include <stdlib.h>

static const struct gpu_config cpu = {.device = "cpu", .threads = 2};

static void look(struct gpu *g, struct gpu_session *s, struct pair_scene *scene, float x, float y)
{
    pair_look(scene, s, x, y);
    pair_compute(g, scene);
}

TEST(what_hides_a_column_is_counted)
{
    const struct gpu_volume v = {{0, 0, 0}, 1.0f, 2, {300, 20, 1}};
    static uint8_t occupied[300 * 20];
    const int ground[2] = {2, 10};

    memset(occupied, 0, sizeof occupied);
    assert_int_equal(voxel_visibility(&v, occupied, ground, 2, 10), 255);
    assert_int_equal(voxel_visibility(&v, occupied, ground, 299, 0), 255);
    occupied[10 * 300 + 2] = occupied[10 * 300 + 9] = 1; /* at both ends: hides nothing */
    assert_int_equal(voxel_visibility(&v, occupied, ground, 9, 10), 255);
    assert_int_equal(voxel_visibility(&v, occupied, ground, 10, 10), 254);
    assert_int_equal(voxel_visibility(&v, occupied, ground, 9, 11), 255); /* beside it */
    occupied[11 * 300 + 3] = 7;
    assert_int_equal(voxel_visibility(&v, occupied, ground, 4, 12), 254); /* on the diagonal */
    /* Bresenham's line from (2, 10) to (8, 13): 3,10 or 3,11; 4,11; 5,11 or 5,12; ... */
    memset(occupied, 0, sizeof occupied);
    for (int y = 0; y < 20; y++)
        for (int x = 3; x < 8; x++)
            occupied[y * 300 + x] = 1;
    assert_int_equal(voxel_visibility(&v, occupied, ground, 8, 13), 250);
    memset(occupied, 1, sizeof occupied);
    assert_int_equal(voxel_visibility(&v, occupied, ground, 299, 10), 0); /* 296 hide it */
    assert_int_equal(voxel_visibility(&v, occupied, ground, 257, 10), 1);
}

TEST(colours_are_read_between_pixels)
{
    const uint32_t rgb[4] = {0x000000, 0x0000ff, 0x00ff00, 0xff0000};
    struct voxel_eye e = {.w = 2, .h = 2, .rgb = rgb};

    assert_int_equal(voxel_colour(&e, 0, 0), 0x000000);
    assert_int_equal(voxel_colour(&e, 256, 0), 0x0000ff);
    assert_int_equal(voxel_colour(&e, 256, 256), 0xff0000);
    assert_int_equal(voxel_colour(&e, 128, 0), 0x000080);
    assert_int_equal(voxel_colour(&e, 0, 64), 0x004000);
    assert_int_equal(voxel_colour(&e, 128, 128), 0x404040);
    assert_int_equal(voxel_distance2(0x010203, 0x040203), 9);
    assert_int_equal(voxel_distance2(0x000000, 0xffffff), 3 * 255 * 255);
    assert_int_equal(voxel_mean(0x000000, 0x000000), 0x010101); /* black, and not transparent */
    assert_int_equal(voxel_mean(0x10ff01, 0x20ff02), 0x18ff02);
}

/* A voxel keeps what was seen of it best; what this view has tested is not tested again. */
TEST(the_better_view_has_the_voxel)
{
    static uint32_t rgb[2][64];
    struct voxel_view view = {.field_cos = -1, .threshold2 = 100};
    struct voxel_ray ray[2] = {{{0, 0, 1}, {0, 0, 0}}, {{0, 0, 1}, {0, 0, 0}}};

    for (int e = 0; e < 2; e++) {
        view.eye[e].K = (struct intrinsics){10, 10, 3, 3};
        view.eye[e].w = view.eye[e].h = 8;
        view.eye[e].rgb = rgb[e];
        for (int i = 0; i < 64; i++)
            rgb[e][i] = 0x202020;
    }
    assert_int_equal(voxel_update(&view, ray, 0, 0, -1, 250), 0xfa202020);
    assert_int_equal(voxel_update(&view, ray, 0, 0xfb000000, -1, 250), 0xfb000000);
    assert_int_equal(voxel_update(&view, ray, 0, 0xfa000000, -1, 250), 0xfa202020);
    assert_int_equal(voxel_update(&view, ray, 0, 0xfa000000, 250, 240), 0xf0000000);
    assert_int_equal(voxel_update(&view, ray, 0, 0xf5000000, 240, 250), 0xfa202020);
    for (int i = 0; i < 64; i++)
        rgb[1][i] = 0x20202a; /* ten levels are too many, nine are not */
    assert_int_equal(voxel_update(&view, ray, 0, 0xfa202020, -1, 250), 0xfa000000);
    view.threshold2 = 101;
    assert_int_equal(voxel_update(&view, ray, 0, 0, -1, 250), 0xfa202025);
    ray[1].from.z = -1; /* behind the second camera: nothing is known */
    assert_int_equal(voxel_update(&view, ray, 0, 0x12345678, -1, 250), 0x12345678);
}

/* Distance of a place to the nearest surface of the drawn room that the volume reaches. */
static float to_surface(struct vec3 p)
{
    float wall = fminf(1 - fabsf(p.x), 1 - fabsf(p.y));
    float dx = fmaxf(fabsf(p.x - 0.5f) - 0.1f, 0), dy = fmaxf(fabsf(p.y - 0.3f) - 0.1f, 0);
    float dz = fmaxf(p.z - 0.6f, 0);

    return fminf(wall, sqrtf(dx * dx + dy * dy + dz * dz));
}

/* Eight pairs about the box: what stays opaque lies at surfaces, and the changes told add up to the
 * volume. */
TEST(pairs_carve_the_room)
{
    static const float path[8][2] = {{-0.5f, -0.5f}, {0, -0.5f},   {0.5f, -0.5f}, {0.75f, 0.0f},
                                     {0.75f, 0.6f},  {0.3f, 0.7f}, {-0.2f, 0.5f}, {-0.5f, 0.1f}};
    static struct pair_scene scene;
    const struct gpu_session_config c = pair_config();
    const struct gpu_volume *v = &c.volume;
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *s = gpu_case_session(g, &c);
    const struct panorama_cpu *p = panorama_cpu_of(s);
    size_t n = panorama_voxels(&c), n_opaque = 0, n_near = 0, n_wrong = 0;
    uint32_t *told = calloc(n, sizeof *told);

    for (int i = 0; i < 8; i++) {
        look(g, s, &scene, path[i][0], path[i][1]);
        assert_true(scene.pair.result.iterations >= 1 && scene.pair.result.n_waiting == 0);
        for (uint32_t k = 0; k < scene.pair.result.n_changes; k++) {
            const struct gpu_voxel_change *ch = &scene.pair.changes[k];

            assert_true(ch->voxel < n && (k == 0 || ch[-1].voxel < ch->voxel));
            told[ch->voxel] =
                ch->kind == GPU_CHANGE_PUT
                    ? (uint32_t)ch->rgb[0] | (uint32_t)ch->rgb[1] << 8 | (uint32_t)ch->rgb[2] << 16
                    : 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t column = i / (size_t)v->n[2];
        struct vec3 at = voxel_world(v, (float)(column % 100) + 0.5f, (float)(column / 100) + 0.5f,
                                     (float)(i % (size_t)v->n[2]) + 0.5f);
        uint32_t colour = p->voxels[i] & VOXEL_COLOUR;

        n_wrong += colour != told[i];
        n_opaque += colour != 0;
        n_near += colour && to_surface(at) < 0.08f;
    }
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_opaque, scene.pair.result.n_opaque);
    print_message("# %zu of %zu opaque, %zu at surfaces\n", n_opaque, n, n_near);
    assert_true(n_opaque < n / 2 && n_near > n_opaque / 4);
    free(told);
    gpu_session_free(&s);
    gpu_close(&g);
}

/* Where a label lies between those beside it, and what it is a distance of. */
TEST(labels_are_places)
{
    const struct voxel_cylinder c = {.w = 64,
                                     .h = 28,
                                     .n_half = 6,
                                     .n_stand = 10,
                                     .n_labels = 18,
                                     .apart_m = 0.2f,
                                     .px = 10,
                                     .low = -1.4f,
                                     .level_m = 0.2f};
    uint16_t sums[18];

    for (int k = 0; k < 18; k++)
        sums[k] = 500;
    assert_int_equal(range_disparity4(&c, 3, 0), 2);
    assert_int_equal(range_disparity4(&c, 3, 5), 12);
    assert_int_equal(range_disparity4(&c, 3, 6), 16);
    assert_int_equal(range_disparity4(&c, 3, 9), 28);
    /* row 3 has slope -1.05: 10.5 rows beside the axis at a distance of 0.2 m */
    assert_int_equal(range_disparity4(&c, 3, 10), 21);
    assert_int_equal(range_disparity4(&c, 3, 12), 11);
    assert_int_equal(range_disparity4(&c, 14, 10), 0); /* no level surface is seen level */
    sums[2] = 100;
    assert_float_equal(range_place(&c, sums, 2), 2 / 1.5f, 1e-6f);
    sums[3] = 300;
    assert_float_equal(range_place(&c, sums, 2), 2 / (1.5f + 0.125f), 1e-6f);
    sums[7] = 10;
    assert_float_equal(range_place(&c, sums, 7), 2 / 5.0f, 1e-6f);
    sums[10] = 10; /* the first of its kind: nothing is beside it on one side */
    assert_float_equal(range_place(&c, sums, 10), -0.4f, 1e-6f);
    sums[16] = 10;
    sums[15] = 260;
    assert_float_equal(range_place(&c, sums, 16), -(8 - 0.5f * 240 / 490) * 0.2f, 1e-6f);
}

/* A path keeps a label for nothing, changes to one beside it and to any other for their prices, and
 * the latter are less where colours change. */
TEST(paths_keep_surfaces)
{
    assert_int_equal(range_step(10, 900, 900, 10, RANGE_EDGE, 80, 7), 7);
    assert_int_equal(range_step(900, 10, 900, 10, RANGE_EDGE, 80, 7), 87);
    assert_int_equal(range_step(900, 900, 20, 10, RANGE_EDGE, 30, 7), 47);
    assert_int_equal(range_step(9000, 9000, 9000, 10, RANGE_EDGE, 80, 7), RANGE_EDGE + 7);
    assert_int_equal(range_edge(0x123456, 0x123456), RANGE_EDGE);
    assert_int_equal(range_edge(0x000000, 0x080000), RANGE_EDGE / 2);
    assert_int_equal(range_edge(0x000000, 0xffffff), RANGE_FLAT + 2);
}

/* Where colours change across rows a step to the next label costs less, and a pixel is surer. */
TEST(shading_is_worth_something)
{
    const struct voxel_cylinder c = {.w = 1, .h = 5};
    uint32_t look[5] = {0x000000, 0, 0, 0, 0x030303};

    assert_int_equal(range_change(&c, look, 1), 0); /* too near to the end */
    assert_int_equal(range_flat(&c, look, 2), RANGE_FLAT);
    assert_int_equal(range_sure(&c, look, 2, 1000), RANGE_SURE * RANGE_PLAIN);
    look[4] = 0x030403;
    assert_int_equal(range_change(&c, look, 2), 10);
    assert_int_equal(range_flat(&c, look, 2), RANGE_ROUND);
    assert_int_equal(range_sure(&c, look, 2, 100), 100 * (RANGE_PLAIN + 1));
    look[4] = 0xffffff;
    assert_int_equal(range_sure(&c, look, 2, 1000), RANGE_SURE * 16);
}

/* A mean of distances, in whole numbers, whose weight ends at 65,535. */
TEST(fields_are_means)
{
    uint32_t f = blend_mean(0, (struct blend_word){-100, 4000});

    assert_int_equal(f, (uint32_t)(uint16_t)-100 << 16 | 4000);
    f = blend_mean(f, (struct blend_word){300, 12000});
    assert_int_equal(f, 200u << 16 | 16000);
    f = blend_mean(f, (struct blend_word){16383, 1 << 20});
    assert_int_equal(f & 0xffff, 65535);
    f = blend_mean(16383u << 16 | 65535, (struct blend_word){16383, 65535});
    assert_int_equal(f, 16383u << 16 | 65535);
}

/* What is opaque after eight pairs lies at surfaces, whatever clients were told, and most of the
 * walls and of the box have something. */
TEST(distances_are_those_of_the_room)
{
    static const float path[8][2] = {{-0.5f, -0.5f}, {0, -0.5f},   {0.5f, -0.5f}, {0.75f, 0.0f},
                                     {0.75f, 0.6f},  {0.3f, 0.7f}, {-0.2f, 0.5f}, {-0.5f, 0.1f}};
    static struct pair_scene scene;
    struct gpu_session_config c = pair_config();
    const struct gpu_volume *v = &c.volume;
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *s;
    size_t n_opaque = 0, n_near = 0, n_wall = 0, n_hit = 0;
    const uint32_t *voxels;

    c.consistency = GPU_CONSISTENCY_PATCH;
    c.volume.min_m[0] = c.volume.min_m[1] = -1.1f; /* behind the walls as well */
    c.volume.n[0] = c.volume.n[1] = 110;
    s = gpu_case_session(g, &c);
    for (int i = 0; i < 8; i++)
        look(g, s, &scene, path[i][0], path[i][1]);
    voxels = panorama_cpu_of(s)->voxels;
    for (int j = 0; j < 110; j++)
        for (int i = 0; i < 110; i++)
            for (int k = 0; k < 45; k++) {
                size_t at = ((size_t)j * 110 + (size_t)i) * 45 + (size_t)k;
                struct vec3 p = voxel_world(v, (float)i + 0.5f, (float)j + 0.5f, (float)k + 0.5f);
                int opaque = (voxels[at] & VOXEL_COLOUR) != 0;

                n_opaque += (size_t)opaque;
                n_near += opaque && fabsf(to_surface(p)) < 0.04f;
                if (i == 4 && j > 10 && j < 100 && k < 25) { /* the wall at x = -1 */
                    int hit = 0;

                    for (int near = 0; near < 3; near++)
                        hit |= (voxels[at + 45 * (size_t)near - 45] & VOXEL_COLOUR) != 0;
                    n_wall++;
                    n_hit += (size_t)hit;
                }
            }
    print_message("# %zu opaque, %zu at surfaces; %zu of %zu places of a wall\n", n_opaque, n_near,
                  n_hit, n_wall);
    assert_int_equal(n_opaque, scene.pair.result.n_opaque);
    assert_true(n_near * 100 > n_opaque * 95 && n_hit * 10 > n_wall * 7);
    gpu_session_free(&s);
    gpu_close(&g);
}

/* What a list has no room for comes with the items behind it, which need no view. */
TEST(changes_without_room_wait)
{
    static struct pair_scene scene;
    struct gpu_session_config c = pair_config();
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_item *item = &scene.pair.item;
    struct gpu_session *s;
    struct err err = {0};
    uint32_t sum = 0, waiting;

    c.max_points = 50000;
    s = gpu_case_session(g, &c);
    look(g, s, &scene, 0, 0);
    assert_int_equal(scene.pair.result.n_changes, 50000);
    waiting = scene.pair.result.n_waiting;
    assert_true(waiting > 0);
    assert_int_equal(scene.pair.result.n_opaque, 50000 + waiting);
    do {
        sum += scene.pair.result.n_changes;
        scene.pair.rest = 1;
        if (gpu_submit(g, &gpu_line_panorama, &item, 1, &err) || gpu_wait(g, &item, 1, &err))
            fail_msg("%s", err.text);
        assert_int_equal(scene.pair.result.iterations, 0);
    } while (scene.pair.result.n_changes);
    assert_int_equal(sum, scene.pair.result.n_opaque);
    gpu_session_free(&s);
    gpu_close(&g);
}

static void goes_on_from_its_state(enum gpu_consistency consistency)
{
    static struct pair_scene scene;
    struct gpu_session_config c = pair_config(), other;
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *a, *b, *x;
    size_t cap, len;
    uint8_t *buf;
    struct err err = {0};

    c.consistency = consistency;
    other = c;
    a = gpu_case_session(g, &c);
    b = gpu_case_session(g, &c);
    cap = gpu_session_state_bytes(a);
    buf = aligned_alloc(16, cap);
    assert_non_null(buf);
    look(g, a, &scene, -0.5f, 0);
    assert_int_equal(gpu_session_save(a, buf, cap - 1, &len, NULL), ERR_LIMIT);
    assert_int_equal(gpu_session_save(a, buf, cap, &len, &err), 0);
    assert_int_equal(gpu_session_load(b, buf, len - 16, NULL), ERR_INPUT);
    assert_int_equal(gpu_session_load(b, buf, len, &err), 0);
    look(g, a, &scene, 0.2f, -0.6f);
    len = scene.pair.result.n_changes;
    look(g, b, &scene, 0.2f, -0.6f);
    assert_int_equal(scene.pair.result.n_changes, len);
    assert_memory_equal(panorama_cpu_of(a)->voxels, panorama_cpu_of(b)->voxels,
                        4 * panorama_voxels(&c));
    assert_memory_equal(panorama_cpu_of(a)->told, panorama_cpu_of(b)->told,
                        4 * panorama_all_words(&c));
    if (consistency == GPU_CONSISTENCY_PATCH)
        assert_memory_equal(panorama_cpu_of(a)->field, panorama_cpu_of(b)->field,
                            4 * panorama_voxels(&c));
    {
        uint8_t *word =
            buf + SECTION_HEAD_BYTES + PANORAMA_HEAD_BYTES + 4 * panorama_voxels(&c) + 4;

        word[3] ^= 0x20; /* voxel 61 of a column of 45 */
        x = gpu_case_session(g, &c);
        assert_int_equal(gpu_session_load(x, buf, cap, &err), ERR_INPUT);
        gpu_session_free(&x);
        word[3] ^= 0x20;
    }
    for (int i = 0; i < 2; i++) { /* of another place, of the other consistency */
        other.volume.min_m[2] = c.volume.min_m[2] + (i == 0 ? 0.01f : 0.0f);
        other.consistency = i == 0 ? c.consistency : 1 - c.consistency;
        x = gpu_case_session(g, &other);
        assert_int_equal(gpu_session_load(x, buf, cap, &err), ERR_INPUT);
        assert_non_null(strstr(err.text, "another volume"));
        gpu_session_free(&x);
    }
    free(buf);
    gpu_session_free(&a);
    gpu_session_free(&b);
    gpu_close(&g);
}

TEST(a_session_goes_on_from_its_state)
{
    goes_on_from_its_state(GPU_CONSISTENCY_PAPER);
    goes_on_from_its_state(GPU_CONSISTENCY_PATCH);
}

static void mirror(struct rigid *T)
{
    for (int i = 0; i < 3; i++)
        T->r[3 * i] = -T->r[3 * i];
}

TEST(what_cannot_be_is_refused)
{
    static struct pair_scene scene;
    const struct gpu_session_config good = pair_config();
    struct gpu_session_config c;
    struct gpu *g = gpu_case_open(&cpu);
    struct gpu_session *s, *none;
    struct gpu_item *item = &scene.pair.item;
    struct err err = {0};

#define WRONG(change, pointer)                                        \
    c = good;                                                         \
    change;                                                           \
    assert_int_equal(gpu_session_new(&none, g, &c, &err), ERR_INPUT); \
    assert_string_equal(err.where, pointer)
    WRONG(c.volume.voxel_m = 0, "/voxel_m");
    WRONG(c.volume.voxel_m = NAN, "/voxel_m");
    WRONG(c.volume.n[1] = 0, "/volume");
    WRONG(c.volume.n[1] = 2049, "/volume");
    WRONG(c.volume.n[0] = c.volume.n[1] = c.volume.n[2] = 2000, "/volume");
    WRONG(c.volume.min_m[2] = INFINITY, "/volume");
    WRONG(c.volume.up = 3, "/up");
    WRONG(c.colour_levels = 0, "/colour_levels");
    WRONG(c.field_rad = NAN, "/field_deg");
    WRONG(c.baseline_m = 0.009f, "/baseline_m");
    WRONG(c.baseline_m = NAN, "/baseline_m");
    s = gpu_case_session(g, &good);
#define REFUSED(change)         \
    pair_look(&scene, s, 0, 0); \
    change;                     \
    assert_int_equal(gpu_submit(g, &gpu_line_panorama, &item, 1, &err), ERR_INPUT)
    REFUSED(scene.pair.eye[1].rgb = NULL);
    REFUSED(scene.pair.eye[1].width = 1000);
    REFUSED(scene.pair.eye[0].K.fx = NAN);
    REFUSED(scene.pair.eye[1].lens.k[0] = -1);
    REFUSED(scene.pair.eye[0].T_wc.t[2] = NAN);
    REFUSED(scene.pair.eye[1].T_wc.r[0] = 2);
    REFUSED(mirror(&scene.pair.eye[1].T_wc));
    REFUSED(scene.pair.eye[1].T_wc.t[2] = 2e6f);
    REFUSED(scene.pair.eye[0].T_wc.t[0] = scene.pair.eye[1].T_wc.t[0] = 1.01f);
    assert_non_null(strstr(err.text, "outside of the volume"));
    for (size_t i = 0; i < panorama_voxels(&good); i++)
        assert_int_equal(panorama_cpu_of(s)->voxels[i], 0); /* and nothing was touched */
    gpu_session_free(&s);
    c = good;
    c.consistency = GPU_CONSISTENCY_PATCH;
    s = gpu_case_session(g, &c);
    REFUSED(scene.pair.eye[1].T_wc.t[2] = scene.pair.eye[0].T_wc.t[2]);
    assert_non_null(strstr(err.text, "cameras that are 0 m apart"));
    gpu_session_free(&s);
    gpu_close(&g);
}
