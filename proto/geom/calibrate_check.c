#include "proto/geom/calibrate_check.h"

#include <math.h>

#define SAME_PX 0.1 /* noise of a hundred corners moves their centre less than this */
/* least shift of the first corner: a board that was rotated has the same centre */
#define FIRST_PX 1
#define ALIKE 0.97 /* cosine of 14 degrees */
#define REACH 0.4  /* share of the way from the picture's centre to its nearest edge */
#define PICTURES_FEW 8

/* Number, means and mean squares of a camera's corners in a picture, and the first corner. */
struct moments {
    double n, u, v, uu, vv, first_u, first_v;
};

static bool is_same(const struct moments *a, const struct moments *b)
{
    if (a->n != b->n)
        return false;
    if (a->n == 0)
        return true;
    return hypot(a->first_u - b->first_u, a->first_v - b->first_v) < FIRST_PX &&
           fabs(a->u - b->u) < SAME_PX && fabs(a->v - b->v) < SAME_PX &&
           fabs(sqrt(a->uu - a->u * a->u) - sqrt(b->uu - b->u * b->u)) < SAME_PX &&
           fabs(sqrt(a->vv - a->v * a->v) - sqrt(b->vv - b->v * b->v)) < SAME_PX;
}

bool calibrate_check_twice(int pictures[2], const struct calibrate_corner *corners, size_t n)
{
    struct moments m[2][CALIBRATE_PICTURES_MAX] = {{{0}}};

    for (size_t i = 0; i < n; i++) {
        const struct calibrate_corner *c = &corners[i];
        struct moments *of = &m[c->camera][c->picture];

        if (of->n++ == 0) {
            of->first_u = c->u;
            of->first_v = c->v;
        }
        of->u += (c->u - of->u) / of->n;
        of->v += (c->v - of->v) / of->n;
        of->uu += (c->u * c->u - of->uu) / of->n;
        of->vv += (c->v * c->v - of->vv) / of->n;
    }
    for (int p = 0; p < CALIBRATE_PICTURES_MAX; p++)
        for (int q = p + 1; q < CALIBRATE_PICTURES_MAX; q++) {
            pictures[0] = p;
            pictures[1] = q;
            if (m[0][p].n + m[1][p].n > 0 && is_same(&m[0][p], &m[0][q]) &&
                is_same(&m[1][p], &m[1][q]))
                return true;
        }
    return false;
}

/* Tells whether all boards lean alike. A board and its back count as one. */
static bool are_parallel(const struct calibrate_descent *d)
{
    const double *first = NULL;

    for (int p = 0; p < d->n_pictures; p++) {
        const double *r = d->T[p].r;

        if (!d->has[p])
            continue;
        if (!first)
            first = r;
        if (fabs(r[2] * first[2] + r[5] * first[5] + r[8] * first[8]) < ALIKE)
            return false;
    }
    return true;
}

const char *calibrate_check_advice(const struct calibrate_descent *d, int camera,
                                   const int size_px[2])
{
    double half = 0.5 * fmin(size_px[0], size_px[1]), reach = 0;
    int pictures = 0;

    for (int p = 0; p < d->n_pictures; p++)
        pictures += d->has[p] > 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct calibrate_corner *c = &d->corners[i];

        if (c->camera == camera)
            reach =
                fmax(reach, hypot(c->u - 0.5 * (size_px[0] - 1), c->v - 0.5 * (size_px[1] - 1)));
    }
    if (are_parallel(d))
        return "all boards lean alike; boards in more attitudes are needed: tilt them to all sides";
    if (reach < REACH * half)
        return "all boards are in the middle of the picture: show some as far out as the camera "
               "sees, all around";
    if (pictures < PICTURES_FEW)
        return "there are few pictures: take more, with boards in more attitudes and places";
    return "boards in more attitudes, and in more parts of the picture, are needed";
}
