/*
 * client_sequence.h - read a folder of pictures in the layout of docs/TESTING.md
 *
 *     sequence.json     width height fx fy cx cy fps depth_unit_m up (each optional); model and
 *                       distortion of cameras that are not pinhole (docs/TESTING.md)
 *     frames/NNNNNN.jpg consecutive pictures: JPEG, or PNG where there is no JPEG, of any names, in
 *                       frames/, in images/ or in the folder itself, by the numbers in their names;
 *                       that of a frame stands at the beginning of its name, or is the last one
 *     depth/NNNNNN.png  true depth, 16-bit, times depth_unit_m = metres, 0 = none (optional)
 *     second/NAME       the picture that the other camera of a pair took, under the same name; its
 *                       place is `second` of sequence.json, tx ty tz qx qy qz qw from it to the
 *                       first camera, its size and its model are the first's (optional)
 *     poses.txt         frame tx ty tz qx qy qz qw, camera-to-world (optional)
 *
 * Frames:  OpenCV camera axes (x right, y down, z forward); the quaternion is normalised
 * Units:   metres, pixels
 */
#ifndef RECOND_API_CLIENT_SEQUENCE_H
#define RECOND_API_CLIENT_SEQUENCE_H

#include "proto/wire/frame.h"

struct client_sequence;

struct client_sequence_info {
    int n_frames, n_poses;
    int width, height; /* 0 = not said */
    bool has_camera;
    struct intrinsics K;
    struct lens lens;
    double fps;         /* 0 = not said */
    float depth_unit_m; /* 0 = not said */
    bool has_second;    /* pictures are pairs */
    struct rigid T_cs;  /* takes points of the second camera to the first */
};

/*
 * client_sequence_open - look through a folder
 *
 * In:      poses: NULL = poses.txt of the folder if it is there, "none" = do without, else a file
 * Returns: 0; ERR_NOT_FOUND: no such folder, no frames; ERR_INPUT: where = file:line; ERR_MEMORY
 */
MUST_CHECK int client_sequence_open(struct client_sequence **s, const char *folder,
                                    const char *poses, struct err *err);
void client_sequence_close(struct client_sequence **s);
void client_sequence_get_info(const struct client_sequence *s, struct client_sequence_info *info);

/* Sets the quality of JPEGs that are made of other pictures from now on, 1 ... 100. */
void client_sequence_set_quality(struct client_sequence *s, int quality);

/*
 * client_sequence_read - one frame
 *
 * Out:     f: payload (borrowed until the next call), payload_len, T_wc and FRAME_HAS_POSE if the
 *          frame has one; all other fields are left alone
 */
MUST_CHECK int client_sequence_read(struct client_sequence *s, int i, struct frame *f,
                                    struct err *err);

/* The second picture of a pair. Out: *data [*len], borrowed until the next call. Returns 0; as
 * client_sequence_read(). */
MUST_CHECK int client_sequence_second(struct client_sequence *s, int i, const uint8_t **data,
                                      size_t *len, struct err *err);

/* The i-th picture's name without its suffix: "000012"; at most 80 characters of it. */
void client_sequence_name(const struct client_sequence *s, int i, char name[81]);

/*
 * client_sequence_depth - the true depth of one frame
 *
 * Out:     *depth [*h][*w] metres, 0 = none, free() it; NULL on an error
 * Returns: 0; ERR_NOT_FOUND: the frame has none; ERR_INPUT: no depth map, or sequence.json does not
 *          say depth_unit_m; ERR_LIMIT; ERR_MEMORY; where = the file
 */
MUST_CHECK int client_sequence_depth(const struct client_sequence *s, int i, float **depth, int *w,
                                     int *h, struct err *err);

/* Says which axis of the poses' world points up, "+z": `up` of sequence.json, else the one nearest
 * to the mean of the cameras' up directions, within 50 degrees of it; "" if none is. */
const char *client_sequence_up(const struct client_sequence *s);

/*
 * client_sequence_pose - a transform from "tx ty tz qx qy qz qw"
 * Returns: 0; ERR_INPUT: not seven finite numbers, or a quaternion of length 0
 */
MUST_CHECK int client_sequence_pose(struct rigid *T, const char *text, struct err *err);

#endif
