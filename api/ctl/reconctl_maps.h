/*
 * reconctl_maps.h - a folder of the depth maps that a stream brings (proto/wire/depth.h)
 *
 *     NNNNNN.png     the map of frame NNNNNN, 16 bits a pixel, values as they came
 *     poses.txt      NNNNNN tx ty tz qx qy qz qw: the pose that was used, where there was one
 *     sequence.json  width height fx fy cx cy of the maps; depth_unit_m where a value times it is
 *                    metres, else depth_unit "inverse" and inverse_unit: metres = that / value
 */
#ifndef RECOND_API_RECONCTL_MAPS_H
#define RECOND_API_RECONCTL_MAPS_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

struct reconctl_maps;

/* Makes the folder and checks that files can be written there. Returns 0; ERR_FILE */
MUST_CHECK int reconctl_maps_check(const char *folder, struct err *err);
/*
 * reconctl_maps_take - a message of the stream
 *
 * In/out:  *m, NULL before the first one
 * In:      folder, NULL: the map is checked and not written; another kind of message is passed over
 * Returns: 0; ERR_INPUT, ERR_LIMIT: a map that is none; ERR_FILE; ERR_MEMORY
 */
MUST_CHECK int reconctl_maps_take(struct reconctl_maps **m, const char *folder, const uint8_t *msg,
                                  size_t len, struct err *err);
/* Writes sequence.json; called once. Returns 0; ERR_STATE: no map came; ERR_FILE */
MUST_CHECK int reconctl_maps_end(struct reconctl_maps *m, const char *folder, struct err *err);
void reconctl_maps_free(struct reconctl_maps **m);

#endif
