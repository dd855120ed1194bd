/*
 * panorama.h - what both back ends have of a panorama session in common: the check of what comes,
 * the layout of what it keeps, its state as bytes (internal to gpu/ and its tests)
 *
 * Memory:  4 bytes and two bits a voxel, 4 bytes a column, 4 bytes a pixel of both pictures, 8
 *          bytes a change; max_points of these, all of it set aside when the session is made. The
 *          two bits are words of 32 voxels of a column: `dirty`, its state is not the one that was
 *          published; `told`, it was published as opaque.
 *          Consistency `patch` has 4 bytes a voxel more (the field, blend_point.h), and for the
 *          largest picture's cylinder 3 bytes a label and 26 a pixel.
 * State:   section GVOX: head of PANORAMA_HEAD_BYTES, then voxels, dirty, told, as they lie; then
 *          the field, of `patch`.
 */
#ifndef RECOND_GPU_PANORAMA_H
#define RECOND_GPU_PANORAMA_H

#include "gpu/base/ops.h"
#include "gpu/panorama/voxel_point.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PANORAMA_HEAD_BYTES 64
/* Between the cameras of a pair whose distances are looked for. */
#define PANORAMA_APART_LEAST_M 0.01f
#define PANORAMA_APART_MOST_M 100.0f
#define PANORAMA_TAG SECTION_TAG('G', 'V', 'O', 'X')
#define PANORAMA_VERSION 1

static inline size_t panorama_columns(const struct gpu_session_config *c)
{
    return voxel_columns(&c->volume);
}

static inline size_t panorama_voxels(const struct gpu_session_config *c)
{
    return panorama_columns(c) * (size_t)c->volume.n[2];
}

/* Words of 32 voxels in a column. */
GPU_HD static inline int panorama_words(const struct gpu_volume *v)
{
    return (v->n[2] + 31) / 32;
}

static inline size_t panorama_all_words(const struct gpu_session_config *c)
{
    return panorama_columns(c) * (size_t)panorama_words(&c->volume);
}

/* Returns 0; ERR_INPUT with where = the option. */
MUST_CHECK int panorama_check_config(const struct gpu_session_config *c, struct err *err);
/* Returns 0; ERR_INPUT. */
MUST_CHECK int panorama_check(const struct gpu_item *item, struct err *err);

/* w, h, labels and px of the cylinder of a session of `patch`; the rest is 0. */
void panorama_cylinder_size(struct voxel_cylinder *y, const struct gpu_session_config *c);

/* The item's pictures and poses; eye[].rgb is the caller's to fill in. */
void panorama_view(struct voxel_view *view, const struct gpu_pair *pair);

size_t panorama_state_bytes(const struct gpu_session_config *c);
/* Where the parts of a state are written; field is NULL without one. */
struct panorama_body {
    uint8_t *voxels, *dirty, *told, *field;
};
/* The same of bytes that are read. */
struct panorama_bytes {
    const uint8_t *voxels, *dirty, *told, *field;
};

/* Opens the section in buf [cap]. */
MUST_CHECK int panorama_state_open(uint8_t *buf, size_t cap, const struct gpu_session_config *c,
                                   struct panorama_body *to, size_t *len, struct err *err);
/* The same in bytes that may be a stranger's: where they lie. */
MUST_CHECK int panorama_state_find(const uint8_t *buf, size_t len,
                                   const struct gpu_session_config *c, struct panorama_bytes *from,
                                   struct err *err);
unsigned panorama_state_reads(uint32_t tag);

#ifdef __cplusplus
}
#endif
#endif
