#include "gpu/params.h"

#include <string.h>

static void row_set(void *params, const struct params_row *row, double value)
{
    char *at = (char *)params + row->offset;
    float f = (float)value;
    int whole = (int)value; /* every unsigned number fits an int */

    if (row->type == PARAMS_DOUBLE)
        memcpy(at, &value, sizeof value);
    else if (row->type == PARAMS_FLOAT)
        memcpy(at, &f, sizeof f);
    else
        memcpy(at, &whole, sizeof whole);
}

static void override_rows(void *params, const struct params_stage *stage,
                          const struct params_overrides *o)
{
    for (int i = 0; o && i < o->n; i++)
        for (int k = 0; k < stage->n_rows; k++)
            if (o->at[i].row == &stage->rows[k])
                row_set(params, o->at[i].row, o->at[i].value);
}

void params_fill(void *params, const struct params_stage *stage,
                 const struct params_overrides *first, const struct params_overrides *second)
{
    for (int i = 0; i < stage->n_rows; i++)
        row_set(params, &stage->rows[i], stage->rows[i].standard);
    override_rows(params, stage, first);
    override_rows(params, stage, second);
}
