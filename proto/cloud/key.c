#include "proto/cloud/key.h"

#define COLOUR_DROP (8 - KEY_COLOUR_BITS)
#define COLOUR_MAX ((1u << KEY_COLOUR_BITS) - 1)

/* Rounds a channel to KEY_COLOUR_BITS. */
static uint64_t colour(uint8_t channel)
{
    unsigned v = (channel + (1u << (COLOUR_DROP - 1))) >> COLOUR_DROP;

    return v < COLOUR_MAX ? v : COLOUR_MAX;
}

/* Spreads ten bits: two zeros follow each of them. */
static uint32_t spread(uint32_t v)
{
    v &= 0x3ff;
    v = (v | v << 16) & 0x030000ff;
    v = (v | v << 8) & 0x0300f00f;
    v = (v | v << 4) & 0x030c30c3;
    v = (v | v << 2) & 0x09249249;
    return v;
}

static uint32_t key_gather(uint32_t v)
{
    v &= 0x09249249;
    v = (v | v >> 2) & 0x030c30c3;
    v = (v | v >> 4) & 0x0300f00f;
    v = (v | v >> 8) & 0x030000ff;
    v = (v | v >> 16) & 0x3ff;
    return v;
}

uint32_t key_morton(uint32_t x, uint32_t y, uint32_t z)
{
    return spread(x) | spread(y) << 1 | spread(z) << 2;
}

uint64_t key_make(const int32_t p_q[3], const struct key_look *look)
{
    uint32_t mask = KEY_BLOCK_STEPS - 1;
    uint64_t m =
        key_morton((uint32_t)p_q[0] & mask, (uint32_t)p_q[1] & mask, (uint32_t)p_q[2] & mask);
    uint64_t rgb = colour(look->rgb[0]) << 2 * KEY_COLOUR_BITS |
                   colour(look->rgb[1]) << KEY_COLOUR_BITS | colour(look->rgb[2]);
    uint64_t normal = look->normal & ((1u << KEY_NORMAL_BITS) - 1);

    return m << KEY_MORTON_AT | normal << KEY_NORMAL_AT | rgb << KEY_COLOUR_AT |
           (look->confidence < KEY_CONFIDENCE_MAX ? look->confidence : KEY_CONFIDENCE_MAX);
}

struct key_look key_look(uint64_t key)
{
    struct key_look look = {.confidence = (uint8_t)(key & KEY_CONFIDENCE_MAX)};

    for (int i = 0; i < 3; i++)
        look.rgb[i] = (uint8_t)((key >> (KEY_COLOUR_AT + (2 - i) * KEY_COLOUR_BITS) & COLOUR_MAX)
                                << COLOUR_DROP);
    look.normal = (uint16_t)(key >> KEY_NORMAL_AT & ((1u << KEY_NORMAL_BITS) - 1));
    return look;
}

void key_position(struct cloud_name name, uint64_t key, int32_t p_q[3])
{
    uint32_t m = (uint32_t)(key >> KEY_MORTON_AT);

    p_q[0] = name.x * KEY_BLOCK_STEPS + (int32_t)key_gather(m);
    p_q[1] = name.y * KEY_BLOCK_STEPS + (int32_t)key_gather(m >> 1);
    p_q[2] = name.z * KEY_BLOCK_STEPS + (int32_t)key_gather(m >> 2);
}

void key_put_name(struct bytes_writer *w, const struct cloud_name *name)
{
    bytes_put_u32(w, name->submap);
    bytes_put_i32(w, name->x);
    bytes_put_i32(w, name->y);
    bytes_put_i32(w, name->z);
}

static bool in_range(int32_t v)
{
    return v >= KEY_BLOCK_MIN && v <= KEY_BLOCK_MAX;
}

bool key_get_name(struct bytes_reader *r, struct cloud_name *name)
{
    name->submap = bytes_get_u32(r);
    name->x = bytes_get_i32(r);
    name->y = bytes_get_i32(r);
    name->z = bytes_get_i32(r);
    return in_range(name->x) && in_range(name->y) && in_range(name->z);
}

static int key_compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int key_compare_names(const struct cloud_name *a, const struct cloud_name *b)
{
    int order = key_compare(a->submap, b->submap);

    order = order ? order : key_compare(a->x, b->x);
    order = order ? order : key_compare(a->y, b->y);
    return order ? order : key_compare(a->z, b->z);
}

uint64_t key_mix64(uint64_t v)
{
    v += 0x9e3779b97f4a7c15ull;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ v >> 27) * 0x94d049bb133111ebull;
    return v ^ v >> 31;
}

uint64_t key_random(uint64_t *state)
{
    uint64_t v = key_mix64(*state);

    *state += 0x9e3779b97f4a7c15ull;
    return v;
}
