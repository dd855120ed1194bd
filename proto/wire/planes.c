#include "proto/wire/planes.h"

#define MORTON_END (1u << 30)

size_t planes_bytes(uint32_t n_removed, uint32_t n_added)
{
    return (size_t)n_removed * PLANES_REMOVED_BYTES + (size_t)n_added * PLANES_ADDED_BYTES;
}

static void split_u32(uint8_t *out, size_t n, size_t i, uint32_t v)
{
    out[i] = (uint8_t)v;
    out[n + i] = (uint8_t)(v >> 8);
    out[2 * n + i] = (uint8_t)(v >> 16);
    out[3 * n + i] = (uint8_t)(v >> 24);
}

static uint32_t join_u32(const uint8_t *in, size_t n, size_t i)
{
    return (uint32_t)in[i] | (uint32_t)in[n + i] << 8 | (uint32_t)in[2 * n + i] << 16 |
           (uint32_t)in[3 * n + i] << 24;
}

void planes_split(uint8_t *out, const uint32_t *removed, uint32_t n_removed, const uint64_t *added,
                  uint32_t n_added)
{
    uint8_t *colour = out + planes_bytes(n_removed, 0) + 4 * (size_t)n_added;
    uint8_t *morton = out + planes_bytes(n_removed, 0);
    uint32_t last = 0, m_last = 0;
    uint8_t g_last = 0, d_last = 0, e_last = 0, c_last = 0;
    size_t n = n_added;

    for (uint32_t i = 0; i < n_removed; i++) {
        split_u32(out, n_removed, i, removed[i] - last);
        last = removed[i];
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t m = (uint32_t)(added[i] >> 32), low = (uint32_t)added[i];
        uint8_t g = (uint8_t)(low >> 16), c = (uint8_t)low;
        uint8_t d = (uint8_t)((low >> 24) - g), e = (uint8_t)((low >> 8) - g);

        split_u32(morton, n, i, m - m_last);
        colour[i] = (uint8_t)(g - g_last);
        colour[n + i] = (uint8_t)(d - d_last);
        colour[2 * n + i] = (uint8_t)(e - e_last);
        colour[3 * n + i] = (uint8_t)(c - c_last);
        m_last = m;
        g_last = g;
        d_last = d;
        e_last = e;
        c_last = c;
    }
}

static int join_removed(const uint8_t *in, uint32_t *removed, uint32_t n, struct err *err)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t step = join_u32(in, n, i);

        at += step;
        if ((i && step == 0) || at > UINT32_MAX)
            return err_set(err, ERR_INPUT, "removed index %u does not ascend", (unsigned)i);
        removed[i] = (uint32_t)at;
    }
    return 0;
}

static int join_added(const uint8_t *in, uint64_t *added, uint32_t n_added, struct err *err)
{
    size_t n = n_added;
    const uint8_t *colour = in + 4 * n;
    uint64_t last = 0, m = 0;
    uint8_t g = 0, d = 0, e = 0, c = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t key;

        m += join_u32(in, n, i);
        g = (uint8_t)(g + colour[i]);
        d = (uint8_t)(d + colour[n + i]);
        e = (uint8_t)(e + colour[2 * n + i]);
        c = (uint8_t)(c + colour[3 * n + i]);
        key = m << 32 | (uint64_t)(uint8_t)(d + g) << 24 | (uint64_t)g << 16 |
              (uint64_t)(uint8_t)(e + g) << 8 | c;
        if (m >= MORTON_END || key < last)
            return err_set(err, ERR_INPUT, "added key %zu leaves the block or does not ascend", i);
        added[i] = last = key;
    }
    return 0;
}

int planes_join(const uint8_t *in, uint32_t *removed, uint32_t n_removed, uint64_t *added,
                uint32_t n_added, struct err *err)
{
    int rc = join_removed(in, removed, n_removed, err);

    return rc ? rc : join_added(in + planes_bytes(n_removed, 0), added, n_added, err);
}
