#include "gpu/track/landmark_search_point.h"

#define LANES LANDMARK_SEARCH_HYPOTHESES_STEP /* places tried side by side */

/* The sum of errors at one place. Out: rows for a box around it. */
static float residual_at(struct landmark_search_row *row, const struct landmark_search_batch *b,
                         const struct landmark_search_landmark *m, struct vec3 p,
                         const struct landmark_search_box *box)
{
    float sum = 0.0f, nearest = INFINITY;

    for (uint32_t k = 0; k < m->n; k++) {
        const struct landmark_search_observation *o = &b->observation[m->first + k];
        row[k] = landmark_search_row_make(&b->camera[o->camera], o, p, box);
        sum += landmark_search_error(&row[k], 0.0f, 0.0f, 0.0f, &nearest);
    }
    return nearest > LANDMARK_SEARCH_NEAR_M && sum < INFINITY ? sum : INFINITY;
}

/* (T2) The first box of a landmark. */
static void landmark_search_begin_all(struct landmark_search_state *st,
                                      struct landmark_search_row *row,
                                      const struct landmark_search_batch *b,
                                      const struct landmark_search_landmark *m,
                                      const struct landmark_search_params *p)
{
    const struct landmark_search_box unit = {{0.0f, 0.0f, 0.0f}, 1.0f, 0.0f};
    float residual = residual_at(row, b, m, m->p, &unit), unit_sum = 0.0f, slope_sum = 0.0f;
    struct vec3 sum = {0.0f, 0.0f, 0.0f};

    for (uint32_t k = 0; k < m->n; k++) {
        const struct landmark_search_camera *c = &b->camera[b->observation[m->first + k].camera];
        struct vec3 ray = landmark_search_ray(c, m->p);
        sum = vec3_make(sum.x + ray.x, sum.y + ray.y, sum.z + ray.z);
        unit_sum += landmark_search_unit_m(&row[k], c);
    }
    st->box.ray = landmark_search_mean_ray(sum);
    for (uint32_t k = 0; k < m->n; k++)
        slope_sum += landmark_search_slope(&row[k], st->box.ray);
    landmark_search_begin(st, residual, unit_sum, slope_sum, p);
}

/* (T3), (T4) The smallest claim of LANES places from number j on. */
static uint64_t try_places(const struct landmark_search_row *row, uint32_t n, const float *noise,
                           uint32_t j)
{
    const float *nx = noise + j, *ny = nx + LANDMARK_SEARCH_HYPOTHESES,
                *nz = ny + LANDMARK_SEARCH_HYPOTHESES;
    float sum[LANES], nearest[LANES];
    uint64_t best = LANDMARK_SEARCH_NO_CLAIM;

    for (int i = 0; i < LANES; i++) {
        sum[i] = 0.0f;
        nearest[i] = INFINITY;
    }
    for (uint32_t k = 0; k < n; k++) {
        const struct landmark_search_row r = row[k];
        for (int i = 0; i < LANES; i++)
            sum[i] += landmark_search_error(&r, nx[i], ny[i], nz[i], &nearest[i]);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        uint64_t claim = landmark_search_claim(sum[i], j + i);
        if (nearest[i] > LANDMARK_SEARCH_NEAR_M && sum[i] < INFINITY && claim < best)
            best = claim;
    }
    return best;
}

static void optimise(const struct landmark_search_batch *b, struct landmark_search_landmark *m,
                     const float *noise, const struct landmark_search_params *p)
{
    const struct landmark_search_box none = {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    struct landmark_search_row row[LANDMARK_SEARCH_OBSERVATIONS];
    struct landmark_search_state st = {.p = m->p, .n = m->n};
    float prior;

    landmark_search_begin_all(&st, row, b, m, p);
    prior = st.residual;
    for (int round = 0; round < p->n_rounds && st.box.s > 0.0f; round++) {
        struct vec3 place;
        uint32_t j;
        (void)residual_at(row, b, m, st.p, &st.box);
        for (j = 0; j < p->n_hypotheses; j += LANES) {
            uint64_t claim = try_places(row, m->n, noise, j);
            st.claim = claim < st.claim ? claim : st.claim;
        }
        j = (uint32_t)st.claim % LANDMARK_SEARCH_HYPOTHESES;
        place = landmark_search_place(&st, noise, j);
        landmark_search_take(&st, place, residual_at(row, b, m, place, &none),
                             landmark_search_edge(noise, j), p->shrink);
    }
    m->p = st.p;
    m->prior_px = m->n ? prior / (float)m->n : INFINITY;
    m->residual_px = m->n ? st.residual / (float)m->n : INFINITY;
}

void landmark_search_cpu(struct landmark_search_batch *b, const float *noise,
                         const struct landmark_search_params *p)
{
    for (int i = 0; i < b->n_landmarks; i++)
        optimise(b, &b->landmark[i], noise, p);
}
