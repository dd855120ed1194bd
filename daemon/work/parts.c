#include "daemon/work/parts.h"

#include "proto/array.h"
#include "proto/image/png.h"
#include "proto/wire/codec.h"
#include "proto/wire/depth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 64

struct parts {
    struct codec *codec;
    uint8_t *bytes; /* planes, rows or confidence as they were packed */
    uint16_t *values;
    size_t bytes_cap, values_cap;
};

int parts_new(struct parts **p, struct err *err)
{
    int rc;

    *p = calloc(1, sizeof **p);
    if (!*p)
        return err_set(err, ERR_MEMORY, "no memory for parts of frames");
    rc = codec_new(&(*p)->codec, err);
    if (rc)
        parts_free(p);
    return rc;
}

void parts_free(struct parts **p)
{
    if (!*p)
        return;
    codec_free(&(*p)->codec);
    free((*p)->bytes);
    free((*p)->values);
    free(*p);
    *p = NULL;
}

/* ------------------------------------------------------------------------- room */

static bool takes_sensor(const struct session_options *o)
{
    return o->kind == SESSION_MONO && o->depth_source > SESSION_DEPTH_SOURCE_NETWORK;
}

size_t parts_at(size_t picture_bytes)
{
    return (picture_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

size_t parts_bytes(const struct session_options *o, int net_w, int net_h)
{
    size_t mask = o->kind == SESSION_MONO ? (size_t)net_w * (size_t)net_h : 0;

    if (o->kind == SESSION_PANORAMA)
        return o->baseline_m > 0 ? 0 : (size_t)net_w * (size_t)net_h * 3;
    return (takes_sensor(o) ? (size_t)GPU_SENSOR_PIXELS * 3 : 0) + parts_at(mask);
}

/* ------------------------------------------------------------------------- plain bytes */

/* Unpacks n bytes of a part, raw or deflated. */
static int part_unpack(struct parts *p, const struct frame_part *part, size_t n,
                       const uint8_t **bytes, struct err *err)
{
    *bytes = part->data;
    if (part->codec == FRAME_RAW)
        return part->len == n ? 0 : err_set(err, ERR_INPUT, "%u bytes", (unsigned)part->len);
    if (array_grow(&p->bytes, &p->bytes_cap, n, 1))
        return err_set(err, ERR_MEMORY, "no memory for a part of %zu bytes", n);
    *bytes = p->bytes;
    return codec_unpack(p->codec, CODEC_DEFLATE, p->bytes, n, part->data, part->len, err);
}

static int unpack_depth(struct parts *p, const struct frame_part *part, struct err *err)
{
    size_t w = (size_t)part->width, n = w * (size_t)part->height;
    const uint8_t *planes;
    int rc;

    if (array_grow(&p->values, &p->values_cap, n, sizeof *p->values))
        return err_set(err, ERR_MEMORY, "no memory for depth of %zu pixels", n);
    if (part->codec == FRAME_PNG)
        return png_decode_gray(p->values, part->data, part->len, 16, part->width, part->height,
                               err);
    rc = part_unpack(p, part, 2 * n, &planes, err);
    if (rc == 0)
        depth_join_planes(p->values, planes, w, n);
    return rc;
}

static int unpack_sure(struct parts *p, const struct frame_part *part, const uint8_t **sure,
                       struct err *err)
{
    size_t n = (size_t)part->width * (size_t)part->height;

    if (part->codec != FRAME_PNG)
        return part_unpack(p, part, n, sure, err);
    if (array_grow(&p->bytes, &p->bytes_cap, n, 1))
        return err_set(err, ERR_MEMORY, "no memory for confidence of %zu pixels", n);
    *sure = p->bytes;
    return png_decode_gray(p->bytes, part->data, part->len, 8, part->width, part->height, err);
}

/* ------------------------------------------------------------------------- depth */

/* Returns n so that every n-th pixel, from the middle of the first n on, fits. */
static int thinning_step(int w, int h)
{
    int n = 1;

    while ((int64_t)((w + n - 1) / n) * ((h + n - 1) / n) > GPU_SENSOR_PIXELS)
        n++;
    return n;
}

/* Returns the place of a thinned row or column in the whole picture. */
static size_t thinned_place(int i, int n, int size)
{
    int at = i * n + n / 2;

    return (size_t)(at < size ? at : size - 1);
}

static void keep_depth(struct gpu_sensor *to, uint16_t *room, const uint16_t *from, int w, int h,
                       int n)
{
    for (int y = 0; y < to->height; y++)
        for (int x = 0; x < to->width; x++)
            room[(size_t)y * (size_t)to->width + (size_t)x] =
                from[thinned_place(y, n, h) * (size_t)w + thinned_place(x, n, w)];
    to->values = room;
}

static void keep_sure(struct gpu_sensor *to, uint8_t *room, const uint8_t *from, int w, int h,
                      int n)
{
    for (int y = 0; y < to->height; y++)
        for (int x = 0; x < to->width; x++)
            room[(size_t)y * (size_t)to->width + (size_t)x] =
                from[thinned_place(y, n, h) * (size_t)w + thinned_place(x, n, w)];
    to->sure = room;
}

/* Returns the intrinsics of the whole depth picture: declared, or those of the colour picture. */
static struct intrinsics depth_intrinsics(const struct queue_item *item,
                                          const struct frame_part *part)
{
    if (item->frame.rig.known)
        return item->frame.rig.K;
    return intrinsics_scale(item->K, item->width, item->height, part->width, part->height);
}

static int decode_depth(struct parts *p, struct queue_item *item, uint8_t *room,
                        const struct frame_part *part, struct err *err)
{
    int w = part->width, h = part->height, n = thinning_step(w, h), rc;
    struct gpu_sensor *to = &item->sensor;
    struct intrinsics K = depth_intrinsics(item, part);

    item->bad_part = FRAME_DEPTH;
    if (!(K.fx >= FRAME_FOCAL_MIN_PX * (float)n && K.fy >= FRAME_FOCAL_MIN_PX * (float)n))
        return err_set(err, ERR_INPUT, "depth of a focal length below a pixel");
    rc = unpack_depth(p, part, err);
    if (rc)
        return rc;
    to->width = (w + n - 1) / n;
    to->height = (h + n - 1) / n;
    to->inverse = part->unit == DEPTH_INVERSE;
    to->K =
        (struct intrinsics){K.fx / (float)n, K.fy / (float)n, (K.cx - (float)(n / 2)) / (float)n,
                            (K.cy - (float)(n / 2)) / (float)n};
    to->lens = item->frame.rig.known ? item->frame.rig.lens : item->frame.lens;
    to->T_cs = item->frame.rig.known ? item->frame.rig.T_cd : rigid_identity();
    keep_depth(to, (uint16_t *)(void *)room, p->values, w, h, n);
    item->bad_part = 0;
    return 0;
}

/* Returns the part that follows one of depth, if it is confidence. */
static int decode_sure(struct parts *p, struct queue_item *item, uint8_t *room,
                       const struct frame_part *depth, const struct frame_part *part,
                       struct err *err)
{
    const uint8_t *sure;
    int rc;

    item->bad_part = FRAME_CONFIDENCE;
    if (part->width != depth->width || part->height != depth->height)
        return err_set(err, ERR_INPUT, "confidence of %d x %d for depth of %d x %d", part->width,
                       part->height, depth->width, depth->height);
    rc = unpack_sure(p, part, &sure, err);
    if (rc)
        return rc;
    keep_sure(&item->sensor, room, sure, part->width, part->height,
              thinning_step(part->width, part->height));
    item->bad_part = 0;
    return 0;
}

static int decode_sensor(struct parts *p, struct queue_item *item, uint8_t *room,
                         const struct session_options *o, struct err *err)
{
    const struct frame *f = &item->frame;
    const struct frame_part *depth = frame_find(f, FRAME_DEPTH), *end = f->parts + f->n_parts;
    int rc;

    if (!depth) {
        item->bad_part = FRAME_DEPTH;
        return o->depth_source == SESSION_DEPTH_SOURCE_SENSOR
                   ? err_set(err, ERR_INPUT, "a frame without depth")
                   : 0;
    }
    rc = decode_depth(p, item, room, depth, err);
    if (rc == 0 && depth + 1 < end && depth[1].type == FRAME_CONFIDENCE)
        rc = decode_sure(p, item, room + 2 * (size_t)GPU_SENSOR_PIXELS, depth, depth + 1, err);
    return rc;
}

/* ------------------------------------------------------------------------- mask */

/* Is any pixel of a mask's row masked, x0 <= x < x1? */
struct box {
    int x0, y0, x1, y1;
};

/* The range of the mask's pixels that lie, at least partly, in pixel i of n. */
static int first_of(int i, int n, int size)
{
    return (int)((int64_t)i * size / n);
}

static int end_of(int i, int n, int size)
{
    return (int)(((int64_t)(i + 1) * size + n - 1) / n);
}

static struct box plain_box(int x, int y, int net_w, int net_h, int w, int h)
{
    return (struct box){first_of(x, net_w, w), first_of(y, net_h, h), end_of(x, net_w, w),
                        end_of(y, net_h, h)};
}

/* The same where the picture's camera is not the network's: all of the mask between the pixel's
 * four corners in the picture. */
static struct box mapped_box(const struct lens_map *m, int x, int y, int w, int h)
{
    float u0 = (float)m->w, u1 = 0, v0 = (float)m->h, v1 = 0;
    float by_x = (float)w / (float)m->w, by_y = (float)h / (float)m->h;
    struct box box;

    for (int i = 0; i < 4; i++) {
        float u, v;

        lens_map_at(m, (float)x + (i & 1 ? 0.5f : -0.5f), (float)y + (i & 2 ? 0.5f : -0.5f), &u,
                    &v);
        u0 = fminf(u0, u);
        u1 = fmaxf(u1, u);
        v0 = fminf(v0, v);
        v1 = fmaxf(v1, v);
    }
    box = (struct box){(int)((u0 + 0.5f) * by_x), (int)((v0 + 0.5f) * by_y),
                       (int)((u1 + 0.5f) * by_x) + 1, (int)((v1 + 0.5f) * by_y) + 1};
    box.x1 = box.x1 < w ? box.x1 : w;
    box.y1 = box.y1 < h ? box.y1 : h;
    return box;
}

static uint8_t any_in(const uint8_t *bits, size_t stride, const struct box *b)
{
    for (int y = b->y0; y < b->y1; y++)
        for (int x = b->x0; x < b->x1; x++)
            if (bits[(size_t)y * stride + (size_t)x / 8] >> (7 - x % 8) & 1)
                return 1;
    return 0;
}

static int decode_mask(struct parts *p, struct queue_item *item, uint8_t *room,
                       const struct frame_part *part, int net_w, int net_h, struct err *err)
{
    int w = part->width, h = part->height, rc;
    size_t stride = ((size_t)w + 7) / 8;
    struct lens_map map =
        lens_map_make(&item->frame.lens, item->K, item->width, item->height, net_w, net_h);
    const uint8_t *bits;

    item->bad_part = FRAME_MASK;
    rc = part_unpack(p, part, stride * (size_t)h, &bits, err);
    if (rc)
        return rc;
    for (int y = 0; y < net_h; y++)
        for (int x = 0; x < net_w; x++) {
            struct box box =
                map.mapped ? mapped_box(&map, x, y, w, h) : plain_box(x, y, net_w, net_h, w, h);

            room[(size_t)y * (size_t)net_w + (size_t)x] = any_in(bits, stride, &box);
        }
    item->mask = room;
    item->bad_part = 0;
    return 0;
}

int parts_decode(struct parts *p, struct queue_item *item, uint8_t *room,
                 const struct session_options *o, int net_w, int net_h, struct err *err)
{
    const struct frame_part *mask = frame_find(&item->frame, FRAME_MASK);
    int rc = 0;

    item->sensor = (struct gpu_sensor){0};
    item->mask = item->second = NULL;
    if (takes_sensor(o)) {
        rc = decode_sensor(p, item, room, o, err);
        room += (size_t)GPU_SENSOR_PIXELS * 3;
    }
    if (rc == 0 && mask && o->kind == SESSION_MONO)
        rc = decode_mask(p, item, room, mask, net_w, net_h, err);
    return rc;
}
