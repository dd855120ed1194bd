/*
 * start_check.h - open what a start would open, and say what is wrong with it
 *
 * Networks, journals, origins, token file, certificate and key. A service that is running is not
 * disturbed: no address is listened on, no folder is locked or made, no device is opened.
 */
#pragma once

#include "daemon/config.h"

/* Returns 0; else the error of the start. `complain` is called for each fault. */
MUST_CHECK int start_check(const struct config *config, void (*complain)(const struct err *err));
