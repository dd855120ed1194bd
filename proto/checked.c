#include "proto/checked.h"

#include <stdio.h>
#include <stdlib.h>

void checked_fail(const char *what)
{
    fprintf(stderr, "mistake of the program: %s\n", what);
    if (CHECKED_BUILD)
        abort();
}
