/*
 * reconctl_ffmpeg.h - videos as JPEG pictures, through ffmpeg
 */
#ifndef RECOND_API_RECONCTL_FFMPEG_H
#define RECOND_API_RECONCTL_FFMPEG_H

#include "proto/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct reconctl_ffmpeg {
    pid_t pid; /* 0 = none */
    int out;   /* pictures */
    int said;  /* its error messages */
};

/*
 * reconctl_ffmpeg_start - read a video
 *
 * In:      path: "-" = standard input; fps: resample it, 0 = as it is; loop: for ever
 * Returns: 0; ERR_UNSUPPORTED: no ffmpeg; ERR_INPUT
 */
MUST_CHECK int reconctl_ffmpeg_start(struct reconctl_ffmpeg *f, const char *path, double fps,
                                     bool loop, struct err *err);
void reconctl_ffmpeg_end(struct reconctl_ffmpeg *f);

/* The last error message about `path`; "" = none. */
void reconctl_ffmpeg_said(const struct reconctl_ffmpeg *f, const char *path, char *text,
                          size_t cap);

/*
 * reconctl_ffmpeg_probe - what ffprobe tells of a video file
 *
 * Out:     fps, 0 = not told
 * Returns: 0; ERR_INPUT: it is a text, of which ffmpeg would make a film
 */
MUST_CHECK int reconctl_ffmpeg_probe(double *fps, const char *path, struct err *err);

#endif
