/*
 * reconctl_render.h - what the files of `reconctl render` share
 */
#ifndef RECOND_API_RECONCTL_RENDER_H
#define RECOND_API_RECONCTL_RENDER_H

#include "api/client/client_splat.h"
#include "api/ctl/reconctl_args.h"

/*
 * reconctl_render_orient - how the camera is turned before yaw and pitch
 *
 * In:      asked: --up or NULL; said: the axis that the file names, or ""; path: TUM file or NULL.
 *          Up is what was asked, else what the file says, else the mean of the path's cameras, else
 *          y. The camera looks where the path's cameras looked on average
 * Out:     R_wc: camera to world, level
 * Returns: 0; ERR_INPUT; ERR_NOT_FOUND
 */
MUST_CHECK int reconctl_render_orient(float R_wc[9], const char *asked, const char *said,
                                      const char *path, struct err *err);

/* The same for one camera and its direction, level. */
MUST_CHECK int reconctl_render_level(float R_wc[9], const char *up, const struct rigid *T_wc,
                                     struct err *err);

/*
 * reconctl_slice_draw - what lies at one height, seen from above without perspective
 *
 * In:      R_wc, of reconctl_render_orient(): where the camera looks is above. Heights count along
 *          up from the world's origin. Each point is a square as wide as the slice is thick; the
 *          picture has room for the whole cloud, so slices of one cloud have one scale
 * Out:     rgb [h][w][3], white where nothing lies
 * Returns: 0; ERR_INPUT: nothing lies there
 */
struct reconctl_slice {
    /* height of its middle; the slice reaches from half of its thickness below to half above */
    double height_m, thick_m;
};
MUST_CHECK int reconctl_slice_draw(uint8_t *rgb, int w, int h, const struct client_splat_cloud *c,
                                   const float R_wc[9], const struct reconctl_slice *slice,
                                   struct err *err);

/* A film, written by ffmpeg: MP4 or GIF by the ending of the file's name. */
struct reconctl_film;
MUST_CHECK int reconctl_film_open(struct reconctl_film **film, const char *path, int w, int h,
                                  struct err *err);
/* Adds a picture [h][w][3]. */
MUST_CHECK int reconctl_film_add(struct reconctl_film *film, const uint8_t *rgb, struct err *err);
/* Waits until the file is whole. A film that ffmpeg did not finish is removed. */
MUST_CHECK int reconctl_film_close(struct reconctl_film **film, struct err *err);

#endif
