/* Where rays meet things, and how much light falls there. */
#include "tests/bench/place.h"

#include <math.h>
#include <stdlib.h>

#define TEXEL_M 0.05f
#define LAMP_SIDE 5 /* samples along a side of a lamp */
#define SKY_RAYS 40
#define NEAR_M 0.7f /* of the surroundings, what is farther takes no light away */

static struct vec3 turned(struct vec3 p, float c, float s)
{
    return vec3_make(c * p.x - s * p.z, p.y, s * p.x + c * p.z);
}

static struct vec3 along_ray(struct vec3 o, struct vec3 d, float t)
{
    return vec3_make(o.x + t * d.x, o.y + t * d.y, o.z + t * d.z);
}

/* Distances at which a ray enters and leaves, and through which faces; 0: it passes by. */
static int slabs(float t[2], int face[2], struct vec3 o, struct vec3 d, struct vec3 half)
{
    const float po[3] = {o.x, o.y, o.z}, pd[3] = {d.x, d.y, d.z}, ph[3] = {half.x, half.y, half.z};

    t[0] = -1e30f;
    t[1] = 1e30f;
    for (int k = 0; k < 3; k++) {
        float inv = 1 / (fabsf(pd[k]) < 1e-12f ? 1e-12f : pd[k]);
        float a = (-ph[k] - po[k]) * inv, b = (ph[k] - po[k]) * inv;
        int back = a > b;

        if (back) {
            float swap = a;

            a = b;
            b = swap;
        }
        if (a > t[0]) {
            t[0] = a;
            face[0] = 2 * k + back;
        }
        if (b < t[1]) {
            t[1] = b;
            face[1] = 2 * k + !back;
        }
    }
    return t[0] < t[1];
}

static int hit_box(struct place_hit *h, const struct place_thing *g, struct vec3 o, struct vec3 d)
{
    float t[2], n[3] = {0, 0, 0}, sign;
    int face[2], end = g->kind == PLACE_ROOM;
    struct vec3 p;

    if (!slabs(t, face, o, d, g->half) || t[end] <= 1e-4f || t[end] >= h->t)
        return 0;
    h->t = t[end];
    h->face = face[end];
    p = along_ray(o, d, h->t);
    h->u = h->face < 2 ? p.z : p.x;
    h->v = h->face / 2 == 1 ? p.z : p.y;
    sign = (h->face & 1 ? 1.0f : -1.0f) * (end ? -1.0f : 1.0f);
    n[h->face / 2] = sign;
    h->normal = vec3_make(n[0], n[1], n[2]);
    return 1;
}

static int hit_round(struct place_hit *h, const struct place_thing *g, struct vec3 o, struct vec3 d)
{
    int ball = g->kind == PLACE_BALL;
    float r = g->half.x, oy = ball ? o.y : 0, dy = ball ? d.y : 0;
    float a = d.x * d.x + dy * dy + d.z * d.z, b = o.x * d.x + oy * dy + o.z * d.z;
    float c = o.x * o.x + oy * oy + o.z * o.z - r * r, root = b * b - a * c, t;
    struct vec3 p;

    if (root > 0 && a > 1e-12f) {
        t = (-b - sqrtf(root)) / a;
        p = along_ray(o, d, t);
        if (t > 1e-4f && t < h->t && (ball || fabsf(p.y) <= g->half.y)) {
            h->t = t;
            h->face = 0;
            h->u = r * atan2f(p.z, p.x);
            h->v = ball ? r * asinf(fmaxf(-1, fminf(1, p.y / r))) : p.y;
            h->normal = vec3_make(p.x / r, ball ? p.y / r : 0, p.z / r);
            return 1;
        }
    }
    if (ball || fabsf(d.y) < 1e-12f)
        return 0;
    t = ((d.y < 0 ? g->half.y : -g->half.y) - o.y) / d.y;
    p = along_ray(o, d, t);
    if (t <= 1e-4f || t >= h->t || p.x * p.x + p.z * p.z > r * r)
        return 0;
    h->t = t;
    h->face = d.y < 0 ? 3 : 2;
    h->u = p.x;
    h->v = p.z;
    h->normal = vec3_make(0, d.y < 0 ? 1 : -1, 0);
    return 1;
}

int place_ray(const struct place *p, struct place_hit *hit, struct vec3 from, struct vec3 along,
              const uint8_t *list, int n)
{
    hit->thing = NULL;
    hit->t = 1e30f;
    for (int i = 0; i < (list ? n : p->n_things); i++) {
        const struct place_thing *g = &p->thing[list ? list[i] : i];
        struct vec3 o = turned(vec3_sub(from, g->centre), g->c, g->s);
        struct vec3 d = turned(along, g->c, g->s);

        if (g->kind == PLACE_ROOM || g->kind == PLACE_BOX ? hit_box(hit, g, o, d)
                                                          : hit_round(hit, g, o, d)) {
            hit->thing = g;
            hit->normal = turned(hit->normal, g->c, -g->s);
        }
    }
    return hit->thing != NULL;
}

/* ------------------------------------------------------------------------- light */

/* Half sides of a face along u and v. */
static void face_half(float half[2], const struct place_thing *g, int face)
{
    if (g->kind == PLACE_DRUM || g->kind == PLACE_BALL) {
        half[0] = face == 0 ? 3.1416f * g->half.x : g->half.x;
        half[1] = face != 0 ? g->half.x : g->kind == PLACE_BALL ? 1.5708f * g->half.x : g->half.y;
        return;
    }
    half[0] = face < 2 ? g->half.z : g->half.x;
    half[1] = face / 2 == 1 ? g->half.z : g->half.y;
}

/* The place and normal of u, v on a face, in the world. */
static void on_face(struct vec3 *at, struct vec3 *normal, const struct place_thing *g, int face,
                    float u, float v)
{
    float r = g->half.x, sign = face & 1 ? 1.0f : -1.0f;
    struct vec3 p, n;

    if (face == 0 && g->kind >= PLACE_DRUM) {
        float up = g->kind == PLACE_BALL ? v / r : 0, flat = cosf(up);

        n = vec3_make(flat * cosf(u / r), sinf(up), flat * sinf(u / r));
        p = vec3_make(r * n.x, g->kind == PLACE_BALL ? r * n.y : v, r * n.z);
    } else if (face < 2) {
        n = vec3_make(sign, 0, 0);
        p = vec3_make(sign * g->half.x, v, u);
    } else if (face < 4) {
        n = vec3_make(0, sign, 0);
        p = vec3_make(u, sign * g->half.y, v);
    } else {
        n = vec3_make(0, 0, sign);
        p = vec3_make(u, v, sign * g->half.z);
    }
    if (g->kind == PLACE_ROOM)
        n = vec3_make(-n.x, -n.y, -n.z);
    p = turned(p, g->c, -g->s);
    *normal = turned(n, g->c, -g->s);
    *at = vec3_make(p.x + g->centre.x + 2e-3f * normal->x, p.y + g->centre.y + 2e-3f * normal->y,
                    p.z + g->centre.z + 2e-3f * normal->z);
}

static float dot(struct vec3 a, struct vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static void add_lamp(float rgb[3], const struct place *p, const struct place_lamp *l,
                     struct vec3 at, struct vec3 normal)
{
    struct place_hit hit;
    float sum = 0;

    for (int i = 0; i < LAMP_SIDE * LAMP_SIDE; i++) {
        float a = ((float)(i % LAMP_SIDE) + 0.5f) * 2 / LAMP_SIDE - 1;
        float b = ((float)(i / LAMP_SIDE) + 0.5f) * 2 / LAMP_SIDE - 1;
        struct vec3 d = vec3_make(l->centre.x + a * l->u.x + b * l->v.x - at.x,
                                  l->centre.y + a * l->u.y + b * l->v.y - at.y,
                                  l->centre.z + a * l->u.z + b * l->v.z - at.z);
        float facing = dot(d, normal), d2 = vec3_norm2(d);

        if (facing > 0 && !(place_ray(p, &hit, at, d, NULL, 0) && hit.t < 0.98f))
            sum += facing / (sqrtf(d2) * (d2 + 0.3f));
    }
    for (int k = 0; k < 3; k++)
        rgb[k] += l->rgb[k] * sum / (LAMP_SIDE * LAMP_SIDE);
}

/* The share of directions in which nothing is near. */
static float open_around(const struct place *p, struct vec3 at, struct vec3 normal)
{
    struct place_hit hit;
    float sum = 0, all = 0;

    for (int i = 0; i < SKY_RAYS; i++) { /* a spiral over the ball */
        float y = 1 - (2 * (float)i + 1) / SKY_RAYS, r = sqrtf(1 - y * y),
              turn = 2.39996f * (float)i;
        struct vec3 d = vec3_make(r * cosf(turn), y, r * sinf(turn));
        float facing = dot(d, normal);

        if (facing <= 0)
            continue;
        all += facing;
        sum += facing * (place_ray(p, &hit, at, d, NULL, 0) ? fminf(1, hit.t / NEAR_M) : 1);
    }
    return all > 0 ? sum / all : 0;
}

static int light_face(struct place *p, struct place_thing *g, int face)
{
    float half[2];
    int w, h;

    face_half(half, g, face);
    g->columns[face] = w = 2 + (int)(2 * half[0] / TEXEL_M);
    g->rows[face] = h = 2 + (int)(2 * half[1] / TEXEL_M);
    g->light[face] = calloc((size_t)w * (size_t)h * 3, sizeof(float));
    if (!g->light[face])
        return -1;
    for (int i = 0; i < w * h; i++) {
        float u = half[0] * (((float)(i % w) + 0.5f) * 2 / (float)w - 1);
        float v = half[1] * (((float)(i / w) + 0.5f) * 2 / (float)h - 1);
        float *rgb = g->light[face] + 3 * i, sky;
        struct vec3 at, normal;

        on_face(&at, &normal, g, face, u, v);
        sky = p->around * open_around(p, at, normal);
        for (int k = 0; k < 3; k++)
            rgb[k] = sky;
        for (int k = 0; k < p->n_lamps; k++)
            add_lamp(rgb, p, &p->lamp[k], at, normal);
    }
    return 0;
}

int place_light(struct place *p)
{
    for (int i = 0; i < p->n_things; i++)
        for (int face = 0; face < 6; face++) {
            enum place_kind kind = p->thing[i].kind;

            if ((kind == PLACE_BALL && face > 0) ||
                (kind == PLACE_DRUM && face != 0 && face / 2 != 1))
                continue;
            if (light_face(p, &p->thing[i], face))
                return -1;
        }
    return 0;
}

void place_light_free(struct place *p)
{
    for (int i = 0; i < p->n_things; i++)
        for (int face = 0; face < 6; face++)
            free(p->thing[i].light[face]);
}

void place_light_at(float rgb[3], const struct place_hit *hit)
{
    const struct place_thing *g = hit->thing;
    int w = g->columns[hit->face], h = g->rows[hit->face], i, j;
    float half[2], x, y;

    face_half(half, g, hit->face);
    x = fmaxf(0, fminf((hit->u / half[0] + 1) * 0.5f * (float)w - 0.5f, (float)w - 1.001f));
    y = fmaxf(0, fminf((hit->v / half[1] + 1) * 0.5f * (float)h - 0.5f, (float)h - 1.001f));
    i = (int)x;
    j = (int)y;
    x -= (float)i;
    y -= (float)j;
    for (int k = 0; k < 3; k++) {
        const float *at = g->light[hit->face] + 3 * (j * w + i) + k;

        rgb[k] =
            (at[0] * (1 - x) + at[3] * x) * (1 - y) + (at[3 * w] * (1 - x) + at[3 * w + 3] * x) * y;
    }
}
