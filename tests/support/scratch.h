/*
 * scratch.h - where a test puts its files
 *
 * tests/run gives each program a folder of its own ($TMPDIR) and removes it when the program has
 * ended, also when it was killed.
 */
#ifndef RECOND_TESTS_SCRATCH_H
#define RECOND_TESTS_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define SCRATCH_CAP 64

/* A template for mkdtemp() and mkstemp(): /tmp/recond-NAME-XXXXXX where $TMPDIR is not set or too
 * long for it. */
static inline void scratch_path(char path[SCRATCH_CAP], const char *name)
{
    const char *folder = getenv("TMPDIR");
    int n = folder ? snprintf(path, SCRATCH_CAP, "%s/recond-%s-XXXXXX", folder, name) : -1;

    if (n < 0 || n >= SCRATCH_CAP)
        snprintf(path, SCRATCH_CAP, "/tmp/recond-%s-XXXXXX", name);
}

static inline int scratch_remove_entry(const char *path, const struct stat *st, int kind,
                                       struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

/* A folder with all that is in it. */
static inline int scratch_remove(const char *folder)
{
    return nftw(folder, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
