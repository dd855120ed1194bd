/*
 * views_params.h - what the stages of many views were tuned with
 *
 * "Chosen on" names runs in docs/TRIED.md and the commits. A cosine bounds an angle. Sizes, rounds
 * and the units of whole numbers stand in the stages' headers.
 */
#pragma once

#include "gpu/params.h"

#include <stdint.h>

#define VIEWS_LENGTH_FRAMES 64 /* frames in the mean length of poses, at most */

#ifdef __cplusplus
extern "C" {
#endif

/* X(type, name, our value, min, max, unit, meaning, chosen on) */
#define VIEWS_PARAMS(X)                                                                            \
    X(float, plan_moved_rel, 0.04f, 1e-3, 1, "of median depth", "a new keyframe has moved so far", \
      UNKNOWN)                                                                                     \
    X(float, plan_rotated_cos, 0.995f, 0, 1, "cosine", "... or has rotated by more (5.7 degrees)", \
      UNKNOWN)                                                                                     \
    X(float, plan_overlap, 0.4f, 0.01, 1, "of samples", "a source sees so many", UNKNOWN)          \
    X(float, plan_facing_cos, 0.8f, -1, 1, "cosine",                                               \
      "a source has rotated by at most so much (37 degrees)", UNKNOWN)                             \
    X(float, plan_parallax, 0.04f, 1e-4, 1, "rad",                                                 \
      "a source sees samples from under this angle at least", UNKNOWN)                             \
    X(float, plan_parallax_good, 0.1f, 1e-4, 2, "rad", "the best angles begin here", UNKNOWN)      \
    X(float, plan_parallax_wide, 0.4f, 1e-4, 2, "rad", "the best angles end here", UNKNOWN)        \
    X(float, plan_apart_rel, 0.04f, 1e-4, 1, "of median depth",                                    \
      "sources nearer to each other are worth less", UNKNOWN)                                      \
    X(float, plan_pool_share, 0.1f, 0.01, 1, "of a view",                                          \
      "a keyframe that sees less is not drawn into it", UNKNOWN)                                   \
    X(float, plan_stretch_from, 0.3219f, 0.01, 0.35, "log2",                                       \
      "poses so much too long begin to be disbelieved", SCALED)                                    \
    X(float, plan_stretch_all, 0.4f, 0.36, 0.6, "log2", "... are disbelieved wholly from here",    \
      SCALED)                                                                                      \
    X(float, plan_stretch_last, 0.678f, 0.6, 0.8, "log2", "... to here", UNKNOWN)                  \
    X(float, plan_stretch_none, 0.848f, 0.81, 2, "log2", "... and are believed from here on",      \
      UNKNOWN)                                                                                     \
    X(uint32_t, plan_stretch_frames, 8, 1, 1000, "frames", "so many must have said so", UNKNOWN)   \
    X(uint32_t, sweep_keyframes, 4, 1, 16, "keyframes",                                            \
      "a keyframe is swept when so many came after it", UNKNOWN)                                   \
    X(uint32_t, sweep_frames, 20, 1, 1000, "frames", "... or so many frames did", UNKNOWN)         \
    X(uint32_t, final_keyframes, 8, 1, 16, "keyframes",                                            \
      "a keyframe is final when so many came after it", UNKNOWN)                                   \
    X(uint32_t, final_frames, 40, 1, 1000, "frames", "... or so many frames did", UNKNOWN)         \
    X(uint32_t, idle_frames, 64, 1, 100000, "frames",                                              \
      "a strand without a frame for so long is given away", UNKNOWN)                               \
    X(int, confirmed, 2, 1, 16, "keyframes", "so many agreements confirm a measurement",           \
      "drawn room")                                                                                \
    X(uint32_t, least_of, 3, 1, 1000, "",                                                          \
      "a sound keyframe has one measurement in so many confirmed", "desk, office, drawn corridor") \
    X(uint32_t, least_in, 50, 1, 100000, "", "... and one pixel in so many", UNKNOWN)              \
    X(float, agree_rel, 0.025f, 1e-4, 1, "of depth", "two measurements agree within this",         \
      "drawn room")                                                                                \
    X(float, draw_behind, 1.06f, 1, 2, "times",                                                    \
      "what lies farther behind the nearest depth is hidden", UNKNOWN)                             \
    X(float, contrast_gain, 48.0f, 1, 127, "of 255",                                               \
      "one standard deviation in a picture of contrasts", UNKNOWN)                                 \
    X(int, contrast_floor, 4, 1, 1000, "1/8 level", "noise of pictures", DRAWN)                    \
    X(int, sweep_alone, 819, 0, 8192, "1/8192",                                                    \
      "taken from the score of a plane that one source sees", UNKNOWN)                             \
    X(float, sweep_near_rel, 0.5f, 0.05, 1, "of near depth", "the nearest plane", UNKNOWN)         \
    X(float, sweep_far_rel, 2.0f, 1, 20, "of far depth", "the farthest plane", UNKNOWN)            \
    X(int, sweep_peak, 5325, 0, 8192, "1/8192", "least score of a measurement (0.65)", UNKNOWN)    \
    X(int, sweep_unique, 655, 0, 8192, "1/8192",                                                   \
      "so much above all planes that are not beside it (0.08)", UNKNOWN)                           \
    X(int, sweep_beside, 2, 1, 16, "planes", "planes that near are beside it", UNKNOWN)            \
    X(int, sweep_variance, 4, 0, 65025, "levels^2", "least variance of its window", UNKNOWN)       \
    X(float, fine_step, 0.02f, 1e-4, 0.1, "of inverse depth", "from one fine step to the next",    \
      DRAWN)                                                                                       \
    X(uint32_t, fine_least_of, 2, 1, 1000, "",                                                     \
      "fine sweeps need one first measurement in so many confirmed", "room, desk")                 \
    X(int, fine_peak, 1638, 0, 8192, "1/8192", "least score of a fine measurement (0.2)", EIGHT)   \
    X(int, fine_variance, 6, 0, 65025, "contrasts^2", "least variance of its window", EIGHT)       \
    X(float, field_tie, 8.0f, 1e-3, 1e4, "weight",                                                 \
      "between two nodes, against those of measurements", UNKNOWN)                                 \
    X(float, field_edge, 12.0f, 0.1, 255, "levels", "a step of the picture that halves a tie",     \
      UNKNOWN)                                                                                     \
    X(float, field_hold, 0.02f, 1e-5, 100, "weight", "pull of each node to the common value",      \
      UNKNOWN)                                                                                     \
    X(float, field_scatter, 0.087f, 1e-3, 2, "log2", "measurements beyond count for little (6 %)", \
      UNKNOWN)                                                                                     \
    X(uint32_t, field_doubt, 200, 1, 100000, "of a picture^-1",                                    \
      "so many measured pixels halve the common value", UNKNOWN)                                   \
    X(float, field_most, 1.2f, 0.01, 4, "log2", "no single-view depth is as wrong (2.3 times)",    \
      UNKNOWN)                                                                                     \
    X(float, field_near, 0.43f, 0.01, 4, "log2",                                                   \
      "a pixel's own measurement is believed so near to the field (35 %)", "drawn room")           \
    X(float, field_apart, 0.144f, 0.01, 4, "log2",                                                 \
      "drawn and own measurement say different things (10 %)", UNKNOWN)                            \
    X(float, field_parts, 12.0f, 1, 1e4, "parts", "of a picture err each by itself", SENSORS)      \
    X(uint32_t, field_carried, 8, 1, 1000, "",                                                     \
      "keyframes carry a frame if they measured one pixel in so many", UNKNOWN)                    \
    X(float, pose_check_moved_rel, 0.002f, 1e-5, 1, "of median depth",                             \
      "a pose stands still within this", UNKNOWN)                                                  \
    X(float, pose_check_rotated_cos, 0.999998f, 0, 1, "cosine",                                    \
      "... and within this (0.11 degrees)", UNKNOWN)                                               \
    X(int, pose_check_contrast, 16, 1, 65025, "levels^2",                                          \
      "least variance of a picture that differs from another", UNKNOWN)                            \
    X(uint32_t, pose_check_measured_in, 50, 1, 100000, "",                                         \
      "a keyframe is judged if it measures one pixel in so many", UNKNOWN)                         \
    X(uint32_t, pose_check_least_of, 6, 1, 1000, "",                                               \
      "its poses are in order if one in so many is confirmed", UNKNOWN)                            \
    X(uint32_t, pose_check_frames, 64, 1, VIEWS_LENGTH_FRAMES, "frames",                           \
      "the length of poses is a running mean of so many", "office, right poses")                   \
    X(uint32_t, refine_least, 100, 1, 3072, "points", "with fewer the given poses stand", UNKNOWN) \
    X(uint32_t, refine_least_in, 6, 1, 1000, "",                                                   \
      "the first sweep has measured one pixel in so many", UNKNOWN)                                \
    X(int, refine_step, 36864, 1, 1e8, "(32 levels)^2",                                            \
      "least step of a point's picture (6 levels a pixel)", UNKNOWN)                               \
    X(float, refine_scale, 10.0f, 0.1, 255, "levels",                                              \
      "a residual of so much counts for a quarter", UNKNOWN)                                       \
    X(float, refine_weight, 0.004f, 1e-6, 1, "levels^-2", "of one pixel's residual",               \
      "room, office")                                                                              \
    X(float, refine_hold, 5.0f, 1e-3, 1e4, "weight", "of a point's log depth, to where it is",     \
      UNKNOWN)                                                                                     \
    X(float, refine_shift_m, 0.02f, 1e-4, 1, "m", "expected error of a source's position",         \
      UNKNOWN)                                                                                     \
    X(float, refine_rotation_rad, 0.01047f, 1e-4, 1, "rad",                                        \
      "... and of its rotation (0.6 degrees)", UNKNOWN)                                            \
    X(float, refine_far_m, 0.2f, 0, 100, "m", "the longest baseline: ten expected errors",         \
      UNKNOWN)                                                                                     \
    X(float, refine_most, 6.0f, 0.1, 1000, "errors^2", "a larger correction is none", UNKNOWN)     \
    X(float, refine_keep_shift_rel, 0.02f, 0, 1, "of a baseline",                                  \
      "smaller corrections are the method's own noise", UNKNOWN)                                   \
    X(float, refine_keep_rotation_rad, 0.00262f, 0, 1, "rad",                                      \
      "... and smaller rotations (0.15 degrees)", UNKNOWN)                                         \
    X(uint32_t, refine_scale_half, 500, 0, 1e6, "pixels", "so many halve the common scale",        \
      UNKNOWN)                                                                                     \
    X(float, refine_scale_take, 0.7f, 0, 1, "of it", "share of the common scale that is taken",    \
      "drawn rooms, corridor, office: poses that err")                                             \
    X(float, refine_scale_least, 0.0144f, 0, 1, "log2", "a median's own noise (1 %)", UNKNOWN)

struct views_params {
    VIEWS_PARAMS(PARAMS_FIELD)
};

extern const struct params_stage views_params_stage;

#ifdef __cplusplus
}
#endif
