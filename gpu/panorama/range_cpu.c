/*
 * range_cpu.c - distances of the surfaces in a pair: both pictures on a cylinder, costs of labels,
 * their sums along four paths, the best labels (Y1)-(Y5)
 */
#include "gpu/panorama/panorama_cpu.h"

#include <string.h>

#define SUM_NONE 60000u /* the sum beside the first and the last label of a kind */

static void range_look_up(struct panorama_cpu *s)
{
    const struct voxel_cylinder *c = &s->view.cylinder;

    for (int e = 0; e < 2; e++) {
#pragma omp parallel for schedule(static)
        for (int v = 0; v < c->h; v++)
            for (int u = 0; u < c->w; u++)
                s->look[e][(size_t)v * (size_t)c->w + (size_t)u] = range_look(&s->view, e, u, v);
    }
}

static void cost(struct panorama_cpu *s)
{
    const struct voxel_cylinder *c = &s->view.cylinder;

#pragma omp parallel for schedule(dynamic, 4)
    for (int v = 0; v < c->h; v++)
        for (int u = 0; u < c->w; u++) {
            uint8_t *to = s->costs + ((size_t)v * (size_t)c->w + (size_t)u) * (size_t)c->stride;

            for (int k = 0; k < c->n_labels; k++)
                to[k] = (uint8_t)range_cost_of(c, s->look[0], s->look[1], u, v, k);
        }
}

/* Goes one pixel further: sums of n labels of one kind, with a place without a sum on either side.
 * Returns the least. */
static uint32_t range_step_row(uint16_t *to, const uint16_t *from, const uint8_t *costs, int n,
                               uint32_t least, uint32_t edge, uint32_t flat)
{
    uint32_t best = SUM_NONE;

    for (int k = 0; k < n; k++) {
        uint32_t sum = range_step(from[k], from[k - 1], from[k + 1], least, edge, flat, costs[k]);

        to[k] = (uint16_t)sum;
        best = sum < best ? sum : best;
    }
    return best;
}

static void range_add(uint16_t *sums, const uint16_t *more, int n)
{
    for (int k = 0; k < n; k++)
        sums[k] = (uint16_t)(sums[k] + more[k]);
}

/* (Y4) Walks a line of a path. In a row of sums standing labels begin at 1, level ones behind a
 * gap. */
static void range_walk(struct panorama_cpu *s, int path, int line)
{
    const struct voxel_cylinder *c = &s->view.cylinder;
    int ns = c->n_stand, nl = c->n_labels - ns, lead = range_lead(c, path);
    uint16_t sums[2][RANGE_LABELS_MAX + 3];
    uint32_t least = 0, before = 0;

    for (size_t i = 0; i < 2 * (RANGE_LABELS_MAX + 3); i++)
        sums[i / (RANGE_LABELS_MAX + 3)][i % (RANGE_LABELS_MAX + 3)] = SUM_NONE;
    for (int i = -lead; i < range_steps(c, path); i++) {
        size_t pixel = range_at(c, path, line, i);
        const uint8_t *costs = s->costs + pixel * (size_t)c->stride;
        uint16_t *to = sums[i & 1], *from = sums[~i & 1],
                 *all = s->sums + pixel * (size_t)c->stride;
        uint32_t here = s->look[0][pixel], edge = range_edge(here, before), a, b;
        uint32_t flat = range_flat(c, s->look[0], pixel);

        if (i == -lead) {
            memset(from + 1, 0, (size_t)ns * sizeof *from);
            memset(from + 2 + ns, 0, (size_t)nl * sizeof *from);
        }
        a = range_step_row(to + 1, from + 1, costs, ns, least, edge, flat);
        b = range_step_row(to + 2 + ns, from + 2 + ns, costs + ns, nl, least, edge, flat);
        least = a < b ? a : b;
        before = here;
        if (i >= 0) {
            range_add(all, to + 1, ns);
            range_add(all + ns, to + 2 + ns, nl);
        }
    }
}

/* Finds the best label of a pixel, and how much more the best label beyond two rows costs. */
static int best_of(const struct voxel_cylinder *c, const uint16_t *sums, int v, uint32_t *sure)
{
    int best = 0, at;
    uint32_t next = SUM_NONE;

    for (int k = 1; k < c->n_labels; k++)
        if (sums[k] < sums[best])
            best = k;
    at = range_disparity4(c, v, best);
    for (int k = 0; k < c->n_labels; k++) {
        int off = range_disparity4(c, v, k) - at;

        if ((off > RANGE_OTHER || off < -RANGE_OTHER) && sums[k] < next)
            next = sums[k];
    }
    *sure = next - sums[best];
    return best;
}

/* (Y5) Keeps the pixels of a column that the second camera also sees, as nothing is before them. */
static void range_pick(struct panorama_cpu *s, int u)
{
    const struct voxel_cylinder *c = &s->view.cylinder;
    size_t w = (size_t)c->w;

    for (int v = 0; v < c->h; v++)
        s->front[(size_t)v * w + (size_t)u] = 0;
    for (int v = 0; v < c->h; v++) {
        size_t pixel = (size_t)v * w + (size_t)u;
        const uint16_t *sums = s->sums + pixel * (size_t)c->stride;
        struct range_pixel *p = &s->range[pixel];
        int best = best_of(c, sums, v, &p->sure), at = range_disparity4(c, v, best);
        int row = range_row(v, at);

        p->sure = range_sure(c, s->look[0], pixel, p->sure);
        p->place = s->look[0][pixel] & RANGE_SHOWN ? range_place(c, sums, best) : 0;
        s->at4[pixel] = (uint16_t)at;
        if (p->place != 0.0f && row >= 0) {
            uint32_t *front = &s->front[(size_t)row * w + (size_t)u];

            *front = *front > (uint32_t)at ? *front : (uint32_t)at;
        }
    }
    for (int v = 0; v < c->h; v++) {
        size_t pixel = (size_t)v * w + (size_t)u;
        int at = s->at4[pixel], row = range_row(v, at);

        if (row < 0 || s->front[(size_t)row * w + (size_t)u] > (uint32_t)(at + RANGE_HIDDEN))
            s->range[pixel].place = 0;
    }
}

int range_cpu_run(struct gpu_item *item, struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(item->session);
    const struct voxel_cylinder *c = &s->view.cylinder;

    (void)err;
    if (!s->view.patch || s->view.paired != GPU_PAIRED_LAID)
        return 0;
    range_look_up(s);
    cost(s);
    memset(s->sums, 0, range_pixels(c) * (size_t)c->stride * sizeof *s->sums);
    for (int path = 0; path < RANGE_PATHS; path++) {
#pragma omp parallel for schedule(dynamic, 8)
        for (int line = 0; line < range_lines(c, path); line++)
            range_walk(s, path, line);
    }
#pragma omp parallel for schedule(dynamic, 8)
    for (int u = 0; u < c->w; u++)
        range_pick(s, u);
    return 0;
}
