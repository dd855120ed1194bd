#include "api/eval/eval_fit.h"

#include <math.h>
#include <string.h>

#define SWEEPS_MAX 64
/* Two largest eigenvalues this near to each other (relative): the rotation is not determined. */
#define DEGENERATE 1e-9

const struct eval_fit_motion eval_fit_identity = {.r = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .s = 1};

void eval_fit_apply(double out[3], const struct eval_fit_motion *m, const double p[3])
{
    double x = p[0], y = p[1], z = p[2];

    for (int i = 0; i < 3; i++)
        out[i] = m->s * (m->r[3 * i] * x + m->r[3 * i + 1] * y + m->r[3 * i + 2] * z) + m->t[i];
}

struct eval_fit_motion eval_fit_product(const struct eval_fit_motion *a,
                                        const struct eval_fit_motion *b)
{
    struct eval_fit_motion m = {.s = a->s * b->s};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                m.r[3 * i + j] += a->r[3 * i + k] * b->r[3 * k + j];
    eval_fit_apply(m.t, a, b->t);
    return m;
}

double eval_fit_angle(const struct eval_fit_motion *a, const struct eval_fit_motion *b)
{
    double difference = 0;

    /* |Ra - Rb| = 2 sqrt(2) sin(angle / 2): exact for small angles too, unlike the trace */
    for (int i = 0; i < 9; i++)
        difference += (a->r[i] - b->r[i]) * (a->r[i] - b->r[i]);
    return 2 * asin(fmin(1, sqrt(difference / 8))) * (180 / M_PI);
}

static double off_diagonal(const double *a, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            sum += a[i * n + j] * a[i * n + j];
    return sum;
}

/* Turn rows and columns p and q of a so that a[p][q] vanishes, and rows p and q of v with them. */
static void rotate(double *a, double *v, int n, int p, int q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;

    for (int k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];

        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];

        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
        x = v[p * n + k], y = v[q * n + k];
        v[p * n + k] = c * x - s * y;
        v[q * n + k] = s * x + c * y;
    }
}

void eval_fit_jacobi(double *value, double *vector, double *a, int n)
{
    for (int i = 0; i < n * n; i++)
        vector[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS_MAX && off_diagonal(a, n) > 0; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-300)
                    rotate(a, vector, n, p, q);
                else
                    a[p * n + q] = a[q * n + p] = 0;
    for (int i = 0; i < n; i++)
        value[i] = a[i * n + i];
    for (int i = 0; i < n; i++) {
        int most = i;

        for (int j = i + 1; j < n; j++)
            most = value[j] > value[most] ? j : most;
        for (int k = 0; k < n && most != i; k++) {
            double swap = vector[i * n + k];

            vector[i * n + k] = vector[most * n + k];
            vector[most * n + k] = swap;
        }
        a[0] = value[i];
        value[i] = value[most];
        value[most] = a[0];
    }
}

static void quaternion_matrix(double *r, const double *q)
{
    double w = q[0], x = q[1], y = q[2], z = q[3];

    r[0] = w * w + x * x - y * y - z * z, r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z), r[4] = w * w - x * x + y * y - z * z, r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = w * w - x * x - y * y + z * z;
}

struct moments {
    double total, mean_p[3], mean_q[3];
    double cross[9]; /* sum of w (p - mean_p)(q - mean_q)^T */
    double spread;   /* sum of w |p - mean_p|^2 */
};

static void gather(struct moments *s, const double *p, const double *q, const double *weight,
                   size_t n)
{
    *s = (struct moments){0};
    for (size_t i = 0; i < n; i++) {
        double w = weight ? weight[i] : 1;

        s->total += w;
        for (int k = 0; k < 3; k++) {
            s->mean_p[k] += w * p[3 * i + (size_t)k];
            s->mean_q[k] += w * q[3 * i + (size_t)k];
        }
    }
    for (int k = 0; k < 3 && s->total > 0; k++) {
        s->mean_p[k] /= s->total;
        s->mean_q[k] /= s->total;
    }
    for (size_t i = 0; i < n; i++) {
        double w = weight ? weight[i] : 1, a[3], b[3];

        for (int k = 0; k < 3; k++) {
            a[k] = p[3 * i + (size_t)k] - s->mean_p[k];
            b[k] = q[3 * i + (size_t)k] - s->mean_q[k];
            s->spread += w * a[k] * a[k];
        }
        for (int k = 0; k < 9; k++)
            s->cross[k] += w * a[k / 3] * b[k % 3];
    }
}

int eval_fit_pairs(struct eval_fit_motion *m, const double *p, const double *q,
                   const double *weight, size_t n, bool scale, struct err *err)
{
    double value[4], vector[16], at[3];
    struct moments sums;
    const double *s = sums.cross;

    gather(&sums, p, q, weight, n);
    double horn[16] = {
        s[0] + s[4] + s[8], s[5] - s[7],        s[6] - s[2],         s[1] - s[3],
        s[5] - s[7],        s[0] - s[4] - s[8], s[1] + s[3],         s[6] + s[2],
        s[6] - s[2],        s[1] + s[3],        -s[0] + s[4] - s[8], s[5] + s[7],
        s[1] - s[3],        s[6] + s[2],        s[5] + s[7],         -s[0] - s[4] + s[8],
    };
    eval_fit_jacobi(value, vector, horn, 4);
    if (!(sums.total > 0) || !(value[0] - value[1] > DEGENERATE * value[0]))
        return err_set(err, ERR_INPUT,
                       "%zu pairs of points on one line or in one point: no rotation follows", n);
    quaternion_matrix(m->r, vector);
    m->s = scale ? value[0] / sums.spread : 1;
    memset(m->t, 0, sizeof m->t);
    eval_fit_apply(at, m, sums.mean_p);
    for (int k = 0; k < 3; k++)
        m->t[k] = sums.mean_q[k] - at[k];
    return 0;
}
