/*
 * tuning.h - the stages whose numbers a network may override
 */
#pragma once

#include "gpu/params.h"
#include "proto/err.h"

/* The stages of this build in a fixed order, NULL behind the last one. */
const struct params_stage *tuning_stage_at(int i);

/*
 * tuning_override - note that the number `name` of a stage is `value`
 *
 * Returns: 0; ERR_INPUT: unknown stage or name, or the value is not a number or out of its limits;
 *          ERR_LIMIT: PARAMS_OVERRIDES_MAX are noted
 */
MUST_CHECK int tuning_override(struct params_overrides *o, const char *stage, const char *name,
                               const char *value, struct err *err);
