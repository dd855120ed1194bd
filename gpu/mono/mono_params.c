#include "gpu/mono/mono_params.h"

#define UNKNOWN "not recorded"
#define PLACES "drawn room, corridor, desk; office, room, desk"
#define DRAWN "drawn places"
#define SEQUENCES "office, room, desk"
#define DESK "desk"
#define ROOM "drawn room"
#define ROW(type, name, ...) PARAMS_ROW(struct mono_params, type, name, __VA_ARGS__)

static const struct params_row rows[] = {MONO_PARAMS(ROW)};

const struct params_stage mono_params_stage = {"mono", rows, sizeof rows / sizeof *rows};
