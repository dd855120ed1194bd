/*
 * crc32c.h - CRC-32C (Castagnoli), the check of records and checkpoints on disk
 *
 * Polynomial 0x1edc6f41, reflected, all bits inverted before and after: crc32c(0, "123456789", 9) =
 * 0xe3069283. Calls chain: crc32c(crc32c(0, a, n), b, m) is the sum of a followed by b.
 * Threads: any. Cost: the processor's own instruction where it has one (about 7 us for 71 kB), else
 * a table, ten times that.
 */
#ifndef RECOND_PROTO_CRC32C_H
#define RECOND_PROTO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The same without special instructions; tests compare both. */
uint32_t crc32c_table(uint32_t crc, const void *data, size_t len);

#endif
