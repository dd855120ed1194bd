/*
 * reconctl_progress.h - says on standard error how far something is
 *
 * On a terminal it is one line, drawn over itself five times a second and never wider than the
 * terminal, with a bar where there is room. Elsewhere, and on a terminal that cannot move its
 * cursor (TERM=dumb), it is a line every five seconds. What takes less than a second says nothing.
 */
#ifndef RECOND_API_RECONCTL_PROGRESS_H
#define RECOND_API_RECONCTL_PROGRESS_H

#include <stdbool.h>

#define RECONCTL_PROGRESS_PARTS 8
#define RECONCTL_PROGRESS_PART 64

struct reconctl_progress {
    bool terminal;
    double began_s, shown_s;
    /* parts of the line, set by the caller, the most important first; "" = none */
    char part[RECONCTL_PROGRESS_PARTS][RECONCTL_PROGRESS_PART];
};

/* Tells whether a line can be drawn on this descriptor. */
bool reconctl_progress_terminal(int fd);
struct reconctl_progress reconctl_progress_start(void);
/* Tells whether it is time for the next line. */
bool reconctl_progress_due(const struct reconctl_progress *p);
/* Shows the parts that fit; done: share of the work, 0 ... 1, < 0 = unknown. */
void reconctl_progress_show(struct reconctl_progress *p, double done);
/* Writes "12 s left", estimated from the share that was done in so many seconds; "" while that says
 * little. */
void reconctl_progress_left(char part[RECONCTL_PROGRESS_PART], double done, double elapsed_s);
/* The text before a message: "" or what clears the line. */
const char *reconctl_progress_clear(const struct reconctl_progress *p);
/* Ends the line or clears it. */
void reconctl_progress_end(struct reconctl_progress *p, bool stays);

/* Does all of this for work whose name and share are known; most calls return without showing
 * anything. */
void reconctl_progress_step(struct reconctl_progress *p, const char *what, double done);

#endif
