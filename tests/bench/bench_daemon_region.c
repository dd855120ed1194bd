/*
 * bench_daemon_region - shapes that were enrolled as regions of a session's cloud, recognised in
 * views that the session had not
 *
 *     VIEWS=6 bench_daemon_region
 *
 * Each of the seven shapes stands on a table and is scanned by a session with a sensor's depth and
 * its noise: 8 sides, 4 frames each, 256x192. The region around it is enrolled. Beside it: the same
 * shape enrolled by six depth pictures of it alone, 320x240, as bench_gpu_recognise does. Then all
 * seven are looked for in single pictures of each shape on the table, 320x240, from all around.
 */
#include "daemon/core_internal.h"
#include "daemon/objects.h"
#include "gpu/recognise/library.h"
#include "gpu/recognise/recogniser.h"
#include "tests/support/region_case.h"
#include "tests/support/shape_random.h"

#include <time.h>

#define W 320
#define H 240

enum { CELLS, PAPER, PICTURES, WAYS };
static const char *const way_name[WAYS] = {"region, fusion=cells", "region, fusion=paper",
                                           "six pictures of it alone"};

static struct region_case scan;
static const struct enrolled *held[WAYS][SHAPES];
static struct rigid T_os[WAYS][SHAPES]; /* of the shape to the object */
static double enrol_s[WAYS];

static int setting(const char *name, int standard)
{
    const char *value = getenv(name);
    return value && *value ? atoi(value) : standard;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void enrol_region(int way, enum shape shape)
{
    struct api_region box;
    struct api_object object;
    struct err err = {0};
    char name[64];
    double t;

    region_case_session(&scan, way == CELLS ? SESSION_FUSION_CELLS : SESSION_FUSION_PAPER);
    region_case_scan(&scan, shape, 8, 4);
    box = region_case_box(&scan, shape);
    T_os[way][shape] = region_case_truth(&box, shape);
    snprintf(name, sizeof(name), "%s-%d", shape_name[shape], way);
    t = now_s();
    if (region_case_enrol(&scan, name, &box, &object, &err)) {
        printf("%s, %s: %s\n", way_name[way], shape_name[shape], err.text);
    } else {
        printf("%s, %s: %u views, %u tensors, %u points, %.0f kB\n", way_name[way],
               shape_name[shape], object.views, object.tensors, object.points,
               (double)object.bytes * 1e-3);
        held[way][shape] = objects_get(scan.rig.core->objects, "", name);
    }
    enrol_s[way] += now_s() - t;
    region_case_end(&scan);
}

static void enrol_pictures(enum shape shape)
{
    struct object o;
    struct err err = {0};

    if (shape_enrol(&o, shape, W, H, 200, &err) ||
        objects_add(scan.rig.core->objects, "", "", &o, &held[PICTURES][shape], &err))
        fail_msg("%s", err.text);
    T_os[PICTURES][shape] = rigid_identity();
}

/* Within 5 degrees and 2 cm: right; else wrong. */
struct tally {
    int pictures, found, wrong;
    double degrees, metres;
};

static void judge(struct tally *t, int way, enum shape shape, const struct rigid *T_cs,
                  const struct hypothesis *found, uint32_t n, const int *shape_of)
{
    bool right = false;

    t->pictures++;
    for (uint32_t i = 0; i < n; i++) {
        struct rigid T = rigid_mul(&found[i].T_co, &T_os[way][shape]);
        float degrees, metres;

        shape_off(&degrees, &metres, &T, T_cs);
        if (shape_of[found[i].object] == (int)shape && degrees <= 5 && metres <= 0.02f && !right) {
            right = true;
            t->degrees += (double)degrees;
            t->metres += (double)metres;
        } else {
            t->wrong++;
        }
    }
    t->found += right;
}

static void look(int way, int views)
{
    float *depth = malloc(W * H * sizeof(*depth));
    const struct object *objects[SHAPES];
    struct hypothesis found[HYPOTHESES_MAX];
    struct recogniser *r = NULL;
    struct library library;
    struct tally all = {0};
    struct err err = {0};
    uint32_t n = 0, lot = 77;
    int shape_of[SHAPES];

    for (int s = 0; s < SHAPES; s++)
        if (held[way][s]) {
            shape_of[n] = s;
            objects[n++] = &held[way][s]->object;
        }
    if (!depth || library_new(&library, objects, n, &err) ||
        recogniser_open(&r, "cpu", W, H, &library, &err))
        fail_msg("%s", err.text);
    for (int s = 0; s < SHAPES; s++) {
        struct tally one = {0};
        for (int v = 0; v < views; v++) {
            struct shape_place place[2] = {
                {SHAPE_TABLE, rigid_identity()},
                {(enum shape)s, shape_put(360 * shape_uniform(&lot), 0, 0, region_case_height[s])}};
            struct rigid T_wc = shape_around(vec3_make(0, 0, 0.06f), 360 * shape_uniform(&lot),
                                             20 + 30 * shape_uniform(&lot), 0.8f);
            struct rigid T_cw = rigid_inverse(&T_wc), T_cs = rigid_mul(&T_cw, &place[1].T_wo);

            shape_draw(depth, NULL, W, H, shape_camera_of(W, H), &T_wc, place, 2);
            shape_noise(depth, W * H, shape_draw_lot(&lot));
            if (recogniser_run(r, depth, shape_camera_of(W, H), found, &n, &err))
                fail_msg("%s", err.text);
            judge(&one, way, (enum shape)s, &T_cs, found, n, shape_of);
        }
        printf("  %-9s %d of %d, %d wrong\n", shape_name[s], one.found, one.pictures, one.wrong);
        all.pictures += one.pictures;
        all.found += one.found;
        all.wrong += one.wrong;
        all.degrees += one.degrees;
        all.metres += one.metres;
    }
    printf("%s: %d of %d found, %d wrong; off %.2f degrees, %.1f mm in the mean; %.2f s to enrol\n",
           way_name[way], all.found, all.pictures, all.wrong, all.degrees / fmax(1, all.found),
           1e3 * all.metres / fmax(1, all.found), enrol_s[way] / SHAPES);
    recogniser_close(&r);
    library_free(&library);
    free(depth);
}

int main(void)
{
    int views = setting("VIEWS", 6), ways = setting("WAYS", 7);

    region_case_open(&scan);
    for (int s = 0; s < SHAPES; s++) {
        if (ways & 1)
            enrol_region(CELLS, (enum shape)s);
        if (ways & 2)
            enrol_region(PAPER, (enum shape)s);
        if (ways & 4)
            enrol_pictures((enum shape)s);
    }
    for (int way = 0; way < WAYS; way++)
        if (ways & 1 << way)
            look(way, views);
    for (int way = 0; way < WAYS; way++)
        for (int s = 0; s < SHAPES; s++)
            objects_put(held[way][s]);
    region_case_close(&scan);
    return 0;
}
