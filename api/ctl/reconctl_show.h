/*
 * reconctl_show.h - text on a terminal: what is safe to show, and what fits
 */
#ifndef RECOND_API_RECONCTL_SHOW_H
#define RECOND_API_RECONCTL_SHOW_H

#include "proto/json.h"

#include <stdbool.h>

/* Waits for ms. Returns false where reconctl_stopped(), or the reader of standard output has
 * gone. */
bool reconctl_wait_output(int ms);

/* Has the reader of standard output gone? One that has seen enough wants no complaint. */
bool reconctl_reader_left(void);

#define RECONCTL_SHOWN 256
/* A text from elsewhere as a terminal may show it: control characters and those that turn the
 * direction of writing as \\x1b or \\u202e, at most `most` characters. Returns out. */
const char *reconctl_shown(char out[RECONCTL_SHOWN], const char *text, int most);
/* The same of a member of a map. */
const char *reconctl_member(char out[RECONCTL_SHOWN], const struct json *map, const char *key);

/* What is left of the terminal that standard output is; elsewhere there is no end of it. */
struct reconctl_screen {
    int columns, rows;
};
struct reconctl_screen reconctl_screen(void);
/* Prints one row of a table, cut at the last column. */
void reconctl_put_row(struct reconctl_screen *screen, const char *fmt, ...) ERR_PRINTF(2, 3);
/* Prints a text that goes on in the next line where the terminal ends: broken at blanks, the lines
 * behind the first one `indent` columns in. A word that is wider than a line is left to the
 * terminal. */
void reconctl_put_text(int indent, const char *fmt, ...) ERR_PRINTF(2, 3);
/* Characters of an id in a row: where room is short, enough of them to name the session. */
int reconctl_id_width(const struct reconctl_screen *screen);

#endif
