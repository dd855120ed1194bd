#include "proto/wire/depth.h"

#include "proto/array.h"
#include "proto/geom/pose.h"

#include <stdlib.h>

#define MM_PER_M 1000.0f
#define INVERSE_1_M 6553.5f /* value of one metre: the largest value is 0.1 m */
#define POSE_MAX_M 1.0e6f

uint16_t depth_quantise(enum depth_unit unit, float z_m)
{
    float v = unit == DEPTH_MILLIMETRES ? z_m * MM_PER_M : INVERSE_1_M / z_m;

    return z_m > 0 && v < 65535.5f ? (uint16_t)lrintf(v) : 0;
}

float depth_value_m(enum depth_unit unit, uint16_t value)
{
    if (value == 0)
        return 0;
    return unit == DEPTH_MILLIMETRES ? (float)value / MM_PER_M : INVERSE_1_M / (float)value;
}

void depth_encode(uint8_t *msg, const struct depth_map *d, const float *z, float min_m, float max_m)
{
    size_t n = (size_t)d->w * (size_t)d->h;
    struct bytes_writer w = bytes_writer(msg, DEPTH_HEADER_BYTES);
    uint8_t *low = msg + DEPTH_HEADER_BYTES, *high = low + n;
    uint16_t above = 0, left = 0;

    bytes_put_u8(&w, DEPTH_OP);
    bytes_put_u8(&w, DEPTH_VERSION);
    bytes_put_u8(&w, CODEC_RAW);
    bytes_put_u8(&w, (uint8_t)d->unit);
    bytes_put_u32(&w, DEPTH_HEADER_BYTES);
    bytes_put_u64(&w, d->seq);
    bytes_put_u16(&w, (uint16_t)d->w);
    bytes_put_u16(&w, (uint16_t)d->h);
    bytes_put_f32(&w, d->K.fx);
    bytes_put_f32(&w, d->K.fy);
    bytes_put_f32(&w, d->K.cx);
    bytes_put_f32(&w, d->K.cy);
    if (d->has_pose)
        pose_put(&w, &d->T_wc);
    else
        for (int i = 0; i < POSE_BYTES / 4; i++)
            bytes_put_f32(&w, 0);
    bytes_put_u32(&w, (uint32_t)(2 * n));
    for (size_t i = 0; i < n; i++) {
        bool first = i % (size_t)d->w == 0, in = z[i] >= min_m && z[i] <= max_m;
        uint16_t v = in ? depth_quantise(d->unit, z[i]) : 0;
        uint16_t step = (uint16_t)(v - (first ? above : left));

        low[i] = (uint8_t)step;
        high[i] = (uint8_t)(step >> 8);
        left = v;
        above = first ? v : above;
    }
}

void depth_split_planes(uint8_t *planes, const uint16_t *values, size_t w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t before = i % w ? values[i - 1] : i ? values[i - w] : 0;
        uint16_t step = (uint16_t)(values[i] - before);

        planes[i] = (uint8_t)step;
        planes[n + i] = (uint8_t)(step >> 8);
    }
}

/* ------------------------------------------------------------------------- decode */

void depth_join_planes(uint16_t *values, const uint8_t *planes, size_t w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t before = i % w ? values[i - 1] : i ? values[i - w] : 0;

        values[i] = (uint16_t)(before + (planes[i] | planes[n + i] << 8));
    }
}

struct depth_decoder {
    struct result_scratch *unpacker;
    uint16_t *values;
    size_t cap;
};

int depth_decoder_new(struct depth_decoder **d, struct err *err)
{
    int rc;

    *d = calloc(1, sizeof **d);
    if (!*d)
        return err_set(err, ERR_MEMORY, "no memory for depth maps");
    rc = result_scratch_new(&(*d)->unpacker, err);
    if (rc)
        depth_decoder_free(d);
    return rc;
}

void depth_decoder_free(struct depth_decoder **d)
{
    if (!*d)
        return;
    result_scratch_free(&(*d)->unpacker);
    free((*d)->values);
    free(*d);
    *d = NULL;
}

static int read_pose(struct bytes_reader *r, struct depth_map *map, struct err *err)
{
    struct bytes_reader q = *r;

    map->T_wc = rigid_identity();
    for (int i = 0; i < 4; i++)
        map->has_pose |= bytes_get_f32(&q) != 0;
    if (map->has_pose)
        return pose_get(r, &map->T_wc, POSE_MAX_M, err);
    (void)bytes_get_span(r, POSE_BYTES);
    return 0;
}

static int read_header(struct depth_map *map, const uint8_t *msg, struct err *err)
{
    struct bytes_reader r = bytes_reader(msg, DEPTH_HEADER_BYTES);
    int rc;

    (void)bytes_get_span(&r, 3);
    map->unit = (enum depth_unit)bytes_get_u8(&r);
    (void)bytes_get_u32(&r);
    map->seq = bytes_get_u64(&r);
    map->w = bytes_get_u16(&r);
    map->h = bytes_get_u16(&r);
    map->K.fx = bytes_get_f32(&r);
    map->K.fy = bytes_get_f32(&r);
    map->K.cx = bytes_get_f32(&r);
    map->K.cy = bytes_get_f32(&r);
    rc = read_pose(&r, map, err);
    if (rc)
        return rc;
    if (map->unit >= DEPTH_UNITS || map->w < 1 || map->h < 1 || map->w > DEPTH_SIDE_MAX ||
        map->h > DEPTH_SIDE_MAX)
        return err_set(err, ERR_INPUT, "a depth map of unit %d and %d x %d pixels", (int)map->unit,
                       map->w, map->h);
    if (!isfinite(map->K.fx) || !isfinite(map->K.fy) || !isfinite(map->K.cx) ||
        !isfinite(map->K.cy))
        return err_set(err, ERR_INPUT, "intrinsics of a depth map that are no numbers");
    return 0;
}

int depth_decode(struct depth_decoder *d, struct depth_map *map, const uint8_t *msg, size_t len,
                 struct err *err)
{
    static const struct result_kind kind = {DEPTH_OP, DEPTH_VERSION, DEPTH_HEADER_BYTES};
    const uint8_t *planes;
    size_t planes_len, n;
    int rc;

    *map = (struct depth_map){0};
    rc = len < DEPTH_HEADER_BYTES ? err_set(err, ERR_INPUT, "a depth map ends inside its header")
                                  : read_header(map, msg, err);
    if (rc)
        return rc;
    n = (size_t)map->w * (size_t)map->h;
    rc = result_unpack(d->unpacker, &kind, msg, len, 2 * n, &planes, &planes_len, err);
    if (rc)
        return rc;
    if (planes_len != 2 * n)
        return err_set(err, ERR_INPUT, "planes of %zu bytes for %zu pixels", planes_len, n);
    if (array_grow(&d->values, &d->cap, n, sizeof *d->values))
        return err_set(err, ERR_MEMORY, "no memory for a depth map of %zu pixels", n);
    depth_join_planes(d->values, planes, (size_t)map->w, n);
    map->values = d->values;
    return 0;
}
