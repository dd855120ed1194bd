#include "proto/crc32c.h"
#include "proto/crc32c_cpu.h"

/* Entry i is the low half-byte i after four shifts by one bit. The table is small enough to be
 * checked by eye. */
static const uint32_t half[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_table(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;

    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ half[crc & 15];
        crc = crc >> 4 ^ half[crc & 15];
    }
    return ~crc;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    if (!crc32c_cpu_has())
        return crc32c_table(crc, data, len);
    return ~crc32c_cpu(~crc, data, len);
}
