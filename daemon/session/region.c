#include "daemon/session/region.h"

#include "daemon/session/options.h"
#include "proto/array.h"
#include "proto/cloud/key.h"
#include "proto/geom/octa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEGREE 0.017453292519943295

int region_box(struct region_box *box, const struct api_region *wanted, enum session_up up,
               struct err *err)
{
    struct vec3 u = options_up(up);
    const double axis[3] = {(double)u.x, (double)u.y, (double)u.z};
    double c = cos((double)wanted->turn_deg * DEGREE), s = sin((double)wanted->turn_deg * DEGREE);

    if (wanted->turn_deg != 0 && up == SESSION_UP_DEFAULT)
        return err_at(err, ERR_INPUT, "/region/turn",
                      "the session does not say which axis points up (option `up`)");
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) { /* Rodrigues' formula */
            double cross = i == k ? 0 : (k == (i + 1) % 3 ? -axis[3 - i - k] : axis[3 - i - k]);
            box->T_wb.r[3 * i + k] =
                (float)((i == k ? c : 0) + s * cross + (1 - c) * axis[i] * axis[k]);
        }
    for (int k = 0; k < 3; k++) {
        box->T_wb.t[k] = wanted->centre[k];
        box->half[k] = 0.5f * wanted->size[k];
    }
    return 0;
}

/* Points found so far, and points of unplaced submaps. */
struct taking {
    struct object_point *point;
    size_t n, cap;
    uint64_t nowhere;
};

static bool box_contains(const struct region_box *box, struct vec3 p, float slack)
{
    return fabsf(p.x) <= box->half[0] + slack && fabsf(p.y) <= box->half[1] + slack &&
           fabsf(p.z) <= box->half[2] + slack;
}

/* May points of this block lie in the box? T_bs takes the block's submap to the box. */
static bool may_meet(const struct region_box *box, const struct rigid *T_bs, float step_m,
                     const struct cloud_name *name)
{
    float side = step_m * KEY_BLOCK_STEPS;
    struct vec3 middle = {side * ((float)name->x + 0.5f), side * ((float)name->y + 0.5f),
                          side * ((float)name->z + 0.5f)};

    return box_contains(box, rigid_apply(T_bs, middle), side); /* more than half of its diagonal */
}

static int take_block(struct taking *t, const struct mirror_snapshot *s,
                      const struct mirror_block *b, const struct rigid *T_bs, float step_m,
                      const struct region_box *box, struct err *err)
{
    struct rigid R = *T_bs;
    struct vec3 p;
    int32_t q[3];

    memset(R.t, 0, sizeof(R.t));
    for (uint64_t i = b->first; i < b->first + b->n; i++) {
        key_position(b->name, s->keys[i], q);
        p = rigid_apply(T_bs, vec3_make((float)((double)q[0] * (double)step_m),
                                        (float)((double)q[1] * (double)step_m),
                                        (float)((double)q[2] * (double)step_m)));
        if (!box_contains(box, p, 0))
            continue;
        if (t->n == OBJECT_CLOUD_MAX)
            return err_set(err, ERR_LIMIT, "the box holds more than %d points: take a smaller one",
                           OBJECT_CLOUD_MAX);
        if (array_grow(&t->point, &t->cap, t->n + 1, sizeof(*t->point)))
            return err_set(err, ERR_MEMORY, "no memory for the points of a region");
        t->point[t->n++] =
            (struct object_point){p, rigid_apply(&R, octa_decode(key_look(s->keys[i]).normal))};
    }
    return 0;
}

static int take_all(struct taking *t, const struct mirror_snapshot *s, const struct places *places,
                    float step_m, const struct region_box *box, struct err *err)
{
    struct rigid T_bw = rigid_inverse(&box->T_wb), T_ws, T_bs;
    int rc = 0;

    for (uint32_t i = 0; i < s->n_blocks && rc == 0; i++) {
        const struct mirror_block *b = &s->blocks[i];
        if (!places_find(places, b->name.submap, &T_ws, NULL)) {
            t->nowhere += b->n;
            continue;
        }
        T_bs = rigid_mul(&T_bw, &T_ws);
        if (may_meet(box, &T_bs, step_m, &b->name))
            rc = take_block(t, s, b, &T_bs, step_m, box, err);
    }
    return rc;
}

int region_take(struct object_point **points, size_t *n, struct mirror *m,
                const struct places *places, float step_m, const struct region_box *box,
                struct err *err)
{
    struct mirror_snapshot s;
    struct taking t = {0};
    int rc = mirror_snapshot(m, &s, err);

    *points = NULL;
    *n = 0;
    if (rc)
        return rc;
    rc = take_all(&t, &s, places, step_m, box, err);
    if (rc == 0 && t.n == 0 && t.nowhere)
        rc =
            err_set(err, ERR_INPUT,
                    "no point lies in the box; %llu are of submaps that have no place in the world",
                    (unsigned long long)t.nowhere);
    else if (rc == 0 && t.n == 0)
        rc = err_set(err, ERR_INPUT, "no point of the cloud lies in the box");
    mirror_snapshot_free(&s);
    if (rc) {
        free(t.point);
        return rc;
    }
    *points = t.point;
    *n = t.n;
    return 0;
}
