/*
 * sensor_cpu.c - a frame's own depth sensor, moved into the network's picture; the network fills
 * the rest, or it has no depth; pixels of persons have no depth
 */
#include "gpu/mono/session_cpu.h"

#include "gpu/mono/sensor_point.h"

static void claim_box(struct session_cpu *s, const struct sensor_box *box, uint64_t key)
{
    for (int y = box->y0; y < box->y1; y++)
        for (int x = box->x0; x < box->x1; x++) {
            uint64_t *held = &s->sensor_claims[(size_t)y * (size_t)s->w + (size_t)x];
            if (key < *held)
                *held = key;
        }
}

/* (S1)-(S3) */
static void sensor_claim_pixel(struct session_cpu *s, const struct gpu_sensor *from)
{
    const struct sensor_camera c = {from->K, from->lens, from->T_cs,   s->camera.K,
                                    s->w,    s->h,       from->inverse};
    const struct fuse_params *p = &s->base.config.fuse;
    struct sensor_box box;
    float z, z_c;

    for (int y = 0; y < from->height; y++)
        for (int x = 0; x < from->width; x++) {
            size_t at = (size_t)y * (size_t)from->width + (size_t)x;
            z = sensor_metres(from->inverse, from->values[at]);
            if (z >= p->min_depth_m && z <= p->max_depth_m && (!from->sure || from->sure[at]) &&
                sensor_cover(&c, x, y, z, &box, &z_c))
                claim_box(s, &box, sensor_claim(z_c, (uint32_t)at));
        }
}

/* (S5) */
static float common_ratio(const struct session_cpu *s)
{
    uint32_t bins[SENSOR_BINS] = {0};

    for (uint32_t i = 0; i < s->n_pixels; i++) {
        int bin = s->sensor_claims[i] == POINT_UNCLAIMED
                      ? -1
                      : sensor_bin(sensor_claimed_m(s->sensor_claims[i]), s->depth[i]);
        if (bin >= 0)
            bins[bin]++;
    }
    return sensor_ratio(bins, &s->base.config.fuse);
}

static void sensor_take(struct session_cpu *s, const struct gpu_sensor *from)
{
    const struct fuse_params *p = &s->base.config.fuse;
    int both = s->base.config.depth_source == GPU_DEPTH_BOTH;
    float ratio = both ? common_ratio(s) : 0.0f;

    for (uint32_t i = 0; i < s->n_pixels; i++) {
        uint64_t key = s->sensor_claims[i];
        s->sensor_claims[i] = POINT_UNCLAIMED;
        if (key == POINT_UNCLAIMED) {
            s->depth[i] = both ? s->depth[i] * ratio : 0.0f;
            s->trust[i] = (uint8_t)p->mono.sensor_filled;
            continue;
        }
        s->depth[i] = sensor_claimed_m(key);
        s->trust[i] =
            (uint8_t)sensor_trust(s->depth[i], from->sure ? from->sure[(uint32_t)key] : 255, p);
    }
}

int sensor_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    const struct gpu_frame *f = gpu_frame_of(item);

    (void)err;
    if (s->sensor_claims) {
        if (f->sensor.values)
            sensor_claim_pixel(s, &f->sensor);
        sensor_take(s, &f->sensor);
    }
    depth_cpu_hide(s, f);
    return 0;
}
