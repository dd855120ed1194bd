/*
 * bench_gpu_panorama - what a pair of pictures costs that carves a volume of voxels
 *
 *     bench_gpu_panorama [cuda|cpu [VIEWS [SIZES [paper|patch]]]]
 *
 * The paper's room, drawn as a function (tests/support/pair_room.h), pairs of 1024 x 1024 along its
 * path. Of consistency `patch` range and blend take the place of carve. A row a
 * volume: the medians over the views behind the first of each pass and of all, how
 * many iterations views took, and what that is of the device's limits: every voxel is read once a
 * view (4 bytes) and at most written once and looked up at 8 pixels (4 bytes each), all of it over
 * the time of `carve`.
 */
#include "tests/support/pair_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIDE 1024
#define PASSES 5           /* pictures, range, carve, blend, publish */
#define CHANGES (1u << 20) /* that a view tells at once: the daemon's (pipeline_panorama.c) */

static const struct size {
    int n[3];
} sizes[] = {{{500, 500, 200}},
             {{250, 250, 250}},
             {{500, 500, 500}},
             {{750, 750, 750}},
             {{1000, 1000, 1000}}};

static uint8_t *pictures[PAIR_ROOM_VIEWS][2];

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static float median(float *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n ? values[n / 2] : 0;
}

static struct rigid above(struct rigid T, int e)
{
    T.t[2] += PAIR_ROOM_BASELINE_M * (float)e;
    return T;
}

static int draw(struct gpu *g, int views)
{
    struct intrinsics K;
    struct lens l = pair_room_lens(SIDE, &K);

    for (int i = 0; i < views; i++)
        for (int e = 0; e < 2; e++) {
            struct rigid T = above(pair_room_pose(i), e);

            pictures[i][e] = gpu_host_get(g, (size_t)SIDE * SIDE * 3);
            if (!pictures[i][e])
                return -1;
            pair_room_draw(pictures[i][e], SIDE, &l, K, &T);
        }
    return 0;
}

/* One view; returns its time by the clock, negative when it failed. */
static double look(struct gpu *g, struct gpu_session *s, int i, struct gpu_pair *pair)
{
    struct gpu_item *item = &pair->item;
    double since_us = now_us();
    struct err err = {0};

    memset(pair, 0, sizeof *pair);
    pair->item.session = s;
    for (int e = 0; e < 2; e++) {
        struct gpu_pair_eye *eye = &pair->eye[e];

        eye->rgb = pictures[i][e];
        eye->width = eye->height = SIDE;
        eye->lens = pair_room_lens(SIDE, &eye->K);
        eye->T_wc = above(pair_room_pose(i), e);
    }
    if (gpu_submit(g, &gpu_line_panorama, &item, 1, &err) || gpu_wait(g, &item, 1, &err)) {
        fprintf(stderr, "bench_gpu_panorama: %s\n", err.text);
        return -1;
    }
    return now_us() - since_us;
}

static void report(const struct size *size, const struct gpu_pair *last,
                   float us[][PAIR_ROOM_VIEWS], float first_us, int n, double iterations)
{
    double voxels = (double)size->n[0] * size->n[1] * size->n[2];
    float carve = median(us[2], n) + median(us[3], n);

    printf("%4dx%4dx%4d %9.1f", size->n[0], size->n[1], size->n[2], (double)first_us);
    for (int k = 0; k < PASSES + 2; k++)
        printf(" %9.1f", (double)median(us[k], n));
    printf(" %6.1f %9u %8.0f %8.0f\n", iterations / n, last->result.n_opaque,
           8e-3 * voxels / (double)carve, 8e-3 * voxels / (double)carve);
    printf("@ %dx%dx%d %.2f us\n", size->n[0], size->n[1], size->n[2],
           (double)median(us[PASSES], n));
    fflush(stdout);
}

static int run(struct gpu *g, const struct size *size, int views, enum gpu_consistency how)
{
    static float us[PASSES + 2][PAIR_ROOM_VIEWS];
    struct gpu_session_config c = {.line = &gpu_line_panorama,
                                   .net_w = SIDE,
                                   .net_h = SIDE,
                                   .max_image_w = SIDE,
                                   .max_image_h = SIDE,
                                   .step_m = 0.001f,
                                   .max_points = CHANGES,
                                   .consistency = how,
                                   .colour_levels = 5,
                                   .field_rad = 2.18f,
                                   .volume = {.up = 2}};
    float first_us = 0;
    double iterations = 0;
    struct gpu_session *s;
    struct gpu_pair pair;
    struct err err = {0};

    memcpy(c.volume.n, size->n, sizeof size->n);
    c.volume.voxel_m = 5.0f / (float)size->n[0];
    c.volume.min_m[0] = c.volume.min_m[1] = -2.5f;
    c.volume.min_m[2] = 0.02f;
    if (gpu_session_new(&s, g, &c, &err)) {
        fprintf(stderr, "bench_gpu_panorama: %s\n", err.text);
        return -1;
    }
    for (int i = 0; i < views; i++) {
        double by_clock = look(g, s, i, &pair);

        if (by_clock < 0)
            return -1;
        if (i == 0) {
            first_us = pair.item.device_us;
            continue;
        }
        iterations += pair.result.iterations;
        for (int k = 0; k < PASSES; k++)
            us[k][i - 1] = pair.item.passes[k].us;
        us[PASSES][i - 1] = pair.item.device_us;
        us[PASSES + 1][i - 1] = (float)by_clock;
    }
    report(size, &pair, us, first_us, views - 1, iterations);
    gpu_session_free(&s);
    return 0;
}

int main(int argc, char **argv)
{
    const struct gpu_config config = {.device = argc > 1 ? argv[1] : "cuda", .batch = 1};
    int views = argc > 2 ? atoi(argv[2]) : PAIR_ROOM_VIEWS, n = argc > 3 ? atoi(argv[3]) : 5;
    enum gpu_consistency how =
        argc > 4 && !strcmp(argv[4], "patch") ? GPU_CONSISTENCY_PATCH : GPU_CONSISTENCY_PAPER;
    struct gpu_info info;
    struct err err = {0};
    struct gpu *g;

    views = views < 2 ? 2 : views > PAIR_ROOM_VIEWS ? PAIR_ROOM_VIEWS : views;
    if (gpu_open(&g, &config, &err) || (gpu_get_info(g, &info), draw(g, views))) {
        fprintf(stderr, "bench_gpu_panorama: %s\n", err.text);
        return 1;
    }
    printf("%s, %s; us of a view, medians of views 2...%d\n", info.device, info.model, views);
    printf("voxels            first  pictures     range     carve     blend   publish       all  "
           "by clock  iter.    opaque   GB/s<=  Glook/s<=\n");
    for (int i = 0; i < n && i < (int)(sizeof sizes / sizeof *sizes); i++)
        if (run(g, &sizes[i], views, how))
            return 1;
    for (int i = 0; i < views; i++)
        for (int e = 0; e < 2; e++)
            gpu_host_put(g, pictures[i][e], (size_t)SIDE * SIDE * 3);
    gpu_close(&g);
    return 0;
}
