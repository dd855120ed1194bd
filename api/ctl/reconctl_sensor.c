#include "api/ctl/reconctl_sensor.h"

#include "proto/array.h"
#include "proto/wire/depth.h"

#include <stdlib.h>

struct reconctl_sensor {
    struct codec *codec;
    uint16_t *values;
    uint8_t *planes, *packed;
    size_t values_cap, planes_cap, packed_cap;
};

int reconctl_sensor_new(struct reconctl_sensor **s, struct err *err)
{
    int rc;

    *s = calloc(1, sizeof **s);
    if (!*s)
        return err_set(err, ERR_MEMORY, "no memory for depth");
    rc = codec_new(&(*s)->codec, err);
    if (rc)
        reconctl_sensor_free(s);
    return rc;
}

void reconctl_sensor_free(struct reconctl_sensor **s)
{
    if (!*s)
        return;
    codec_free(&(*s)->codec);
    free((*s)->values);
    free((*s)->planes);
    free((*s)->packed);
    free(*s);
    *s = NULL;
}

int reconctl_sensor_add(struct reconctl_sensor *s, struct frame *f, const float *depth, int w,
                        int h, struct err *err)
{
    size_t n = (size_t)w * (size_t)h, len = 0, bound = codec_bound(CODEC_DEFLATE, 2 * n, 2);
    const size_t halves[2] = {n, n};
    int rc;

    if (n > FRAME_MAP_PIXELS || f->n_parts == FRAME_PARTS_MAX - 1)
        return err_set(err, ERR_LIMIT, "depth of %d x %d pixels, at most %u", w, h,
                       FRAME_MAP_PIXELS);
    if (array_grow(&s->values, &s->values_cap, n, sizeof *s->values) ||
        array_grow(&s->planes, &s->planes_cap, 2 * n, 1) ||
        array_grow(&s->packed, &s->packed_cap, bound, 1))
        return err_set(err, ERR_MEMORY, "no memory for depth of %d x %d", w, h);
    for (size_t i = 0; i < n; i++)
        s->values[i] = depth_quantise(DEPTH_MILLIMETRES, depth[i]);
    depth_split_planes(s->planes, s->values, (size_t)w, n);
    rc = codec_pack(s->codec, CODEC_DEFLATE, s->packed, bound, &len, s->planes, halves, 2, err);
    if (rc == 0)
        f->parts[f->n_parts++] = (struct frame_part){.type = FRAME_DEPTH,
                                                     .codec = FRAME_DEFLATE,
                                                     .width = w,
                                                     .height = h,
                                                     .unit = DEPTH_MILLIMETRES,
                                                     .data = s->packed,
                                                     .len = (uint32_t)len};
    return rc;
}
