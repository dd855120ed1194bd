/*
 * path_block.h - the pose of a frame, computed by a block of lanes that wait for each other
 *
 * Its includer defines how a function of the block is declared (PATH_FN), how lanes wait
 * (path_wait()), how many parts of a sum a lane has (PATH_LANE_PARTS: 1 or all), how a group adds
 * its lanes' parts (path_add()), how many finds earlier lanes have (path_before()), and how systems
 * are solved (path_factor_and_solve()). Otherwise the block is the CPU's one lane. Lanes divide
 * landmarks, parts of a sum or elements of a system among them; lane 0 does the rest.
 * Steps:   path_begin_frame(); where the frame is a keyframe path_linearise_all(), and PATH_ROUNDS
 *          times path_sum_system(), path_round(), path_follow_all(); path_end_frame().
 *          path_linearise_all(), path_sum_system() and path_follow_all() do not wait, so the lanes
 *          of many blocks may run them.
 * Maths:   MATH.md (P1)-(P11)
 */
#pragma once

#include "gpu/track/path_point.h"

#ifndef PATH_FN
#include "gpu/track/path_lane.h"
#endif

#define PATH_GROUP (PATH_PARTS / PATH_LANE_PARTS) /* lanes that share a sum */

#define PATH_FRAME 6 /* unknowns of a frame's pose */
#define PATH_FRAME_PAIRS (PATH_FRAME * (PATH_FRAME + 1) / 2)

struct path_block {
    struct path *p;
    const struct track *t;
    const struct path_frame *f;
    struct path_shared *s;
    uint32_t lane, lanes;
};

#define PATH_EACH(b, i, n) for (uint32_t i = (b)->lane; i < (n); i += (b)->lanes)
/* Divides sums among the groups of lanes. */
#define PATH_EACH_SUM(b, e, n) \
    for (uint32_t e = (b)->lane / PATH_GROUP; e < (n); e += (b)->lanes / PATH_GROUP)
/* The lane that writes its group's sum. */
#define PATH_IS_FIRST(b) ((b)->lane % PATH_GROUP == 0)
/* The lane's parts q of a sum, and the elements of a part. */
#define PATH_EACH_PART(b, q) for (uint32_t q = 0; q < PATH_LANE_PARTS; q++)
#define PATH_EACH_OF_PART(b, q, i, n) \
    for (uint32_t i = q + (b)->lane % PATH_GROUP; i < (n); i += PATH_PARTS)

/* Term e of landmark number i in the list. */
PATH_FN double *path_term(const struct path *p, uint32_t e, uint32_t i)
{
    return &p->term[(size_t)e * 2 * (size_t)p->n_slots + i];
}

/* Solves s->A, s->b: s->b becomes the solution, or s->done 0. Lane 0 may read it at once, the
 * others after a wait. */
PATH_FN void path_solve(const struct path_block *b, uint32_t n)
{
    uint32_t done = path_factor_and_solve(b->s->A, b->s->b, n, b->s->done);
    if (b->lane == 0)
        b->s->done = done;
}

/* A lane found n in its stretch. Returns the index of its first find among all lanes'; s->n becomes
 * the count of all. */
PATH_FN uint32_t path_count_up(const struct path_block *b, uint32_t n)
{
    uint32_t all, first = path_before(n, b->s->count, &all);
    if (b->lane == 0)
        b->s->n = all;
    path_wait();
    return first;
}

/* Where a lane's stretch of n elements begins; it ends where the next lane's begins. */
PATH_FN uint32_t path_from(const struct path_block *b, uint32_t lane, uint32_t n)
{
    uint32_t each = (n + b->lanes - 1) / b->lanes;
    return lane * each < n ? lane * each : n;
}

PATH_FN int path_is_listed(const struct path_block *b, uint32_t i)
{
    const struct path_landmark *m = &b->p->landmark[i];
    return m->kept && m->id == b->t->slot[i / 2].id;
}

/* Lists the landmarks of this frame's tracks in order; drops those of ended tracks that only one
 * keyframe has seen. */
PATH_FN void path_gather(const struct path_block *b)
{
    struct path *p = b->p;
    uint32_t all = 2 * (uint32_t)p->n_slots, from = path_from(b, b->lane, all), n = 0;
    uint32_t to = path_from(b, b->lane + 1, all);
    for (uint32_t i = from; i < to; i++) {
        struct path_landmark *m = &p->landmark[i];
        int lives = m->id && m->id == b->t->slot[i / 2].id;
        if (m->id && !lives && path_count(m->kept) < 2)
            memset(m, 0, sizeof *m);
        n += path_is_listed(b, i) != 0;
    }
    n = path_count_up(b, n);
    for (uint32_t i = from; i < to; i++)
        if (path_is_listed(b, i))
            p->list[n++] = i;
    path_wait();
}

/* (P2) A landmark's terms for the frame's pose: 12 of the error's two rows and 2 of errors, times
 * the root of the weight; 1 for an inlier, and an inlier's squared error. */
PATH_FN void path_look(const struct path_block *b, uint32_t i, double kernel)
{
    struct path *p = b->p;
    const struct path_landmark *m = &p->landmark[p->list[i]];
    const struct track_slot *seen = &b->t->slot[p->list[i] / 2];
    double out[PATH_TERMS], c[3], u[2], s[2][3], e2, weight;
    if (!path_project(c, u, &p->K, &b->s->pose, m->p)) {
        for (uint32_t k = 0; k < PATH_TERMS; k++)
            *path_term(p, k, i) = 0.0;
        return;
    }
    u[0] -= (double)seen->x;
    u[1] -= (double)seen->y;
    e2 = u[0] * u[0] + u[1] * u[1];
    weight = 1.0 / (1.0 + e2 / (kernel * kernel));
    path_slope(s, &p->K, c);
    for (int r = 0; r < 2; r++) {
        path_twist(out + PATH_FRAME * r, s[r], c);
        for (int a = 0; a < PATH_FRAME; a++)
            out[PATH_FRAME * r + a] *= weight;
        out[12 + r] = weight * u[r];
    }
    out[14] = e2 < p->params.path_inlier_px * p->params.path_inlier_px;
    out[15] = out[14] > 0.0 ? e2 : 0.0;
    for (uint32_t k = 0; k < PATH_TERMS; k++)
        *path_term(p, k, i) = out[k];
}

/* What landmarks add to an element of the frame's system: sign (x0 y0 + x1 y1), or x0 alone. */
struct path_frame_terms {
    const double *x0, *y0, *x1, *y1;
    double sign;
};

/* What they add to element e. */
PATH_FN struct path_frame_terms path_frame_terms(const struct path *p, uint32_t e)
{
    struct path_at at = path_at_of(e < PATH_FRAME_PAIRS ? e : 0);
    struct path_frame_terms o = {NULL, NULL, NULL, NULL, 1.0};
    uint32_t a = e < PATH_FRAME_PAIRS ? at.a : e - PATH_FRAME_PAIRS;
    if (a >= PATH_FRAME) {
        o.x0 = path_term(p, 8 + a, 0);
        return o;
    }
    o.x0 = path_term(p, a, 0);
    o.x1 = path_term(p, PATH_FRAME + a, 0);
    o.y0 = path_term(p, e < PATH_FRAME_PAIRS ? at.c : 12, 0);
    o.y1 = path_term(p, e < PATH_FRAME_PAIRS ? PATH_FRAME + at.c : 13, 0);
    o.sign = e < PATH_FRAME_PAIRS ? 1.0 : -1.0;
    return o;
}

/* Sums over the listed landmarks: element e of the lower half, then of the right hand side, then
 * of inliers and their errors. */
PATH_FN void path_sum_frame(const struct path_block *b)
{
    PATH_EACH_SUM(b, e, PATH_FRAME_PAIRS + PATH_FRAME + 2)
    {
        const struct path_frame_terms o = path_frame_terms(b->p, e);
        struct path_at at = path_at_of(e < PATH_FRAME_PAIRS ? e : 0);
        uint32_t a = e - PATH_FRAME_PAIRS, n = b->s->n;
        double part[PATH_LANE_PARTS], sum;
        PATH_EACH_PART(b, q)
        {
            double own = 0.0;
            PATH_EACH_OF_PART(b, q, i, n)
            own += o.y0 ? o.sign * (o.x0[i] * o.y0[i] + o.x1[i] * o.y1[i]) : o.x0[i];
            part[q] = own;
        }
        sum = path_add(part);
        if (!PATH_IS_FIRST(b))
            continue;
        if (e < PATH_FRAME_PAIRS)
            b->s->A[e] = sum + (at.a == at.c ? 1e-6 : 0.0);
        else if (a < PATH_FRAME)
            b->s->b[a] = sum;
        else
            b->s->sum[a - PATH_FRAME] = sum;
    }
    path_wait();
}

/* (P2) Finds the frame's pose, s->pose, in steps from the last one; without one s->done is 0. */
PATH_FN void path_search(const struct path_block *b)
{
    if (b->lane == 0) {
        double d[6];
        b->s->pose = b->p->T;
        if (b->f->turn_s > 0.0f) {
            path_turn_step(d, b->f->turn);
            path_move(&b->s->pose, d);
        }
        b->s->done = 1;
    }
    path_wait();
    for (int step = 0; step < PATH_STEPS; step++) {
        PATH_EACH(b, i, b->s->n)
        path_look(b, i, path_kernel(step));
        path_wait();
        path_sum_frame(b);
        path_solve(b, PATH_FRAME);
        if (b->lane == 0 && b->s->done)
            path_move(&b->s->pose, b->s->b);
        path_wait();
    }
}

/* (P4) The network's depth over the landmarks', and how far tracks have moved since the last
 * keyframe. Terms: ln of the ratio, 1 if it exists; the motion, 1 if it exists. */
PATH_FN void path_compare(const struct path_block *b, uint32_t i)
{
    struct path *p = b->p;
    const struct path_landmark *m = &p->landmark[p->list[i]];
    const struct track_slot *now = &b->t->slot[p->list[i] / 2];
    uint32_t last = p->order[p->n_kept - 1];
    float log_d = path_depth(p, b->f->depth, b->t->w, b->t->h, now->x, now->y);
    double out[4] = {0.0, 0.0, 0.0, 0.0}, c[3], u[2];
    if (log_d > 0.5f * PATH_NO_DEPTH && path_project(c, u, &p->K, &b->s->pose, m->p)) {
        out[0] = (double)log_d - path_log(c[2]);
        out[1] = 1.0;
    }
    if (m->kept >> last & 1u) {
        double dx = (double)now->x - (double)m->seen[last].x;
        double dy = (double)now->y - (double)m->seen[last].y;
        out[2] = sqrt(dx * dx + dy * dy);
        out[3] = 1.0;
    }
    for (uint32_t k = 0; k < 4; k++)
        *path_term(p, k, i) = out[k];
}

PATH_FN double path_scale_term(const struct path *p, uint32_t i, uint32_t e, double bias)
{
    double d = *path_term(p, 0, i) - bias, r = d / p->params.path_depth_log;
    double weight = *path_term(p, 1, i) / (1.0 + r * r);
    return e == 0 ? weight : e == 1 ? weight * d : *path_term(p, e, i);
}

PATH_FN void path_sum_scale(const struct path_block *b, double bias)
{
    PATH_EACH_SUM(b, e, 4)
    {
        double part[PATH_LANE_PARTS], sum;
        PATH_EACH_PART(b, q)
        {
            part[q] = 0.0;
            PATH_EACH_OF_PART(b, q, i, b->s->n)
            part[q] += path_scale_term(b->p, i, e, bias);
        }
        sum = path_add(part);
        if (PATH_IS_FIRST(b))
            b->s->sum[e] = sum;
    }
    path_wait();
}

PATH_FN void path_scale(const struct path_block *b)
{
    PATH_EACH(b, i, b->s->n)
    path_compare(b, i);
    if (b->lane == 0)
        b->s->bias = b->p->bias;
    path_wait();
    for (int step = 0; step < 5; step++) {
        double bias = b->s->bias, prior = path_bias_prior(b->p);
        path_sum_scale(b, bias);
        if (b->lane == 0)
            b->s->bias = bias + (b->s->sum[1] - prior * bias) / (b->s->sum[0] + prior);
        path_wait();
    }
}

/* (P5) Makes the frame a keyframe, in the oldest one's place if all are taken. */
PATH_FN void path_keep(const struct path_block *b)
{
    struct path *p = b->p;
    if (b->lane == 0) {
        uint32_t place = p->n_kept;
        if (place == PATH_KEPT) {
            place = p->order[0];
            for (int k = 0; k + 1 < PATH_KEPT; k++)
                p->order[k] = p->order[k + 1];
            p->n_kept--;
        }
        p->order[p->n_kept++] = place;
        p->keyframe[place].T = p->T;
        p->keyframe[place].bias = p->bias;
        p->keyframe[place].turn = p->since;
        memset(&p->since, 0, sizeof p->since);
        for (int i = 0; i < 9; i += 4)
            p->since.r[i] = 1.0;
        p->since.variance = p->params.gyro_least * p->params.gyro_least;
    }
    path_wait();
    PATH_EACH(b, i, 2 * (uint32_t)p->n_slots)
    p->landmark[i].kept &= ~(1u << p->order[p->n_kept - 1]);
    path_wait();
}

/* (P5) Notes what the keyframe sees of the track in a slot. */
PATH_FN void path_see(const struct path_block *b, uint32_t slot)
{
    struct path *p = b->p;
    const struct track_slot *now = &b->t->slot[slot];
    uint32_t place = p->order[p->n_kept - 1], i = path_place_of(p, slot, now->id);
    struct path_landmark *m = &p->landmark[i];
    struct path_seen o;
    if (!now->id || (m->id == now->id && m->is_bad))
        return;
    o.x = now->x;
    o.y = now->y;
    o.log_d = path_depth(p, b->f->depth, b->t->w, b->t->h, now->x, now->y);
    if (m->id != now->id || !m->kept) {
        memset(m, 0, sizeof *m);
        if (!path_has_depth(&o))
            return;
        m->id = now->id;
        path_place(m->p, &o, &p->keyframe[place], &p->K);
    }
    m->kept |= 1u << place;
    m->seen[place] = o;
}

/* Lists the landmarks that two keyframes or more have seen, in order, as far as there is room. */
PATH_FN void path_choose(const struct path_block *b)
{
    struct path *p = b->p;
    uint32_t all = 2 * (uint32_t)p->n_slots, from = path_from(b, b->lane, all), n = 0;
    uint32_t to = path_from(b, b->lane + 1, all);
    for (uint32_t i = from; i < to; i++)
        n += path_count(p->landmark[i].kept) > 1;
    n = path_count_up(b, n);
    for (uint32_t i = from; i < to && n < PATH_POINTS; i++)
        if (path_count(p->landmark[i].kept) > 1)
            p->point[n++].landmark = i;
    if (b->lane == 0)
        p->n_points = b->s->n < PATH_POINTS ? b->s->n : PATH_POINTS;
    path_wait();
}

/* (P7) What landmark i adds to an element of the system, and to one of its right hand side. */
PATH_FN double path_pair_term(const struct path *p, uint32_t i, const struct path_at *at)
{
    uint32_t kept = p->landmark[p->point[i].landmark].kept;
    if (kept >> p->order[at->k] & kept >> p->order[at->l] & 1u)
        return path_pair(&p->row[i * PATH_KEPT], at);
    return 0.0;
}

PATH_FN double path_right_term(const struct path *p, uint32_t i, uint32_t e)
{
    uint32_t kept = p->landmark[p->point[i].landmark].kept, k = e / PATH_POSE;
    if (kept >> p->order[k] & 1u)
        return path_right(&p->row[i * PATH_KEPT + k], e % PATH_POSE, p->point[i].g);
    return 0.0;
}

/* (P7) What all landmarks add to the system, into p->system. */
PATH_FN void path_sum_system(const struct path_block *b)
{
    const struct path *p = b->p;
    uint32_t unknowns = p->n_kept * PATH_POSE, pairs = unknowns * (unknowns + 1) / 2;
    PATH_EACH_SUM(b, e, pairs + unknowns)
    {
        struct path_at at = path_at_of(e < pairs ? e : 0);
        double part[PATH_LANE_PARTS], sum;
        PATH_EACH_PART(b, q)
        {
            part[q] = 0.0;
            PATH_EACH_OF_PART(b, q, i, p->n_points)
            part[q] += e < pairs ? path_pair_term(p, i, &at) : path_right_term(p, i, e - pairs);
        }
        sum = path_add(part);
        if (PATH_IS_FIRST(b))
            p->system[e < pairs ? e : PATH_PAIRS + e - pairs] = sum;
    }
}

/* Copies the system into shared memory and adds each keyframe's terms without landmarks. */
PATH_FN void path_fetch_system(const struct path_block *b)
{
    const struct path *p = b->p;
    uint32_t unknowns = p->n_kept * PATH_POSE;
    PATH_EACH(b, e, unknowns * (unknowns + 1) / 2)
    b->s->A[e] = p->system[e];
    PATH_EACH(b, e, unknowns)
    b->s->b[e] = p->system[PATH_PAIRS + e];
    path_wait();
    PATH_EACH(b, k, p->n_kept)
    {
        double weight = 1.0 / (p->params.path_bias_log * p->params.path_bias_log);
        for (uint32_t a = 0; a < PATH_POSE; a++) {
            uint32_t e = k * PATH_POSE + a;
            double *at = &b->s->A[e * (e + 1) / 2 + e];
            *at += a == 6 ? weight : k == 0 ? PATH_HELD : 1e-3;
        }
        b->s->b[k * PATH_POSE + 6] -= weight * p->keyframe[p->order[k]].bias;
    }
    path_wait();
    for (uint32_t k = 1; k < p->n_kept && b->lane == 0; k++)
        path_add_turn(b->s, p, k);
    path_wait();
}

/* (P7) Solves a Gauss-Newton round's summed system and moves the keyframes. */
PATH_FN void path_round(const struct path_block *b)
{
    struct path *p = b->p;
    if (b->lane == 0)
        b->s->done = 1;
    path_fetch_system(b);
    path_solve(b, p->n_kept * PATH_POSE);
    path_wait();
    if (!b->s->done) {
        if (b->lane == 0)
            p->is_refining = 0;
        path_wait();
        return;
    }
    PATH_EACH(b, e, p->n_kept * PATH_POSE)
    p->system[PATH_PAIRS + e] = b->s->b[e];
    PATH_EACH(b, k, p->n_kept)
    {
        struct path_keyframe *at = &p->keyframe[p->order[k]];
        if (k > 0)
            path_move(&at->T, b->s->b + k * PATH_POSE);
        at->bias += b->s->b[k * PATH_POSE + 6];
    }
    path_wait();
}

PATH_FN void path_linearise_all(const struct path_block *b)
{
    PATH_EACH(b, i, b->p->n_points)
    path_linearise(b->p, i);
}

/* (P7) Moves the landmarks after the keyframes; more: another round is to come. */
PATH_FN void path_follow_all(const struct path_block *b, int more)
{
    struct path *p = b->p;
    PATH_EACH(b, i, p->n_points)
    {
        path_follow(p, i, p->system + PATH_PAIRS);
        if (more)
            path_linearise(p, i);
    }
}

/* The frame becomes a keyframe; rounds of the system follow if there is another keyframe. */
PATH_FN void path_become_keyframe(const struct path_block *b)
{
    struct path *p = b->p;
    path_keep(b);
    PATH_EACH(b, slot, (uint32_t)p->n_slots)
    path_see(b, slot);
    path_wait();
    path_choose(b);
    if (b->lane == 0) {
        p->is_refining = p->n_kept > 1;
        p->told.is_keyframe = 1;
    }
    path_wait();
}

/* Ends a keyframe's rounds. */
PATH_FN void path_end_keyframe(const struct path_block *b)
{
    struct path *p = b->p;
    PATH_EACH(b, k, p->n_kept > 1 ? p->n_kept : 0)
    path_square(&p->keyframe[p->order[k]].T);
    path_wait();
    PATH_EACH(b, i, 2 * (uint32_t)p->n_slots)
    path_judge(p, i);
    path_wait();
    if (b->lane == 0) {
        const struct path_keyframe *last = &p->keyframe[p->order[p->n_kept - 1]];
        p->T = last->T;
        p->bias = last->bias;
    }
    path_wait();
}

/* (P9) Drops all landmarks and keyframes; the frame gets its guessed pose. */
PATH_FN void path_begin(const struct path_block *b, uint32_t state)
{
    struct path *p = b->p;
    PATH_EACH(b, i, 2 * (uint32_t)p->n_slots)
    memset(&p->landmark[i], 0, sizeof p->landmark[i]);
    path_wait();
    if (b->lane == 0) {
        p->n_kept = 0;
        p->since.variance = 0.0;
        p->T = path_pose_of(b->f->T_wc);
        p->told.state = state;
    }
    path_wait();
    path_become_keyframe(b);
}

/* (P8) Does a frame with a found pose become a keyframe? */
PATH_FN void path_find(const struct path_block *b)
{
    struct path *p = b->p;
    int is_keyframe;
    path_scale(b);
    is_keyframe = b->s->sum[2] >= p->params.path_moved_px * b->s->sum[3] ||
                  (double)b->s->n < p->params.path_new_share * (double)b->t->n_live;
    if (b->lane == 0) {
        p->T = b->s->pose;
        path_square(&p->T);
        p->bias = b->s->bias;
        p->told.state = PATH_FOUND;
        p->told.log_sigma = path_sigma(p, b->s->sum[0]);
    }
    path_wait();
    if (is_keyframe)
        path_become_keyframe(b);
}

PATH_FN void path_begin_frame(const struct path_block *b)
{
    struct path *p = b->p;
    double inliers;
    if (b->lane == 0) {
        memset(&p->told, 0, sizeof p->told);
        p->K = b->f->K;
        p->is_refining = 0;
    }
    path_wait();
    if (p->n_frames == 0 || b->f->restart) {
        path_begin(b, PATH_BEGUN);
        return;
    }
    if (b->lane == 0)
        path_turn_on(p, &p->since, b->f->turn, b->f->turn_s);
    path_gather(b);
    path_search(b);
    inliers = b->s->done ? b->s->sum[0] : 0.0;
    if (b->lane == 0) {
        p->told.n_landmarks = b->s->n;
        p->told.n_inliers = (uint32_t)inliers;
        p->told.error_px = inliers > 0.0 ? (float)sqrt(b->s->sum[1] / inliers) : 0.0f;
    }
    path_wait();
    if (inliers < p->params.path_inliers || 3.0 * inliers < (double)b->s->n)
        path_begin(b, PATH_LOST);
    else
        path_find(b);
}

PATH_FN void path_end_frame(const struct path_block *b)
{
    struct path *p = b->p;
    if (p->told.is_keyframe)
        path_end_keyframe(b);
    if (b->lane == 0) {
        path_tell_scale(&p->told, p);
        p->n_frames++;
    }
    path_wait();
}
