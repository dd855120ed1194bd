#include "gpu/recognise/recognise_params.h"

#define UNKNOWN "not recorded"
#define PAPER "the paper's"
#define CLUTTER "drawn clutter, seeds 11, 33, 55"
#define SEEDS_5 "drawn clutter, five seeds"
#define SEEDS_11 "drawn clutter, eleven seeds"
#define TWO_DEGREES "normals within 2 degrees at 1.5 m"
#define SURFACE_ROW(type, name, ...) PARAMS_ROW(struct surface_params, type, name, __VA_ARGS__)
#define TENSOR_ROW(type, name, ...) PARAMS_ROW(struct tensor_params, type, name, __VA_ARGS__)
#define MATCH_ROW(type, name, ...) PARAMS_ROW(struct match_params, type, name, __VA_ARGS__)
#define HYPOTHESIS_ROW(type, name, ...) \
    PARAMS_ROW(struct hypothesis_params, type, name, __VA_ARGS__)
#define CLOUD_ROW(type, name, ...) PARAMS_ROW(struct cloud_params, type, name, __VA_ARGS__)

static const struct params_row surface_rows[] = {SURFACE_PARAMS(SURFACE_ROW)},
                               tensor_rows[] = {TENSOR_PARAMS(TENSOR_ROW)},
                               match_rows[] = {MATCH_PARAMS(MATCH_ROW)},
                               hypothesis_rows[] = {HYPOTHESIS_PARAMS(HYPOTHESIS_ROW)},
                               cloud_rows[] = {CLOUD_PARAMS(CLOUD_ROW)};

#define STAGE(stage)                                                     \
    {                                                                    \
#stage, stage##_rows, sizeof stage##_rows / sizeof *stage##_rows \
    }

const struct params_stage recognise_params_surface = STAGE(surface),
                          recognise_params_tensor = STAGE(tensor),
                          recognise_params_match = STAGE(match),
                          recognise_params_hypothesis = STAGE(hypothesis),
                          recognise_params_cloud = STAGE(cloud);
