/*
 * fake_core_make.h - what fake_core.c makes of a session: its id, its options in full, its poses,
 * its bundle
 */
#pragma once

#include "api/api.h"

#include <string.h>

static inline void make_id(char id[API_ID_CAP], uint64_t rank)
{
    static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint64_t v = (rank + 1) * 0x9e3779b97f4a7c15u;

    for (int i = 0; i < 26; i++) {
        id[i] = base32[v >> 59];
        v = v << 5 ^ (v >> 59) * 0x2545f4914f6cdd1du;
    }
    id[26] = '\0';
}

static inline void resolve(struct session_options *o)
{
    static const struct session_options standard = {.step_m = 0.001f,
                                                    .max_points = 1000000,
                                                    .keyframes = 5,
                                                    .min_depth_m = 0.1f,
                                                    .max_depth_m = 10,
                                                    .retention_s = 3600,
                                                    .journal = SESSION_JOURNAL_OFF,
                                                    .mode = SESSION_LIVE,
                                                    .fps = 30};

    if (!o->depth_model[0])
        strcpy(o->depth_model, "depth-small");
    if (!o->motion_model[0])
        strcpy(o->motion_model, "motion-small");
    o->net_h = o->net_w ? o->net_h : 192;
    o->net_w = o->net_w ? o->net_w : 256;
    session_options_fill(o, &standard);
}

static inline void make_pose(struct session_pose *p, uint64_t i, uint32_t submap)
{
    *p = (struct session_pose){i, i * 33333333u, rigid_identity(), 0, submap};
    p->T_wc.t[0] = (float)i;
}

static inline int refine(struct session_info *info, struct err *err)
{
    if (info->state != SESSION_CLOSED)
        return err_set(err, ERR_STATE, "it is not closed");
    info->bundle = (struct api_bundle){API_BUNDLE_CORRECTED, 36, 53, 0.25f};
    return 0;
}
