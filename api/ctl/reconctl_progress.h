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
    /* set by the caller before it shows them, the most important first; "" = none */
    char part[RECONCTL_PROGRESS_PARTS][RECONCTL_PROGRESS_PART];
};

/* Can this descriptor be drawn on? */
bool reconctl_progress_terminal(int fd);
struct reconctl_progress reconctl_progress_start(void);
/* Is it time to show something again? */
bool reconctl_progress_due(const struct reconctl_progress *p);
/* Shows the parts that fit; done: how much of the work, 0 ... 1, < 0 = not known. */
void reconctl_progress_show(struct reconctl_progress *p, double done);
/* "12 s left" of work of which so much was done in so many seconds; "" while that says little. */
void reconctl_progress_left(char part[RECONCTL_PROGRESS_PART], double done, double elapsed_s);
/* Where a message follows: "" or what takes the line away. */
const char *reconctl_progress_clear(const struct reconctl_progress *p);
/* All is over: the line stays, or goes. */
void reconctl_progress_end(struct reconctl_progress *p, bool stays);

/* The whole of it for work that knows what it does and how far it is; returns without showing
 * anything most of the time. */
void reconctl_progress_step(struct reconctl_progress *p, const char *what, double done);

#endif
