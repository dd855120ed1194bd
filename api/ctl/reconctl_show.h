/*
 * reconctl_show.h - text on a terminal: what is safe to show, and what fits
 */
#ifndef RECOND_API_RECONCTL_SHOW_H
#define RECOND_API_RECONCTL_SHOW_H

#include "proto/json.h"

/* Waits for ms. Returns false after reconctl_stopped(), or when the reader of standard output has
 * gone. */
bool reconctl_wait_output(int ms);

/* Tells whether the reader of standard output has gone, which is no error. */
bool reconctl_reader_left(void);

#define RECONCTL_SHOWN 256
/* Copies an untrusted text for a terminal: control characters and those that change the direction
 * of writing become \\x1b or \\u202e. It writes at most `most` characters. Returns out. */
const char *reconctl_shown(char out[RECONCTL_SHOWN], const char *text, int most);
/* The same for a member of a map. */
const char *reconctl_member(char out[RECONCTL_SHOWN], const struct json *map, const char *key);

/* The rest of the terminal at standard output; elsewhere it has no end. */
struct reconctl_screen {
    int columns, rows;
};
struct reconctl_screen reconctl_screen(void);
/* Prints one row of a table, cut at the last column. */
void reconctl_put_row(struct reconctl_screen *screen, const char *fmt, ...) ERR_PRINTF(2, 3);
/* Prints a text wrapped at blanks to the terminal; lines after the first are indented by `indent`
 * columns. The terminal itself breaks a word that is wider than a line. */
void reconctl_put_text(int indent, const char *fmt, ...) ERR_PRINTF(2, 3);
/* Number of characters of an id in a row; on a narrow terminal only the beginning is shown. */
int reconctl_id_width(const struct reconctl_screen *screen);

#endif
