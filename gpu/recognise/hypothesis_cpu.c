#include "gpu/recognise/hypothesis_pose.h"

#include <string.h>

/* (O14) Each tensor's guess of an object's pose, and its votes. */
static void guess_all(struct hypothesis_guess *guess, const struct tensors *t, const uint64_t *best,
                      uint32_t object, const struct library *l, const struct hypothesis_params *p)
{
    uint32_t n = *t->n_tensors;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = best[(size_t)i * l->n_objects + object];
        struct match m = match_of(key);
        if (key == 0)
            guess[i] = hypothesis_no_guess();
        else
            guess[i] = hypothesis_guess_of(&t->tensor[i].T_cb, &l->from[m.tensor]->T_ob, &m,
                                           l->middle[object]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!guess[i].over)
            hypothesis_vote(guess, n, i, p);
}

/* (O14) Picks the guesses with the most votes that agree with no guess picked before. */
static void hypothesis_pick(struct hypothesis *tried, struct hypothesis_guess *guess, uint32_t n,
                            uint32_t object, const struct hypothesis_params *p)
{
    for (int i = 0; i < p->tries; i++) {
        const struct hypothesis_guess *g;
        uint64_t top = 0;
        for (uint32_t k = 0; k < n; k++)
            if (!guess[k].over && hypothesis_key(guess[k].votes, k) > top)
                top = hypothesis_key(guess[k].votes, k);
        tried[i] = hypothesis_none();
        if (top == 0)
            continue;
        g = &guess[hypothesis_number(top)];
        tried[i] = hypothesis_begin(g, object);
        for (uint32_t k = 0; k < n; k++)
            guess[k].over |= hypothesis_agree(g, &guess[k], p);
    }
}

/* (O16) Does a round over each stride-th point. */
static int hypothesis_step_all(struct rigid *T_co, const struct surface *s, const struct object *o,
                               uint32_t stride, float gate, const struct hypothesis_params *p)
{
    int64_t sum[HYPOTHESIS_SUMS] = {0};

    for (size_t i = 0; i < o->n_points; i += stride)
        hypothesis_add(sum, s, T_co, &o->point[i], gate, p);
    return hypothesis_step(T_co, sum);
}

/* (O17) Judges each stride-th point by the picture. pixel: the pixels that support them; or
 * NULL. */
static void hypothesis_count_pixels(int64_t tally[HYPOTHESIS_TALLY], int32_t *pixel,
                                    const struct surface *s, const struct object *o,
                                    const struct rigid *T_co, uint32_t stride,
                                    const struct hypothesis_params *p)
{
    memset(tally, 0, HYPOTHESIS_TALLY * sizeof *tally);
    for (size_t i = 0; i < o->n_points; i += stride) {
        int at = hypothesis_count(tally, s, T_co, &o->point[i], p);
        if (pixel)
            pixel[i] = at;
    }
}

struct hypothesis_view hypothesis_cpu_judge(const struct surface *s, const struct object *o,
                                            const struct rigid *T_co,
                                            const struct hypothesis_params *p)
{
    int64_t tally[HYPOTHESIS_TALLY];

    hypothesis_count_pixels(tally, NULL, s, o, T_co, 1, p);
    return hypothesis_view_of(tally);
}

/* (O16), (O17) h->points stays 0: the picture does not show the object there. */
static void refine(struct hypothesis *h, const struct surface *s, const struct object *o,
                   const struct hypothesis_params *p)
{
    uint32_t stride = hypothesis_stride((uint32_t)o->n_points);
    int64_t tally[HYPOTHESIS_TALLY];
    struct hypothesis_view v;
    float gate = p->gate_m;

    for (int i = 0; i < p->rounds; i++) {
        if (!hypothesis_step_all(&h->T_co, s, o, stride, gate, p))
            return;
        gate = hypothesis_shrink(gate, p);
    }
    hypothesis_count_pixels(tally, NULL, s, o, &h->T_co, stride, p);
    v = hypothesis_view_of(tally);
    if (hypothesis_score(&v) < p->hopeless)
        return;
    for (int i = 0; i < p->last; i++) {
        if (!hypothesis_step_all(&h->T_co, s, o, 1, gate, p))
            return;
        gate = hypothesis_shrink(gate, p);
    }
    hypothesis_count_pixels(tally, NULL, s, o, &h->T_co, 1, p);
    hypothesis_judge(h, tally, o->is_coarse, p);
}

/* (O17) Takes a pose if enough of its surface is unclaimed. */
static int hypothesis_take(const struct hypotheses *q, const struct hypothesis *h,
                           const struct surface *s, const struct object *o,
                           const struct hypothesis_params *p)
{
    int64_t tally[HYPOTHESIS_TALLY];
    uint32_t open = 0;

    hypothesis_count_pixels(tally, q->pixel, s, o, &h->T_co, 1, p);
    for (size_t i = 0; i < o->n_points; i++)
        open += q->pixel[i] >= 0 && !q->claims[q->pixel[i]];
    if (!hypothesis_open(open, h, p))
        return 0;
    for (size_t i = 0; i < o->n_points; i++)
        if (q->pixel[i] >= 0)
            hypothesis_claim(q->claims, s, q->pixel[i]);
    return 1;
}

/* (O17) Takes poses, the best supported first. */
static void hypothesis_keep(const struct hypotheses *q, uint32_t n, const struct surface *s,
                            const struct library *l, const struct hypothesis_params *p)
{
    memset(q->claims, 0, (size_t)s->w * (size_t)s->h * sizeof *q->claims);
    *q->n_found = 0;
    for (int looked = 0; looked < HYPOTHESES_MAX; looked++) {
        struct hypothesis *h;
        uint64_t top = 0;
        for (uint32_t i = 0; i < n; i++)
            if (q->tried[i].points && hypothesis_key(hypothesis_worth(&q->tried[i]), i) > top)
                top = hypothesis_key(hypothesis_worth(&q->tried[i]), i);
        if (top == 0)
            break;
        h = &q->tried[hypothesis_number(top)];
        if (hypothesis_take(q, h, s, l->object[h->object], p))
            q->found[(*q->n_found)++] = *h;
        h->points = 0;
    }
}

void hypothesis_cpu_run(const struct hypotheses *q, const struct tensors *t, const uint64_t *best,
                        const struct library *l, const struct hypothesis_params *p)
{
    const struct surface *s = t->surface;
    uint32_t tries = (uint32_t)p->tries;

    for (uint32_t o = 0; o < l->n_objects; o++) {
        struct hypothesis_guess *guess = q->guess + (size_t)o * q->tensors;
        struct hypothesis *tried = q->tried + (size_t)o * tries;
        guess_all(guess, t, best, o, l, p);
        hypothesis_pick(tried, guess, *t->n_tensors, o, p);
        for (uint32_t i = 0; i < tries; i++)
            if (tried[i].votes)
                refine(&tried[i], s, l->object[o], p);
    }
    hypothesis_keep(q, l->n_objects * tries, s, l, p);
}
