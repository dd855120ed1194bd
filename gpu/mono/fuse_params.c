/*
 * fuse_params.c - the constants of fusion: tuned values and their limits
 */
#include "gpu/gpu.h"

#include <math.h>
#include <stdio.h>

void fuse_params_default(struct fuse_params *p)
{
    p->n_covisible = 5;
    p->max_keyframes = 64;
    p->w0 = 1.0f;
    p->w_max = 100.0f;
    p->sigma = 0.6f;
    p->gate_rel = 0.18f;
    p->initial_rel = 0.14f;
    p->stable_rel = 0.07f;
    p->hysteresis_rel = 0.007f;
    p->min_observations = 4;
    p->grace_frames = 15;
    p->carve_votes = 6;
    p->carve_rel = 0.22f;
    p->edge_rel = 0.08f;
    p->min_depth_m = 0.1f;
    p->max_depth_m = 80.0f;
    p->kf_translation_rel = 0.15f;
    p->kf_rotation_rad = 0.25f;
    p->kf_new_share = 0.25f;
    p->publish_rel = 0.025f;
    p->publish_colour = 16;
    p->cells = 0;
    p->cell_m = 0.02f;
    p->cell_depth_m = 3.0f;
    params_fill(&p->mono, &mono_params_stage, NULL, NULL);
}

void fuse_params_cells(struct fuse_params *p)
{
    fuse_params_default(p);
    p->cells = 1;
    p->sigma = 100.0f; /* all pixels have about the same weight */
    p->min_observations = 3;
    p->grace_frames = 40;
    p->carve_votes = 2;
    p->carve_rel = 0.1f;
    p->publish_rel = 0.003f;
    p->kf_new_share = 1.0f; /* every frame meets new cubes, so poses alone decide */
}

int fuse_params_check(const struct fuse_params *p, struct err *err)
{
    const struct {
        const char *field;
        double v, lo, hi;
    } ranges[] = {
        {"n_covisible", p->n_covisible, 2, GPU_COVISIBLE_MAX},
        /* one keyframe can always be dropped */
        {"max_keyframes", p->max_keyframes, p->n_covisible + 1, 1024},
        {"min_observations", p->min_observations, 2, 65535},
        {"grace_frames", p->grace_frames, 1, 1000000},
        {"carve_votes", p->carve_votes, 1, 255},
        {"publish_colour", p->publish_colour, 1, 256},
        {"w0", p->w0, 1e-3f, 100.0f},
        {"w_max", p->w_max, p->w0, 1e6f},
        {"sigma", p->sigma, 0.05f, 100.0f},
        {"gate_rel", p->gate_rel, 1e-4f, 1.0f},
        {"initial_rel", p->initial_rel, 0.0f, 1.0f},
        {"stable_rel", p->stable_rel, 1e-4f, 1.0f},
        {"hysteresis_rel", p->hysteresis_rel, 0.0f, p->stable_rel},
        {"carve_rel", p->carve_rel, 1e-3f, 1.0f},
        {"edge_rel", p->edge_rel, 0.0f, 10.0f},
        {"min_depth_m", p->min_depth_m, 0.01f, 1e4f},
        {"max_depth_m", p->max_depth_m, p->min_depth_m, 1e5f},
        {"kf_translation_rel", p->kf_translation_rel, 1e-3f, 10.0f},
        {"kf_rotation_rad", p->kf_rotation_rad, 1e-3f, 3.1416f},
        {"kf_new_share", p->kf_new_share, 0.0f, 1.0f},
        {"publish_rel", p->publish_rel, 0.0f, 1.0f},
        {"cell_m", p->cell_m, 1e-3f, 10.0f},
        {"cell_depth_m", p->cell_depth_m, 0.01f, 1e4f},
    };
    char where[ERR_WHERE_CAP];

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (ranges[i].v >= ranges[i].lo && ranges[i].v <= ranges[i].hi)
            continue;
        snprintf(where, sizeof where, "/fusion/%s", ranges[i].field);
        return err_at(err, ERR_INPUT, where, "%.7g: allowed are %.7g to %.7g", ranges[i].v,
                      ranges[i].lo, ranges[i].hi);
    }
    return 0;
}
