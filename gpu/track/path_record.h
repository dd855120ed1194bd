/*
 * path_record.h - a session's tracks and path between two frames, as bytes on disk
 *
 * Arrays go beside it: slots, the last pyramid and landmarks. Earlier observations of tracks
 * (track.seen) are not kept: no pose follows from them.
 */
#pragma once

#include "gpu/track/path.h"

#ifdef __cplusplus
extern "C" {
#endif

/* It has no padding, and is written and read as it lies. */
struct path_record {
    struct path_pose T;
    double bias;
    struct path_turn since;
    struct path_keyframe keyframe[PATH_KEPT];
    uint32_t order[PATH_KEPT];
    uint32_t path_frames, n_kept;
    uint32_t track_frames, next_id, n_live, n_new;
    float shift_x, shift_y;
};

#define PATH_RECORD_VERSION 2
/* Version 1 has no turns (`since`, keyframes'): they become unknown. */
size_t path_record_bytes(unsigned version);
struct path_record path_record_get(const uint8_t *from, unsigned version);

struct path_record path_record_of(const struct track *t, const struct path *p);
void path_record_to(struct track *t, struct path *p, const struct path_record *r);
/* The last frame's pyramid, which the next frame reads. */
uint8_t *path_record_pyramid(const struct track *t);

/* Are they valid for a session of `like`'s shape? Arrays may lie at any address. */
int path_record_valid(const struct path_record *r, const struct track *like, const uint8_t *slots,
                      const uint8_t *landmarks);

#ifdef __cplusplus
}
#endif
