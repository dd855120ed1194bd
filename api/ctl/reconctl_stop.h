/*
 * reconctl_stop.h - Ctrl-C, and waiting that it ends
 */
#ifndef RECOND_API_RECONCTL_STOP_H
#define RECOND_API_RECONCTL_STOP_H

#include <stdbool.h>

/* From here on the first SIGINT or SIGTERM asks the command to finish; the second one calls
 * end_now(), inside the signal handler. */
void reconctl_stop_begin(void (*end_now)(void));
/* Number of SIGINT and SIGTERM so far; the second one ends the process. */
int reconctl_stopped(void);
double reconctl_now_s(void); /* monotonic */
/* Sleeps in short pieces, until reconctl_stopped(). */
void reconctl_sleep_ms(int ms);

#endif
