#include "gpu/tuning.h"

#include "gpu/mono/mono_params.h"
#include "gpu/tie/tie_params.h"
#include "gpu/track/track_params.h"
#include "gpu/views/views_params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct params_stage *const stages[] = {&mono_params_stage, &tie_params_stage,
                                                    &track_params_stage, &views_params_stage};

const struct params_stage *tuning_stage_at(int i)
{
    return i >= 0 && i < (int)(sizeof stages / sizeof *stages) ? stages[i] : NULL;
}

static const struct params_stage *stage_find(const char *name)
{
    const struct params_stage *s = NULL;

    for (int i = 0; (s = tuning_stage_at(i)) && strcmp(s->name, name) != 0; i++)
        ;
    return s;
}

static const struct params_row *row_find(const struct params_stage *stage, const char *name)
{
    for (int i = 0; i < stage->n_rows; i++)
        if (strcmp(stage->rows[i].name, name) == 0)
            return &stage->rows[i];
    return NULL;
}

static int row_parse(double *out, const struct params_row *row, const char *value, struct err *err)
{
    int whole = row->type == PARAMS_INT || row->type == PARAMS_UINT;
    char *end;
    double v = strtod(value, &end);

    if (end == value || *end || !(v >= row->min && v <= row->max) || (whole && v != floor(v)))
        return err_set(err, ERR_INPUT, "%s = '%.40s': a %s from %.9g to %.9g is allowed", row->name,
                       value, whole ? "whole number" : "number", row->min, row->max);
    *out = v;
    return 0;
}

int tuning_override(struct params_overrides *o, const char *stage, const char *name,
                    const char *value, struct err *err)
{
    const struct params_stage *s = stage_find(stage);
    const struct params_row *row = s ? row_find(s, name) : NULL;
    double v = 0;
    int rc, i;

    if (!s)
        return err_set(err, ERR_INPUT, "section [%.40s] is neither [model] nor a stage's", stage);
    if (!row)
        return err_set(err, ERR_INPUT, "[%s] has no number '%.40s'", s->name, name);
    rc = row_parse(&v, row, value, err);
    if (rc)
        return rc;
    for (i = 0; i < o->n && o->at[i].row != row; i++)
        ;
    if (i == PARAMS_OVERRIDES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d numbers are overridden", i);
    o->at[i].row = row;
    o->at[i].value = v;
    o->n += i == o->n;
    return 0;
}
