#include "gpu/tie/tie_params.h"

#define UNKNOWN "not recorded"
#define TRUE_POSES "room, true poses"
#define ROW(type, name, ...) PARAMS_ROW(struct tie_params, type, name, __VA_ARGS__)

static const struct params_row rows[] = {TIE_PARAMS(ROW)};

const struct params_stage tie_params_stage = {"tie", rows, sizeof rows / sizeof *rows};
