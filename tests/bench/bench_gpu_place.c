/*
 * bench_gpu_place - how right the volume is that pairs make of a place whose surfaces are known
 *
 *     bench_gpu_place [cuda|cpu [room|market [paper|patch [SIDE [VOXEL_MM [BASELINE_M]]]]]]
 *     bench_gpu_place truth room|market [BASELINE_M] >TRUTH.ply
 *
 * 40 pairs of SIDE x SIDE (1024) along the paper's path, of a place of tests/support/pair_place.h;
 * with BASELINE_M (0: none) the pairs that one camera makes whose equirectangular pictures of SIDE
 * x SIDE / 2 were taken on the way of tests/support/pair_walk.h.
 * Precision: of opaque voxels, those whose centre is less than 2 cm from a surface. Recall: of
 * points of surfaces that some pair sees with both cameras, and of all, those with an opaque voxel
 * less than 2 cm away. Of the room the extents of the column (.2 m; median of slices) and of the
 * ball (.6 m; of the slice at its middle) as well, green and red voxels alone. `truth` writes such
 * points as PLY, for clouds that came another way: `reconctl eval cloud CLOUD TRUTH -t 0.02`.
 */
#include "tests/support/pair_place.h"
#include "tests/support/pair_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOW_M -0.1f
#define HIGH_M 2.0f
#define REACH_M 2.6f /* of the volume, beside its middle */
#define NEAR_M 0.02f
#define FIELD_RAD 2.18166f
#define POINTS 60000

/* Where both cameras of each pair stood. */
static struct vec3 pairs[PAIR_WALK_FRAMES][2];
static int n_pairs;
static int makes_pair[PAIR_WALK_FRAMES] = {1}; /* what the others show is not looked at */
static float field_cos;
static uint32_t seed = 1;
static uint32_t *told;

static float lot(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 16777216.0f;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct rigid above(struct rigid T, int e)
{
    T.t[2] += PAIR_ROOM_BASELINE_M * (float)e;
    return T;
}

/* ------------------------------------------------------------------------- truth */

static float area(const struct pair_solid *s)
{
    const float *h = s->half;

    if (s->shape == PAIR_BALL)
        return 12.566f * h[0] * h[0];
    if (s->shape == PAIR_TUBE)
        return 12.566f * h[0] * h[2] + 6.283f * h[0] * h[0];
    return 8 * (h[0] * h[1] + h[1] * h[2] + h[2] * h[0]);
}

/* A place upon a box, drawn by lot. */
static void upon_box(const struct pair_solid *s, float q[3])
{
    const float *h = s->half;
    float a = h[1] * h[2], b = h[2] * h[0], at = lot() * (a + b + h[0] * h[1]);
    int face = at < a ? 0 : at < a + b ? 1 : 2;

    for (int i = 0; i < 3; i++)
        q[i] = i == face ? (lot() < .5f ? -h[i] : h[i]) : h[i] * (2 * lot() - 1);
}

static struct vec3 upon(const struct pair_solid *s)
{
    float q[3], angle = 6.2831853f * lot(), z = 2 * lot() - 1, r = sqrtf(1 - z * z);
    int cap = lot() * (2 * s->half[2] + s->half[0]) < s->half[0];

    if (s->shape == PAIR_HALL || s->shape == PAIR_BOX) {
        upon_box(s, q);
    } else {
        r = s->shape == PAIR_BALL ? r : cap ? sqrtf(lot()) : 1;
        q[0] = s->half[0] * r * cosf(angle);
        q[1] = s->half[0] * r * sinf(angle);
        q[2] = s->shape == PAIR_BALL ? s->half[0] * z
               : cap                 ? copysignf(s->half[2], z)
                                     : s->half[2] * z;
    }
    pair_turn(s, q, 1);
    return vec3_make(q[0] + s->at[0], q[1] + s->at[1], q[2] + s->at[2]);
}

/* A point of a surface in the volume that no other solid has swallowed. */
static struct vec3 draw_point(const struct pair_place *place)
{
    for (;;) {
        float all = 0, at;
        int i = 0, good = 1;
        struct vec3 p;

        for (int k = 0; k < place->n; k++)
            all += area(&place->solid[k]);
        at = lot() * all;
        while (i + 1 < place->n && (at -= area(&place->solid[i])) > 0)
            i++;
        p = upon(&place->solid[i]);
        for (int k = 0; k < place->n; k++)
            good &= k == i || pair_outside(&place->solid[k], p) > 1e-3f;
        if (good && p.z < HIGH_M)
            return p;
    }
}

static struct vec3 place_of(struct rigid T)
{
    return vec3_make(T.t[0], T.t[1], T.t[2]);
}

/* Which pairs there are: those of the rig, or those that a walking camera makes. */
static void list_pairs(float baseline_m)
{
    struct vec3 kept = place_of(pair_walk_pose(0).T_wc), at;

    field_cos = baseline_m > 0 ? -1 : cosf(FIELD_RAD);
    for (int i = 0; i < PAIR_ROOM_VIEWS && !(baseline_m > 0); i++, n_pairs++)
        for (int e = 0; e < 2; e++)
            pairs[n_pairs][e] = place_of(above(pair_room_pose(i), e));
    for (int i = 1; i < PAIR_WALK_FRAMES && baseline_m > 0; i++) {
        at = place_of(pair_walk_pose(i).T_wc);
        if (vec3_norm2(vec3_sub(at, kept)) < baseline_m * baseline_m)
            continue;
        pairs[n_pairs][0] = at;
        pairs[n_pairs++][1] = kept;
        makes_pair[i] = 1;
        kept = at;
    }
}

/* Do both cameras of some pair see the point? */
static int is_seen(const struct pair_place *place, struct vec3 p)
{
    for (int i = 0; i < n_pairs; i++) {
        int n = 0;

        for (int e = 0; e < 2; e++) {
            struct vec3 at = pairs[i][e], ray = vec3_sub(p, at);
            float t;

            (void)pair_place_meet(place, at, ray, &t);
            n += -ray.z >= field_cos * sqrtf(vec3_norm2(ray)) && t > 0.999f;
        }
        if (n == 2)
            return 1;
    }
    return 0;
}

static void write_truth(const struct pair_place *place)
{
    printf("ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\n"
           "property float z\nend_header\n",
           4 * POINTS);
    for (int i = 0; i < 4 * POINTS;) {
        struct vec3 p = draw_point(place);

        if (!is_seen(place, p))
            continue;
        printf("%.4f %.4f %.4f\n", (double)p.x, (double)p.y, (double)p.z);
        i++;
    }
}

/* ------------------------------------------------------------------------- the volume */

static struct vec3 centre(const struct gpu_volume *v, int i, int j, int k)
{
    return vec3_make(v->min_m[0] + ((float)i + .5f) * v->voxel_m,
                     v->min_m[1] + ((float)j + .5f) * v->voxel_m,
                     v->min_m[2] + ((float)k + .5f) * v->voxel_m);
}

static uint32_t colour_at(const struct gpu_volume *v, int i, int j, int k)
{
    if (i < 0 || j < 0 || k < 0 || i >= v->n[0] || j >= v->n[1] || k >= v->n[2])
        return 0;
    return told[((size_t)j * (size_t)v->n[0] + (size_t)i) * (size_t)v->n[2] + (size_t)k];
}

static int is_found(const struct gpu_volume *v, struct vec3 p)
{
    int reach = (int)(NEAR_M / v->voxel_m) + 1, at[3];

    at[0] = (int)((p.x - v->min_m[0]) / v->voxel_m);
    at[1] = (int)((p.y - v->min_m[1]) / v->voxel_m);
    at[2] = (int)((p.z - v->min_m[2]) / v->voxel_m);
    for (int j = at[1] - reach; j <= at[1] + reach; j++)
        for (int i = at[0] - reach; i <= at[0] + reach; i++)
            for (int k = at[2] - reach; k <= at[2] + reach; k++)
                if (colour_at(v, i, j, k) &&
                    vec3_norm2(vec3_sub(centre(v, i, j, k), p)) < NEAR_M * NEAR_M)
                    return 1;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Median over slices between two heights of how far voxels reach whose colour `channel` leads. */
static void extents(const struct gpu_volume *v, const char *what, int channel, float low,
                    float high)
{
    static int wide[2][4096];
    int n = 0;

    for (int k = 0; k < v->n[2] && n < 4096; k++) {
        float z = centre(v, 0, 0, k).z;
        int lo[2] = {1 << 30, 1 << 30}, hi[2] = {-1, -1};

        if (z < low || z > high)
            continue;
        for (int j = 0; j < v->n[1]; j++)
            for (int i = 0; i < v->n[0]; i++) {
                uint32_t c = colour_at(v, i, j, k);
                int at[2] = {i, j}, lead = (int)(c >> 8 * channel & 255);
                int other = (int)(c >> 8 * (channel ? 0 : 1) & 255), blue = (int)(c >> 16 & 255);

                for (int x = 0; x < 2 && lead > other + 30 && lead > blue + 30; x++) {
                    lo[x] = at[x] < lo[x] ? at[x] : lo[x];
                    hi[x] = at[x] > hi[x] ? at[x] : hi[x];
                }
            }
        if (hi[0] < 0)
            continue;
        wide[0][n] = hi[0] - lo[0] + 1;
        wide[1][n++] = hi[1] - lo[1] + 1;
    }
    if (n == 0)
        return;
    for (int x = 0; x < 2; x++)
        qsort(wide[x], (size_t)n, sizeof *wide[x], ascending);
    printf("%s %.3f x %.3f m; ", what, (double)(v->voxel_m * (float)wide[0][n / 2]),
           (double)(v->voxel_m * (float)wide[1][n / 2]));
}

static void measure(const struct pair_place *place, const struct gpu_volume *v)
{
    size_t n = 0, near = 0, seen = 0, seen_found = 0, found = 0;

    for (int j = 0; j < v->n[1]; j++)
        for (int i = 0; i < v->n[0]; i++)
            for (int k = 0; k < v->n[2]; k++)
                if (colour_at(v, i, j, k)) {
                    n++;
                    near += pair_place_distance(place, centre(v, i, j, k)) < NEAR_M;
                }
    for (int i = 0; i < POINTS; i++) {
        struct vec3 p = draw_point(place);
        int is = is_found(v, p), can = is_seen(place, p);

        found += (size_t)is;
        seen += (size_t)can;
        seen_found += (size_t)(is && can);
    }
    if (!strcmp(place->name, "room")) {
        extents(v, "column", 1, .1f, 1.4f);
        extents(v, "ball", 0, .35f, .45f);
    }
    printf("%zu voxels: precision %.3f, recall %.3f (of all surfaces %.3f)\n", n,
           (double)near / (double)(n ? n : 1), (double)seen_found / (double)seen,
           (double)found / POINTS);
}

/* One pair, and what its list had no room for. */
static int look(struct gpu *g, struct gpu_pair *pair, struct err *err)
{
    struct gpu_item *item = &pair->item;

    do {
        if (gpu_submit(g, &gpu_line_panorama, &item, 1, err) || gpu_wait(g, &item, 1, err))
            return -1;
        for (uint32_t k = 0; k < pair->result.n_changes; k++) {
            const struct gpu_voxel_change *c = &pair->changes[k];

            told[c->voxel] =
                c->kind == GPU_CHANGE_PUT
                    ? (uint32_t)c->rgb[0] | (uint32_t)c->rgb[1] << 8 | (uint32_t)c->rgb[2] << 16
                    : 0;
        }
        pair->rest = 1;
    } while (pair->result.n_waiting);
    return 0;
}

/* Picture e of the rig's i-th pair, or the walking camera's i-th. */
static void draw(struct gpu_pair_eye *eye, const struct pair_place *place, uint8_t *rgb, int side,
                 int is_walk, int i, int e)
{
    eye->rgb = rgb;
    eye->width = side;
    eye->height = is_walk ? side / 2 : side;
    eye->lens = is_walk ? pair_walk_lens() : pair_room_lens(side, &eye->K);
    if (is_walk)
        eye->K = lens_sphere_intrinsics(eye->width, eye->height);
    eye->T_wc = is_walk ? pair_walk_pose(i).T_wc : above(pair_room_pose(i), e);
    if (!is_walk || makes_pair[i])
        pair_place_draw(place, rgb, eye->width, eye->height, &eye->lens, eye->K, &eye->T_wc);
}

static int run(struct gpu *g, const struct pair_place *place, struct gpu_session_config *c,
               int side, struct err *err)
{
    uint8_t *rgb[2] = {NULL, NULL};
    struct gpu_session *s = NULL;
    double spent_s = 0;
    int is_walk = c->baseline_m > 0, n = is_walk ? PAIR_WALK_FRAMES : PAIR_ROOM_VIEWS;
    int rc = gpu_session_new(&s, g, c, err);

    for (int e = 0; e < 2; e++)
        rgb[e] = gpu_host_get(g, (size_t)side * (size_t)side * 3);
    for (int i = 0; i < n && rc == 0; i++) {
        struct gpu_pair pair = {.item = {.session = s}};
        double since;

        for (int e = 0; e < (is_walk ? 1 : 2); e++)
            draw(&pair.eye[e], place, rgb[e], side, is_walk, i, e);
        since = now_s();
        rc = look(g, &pair, err);
        spent_s += now_s() - since;
    }
    if (rc == 0) {
        printf("%s, %s, %d pixels, %.0f mm, %d pairs %.2f m apart: %.3f s a pair; ", place->name,
               c->consistency == GPU_CONSISTENCY_PATCH ? "patch" : "paper", side,
               (double)c->volume.voxel_m * 1e3, n_pairs,
               (double)sqrtf(vec3_norm2(vec3_sub(pairs[0][0], pairs[0][1]))), spent_s / n_pairs);
        measure(place, &c->volume);
    }
    for (int e = 0; e < 2; e++)
        gpu_host_put(g, rgb[e], (size_t)side * (size_t)side * 3);
    gpu_session_free(&s);
    return rc;
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cpu";
    const struct pair_place *place = &pair_places[argc > 2 && !strcmp(argv[2], "market")];
    int is_paper = argc > 3 && !strcmp(argv[3], "paper"), rc;
    int side = argc > 4 ? atoi(argv[4]) : 1024;
    float voxel_m = argc > 5 ? (float)atof(argv[5]) * 1e-3f : 0.01f;
    int is_truth = !strcmp(device, "truth");
    float baseline_m = argc > (is_truth ? 3 : 6) ? (float)atof(argv[is_truth ? 3 : 6]) : 0;
    struct gpu_session_config c = {
        .line = &gpu_line_panorama,
        .net_w = side,
        .net_h = side,
        .max_image_w = side,
        .max_image_h = side,
        .step_m = voxel_m / 16,
        .max_points = 1u << 20,
        .colour_levels = 6,
        .field_rad = baseline_m > 0 ? LENS_PI : FIELD_RAD,
        .baseline_m = baseline_m,
        .consistency = is_paper ? GPU_CONSISTENCY_PAPER : GPU_CONSISTENCY_PATCH,
        .volume = {.up = 2, .voxel_m = voxel_m, .min_m = {-REACH_M, -REACH_M, LOW_M}}};
    const struct gpu_config config = {.device = device, .batch = 1, .threads = 2};
    struct err err = {0};
    struct gpu *g;

    list_pairs(baseline_m);
    if (is_truth) {
        write_truth(place);
        return 0;
    }
    if (is_paper) /* its floor would hide everything */
        c.volume.min_m[2] = 0.02f;
    c.volume.n[0] = c.volume.n[1] = (int)(2 * REACH_M / voxel_m + .5f);
    c.volume.n[2] = (int)((HIGH_M - c.volume.min_m[2]) / voxel_m + .5f);
    told =
        calloc((size_t)c.volume.n[0] * (size_t)c.volume.n[1] * (size_t)c.volume.n[2], sizeof *told);
    rc = told ? gpu_open(&g, &config, &err) : -1;
    if (rc == 0) {
        rc = run(g, place, &c, side, &err);
        gpu_close(&g);
    }
    if (rc)
        fprintf(stderr, "bench_gpu_place: %s\n", err.text);
    free(told);
    return rc != 0;
}
