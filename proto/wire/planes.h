/*
 * planes.h - removed indices and added keys as byte planes that compress well
 *
 * Bytes:   docs/PROTOCOL.md, "Planes". Neighbours along the Morton curve are neighbours in space,
 *          mostly of one colour and one surface, and the three channels rise and fall together, so
 *          their differences are small.
 */
#pragma once

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

#define PLANES_REMOVED_BYTES 4 /* per index */
#define PLANES_ADDED_BYTES 10  /* per key */

size_t planes_bytes(uint32_t n_removed, uint32_t n_added);

/*
 * planes_split - out [planes_bytes(n_removed, n_added)]
 * In:      removed strictly ascending, added ascending
 */
void planes_split(uint8_t *out, const uint32_t *removed, uint32_t n_removed, const uint64_t *added,
                  uint32_t n_added);

/*
 * planes_join - the inverse, for bytes that cannot be trusted
 * In:      in [planes_bytes(n_removed, n_added)]
 * Out:     removed [n_removed] strictly ascending, added [n_added] ascending keys of 30-bit Morton
 *          codes
 * Returns: 0; ERR_INPUT: they are not
 */
MUST_CHECK int planes_join(const uint8_t *in, uint32_t *removed, uint32_t n_removed,
                           uint64_t *added, uint32_t n_added, struct err *err);
