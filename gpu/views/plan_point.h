/*
 * plan_point.h - what a frame has to do: whether it becomes a keyframe, which keyframe is swept or
 * final now, and which others see the same
 *
 * Keyframes are chosen by VIEWS_GRID samples of the view's single-view depth.
 * Maths:   MATH.md (V3), (V4), (V21)
 */
#pragma once

#include "gpu/views/views_point.h"

#define PLAN_UNSEEN (-1.0f)

/* How a keyframe sees the samples of a view. */
struct plan_sight {
    float share, parallax; /* mean sine of the angle between both cameras' rays to a sample */
};

/* Sample i of a map, as a pixel. */
GPU_HD static inline uint32_t plan_pixel(int i, int w, int h)
{
    int x = (2 * (i % VIEWS_GRID_W) + 1) * w / (2 * VIEWS_GRID_W);
    int y = (2 * (i / VIEWS_GRID_W) + 1) * h / (2 * VIEWS_GRID_H);
    return (uint32_t)y * (uint32_t)w + (uint32_t)x;
}

/* How many samples with depth are nearer than sample i; ties go by index. */
GPU_HD static inline int plan_rank(const float *z, int i)
{
    int n = 0;
    for (int k = 0; k < VIEWS_GRID; k++)
        n += z[k] > 0.0f && (z[k] < z[i] || (z[k] == z[i] && k < i));
    return n;
}

GPU_HD static inline int plan_count(const float *z)
{
    int n = 0;
    for (int k = 0; k < VIEWS_GRID; k++)
        n += z[k] > 0.0f;
    return n;
}

/* Notes sample i if it is one of the quantiles 4, 50 and 96 % of n. */
GPU_HD static inline void plan_quantile(struct views_plan *p, const float *z, int i, int n)
{
    int rank = z[i] > 0.0f ? plan_rank(z, i) : -1;
    if (rank == (n - 1) * 4 / 100)
        p->near_m = z[i];
    if (rank == (n - 1) / 2)
        p->median_m = z[i];
    if (rank == (n - 1) * 96 / 100)
        p->far_m = z[i];
}

/* From a view's camera to another camera, and the other's place. */
struct plan_between {
    struct rigid T;
    struct vec3 eye;
};

GPU_HD static inline struct plan_between plan_between(const struct views_camera *view,
                                                      const struct views_camera *other)
{
    struct plan_between o;
    struct rigid back;
    o.T = rigid_mul(&other->T_cw, &view->T_wc);
    back = rigid_inverse(&o.T);
    o.eye = vec3_make(back.t[0], back.t[1], back.t[2]);
    return o;
}

GPU_HD static inline int plan_faces(const struct views *v, const struct plan_between *o)
{
    return o->T.r[8] >= v->params.plan_facing_cos;
}

/* (V4) The sine of the angle between both cameras' rays to sample i at depth z; a sample without
 * depth has the median. PLAN_UNSEEN: the other camera does not see it. */
GPU_HD static inline float plan_sine(const struct views *v, int i, float z, float median_m,
                                     const struct views_camera *view,
                                     const struct views_camera *other, const struct plan_between *o)
{
    uint32_t at = plan_pixel(i, v->w, v->h);
    struct vec3 a = views_ray(&view->K, (int)(at % (uint32_t)v->w), (int)(at / (uint32_t)v->w),
                              z > 0.0f ? z : median_m);
    struct vec3 b = vec3_sub(a, o->eye), c;
    float u, y;
    if (!views_project(&other->K, v->w, v->h, rigid_apply(&o->T, a), &u, &y))
        return PLAN_UNSEEN;
    c = vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
    return sqrtf(vec3_norm2(c) / (vec3_norm2(a) * vec3_norm2(b)));
}

/* (V4) sines: [VIEWS_GRID], added up in their order. */
GPU_HD static inline struct plan_sight plan_sight(const float *sines)
{
    struct plan_sight s;
    float sum = 0.0f;
    int n = 0;
    for (int i = 0; i < VIEWS_GRID; i++)
        if (sines[i] != PLAN_UNSEEN) {
            sum += sines[i];
            n++;
        }
    s.share = (float)n / (float)VIEWS_GRID;
    s.parallax = n > 0 ? sum / (float)n : 0.0f;
    return s;
}

/* Does this place hold a keyframe of the frame's strand? */
GPU_HD static inline int plan_is_kept(const struct views *v, int place)
{
    return place < (int)v->n_places && v->plan.strand >= 0 &&
           v->kept[place].strand == v->plan.strand;
}

/* Is that keyframe of this walk? */
GPU_HD static inline int plan_is_near(const struct views *v, int place, uint32_t walk)
{
    return plan_is_kept(v, place) && v->kept[place].walk == walk;
}

/* Is it of the swept keyframe's walk, and was it swept before this frame? */
GPU_HD static inline int plan_is_swept(const struct views *v, int place)
{
    return place != v->plan.swept && plan_is_near(v, place, v->kept[v->plan.swept].walk) &&
           v->kept[place].index < v->strand[v->plan.strand].n_swept;
}

/* The place of the strand's keyframe with this index; -1: none. */
GPU_HD static inline int plan_place(const struct views *v, uint32_t index)
{
    for (int j = 0; j < VIEWS_KEPT; j++)
        if (plan_is_kept(v, j) && v->kept[j].index == index)
            return j;
    return -1;
}

/* The place of the oldest keyframe of a strand that has some. */
GPU_HD static inline int plan_oldest(const struct views *v, int strand)
{
    int oldest = -1;
    for (int j = 0; j < (int)v->n_places; j++)
        if (v->kept[j].strand == strand && (oldest < 0 || v->kept[j].index < v->kept[oldest].index))
            oldest = j;
    return oldest;
}

/* (V3) The place of a new keyframe. A full strand gives its own oldest keyframe's; otherwise it is
 * a free place, or the oldest of the strand with the most keyframes, its own among equals. */
GPU_HD static inline int plan_room(struct views *v)
{
    int n[VIEWS_STRANDS] = {0}, most = v->plan.strand, unused = -1;
    for (int j = 0; j < (int)v->n_places; j++)
        if (v->kept[j].strand >= 0)
            n[v->kept[j].strand]++;
        else if (unused < 0)
            unused = j;
    if (n[most] >= VIEWS_OF_STRAND)
        return plan_oldest(v, most);
    if (unused >= 0)
        return unused;
    if (v->n_places < VIEWS_KEPT)
        return (int)v->n_places++;
    for (int i = 0; i < VIEWS_STRANDS; i++)
        if (n[i] > n[most])
            most = i;
    return plan_oldest(v, most);
}

/* (V3) Does the frame become a keyframe? It does where its camera has moved or turned away from the
 * last keyframe's. One thread calls it when the quantiles of depth are known. */
GPU_HD static inline int plan_is_new(const struct views *v)
{
    const struct views_strand *s = &v->strand[v->plan.strand];
    struct rigid T;
    float t2;
    int last;
    if (!(v->plan.median_m > 0.0f))
        return 0;
    last = s->n_taken == s->first ? -1 : plan_place(v, s->n_taken - 1);
    if (last < 0)
        return 1;
    T = rigid_mul(&v->kept[last].camera.T_cw, &v->plan.camera.T_wc);
    t2 = T.t[0] * T.t[0] + T.t[1] * T.t[1] + T.t[2] * T.t[2];
    return t2 > v->params.plan_moved_rel * v->params.plan_moved_rel * v->plan.median_m *
                    v->plan.median_m ||
           !((T.r[0] + T.r[4] + T.r[8] - 1.0f) * 0.5f >= v->params.plan_rotated_cos);
}

/* A keyframe of an earlier walk does not wait. */
GPU_HD static inline int plan_is_due(const struct views *v, uint32_t index, uint32_t keyframes,
                                     uint32_t frames)
{
    const struct views_strand *s = &v->strand[v->plan.strand];
    int place = plan_place(v, index);
    return index < s->n_taken &&
           (index < s->first || place < 0 || s->n_taken - 1 - index >= keyframes ||
            s->frame - v->kept[place].frame >= frames);
}

/* The strand of a frame's source: its own, else a free one, else the one idle for longest, if that
 * is long enough. -1: none. */
GPU_HD static inline int plan_strand(const struct views *v, uint32_t source)
{
    int idle = 0;
    for (int i = 0; i < VIEWS_STRANDS; i++)
        if (v->strand[i].used && v->strand[i].source == source)
            return i;
    for (int i = 1; i < VIEWS_STRANDS; i++)
        if (v->strand[i].used < v->strand[idle].used)
            idle = i;
    return !v->strand[idle].used || v->frame - v->strand[idle].used > v->params.idle_frames ? idle
                                                                                            : -1;
}

/* Frees the places of the strand's keyframes before this index. */
GPU_HD static inline void plan_free(struct views *v, int strand, uint32_t index)
{
    for (int j = 0; j < (int)v->n_places; j++)
        if (v->kept[j].strand == strand && v->kept[j].index < index)
            v->kept[j].strand = -1;
}

/* (V3) Adds the frame to its strand. Where nothing connects it with the last frame a walk begins;
 * earlier walks' keyframes go when all of them are final. */
GPU_HD static inline void plan_join(struct views *v, const struct views_frame *f)
{
    struct views_strand *s = &v->strand[v->plan.strand];
    int same = s->used && s->source == f->source;
    if (!same) {
        plan_free(v, v->plan.strand, UINT32_MAX);
        memset(s, 0, sizeof *s);
        memset(&v->anchor[v->plan.strand], 0, sizeof *v->anchor);
    }
    if (!same || (s->submap != f->submap && !f->goes_on) || s->breaks != f->breaks || f->begins) {
        s->first = s->n_taken;
        memset(&v->length[v->plan.strand], 0, sizeof *v->length);
    }
    if (s->n_final >= s->first)
        plan_free(v, v->plan.strand, s->first);
    s->source = f->source;
    s->submap = f->submap;
    s->breaks = f->breaks;
    s->used = v->frame;
    s->frame++;
}

/* (V21) log2 of the correction of the poses' length. Poses up to 1.25 times too long are believed,
 * and so are those from 1.8 times on: there the network errs rather than the poses. From 1.32 to
 * 1.6 times the correction is whole; between these ranges it is a share. */
GPU_HD static inline float plan_stretch(const struct views_params *p, const struct views_length *l)
{
    float a = l->mean < 0.0f ? -l->mean : l->mean;
    if (l->n < p->plan_stretch_frames || a < p->plan_stretch_from || a > p->plan_stretch_none)
        return 0.0f;
    if (a < p->plan_stretch_all)
        return l->mean * (a - p->plan_stretch_from) / (p->plan_stretch_all - p->plan_stretch_from);
    if (a > p->plan_stretch_last)
        return l->mean * (p->plan_stretch_none - a) / (p->plan_stretch_none - p->plan_stretch_last);
    return l->mean;
}

GPU_HD static inline void plan_begin(struct views *v, const struct views_frame *f)
{
    struct views_plan *p = &v->plan;
    p->taken = p->swept = p->final = -1;
    p->again = p->fine = 0;
    p->n_sources = p->n_pool[VIEWS_FINAL] = p->n_pool[VIEWS_FRAME] = 0;
    p->near_m = p->median_m = p->far_m = 0.0f;
    v->frame++;
    p->strand = plan_strand(v, f->source);
    p->stretch = 0.0f;
    if (p->strand >= 0) {
        plan_join(v, f);
        p->stretch = plan_stretch(&v->params, &v->length[p->strand]);
    }
}

GPU_HD static inline void plan_decide(struct views *v)
{
    struct views_plan *p = &v->plan;
    struct views_strand *s = &v->strand[p->strand < 0 ? 0 : p->strand];
    if (p->strand < 0)
        return;
    if (plan_is_new(v)) {
        struct views_kept *k;
        p->taken = plan_room(v);
        k = &v->kept[p->taken];
        k->strand = p->strand;
        k->submap = s->submap;
        k->walk = s->first;
        k->index = s->n_taken++;
        k->frame = s->frame;
        k->near_m = p->near_m;
        k->median_m = p->median_m;
        k->far_m = p->far_m;
        k->n_measured = k->n_confirmed = 0;
        k->camera = p->camera;
    }
    if (s->n_final < s->n_swept &&
        plan_is_due(v, s->n_final, v->params.final_keyframes, v->params.final_frames))
        p->final = plan_place(v, s->n_final++);
    if (plan_is_due(v, s->n_swept, v->params.sweep_keyframes, v->params.sweep_frames))
        p->swept = plan_place(v, s->n_swept++);
}

/* A source's pose relative to the swept keyframe, from the given poses. */
GPU_HD static inline struct views_pose plan_pose(const struct views *v, int source)
{
    struct views_pose p;
    p.given = rigid_mul(&v->kept[source].camera.T_cw, &v->kept[v->plan.swept].camera.T_wc);
    p.T = p.given;
    p.gain = 1.0f;
    p.bias = 0.0f;
    return p;
}

/* (V4) The worth of the keyframe at a place as a source. Sources are chosen one by one by the
 * largest worth, and the first place among equals. */
GPU_HD static inline float plan_worth(const struct views *v, int place,
                                      const struct plan_sight *sight)
{
    float a = sight->parallax, wide = a / v->params.plan_parallax_wide;
    return plan_is_near(v, place, v->kept[v->plan.swept].walk) && place != v->plan.swept &&
                   sight->share >= v->params.plan_overlap && a >= v->params.plan_parallax
               ? sight->share * a / ((a + v->params.plan_parallax_good) * (1.0f + wide * wide))
               : 0.0f;
}

/* (V4) Its remaining worth when the keyframe at place `taken` has become a source. */
GPU_HD static inline float plan_worth_left(const struct views *v, int place, int taken, float worth)
{
    const float *o = v->kept[place].camera.T_wc.t, *t = v->kept[taken].camera.T_wc.t;
    float apart = v->params.plan_apart_rel * v->kept[v->plan.swept].median_m;
    float x = o[0] - t[0], y = o[1] - t[1], z = o[2] - t[2], d2 = x * x + y * y + z * z;
    if (place == taken)
        return 0.0f;
    return worth > 0.0f ? worth * (d2 / (d2 + apart * apart)) : worth;
}

/* The share of a view that the keyframe at a place sees, if it may be drawn into it. Those that see
 * most are drawn, the newer first among equals. */
GPU_HD static inline float plan_share(const struct views *v, int place, int target,
                                      const struct plan_sight *sight)
{
    const struct views_plan *p = &v->plan;
    int self = target == VIEWS_FINAL ? p->final : -1;
    uint32_t walk = self >= 0 ? v->kept[self].walk : v->strand[p->strand < 0 ? 0 : p->strand].first;
    return plan_is_near(v, place, walk) && place != self &&
                   v->kept[place].index < v->strand[p->strand].n_swept &&
                   views_is_sound(v, place) && sight->share >= v->params.plan_pool_share
               ? sight->share
               : 0.0f;
}
