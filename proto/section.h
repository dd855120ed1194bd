/*
 * section.h - a state as a row of sections, each of which says what it is and how long it is
 *
 * Section: little-endian: tag u32, four characters | version u16 | flags u16 | length u64 | the
 *          body | zeros up to a multiple of 16. A row that begins at a multiple of 16 has all its
 *          bodies at multiples of 16.
 * Owner:   the first character of a tag: 'G' is the device's, 'D' the daemon's. A row may hold the
 *          sections of several owners, in any order.
 * Change:  a change of a body raises its version, and the code reads the older ones, too. A section
 *          that a state can do without is optional. section_use() holds the rules for all owners.
 * A check of the bytes belongs to the file that a row is kept in.
 */
#ifndef RECOND_PROTO_SECTION_H
#define RECOND_PROTO_SECTION_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

#define SECTION_ALIGN 16
#define SECTION_HEAD_BYTES 16
#define SECTION_OPTIONAL 1u
#define SECTION_TAG(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

struct section {
    uint32_t tag;
    uint16_t version, flags;
    const uint8_t *body; /* body, borrowed from the row */
    size_t len;
};

/* The highest version of a tag that this build reads; 0 = the tag is unknown. */
typedef unsigned section_reads_fn(const void *ctx, uint32_t tag);

/* Writes the tag's characters, '?' for those that are not printable. Returns name. */
const char *section_name(char name[5], uint32_t tag);

/* Bytes that a body of len bytes takes in a row. */
size_t section_bytes(size_t len);

/*
 * section_open / section_close - a section at the end of a row, its body filled in between
 *
 * In/out:  *at, where the row ends; it is a multiple of 16
 * Returns: the body, section_bytes(cap) fit the row; NULL: they do not
 */
uint8_t *section_open(uint8_t *row, size_t row_cap, size_t at, size_t cap);
void section_close(uint8_t *row, size_t *at, uint32_t tag, unsigned version, unsigned flags,
                   size_t len);

/* Reads the section at *at and moves *at behind it. Returns 1; 0 at the row's end; ERR_INPUT. */
MUST_CHECK int section_next(struct section *s, const uint8_t *row, size_t len, size_t *at,
                            struct err *err);
/* Finds the first section of a tag. Returns 1; 0: there is none, or the row is damaged before
 * it. */
int section_find(struct section *s, const uint8_t *row, size_t len, uint32_t tag);

/*
 * section_use - may this build use a section of which it reads versions 1 ... reads?
 *
 * Returns: 1; 0: it is optional and passed over; ERR_UNSUPPORTED: the state is not damaged, but
 *          another build's
 */
MUST_CHECK int section_use(const struct section *s, unsigned reads, struct err *err);

#endif
