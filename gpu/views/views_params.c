#include "gpu/views/views_params.h"

#define PLACES "drawn room, corridor and desk; office, room"
#define SCALED "kitchen and office, paths made 1.3 times as long"
#define ODOMETRY "drawn places and office, poses as phones err"
#define ROW(type, name, ...) PARAMS_ROW(struct views_params, type, name, __VA_ARGS__)

static const struct params_row rows[] = {VIEWS_PARAMS(ROW)};

const struct params_stage views_params_stage = {"views", rows, sizeof rows / sizeof *rows};
