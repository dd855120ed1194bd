/*
 * suspect.h - which frames a process was working on when it crashed
 *
 * A small file, mapped and shared, survives any death of the process. A thread enters the frame
 * that it works on and takes it out again; a handler of crash signals notes the crash. The next
 * process replays each frame that was entered then alone; one that has caused two crashes goes into
 * quarantine. SIGKILL and power failures leave no suspects. A counter in the journal would cost
 * every frame a write before its work begins; a mapped page costs two stores.
 * A file of another size, version or boot, or one that contradicts itself, counts as empty.
 * Threads: any, but for open, arm and close.
 */
#pragma once

#include "proto/err.h"

#include <stdint.h>

#define SUSPECT_SLOTS 256 /* frames at work at a time */
#define SUSPECT_LIST 256  /* suspects that are remembered */

struct suspect;

struct suspect_frame {
    char id[32];     /* id of the session */
    uint64_t number; /* number of the journal's record */
    uint32_t kills;  /* crashes of the process while it was at work */
};

/*
 * suspect_open - read the last process's file, then start an empty one
 *
 * Returns: 0; ERR_MEMORY; ERR_IO (the file cannot be made or mapped)
 */
MUST_CHECK int suspect_open(struct suspect **s, const char *path, struct err *err);

/* Fills all suspects, in no order; each stays in the file until suspect_clear(). Returns how many
 * there are; at most cap are written. */
int suspect_list(struct suspect *s, struct suspect_frame *out, int cap);

/* Enters a frame whose work begins. Returns a slot for suspect_leave(); -1 = the table is full, and
 * the frame is unprotected. Takes no lock. */
int suspect_enter(struct suspect *s, const char *id, uint64_t number);
void suspect_leave(struct suspect *s, int slot); /* -1 is fine */

/* The suspect was replayed alone and survived, or went into quarantine. */
void suspect_clear(struct suspect *s, const char *id, uint64_t number);

/* Notes a crash: a signal, the watchdog's abort, a device fault. Async-signal-safe. */
void suspect_blame(struct suspect *s);

/*
 * suspect_arm - blame on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, then the default action
 *
 * The handler runs on a stack of its own in the thread that calls this; other threads run it on
 * theirs, so an overflow of their stack is not blamed. One suspect at a time can be armed;
 * suspect_close() takes the handlers away.
 */
MUST_CHECK int suspect_arm(struct suspect *s, struct err *err);

/* Ends cleanly: nothing is at work any more, unless suspect_blame() came first. Suspects that were
 * not cleared stay in the file. */
void suspect_close(struct suspect **s);
