/* panorama_cpu.h - the CPU back end's panorama session (internal to gpu/ and its
 * tests) */
#pragma once

#include "gpu/base/ops.h"
#include "gpu/panorama/panorama.h"
#include "gpu/panorama/range_point.h"

struct panorama_cpu {
    struct gpu_session base;
    size_t arena_bytes;
    uint32_t *voxels;       /* [columns][n[2]] */
    uint32_t *dirty, *told; /* [columns][words] */
    uint8_t *occupied;      /* [columns]: not 0 where a voxel is opaque */
    int16_t *before, *now;  /* [columns] visibility in the previous iteration, in the present one */
    uint32_t *rgb[2];       /* [max_image_h][max_image_w] */
    struct gpu_voxel_change *changes; /* [max_points] */
    /* consistency `patch` alone: (Y7); a view's pixels of the cylinder, their labels */
    uint32_t *field;   /* [columns][n[2]] */
    uint32_t *look[2]; /* [h][w] */
    uint8_t *costs;    /* [h][w][stride] */
    uint16_t *sums;    /* the same */
    uint16_t *at4;     /* [h][w] disparity of the best label */
    uint32_t *front;   /* [h][w] of the second camera: the largest disparity that ends there */
    struct range_pixel *range;
    uint32_t n_opaque; /* after the last view */
    struct panorama_kept kept;
    struct voxel_view view;
};

static inline struct panorama_cpu *panorama_cpu_of(struct gpu_session *s)
{
    return (struct panorama_cpu *)s;
}

/* The stages, one pair each: rows of gpu_line_panorama. */
int carve_cpu_pictures(struct gpu_item *item, struct err *err);
int range_cpu_run(struct gpu_item *item, struct err *err); /* of `patch` */
int carve_cpu_run(struct gpu_item *item, struct err *err); /* of `paper` */
int blend_cpu_run(struct gpu_item *item, struct err *err); /* of `patch` */
int carve_cpu_publish(struct gpu_item *item, struct err *err);

/* Sets `occupied` from the voxels. */
void carve_cpu_occupy(struct panorama_cpu *s);
/* Returns the number of opaque voxels. */
uint32_t carve_cpu_count(const struct panorama_cpu *s);
