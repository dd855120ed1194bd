/* reconctl_push_kind.c - how a push handles sessions of each kind */
#include "api/ctl/reconctl_push.h"

#include "api/file.h"
#include "proto/cloud/ply.h"

static int write_cloud(struct reconctl_push_job *j, struct err *err)
{
    const struct control_ready *ready = client_stream_ready(j->stream);
    const struct ply_frame frame = {ready ? ready->step_m : 0.001f, j->session.up,
                                    j->session.guessed};

    return ply_write_file(j->options->output, client_stream_cloud(j->stream), &frame,
                          j->options->unplaced, err);
}

const struct reconctl_push_kind reconctl_push_mono = {
    .noun = "point", .output = "cloud", .has_map = true, .check = file_try, .write = write_cloud};

const struct reconctl_push_kind reconctl_push_panorama = {
    .noun = "voxel", .output = "cloud", .has_map = true, .check = file_try, .write = write_cloud};

static int write_maps(struct reconctl_push_job *j, struct err *err)
{
    return reconctl_maps_end(j->maps, j->options->output, err);
}

const struct reconctl_push_kind reconctl_push_depth = {
    .noun = "map", .output = "maps", .check = reconctl_maps_check, .write = write_maps};

#define KIND(WORD, word) [SESSION_##WORD] = &reconctl_push_##word,
const struct reconctl_push_kind *reconctl_push_kind(const struct reconctl_push_options *o)
{
    static const struct reconctl_push_kind *const kinds[SESSION_KINDS_END] = {
        [SESSION_KIND_DEFAULT] = &reconctl_push_mono, SESSION_KINDS(KIND)};

    return kinds[o->asked.kind];
}
