/*
 * track_params.h - what tracks and the path of a camera were tuned with
 *
 * "Chosen on" names runs in docs/TRIED.md and the commits. Sizes of windows and numbers of steps
 * stand in the stages' headers.
 */
#pragma once

#include "gpu/params.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(type, name, our value, min, max, unit, meaning, chosen on) */
#define TRACK_PARAMS(X)                                                                            \
    X(float, klt_least, 1.0f, 0, 1e4, "levels^2",                                                  \
      "least gradient of a window, along its weakest direction", UNKNOWN)                          \
    X(float, klt_return, 0.35f, 0.01, 10, "px",                                                    \
      "a track may miss its start by this on the way back", UNKNOWN)                               \
    X(float, klt_border, 5.0f, 1, 16, "px", "tracks end so near to the picture's edge", UNKNOWN)   \
    X(float, corner_least, 2.0f, 0, 1e4, "levels^2",                                               \
      "least gradient of a new corner, along its weakest direction", UNKNOWN)                      \
    X(float, path_edge, 1.25f, 1, 10, "times",                                                     \
      "depths beside each other differ by less, or there is an edge", UNKNOWN)                     \
    X(double, path_px, 0.5, 0.01, 10, "px", "error of a track", UNKNOWN)                           \
    X(double, path_px_robust, 1.0, 0.01, 100, "px",                                                \
      "an error in a keyframe that halves the weight", UNKNOWN)                                    \
    X(double, path_depth_log, 0.12, 1e-3, 2, "ln",                                                 \
      "error of a depth, beside its keyframe's scale", "six places")                               \
    X(double, path_bias_log, 0.15, 1e-3, 2, "ln", "error of a keyframe's scale", UNKNOWN)          \
    X(double, path_alone, 6.0, 1, 1e4, "depths", "of a frame that err each by itself, at most",    \
      "sensors' and drawn depth")                                                                  \
    X(double, path_corrected_log, 1.0, 0, 3, "ln",                                                 \
      "a frame's depth is corrected by as much, at most", UNKNOWN)                                 \
    X(double, path_inlier_px, 2.0, 0.1, 100, "px", "a landmark agrees with a pose within this",    \
      UNKNOWN)                                                                                     \
    X(double, path_outlier_px, 3.0, 0.1, 100, "px",                                                \
      "... and with all keyframes within this, or is not used again", UNKNOWN)                     \
    X(int, path_inliers, 20, 6, 2048, "landmarks",                                                 \
      "that agree with a frame's pose, or it is lost", UNKNOWN)                                    \
    X(double, path_moved_px, 6.0, 0.1, 1000, "px",                                                 \
      "a frame whose tracks moved by so much is a keyframe", "room")                               \
    X(double, path_new_share, 0.6, 0, 1, "of tracks", "... or one of which fewer have a landmark", \
      UNKNOWN)                                                                                     \
    X(double, gyro_share, 0.01, 0, 1, "of a rotation",                                             \
      "error of a gyroscope's rotation: a share of it, ...", UNKNOWN)                              \
    X(double, gyro_rate, 0.0087, 0, 1, "rad/s", "... drift, ...", UNKNOWN)                         \
    X(double, gyro_least, 0.0005, 1e-6, 1, "rad", "... and in any case", UNKNOWN)

struct track_params {
    TRACK_PARAMS(PARAMS_FIELD)
};

extern const struct params_stage track_params_stage;

#ifdef __cplusplus
}
#endif
