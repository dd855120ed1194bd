/*
 * jpeg_planes.h - the planes of a JPEG as libjpeg-turbo decodes them, before it makes RGB of them
 */
#pragma once

#include "gpu/base/jpeg_point.h"

#include <stdlib.h>

#include <turbojpeg.h>

/* In:      data [len], 4:4:4, 4:2:2 or 4:2:0
 * Out:     *p, whose planes are memory of *room; free(*room)
 * Returns: 0, -1 */
static inline int jpeg_planes_read(struct jpeg_planes *p, uint8_t **room, const uint8_t *data,
                                   size_t len)
{
    int strides[JPEG_PLANES], subsampling, space;
    unsigned char *planes[JPEG_PLANES] = {0};
    tjhandle handle = tjInitDecompress();
    size_t bytes = 0, at = 0;
    int rc = tjDecompressHeader3(handle, data, len, &p->width, &p->height, &subsampling, &space);

    *room = NULL;
    p->halved_x = subsampling != TJSAMP_444;
    p->halved_y = subsampling == TJSAMP_420;
    for (int i = 0; i < JPEG_PLANES && rc == 0; i++) {
        strides[i] = tjPlaneWidth(i, p->width, subsampling);
        p->pitch[i] = (size_t)strides[i];
        bytes += p->pitch[i] * (size_t)tjPlaneHeight(i, p->height, subsampling);
    }
    if (rc == 0)
        *room = (uint8_t *)malloc(bytes);
    rc = rc == 0 && *room ? 0 : -1;
    for (int i = 0; i < JPEG_PLANES && rc == 0; i++) {
        p->plane[i] = planes[i] = *room + at;
        at += p->pitch[i] * (size_t)tjPlaneHeight(i, p->height, subsampling);
    }
    if (rc == 0)
        rc = tjDecompressToYUVPlanes(handle, data, len, planes, 0, strides, 0, TJFLAG_ACCURATEDCT);
    tjDestroy(handle);
    return rc;
}
