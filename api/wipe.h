/*
 * wipe.h - memory that is overwritten before it is given back
 *
 * Tokens pass through buffers whose end we do not see (answers, handshakes). What has been freed
 * shall not hold them: not for the next one who gets the memory, not for a core file.
 * Threads: as malloc().
 */
#ifndef RECOND_API_WIPE_H
#define RECOND_API_WIPE_H

#include <stddef.h>

/* free() after wiping all that the allocation holds; NULL is taken. */
void wipe_free(void *memory);
/* realloc() and free() (size = 0) in one, as libwebsockets asks for it; reason is not looked at. */
void *wipe_realloc(void *old, size_t size, const char *reason);

#endif
