/*
 * emulate_pulse.h - the pulse of a device that is the host: it answers at once, unless it is to be
 * silent
 */
#ifndef RECOND_TESTS_EMULATE_PULSE_H
#define RECOND_TESTS_EMULATE_PULSE_H

extern int emulate_pulse_silent, emulate_pulse_asked;

#endif
