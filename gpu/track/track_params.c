#include "gpu/track/track_params.h"

#define UNKNOWN "not recorded"
#define ROW(type, name, ...) PARAMS_ROW(struct track_params, type, name, __VA_ARGS__)

static const struct params_row rows[] = {TRACK_PARAMS(ROW)};

const struct params_stage track_params_stage = {"track", rows, sizeof rows / sizeof *rows};
