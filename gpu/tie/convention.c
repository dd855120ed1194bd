#include "gpu/tie/convention.h"

#include <math.h>

/* The same move in other axes of the camera. */
static void turn_axes(struct sim3 *m, double x, double y, double z)
{
    const double s[3] = {x, y, z};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            m->r[3 * i + k] *= s[i] * s[k];
        m->t[i] *= s[i];
    }
}

/* The move that poses give when read in a convention. */
static void read_so(struct sim3 *m, enum convention c, const struct rigid *T_a,
                    const struct rigid *T_b)
{
    struct sim3 a, b, back;

    small_from(&a, T_a);
    small_from(&b, T_b);
    small_inverse(&back, c == CONVENTION_INVERSE ? &a : &b);
    if (c == CONVENTION_INVERSE)
        small_mul(m, &b, &back);
    else
        small_mul(m, &back, &a);
    if (c == CONVENTION_OPENGL)
        turn_axes(m, 1, -1, -1);
    if (c == CONVENTION_MIRRORED)
        turn_axes(m, 1, -1, 1);
    for (int i = 0; c == CONVENTION_MILLIMETRES && i < 3; i++)
        m->t[i] *= 1e-3;
}

static double length(const double t[3])
{
    return sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
}

bool convention_note(struct convention_votes *v, const struct sim3 *T_ba, const struct rigid *T_a,
                     const struct rigid *T_b, const struct tie_params *p)
{
    const struct sim3 still = sim3_identity();
    double way = length(T_ba->t), turn = sim3_angle_deg(T_ba, &still);

    if (way < p->convention_still_m && turn < p->convention_still_deg)
        return false;
    v->n++;
    for (int c = 0; c < CONVENTIONS; c++) {
        struct sim3 m;
        double off[3];

        read_so(&m, (enum convention)c, T_a, T_b);
        for (int i = 0; i < 3; i++)
            off[i] = m.t[i] - T_ba->t[i];
        v->of[c] +=
            length(off) < p->convention_off_m + p->convention_off_share * way &&
            sim3_angle_deg(&m, T_ba) < p->convention_off_deg + p->convention_off_share * turn;
    }
    return true;
}

enum convention convention_of(const struct convention_votes *v, const struct tie_params *p)
{
    int best = CONVENTION_INVERSE;

    for (int c = CONVENTION_INVERSE; c < CONVENTIONS; c++)
        best = v->of[c] > v->of[best] ? c : best;
    if (v->n < p->convention_moves || 2 * v->of[CONVENTION_GIVEN] >= v->of[best] ||
        2 * v->of[best] < v->n)
        return CONVENTION_GIVEN;
    return (enum convention)best;
}

const char *convention_text(enum convention c)
{
    static const char *const texts[CONVENTIONS] = {
        "", "poses are world to camera; camera to world is needed",
        "poses are of OpenGL's camera axes (y up, z backward); the stream was told otherwise",
        "poses are left-handed (y up, z forward); a right-handed world is needed",
        "positions are in millimetres; metres are needed"};

    return (unsigned)c < CONVENTIONS ? texts[c] : "";
}
