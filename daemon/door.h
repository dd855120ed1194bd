/*
 * door.h - the table of all that the edges may ask of the core (api/api.h)
 *
 * door.c has what HTTP asks, stream.c what the WebSocket edge asks.
 */
#ifndef RECOND_DAEMON_DOOR_H
#define RECOND_DAEMON_DOOR_H

#include "daemon/core.h"

extern const struct core_ops door_ops;

#endif
