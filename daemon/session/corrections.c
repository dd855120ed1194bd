#include "daemon/session/corrections.h"

#include "proto/geom/pose.h"

void corrections_add(struct corrections *c, uint32_t first, uint32_t last, uint64_t revision)
{
    bool none = c->first == c->last;

    if (!c->of)
        return;
    if (none || first < c->first)
        c->first = first;
    if (none || last > c->last)
        c->last = last;
    if (revision > c->revision)
        c->revision = revision;
}

bool corrections_next(struct corrections *c, struct corrections *part)
{
    *part = *c;
    if (part->last - part->first > CONTROL_POSES_MAX)
        part->last = part->first + CONTROL_POSES_MAX;
    c->first = part->last;
    return part->first < part->last;
}

bool corrections_read(const struct corrections *part, struct control_poses *poses)
{
    struct session_pose rows[CONTROL_POSES_MAX];
    int n = trajectory_read(part->of, part->first, rows, (int)(part->last - part->first));

    poses->revision = part->revision;
    poses->n = 0;
    for (int i = 0; i < n; i++) {
        float *pose = poses->pose[poses->n];

        if (rows[i].source != part->source)
            continue;
        poses->seq[poses->n++] = rows[i].seq;
        pose_numbers(pose, &rows[i].T_wc);
        if (part->convention == FRAME_POSE_OPENGL)
            control_pose_swap_axes(pose);
    }
    return poses->n > 0;
}
