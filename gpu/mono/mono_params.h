/*
 * mono_params.h - tuned numbers of fusion beside struct fuse_params
 *
 * The numbers of struct fuse_params are options of a session or differ between its two algorithms;
 * these are the same in all sessions unless a network's sidecar overrides them.
 */
#pragma once

#include "gpu/params.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(type, name, our value, min, max, unit, meaning, chosen on) */
#define MONO_PARAMS(X)                                                                             \
    X(int, evidence_final, 2, 1, 255, "observations",                                              \
      "a pixel of a final view counts for; others are one", SEQUENCES)                             \
    X(int, evidence_measured, 3, 1, 255, "observations", "... and one that views measured",        \
      SEQUENCES)                                                                                   \
    X(float, view_edge, 11.52f, 0, 1e4, "times the pixels of a row, ^-1",                          \
      "a larger step between neighbours in a view is an edge (4.5 % of 256)", PLACES)              \
    X(int, cell_credit, 20, 1, 65535, "observations", "that votes must outnumber, at most",        \
      UNKNOWN)                                                                                     \
    X(float, cell_behind, 0.5f, 0, 100, "of depth",                                                \
      "provisional points go so far behind a view that settles", DRAWN)                            \
    X(uint32_t, cell_unsettled, 60, 1, 1000000, "frames",                                          \
      "after which no view to come settles a provisional point", PLACES)                           \
    X(float, cell_apart_rel, 0.02f, 0, 1, "of depth",                                              \
      "a point so far from what is measured there is another one ...", PLACES)                     \
    X(float, cell_apart_cubes, 1.5f, 0, 1000, "cubes", "... and so far", PLACES)                   \
    X(float, cell_drawn_rel, 0.05f, 0, 1, "of depth",                                              \
      "the same where measurements are drawn into a frame ...", PLACES)                            \
    X(float, cell_drawn_cubes, 2.0f, 0, 1000, "cubes", "... and so far", PLACES)                   \
    X(float, cell_sure_rel, 0.04f, 0, 1, "of depth",                                               \
      "votes against points farther from what is measured weigh as it does", PLACES)               \
    X(float, sensor_sure_m, 3.0f, 0.01, 1e4, "m",                                                  \
      "a sure pixel of a sensor is worth most up to here", DESK)                                   \
    X(int, sensor_filled, 24, 1, 255, "trust", "of a sensor's hole that the network fills",        \
      UNKNOWN)                                                                                     \
    X(uint32_t, sensor_ratio_least, 64, 1, 1000000, "pixels", "with both depths that say a ratio", \
      UNKNOWN)                                                                                     \
    X(int, change_confidence, 2, 1, 15, "levels", "by which a published confidence may lag", ROOM)

struct mono_params {
    MONO_PARAMS(PARAMS_FIELD)
};

extern const struct params_stage mono_params_stage;

#ifdef __cplusplus
}
#endif
