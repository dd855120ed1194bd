/*
 * gpu_recognise - surfaces, tensors, matches and poses on CUDA are what the CPU makes
 *
 * Bound:   equal bits, of every stage. Both run the same functions of + - * / and roots, and what
 *          is summed up are whole numbers.
 *
 * timeout: 400
 */

#include "gpu/recognise/recogniser.h"
#include "tests/support/recognise_rig_cuda.h"
#include "tests/support/shape_case.h"
#include "tests/support/shape_random.h"
#include "tests/support/unit.h"

/* A tentative definition: in a build with CUDA the linker takes that of recognise_rig_cuda.cu. */
const struct recognise_rig_api *recognise_rig_cuda __attribute__((common));

#define W 161 /* odd, and no multiple of a block */
#define H 119

static struct object object[2];
static const struct object *const objects[2] = {&object[0], &object[1]};
static struct library library;

FIXTURE(enrol)
{
    struct err err;
    for (int i = 0; i < 2; i++)
        assert_int_equal(shape_enrol(&object[i], i ? SHAPE_FIGURE : SHAPE_CUBE, 200, 150, 60, &err),
                         0);
    assert_int_equal(library_new(&library, objects, 2, &err), 0);
    return 0;
}

FIXTURE(forget)
{
    library_free(&library);
    for (int i = 0; i < 2; i++)
        object_free(&object[i]);
    return 0;
}

/* What a case computes with, as the device is told. */
static struct recognise_config config_of(const struct shape_case *c)
{
    struct recognise_config d = {c->w,  c->h,  c->surface.step, shape_camera_of(c->w, c->h),
                                 c->sp, c->tp, c->mp,           c->hp};
    return d;
}

static void compare(const struct shape_case *a, const struct shape_case *b)
{
    size_t pixels = (size_t)a->surface.w * (size_t)a->surface.h;
    assert_memory_equal(a->surface.filtered, b->surface.filtered, pixels * 4);
    assert_memory_equal(a->surface.point, b->surface.point, pixels * sizeof(struct vec3));
    assert_memory_equal(a->surface.normal, b->surface.normal, pixels * sizeof(struct vec3));
    assert_memory_equal(a->surface.sums, b->surface.sums, sizeof *a->surface.sums);
    assert_memory_equal(a->surface.limits, b->surface.limits, sizeof *a->surface.limits);
    assert_memory_equal(a->surface.mesh, b->surface.mesh, pixels);
    assert_memory_equal(a->tensors.pair, b->tensors.pair,
                        8 * tensor_cells(&a->tp, a->surface.w, a->surface.h));
    assert_int_equal(*a->tensors.n_pairs, *b->tensors.n_pairs);
    assert_int_equal(*a->tensors.n_tensors, *b->tensors.n_tensors);
    assert_memory_equal(a->tensors.picked, b->tensors.picked, 4 * *a->tensors.n_tensors);
    for (uint32_t i = 0; i < *a->tensors.n_tensors; i++) {
        const struct tensor *t = &a->tensors.tensor[i], *u = &b->tensors.tensor[i];
        assert_memory_equal(t, u, offsetof(struct tensor, entry));
        assert_memory_equal(t->entry, u->entry, 4 * t->n);
    }
    assert_memory_equal(a->best, b->best, 8 * 2 * *a->tensors.n_tensors);
    assert_memory_equal(a->hypotheses.tried, b->hypotheses.tried,
                        2 * (size_t)a->hp.tries * sizeof *a->hypotheses.tried);
}

static void draw(struct shape_case *c, int k)
{
    struct shape_place place[3] = {{SHAPE_CUBE, shape_put(30, 0, -0.1f, 0.075f)},
                                   {SHAPE_FIGURE, shape_put(75, 0, 0.1f, 0.121f)},
                                   {SHAPE_TABLE, rigid_identity()}};
    struct rigid T_wc = shape_around(vec3_make(0, 0, 0.08f), 20.0f * (float)k, 35, 0.5f);
    shape_draw(c->depth, NULL, c->w, c->h, shape_camera_of(c->w, c->h), &T_wc, place, 3);
    shape_noise(c->depth, c->w * c->h, (uint32_t)k);
}

/* Fewer tensors than pairs, more, another step, pictures of chance and empty ones. */
TEST(stages_agree)
{
    for (int k = 0; k < 5; k++) {
        struct shape_case a, b;
        struct recognise_cuda *r = NULL;
        struct recognise_config config;
        struct hypothesis found[HYPOTHESES_MAX];
        struct err err = {0};
        uint32_t lot = 4, n = 99;
        int rc;
        assert_int_equal(shape_case_open(&a, W, H, &library, 200, &err), 0);
        assert_int_equal(shape_case_open(&b, W, H, &library, 200, &err), 0);
        if (k == 1)
            a.tp.cell_px = b.tp.cell_px = 5;
        if (k == 0) { /* many poses hold, and compete for surface */
            a.hp.score = 0.3f;
            a.hp.visible = a.hp.hopeless = 0.1f;
            a.hp.points = 12;
            a.hp.second = a.hp.third = 0;
        }
        if (k == 1)
            a.tp.n = b.tp.n = 20;
        if (k == 2)
            for (int i = 0; i < 2; i++)
                surface_shape(i ? &b.surface : &a.surface, W, H, shape_camera_of(W, H), 2);
        draw(&a, k);
        for (int i = 0; i < W * H; i++) {
            uint32_t bits = shape_draw_lot(&lot);
            if (k == 3)
                memcpy(&a.depth[i], &bits, 4);
            if (k == 4)
                a.depth[i] = 0;
        }
        config = config_of(&a);
        rc = recognise_rig_cuda ? recognise_rig_cuda->open(&r, &config, &library, &err)
                                : err_set(&err, ERR_UNSUPPORTED, "this build has no CUDA");
        if (rc) {
            shape_case_close(&a);
            shape_case_close(&b);
            print_message("# hardware: %s\n", err.text);
            assert_int_equal(rc, ERR_UNSUPPORTED);
            skip();
        }
        assert_int_equal(recognise_rig_cuda->run(r, a.depth, NULL, found, &n, NULL, &err), 0);
        assert_int_equal(
            recognise_rig_cuda->get(r, &b.surface, &b.tensors, b.best, b.hypotheses.tried, &err),
            0);
        shape_case_find(&a, &library);
        if (k < 3)
            assert_true(*a.tensors.n_tensors >= 20);
        compare(&a, &b);
        assert_int_equal(n, a.n_found);
        if (k == 0)
            assert_true(n > 2);
        assert_memory_equal(found, a.found, n * sizeof *found);
        recognise_rig_cuda->close(&r);
        shape_case_close(&a);
        shape_case_close(&b);
    }
}

/* The recogniser finds the same on CUDA as on the processor, to the last bit, also when the camera
 * changes between two pictures. */
TEST(recognisers_agree)
{
    struct hypothesis a[HYPOTHESES_MAX], b[HYPOTHESES_MAX];
    struct recogniser *cpu, *cuda;
    struct shape_case c;
    struct err err = {0};
    uint32_t n, m, found = 0;
    int rc;
    rc = recogniser_open(&cuda, "cuda:0", W, H, &library, &err);
    if (rc) {
        print_message("# hardware: %s\n", err.text);
        assert_int_equal(rc, ERR_UNSUPPORTED);
        skip();
    }
    assert_int_equal(recogniser_open(&cpu, "cpu", W, H, &library, &err), 0);
    assert_int_equal(shape_case_open(&c, W, H, &library, 200, &err), 0);
    for (int k = 0; k < 3; k++) {
        struct intrinsics K = shape_camera_of(W, H);
        struct hypothesis_view v, u;
        K.fx *= 1 + 0.01f * (float)k;
        draw(&c, k);
        assert_int_equal(recogniser_run(cpu, c.depth, K, a, &n, &err), 0);
        assert_int_equal(recogniser_run(cuda, c.depth, K, b, &m, &err), 0);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n * sizeof *a);
        found += n;
        for (uint32_t i = 0; i < n; i++) {
            v = recogniser_judge(cpu, a[i].object, &a[i].T_co);
            u = recogniser_judge(cuda, a[i].object, &a[i].T_co);
            assert_memory_equal(&v, &u, sizeof v);
            assert_int_equal(v.supported, a[i].points);
        }
    }
    print_message("# %u poses\n", found);
    assert_true(found > 0);
    shape_case_close(&c);
    recogniser_close(&cpu);
    recogniser_close(&cuda);
}

TEST_GROUP(enrol, forget)
