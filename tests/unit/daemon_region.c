/* Regions of sessions: which points lie in a box, what is refused, and that what was scanned is
 * recognised. */
#include "tests/support/region_case.h"
#include "tests/support/unit.h"

#include "daemon/core_internal.h"
#include "daemon/objects.h"
#include "daemon/session/region.h"
#include "gpu/recognise/library.h"
#include "gpu/recognise/recogniser.h"
#include "proto/geom/octa.h"

#define STEP_M 0.01f
#define W 320
#define H 240

/* ------------------------------------------------------------------------- boxes */

static void put(struct mirror *m, uint32_t submap, uint32_t first_slot, const int32_t at[3],
                uint32_t n)
{
    struct gpu_change *c = calloc(n, sizeof(*c));
    struct mirror_commit done;

    assert_non_null(c);
    for (uint32_t i = 0; i < n; i++)
        c[i] = (struct gpu_change){.id = first_slot + i,
                                   .slot = first_slot + i,
                                   .p_q = {at[0], at[1], at[2]},
                                   .confidence = 1,
                                   .kind = GPU_CHANGE_PUT,
                                   .normal = octa_encode(vec3_make(1, 0, 0), 1)};
    mirror_commit(m, submap, c, n, &done);
    free(c);
}

static struct region_box box_of(float x, float y, float z, float side, float turn,
                                enum session_up up)
{
    struct api_region r = {.centre = {x, y, z}, .size = {side, side / 2, side}, .turn_deg = turn};
    struct region_box box;
    struct err err;

    assert_int_equal(region_box(&box, &r, up, &err), 0);
    return box;
}

TEST(boxes_are_turned_about_what_is_up)
{
    static const struct {
        enum session_up up;
        struct vec3 x; /* where the box's axis x points after a quarter turn */
    } rows[] = {{SESSION_UP_Z, {0, 1, 0}},
                {SESSION_UP_MINUS_Z, {0, -1, 0}},
                {SESSION_UP_Y, {0, 0, -1}},
                {SESSION_UP_MINUS_Y, {0, 0, 1}},
                {SESSION_UP_X, {1, 0, 0}}};
    struct api_region r = {.size = {1, 1, 1}, .turn_deg = 1};
    struct region_box box;
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        box = box_of(1, 2, 3, 1, 90, rows[i].up);
        struct vec3 p = rigid_apply(&box.T_wb, vec3_make(1, 0, 0));
        assert_float_equal(p.x, 1 + rows[i].x.x, 1e-6f);
        assert_float_equal(p.y, 2 + rows[i].x.y, 1e-6f);
        assert_float_equal(p.z, 3 + rows[i].x.z, 1e-6f);
    }
    assert_int_equal(region_box(&box, &r, SESSION_UP_DEFAULT, &err), ERR_INPUT);
    assert_string_equal(err.where, "/region/turn");
    r.turn_deg = 0;
    assert_int_equal(region_box(&box, &r, SESSION_UP_DEFAULT, &err), 0);
}

/* Points in the box and on its sides, by the box's frame; those of a submap where it is placed, and
 * nowhere without a place. */
TEST(points_in_a_box)
{
    const struct cloud_limits limits = {64, 200000};
    const float moved[7] = {0, 0, 0.70710678f, 0.70710678f, 5, 0, 0}; /* a quarter turn about z */
    struct region_box box = box_of(1, 0, 0, 0.2f, 0, SESSION_UP_Z);
    struct places places = {0};
    struct object_point *points;
    struct mirror *m;
    struct err err;
    size_t n;

    assert_int_equal(mirror_new(&m, &limits, &err), 0);
    assert_int_equal(region_take(&points, &n, m, &places, STEP_M, &box, &err), ERR_INPUT);
    assert_null(points);
    put(m, 0, 0, (const int32_t[3]){109, 4, -9}, 1);
    put(m, 0, 1, (const int32_t[3]){111, 0, 0}, 1);
    put(m, 0, 2, (const int32_t[3]){100, 6, 0}, 1); /* the side along y is half as long */
    put(m, 1, 3, (const int32_t[3]){0, 400, 0}, 1); /* at (1, 0, 0) once it is placed */
    assert_int_equal(region_take(&points, &n, m, &places, STEP_M, &box, &err), 0);
    assert_int_equal(n, 1);
    assert_float_equal(points[0].p.x, 0.09f, 1e-5f);
    assert_float_equal(points[0].p.y, 0.04f, 1e-5f);
    assert_float_equal(points[0].p.z, -0.09f, 1e-5f);
    assert_float_equal(points[0].normal.x, 1, 1e-5f);
    free(points);
    assert_int_equal(places_tell(&places, 1, moved, &err), 0);
    assert_int_equal(region_take(&points, &n, m, &places, STEP_M, &box, &err), 0);
    assert_int_equal(n, 2);
    assert_float_equal(points[1].p.x, 0, 1e-5f);
    assert_float_equal(points[1].normal.y, 1, 1e-5f); /* turned with its submap */
    free(points);
    box = box_of(1, 0, 0, 0.2f, 90, SESSION_UP_Z); /* now the side along x is the short one */
    assert_int_equal(region_take(&points, &n, m, &places, STEP_M, &box, &err), 0);
    assert_int_equal(n, 2);
    assert_float_equal(points[0].p.x, 0.06f, 1e-5f);
    free(points);
    mirror_free(&m);
}

TEST(boxes_that_hold_nothing_or_too_much)
{
    const struct cloud_limits limits = {64, 200000};
    struct region_box box = box_of(0, 0, 0, 1, 0, SESSION_UP_Z);
    struct places places = {0};
    struct object_point *points;
    struct mirror *m;
    struct err err;
    size_t n;

    assert_int_equal(mirror_new(&m, &limits, &err), 0);
    put(m, 7, 0, (const int32_t[3]){0, 0, 0}, 5);
    assert_int_equal(region_take(&points, &n, m, &places, STEP_M, &box, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "5 are of submaps that have no place"));
    put(m, 0, 5, (const int32_t[3]){0, 0, 0}, OBJECT_CLOUD_MAX);
    assert_int_equal(region_take(&points, &n, m, &places, STEP_M, &box, &err), 0);
    assert_int_equal(n, OBJECT_CLOUD_MAX);
    free(points);
    put(m, 0, 5 + OBJECT_CLOUD_MAX, (const int32_t[3]){1, 0, 0}, 1);
    assert_int_equal(region_take(&points, &n, m, &places, STEP_M, &box, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "more than 131072 points"));
    mirror_free(&m);
}

/* ------------------------------------------------------------------------- a session's */

static struct region_case scan;

static void is_refused(const char *name, const struct api_region *r, int code, const char *where,
                       const char *text)
{
    struct api_object object = {.name = ""};
    struct err err = {0};
    int rc = region_case_enrol(name, r, &object, &err);

    if (rc != code || strcmp(err.where, where) != 0 || !strstr(err.text, text))
        fail_msg("%s, %u tensors: %d at '%s': %s", name, object.tensors, rc, err.where, err.text);
}

/* Is the cube of the object found in a picture that no frame was like? */
static void is_found(const char *name, const struct api_region *r)
{
    const struct enrolled *e = objects_get(rig.core->objects, "", name);
    struct shape_place place[2] = {{SHAPE_TABLE, rigid_identity()},
                                   {SHAPE_CUBE, shape_put(77, 0.1f, 0, 0.075f)}};
    struct rigid T_wc = shape_around(vec3_make(0.1f, 0, 0.06f), 130, 28, 0.8f);
    struct rigid T_cw = rigid_inverse(&T_wc), T_cs = rigid_mul(&T_cw, &place[1].T_wo);
    struct rigid T_os = region_case_truth(r, SHAPE_CUBE), T;
    struct hypothesis found[HYPOTHESES_MAX];
    float *depth = malloc(W * H * sizeof(*depth)), degrees, metres;
    const struct object *object;
    struct recogniser *at;
    struct library library;
    struct err err;
    uint32_t n;

    assert_true(e && depth);
    object = &e->object;
    assert_int_equal(library_new(&library, &object, 1, &err), 0);
    assert_int_equal(recogniser_open(&at, "cpu", W, H, &library, &err), 0);
    shape_draw(depth, NULL, W, H, shape_camera_of(W, H), &T_wc, place, 2);
    shape_noise(depth, W * H, 5);
    assert_int_equal(recogniser_run(at, depth, shape_camera_of(W, H), found, &n, &err), 0);
    assert_int_equal(n, 1);
    T = rigid_mul(&found[0].T_co, &T_os);
    shape_off(&degrees, &metres, &T, &T_cs);
    print_message("# off by %.2f degrees, %.1f mm, score %.2f\n", (double)degrees,
                  (double)metres * 1e3, (double)found[0].score);
    assert_true(degrees <= 3 && metres <= 0.01f);
    recogniser_close(&at);
    library_free(&library);
    objects_put(e);
    free(depth);
}

TEST(a_scanned_thing_is_recognised)
{
    struct session_options o = rig_options();
    struct api_region box, bad;
    struct core_export *e[64];
    struct session_info depth;
    uint64_t total, hash;
    int n = 0, retry;

    region_case_open(&scan);
    region_case_session(&scan, 0);
    box = region_case_box(&scan, SHAPE_CUBE);
    is_refused("cube", &box, ERR_INPUT, "/region", "no point of the cloud");
    region_case_scan(&scan, SHAPE_CUBE, 6, 3);
    for (n = 0; n < 64; n++) /* a copy of the cloud counts as an export */
        if (core_ops.export_open(rig.core, scan.id, "", false, &e[n], &total, &hash, NULL))
            break;
    assert_true(n > 0 && n < 64);
    is_refused("cube", &box, ERR_BUSY, "", "exports");
    while (n > 0)
        core_ops.export_close(e[--n]);
    is_refused("cube", &box, 0, "", "");
    is_refused("cube", &box, ERR_STATE, "/name", "already");
    is_found("cube", &box);
    bad = box;
    bad.size[0] = bad.size[1] = 0.05f;
    is_refused("bad", &bad, ERR_INPUT, "/region", "too few for an object");
    bad = box;
    bad.centre[0] += 0.35f; /* beside it there is the table */
    bad.centre[2] = 0;
    bad.size[0] = bad.size[1] = 0.2f;
    is_refused("bad", &bad, ERR_INPUT, "/region", "flat");
    snprintf(bad.session, sizeof(bad.session), "nosuchsession");
    is_refused("bad", &bad, ERR_NOT_FOUND, "", "no such session");
    o.kind = SESSION_DEPTH;
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &depth, &retry, NULL), 0);
    memcpy(bad.session, depth.id, sizeof(bad.session));
    is_refused("bad", &bad, ERR_STATE, "", "no map");
    region_case_end(&scan);
    is_refused("bad", &box, ERR_NOT_FOUND, "", "no such session");
    region_case_close(&scan);
}
