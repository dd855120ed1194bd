#include "proto/wire/planes.h"

#include "proto/cloud/key.h"

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

/* The fields of a key besides its place: green, red, blue, confidence, the halves of the normal.
 * Each is written as its difference to the key before, modulo 2^bits. */
enum { GREEN, RED, BLUE, CONFIDENCE, NORMAL_U, NORMAL_V, FIELDS };
static const uint8_t field_bits[FIELDS] = {6, 6, 6, 4, 6, 6};
/* Planes of these fields; one plane has the bits of both halves of the normal that a coarse code
 * leaves zero. */
enum { PLANE_FINE, PLANE_COLOURS, PLANE_CONFIDENCE = PLANE_COLOURS + 3, PLANE_NORMAL, PLANES };

static void take_fields(uint8_t f[FIELDS], uint64_t key)
{
    uint32_t red = (uint32_t)(key >> 16), green = (uint32_t)(key >> 10);

    f[GREEN] = (uint8_t)green;
    f[RED] = (uint8_t)(red - green);
    f[BLUE] = (uint8_t)((uint32_t)(key >> 4) - green);
    f[CONFIDENCE] = (uint8_t)key;
    f[NORMAL_U] = (uint8_t)(key >> 28);
    f[NORMAL_V] = (uint8_t)(key >> 22);
}

static uint64_t give_fields(const uint8_t f[FIELDS])
{
    uint64_t red = (f[GREEN] + f[RED]) & 63u, blue = (f[GREEN] + f[BLUE]) & 63u;

    return (uint64_t)f[NORMAL_U] << 28 | (uint64_t)f[NORMAL_V] << 22 | red << 16 |
           (uint64_t)f[GREEN] << 10 | blue << 4 | f[CONFIDENCE];
}

/* Write and read the differences d of key i of n. */
static void split_fields(uint8_t *planes, size_t n, size_t i, const uint8_t d[FIELDS])
{
    planes[PLANE_FINE * n + i] = (uint8_t)((d[NORMAL_U] & 3) << 2 | (d[NORMAL_V] & 3));
    for (size_t k = GREEN; k <= CONFIDENCE; k++)
        planes[(PLANE_COLOURS + k) * n + i] = d[k];
    planes[PLANE_NORMAL * n + i] = (uint8_t)(d[NORMAL_U] >> 2 << 4 | d[NORMAL_V] >> 2);
}

static void join_fields(uint8_t d[FIELDS], const uint8_t *planes, size_t n, size_t i)
{
    uint8_t fine = planes[PLANE_FINE * n + i], normal = planes[PLANE_NORMAL * n + i];

    for (size_t k = GREEN; k <= CONFIDENCE; k++)
        d[k] = planes[(PLANE_COLOURS + k) * n + i];
    d[NORMAL_U] = (uint8_t)(normal >> 4 << 2 | (fine >> 2 & 3));
    d[NORMAL_V] = (uint8_t)((normal & 15) << 2 | (fine & 3));
}

static uint8_t within(int field, unsigned v)
{
    return (uint8_t)(v & ((1u << field_bits[field]) - 1));
}

void planes_split(uint8_t *out, const uint32_t *removed, uint32_t n_removed, const uint64_t *added,
                  uint32_t n_added)
{
    uint8_t *morton = out + planes_bytes(n_removed, 0), *planes = morton + 4 * (size_t)n_added;
    uint8_t now[FIELDS], before[FIELDS] = {0}, d[FIELDS];
    uint32_t last = 0, m_last = 0;
    size_t n = n_added;

    for (uint32_t i = 0; i < n_removed; i++) {
        split_u32(out, n_removed, i, removed[i] - last);
        last = removed[i];
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t m = (uint32_t)(added[i] >> KEY_MORTON_AT);

        split_u32(morton, n, i, m - m_last);
        m_last = m;
        take_fields(now, added[i]);
        for (int k = 0; k < FIELDS; k++) {
            d[k] = within(k, (unsigned)(now[k] - before[k]));
            before[k] = now[k];
        }
        split_fields(planes, n, i, d);
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
    const uint8_t *planes = in + 4 * n;
    uint8_t now[FIELDS] = {0}, d[FIELDS];
    uint64_t last = 0, m = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t key;

        m += join_u32(in, n, i);
        join_fields(d, planes, n, i);
        for (int k = 0; k < FIELDS; k++)
            now[k] = within(k, (unsigned)(now[k] + d[k]));
        key = m << KEY_MORTON_AT | give_fields(now);
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
