/*
 * netsize.h - the network's input size for a camera
 */
#ifndef RECOND_DAEMON_NETSIZE_H
#define RECOND_DAEMON_NETSIZE_H

#define NETSIZE_AREA 53248 /* pixels: 416 x 128, what the papers' network sees */

/*
 * netsize_choose - sides that are multiples of `multiple`, at most NETSIZE_AREA pixels in all
 *
 * Maths:   the largest area * (ratio of the two aspects, <= 1)^2: of two sizes of the camera's own
 *          aspect the larger one, but no stretching for the sake of area. 640x480 -> 256x192,
 *          1242x375 -> 416x128,
 *          480x640 -> 192x256, 1280x720 -> 288x160
 */
void netsize_choose(int camera_w, int camera_h, int multiple, int *w, int *h);

#endif
