/*
 * tie_params.h - what ties and bundles were tuned with
 *
 * Numbers of candidates, corners and cells shape memory: they stand in their files.
 */
#pragma once

#include "gpu/params.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(type, name, our value, min, max, unit, meaning, chosen on) */
#define TIE_PARAMS(X)                                                                              \
    X(float, corner_least, 4.0f, 0, 1e4, "levels^2",                                               \
      "least gradient of a corner, along its weakest direction", UNKNOWN)                          \
    X(float, corner_step, 1.15f, 1, 10, "times",                                                   \
      "depths around a corner differ by less, or its depth is not known", UNKNOWN)                 \
    X(int, alike_least, 12, 1, 100, "corners",                                                     \
      "that look alike in two keyframes which are compared closely", UNKNOWN)                      \
    X(int, match_bits, 64, 0, 256, "bits", "in which matching descriptors differ, at most",        \
      UNKNOWN)                                                                                     \
    X(float, match_clear, 0.85f, 0.01, 1, "of bits",                                               \
      "a match differs in fewer than this share of the next best", UNKNOWN)                        \
    X(int, confirm_tries, 400, 1, 100000, "motions", "of three matches that are tried", UNKNOWN)   \
    X(double, confirm_lengths, 0.8, 0.01, 1, "of a length",                                        \
      "an edge of three matches has in both keyframes, at least", UNKNOWN)                         \
    X(double, confirm_chi2, 9.0, 0.1, 1000, "deviations^2", "a right match is off by less",        \
      UNKNOWN)                                                                                     \
    X(double, confirm_px, 1.0, 0.01, 100, "px",                                                    \
      "deviation of a corner's place, at the size it was found at", UNKNOWN)                       \
    X(double, confirm_depth_rel, 0.1, 1e-3, 1, "of depth", "deviation of a depth", UNKNOWN)        \
    X(int, confirm_least, 24, 3, 320, "matches", "that a motion explains, at least", UNKNOWN)      \
    X(float, confirm_share, 0.3f, 0, 1, "of matches", "... and at least this share of all",        \
      UNKNOWN)                                                                                     \
    X(int, confirm_cells, 8, 1, 48, "cells", "of 8 x 6 of either picture in which these lie",      \
      UNKNOWN)                                                                                     \
    X(float, confirm_agree, 0.6f, 0, 1, "of cells", "in which both see depth: so many are alike",  \
      UNKNOWN)                                                                                     \
    X(float, confirm_alike, 0.2f, 1e-3, 2, "ln",                                                   \
      "alike depths differ by less, after their middle ratio", UNKNOWN)                            \
    X(float, confirm_ratio, 0.4f, 1e-3, 3, "ln", "the middle ratio is within this", UNKNOWN)       \
    X(double, tie_same_m, 0.25, 1e-3, 10, "m", "two pairs agree on where two submaps lie",         \
      UNKNOWN)                                                                                     \
    X(double, tie_same_rad, 0.09, 1e-3, 3, "rad", "... and on how they are turned", UNKNOWN)       \
    X(double, tie_holds, 0.6, 0, 1, "of matches", "that all pairs of a tie together explain",      \
      UNKNOWN)                                                                                     \
    X(double, tie_m, 0.02, 1e-4, 10, "m", "deviation of a tie of two pairs", UNKNOWN)              \
    X(double, tie_rad, 0.006, 1e-5, 1, "rad", "... and of its rotation", UNKNOWN)                  \
    X(double, tie_bent, 0.25, 0, 10, "of an error",                                                \
      "of the path through a submap, which a tie has besides", UNKNOWN)                            \
    X(double, graph_wrong, 3.0, 0.1, 1000, "deviations",                                           \
      "an edge that is off by so much counts a quarter", UNKNOWN)                                  \
    X(uint32_t, convention_moves, 12, 1, 60, "moves", "before a convention is named", UNKNOWN)     \
    X(double, convention_still_m, 0.04, 1e-4, 10, "m",                                             \
      "a smaller move says nothing of conventions", UNKNOWN)                                       \
    X(double, convention_still_deg, 2.0, 0.01, 180, "degrees", "... nor does a smaller rotation",  \
      UNKNOWN)                                                                                     \
    X(double, convention_off_m, 0.02, 0, 10, "m",                                                  \
      "a reading agrees if it is off by less than this ...", UNKNOWN)                              \
    X(double, convention_off_deg, 1.0, 0, 180, "degrees", "... and in rotation by this ...",       \
      UNKNOWN)                                                                                     \
    X(double, convention_off_share, 0.4, 0, 1, "of a move",                                        \
      "... each with this share of the move", UNKNOWN)                                             \
    X(double, bundle_loop_m, 3.0, 0.01, 1e4, "m", "a place is seen again when the path is longer", \
      UNKNOWN)                                                                                     \
    X(double, bundle_near_m, 4.0, 0.01, 1e4, "m",                                                  \
      "pairs so near along the path support each other ...", UNKNOWN)                              \
    X(double, bundle_same_m, 0.25, 1e-3, 10, "m", "... if they agree on where the ends lie",       \
      UNKNOWN)                                                                                     \
    X(double, bundle_same_deg, 5.0, 0.01, 180, "degrees", "... and on how these are turned",       \
      UNKNOWN)                                                                                     \
    X(double, bundle_pair_m, 0.028, 1e-4, 10, "m", "deviation of a confirmed pair, ...", UNKNOWN)  \
    X(double, bundle_pair_depth, 0.05, 0, 1, "of a distance",                                      \
      "... besides, between its cameras, ...", UNKNOWN)                                            \
    X(double, bundle_pair_rad, 0.0085, 1e-5, 1, "rad", "... and of its rotation", UNKNOWN)         \
    X(double, bundle_path_m, 0.02, 0, 10, "m of m^1/2", "deviation of a path, by its length, ...", \
      UNKNOWN)                                                                                     \
    X(double, bundle_path_rad, 0.002, 0, 1, "rad of m^1/2", "... and of its rotation", UNKNOWN)    \
    X(double, bundle_rotation_m, 0.02, 0, 10, "m/rad",                                             \
      "deviation of a path, by its rotation, ...", UNKNOWN)                                        \
    X(double, bundle_rotation_rad, 0.01, 0, 1, "of a rotation", "... and of that rotation",        \
      UNKNOWN)                                                                                     \
    X(double, bundle_least_m, 0.002, 1e-6, 1, "m", "deviation of any path, ...", UNKNOWN)          \
    X(double, bundle_least_rad, 0.0005, 1e-6, 1, "rad", "... and of its rotation", UNKNOWN)        \
    X(double, bundle_wide, 16.0, 1, 1024, "times",                                                 \
      "farther off an edge may be in the first round, half in each next one", UNKNOWN)             \
    X(double, bundle_right2, 9.0, 0.01, 1e4, "deviations^2",                                       \
      "median of the pairs up to which poses stay", UNKNOWN)                                       \
    X(double, bundle_holds2, 25.0, 0.01, 1e4, "deviations^2",                                      \
      "a pair holds in the end if it is off by less ...", UNKNOWN)                                 \
    X(double, bundle_holds, 0.6, 0, 1, "of pairs", "... and so many must", UNKNOWN)                \
    X(uint32_t, bundle_pairs, 4, 1, 1024, "pairs", "with fewer poses stay", TRUE_POSES)            \
    X(double, bundle_moved_m, 0.04, 0, 10, "m",                                                    \
      "smaller corrections are left out: true poses moved by half of it", TRUE_POSES)              \
    X(double, bundle_moved_rad, 0.01, 0, 1, "rad", "... and smaller rotations", TRUE_POSES)

struct tie_params {
    TIE_PARAMS(PARAMS_FIELD)
};

extern const struct params_stage tie_params_stage;

#ifdef __cplusplus
}
#endif
