/* The places that there are: a living room, a corridor, a desk, a corridor that leads round. */
#include "tests/bench/place.h"

#include <math.h>
#include <string.h>

#define PAINT(look_, r, g, b, seed_) ((struct place_paint){look_, {r, g, b}, seed_})

static const float white[3] = {0.82f, 0.8f, 0.76f}, oak[3] = {0.55f, 0.36f, 0.19f};
static const float dark[3] = {0.07f, 0.07f, 0.08f}, steel[3] = {0.45f, 0.46f, 0.48f};

static struct place_thing *add(struct place *p, enum place_kind kind, struct vec3 centre,
                               struct vec3 half, enum place_look look, const float rgb[3])
{
    struct place_thing *g = &p->thing[p->n_things++];

    *g = (struct place_thing){.kind = kind, .centre = centre, .half = half};
    for (int i = 0; i < 6; i++)
        g->paint[i] = PAINT(look, rgb[0], rgb[1], rgb[2], (uint32_t)(31 * p->n_things + i));
    return g;
}

/* A box that stands at x, z with its foot at y. */
static struct place_thing *box(struct place *p, float x, float y, float z, float w, float h,
                               float d, float yaw, enum place_look look, const float rgb[3])
{
    struct place_thing *g = add(p, PLACE_BOX, vec3_make(x, y + 0.5f * h, z),
                                vec3_make(0.5f * w, 0.5f * h, 0.5f * d), look, rgb);

    g->yaw = yaw;
    return g;
}

static struct place_thing *drum(struct place *p, float x, float y, float z, float r, float h,
                                enum place_look look, const float rgb[3])
{
    return add(p, PLACE_DRUM, vec3_make(x, y + 0.5f * h, z), vec3_make(r, 0.5f * h, r), look, rgb);
}

static void ball(struct place *p, float x, float y, float z, float r, const float rgb[3])
{
    add(p, PLACE_BALL, vec3_make(x, y, z), vec3_make(r, r, r), PLACE_CARPET, rgb);
}

/* A place on a turned piece of furniture: dx, dz from its middle. */
static struct vec3 beside(float x, float z, float yaw, float dx, float dz)
{
    float c = cosf(yaw), s = sinf(yaw);

    return vec3_make(x + c * dx + s * dz, 0, z - s * dx + c * dz);
}

static void table(struct place *p, float x, float z, float w, float d, float h, float yaw,
                  const float rgb[3])
{
    box(p, x, h - 0.04f, z, w, 0.04f, d, yaw, PLACE_WOOD, rgb);
    for (int i = 0; i < 4; i++) {
        struct vec3 at =
            beside(x, z, yaw, (i & 1 ? 0.46f : -0.46f) * w, (i & 2 ? 0.44f : -0.44f) * d);

        box(p, at.x, 0, at.z, 0.05f, h - 0.04f, 0.05f, yaw, PLACE_WOOD, rgb);
    }
}

static void chair(struct place *p, float x, float z, float yaw, const float rgb[3])
{
    struct vec3 back = beside(x, z, yaw, 0, 0.2f);

    table(p, x, z, 0.42f, 0.42f, 0.46f, yaw, rgb);
    box(p, back.x, 0.5f, back.z, 0.42f, 0.4f, 0.03f, yaw, PLACE_CLOTH, rgb);
}

static void plant(struct place *p, float x, float z, float size)
{
    static const float pot[3] = {0.5f, 0.22f, 0.13f}, leaf[3] = {0.12f, 0.32f, 0.1f};

    drum(p, x, 0, z, 0.16f * size, 0.32f * size, PLACE_PLASTER, pot);
    drum(p, x, 0.3f * size, z, 0.02f, 0.5f * size, PLACE_WOOD, oak);
    for (int i = 0; i < 9; i++)
        ball(p, x + size * 0.5f * (place_hash(i, 1, 5) - 0.5f),
             size * (0.65f + 0.6f * place_hash(i, 2, 5)),
             z + size * 0.5f * (place_hash(i, 3, 5) - 0.5f),
             size * (0.08f + 0.08f * place_hash(i, 4, 5)), leaf);
}

static void picture(struct place *p, float x, float y, float z, float w, float h, int along_z)
{
    static const float paper[3] = {0.8f, 0.74f, 0.6f};

    box(p, x, y, z, along_z ? 0.02f : w, h, along_z ? w : 0.02f, 0, PLACE_POSTER, paper);
}

static void shell(struct place *p, float w, float h, float d, enum place_look floor_look,
                  const float floor_rgb[3], const float wall[3])
{
    struct place_thing *g = add(p, PLACE_ROOM, vec3_make(0, 0.5f * h, 0),
                                vec3_make(0.5f * w, 0.5f * h, 0.5f * d), PLACE_PLASTER, wall);

    g->paint[2] = PAINT(floor_look, floor_rgb[0], floor_rgb[1], floor_rgb[2], 3);
    g->paint[3] = PAINT(PLACE_PLASTER, 0.85f, 0.85f, 0.83f, 4);
}

static void lamp(struct place *p, float x, float y, float z, struct vec3 u, struct vec3 v,
                 float warm, float cold)
{
    p->lamp[p->n_lamps++] =
        (struct place_lamp){vec3_make(x, y, z), u, v, {warm, 0.5f * (warm + cold), cold}};
}

static void stops(struct place *p, const float (*at)[6], int n)
{
    p->n_stops = n;
    for (int i = 0; i < n; i++)
        p->stop[i] = (struct place_stop){vec3_make(at[i][0], at[i][1], at[i][2]),
                                         vec3_make(at[i][3], at[i][4], at[i][5])};
}

/* 5 x 4 x 2.6 m: dining table with chairs, sofa, shelf, cupboard, plants, pictures, a window. */
static void make_room(struct place *p)
{
    static const float floor_rgb[3] = {0.5f, 0.35f, 0.2f}, wall[3] = {0.74f, 0.7f, 0.6f};
    static const float red[3] = {0.5f, 0.1f, 0.08f}, blue[3] = {0.12f, 0.2f, 0.42f};
    static const float green[3] = {0.2f, 0.36f, 0.22f}, orange[3] = {0.8f, 0.4f, 0.05f};
    static const float walk[][6] = {
        {-1.7f, 1.5f, -1.5f, 0.9f, 0.6f, 0.9f},   {-1.2f, 1.5f, -1.4f, 0.6f, 0.7f, 1.6f},
        {-0.6f, 1.45f, -1.1f, -1.2f, 0.7f, 1.8f}, {-0.2f, 1.4f, -0.7f, -2.2f, 0.8f, 0.9f},
        {0.3f, 1.45f, -0.9f, 0.1f, 0.7f, 1.9f},   {1.0f, 1.5f, -1.2f, 2.2f, 0.7f, 0.5f},
        {1.5f, 1.5f, -0.9f, 1.9f, 0.6f, 1.6f},    {1.7f, 1.4f, -0.4f, 0.4f, 0.7f, 1.2f},
    };
    struct place_thing *g;

    p->around = 0.35f;
    shell(p, 5, 2.6f, 4, PLACE_PLANKS, floor_rgb, wall);
    p->thing[0].paint[1] = PAINT(PLACE_PLASTER, 0.5f, 0.58f, 0.55f, 77);
    table(p, 0.7f, 0.7f, 1.5f, 0.85f, 0.74f, 0.1f, oak);
    chair(p, 0.4f, 1.35f, 0.15f, red);
    chair(p, 1.1f, 1.3f, -0.1f, red);
    chair(p, 0.3f, 0.05f, 3.0f, red);
    drum(p, 0.6f, 0.74f, 0.75f, 0.14f, 0.07f, PLACE_PLASTER, white);
    for (int i = 0; i < 5; i++)
        ball(p, 0.55f + 0.06f * (float)(i % 3), 0.84f, 0.7f + 0.07f * (float)(i / 2), 0.04f,
             i & 1 ? orange : red);
    box(p, 1.15f, 0.74f, 0.6f, 0.3f, 0.02f, 0.22f, 0.4f, PLACE_POSTER, blue);
    box(p, 0.2f, 0.74f, 0.6f, 0.2f, 0.14f, 0.12f, 0.7f, PLACE_POSTER, orange);
    drum(p, 0.95f, 0.74f, 0.95f, 0.04f, 0.26f, PLACE_PLASTER, green);
    box(p, -1.9f, 0, 0.9f, 0.9f, 0.42f, 1.8f, 0, PLACE_CLOTH, blue);
    box(p, -2.3f, 0.42f, 0.9f, 0.25f, 0.42f, 1.8f, 0, PLACE_CLOTH, blue);
    box(p, -1.9f, 0.42f, 0.08f, 0.85f, 0.18f, 0.18f, 0, PLACE_CLOTH, blue);
    box(p, -1.9f, 0.42f, 1.72f, 0.85f, 0.18f, 0.18f, 0, PLACE_CLOTH, blue);
    box(p, -2.05f, 0.44f, 0.5f, 0.16f, 0.4f, 0.42f, 0.2f, PLACE_POSTER, orange);
    box(p, -0.9f, 0, 0.85f, 1.2f, 0.012f, 1.7f, 0, PLACE_CLOTH, green);
    table(p, -0.95f, 0.85f, 0.5f, 0.9f, 0.4f, 0, oak);
    box(p, -0.95f, 0.4f, 0.7f, 0.2f, 0.05f, 0.28f, 0.3f, PLACE_POSTER, red);
    g = box(p, -0.9f, 0, 1.83f, 1.3f, 1.95f, 0.32f, 0, PLACE_WOOD, oak);
    g->paint[4] = PAINT(PLACE_BOOKS, 0.5f, 0.33f, 0.17f, 11);
    box(p, 2.2f, 0, 1.1f, 0.5f, 0.9f, 1.3f, 0, PLACE_WOOD, white);
    box(p, 2.2f, 0.9f, 0.9f, 0.06f, 0.55f, 0.85f, 0, PLACE_POSTER, dark);
    drum(p, 2.2f, 0.9f, 1.5f, 0.09f, 0.3f, PLACE_PLASTER, red);
    plant(p, 2.1f, -0.1f, 1.0f);
    plant(p, 0.3f, 1.75f, 0.8f);
    picture(p, 1.3f, 1.3f, 1.985f, 0.9f, 0.7f, 0);
    picture(p, -2.485f, 1.35f, 0.9f, 1.2f, 0.6f, 1);
    picture(p, -2.485f, 1.3f, -0.9f, 0.5f, 0.7f, 1);
    picture(p, 2.485f, 1.5f, 1.0f, 0.8f, 0.6f, 1);
    box(p, 2.47f, 0, -1.1f, 0.05f, 2.0f, 0.9f, 0, PLACE_WOOD, oak);
    lamp(p, 0.4f, 2.58f, 0.3f, vec3_make(0.5f, 0, 0), vec3_make(0, 0, 0.5f), 1.5f, 1.1f);
    lamp(p, -0.5f, 1.5f, -1.98f, vec3_make(0.8f, 0, 0), vec3_make(0, 0.6f, 0), 1.3f, 2.0f);
    stops(p, walk, 8);
}

/* 1.9 x 2.5 x 12 m: doors, notice boards, lamps, radiators, a bench, plants. */
static void make_corridor(struct place *p)
{
    static const float floor_rgb[3] = {0.42f, 0.42f, 0.38f}, wall[3] = {0.7f, 0.68f, 0.6f};
    static const float door[3] = {0.35f, 0.2f, 0.1f}, red[3] = {0.55f, 0.05f, 0.04f};
    static const float board[3] = {0.6f, 0.45f, 0.28f}, blue[3] = {0.1f, 0.2f, 0.4f};
    static const float walk[][6] = {
        {0, 1.5f, -5.3f, 0.1f, 1.1f, 0},      {0.15f, 1.52f, -4.6f, -0.2f, 1.1f, 0.5f},
        {0.2f, 1.5f, -3.9f, -0.5f, 1.0f, 0},  {0.05f, 1.48f, -3.2f, 0.4f, 1.0f, 0.5f},
        {-0.15f, 1.5f, -2.5f, 0.5f, 1.1f, 2}, {-0.2f, 1.52f, -1.8f, 0, 1.0f, 4},
        {0, 1.5f, -1.1f, -0.3f, 1.0f, 4},     {0.1f, 1.5f, -0.4f, 0, 1.1f, 5},
    };

    p->around = 0.3f;
    shell(p, 1.9f, 2.5f, 12, PLACE_TILES, floor_rgb, wall);
    for (int i = 0; i < 4; i++) {
        float z = -4.4f + 2.9f * (float)i;

        box(p, -0.93f, 0, z, 0.06f, 2.05f, 0.9f, 0, PLACE_WOOD, door);
        box(p, 0.93f, 0, z + 1.3f, 0.06f, 2.05f, 0.9f, 0, PLACE_WOOD, i & 1 ? blue : door);
        drum(p, -0.88f, 1.0f, z + 0.36f, 0.02f, 0.08f, PLACE_PLASTER, steel);
        picture(p, -0.94f, 1.1f, z + 1.4f, 1.1f, 0.8f, 1);
        picture(p, 0.94f, 1.25f, z + 0.15f, 0.7f, 0.5f, 1);
        picture(p, 0.94f, 1.6f, z + 1.95f, 0.25f, 0.2f, 1);
        box(p, 0, 2.44f, z + 0.7f, 0.6f, 0.05f, 0.3f, 0, PLACE_PLASTER, white);
        lamp(p, 0, 2.42f, z + 0.7f, vec3_make(0.3f, 0, 0), vec3_make(0, 0, 0.15f), 1.0f, 0.85f);
    }
    box(p, 0.8f, 0.15f, -2.1f, 0.14f, 0.6f, 1.1f, 0, PLACE_TILES, white);
    drum(p, -0.84f, 0.6f, -2.55f, 0.08f, 0.5f, PLACE_PLASTER, red);
    box(p, 0.72f, 0.4f, 1.5f, 0.4f, 0.05f, 1.4f, 0, PLACE_WOOD, board);
    box(p, 0.72f, 0, 0.95f, 0.35f, 0.4f, 0.06f, 0, PLACE_WOOD, board);
    box(p, 0.72f, 0, 2.05f, 0.35f, 0.4f, 0.06f, 0, PLACE_WOOD, board);
    box(p, 0.7f, 0.45f, 1.2f, 0.25f, 0.2f, 0.3f, 0.4f, PLACE_CLOTH, blue);
    box(p, -0.7f, 0, 0.2f, 0.4f, 1.3f, 0.9f, 0, PLACE_PLASTER, steel);
    box(p, -0.7f, 1.3f, 0.1f, 0.3f, 0.25f, 0.35f, 0.3f, PLACE_POSTER, board);
    box(p, 0.65f, 0, -3.75f, 0.45f, 0.3f, 0.5f, 0.2f, PLACE_POSTER, board);
    box(p, 0.66f, 0.3f, -3.75f, 0.35f, 0.25f, 0.4f, -0.3f, PLACE_POSTER, board);
    plant(p, -0.62f, 3.6f, 1.1f);
    plant(p, 0.6f, 4.4f, 0.9f);
    picture(p, 0, 0.9f, 5.985f, 1.3f, 1.2f, 0);
    stops(p, walk, 8);
}

/* A desk of 1.8 x 0.8 m at a wall, from nearby: screens, keyboard, books, mugs, papers, a lamp. */
static void make_desk(struct place *p)
{
    static const float floor_rgb[3] = {0.25f, 0.27f, 0.32f}, wall[3] = {0.66f, 0.68f, 0.7f};
    static const float red[3] = {0.6f, 0.12f, 0.1f}, blue[3] = {0.15f, 0.3f, 0.6f};
    static const float paper[3] = {0.85f, 0.84f, 0.8f}, yellow[3] = {0.8f, 0.62f, 0.1f};
    static const float walk[][6] = {
        {-0.9f, 1.35f, -0.3f, 0, 0.8f, 0.9f},     {-0.6f, 1.3f, -0.25f, 0.1f, 0.85f, 1.0f},
        {-0.25f, 1.3f, -0.2f, 0.2f, 0.85f, 1.1f}, {0.1f, 1.25f, -0.15f, 0.1f, 0.85f, 1.0f},
        {0.45f, 1.3f, -0.1f, 0, 0.8f, 1.0f},      {0.75f, 1.35f, 0, 0.1f, 0.8f, 1.0f},
        {0.9f, 1.4f, 0.1f, -0.1f, 0.8f, 1.1f},
    };

    p->around = 0.4f;
    shell(p, 3.6f, 2.5f, 3, PLACE_CARPET, floor_rgb, wall);
    table(p, 0, 1.0f, 1.8f, 0.8f, 0.74f, 0, oak);
    for (int i = 0; i < 2; i++) {
        float x = -0.35f + 0.62f * (float)i, yaw = i ? -0.25f : 0.15f;
        struct place_thing *g =
            box(p, x, 0.86f, 1.2f, 0.55f, 0.33f, 0.03f, yaw, PLACE_PLASTER, dark);

        g->paint[4] = PAINT(PLACE_POSTER, 0.1f, 0.16f, 0.25f, (uint32_t)(50 + i));
        box(p, x, 0.74f, 1.23f, 0.06f, 0.2f, 0.03f, yaw, PLACE_PLASTER, dark);
        box(p, x, 0.74f, 1.22f, 0.22f, 0.015f, 0.16f, yaw, PLACE_PLASTER, dark);
    }
    box(p, -0.15f, 0.74f, 0.85f, 0.45f, 0.025f, 0.15f, 0.05f, PLACE_TILES, dark);
    box(p, 0.25f, 0.74f, 0.83f, 0.065f, 0.03f, 0.11f, -0.2f, PLACE_PLASTER, dark);
    box(p, 0.55f, 0.74f, 0.85f, 0.21f, 0.004f, 0.297f, 0.3f, PLACE_POSTER, paper);
    box(p, 0.42f, 0.745f, 0.93f, 0.21f, 0.004f, 0.297f, -0.4f, PLACE_POSTER, paper);
    for (int i = 0; i < 5; i++)
        box(p, -0.72f + 0.01f * (float)(i % 3), 0.74f + 0.03f * (float)i, 1.0f, 0.2f, 0.03f, 0.27f,
            0.3f * place_hash(i, 1, 2), PLACE_POSTER, i & 1 ? blue : red);
    for (int i = 0; i < 6; i++)
        box(p, 0.62f + 0.035f * (float)i, 0.74f, 1.28f, 0.03f, 0.22f + 0.05f * place_hash(i, 2, 2),
            0.18f, 0, PLACE_CLOTH,
            i % 3 == 0   ? red
            : i % 3 == 1 ? yellow
                         : blue);
    drum(p, 0.72f, 0.74f, 0.95f, 0.04f, 0.1f, PLACE_PLASTER, red);
    drum(p, -0.48f, 0.74f, 0.8f, 0.042f, 0.09f, PLACE_POSTER, blue);
    drum(p, -0.78f, 0.74f, 1.28f, 0.09f, 0.02f, PLACE_PLASTER, steel);
    drum(p, -0.78f, 0.76f, 1.28f, 0.012f, 0.4f, PLACE_PLASTER, steel);
    drum(p, -0.74f, 1.14f, 1.24f, 0.1f, 0.12f, PLACE_PLASTER, yellow);
    ball(p, 0.05f, 0.78f, 1.0f, 0.04f, yellow);
    ball(p, 0.13f, 0.775f, 0.98f, 0.035f, red);
    chair(p, -0.9f, 0.35f, 2.3f, blue);
    box(p, 1.45f, 0, 0.9f, 0.45f, 0.6f, 0.55f, 0, PLACE_PLASTER, white);
    box(p, 1.45f, 0.6f, 0.9f, 0.35f, 0.22f, 0.3f, 0.2f, PLACE_POSTER, yellow);
    plant(p, -1.45f, 1.1f, 1.0f);
    picture(p, -0.55f, 1.4f, 1.485f, 0.7f, 0.5f, 0);
    picture(p, 0.5f, 1.35f, 1.485f, 0.9f, 0.6f, 0);
    picture(p, 1.785f, 1.2f, 0.7f, 0.8f, 0.6f, 1);
    picture(p, -1.785f, 1.2f, 0.7f, 0.8f, 0.6f, 1);
    lamp(p, 0.2f, 2.48f, 0, vec3_make(0.6f, 0, 0), vec3_make(0, 0, 0.3f), 1.3f, 1.1f);
    lamp(p, -1.78f, 1.6f, -0.6f, vec3_make(0, 0, 0.6f), vec3_make(0, 0.5f, 0), 0.7f, 1.1f);
    stops(p, walk, 7);
}

int place_list_make(struct place *p, const char *name)
{
    static const struct {
        const char *name;
        void (*make)(struct place *p);
    } list[] = {{"room", make_room}, {"corridor", make_corridor}, {"desk", make_desk}};

    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(name, list[i].name) == 0) {
            list[i].make(p);
            for (int k = 0; k < p->n_things; k++) {
                p->thing[k].c = cosf(p->thing[k].yaw);
                p->thing[k].s = sinf(p->thing[k].yaw);
            }
            return 0;
        }
    return -1;
}
