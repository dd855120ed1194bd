/*
 * planes.h - removed indices and added keys as byte planes that compress well
 *
 * Bytes:   n_removed indices r[0] < r[1] < ... become differences r[i] - r[i-1] (the first against
 *          0) and are written as four planes of n_removed bytes: all lowest bytes, then all second
 *          bytes, ... n_added keys become ten planes of n_added bytes:
 *             four of the Morton differences m[i] - m[i-1] (the first against 0), lowest bytes
 *             first
 *             the low two bits each of du = u[i] - u[i-1] and dv = v[i] - v[i-1], the halves of the
 *                              normal (modulo 64): (du & 3) << 2 | (dv & 3)
 *             g[i] - g[i-1]    d[i] - d[i-1] with d = r - g    e[i] - e[i-1] with e = b - g
 *                              (colours modulo 64)
 *             c[i] - c[i-1], the confidence (modulo 16)
 *             the high four bits of du and dv: du >> 2 << 4 | dv >> 2
 *          Neighbours along the Morton curve are neighbours in space and mostly of one colour and
 *          one surface, and the three channels rise and fall together, so what remains is small.
 */
#ifndef RECOND_PROTO_PLANES_H
#define RECOND_PROTO_PLANES_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

#define PLANES_REMOVED_BYTES 4 /* per index */
#define PLANES_ADDED_BYTES 10  /* per key */

size_t planes_bytes(uint32_t n_removed, uint32_t n_added);

/*
 * planes_split - out [planes_bytes(n_removed, n_added)]
 *
 * In:      removed strictly ascending, added ascending
 */
void planes_split(uint8_t *out, const uint32_t *removed, uint32_t n_removed, const uint64_t *added,
                  uint32_t n_added);

/*
 * planes_join - the inverse, for bytes that cannot be trusted
 *
 * In:      in [planes_bytes(n_removed, n_added)]
 * Out:     removed [n_removed] strictly ascending, added [n_added] ascending keys of 30-bit Morton
 *          codes
 * Returns: 0; ERR_INPUT: they are not
 */
MUST_CHECK int planes_join(const uint8_t *in, uint32_t *removed, uint32_t n_removed,
                           uint64_t *added, uint32_t n_added, struct err *err);

#endif
