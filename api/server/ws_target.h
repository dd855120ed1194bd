/*
 * ws_target.h - is what a request names spelled as it is meant?
 */
#ifndef RECOND_API_WS_TARGET_H
#define RECOND_API_WS_TARGET_H

#include <stddef.h>

#define WS_TARGET_LINE_MAX 1024 /* the first line of a request that names a stream */

enum ws_target { WS_TARGET_MORE, WS_TARGET_GOOD, WS_TARGET_BAD };

/*
 * ws_target_judge - look at the first bytes of a connection, before a library reads them
 *
 * A request that is no GET is none of ours, and good: the library turns it away.
 * Returns: WS_TARGET_MORE: the target has not come whole; WS_TARGET_BAD: it has escapes, empty
 *          steps, steps that begin with a dot, or is too long
 */
enum ws_target ws_target_judge(const char *bytes, size_t len);

#endif
