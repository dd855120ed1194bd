/*
 * carve_cpu.c - a pair of pictures carves the volume: a column's visibility, its voxels and its
 * occupancy, repeated until occupancy does not change (O3)-(O8)
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
    panorama_view(&s->view, &s->kept, pair);
    pair->result.paired = s->view.paired;
    for (int e = 0; e < 2; e++) {
        const uint8_t *from = pair->eye[e].rgb;
        uint32_t *to = s->rgb[e ? s->kept.at : 1 - s->kept.at];
        int n = e < s->view.n_pictures ? pair->eye[e].width * pair->eye[e].height : 0;

        for (int i = 0; i < n; i++)
            to[i] = (uint32_t)from[3 * i] | (uint32_t)from[3 * i + 1] << 8 |
                    (uint32_t)from[3 * i + 2] << 16;
        s->view.eye[e].rgb = to;
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

/* Updates one column in one iteration. Returns whether it hides others now. */
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

/* Updates columns whose visibility changed. Returns how many begin or cease to hide others. */
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
    if (s->view.patch || s->view.paired != GPU_PAIRED_LAID) {
        result->settled = 1;
        return 0;
    }
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

/* Adds the change of voxel `number`, bit `bit` of its words; without room the change waits. */
static void carve_tell(struct panorama_cpu *s, struct gpu_pair_result *r, uint32_t number,
                       uint32_t *dirty, uint32_t *told, uint32_t bit)
{
    uint32_t colour = s->voxels[number] & VOXEL_COLOUR;

    if (!colour && !(*told & bit)) {
        *dirty &= ~bit;
        return;
    }
    if (r->n_changes == s->base.config.max_points) {
        r->n_waiting++;
        return;
    }
    s->changes[r->n_changes++] = (struct gpu_voxel_change){
        number,
        {(uint8_t)colour, (uint8_t)(colour >> 8), (uint8_t)(colour >> 16)},
        colour ? GPU_CHANGE_PUT : GPU_CHANGE_REMOVE};
    *dirty &= ~bit;
    *told = colour ? *told | bit : *told & ~bit;
}

uint32_t carve_cpu_count(const struct panorama_cpu *s)
{
    size_t n = panorama_voxels(&s->base.config);
    uint32_t opaque = 0;

    for (size_t i = 0; i < n; i++)
        opaque += (s->voxels[i] & VOXEL_COLOUR) != 0;
    return opaque;
}

/* (O9) Compares the published volume with the present one, voxel by voxel. */
int carve_cpu_publish(struct gpu_item *item, struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(item->session);
    struct gpu_pair *pair = (struct gpu_pair *)item;
    const struct gpu_volume *v = &s->view.volume;
    size_t n = voxel_columns(v), words = (size_t)panorama_words(v);

    (void)err;
    for (size_t w = 0; w < n * words; w++) {
        uint32_t first = (uint32_t)(w / words * (size_t)v->n[2] + w % words * 32);

        for (uint32_t bits = s->dirty[w], k = 0; bits; bits >>= 1, k++)
            if (bits & 1)
                carve_tell(s, &pair->result, first + k, &s->dirty[w], &s->told[w], 1u << k);
    }
    if (s->view.paired == GPU_PAIRED_LAID)
        s->n_opaque = carve_cpu_count(s);
    pair->result.n_opaque = s->n_opaque;
    pair->changes = s->changes;
    panorama_keep(&s->kept, pair);
    return 0;
}
