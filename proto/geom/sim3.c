#include "proto/geom/sim3.h"

#include "proto/geom/solve.h"

/* If the two largest eigenvalues are this near to each other (relative), the rotation is
 * undetermined. */
#define DEGENERATE 1e-9

double sim3_angle_deg(const struct sim3 *a, const struct sim3 *b)
{
    double difference = 0;

    /* |Ra - Rb| = 2 sqrt(2) sin(angle / 2): exact for small angles too, unlike the trace */
    for (int i = 0; i < 9; i++)
        difference += (a->r[i] - b->r[i]) * (a->r[i] - b->r[i]);
    return 2 * asin(fmin(1, sqrt(difference / 8))) * (180 / M_PI);
}

void sim3_rotation(double r[9], const double q[4])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];

    r[0] = w * w + x * x - y * y - z * z, r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z), r[4] = w * w - x * x + y * y - z * z, r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = w * w - x * x - y * y + z * z;
}

void sim3_moments_add(struct sim3_moments *s, const double p[3], const double q[3], double weight)
{
    double from_p[3], share;

    if (!(weight > 0))
        return;
    s->weight += weight;
    share = weight / s->weight;
    for (int k = 0; k < 3; k++) {
        from_p[k] = p[k] - s->mean_p[k];
        s->mean_p[k] += share * from_p[k];
        s->mean_q[k] += share * (q[k] - s->mean_q[k]);
        s->spread += weight * from_p[k] * (p[k] - s->mean_p[k]);
    }
    for (int i = 0; i < 9; i++)
        s->cross[i] += weight * from_p[i / 3] * (q[i % 3] - s->mean_q[i % 3]);
}

int sim3_solve(struct sim3 *m, const struct sim3_moments *sums, bool scale, struct err *err)
{
    const double *s = sums->cross;
    double value[4], vector[16], at[3];
    double horn[16] = {
        s[0] + s[4] + s[8], s[5] - s[7],        s[6] - s[2],         s[1] - s[3],
        s[5] - s[7],        s[0] - s[4] - s[8], s[1] + s[3],         s[6] + s[2],
        s[6] - s[2],        s[1] + s[3],        -s[0] + s[4] - s[8], s[5] + s[7],
        s[1] - s[3],        s[6] + s[2],        s[5] + s[7],         -s[0] - s[4] + s[8],
    };

    solve_eigen(value, vector, horn, 4);
    *m = sim3_identity();
    sim3_rotation(m->r, vector);
    if (scale && sums->spread > 0)
        m->s = value[0] / sums->spread;
    sim3_apply(at, m, sums->mean_p);
    for (int k = 0; k < 3; k++)
        m->t[k] = sums->mean_q[k] - at[k];
    if (!(value[0] - value[1] > DEGENERATE * value[0]))
        return err_set(err, ERR_INPUT,
                       "the pairs lie on one line or in one point: no rotation follows");
    return 0;
}

int sim3_fit(struct sim3 *m, const double *p, const double *q, const double *weight, size_t n,
             bool scale, struct err *err)
{
    struct sim3_moments sums = {0};

    for (size_t i = 0; i < n; i++)
        sim3_moments_add(&sums, p + 3 * i, q + 3 * i, weight ? weight[i] : 1);
    return sim3_solve(m, &sums, scale, err);
}
