/* pipeline_panorama.c - sessions of pairs of panoramas: each pair carves a volume of voxels, and
 * the opaque ones are the session's cloud. With the option baseline_m a frame is one picture, and
 * the device finds its pairs (MATH.md (O10)). */
#include "daemon/session/pipeline.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/session/session_frames.h"
#include "daemon/work/session_work.h"
#include "proto/geom/pose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Changes that the device gives at once: further changes of a view come in further rounds, so that
 * neither its list nor a commit grows with the volume. A list twice as long as the cloud holds a
 * view that removes every point and puts as many, because a point that is put in one round finds no
 * room that a later one makes. */
#define CHANGES_MAX (1u << 20)

/* Returns the volume of the options in whole voxels, rounded up. */
static struct gpu_volume volume_of(const struct session_options *o)
{
    static const int axis[] = {
        [SESSION_UP_DEFAULT] = 2, [SESSION_UP_X] = 0, [SESSION_UP_MINUS_X] = 0, [SESSION_UP_Y] = 1,
        [SESSION_UP_MINUS_Y] = 1, [SESSION_UP_Z] = 2, [SESSION_UP_MINUS_Z] = 2};
    struct gpu_volume v = {.voxel_m = o->voxel_m, .up = axis[o->up]};

    for (int i = 0; i < 3; i++) {
        int at = (v.up + 1 + i) % 3;
        float n = ceilf(o->volume_size_m[at] / o->voxel_m - 1e-3f);

        v.min_m[at] = o->volume_m[at];
        v.n[i] = n >= 1 ? n <= 1e6f ? (int)n : 1000000 : 1;
    }
    return v;
}

static void device_config(struct gpu_session_config *c, const struct session_options *o,
                          struct gpu_model *depth, struct gpu_model *motion)
{
    (void)depth;
    (void)motion;
    memset(c, 0, sizeof(*c));
    c->line = &gpu_line_panorama;
    c->step_m = o->step_m;
    c->max_points = o->max_points < CHANGES_MAX / 2 ? 2 * o->max_points : CHANGES_MAX;
    c->volume = volume_of(o);
    c->consistency =
        o->consistency == SESSION_CONSISTENCY_PATCH ? GPU_CONSISTENCY_PATCH : GPU_CONSISTENCY_PAPER;
    c->colour_levels = o->colour_levels;
    c->field_rad = o->field_deg / 180 * LENS_PI;
    c->baseline_m = o->baseline_m;
}

/* Is the midpoint of the cameras above or below the volume? With one camera all places are, and so
 * are points between two of them. */
static bool takes_pose(const struct session_options *o, const struct frame *f)
{
    const struct gpu_volume v = volume_of(o);
    const bool alone = o->baseline_m > 0;
    const struct rigid second = rigid_mul(&f->T_wc, &f->rig.T_cd);
    const float *a = f->T_wc.t, *b = alone ? a : second.t;

    for (int i = 0; i < 2; i++) {
        int axis = (v.up + 1 + i) % 3;
        float at = 0.5f * (a[axis] + b[axis]) - v.min_m[axis];

        if ((alone || f->rig.known) && !(at >= 0 && at < (float)v.n[i] * v.voxel_m))
            return false;
    }
    return true;
}

/* Proposes voxels five per cent larger; the box stays. */
static bool panorama_smaller(struct session_options *o, char what[API_NAME_CAP])
{
    o->voxel_m *= 1.05f;
    o->step_m = o->voxel_m / MIRROR_VOXEL_STEPS;
    snprintf(what, API_NAME_CAP, "voxel_m=%.3g", (double)o->voxel_m);
    return o->voxel_m <= 1;
}

static void open_job(struct job *job)
{
    const struct session_work *k = session_work(job->session);
    const struct queue_item *item = job->item;
    const struct frame *f = &item->frame;

    job->pair = (struct gpu_pair){
        .item = {.session = k->device},
        .rest = job->continues,
        .eye = {{.rgb = item->rgb, .K = item->K, .lens = f->lens, .T_wc = f->T_wc},
                {.rgb = item->second,
                 .K = item->second_K,
                 .lens = f->rig.lens,
                 .T_wc = rigid_mul(&f->T_wc, &f->rig.T_cd)}},
    };
    for (int i = 0; i < 2; i++) {
        job->pair.eye[i].width = item->width;
        job->pair.eye[i].height = item->height;
    }
}

/* Puts changes into the mirror and the pose into the trajectory, and tells clients. */
static void finish_job(struct job *job, struct control_ack *ack)
{
    struct session *s = job->session;
    struct metrics *metrics = session_setup(s)->metrics;
    const struct queue_item *item = job->item;
    const struct gpu_pair_result *r = &job->pair.result;
    const struct gpu_volume volume = volume_of(&session_setup(s)->options);
    struct session_pose pose = {item->frame.seq, item->frame.t_capture_ns, item->frame.T_wc,
                                (uint32_t)item->source, item->submap};
    const struct gpu_result told = {
        .T_wc = item->frame.T_wc, .n_points = r->n_opaque, .n_stable = r->n_opaque};
    struct mirror_commit commit;
    uint64_t start_us = clock_us();

    mirror_commit_voxels(session_mirror(s), &volume, job->pair.changes, r->n_changes, &commit);
    metrics_observe(metrics, METRICS_COMMIT, clock_us() - start_us);
    metrics_add(metrics, METRICS_POINTS_LEFT_OUT, commit.n_left_out);
    job->unfinished = r->n_waiting > 0;
    if (!job->continues && trajectory_append(session_trajectory(s), &pose, NULL))
        LOG_AT(LOG_WARNING, "session %s: no room for more poses in its trajectory", session_id(s));
    session_publish(s, item->source, false, &told, &commit);
    ack->status = CONTROL_USED;
    if (r->paired == GPU_PAIRED_NONE && !job->continues)
        ack->reason = CONTROL_NO_MOTION;
    ack->placed = true;
    ack->revision = commit.revision;
    ack->quality = 1;
    pose_numbers(ack->pose, &item->frame.T_wc);
}

const struct pipeline pipeline_panorama = {
    .name = "panorama",
    .line = &gpu_line_panorama,
    .device_config = device_config,
    .open = open_job,
    .finish = finish_job,
    .takes_pose = takes_pose,
    .has_one_submap = true,
    .smaller = panorama_smaller,
};
