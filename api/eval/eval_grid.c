#include "api/eval/eval_grid.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_CUBES 4096u

static uint32_t hash(uint64_t key)
{
    return (uint32_t)(((key ^ key >> 31) * 0x9e3779b97f4a7c15u) >> 32);
}

/* Makes room for the first cubes, later for twice as many. */
static int grow(struct eval_grid *g, struct err *err)
{
    uint32_t cap = g->cap ? 2 * g->cap : FIRST_CUBES;
    uint64_t *key;
    uint32_t *table;

    if (g->cap >= g->max)
        return err_set(err, ERR_LIMIT, "more than %u cubes of %g m: larger ones are needed", g->max,
                       g->cube_m);
    key = realloc(g->key, (size_t)cap * sizeof *key);
    if (key)
        g->key = key;
    table = malloc(2 * (size_t)cap * sizeof *table);
    if (!key || !table) {
        free(table);
        return err_set(err, ERR_MEMORY, "no memory for %u cubes", cap);
    }
    free(g->table);
    g->table = table;
    g->cap = cap;
    g->mask = 2 * cap - 1;
    for (uint32_t i = 0; i <= g->mask; i++)
        table[i] = EVAL_GRID_NONE;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t at = hash(key[i]) & g->mask;

        while (table[at] != EVAL_GRID_NONE)
            at = (at + 1) & g->mask;
        table[at] = i;
    }
    return 0;
}

int eval_grid_init(struct eval_grid *g, double cube_m, uint32_t max, struct err *err)
{
    *g = (struct eval_grid){.cube_m = cube_m, .max = max};
    if (!(cube_m > 0) || !isfinite(cube_m))
        return err_set(err, ERR_INPUT, "a cube of %g m is none", cube_m);
    return grow(g, err);
}

void eval_grid_free(struct eval_grid *g)
{
    free(g->key);
    free(g->table);
    *g = (struct eval_grid){0};
}

int eval_grid_place(const struct eval_grid *g, int at[3], struct vec3 p)
{
    const double v[3] = {(double)p.x, (double)p.y, (double)p.z};

    for (int k = 0; k < 3; k++) {
        double c = floor(v[k] / g->cube_m);

        if (!(c >= -EVAL_GRID_SIDE_CUBES && c < EVAL_GRID_SIDE_CUBES))
            return 0;
        at[k] = (int)c;
    }
    return 1;
}

static uint64_t key_of(const int at[3])
{
    uint64_t key = 0;

    for (int k = 0; k < 3; k++)
        key = key << 21 | (uint64_t)(at[k] + EVAL_GRID_SIDE_CUBES);
    return key;
}

void eval_grid_where(const struct eval_grid *g, int at[3], uint32_t i)
{
    for (int k = 0; k < 3; k++)
        at[k] = (int)(g->key[i] >> (42 - 21 * k) & 0x1fffff) - EVAL_GRID_SIDE_CUBES;
}

/* Where in the table the key is, or would be. */
static uint32_t slot_of(const struct eval_grid *g, uint64_t key)
{
    uint32_t at = hash(key) & g->mask;

    while (g->table[at] != EVAL_GRID_NONE && g->key[g->table[at]] != key)
        at = (at + 1) & g->mask;
    return at;
}

static int inside(const int at[3])
{
    for (int k = 0; k < 3; k++)
        if (at[k] < -EVAL_GRID_SIDE_CUBES || at[k] >= EVAL_GRID_SIDE_CUBES)
            return 0;
    return 1;
}

uint32_t eval_grid_find(const struct eval_grid *g, const int at[3])
{
    return inside(at) ? g->table[slot_of(g, key_of(at))] : EVAL_GRID_NONE;
}

int eval_grid_take(struct eval_grid *g, uint32_t *i, const int at[3], struct err *err)
{
    uint64_t key = key_of(at);
    uint32_t slot = slot_of(g, key);
    int rc;

    if (g->table[slot] == EVAL_GRID_NONE) {
        if (g->n == g->cap) {
            rc = grow(g, err);
            if (rc)
                return rc;
            slot = slot_of(g, key);
        }
        g->key[g->n] = key;
        g->table[slot] = g->n++;
    }
    *i = g->table[slot];
    return 0;
}
