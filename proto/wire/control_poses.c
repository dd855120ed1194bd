#include "proto/wire/control_internal.h"

#include <stdint.h>

void control_poses_parse(const struct json_at *at, struct control_poses *poses)
{
    const struct json *seqs = json_member(at->map, "seqs"), *list = json_member(at->map, "poses");
    size_t n = json_count(seqs);

    json_require(at, "revision");
    json_get_u64(at, "revision", &poses->revision, 0, INT64_MAX);
    if (json_kind(seqs) != JSON_KIND_LIST || n == 0 || n > CONTROL_POSES_MAX) {
        json_note(at, "seqs", "must be a list of 1 to %d numbers", CONTROL_POSES_MAX);
        return;
    }
    if (json_kind(list) != JSON_KIND_LIST || json_count(list) != n) {
        json_note(at, "poses", "must be a list as long as seqs");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t seq = json_i64(json_item(seqs, i));

        if (json_kind(json_item(seqs, i)) != JSON_KIND_INTEGER || seq < 0)
            json_note(at, "seqs", "must be numbers of frames");
        if (!control_pose_read(json_item(list, i), poses->pose[i]))
            json_note(at, "poses", "must be unit quaternions x y z w and positions");
        poses->seq[i] = (uint64_t)seq;
    }
    poses->n = (int)n;
}

void control_poses_write(struct json_writer *w, const struct control_poses *poses)
{
    json_put_u64(w, "revision", poses->revision);
    json_open_list(w, "seqs");
    for (int i = 0; i < poses->n; i++)
        json_put_u64(w, NULL, poses->seq[i]);
    json_close(w);
    json_open_list(w, "poses");
    for (int i = 0; i < poses->n; i++)
        control_pose_write(w, NULL, poses->pose[i]);
    json_close(w);
}
