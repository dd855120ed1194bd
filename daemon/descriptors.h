/*
 * descriptors.h - as many file descriptors as the configuration's limits may need
 */
#ifndef RECOND_DAEMON_DESCRIPTORS_H
#define RECOND_DAEMON_DESCRIPTORS_H

#include "daemon/config.h"

/* What a configuration may need at worst: connections of both edges, files of sessions, the
 * rest. */
uint64_t descriptors_needed(const struct config *config);
/* Raise the process's limit to `needed`, or as far as it may; never lower it. Not beyond: libraries
 * make tables of that size, and some systems allow a billion. Returns the limit. */
uint64_t descriptors_raise(uint64_t needed);
/* How many are open now. */
uint64_t descriptors_open(void);

#endif
