/*
 * raster_cpu.cpp - the renderer as plain loops (the specification of raster_cuda.cu)
 * Views are independent, so OpenMP shares them out; inside a view everything is serial.
 */
#include <stddef.h>
#include <stdint.h>
#define HD static inline
static inline void key_min(uint64_t *at, uint64_t key) { if (key < *at) *at = key; }
#include "raster_point.h"

static void visibility(const frame *f, int shadows)
{
    int n_view = shadows ? f->n_shadow : f->n_view, w = shadows ? f->sn : f->w, h = shadows ? f->sn : f->h;
#pragma omp parallel for schedule(dynamic)
    for (int vi = 0; vi < n_view; vi++) {
        const view *v = shadows ? &f->shadow[vi] : &f->view[vi];
        const scene *sc = &f->scene[v->scene];
        uint64_t *img = (shadows ? f->shadow_key : f->key) + (size_t)vi * w * h;
        for (size_t i = 0; i < (size_t)w * h; i++)
            img[i] = EMPTY_KEY;
        for (int i = 0; i < sc->n_inst; i++) {
            const inst *o = &f->inst[sc->inst0 + i];
            if ((o->flags & INST_HIDE) || (shadows && (o->flags & INST_NO_SHADOW)) || !instance_visible(f, v, o, w, h))
                continue;
            float m[12];
            camera_from_object(f, v, o, m);
            for (int t = 0; t < f->mesh[o->mesh].n_tri; t++) {
                v3 p[3], q[2][3];
                tri_camera(f, m, f->mesh[o->mesh].tri0 + t, p);
                int n = clip_near(p, q);
                for (int k = 0; k < n; k++) {
                    screen_tri s;
                    if (!screen_setup(&s, v, q[k], w, h))
                        continue;
                    for (int y = s.y0; y <= s.y1; y++) {
                        int x0, x1;
                        if (!screen_row(&s, y, &x0, &x1))
                            continue;
                        for (int x = x0; x <= x1; x++)
                            screen_sample(&s, v->ortho, x, y, (uint64_t)i << 16 | (uint64_t)t, img + (size_t)y * w);
                    }
                }
            }
        }
    }
}

extern "C" size_t raster_work_bytes(void) { return 256; }

extern "C" int raster_draw(const frame *f, void *, void *)
{
    visibility(f, 1);
    visibility(f, 0);
#pragma omp parallel for schedule(dynamic)
    for (int vi = 0; vi < f->n_view; vi++) {
        for (int y = 0; y < f->h; y++)
            for (int x = 0; x < f->w; x++)
                shade_sample(f, vi, x, y);
        double s = 0;
        for (int y = 0; y < f->h; y++)
            for (int x = 0; x < f->w; x++) {
                mirror_sample(f, vi, x, y);
                s += f->hdr2[4 * (((size_t)vi * f->h + y) * f->w + x) + 3];
            }
        ((float *)f->mean_lum)[vi] = (float)(s / ((double)f->w * f->h));
        for (int y = 0; y < f->h / f->ss; y++)
            for (int x = 0; x < f->w / f->ss; x++)
                resolve_pixel(f, vi, x, y);
    }
    return 0;
}
