/*
 * reconctl_source.h - where push takes its pictures from: a folder, a video, standard input
 */
#ifndef RECOND_API_RECONCTL_SOURCE_H
#define RECOND_API_RECONCTL_SOURCE_H

#include "api/client/client.h"

#define RECONCTL_SOURCE_CAMERA 1u
#define RECONCTL_SOURCE_SECOND 2u /* camera id of the second pictures of pairs */

struct reconctl_source;

struct reconctl_source_config {
    const char *path;  /* folder, video file, "-" */
    const char *poses; /* path or word for client_sequence_open() */
    double fps;        /* frames a second; 0 = the source's own */
    bool loop;
    bool pairs;         /* pictures of a folder that has second ones go in pairs */
    bool depth;         /* frames carry the folder's true depth as a sensor's */
    const char *camera; /* "fx,fy,cx,cy" or NULL */
};

struct reconctl_source_info {
    int n_frames; /* frames of one round; 0 = unknown before the end */
    int width, height;
    bool has_poses, camera_guessed;
    bool has_depth;      /* the fps was asked for */
    const char *up;      /* up axis of the world of a folder's poses, "+z"; NULL or "" = unknown */
    struct intrinsics K; /* intrinsics at width x height */
    bool has_second;     /* frames are pairs; T_cs is the pose of the second camera */
    struct rigid T_cs;
    struct lens lens; /* frames name it as camera RECONCTL_SOURCE_CAMERA, unless it is pinhole */
    double fps;
};

/*
 * reconctl_source_open - look at the source and its first picture
 *
 * A source without intrinsics gets a guess: the focal length of a phone's main camera, 0.85 times
 * the longer side.
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT; ERR_UNSUPPORTED: a video without ffmpeg; ERR_END: no
 *          picture
 */
MUST_CHECK int reconctl_source_open(struct reconctl_source **s,
                                    const struct reconctl_source_config *config, struct err *err);
void reconctl_source_close(struct reconctl_source **s);
void reconctl_source_get_info(const struct reconctl_source *s, struct reconctl_source_info *info);

/* Sets the quality of JPEGs that we make, 1 ... 100: of a folder's pictures from the next one on,
 * of a video's in reconctl_source_lower(). */
void reconctl_source_set_quality(struct reconctl_source *s, int quality);

/*
 * reconctl_source_next - the next frame, all fields filled
 *
 * Out:     f; its payload is borrowed until the next call
 * Returns: 0; ERR_BUSY: not there yet (video, stdin); ERR_END; ERR_IO; ERR_INPUT
 */
MUST_CHECK int reconctl_source_next(struct reconctl_source *s, struct frame *f, struct err *err);

/* Encodes a video's picture again at the set quality if that makes it smaller, because ffmpeg runs
 * before the quality is known. Call it before the last frame is sent; the payload is borrowed as
 * before. */
void reconctl_source_lower(struct reconctl_source *s, struct frame *f);

/* Declares the camera of the frames to the server, before the first of them. Returns 0; as
 * client_stream_camera() */
MUST_CHECK int reconctl_source_declare(const struct reconctl_source_info *info,
                                       struct client_stream *s, struct err *err);

/* Intrinsics from "fx,fy,cx,cy". Returns 0; ERR_INPUT with a sentence for the user. */
MUST_CHECK int reconctl_source_camera(struct intrinsics *K, const char *text, struct err *err);

/* Number of damaged pictures that were left out of a stream. */
uint64_t reconctl_source_broken(const struct reconctl_source *s);
/* Last error message of ffmpeg, which reads videos; "" = none. */
void reconctl_source_said(const struct reconctl_source *s, char *text, size_t cap);

#endif
