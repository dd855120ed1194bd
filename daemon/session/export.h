/*
 * export.h - a session's cloud as a PLY file that is read from any offset
 *
 * The cloud is copied at one moment (8 bytes a point); the file's bytes are made when they are
 * asked for.
 * Threads: one at a time for each export.
 */
#pragma once

#include "daemon/session/mirror.h"
#include "daemon/session/places.h"
#include "proto/cloud/ply.h"

struct export;

/* Submaps lie where `places` has them; with `unplaced` the others lie in their own frames. */
MUST_CHECK int export_open(struct export **e, struct mirror *m, const struct ply_frame *frame,
                           const struct places *places, bool unplaced, struct err *err);
void export_close(struct export **e);

uint64_t export_bytes(const struct export *e);
uint64_t export_tag(const struct export *e); /* api_cloud_tag() */
/* Reads bytes [offset, offset + cap) of the file; returns how many there were, 0 at the end. */
size_t export_read(const struct export *e, uint64_t offset, uint8_t *buf, size_t cap);
