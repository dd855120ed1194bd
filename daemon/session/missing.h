/*
 * missing.h - the blocks of a cloud in the order in which a client is sent those that it lacks
 *
 * They are sorted by the revision at which each changed last, then by name, so that a client that
 * was cut off holds all blocks up to its last one (control_reaches(), docs/PROTOCOL.md, "Resume").
 */
#pragma once

#include "daemon/session/mirror.h"

/* Returns all blocks [*n], which the caller frees; NULL and none: no memory. Commits may come
 * meanwhile: a block that one of them changed has its old revision or its new one. */
struct mirror_entry *missing_list(struct mirror *m, uint32_t *n);
