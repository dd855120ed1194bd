/*
 * image_cpu.c - picture to network size, by rows: a box is summed over its rows, then over its
 * columns; mapped pictures are computed pixel by pixel
 */
#include "gpu/mono/session_cpu.h"

#include "gpu/mono/image_point.h"

/* Adds the weighted rows of box y of the picture to row [w*3]. */
static void sum_rows(uint32_t *row, const uint8_t *rgb, int w, int h, int y, int out_h)
{
    size_t n = (size_t)w * 3;
    memset(row, 0, n * sizeof *row);
    for (int i = image_first(y, out_h, h); i < image_end(y, out_h, h); i++) {
        const uint8_t *src = rgb + (size_t)i * n;
        uint32_t weight = image_overlap(y, i, out_h, h);
        for (size_t j = 0; j < n; j++)
            row[j] += weight * src[j];
    }
}

static void put_planes(float *planes, const struct session_cpu *s, size_t at, const uint64_t sum[3],
                       uint64_t area, const struct gpu_model_info *info)
{
    for (int ch = 0; ch < 3; ch++)
        planes[(size_t)ch * s->n_pixels + at] =
            image_normalise(sum[ch], area, info->mean[ch], info->std[ch]);
}

/* Computes pixel x from the row that sum_rows() added. */
static void sum_columns(uint64_t sum[3], const struct session_cpu *s, int w, int x)
{
    sum[0] = sum[1] = sum[2] = 0;
    for (int j = image_first(x, s->w, w); j < image_end(x, s->w, w); j++) {
        uint64_t weight = image_overlap(x, j, s->w, w);
        for (int ch = 0; ch < 3; ch++)
            sum[ch] += weight * s->row[(size_t)j * 3 + ch];
    }
}

static void resize_row(struct session_cpu *s, const struct gpu_frame *f, int y)
{
    const struct gpu_model *depth = s->base.config.depth, *motion = s->base.config.motion;
    uint64_t area = (uint64_t)f->width * (uint64_t)f->height, sum[3];
    for (int x = 0; x < s->w; x++) {
        size_t at = (size_t)y * s->w + x;
        if (!s->map.mapped)
            sum_columns(sum, s, f->width, x);
        else
            image_sample(sum, &area, &s->map, f->rgb, x, y);
        for (int ch = 0; ch < 3; ch++)
            s->rgb[at * 3 + ch] = image_round(sum[ch], area);
        s->level[at] = image_level(sum, area);
        if (depth)
            put_planes(s->planes, s, image_turned(x, y, s->w, s->h, f->item.turn), sum, area,
                       &depth->info);
        if (motion)
            put_planes(s->pair + 3 * (size_t)s->n_pixels, s, at, sum, area, &motion->info);
    }
}

int image_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    const struct gpu_frame *f = gpu_frame_of(item);

    (void)err;
    s->map = lens_map_make(&f->lens, f->K, f->width, f->height, s->w, s->h);
    for (int y = 0; y < s->h; y++) {
        if (!s->map.mapped)
            sum_rows(s->row, f->rgb, f->width, f->height, y, s->h);
        resize_row(s, f, y);
    }
    s->camera.K = s->map.K;
    return 0;
}
