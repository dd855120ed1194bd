#include "proto/geom/upright.h"

#include "proto/geom/pose.h"
#include "proto/geom/solve.h"

#include <string.h>

/* Weight of an x axis against a top. The x axis is level whether the camera looks ahead or down;
 * the top points up only if it looks ahead. */
#define LEVEL_WEIGHT 4.0f

static void upright_add(struct upright *u, const struct rigid *T_wc, int shown)
{
    const float *r = T_wc->r;
    /* the camera's axis, 0 = x or 1 = y, along which the top lies, and its opposite direction */
    int along = shown & 1 ? 0 : 1, across = 1 - along, n = 0;
    float sign = shown < 2 ? -1.0f : 1.0f;

    for (int i = 0; i < 3; i++) {
        u->top[i] += sign * r[3 * i + along];
        for (int k = i; k < 3; k++)
            u->spread[n++] += r[3 * i + along] * r[3 * k + along] -
                              LEVEL_WEIGHT * r[3 * i + across] * r[3 * k + across];
    }
    u->n_stand++;
}

/* The direction away from the ground: the first eigenvector, on the side of the tops. */
static struct vec3 up_of(const struct upright *u)
{
    const float *s = u->spread;
    double a[9] = {s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]}, value[3], v[9];
    double sign;

    solve_eigen(value, v, a, 3);
    sign = v[0] * (double)u->top[0] + v[1] * (double)u->top[1] + v[2] * (double)u->top[2] < 0.0
               ? -1.0
               : 1.0;
    return (struct vec3){(float)(sign * v[0]), (float)(sign * v[1]), (float)(sign * v[2])};
}

int upright_turn(struct upright *u, const struct rigid *T_wc, int shown, int last)
{
    int turn = u->n_stand ? pose_turn(T_wc, up_of(u), last) : shown;

    if (turn != shown && u->n_lie < u->n_stand) {
        u->n_lie++;
        return turn;
    }
    if (turn != shown)
        memset(u, 0, sizeof *u);
    upright_add(u, T_wc, shown);
    return shown;
}
