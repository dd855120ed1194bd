#include "gpu/views/views_params.h"

#define UNKNOWN "not recorded"
#define SCALED "room and office, paths 1.3 times as long"
#define DRAWN "drawn places"
#define EIGHT "eight places, poses that err"
#define SENSORS "sensors' and drawn depth"
#define ROW(type, name, ...) PARAMS_ROW(struct views_params, type, name, __VA_ARGS__)

static const struct params_row rows[] = {VIEWS_PARAMS(ROW)};

const struct params_stage views_params_stage = {"views", rows, sizeof rows / sizeof *rows};
