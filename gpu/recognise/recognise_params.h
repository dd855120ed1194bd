/*
 * recognise_params.h - what surfaces, tensors, matches, hypotheses and clouds were tuned with
 *
 * One recogniser serves all sessions of a device, so no network's sidecar overrides these. A run
 * may use others, since struct surface_params and its like are arguments.
 */
#pragma once

#include "gpu/params.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(type, name, our value, min, max, unit, meaning, chosen on) */
#define SURFACE_PARAMS(X)                                                                          \
    X(int, filter_px, 6, 0, 12, "px", "reach of the filter; 0: depth stays as it is", TWO_DEGREES) \
    X(float, filter_sigma, 3.0f, 0.1, 100, "px", "its deviation", TWO_DEGREES)                     \
    X(float, noise_m, 1.425e-3f, 0, 1, "m",                                                        \
      "deviation of depth at one metre; it grows with the square of depth",                        \
      "Khoshelham and Elberink 2012")                                                              \
    X(int, normal_px, 3, 1, 12, "px", "reach of a normal's neighbourhood", CLUTTER)                \
    X(float, steep, 4.0f, 0.1, 100, "slope", "up to which neighbours belong to one surface",       \
      UNKNOWN)                                                                                     \
    X(float, spread, 3.0f, 0, 100, "deviations",                                                   \
      "edges longer than the mean by more are none; the paper's is 1", "drawn bracket")            \
    X(float, length, 2.0f, 0, 100, "times the mean", "shorter edges are edges in any case",        \
      "drawn bracket")                                                                             \
    X(float, chord, 0.9f, 0, 2, "of unit normals",                                                 \
      "... and so are those whose normals differ by less", "drawn bracket")                        \
    X(float, hollow, 20.0f, 0, 1000, "1/m", "edges more hollow than this are none; 0: all may be", \
      CLUTTER)                                                                                     \
    X(float, view_sin, 0.17f, 0, 1, "sine",                                                        \
      "of the least angle between a ray and an edge that it ends in", UNKNOWN)

#define TENSOR_PARAMS(X)                                                                           \
    X(float, unit_m, 0.0f, 0, 1, "m", "unit of distances and voxels; 0: the picture's resolution", \
      UNKNOWN)                                                                                     \
    X(float, least, 5, 1e-3, 100, "units", "distance of a pair, at least", PAPER)                  \
    X(float, most, 14, 1e-3, 100, "units", "... and at most", PAPER)                               \
    X(float, voxel, 5, 1e-3, 100, "units", "side of a voxel", UNKNOWN)                             \
    X(int, cell_px, 4, 1, 256, "px", "side of a square that gives one pair", UNKNOWN)              \
    X(int, tries, 4, 1, 64, "pixels", "of a square that are tried", UNKNOWN)                       \
    X(int, n, 200, 1, 1024, "tensors", "that are wanted of a picture", UNKNOWN)                    \
    X(uint32_t, seed, 1, 0, 2147483647, "", "of the lot", UNKNOWN)

#define MATCH_PARAMS(X) \
    X(float, score, 0.2f, 0, 1, "cosine", "between two tensors that match, at least", UNKNOWN)

#define HYPOTHESIS_PARAMS(X)                                                                       \
    X(float, turn_cos, 0.94f, -1, 1, "cosine", "poses agree that differ by a smaller rotation",    \
      UNKNOWN)                                                                                     \
    X(float, move_m, 0.03f, 0, 10, "m", "... and by less in the place of the object's middle",     \
      UNKNOWN)                                                                                     \
    X(int, tries, 40, 1, 64, "poses", "of an object that are refined", CLUTTER)                    \
    X(int, rounds, 16, 0, 1000, "rounds", "of refinement with a share of an object's points",      \
      SEEDS_11)                                                                                    \
    X(float, hopeless, 0.6f, 0, 1, "of points", "a lower score after them: the pose is given up",  \
      SEEDS_5)                                                                                     \
    X(int, last, 8, 0, 1000, "rounds", "of refinement with all points", SEEDS_11)                  \
    X(float, gate_m, 0.03f, 0, 10, "m", "a point pairs with nearer surface, at first", UNKNOWN)    \
    X(float, shrink, 0.8f, 0.01, 1, "of the gate", "is left after a round", UNKNOWN)               \
    X(float, close_m, 0.006f, 0, 10, "m",                                                          \
      "... in the end; a point with nearer surface is supported", UNKNOWN)                         \
    X(float, facing, 0.2f, -1, 1, "cosine",                                                        \
      "between a normal and the way to the camera of a point that faces it", UNKNOWN)              \
    X(float, alike, 0.7f, -1, 1, "cosine", "between a point's normal and its partner's, at least", \
      UNKNOWN)                                                                                     \
    X(float, hides_m, 0.02f, 0, 10, "m", "what hides a point is nearer by so much", UNKNOWN)       \
    X(float, score, 0.965f, 0, 1, "of points",                                                     \
      "least share of supported among supported and contradicted ones", CLUTTER)                   \
    X(float, coarse, 0.92f, 0, 1, "of points", "the same of an object that is made of a cloud",    \
      "28 objects enrolled from clouds")                                                           \
    X(float, visible, 0.25f, 0, 1, "of points",                                                    \
      "least share of supported among those that face the camera", UNKNOWN)                        \
    X(int, points, 60, 1, 65536, "points", "least number of supported ones", UNKNOWN)              \
    X(float, claimed, 0.4f, 0, 1, "of its support",                                                \
      "that better poses may have of a pose that stays", UNKNOWN)                                  \
    X(float, second, 0.08f, 0, 1, "eigenvalue",                                                    \
      "of the mean of n n^T over normals: the least second one ...", UNKNOWN)                      \
    X(float, third, 0.015f, 0, 1, "eigenvalue", "... and the least third one", UNKNOWN)

#define CLOUD_PARAMS(X)                                                                       \
    X(float, stray, 1.5f, 0.1, 100, "times the usual", "a patch reaches no farther", UNKNOWN) \
    X(float, crease, 0.85f, -1, 1, "cosine",                                                  \
      "between normals below which two points lie on two sides of an edge", UNKNOWN)          \
    X(float, share, 0.55f, 0.5, 1, "of the way to a neighbour",                               \
      "is a point's own: patches overlap a little", UNKNOWN)                                  \
    X(float, steep, 0.6f, 0, 100, "slope",                                                    \
      "a neighbour above or below by more is on another surface", UNKNOWN)                    \
    X(float, prior, 0.3f, 0, 100, "neighbours", "that the published normal weighs", UNKNOWN)  \
    X(int, normal_px, 6, 1, 12, "px",                                                         \
      "reach of normals in its views: patches are flat and coarser than pixels", UNKNOWN)

struct surface_params {
    SURFACE_PARAMS(PARAMS_FIELD)
};
struct tensor_params {
    TENSOR_PARAMS(PARAMS_FIELD)
};
struct match_params {
    MATCH_PARAMS(PARAMS_FIELD)
};
struct hypothesis_params {
    HYPOTHESIS_PARAMS(PARAMS_FIELD)
};
struct cloud_params {
    CLOUD_PARAMS(PARAMS_FIELD)
};

extern const struct params_stage recognise_params_surface, recognise_params_tensor,
    recognise_params_match, recognise_params_hypothesis, recognise_params_cloud;

#ifdef __cplusplus
}
#endif
