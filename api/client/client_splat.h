/*
 * client_splat.h - draw a coloured point cloud into a picture: discs with a z-buffer, shaded by
 * depth
 *
 * A point becomes a disc whose radius falls with its depth. Surfaces without normals read well by
 * eye-dome lighting (Boucheny 2009): a pixel is darkened by how far it lies behind its neighbours,
 *
 *     shade = exp(-s / 8 * sum over 8 neighbours of max(0, log2 z - log2 z_neighbour))
 *
 * and gaps between discs are closed from neighbours of like depth. Everything is drawn at twice
 * the size and averaged down.
 *
 * Frames:  camera axes OpenCV (x right, y down, z forward)
 * Units:   metres, pixels, radians
 */
#ifndef RECOND_API_CLIENT_SPLAT_H
#define RECOND_API_CLIENT_SPLAT_H

#include "proto/err.h"
#include "proto/types.h"

#define CLIENT_SPLAT_SIDE_MAX 8192

struct client_splat_view {
    struct rigid T_cw;
    struct intrinsics K;
    int w, h;
    float disc_m; /* diameter of a point */
};

/*
 * client_splat_orbit - a camera that looks at the middle of a cloud
 *
 * In:      xyz [n][3]; R_wc0 [9]: orientation at yaw = pitch = 0, camera-to-world
 *          yaw turns around the camera's own up axis, pitch > 0 looks from above; zoom 1
 *          shows nine points of ten
 * Out:     *view but disc_m
 */
void client_splat_orbit(struct client_splat_view *view, const float *xyz, size_t n,
                        const float *R_wc0, float yaw, float pitch, float zoom, int w, int h);

/* A disc diameter that closes most gaps: from the median depth and how many points fall into the
 * view. */
float client_splat_disc(const struct client_splat_view *view, const float *xyz, size_t n);

/* Median depth of the points that fall into the view; 1 if none does. */
float client_splat_depth(const struct client_splat_view *view, const float *xyz, size_t n);

/*
 * client_splat_draw - the picture
 *
 * In:      xyz [n][3], rgb [n][3]
 * Out:     picture [h][w][3]
 * Returns: 0; ERR_INPUT: size out of 1...CLIENT_SPLAT_SIDE_MAX; ERR_MEMORY
 */
MUST_CHECK int client_splat_draw(uint8_t *picture, const struct client_splat_view *view,
                                 const float *xyz, const uint8_t *rgb, size_t n, struct err *err);

/* Colours a depth map: near is warm, far is cool, 0 is grey. The range of the logarithmic scale is
 * in metres. */
void client_splat_depth_colours(uint8_t *rgb, const uint16_t *depth_mm, size_t n, float near_m,
                                float far_m);

#endif
