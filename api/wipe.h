/*
 * wipe.h - memory that is overwritten before it is given back
 *
 * Tokens pass through buffers that libraries free (answers, handshakes). Freed memory shall not
 * hold them: neither the next owner of the memory nor a core file may see them.
 * Threads: as malloc().
 */
#ifndef RECOND_API_WIPE_H
#define RECOND_API_WIPE_H

#include <stddef.h>

/* Wipes the whole allocation and frees it; NULL is allowed. */
void wipe_free(void *memory);
/* Wipes what calls that have returned left on this thread's stack, 64 KiB below the caller's frame:
 * libraries copy headers into local buffers, too. */
void wipe_stack(void);

#endif
