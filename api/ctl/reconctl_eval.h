/*
 * reconctl_eval.h - what the commands of the eval family share
 *
 * Each is a row like all commands (reconctl.h), listed in reconctl.c: `eval depth`, `eval
 * trajectory`, `eval cloud`, `eval scene`. Their --json FILE takes the place of the flag that
 * other commands have under that name: the measures go to the file as one JSON document, and to
 * standard output as text for people on a terminal (or with --text), else as the same document in
 * one line.
 */
#ifndef RECOND_API_RECONCTL_EVAL_H
#define RECOND_API_RECONCTL_EVAL_H

#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"

/* Writes text and a newline to a file (beside it and renamed). Does nothing where path is NULL.
 * Returns 0; ERR_INPUT, ERR_NOT_FOUND: it cannot be written. */
MUST_CHECK int reconctl_eval_write(const char *path, const char *text, struct err *err);

/* Puts a number; null where it is not finite. */
void reconctl_eval_put(struct json_writer *w, const char *key, double v);

#endif
