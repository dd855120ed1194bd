/*
 * params.h - tables of a stage's numbers that were chosen on data, and their overrides by networks
 *
 * Each stage that has such numbers keeps them in one struct, which its header makes of a list of
 * rows (gpu/views/views_params.h is one). A row gives a number's name, our value, its limits, its
 * unit, its meaning and the data that it was chosen on. A session's stages begin with our values;
 * the sidecars of its networks may override some (docs/MODELS.md, "Sidecar"). Sizes of memory or
 * loops are constants in the stage's header instead.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PARAMS_OVERRIDES_MAX 64

enum params_type { PARAMS_INT, PARAMS_UINT, PARAMS_FLOAT, PARAMS_DOUBLE };

struct params_row {
    const char *name;
    enum params_type type;
    size_t offset; /* in the stage's struct */
    double standard, min, max;
    const char *unit, *meaning, *chosen_on;
};

struct params_stage {
    const char *name; /* of the section in a sidecar */
    const struct params_row *rows;
    int n_rows;
};

/* A field of a stage's struct, as its list of rows has it. */
#define PARAMS_FIELD(type, name, standard, min, max, unit, meaning, chosen_on) type name;

/* Its row, in a file that C compiles. */
#define PARAMS_ROW(stage, type, name, standard, min, max, unit, meaning, chosen_on) \
    {#name,                                                                         \
     _Generic((type)0, int                                                          \
              : PARAMS_INT, uint32_t                                                \
              : PARAMS_UINT, float                                                  \
              : PARAMS_FLOAT, double                                                \
              : PARAMS_DOUBLE),                                                     \
     offsetof(stage, name),                                                         \
     (double)(standard),                                                            \
     min,                                                                           \
     max,                                                                           \
     unit,                                                                          \
     meaning,                                                                       \
     chosen_on},

/* What a network overrides; all zero = nothing. */
struct params_overrides {
    int n;
    struct params_override {
        const struct params_row *row;
        double value;
    } at[PARAMS_OVERRIDES_MAX];
};

/* Fills a stage's struct: our values, then the overrides in `first`, then those in `second`; both
 * may be NULL. */
void params_fill(void *params, const struct params_stage *stage,
                 const struct params_overrides *first, const struct params_overrides *second);

#ifdef __cplusplus
}
#endif
