/*
 * fine_point.h - a second sweep in fine steps around a keyframe's corrected depth
 *
 * The planes of the first sweep are far apart, and a window's pixels rarely lie on one of them. So
 * single-view depth, corrected by the first sweep's measurements, guides the second: it tries each
 * pixel of a window at its own guide depth times one common factor.
 * Maths:   MATH.md (V23)-(V25)
 */
#pragma once

#include "gpu/views/contrast_point.h"
#include "gpu/views/field_point.h"
#include "gpu/views/sweep_point.h"

#define FINE_STEPS 9 /* depths to try, with the guide's in the middle */

/* (V23) Is the keyframe swept in fine steps? Not where few of its first measurements are confirmed:
 * its poses are wrong then, and a fine sweep would only repeat the guide. One thread calls it when
 * the first measurements have been compared. */
GPU_HD static inline int fine_is_wanted(const struct views *v)
{
    return v->plan.swept >= 0 && v->plan.n_sources > 0 && views_is_sound(v, v->plan.swept) &&
           views_confirms(v, v->plan.swept, v->params.fine_least_of);
}

/* Writes the answer into the plan and resets the keyframe's counts. */
GPU_HD static inline void fine_decide(struct views *v, int wanted)
{
    v->plan.fine = wanted;
    if (v->plan.swept < 0)
        return;
    v->kept[v->plan.swept].n_confirmed = 0;
    if (wanted)
        v->kept[v->plan.swept].n_measured = 0;
}

GPU_HD static inline float fine_single(const struct views *v, uint32_t i)
{
    return views_decode(v->single[views_at(v, v->plan.swept) + i]);
}

/* (V24) The first sweep's ratio to single-view depth at pixel i. Returns its weight. */
GPU_HD static inline float fine_sample(const struct views *v, uint32_t i, float *ratio)
{
    float own = views_decode(v->own[views_at(v, v->plan.swept) + i]), single = fine_single(v, i);
    *ratio = 0.0f;
    if (!(own > 0.0f && single > 0.0f))
        return 0.0f;
    *ratio = power_log2(own) - power_log2(single);
    return views_abs(*ratio) < v->params.field_most ? 1.0f : 0.0f;
}

/* (V24) The guide at pixel i: single-view depth, corrected by the field. 0 = none. */
GPU_HD static inline float fine_guide(const struct views *v, const float *nodes, uint32_t i)
{
    float single = fine_single(v, i);
    return single > 0.0f
               ? single * power_exp2(field_clamp(v, field_at(v, nodes, (int)(i % (uint32_t)v->w),
                                                             (int)(i / (uint32_t)v->w))))
               : 0.0f;
}

/* (V25) Sources are compared by their contrasts. */
GPU_HD static inline struct sweep_source fine_source_of(const struct views *v, int i)
{
    struct sweep_source s = sweep_source_of(v, i);
    s.grey = v->contrast + views_at(v, v->plan.source[i]);
    return s;
}

/* (V25) The inverse depth that step k tries at a pixel. */
GPU_HD static inline float fine_inverse(const struct sweep_planes *p, float guide, int k)
{
    return guide > 0.0f ? (1.0f + p->fine * (float)(k - FINE_STEPS / 2)) / guide : 0.0f;
}

/* (V25) scores: [FINE_STEPS] of a pixel. Returns the measured depth's code, 0 = nothing. */
GPU_HD static inline uint16_t fine_measure(const struct views *v, float guide,
                                           const int16_t *scores, const struct sweep_sums *k)
{
    int best = 0;
    float off;
    for (int d = 1; d < FINE_STEPS; d++)
        best = scores[d] > scores[best] ? d : best;
    if (!(guide > 0.0f) || best == 0 || best == FINE_STEPS - 1 ||
        scores[best] < v->params.fine_peak ||
        k->n * k->aa - k->a * k->a < v->params.fine_variance * k->n * k->n ||
        scores[best - 1] == SWEEP_NONE || scores[best + 1] == SWEEP_NONE)
        return 0;
    off = sweep_parabola(scores[best - 1], scores[best], scores[best + 1]);
    return views_code(guide /
                      (1.0f + v->params.fine_step * ((float)(best - FINE_STEPS / 2) + off)));
}

/* (V25) What pixel i measures now. A confirmed measurement of the first sweep stays where the
 * second has none. */
GPU_HD static inline uint16_t fine_own(const struct views *v, uint32_t i, uint16_t code)
{
    size_t at = views_at(v, v->plan.swept) + i;
    return code ? code : v->agree[at] >= v->params.confirmed ? v->own[at] : (uint16_t)0;
}
