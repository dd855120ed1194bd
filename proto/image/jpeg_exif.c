/* The orientation that cameras write into a picture's Exif. */
#include "proto/image/jpeg.h"

#include <string.h>

#define HEAD_BYTES 6 /* "Exif", two zeros; then TIFF, from which offsets count */
#define TIFF_BYTES 8
#define ENTRY_BYTES 12
#define ORIENTATION 0x0112
#define SHORT 3

struct tiff {
    const uint8_t *data;
    size_t len;
    int big_endian;
};

static unsigned u16(const struct tiff *t, size_t at)
{
    const uint8_t *p = t->data + at;

    return t->big_endian ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}

static size_t u32(const struct tiff *t, size_t at)
{
    return t->big_endian ? (size_t)u16(t, at) << 16 | u16(t, at + 2)
                         : (size_t)u16(t, at + 2) << 16 | u16(t, at);
}

/* Values with a mirror (2, 4, 5, 7) do not come from cameras. */
static int turn_of(unsigned orientation)
{
    return orientation == 6 ? 1 : orientation == 3 ? 2 : orientation == 8 ? 3 : 0;
}

int jpeg_exif_turn(const uint8_t *segment, size_t len)
{
    struct tiff t = {.data = segment + HEAD_BYTES, .len = len - HEAD_BYTES};
    size_t at;
    unsigned n;

    if (len < HEAD_BYTES + TIFF_BYTES || memcmp(segment, "Exif\0", HEAD_BYTES) != 0 ||
        (memcmp(t.data, "II*\0", 4) != 0 && memcmp(t.data, "MM\0*", 4) != 0))
        return 0;
    t.big_endian = t.data[0] == 'M';
    at = u32(&t, 4);
    if (at > t.len - 2)
        return 0;
    n = u16(&t, at);
    at += 2;
    for (unsigned i = 0; i < n && t.len - at >= ENTRY_BYTES; i++, at += ENTRY_BYTES)
        if (u16(&t, at) == ORIENTATION)
            return u16(&t, at + 2) == SHORT ? turn_of(u16(&t, at + 8)) : 0;
    return 0;
}
