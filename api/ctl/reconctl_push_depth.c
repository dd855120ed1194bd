/* reconctl_push_depth.c - a push of kind depth: its maps become a folder (reconctl_maps.h) */
#include "api/ctl/reconctl_push.h"

static int write_maps(struct reconctl_push_job *j, struct err *err)
{
    return reconctl_maps_end(j->maps, j->options->output, err);
}

const struct reconctl_push_kind reconctl_push_depth = {
    .noun = "map", .output = "maps", .check = reconctl_maps_check, .write = write_maps};
