#include "proto/geom/inertial.h"

#define QUARTER 0.70710678 /* cosine of half the largest rotation */

void inertial_begin(struct inertial_turn *t, uint64_t from_ns, uint64_t to_ns)
{
    *t = (struct inertial_turn){.from_ns = from_ns, .q = {1, 0, 0, 0}};
    t->is_bad = to_ns <= from_ns || to_ns - from_ns > INERTIAL_SPAN_NS;
    t->span_ns = t->is_bad ? 0 : (int64_t)(to_ns - from_ns);
}

/* Continues the rotation at this rate. */
static void turn_on(struct inertial_turn *t, const double rate[3], int64_t ns)
{
    double s = 0.5e-9 * (double)ns, x = s * rate[0], y = s * rate[1], z = s * rate[2];
    double half = sqrt(x * x + y * y + z * z), w = cos(half);
    double a = t->q[0], b = t->q[1], c = t->q[2], d = t->q[3];

    s = half > 1e-9 ? sin(half) / half : 1.0;
    x *= s;
    y *= s;
    z *= s;
    t->q[0] = a * w - b * x - c * y - d * z;
    t->q[1] = a * x + b * w + c * z - d * y;
    t->q[2] = a * y - b * z + c * w + d * x;
    t->q[3] = a * z + b * y - c * x + d * w;
}

/* Integrates from the last sample to this one, within the two moments, at the mean rate of both
 * samples. */
static void inertial_follow(struct inertial_turn *t, int64_t at_ns, const double rate[3])
{
    int64_t from = t->at_ns > 0 ? t->at_ns : 0, to = at_ns < t->span_ns ? at_ns : t->span_ns;
    double share, mean[3];

    if (to <= from)
        return;
    share = 0.5 * (double)(from - t->at_ns + to - t->at_ns) / (double)(at_ns - t->at_ns);
    for (int i = 0; i < 3; i++)
        mean[i] = t->rate[i] + share * (rate[i] - t->rate[i]);
    turn_on(t, mean, to - from);
}

void inertial_add(struct inertial_turn *t, uint64_t at_ns, const float rate[3])
{
    int64_t at = (int64_t)(at_ns - t->from_ns);
    double r[3];

    for (int i = 0; i < 3; i++) {
        r[i] = (double)rate[i];
        t->is_bad |= !(fabs(r[i]) <= INERTIAL_RATE_MOST);
    }
    t->is_bad |= at < -INERTIAL_SPAN_NS || at > 2 * INERTIAL_SPAN_NS;
    if (t->is_bad)
        return;
    if (t->n == 0) {
        t->is_bad = at > INERTIAL_GAP_NS;
        if (at > 0 && !t->is_bad)
            turn_on(t, r, at < t->span_ns ? at : t->span_ns);
    } else {
        t->is_bad =
            at <= t->at_ns || (at > 0 && t->at_ns < t->span_ns && at - t->at_ns > INERTIAL_GAP_NS);
        if (!t->is_bad)
            inertial_follow(t, at, r);
    }
    t->at_ns = at;
    for (int i = 0; i < 3; i++)
        t->rate[i] = r[i];
    t->n++;
}

bool inertial_end(struct inertial_turn *t, float turn[3], float *seconds)
{
    int64_t from = t->at_ns > 0 ? t->at_ns : 0, rest = t->span_ns - from;
    double q = t->q[0];

    if (!t->is_bad && t->n > 0 && rest > 0) {
        t->is_bad = t->span_ns - t->at_ns > INERTIAL_GAP_NS;
        turn_on(t, t->rate, rest);
        q = t->q[0];
    }
    if (t->is_bad || t->n == 0 || !(fabs(q) >= QUARTER)) {
        turn[0] = turn[1] = turn[2] = *seconds = 0.0f;
        return false;
    }
    for (int i = 0; i < 3; i++)
        turn[i] = (float)(2.0 * t->q[1 + i] / q);
    *seconds = (float)(1e-9 * (double)t->span_ns);
    return true;
}
