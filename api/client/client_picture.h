/*
 * client_picture.h - a picture file as a JPEG that servers take
 *
 * PNG becomes JPEG. A picture of more bytes than servers take by default becomes a smaller one:
 * half or less of its sides, 1280 x 960 at least, which is far more than networks look at.
 */
#ifndef RECOND_API_CLIENT_PICTURE_H
#define RECOND_API_CLIENT_PICTURE_H

#include "api/file.h"

#include <stdbool.h>

#define CLIENT_PICTURE_QUALITY 92 /* quality, unless a server says that less will do */

/* Tells whether a file's name ends as that of a JPEG (png: of a PNG). */
bool client_picture_is(const char *name, bool png);

/*
 * client_picture_load - read a picture file
 *
 * In:      quality of a JPEG that is made of it, 1 ... 100; one that is sent as it is keeps its own
 * Out:     jpeg, as of file_load()
 * Returns: 0; as file_load(); ERR_INPUT: empty, or no picture; ERR_LIMIT: too large, and it cannot
 *          be made smaller; where = name
 */
MUST_CHECK int client_picture_load(struct file_content *jpeg, const char *path, const char *name,
                                   int quality, struct err *err);

/*
 * client_picture_lower - a JPEG anew in its own size, at a quality of 1 ... 100
 *
 * Out:     jpeg, as of file_load(), used again by the next call
 * Returns: 0; ERR_INPUT: no such picture; ERR_LIMIT: it would become no smaller, or takes too long;
 *          ERR_MEMORY
 */
MUST_CHECK int client_picture_lower(struct file_content *jpeg, const uint8_t *data, size_t len,
                                    int quality, struct err *err);

#endif
