/*
 * carve_cpu.c - a pair of pictures carves the volume: what hides a column, its voxels, what it
 * hides itself, again until that does not change (O3)-(O8)
 */
#include "gpu/panorama/panorama_cpu.h"

#include <string.h>

int carve_cpu_pictures(struct gpu_item *item, struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(item->session);
    struct gpu_pair *pair = (struct gpu_pair *)item;

    (void)err;
    memset(&pair->result, 0, sizeof pair->result);
    pair->changes = NULL;
    panorama_view(&s->view, pair);
    for (int e = 0; e < 2; e++) {
        const uint8_t *from = pair->eye[e].rgb;
        int n = pair->eye[e].width * pair->eye[e].height;

        for (int i = 0; i < n; i++)
            s->rgb[e][i] = (uint32_t)from[3 * i] | (uint32_t)from[3 * i + 1] << 8 |
                           (uint32_t)from[3 * i + 2] << 16;
        s->view.eye[e].rgb = s->rgb[e];
    }
    return 0;
}

static void see(struct panorama_cpu *s)
{
    const struct gpu_volume *v = &s->view.volume;

#pragma omp parallel for schedule(static)
    for (int j = 0; j < v->n[1]; j++)
        for (int i = 0; i < v->n[0]; i++)
            s->now[(size_t)j * (size_t)v->n[0] + (size_t)i] =
                (int16_t)voxel_visibility(v, s->occupied, s->view.ground, i, j);
}

/* One column after one iteration. Returns whether it hides others now. */
static int carve_column(struct panorama_cpu *s, int i, int j)
{
    const struct gpu_volume *v = &s->view.volume;
    size_t column = (size_t)j * (size_t)v->n[0] + (size_t)i;
    uint32_t *voxels = s->voxels + column * (size_t)v->n[2];
    uint32_t *dirty = s->dirty + column * (size_t)panorama_words(v), any = 0;
    struct voxel_ray ray[2];

    for (int e = 0; e < 2; e++)
        ray[e] = voxel_ray_make(v, &s->view.eye[e], i, j);
    for (int k = 0; k < v->n[2]; k++) {
        uint32_t voxel =
            voxel_update(&s->view, ray, k, voxels[k], s->before[column], s->now[column]);
        if ((voxel ^ voxels[k]) & VOXEL_COLOUR)
            dirty[k / 32] |= 1u << (k % 32);
        voxels[k] = voxel;
        any |= voxel & VOXEL_COLOUR;
    }
    return any != 0;
}

/* Columns whose visibility changed. Returns how many hide others as they did not before. */
static int carve(struct panorama_cpu *s)
{
    const struct gpu_volume *v = &s->view.volume;
    int changed = 0;

#pragma omp parallel for schedule(dynamic, 4) reduction(+ : changed)
    for (int j = 0; j < v->n[1]; j++)
        for (int i = 0; i < v->n[0]; i++) {
            size_t column = (size_t)j * (size_t)v->n[0] + (size_t)i;
            int hides;

            if (s->now[column] == s->before[column])
                continue;
            hides = carve_column(s, i, j);
            changed += hides != s->occupied[column];
            s->occupied[column] = (uint8_t)hides;
        }
    return changed;
}

int carve_cpu_run(struct gpu_item *item, struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(item->session);
    struct gpu_pair_result *result = &((struct gpu_pair *)item)->result;
    size_t n = voxel_columns(&s->view.volume);

    (void)err;
    for (size_t i = 0; i < n; i++)
        s->before[i] = -1;
    while (result->iterations < GPU_VOXELS_ITERATIONS && !result->settled) {
        see(s);
        result->settled = carve(s) == 0;
        memcpy(s->before, s->now, n * sizeof *s->before);
        result->iterations++;
    }
    return 0;
}

void carve_cpu_occupy(struct panorama_cpu *s)
{
    const struct gpu_volume *v = &s->base.config.volume;
    size_t n = voxel_columns(v);

    for (size_t column = 0; column < n; column++) {
        uint32_t any = 0;

        for (int k = 0; k < v->n[2]; k++)
            any |= s->voxels[column * (size_t)v->n[2] + (size_t)k] & VOXEL_COLOUR;
        s->occupied[column] = any != 0;
    }
}

/* (O9) What clients hold and what is, voxel by voxel; what does not fit the list waits. */
int carve_cpu_publish(struct gpu_item *item, struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(item->session);
    struct gpu_pair *pair = (struct gpu_pair *)item;
    struct gpu_pair_result *r = &pair->result;
    const struct gpu_volume *v = &s->view.volume;
    size_t n = voxel_columns(v), words = (size_t)panorama_words(v);

    (void)err;
    for (size_t column = 0; column < n; column++)
        for (int k = 0; k < v->n[2]; k++) {
            size_t word = column * words + (size_t)(k / 32);
            uint32_t bit = 1u << (k % 32),
                     number = (uint32_t)(column * (size_t)v->n[2]) + (uint32_t)k;
            uint32_t colour = s->voxels[number] & VOXEL_COLOUR;

            r->n_opaque += colour != 0;
            if (!(s->dirty[word] & bit))
                continue;
            if (!colour && !(s->told[word] & bit)) {
                s->dirty[word] &= ~bit;
                continue;
            }
            if (r->n_changes == item->session->config.max_points) {
                r->n_waiting++;
                continue;
            }
            s->changes[r->n_changes++] = (struct gpu_voxel_change){
                number,
                {(uint8_t)colour, (uint8_t)(colour >> 8), (uint8_t)(colour >> 16)},
                colour ? GPU_CHANGE_PUT : GPU_CHANGE_REMOVE};
            s->dirty[word] &= ~bit;
            s->told[word] = colour ? s->told[word] | bit : s->told[word] & ~bit;
        }
    pair->changes = s->changes;
    return 0;
}
