#include "gpu/track/monte_point.h"

#define LANES MONTE_HYPOTHESES_STEP /* places that are looked at side by side */

/* Sum of errors at one place. Out: rows for a box around it. */
static float residual_at(struct monte_row *row, const struct monte_batch *b,
                         const struct monte_landmark *m, struct vec3 p, const struct monte_box *box)
{
    float sum = 0.0f, nearest = INFINITY;

    for (uint32_t k = 0; k < m->n; k++) {
        const struct monte_observation *o = &b->observation[m->first + k];
        row[k] = monte_row_make(&b->camera[o->camera], o, p, box);
        sum += monte_error(&row[k], 0.0f, 0.0f, 0.0f, &nearest);
    }
    return nearest > MONTE_NEAR_M && sum < INFINITY ? sum : INFINITY;
}

/* (T2) The first box of a landmark. */
static void begin(struct monte_state *st, struct monte_row *row, const struct monte_batch *b,
                  const struct monte_landmark *m, const struct monte_params *p)
{
    const struct monte_box unit = {{0.0f, 0.0f, 0.0f}, 1.0f, 0.0f};
    float residual = residual_at(row, b, m, m->p, &unit), unit_sum = 0.0f, slope_sum = 0.0f;
    struct vec3 sum = {0.0f, 0.0f, 0.0f};

    for (uint32_t k = 0; k < m->n; k++) {
        const struct monte_camera *c = &b->camera[b->observation[m->first + k].camera];
        struct vec3 ray = monte_ray(c, m->p);
        sum = vec3_make(sum.x + ray.x, sum.y + ray.y, sum.z + ray.z);
        unit_sum += monte_unit_m(&row[k], c);
    }
    st->box.ray = monte_mean_ray(sum);
    for (uint32_t k = 0; k < m->n; k++)
        slope_sum += monte_slope(&row[k], st->box.ray);
    monte_begin(st, residual, unit_sum, slope_sum, p);
}

/* (T3), (T4) The smallest claim among LANES places from number j on. */
static uint64_t try_places(const struct monte_row *row, uint32_t n, const float *noise, uint32_t j)
{
    const float *nx = noise + j, *ny = nx + MONTE_HYPOTHESES, *nz = ny + MONTE_HYPOTHESES;
    float sum[LANES], nearest[LANES];
    uint64_t best = MONTE_NO_CLAIM;

    for (int i = 0; i < LANES; i++) {
        sum[i] = 0.0f;
        nearest[i] = INFINITY;
    }
    for (uint32_t k = 0; k < n; k++) {
        const struct monte_row r = row[k];
        for (int i = 0; i < LANES; i++)
            sum[i] += monte_error(&r, nx[i], ny[i], nz[i], &nearest[i]);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        uint64_t claim = monte_claim(sum[i], j + i);
        if (nearest[i] > MONTE_NEAR_M && sum[i] < INFINITY && claim < best)
            best = claim;
    }
    return best;
}

static void optimise(const struct monte_batch *b, struct monte_landmark *m, const float *noise,
                     const struct monte_params *p)
{
    const struct monte_box none = {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f};
    struct monte_row row[MONTE_OBSERVATIONS];
    struct monte_state st = {.p = m->p, .n = m->n};
    float prior;

    begin(&st, row, b, m, p);
    prior = st.residual;
    for (int round = 0; round < p->n_rounds && st.box.s > 0.0f; round++) {
        struct vec3 place;
        uint32_t j;
        (void)residual_at(row, b, m, st.p, &st.box);
        for (j = 0; j < p->n_hypotheses; j += LANES) {
            uint64_t claim = try_places(row, m->n, noise, j);
            st.claim = claim < st.claim ? claim : st.claim;
        }
        j = (uint32_t)st.claim % MONTE_HYPOTHESES;
        place = monte_place(&st, noise, j);
        monte_take(&st, place, residual_at(row, b, m, place, &none), monte_edge(noise, j),
                   p->shrink);
    }
    m->p = st.p;
    m->prior_px = m->n ? prior / (float)m->n : INFINITY;
    m->residual_px = m->n ? st.residual / (float)m->n : INFINITY;
}

void monte_cpu(struct monte_batch *b, const float *noise, const struct monte_params *p)
{
    for (int i = 0; i < b->n_landmarks; i++)
        optimise(b, &b->landmark[i], noise, p);
}
