/* A camera's picture of a place. */
#include "tests/bench/place.h"

#include <math.h>

#define TILE 20

/* Lists the things whose surrounding ball a tile's cone of rays can meet. */
static int visible(uint8_t *list, const struct place *p, const struct rigid *T_wc,
                   struct intrinsics K, int x, int y)
{
    const float mx = ((float)x + 0.5f * TILE - K.cx) / K.fx,
                my = ((float)y + 0.5f * TILE - K.cy) / K.fy;
    const float norm = sqrtf(mx * mx + my * my + 1), wide = 0.75f * TILE / fminf(K.fx, K.fy);
    const struct rigid T_cw = rigid_inverse(T_wc);
    int n = 0;

    for (int i = 0; i < p->n_things; i++) {
        const struct place_thing *g = &p->thing[i];
        struct vec3 c = rigid_apply(&T_cw, g->centre);
        float r = g->kind == PLACE_DRUM   ? sqrtf(g->half.x * g->half.x + g->half.y * g->half.y)
                  : g->kind == PLACE_BALL ? g->half.x
                                          : sqrtf(vec3_norm2(g->half));
        float d = sqrtf(vec3_norm2(c));
        float cosine = (c.x * mx + c.y * my + c.z) / (norm * fmaxf(d, 1e-6f));

        if (g->kind == PLACE_ROOM || d <= r ||
            acosf(fmaxf(-1, fminf(1, cosine))) <= asinf(r / d) + wide)
            list[n++] = (uint8_t)i;
    }
    return n;
}

struct pixel {
    float rgb[3], z;
    const struct place_thing *thing;
    int face;
};

static struct pixel look(const struct place *p, const struct rigid *T_wc, struct intrinsics K,
                         float x, float y, const uint8_t *list, int n)
{
    const struct rigid turn = {.r = {T_wc->r[0], T_wc->r[1], T_wc->r[2], T_wc->r[3], T_wc->r[4],
                                     T_wc->r[5], T_wc->r[6], T_wc->r[7], T_wc->r[8]}};
    const struct vec3 ray = vec3_make((x - K.cx) / K.fx, (y - K.cy) / K.fy, 1);
    const struct vec3 from = vec3_make(T_wc->t[0], T_wc->t[1], T_wc->t[2]);
    const struct vec3 d = rigid_apply(&turn, ray);
    struct pixel out = {{0, 0, 0}, 0, NULL, 0};
    struct place_hit hit;
    float half[2], light[3], facing;

    if (!place_ray(p, &hit, from, d, list, n))
        return out;
    out.z = hit.t; /* the ray's z is 1 */
    out.thing = hit.thing;
    out.face = hit.face;
    facing =
        fabsf(d.x * hit.normal.x + d.y * hit.normal.y + d.z * hit.normal.z) / sqrtf(vec3_norm2(d));
    half[0] = hit.face < 2 && hit.thing->kind < PLACE_DRUM ? hit.thing->half.z : hit.thing->half.x;
    half[1] = hit.face / 2 == 1 ? hit.thing->half.z : hit.thing->half.y;
    place_paint_at(out.rgb, &hit.thing->paint[hit.face], hit.u, hit.v, half,
                   1.5f * hit.t / (K.fx * fmaxf(0.2f, facing)));
    place_light_at(light, &hit);
    for (int k = 0; k < 3; k++)
        out.rgb[k] *= light[k];
    return out;
}

static void finish(uint8_t rgb[3], const float in[3], float off2, int x, int y, uint32_t seed)
{
    for (int k = 0; k < 3; k++) {
        float v =
            1 - expf(-1.6f * in[k] * (1 - 0.25f * off2)); /* bright parts bend, corners fade */
        float grain = place_hash(x, y, seed * 3 + (uint32_t)k) - 0.5f;

        v = 255 * powf(v, 1 / 2.2f) + 5 * grain;
        rgb[k] = (uint8_t)fmaxf(0, fminf(255, v + 0.5f));
    }
}

static void draw_tile(uint8_t *rgb, uint16_t *depth, const struct place *p,
                      const struct rigid *T_wc, struct intrinsics K, int w, int h, int x0, int y0,
                      uint32_t seed)
{
    struct pixel at[TILE + 1][TILE + 1];
    uint8_t list[PLACE_THINGS_MAX];
    int n = visible(list, p, T_wc, K, x0, y0);

    for (int j = 0; j <= TILE; j++)
        for (int i = 0; i <= TILE; i++)
            at[j][i] = look(p, T_wc, K, (float)(x0 + i), (float)(y0 + j), list, n);
    for (int j = 0; j < TILE && y0 + j < h; j++)
        for (int i = 0; i < TILE && x0 + i < w; i++) {
            struct pixel *c = &at[j][i], *r = &at[j][i + 1], *d = &at[j + 1][i];
            size_t k = (size_t)(y0 + j) * (size_t)w + (size_t)(x0 + i);
            float dx = 2 * ((float)(x0 + i) - K.cx) / (float)w;
            float dy = 2 * ((float)(y0 + j) - K.cy) / (float)h, mean[3];
            float z = c->z * 1000 + 0.5f;

            for (int m = 0; m < 3; m++)
                mean[m] = c->rgb[m];
            /* an edge lies in this pixel: four rays more */
            if (c->thing != r->thing || c->face != r->face || c->thing != d->thing ||
                c->face != d->face)
                for (int q = 0; q < 4; q++) {
                    struct pixel s =
                        look(p, T_wc, K, (float)(x0 + i) + 0.5f * (float)(q % 2) - 0.25f,
                             (float)(y0 + j) + 0.5f * (float)(q / 2) - 0.25f, list, n);

                    for (int m = 0; m < 3; m++)
                        mean[m] += (s.rgb[m] - c->rgb[m]) / 4;
                }
            finish(rgb + 3 * k, mean, 0.5f * (dx * dx + dy * dy), x0 + i, y0 + j, seed);
            depth[k] = (uint16_t)(z < 65535 ? z : 0);
        }
}

void place_draw(uint8_t *rgb, uint16_t *depth, const struct place *p, const struct rigid *T_wc,
                struct intrinsics K, int w, int h, uint32_t seed)
{
    for (int y = 0; y < h; y += TILE)
        for (int x = 0; x < w; x += TILE)
            draw_tile(rgb, depth, p, T_wc, K, w, h, x, y, seed);
}
