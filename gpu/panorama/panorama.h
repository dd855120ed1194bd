/*
 * panorama.h - the common part of both back ends' panorama sessions: the check of items, the
 * layout, the state as bytes (internal to gpu/ and its tests)
 *
 * Memory:  4 bytes and two bits a voxel, 4 bytes a column, 4 bytes a pixel of both pictures, 8
 *          bytes a change; max_points of these, all allocated when the session is made. The two
 *          bits are words of 32 voxels of a column: `dirty`, the voxel's state differs from the
 *          published one; `told`, it was published as opaque. Consistency `patch` has 4 bytes a
 *          voxel more (the field, blend_point.h), and for the largest picture's cylinder 3 bytes a
 *          label and 26 a pixel.
 * Kept:    a session with baseline_m pairs a picture with an earlier one: one of its two places has
 *          the kept picture, the next picture goes to the other, and a change of `at` makes it the
 *          kept one.
 * State:   section GVOX: head of PANORAMA_HEAD_BYTES, then voxels, dirty, told, as they lie; then
 *          the field, of `patch`. Section GPIC, if a picture is kept: head of PANORAMA_KEPT_BYTES,
 *          then its pixels.
 */
#pragma once

#include "gpu/base/ops.h"
#include "gpu/panorama/voxel_point.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PANORAMA_HEAD_BYTES 64
#define PANORAMA_KEPT_BYTES 112
/* Limits of the distance between the cameras of a pair that measures distances. */
#define PANORAMA_APART_LEAST_M 0.01f
#define PANORAMA_APART_MOST_M 100.0f
/* The largest distance between a picture and the kept one, in baseline_m. */
#define PANORAMA_APART_BASELINES 4.0f
#define PANORAMA_TAG SECTION_TAG('G', 'V', 'O', 'X')
#define PANORAMA_VERSION 1
#define PANORAMA_KEPT_TAG SECTION_TAG('G', 'P', 'I', 'C')
#define PANORAMA_KEPT_VERSION 1

/* The picture that the next one may make a pair with. A session without baseline_m keeps none, and
 * its `at` stays 1. */
struct panorama_kept {
    int there;
    int at; /* its index among the session's two pictures: eye[1] of a view; eye[0] is the other */
    struct gpu_pair_eye eye; /* without rgb */
};

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

/* Sets w, h, labels and px of the cylinder of a session of `patch`, and the rest to 0. */
void panorama_cylinder_size(struct voxel_cylinder *y, const struct gpu_session_config *c);

/* How many of its pictures are used (O10): 2 of a pair; with baseline_m 1 or 0. */
int panorama_pictures(const struct panorama_kept *kept, const struct gpu_pair *pair);
/* Sets the view from the item's pictures and poses, or its own and the kept one; the caller sets
 * eye[].rgb.
 */
void panorama_view(struct voxel_view *view, const struct panorama_kept *kept,
                   const struct gpu_pair *pair);
/* Called after the item: result.paired tells whether its picture is now the kept one. */
void panorama_keep(struct panorama_kept *kept, const struct gpu_pair *pair);
/* Does the picture fit this session, and is its camera in the volume? Returns 0; ERR_INPUT. */
MUST_CHECK int panorama_check_eye(const struct gpu_session_config *c, const struct gpu_pair_eye *e,
                                  struct err *err);

size_t panorama_state_bytes(const struct gpu_session_config *c, const struct panorama_kept *kept);
/* The places where the parts of a state are written; field and picture may be NULL. */
struct panorama_body {
    uint8_t *voxels, *dirty, *told, *field, *picture;
};
/* The same for bytes that are read. */
struct panorama_bytes {
    const uint8_t *voxels, *dirty, *told, *field, *picture;
};

static inline size_t panorama_kept_bytes(const struct panorama_kept *kept)
{
    return 4 * (size_t)kept->eye.width * (size_t)kept->eye.height;
}

/* Opens the sections in buf [cap]. */
MUST_CHECK int panorama_state_open(uint8_t *buf, size_t cap, const struct gpu_session_config *c,
                                   const struct panorama_kept *kept, struct panorama_body *to,
                                   size_t *len, struct err *err);
/* The same in untrusted bytes: finds the sections and the kept picture. */
MUST_CHECK int panorama_state_find(const uint8_t *buf, size_t len,
                                   const struct gpu_session_config *c, struct panorama_kept *kept,
                                   struct panorama_bytes *from, struct err *err);
unsigned panorama_state_reads(uint32_t tag);

#ifdef __cplusplus
}
#endif
