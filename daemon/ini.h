/*
 * ini.h - read a file of [section] key = value lines; the only user of libinih
 */
#pragma once

#include "proto/err.h"

#include <stdio.h>

/* Takes one pair; returns 0 or an error, whose place (file:line) ini_read() fills in. */
typedef int ini_pair(void *ctx, const char *section, const char *name, const char *value,
                     struct err *err);

/*
 * ini_read - call `pair` for every key of a file, in order, until one fails
 *
 * In:      a line that begins with `#` or `;` is a comment, and what follows blank and `;` is too;
 *          values are stripped of blanks; lines hold at most 190 bytes
 * Returns: 0; ERR_IO: cannot be opened or read; ERR_INPUT with where = path:line: not of this form,
 *          too long a line, bytes that are no text, or what `pair` said
 */
MUST_CHECK int ini_read(const char *path, ini_pair *pair, void *ctx, struct err *err);
/* The same from memory, for tests and fuzzing; `name` stands for the path. */
MUST_CHECK int ini_read_bytes(const char *name, const char *data, size_t len, ini_pair *pair,
                              void *ctx, struct err *err);
