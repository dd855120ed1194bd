#include "gpu/mono/session_cpu.h"

#include "gpu/mono/associate_point.h"

/* (E1), and the median of the usable depths. */
static void take_depth(struct session_cpu *s)
{
    const struct fuse_params *p = &s->base.config.fuse;
    const float edge_rel = view_edge_rel(s->view.is_of_views, s->w, p);
    uint32_t below = 0;
    int bin = 0;

    memset(s->bins, 0, ASSOCIATE_BINS * sizeof *s->bins);
    s->n_valid = 0;
    s->median_depth_m = 0.0f;
    for (int y = 0; y < s->h; y++)
        for (int x = 0; x < s->w; x++) {
            float z = associate_depth(s->view.depth, s->view.trust, x, y, s->w, s->h, edge_rel, p);
            s->usable[(size_t)y * s->w + x] = z;
            if (z > 0.0f) {
                s->bins[associate_bin(z)]++;
                s->n_valid++;
            }
        }
    if (s->n_valid == 0)
        return;
    while ((below += s->bins[bin]) < (s->n_valid + 1) / 2)
        bin++;
    s->median_depth_m = associate_bin_depth(bin);
}

/* (2), (A1), (A3): what pixel observes and sees through, over the co-visible keyframes. */
static void look_up(struct session_cpu *s, uint32_t pixel)
{
    const struct fuse_params *p = &s->base.config.fuse;
    struct vec3 p_i = s->world[pixel];
    float z = s->usable[pixel], best2 = INFINITY, front = INFINITY;

    s->found[pixel] = POINT_NONE;
    s->through[pixel] = POINT_NONE;
    for (int k = 0; k < s->n_covisible; k++) {
        uint32_t place = s->covisible[k].place, u_k;
        struct map_cell cell;
        struct vec3 q;
        float z_k, d2;
        if (!point_project(&s->keyframes[place].camera, p_i, &u_k, &z_k))
            continue;
        cell = s->maps[(size_t)place * s->n_pixels + u_k];
        if (!point_cell_live(cell, s->place))
            continue;
        q = point_position(&s->place[cell.slot]);
        d2 = vec3_norm2(vec3_sub(p_i, q));
        if (associate_in_gate(d2, z, p->gate_rel)) {
            if (d2 < best2) {
                best2 = d2;
                s->found[pixel] = cell.slot;
            }
        } else if (associate_through(&s->view.camera, s->usable, q, p->carve_rel, &z_k) &&
                   z_k < front) {
            front = z_k;
            s->through[pixel] = cell.slot;
        }
    }
    s->distance[pixel] = sqrtf(best2);
}

/* (A2) Each point goes to one pixel: the nearest, then the first. */
static void associate_claim(struct session_cpu *s, uint32_t pixel)
{
    uint32_t slot = s->found[pixel];
    uint64_t key = point_claim(s->distance[pixel], pixel);
    if (key < s->claims[slot])
        s->claims[slot] = key;
}

int associate_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);

    (void)err;
    take_depth(s);
    s->n_associated = 0;
    s->room_short =
        s->table && s->n_free + (s->base.config.max_points - s->n_slots) < 2 * s->n_pixels;
    for (uint32_t i = 0; i < s->n_pixels; i++) {
        uint32_t pixel = s->visit ? s->visit[i] : i;
        float z = s->usable[pixel];
        s->found[pixel] = POINT_NONE;
        s->through[pixel] = POINT_NONE;
        if (!(z > 0.0f))
            continue;
        s->world[pixel] = point_back_project(&s->view.camera, (int)(pixel % (uint32_t)s->w),
                                             (int)(pixel / (uint32_t)s->w), z);
        if (s->table)
            cell_cpu_look_up(s, pixel);
        else
            look_up(s, pixel);
        if (s->found[pixel] != POINT_NONE) {
            s->n_associated++;
            associate_claim(s, pixel);
        }
    }
    f->result.n_valid = s->n_valid;
    f->result.n_associated = s->n_associated;
    f->result.median_depth_m = s->median_depth_m;
    return 0;
}
