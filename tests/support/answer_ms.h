/*
 * answer_ms.h - gpu_config.answer_ms for twins; ANSWER_MS=0 in the environment under tools that
 * hold kernels back (compute-sanitizer, debuggers, profilers)
 */
#ifndef RECOND_TESTS_ANSWER_MS_H
#define RECOND_TESTS_ANSWER_MS_H

#include <stdlib.h>

static inline int answer_ms(void)
{
    const char *given = getenv("ANSWER_MS");

    return given ? atoi(given) : 40;
}

#endif
