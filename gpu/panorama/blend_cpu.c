/* blend_cpu.c - distances of a pair into the volume: distance of each voxel before a surface, and
 * the opaque voxels (Y6), (Y7) */
#include "gpu/panorama/blend_point.h"
#include "gpu/panorama/panorama_cpu.h"

static void blend_column(struct panorama_cpu *s, int i, int j)
{
    const struct gpu_volume *v = &s->view.volume;
    size_t column = (size_t)j * (size_t)v->n[0] + (size_t)i;
    uint32_t *voxels = s->voxels + column * (size_t)v->n[2];
    uint32_t *field = s->field + column * (size_t)v->n[2];
    uint32_t *dirty = s->dirty + column * (size_t)panorama_words(v);
    struct voxel_ray ray = voxel_ray_make(v, &s->view.eye[0], i, j);

    for (int k = 0; k < v->n[2]; k++) {
        struct vec3 at = voxel_world(v, (float)i + 0.5f, (float)j + 0.5f, (float)k + 0.5f);
        uint32_t voxel = blend_voxel(&s->view, s->range, &ray, at, k, voxels[k], &field[k]);

        if ((voxel ^ voxels[k]) & VOXEL_COLOUR)
            dirty[k / 32] |= 1u << (k % 32);
        voxels[k] = voxel;
    }
}

int blend_cpu_run(struct gpu_item *item, struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(item->session);
    const struct gpu_volume *v = &s->view.volume;
    struct gpu_pair *pair = (struct gpu_pair *)item;

    (void)err;
    if (!s->view.patch || s->view.paired != GPU_PAIRED_LAID)
        return 0;
#pragma omp parallel for schedule(dynamic, 4)
    for (int j = 0; j < v->n[1]; j++)
        for (int i = 0; i < v->n[0]; i++)
            blend_column(s, i, j);
    pair->result.iterations = 1;
    pair->result.settled = 1;
    return 0;
}
