/*
 * descriptors.h - as many file descriptors as the configuration's limits may need
 */
#pragma once

#include "daemon/config.h"

/* Returns the file descriptors that connections, sessions and other files may need. */
uint64_t descriptors_needed(const struct config *config);
/* Raises the process's limit towards `needed`, and never lowers it. More would cost memory:
 * libraries make tables of that size, and some systems allow a billion. Returns the limit. */
uint64_t descriptors_raise(uint64_t needed);
/* Returns how many are open now. */
uint64_t descriptors_open(void);
