#include "proto/geom/calibrate.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

static bool take_whole(int *to, const char **line)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(*line, &end, 10);
    if (end == *line || errno || value < INT_MIN || value > INT_MAX)
        return false;
    *to = (int)value;
    *line = end;
    return true;
}

static bool take_real(double *to, const char **line)
{
    char *end;

    *to = strtod(*line, &end);
    if (end == *line || !isfinite(*to))
        return false;
    *line = end;
    return true;
}

bool calibrate_corner_parse(struct calibrate_corner *c, const char *line)
{
    if (!take_whole(&c->picture, &line) || !take_whole(&c->camera, &line) ||
        !take_real(&c->x_m, &line) || !take_real(&c->y_m, &line) || !take_real(&c->u, &line) ||
        !take_real(&c->v, &line))
        return false;
    while (isspace((unsigned char)*line))
        line++;
    return *line == '\0';
}
