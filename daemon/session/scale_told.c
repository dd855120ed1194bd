#include "daemon/session/scale_told.h"

#include <math.h>

#define LN_2 0.69314718f

bool scale_told_of(const struct gpu_result *r, float *scale, float *sigma)
{
    *scale = *sigma = 0;
    if (r->tracks.state == GPU_TRACKS_FOUND && r->tracks.log_sigma > 0) {
        *scale = expf(-r->tracks.log_scale);
        *sigma = r->tracks.log_sigma;
    } else if (r->views.log_sigma > 0) {
        *scale = exp2f(r->views.log_scale);
        *sigma = LN_2 * r->views.log_sigma;
    }
    return *sigma > 0;
}

void scale_told_note(struct scale_told *t, const struct gpu_result *r)
{
    float scale, sigma;

    if (!scale_told_of(r, &scale, &sigma))
        return;
    t->scale[t->n % SCALE_TOLD_FRAMES] = scale;
    t->sigma[t->n % SCALE_TOLD_FRAMES] = sigma;
    t->n++;
}

/* Returns the median, the lower one of an even number. */
static float scale_median(const float *values, uint32_t n)
{
    float sorted[SCALE_TOLD_FRAMES];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;

        for (; k > 0 && sorted[k - 1] > values[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = values[i];
    }
    return sorted[(n - 1) / 2];
}

struct api_scale scale_told_say(const struct scale_told *t)
{
    const uint32_t n = t->n < SCALE_TOLD_FRAMES ? t->n : SCALE_TOLD_FRAMES;
    struct api_scale said = {.known = n > 0};

    if (!said.known)
        return said;
    said.last = t->scale[(t->n - 1) % SCALE_TOLD_FRAMES];
    said.sigma = t->sigma[(t->n - 1) % SCALE_TOLD_FRAMES];
    said.median = scale_median(t->scale, n);
    said.median_sigma = scale_median(t->sigma, n);
    return said;
}
