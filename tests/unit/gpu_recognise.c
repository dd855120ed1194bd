/* Objects, libraries, matches and poses: by hand, through bytes, and on drawn objects. */
#include "gpu/recognise/hypothesis_pose.h"
#include "gpu/recognise/recogniser.h"
#include "gpu/recognise/tensor_point.h"
#include "proto/geom/solve.h"
#include "tests/support/shape_case.h"
#include "tests/support/shape_random.h"
#include "tests/support/unit.h"

#define W 320
#define H 240

static struct object object[2]; /* a tortoise and a mask */
static const struct object *const objects[2] = {&object[0], &object[1]};
static const enum shape shapes[2] = {SHAPE_TORTOISE, SHAPE_MASK};
static struct library library;

FIXTURE(enrol)
{
    struct err err;
    for (int i = 0; i < 2; i++)
        assert_int_equal(shape_enrol(&object[i], shapes[i], W, H, 150, &err), 0);
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

/* Areas are compared by their roots in 128ths: 1 voxel side squared is 256 and becomes 128. Three
 * voxels of roots 3, 4, 12 (length 13) beside the same, beside the double, beside two of them and
 * one that the first lacks, and beside none. */
TEST(scores_by_hand)
{
    assert_true(tensor_root(256) == 128 && tensor_root(1) == 8 && tensor_root(1023) == 256);
    assert_true(match_score(169, 169, 169) == 1);
    assert_true(match_score(338, 169, 4 * 169) == 1);
    assert_float_equal(match_score(9 + 16, 169, 25 + 144), 25.0 / 169, 1e-6f);
    assert_true(match_score(0, 169, 169) == 0 && match_score(0, 0, 169) == 0);
    /* the largest sums that there may be */
    assert_true(match_score(65536000, 65536000, 65536000) == 1);
}

/* What a library says of a tensor, by hand, of four entries: the second voxel is where the first
 * one comes to lie after half a turn. */
TEST(roots_of_a_library)
{
    struct match_params p = match_params_default();
    struct object_tensor from = {.bin = 3, .n = 2};
    uint32_t entry[2] = {TENSOR_ENTRY(0, 256), TENSOR_ENTRY(1, 64)};
    struct object one = {.unit_m = 1, .voxel = 1, .n_tensors = 1, .n_entries = 2};
    const struct object *const row[1] = {&one};
    struct tensor *t = calloc(1, sizeof *t);
    struct library l;
    struct match m;
    struct err err;
    uint64_t best;
    assert_non_null(t);
    one.tensor = &from;
    one.entry = entry;
    assert_int_equal(library_new(&l, row, 1, &err), 0);
    assert_true(l.entry[0] == TENSOR_ENTRY(0, 128) && l.entry[1] == TENSOR_ENTRY(1, 64));
    assert_int_equal(l.tensor[0].square, 128 * 128 + 64 * 64);
    t->bin = 3;
    t->n = 2;
    t->entry[0] = TENSOR_ENTRY(0, 64); /* roots 64 and 128: (128 64 + 64 128) / (5 64^2) = 4 / 5 */
    t->entry[1] = TENSOR_ENTRY(1, 256);
    match_cpu_run(&best, t, 1, &l, &p);
    m = match_of(best);
    assert_float_equal(m.score, 0.8f, 1e-6f);
    assert_int_equal(m.turned, 0);
    t->entry[0] = TENSOR_ENTRY(98, 64); /* the same, turned by half: 1 */
    t->entry[1] = TENSOR_ENTRY(99, 256);
    match_cpu_run(&best, t, 1, &l, &p);
    m = match_of(best);
    assert_true(m.score == 1 && m.turned == 1);
    t->n = 1; /* one voxel the same, the other one hidden: 1; seen empty: 1 / sqrt(1.25) */
    t->entry[0] = TENSOR_ENTRY(0, 256);
    t->hidden[0] = 1u << 1;
    match_cpu_run(&best, t, 1, &l, &p);
    m = match_of(best);
    assert_true(m.score == 1 && m.turned == 0);
    t->hidden[0] = 0;
    match_cpu_run(&best, t, 1, &l, &p);
    assert_float_equal(match_of(best).score, 0.894427f, 1e-6f);
    t->n = 1;
    t->entry[0] = TENSOR_ENTRY(500, 64); /* nothing in common */
    match_cpu_run(&best, t, 1, &l, &p);
    assert_true(best == 0);
    library_free(&l);
    free(t);
}

TEST(keys)
{
    struct match m = match_of(match_key(0.75f, 123456, 1));
    assert_true(m.score == 0.75f && m.tensor == 123456 && m.turned == 1);
    assert_true(match_key(0.5f, 3, 0) > match_key(0.5f, 4, 0));
    assert_true(match_key(0.500001f, 4, 0) > match_key(0.5f, 3, 0));
    for (uint32_t i = 0; i < TENSOR_VOXELS; i++) {
        uint32_t to = match_turn(i);
        assert_int_equal(to / 100, i / 100);
        assert_int_equal(to % 10, 9 - i % 10);
        assert_int_equal(to / 10 % 10, 9 - i / 10 % 10);
    }
}

/* The library's own tensors match themselves with score 1; tensors of both bins beside are looked
 * at, others are not. */
TEST(library_finds_itself)
{
    struct match_params p = match_params_default();
    struct tensor *t = calloc(1, sizeof *t);
    uint64_t best[2];
    assert_non_null(t);
    assert_int_equal(library.bin[TENSOR_BINS], library.n_tensors);
    for (uint32_t i = 0; i < library.n_tensors; i += 7) {
        const struct library_tensor *from = &library.tensor[i];
        struct match m;
        assert_true(i >= library.bin[library.from[i]->bin] &&
                    i < library.bin[library.from[i]->bin + 1]);
        t->bin = library.from[i]->bin;
        t->n = from->n;
        memcpy(t->entry, objects[from->object]->entry + library.from[i]->first,
               from->n * sizeof *t->entry);
        match_cpu_run(best, t, 1, &library, &p);
        m = match_of(best[from->object]);
        assert_float_equal(m.score, 1, 1e-6f);
        /* of two points that chose each other the tensors are one, turned by half */
        assert_true(m.tensor == i ||
                    (m.tensor < i && m.turned && library.tensor[m.tensor].square == from->square));
        t->bin = t->bin > TENSOR_BINS / 2 ? 0 : TENSOR_BINS - 1;
        match_cpu_run(best, t, 1, &library, &p);
        assert_false(best[from->object] && match_of(best[from->object]).tensor == i);
    }
    free(t);
}

/* Bytes and back; every cut and every one of many damages is refused or harmless. */
TEST(bytes)
{
    size_t n = object_bytes(&object[1]);
    uint8_t *row = malloc(n), *again = malloc(n);
    struct object o;
    struct err err;
    uint32_t lot = 3;
    int refused = 0;
    assert_true(row && again);
    object_pack(row, &object[1]);
    assert_int_equal(object_unpack(&o, row, n, &err), 0);
    assert_int_equal(object_bytes(&o), n);
    assert_false(o.is_coarse);
    object_pack(again, &o);
    assert_memory_equal(row, again, n);
    object_free(&o);
    for (int k = 0; k < 300; k++) {
        size_t at = shape_draw_lot(&lot) % (k < 100 ? 200 : n), len = n;
        memcpy(again, row, n);
        if (k % 3 == 0)
            len = at;
        else
            again[at] ^= (uint8_t)(1 << k % 8);
        if (object_unpack(&o, again, len, &err)) {
            assert_true(err.text[0]);
            assert_null(o.tensor);
            refused++;
        }
        object_free(&o);
    }
    assert_true(refused > 150);
    free(again);
    assert_int_equal(object_unpack(&o, row, n, &err), 0);
    o.is_coarse = 1; /* earlier builds pass over what says so */
    n = object_bytes(&o);
    again = malloc(n);
    assert_non_null(again);
    object_pack(again, &o);
    object_free(&o);
    assert_int_equal(object_unpack(&o, again, n, &err), 0);
    assert_true(o.is_coarse);
    object_free(&o);
    free(row);
    free(again);
}

/* A view without a surface adds nothing; nor do parameters out of range. */
TEST(bad_views)
{
    struct object o = {0};
    struct surface_params sp = surface_params_default();
    struct tensor_params tp = tensor_params_default();
    struct rigid T = rigid_identity();
    struct err err;
    float *depth = calloc(W * H, sizeof *depth);
    assert_non_null(depth);
    tp.unit_m = 0.004f;
    assert_int_equal(object_add_view(&o, depth, W, H, shape_camera_of(W, H), &T, &sp, &tp, &err),
                     ERR_INPUT);
    assert_int_equal(object_add_view(&o, depth, 1, H, shape_camera_of(W, H), &T, &sp, &tp, &err),
                     ERR_INPUT);
    tp.unit_m = 0;
    for (int i = 0; i < W * H; i++)
        depth[i] = 1;
    assert_int_equal(object_add_view(&o, depth, W, H, shape_camera_of(W, H), &T, &sp, &tp, &err),
                     ERR_INPUT);
    tp.unit_m = 0.004f;
    assert_int_equal(object_add_view(&o, depth, W, H, shape_camera_of(W, H), &T, &sp, &tp, &err),
                     0); /* a plane: no tensor, but points */
    assert_true(o.n_tensors == 0 && o.n_points > 100 && o.n_views == 1);
    object_free(&o);
    free(depth);
    assert_false(object_name_valid("") || object_name_valid(".x") || object_name_valid("a/b"));
    assert_true(object_name_valid("Mug-2_b.v1"));
}

/* A tortoise (twice) and a mask on a table, with a ball: all three are found within 3 degrees and
 * 1 cm, and nothing else. An empty picture has no object. */
TEST(scene)
{
    struct shape_place place[5] = {{SHAPE_TORTOISE, shape_put(40, 0.05f, -0.17f, 0.053f)},
                                   {SHAPE_TORTOISE, shape_put(200, 0.0f, 0.16f, 0.053f)},
                                   {SHAPE_MASK, shape_put(15, -0.1f, 0, 0.1f)},
                                   {SHAPE_BALL, shape_put(0, 0.12f, 0.02f, 0.06f)},
                                   {SHAPE_TABLE, rigid_identity()}};
    struct rigid T_wc = shape_around(vec3_make(0, 0, 0.05f), 8, 35, 0.85f);
    struct rigid T_cw = rigid_inverse(&T_wc);
    struct shape_case c;
    struct err err;
    assert_int_equal(shape_case_open(&c, W, H, &library, 200, &err), 0);
    shape_draw(c.depth, NULL, W, H, shape_camera_of(W, H), &T_wc, place, 5);
    shape_noise(c.depth, W * H, 1);
    shape_case_find(&c, &library);
    for (uint32_t k = 0; k < c.n_found; k++)
        print_message("# %s: score %.2f, support %.2f, %u points, %u votes\n",
                      library.object[c.found[k].object]->name, (double)c.found[k].score,
                      (double)c.found[k].support, c.found[k].points, c.found[k].votes);
    assert_int_equal(c.n_found, 3);
    for (int i = 0; i < 3; i++) {
        struct rigid T_co = rigid_mul(&T_cw, &place[i].T_wo);
        int found = 0;
        for (uint32_t k = 0; k < c.n_found; k++) {
            float degrees, metres;
            shape_off(&degrees, &metres, &c.found[k].T_co, &T_co);
            found += shapes[c.found[k].object] == place[i].shape && degrees <= 3 && metres <= 0.01f;
        }
        assert_int_equal(found, 1);
    }
    memset(c.depth, 0, sizeof *c.depth * W * H);
    shape_case_find(&c, &library);
    assert_int_equal(c.n_found, 0);
    shape_case_close(&c);
}

/* How many eigenvalues are above a bound is what their values say, of matrices of chance. */
TEST(eigenvalues_counted)
{
    uint32_t lot = 5;
    for (int i = 0; i < 1000; i++) {
        double m[6], a[9], value[3], vector[9], t = (double)shape_uniform(&lot) * 2 - 1;
        for (int k = 0; k < 6; k++)
            m[k] = (double)shape_uniform(&lot) * 2 - 1;
        memcpy(a, (double[9]){m[0], m[1], m[2], m[1], m[3], m[4], m[2], m[4], m[5]}, sizeof a);
        solve_eigen(value, vector, a, 3);
        assert_int_equal(hypothesis_above(m, t), (value[0] > t) + (value[1] > t) + (value[2] > t));
    }
}

/* Points off three planes by a small motion: a round takes almost all of it back, and a second one
 * the rest. Eleven pairs are too few. */
TEST(round_by_hand)
{
    struct rigid T = rigid_identity();
    const double off[6] = {0.02, -0.01, 0.03, 0.004, -0.002, 0.001};
    hypothesis_move(&T, off);
    for (int round = 0; round < 2; round++) {
        int64_t sum[HYPOTHESIS_SUMS] = {0};
        for (int i = 0; i < 75; i++) {
            float u = 0.02f * (float)(i / 3 % 5), v = 0.02f * (float)(i / 15);
            struct vec3 q = i % 3 == 0   ? vec3_make(u, v, 1)
                            : i % 3 == 1 ? vec3_make(u, 0, 1 + v)
                                         : vec3_make(0, u, 1 + v);
            struct vec3 n = vec3_make(i % 3 == 2, i % 3 == 1, i % 3 == 0);
            hypothesis_pair(sum, rigid_apply(&T, q), q, n);
            if (i == 10) {
                struct rigid same = T;
                assert_int_equal(hypothesis_step(&same, sum), 0);
                assert_memory_equal(&same, &T, sizeof T);
            }
        }
        assert_int_equal(sum[HYPOTHESIS_N], 75);
        assert_int_equal(hypothesis_step(&T, sum), 1);
        for (int i = 0; i < 9; i++)
            assert_float_equal(T.r[i], (i % 4 == 0), round ? 1e-5f : 1e-3f);
        for (int i = 0; i < 3; i++)
            assert_float_equal(T.t[i], 0, round ? 1e-5f : 1e-3f);
    }
}

/* A view of three places: the recogniser finds what stands there, and says of each place whether it
 * holds what it held. In an empty room there is nothing to find. */
TEST(recogniser)
{
    struct shape_place place[2] = {{SHAPE_TORTOISE, shape_put(40, 0.05f, -0.1f, 0.053f)},
                                   {SHAPE_TABLE, rigid_identity()}};
    struct rigid T_wc = shape_around(vec3_make(0, 0, 0.05f), 8, 35, 0.85f);
    struct rigid T_cw = rigid_inverse(&T_wc), T_co = rigid_mul(&T_cw, &place[0].T_wo), T_off;
    struct rigid other = shape_put(40, 0.05f, 0.15f, 0.053f), behind = shape_put(0, -3, 0, 0);
    struct intrinsics K = shape_camera_of(W, H), flat = {0, 0, 0, 0};
    float *depth = malloc(W * H * sizeof *depth), degrees, metres;
    struct hypothesis found[HYPOTHESES_MAX], again[HYPOTHESES_MAX];
    struct hypothesis_view v;
    struct recogniser *r;
    struct err err;
    uint32_t n, m;
    assert_non_null(depth);
    assert_int_equal(recogniser_open(&r, "cpu", 1, H, &library, &err), ERR_INPUT);
    assert_null(r);
    assert_int_equal(recogniser_open(&r, "cpu", W, H, &library, &err), 0);
    assert_true(recogniser_bytes(W, H, &library) > 200 * sizeof(struct tensor));
    shape_draw(depth, NULL, W, H, K, &T_wc, place, 2);
    shape_noise(depth, W * H, 1);
    assert_int_equal(recogniser_run(r, depth, flat, found, &n, &err), ERR_INPUT);
    assert_int_equal(recogniser_run(r, depth, K, found, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(shapes[found[0].object], SHAPE_TORTOISE);
    shape_off(&degrees, &metres, &found[0].T_co, &T_co);
    print_message("# off by %.2f degrees, %.1f mm\n", (double)degrees, (double)metres * 1e3);
    assert_true(degrees <= 3 && metres <= 0.01f);
    v = recogniser_judge(r, 0, &T_co);
    assert_true(v.supported > 0.6f * (float)v.facing && v.contradicted < 0.1f * (float)v.facing);
    T_off = rigid_mul(&T_cw, &other); /* there one sees the table through it */
    v = recogniser_judge(r, 0, &T_off);
    assert_true(v.contradicted > 0.5f * (float)v.facing && v.supported < v.contradicted / 2);
    T_off = rigid_mul(&T_cw, &behind);
    v = recogniser_judge(r, 0, &T_off);
    assert_int_equal(v.supported, 0);
    /* another picture between the two leaves nothing behind */
    shape_draw(depth, NULL, W, H, K, &T_wc, &place[1], 1);
    shape_noise(depth, W * H, 2);
    assert_int_equal(recogniser_run(r, depth, K, again, &m, &err), 0);
    assert_int_equal(m, 0);
    shape_draw(depth, NULL, W, H, K, &T_wc, place, 2);
    shape_noise(depth, W * H, 1);
    assert_int_equal(recogniser_run(r, depth, K, again, &m, &err), 0);
    assert_int_equal(m, n);
    assert_memory_equal(again, found, n * sizeof *found);
    recogniser_close(&r);
    assert_null(r);
    free(depth);
}

/* Tensors of an object may share entries: a library has room for what they name. */
TEST(shared_entries)
{
    struct object twice = object[0];
    const struct object *const one[1] = {&twice};
    size_t n = object[0].n_tensors;
    struct library l;
    struct err err;
    twice.tensor = calloc(2 * n, sizeof *twice.tensor);
    assert_non_null(twice.tensor);
    memcpy(twice.tensor, object[0].tensor, n * sizeof *twice.tensor);
    memcpy(twice.tensor + n, object[0].tensor, n * sizeof *twice.tensor);
    twice.n_tensors = 2 * n;
    assert_int_equal(library_new(&l, one, 1, &err), 0);
    assert_int_equal(l.n_entries, 2 * object[0].n_entries);
    library_free(&l);
    free(twice.tensor);
}

/* Libraries of nothing, and of objects with different units, are none. */
TEST(bad_libraries)
{
    struct object other = object[1];
    const struct object *const two[2] = {&object[0], &other};
    struct library l;
    struct err err;
    assert_int_equal(library_new(&l, objects, 0, &err), ERR_INPUT);
    other.unit_m = 0.005f;
    assert_int_equal(library_new(&l, two, 2, &err), ERR_INPUT);
}

TEST_GROUP(enrol, forget)
