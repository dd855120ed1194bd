/*
 * recogniser_cuda.c - a recogniser's pictures on a CUDA device (recogniser_back.h)
 */
#include "gpu/base/cuda_try.h"
#include "gpu/recognise/recognise_cuda.h"
#include "gpu/recognise/recogniser_back.h"

#include <stdlib.h>

struct place {
    int device;
    struct recognise_cuda *r;
};

static void back_close(void **at)
{
    struct place *p = *at;

    *at = NULL;
    if (!p)
        return;
    (void)cudaSetDevice(p->device);
    recognise_cuda_close(&p->r);
    free(p);
}

static int back_open(void **at, int device, int w, int h, const struct library *l,
                     const struct tensor_params *t, const struct hypothesis_params *p,
                     struct err *err)
{
    /* The first picture replaces this camera. */
    const struct recognise_config config = {w,
                                            h,
                                            surface_step(w, h),
                                            {1, 1, 0, 0},
                                            surface_params_default(),
                                            *t,
                                            match_params_default(),
                                            *p};
    struct place *place;
    int n = 0, rc = 0;

    *at = NULL;
    if (cudaGetDeviceCount(&n) != cudaSuccess || device >= n)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA device %d", device);
    place = calloc(1, sizeof *place);
    if (!place)
        return err_set(err, ERR_MEMORY, "no memory for a recogniser");
    *at = place;
    place->device = device;
    CU_TRY(cudaSetDevice(device));
    rc = recognise_cuda_open(&place->r, &config, l, err);
out:
    if (rc)
        back_close(at);
    return rc;
}

static int back_run(void *at, const float *depth, struct surface *s, struct hypothesis *found,
                    uint32_t *n, struct err *err)
{
    struct place *p = at;
    int rc = 0;

    CU_TRY(cudaSetDevice(p->device));
    recognise_cuda_camera(p->r, s->K);
    rc = recognise_cuda_run(p->r, depth, NULL, found, n, s, err);
out:
    return rc;
}

static const struct recogniser_back table = {back_open, back_run, back_close};

const struct recogniser_back *const recogniser_cuda = &table;
