/* What faces look like. */
#include "tests/bench/place.h"

#include <math.h>

static float smooth_noise(float x, float y, uint32_t seed)
{
    int i = (int)floorf(x), j = (int)floorf(y);
    float a = x - (float)i, b = y - (float)j, top, bottom;

    a *= a * (3 - 2 * a);
    b *= b * (3 - 2 * b);
    top = place_hash(i, j, seed) * (1 - a) + place_hash(i + 1, j, seed) * a;
    bottom = place_hash(i, j + 1, seed) * (1 - a) + place_hash(i + 1, j + 1, seed) * a;
    return top * (1 - b) + bottom * b;
}

/* Noise of wavelengths from `wave` down, -1...1 at most; halves fade out before they alias. */
static float noise(float u, float v, float wave, float blur, uint32_t seed)
{
    float sum = 0, weight = 0.5f;

    for (int i = 0; i < 6 && wave > blur; i++) {
        float fade = fminf(1, wave / blur - 1);

        sum += fade * weight * (2 * smooth_noise(u / wave, v / wave, seed + (uint32_t)i) - 1);
        wave *= 0.5f;
        weight *= 0.65f;
    }
    return sum;
}

static void tint(float rgb[3], const float base[3], float by)
{
    for (int k = 0; k < 3; k++)
        rgb[k] = base[k] * fmaxf(0.05f, by);
}

/* A dark gap of some width around whole multiples of `pitch`, as much of it as a pixel sees. */
static float gap(float x, float pitch, float width, float blur)
{
    float off = fabsf(x / pitch - floorf(x / pitch + 0.5f)) * pitch;
    float seen = 0.5f * (width + blur) - off;

    return seen > 0 ? fminf(1, seen / blur) * fminf(1, width / blur) : 0;
}

static void planks(float rgb[3], const struct place_paint *p, float u, float v, float blur)
{
    int row = (int)floorf(v / 0.14f);
    float shift = u + 1.1f * place_hash(row, 1, p->seed);
    int board = (int)floorf(shift / 1.2f);
    float tone = 0.85f + 0.3f * place_hash(row, board, p->seed + 3);

    tone += 0.25f * noise(0.08f * shift, v, 0.05f, blur, p->seed + 7);
    tone *= 1 - 0.6f * fmaxf(gap(v, 0.14f, 0.004f, blur), gap(shift, 1.2f, 0.004f, blur));
    tint(rgb, p->rgb, tone);
}

static void hue(float rgb[3], float h, float light)
{
    for (int k = 0; k < 3; k++)
        rgb[k] = light * (0.55f + 0.45f * cosf(6.2832f * (h + (float)k / 3)));
}

/* Circles and boxes of many sizes and colours before a ground that fades. */
static void poster(float rgb[3], const struct place_paint *p, float u, float v, const float half[2])
{
    float side = fminf(half[0], half[1]);
    float fade = 0.75f + 0.25f * v / half[1];

    tint(rgb, p->rgb, fade);
    for (int i = 0; i < 14; i++) {
        float x = half[0] * (1.8f * place_hash(i, 1, p->seed) - 0.9f) - u;
        float y = half[1] * (1.8f * place_hash(i, 2, p->seed) - 0.9f) - v;
        float r = side * (0.08f + 0.4f * place_hash(i, 3, p->seed) / (1 + 0.2f * (float)i));
        int inside = place_hash(i, 4, p->seed) < 0.5f ? x * x + y * y < r * r
                                                      : fabsf(x) < r && fabsf(y) < 0.5f * r;

        if (inside)
            hue(rgb, place_hash(i, 5, p->seed), 0.25f + 0.7f * place_hash(i, 6, p->seed));
    }
    if (fabsf(u) > half[0] - 0.02f || fabsf(v) > half[1] - 0.02f)
        tint(rgb, p->rgb, 0.35f);
}

/* Rows of backs of books of unlike width, height and colour, between boards. */
static void books(float rgb[3], const struct place_paint *p, float u, float v, float blur)
{
    float row = v / 0.32f;
    int shelf = (int)floorf(row), wide = (int)floorf(u / 0.16f);
    float height = (row - (float)shelf) * 0.32f, in = u / 0.16f - (float)wide, edge = 0;
    int book = 0;

    for (; book < 4; book++) {
        edge += 0.15f + 0.2f * place_hash(wide * 5 + book, shelf, p->seed);
        if (in < edge)
            break;
    }
    tint(rgb, p->rgb, 1);
    if (height < 0.025f)
        return;
    if (height > 0.19f + 0.1f * place_hash(wide * 5 + book, shelf, p->seed + 9)) {
        tint(rgb, p->rgb, 0.25f);
        return;
    }
    hue(rgb, place_hash(wide * 5 + book, shelf, p->seed + 1),
        0.15f + 0.6f * place_hash(wide * 5 + book, shelf, p->seed + 2));
    if (height > 0.14f && height < 0.17f && place_hash(wide * 5 + book, shelf, p->seed + 4) > 0.5f)
        tint(rgb, rgb, 1.6f);
    tint(rgb, rgb, 1 + 0.2f * noise(u, v, 0.02f, blur, p->seed + 5) - 0.5f * (edge - in < 0.03f));
}

void place_paint_at(float rgb[3], const struct place_paint *p, float u, float v,
                    const float half[2], float blur)
{
    uint32_t s = p->seed;

    switch (p->look) {
    case PLACE_PLASTER:
        tint(rgb, p->rgb,
             1 + 0.06f * noise(u, v, 1.1f, blur, s) + 0.05f * noise(u, v, 0.03f, blur, s + 9));
        break;
    case PLACE_WOOD:
        tint(rgb, p->rgb,
             1 + 0.35f * noise(0.1f * u, v, 0.04f, blur, s) +
                 0.1f * noise(u, v, 0.5f, blur, s + 9));
        break;
    case PLACE_PLANKS:
        planks(rgb, p, u, v, blur);
        break;
    case PLACE_CARPET:
        tint(rgb, p->rgb,
             1 + 0.12f * noise(u, v, 0.6f, blur, s) + 0.3f * noise(u, v, 0.016f, blur, s + 9));
        break;
    case PLACE_TILES:
        tint(rgb, p->rgb,
             (0.92f + 0.16f * place_hash((int)floorf(u / 0.3f), (int)floorf(v / 0.3f), s) +
              0.15f * noise(u, v, 0.08f, blur, s + 9)) *
                 (1 - 0.5f * fmaxf(gap(u, 0.3f, 0.006f, blur), gap(v, 0.3f, 0.006f, blur))));
        break;
    case PLACE_POSTER:
        poster(rgb, p, u, v, half);
        break;
    case PLACE_BOOKS:
        books(rgb, p, u, v, blur);
        break;
    case PLACE_CLOTH:
        tint(rgb, p->rgb,
             1 - 0.25f * (sinf(u * 52) > 0.6f) - 0.25f * (sinf(v * 52) > 0.6f) +
                 0.25f * noise(u, v, 0.02f, blur, s) + 0.15f * noise(u, v, 0.4f, blur, s + 9));
        break;
    }
}
