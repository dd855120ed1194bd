#include "proto/cloud/key.h"

uint8_t key_colour(uint8_t channel)
{
    unsigned drop = 8 - KEY_COLOUR_BITS, most = (1u << KEY_COLOUR_BITS) - 1;
    unsigned v = (channel + (1u << (drop - 1))) >> drop;

    return (uint8_t)((v < most ? v : most) << drop);
}

/* Ten bits, each followed by two zeros. */
static uint32_t spread(uint32_t v)
{
    v &= 0x3ff;
    v = (v | v << 16) & 0x030000ff;
    v = (v | v << 8) & 0x0300f00f;
    v = (v | v << 4) & 0x030c30c3;
    v = (v | v << 2) & 0x09249249;
    return v;
}

static uint32_t gather(uint32_t v)
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

void key_position(struct cloud_name name, uint64_t key, int32_t p_q[3])
{
    uint32_t m = (uint32_t)(key >> 32);

    p_q[0] = name.x * KEY_BLOCK_STEPS + (int32_t)gather(m);
    p_q[1] = name.y * KEY_BLOCK_STEPS + (int32_t)gather(m >> 1);
    p_q[2] = name.z * KEY_BLOCK_STEPS + (int32_t)gather(m >> 2);
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
