/*
 * raster_cpu.cpp - the renderer as plain loops (the specification of raster_cuda.cu)
 * Views are independent, so OpenMP shares them out; inside a view everything is serial.
 * The work memory holds struct work_count twice, of the shadow maps and of the pictures: what was
 * done.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define HD static inline
#include "raster_shade.h"

struct work_count {
    uint64_t pairs, clusters_tested, clusters, tris, drawn, rows, samples, kept;
};

/*
 * draw_row - keep the nearest in samples x0..x1 of a row of keys or of depths; returns how many
 * were nearer
 */
static int draw_row(const screen_tri *s, int ortho, int y, int x0, int x1, uint64_t id,
                    uint64_t *line, uint32_t *depth)
{
    int kept = 0;
    for (int x = x0; x <= x1; x++) {
        float z = screen_depth(s, ortho, x, y);
        if (z <= 0)
            continue;
        if (line && sample_key(z, id) < line[x]) {
            line[x] = sample_key(z, id);
            kept++;
        } else if (depth && float_bits(z) < depth[x]) {
            depth[x] = float_bits(z);
            kept++;
        }
    }
    return kept;
}

static void draw_triangle(const frame *f, const view *v, const pair *p, int t, int w, int h,
                          uint64_t *key, uint32_t *depth, work_count *n)
{
    v3 corner[3], q[2][3];
    tri_camera(f, p->m, p->tri0 + t, corner);
    int parts = clip_near(corner, q);
    n->tris++;
    for (int k = 0; k < parts; k++) {
        screen_tri s;
        if (!screen_setup(&s, v, q[k], w, h, p->facing))
            continue;
        n->drawn++;
        for (int y = s.y0; y <= s.y1; y++) {
            int x0, x1;
            n->rows++;
            if (!screen_row(&s, y, &x0, &x1))
                continue;
            n->samples += x1 - x0 + 1;
            n->kept += draw_row(&s, v->ortho, y, x0, x1, (uint64_t)p->inst << 16 | (uint64_t)t,
                                key ? key + (size_t)y * w : 0, depth ? depth + (size_t)y * w : 0);
        }
    }
}

static void visibility(const frame *f, int shadows, work_count *total)
{
    int n_view = shadows ? f->n_shadow : f->n_view, w = shadows ? f->sn : f->w,
        h = shadows ? f->sn : f->h;
#pragma omp parallel for schedule(dynamic)
    for (int vi = 0; vi < n_view; vi++) {
        const view *v = shadows ? &f->shadow[vi] : &f->view[vi];
        uint64_t *key = shadows ? 0 : f->key + (size_t)vi * w * h;
        uint32_t *depth = shadows ? f->shadow_key + (size_t)vi * w * h : 0;
        work_count n = {};
        memset(shadows ? (void *)depth : (void *)key, 0xff, (size_t)w * h * (shadows ? 4 : 8));
        for (int i = 0; i < f->scene[v->scene].n_inst; i++) {
            pair p;
            if (!pair_setup(&p, f, v, vi, i, shadows, w, h))
                continue;
            n.pairs++;
            for (int c = 0; c * CLUSTER < p.n_tri; c++) {
                n.clusters_tested++;
                if (p.n_tri > CLUSTER && !cluster_visible(f, v, &p, c, w, h))
                    continue;
                n.clusters++;
                for (int t = c * CLUSTER; t < p.n_tri && t < (c + 1) * CLUSTER; t++)
                    draw_triangle(f, v, &p, t, w, h, key, depth, &n);
            }
        }
        for (size_t k = 0; k < sizeof(n) / sizeof(uint64_t); k++)
#pragma omp atomic
            ((uint64_t *)total)[k] += ((uint64_t *)&n)[k];
    }
}

static void shade(const frame *f)
{
#pragma omp parallel for schedule(dynamic)
    for (int vi = 0; vi < f->n_view; vi++) {
        double s = 0;
        int w = f->w / f->ss, h = f->h / f->ss;
        for (int k = 0; k < w * h; k++)
            shade_pixel(f, vi, k % w, k / w);
        for (int k = 0; k < w * h; k++)
            s += mirror_pixel(f, vi, k % w, k / w);
        f->mean_lum[vi] = (float)(s / ((double)f->w * f->h));
    }
}

static void camera(const frame *f)
{
#pragma omp parallel for schedule(dynamic)
    for (int vi = 0; vi < f->n_view; vi++)
        for (int y = 0; y < f->h / f->ss; y++)
            for (int x = 0; x < f->w / f->ss; x++) {
                if (f->rgb)
                    resolve_pixel(f, vi, x, y);
                geometry_pixel(f, vi, x, y);
            }
}

/* work memory that raster_draw needs besides the pictures, in bytes */
extern "C" size_t raster_work_bytes(void)
{
    return 2 * sizeof(work_count);
}

/* raster_draw - n steps of a draw, in order, from enum PHASE_* first; returns 0 */
extern "C" int raster_draw(const frame *f, void *memory, void *, int first, int n)
{
    work_count *count = (work_count *)memory;
    for (int phase = first; phase < first + n; phase++) {
        if (phase == PHASE_CULL)
            memset(count, 0, 2 * sizeof(*count));
        else if (phase == PHASE_SHADOW)
            visibility(f, 1, &count[0]);
        else if (phase == PHASE_VISIBILITY)
            visibility(f, 0, &count[1]);
        else if (phase == PHASE_SHADE && f->rgb)
            shade(f);
        else if (phase == PHASE_CAMERA)
            camera(f);
    }
    return 0;
}
