/*
 * bound.h - figures of time, which depend on the machine and on what else it does
 *
 * A test reports such a figure and asserts something else: order, counts, what happened before
 * what. With BOUNDS=1 (`make bench-bounds`, on a calm machine) the figure is held against its
 * bound, too.
 */
#ifndef RECOND_TESTS_BOUND_H
#define RECOND_TESTS_BOUND_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool bound_wanted(void)
{
    const char *text = getenv("BOUNDS");

    return text && text[0] == '1';
}

/* True unless bounds are wanted and this one is broken. */
static inline bool bound_at_most(const char *what, double value, double bound, const char *unit)
{
    printf("# %s: %.4g %s, at most %.4g on a calm machine\n", what, value, unit, bound);
    return value <= bound || !bound_wanted();
}

#endif
