/*
 * checked.h - mistakes of the program that it looks for itself
 *
 * A mistake is reported on stderr. Builds for debug, ASan and TSan (CHECKED) end there; others
 * go on with what they had.
 */
#pragma once

#ifdef CHECKED
#define CHECKED_BUILD 1
#else
#define CHECKED_BUILD 0
#endif

void checked_fail(const char *what);
