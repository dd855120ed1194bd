/*
 * client_splat.h - draw a point cloud into a picture: discs with a z-buffer, shaded by depth
 *
 * A point becomes a disc as wide as the gaps around it, whose radius falls with its depth. Surfaces
 * read well by eye-dome lighting (Boucheny 2009): a pixel is darkened by how far it lies behind its
 * neighbours,
 *
 *     shade = exp(-s / 8 * sum over 8 neighbours of max(0, log2 z - log2 z_neighbour))
 *
 * A cloud without colours is lit besides, by a lamp at the camera's shoulder; normals come from the
 * z-buffer. Gaps between discs are closed from neighbours of like depth. Everything is drawn at
 * twice the size and averaged down.
 *
 * Frames:  camera axes OpenCV (x right, y down, z forward)
 * Units:   metres, pixels, radians
 */
#ifndef RECOND_API_CLIENT_SPLAT_H
#define RECOND_API_CLIENT_SPLAT_H

#include "proto/err.h"
#include "proto/types.h"

#define CLIENT_SPLAT_SIDE_MAX 8192

struct client_splat_cloud {
    size_t n;
    const float *xyz;    /* [n][3]; points that are not finite are not drawn */
    const uint8_t *rgb;  /* [n][3]; NULL = grey and lit */
    const float *disc_m; /* [n] diameters; NULL = those of client_splat_discs(), made each time */
};

struct client_splat_view {
    struct rigid T_cw;
    struct intrinsics K;
    int w, h;
    float disc_m; /* > 0: diameter of every point, in place of the cloud's */
    float *depth; /* [h][w] gets the z of the nearest point, 0 = nothing; or NULL */
    /* Progress callback, 0 ... 1; or NULL. */
    void (*progress)(void *ctx, double done);
    void *ctx;
};

/* A camera that orbits a point; with yaw = pitch = 0 it stands behind it with the orientation
 * R_wc. */
struct client_splat_orbit {
    float R_wc[9]; /* camera to world */
    float pitch;   /* > 0: the camera looks down */
    int w, h;
    /* set by the functions below */
    struct vec3 middle; /* point that the camera looks at */
    float distance;
};

/*
 * client_splat_frame - choose middle and distance so that the cloud fills the picture
 *
 * In/out:  o
 * In:      n_yaws = 1: the picture at yaws[0] is filled. More: the middle stays where it is, and
 *          the cloud fits the picture at all of them
 */
void client_splat_frame(struct client_splat_orbit *o, const struct client_splat_cloud *cloud,
                        const float *yaws, int n_yaws);

/*
 * client_splat_crop - leave out what lies far off: sky, what is seen through a window
 *
 * In/out:  xyz [n][3], rgb [n][3]: what is finite and lies from the median point at most three
 *          times as far as half of the points do is kept, in its order
 * Returns: how many are kept
 */
size_t client_splat_crop(float *xyz, uint8_t *rgb, size_t n);

/* Sets the camera at one yaw about its own up axis; zoom 2 stands half as far away. */
struct client_splat_view client_splat_at(const struct client_splat_orbit *o, float yaw, float zoom);

/*
 * client_splat_side - the yaw from which most is seen
 *
 * A room that was scanned from within shows its walls' backs from most sides, which hide the rest;
 * from its open side the cloud covers most of the picture. Eight yaws are compared.
 * Returns: radians; 0 unless another is clearly better
 */
float client_splat_side(const struct client_splat_orbit *o, const struct client_splat_cloud *cloud);

/*
 * client_splat_discs - diameters that close the gaps between neighbours
 *
 * Out:     disc_m [n]: from the distance of the fourth neighbour, at most three times the median
 * Returns: 0; ERR_MEMORY
 * Cost:    O(n log n)
 */
MUST_CHECK int client_splat_discs(float *disc_m, const struct client_splat_cloud *cloud,
                                  struct err *err);

/* Median depth of the points in the view; 1 if there are none. */
float client_splat_depth(const struct client_splat_view *view,
                         const struct client_splat_cloud *cloud);

/*
 * client_splat_draw - the picture
 *
 * Out:     picture [h][w][3]
 * Returns: 0; ERR_INPUT: size out of 1...CLIENT_SPLAT_SIDE_MAX; ERR_MEMORY
 */
MUST_CHECK int client_splat_draw(uint8_t *picture, const struct client_splat_view *view,
                                 const struct client_splat_cloud *cloud, struct err *err);

/* Colours a depth map: near is warm, far is cool, 0 is grey. The range of the logarithmic scale is
 * in metres. */
void client_splat_depth_colours(uint8_t *rgb, const uint16_t *depth_mm, size_t n, float near_m,
                                float far_m);

#endif
