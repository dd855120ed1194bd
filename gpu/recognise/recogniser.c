#include "gpu/recognise/recogniser.h"

#include "gpu/recognise/hypothesis_pose.h"
#include "gpu/recognise/recogniser_back.h"

#include <stdlib.h>
#include <string.h>

struct recogniser {
    const struct library *library;
    struct tensor_params tensor;
    struct surface surface;
    struct tensors tensors;
    struct hypothesis_params hypothesis;
    struct hypotheses hypotheses;
    uint64_t *best;                     /* [tensor.n][objects] */
    const struct recogniser_back *back; /* NULL: on the processor */
    void *at;
};

static struct tensor_params params_of(const struct library *l)
{
    struct tensor_params p = tensor_params_default();

    p.unit_m = l->unit_m;
    p.voxel = l->voxel;
    return p;
}

/* Memory for poses; on a device also the library's points and poses. */
static size_t pose_bytes(const struct library *l, uint32_t tensors)
{
    const struct hypothesis_params hp = hypothesis_params_default();
    struct hypothesis_room room = hypothesis_room(l, tensors, &hp);

    return room.guesses * sizeof(struct hypothesis_guess) + room.points * sizeof(int32_t) +
           (room.tries + HYPOTHESES_MAX) * sizeof(struct hypothesis) +
           l->n_points * sizeof(struct object_point) + l->n_tensors * sizeof(struct rigid);
}

size_t recogniser_bytes(int w, int h, const struct library *l)
{
    struct tensor_params p = params_of(l);
    struct surface s = {0};
    size_t pixels, n = (size_t)p.n;

    surface_shape(&s, w, h, (struct intrinsics){1, 1, 0, 0}, surface_step(w, h));
    pixels = (size_t)s.w * (size_t)s.h;
    return sizeof(struct recogniser) + (size_t)w * (size_t)h * sizeof *s.depth +
           pixels * (sizeof *s.filtered + sizeof *s.point + sizeof *s.normal + sizeof *s.mesh + 1) +
           tensor_cells(&p, s.w, s.h) * sizeof(uint64_t) +
           n * (sizeof(struct tensor) + sizeof(uint32_t) + l->n_objects * sizeof(uint64_t)) +
           l->n_tensors * (sizeof *l->tensor + sizeof *l->from) + l->n_entries * sizeof *l->entry +
           pose_bytes(l, (uint32_t)p.n);
}

/* The N of "cuda:N"; -1: the processor. */
static int cuda_of(const char *device)
{
    if (strncmp(device, "cuda", 4) != 0)
        return -1;
    return device[4] == ':' ? atoi(device + 5) : 0;
}

static int open_back(struct recogniser *r, int number, int w, int h, struct err *err)
{
    if (!recogniser_cuda)
        return err_set(err, ERR_UNSUPPORTED, "this build has no CUDA to recognise objects with");
    r->back = recogniser_cuda;
    return r->back->open(&r->at, number, w, h, r->library, &r->tensor, &r->hypothesis, err);
}

/* Memory for computing on the processor. */
static int open_host(struct recogniser *r, struct err *err)
{
    int rc = tensor_new(&r->tensors, &r->surface, &r->tensor, err);

    r->best = malloc((size_t)r->tensor.n * r->library->n_objects * sizeof *r->best);
    if (rc == 0 && !r->best)
        rc = err_set(err, ERR_MEMORY, "no memory for a recogniser's matches");
    return rc ? rc
              : hypothesis_new(&r->hypotheses, &r->surface, (uint32_t)r->tensor.n, r->library,
                               &r->hypothesis, err);
}

int recogniser_open(struct recogniser **out, const char *device, int w, int h,
                    const struct library *l, struct err *err)
{
    const struct intrinsics any = {1, 1, 0, 0}; /* holds until the first picture */
    struct recogniser *r = NULL;
    int rc = surface_check(w, h, &any, err), number = cuda_of(device);

    *out = NULL;
    if (rc)
        return rc;
    r = calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory for a recogniser");
    r->library = l;
    r->tensor = params_of(l);
    r->hypothesis = hypothesis_params_default();
    rc = surface_new(&r->surface, w, h, any, surface_step(w, h), err);
    if (rc == 0)
        rc = number < 0 ? open_host(r, err) : open_back(r, number, w, h, err);
    if (rc)
        recogniser_close(&r);
    *out = r;
    return rc;
}

void recogniser_close(struct recogniser **out)
{
    struct recogniser *r = *out;

    *out = NULL;
    if (!r)
        return;
    if (r->back)
        r->back->close(&r->at);
    hypothesis_free(&r->hypotheses);
    tensor_free(&r->tensors);
    surface_free(&r->surface);
    free(r->best);
    free(r);
}

int recogniser_run(struct recogniser *r, const float *depth, struct intrinsics K,
                   struct hypothesis *found, uint32_t *n, struct err *err)
{
    const struct surface_params sp = surface_params_default();
    const struct match_params mp = match_params_default();
    struct surface *s = &r->surface;
    int rc = surface_check(s->depth_w, s->depth_h, &K, err);

    *n = 0;
    if (rc)
        return rc;
    surface_shape(s, s->depth_w, s->depth_h, K, s->step);
    if (r->back)
        return r->back->run(r->at, depth, s, found, n, err);
    s->depth = depth;
    surface_cpu_run(s, &sp);
    s->depth = NULL; /* the caller owns it */
    tensor_cpu_run(&r->tensors, &r->tensor);
    match_cpu_run(r->best, r->tensors.tensor, *r->tensors.n_tensors, r->library, &mp);
    hypothesis_cpu_run(&r->hypotheses, &r->tensors, r->best, r->library, &r->hypothesis);
    *n = *r->hypotheses.n_found;
    memcpy(found, r->hypotheses.found, *n * sizeof *found);
    return 0;
}

struct hypothesis_view recogniser_judge(const struct recogniser *r, uint32_t object,
                                        const struct rigid *T_co)
{
    return hypothesis_cpu_judge(&r->surface, r->library->object[object], T_co, &r->hypothesis);
}
