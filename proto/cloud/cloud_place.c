/* Changes that the device reports by place, collected until the next commit. */
#include "proto/cloud/cloud_internal.h"

#include "proto/array.h"

#include <stdlib.h>

#define STAGED_FIRST 1024u

/* The cloud is a producer without slots, and has room for two more changes. */
static int open_place(struct cloud *c, struct err *err)
{
    size_t cap = c->staged_cap ? c->staged_cap : STAGED_FIRST, aux_cap;
    void *staged, *aux;

    if (c->slots)
        return err_set(err, ERR_STATE, "a cloud of slots takes no points by their places");
    if (c->staged_cap && c->n_staged + 2 <= c->staged_cap)
        return 0;
    cap = c->n_staged + 2 > cap ? cap + cap / 2 : cap;
    aux_cap = cap * sizeof *c->staged;
    staged = realloc(c->staged, aux_cap);
    if (staged)
        c->staged = staged;
    aux = realloc(c->staged_aux, aux_cap);
    if (aux)
        c->staged_aux = aux;
    if (!staged || !aux)
        return err_set(err, ERR_MEMORY, "no memory for %zu changes of points", cap);
    c->staged_cap = cap;
    c->by_place = 1;
    return 0;
}

static void cloud_place_push(struct cloud *c, uint32_t block, uint64_t key, int count)
{
    c->staged[c->n_staged++] = (struct cloud_change){.key = key, .block = block, .count = count};
    if (c->n_staged > c->staged_touched)
        c->staged_touched = c->n_staged;
}

/* Finds the first index of the block whose key lies at this place or behind it. */
static uint32_t first_at(const struct cloud_entry *e, uint64_t place)
{
    uint32_t lo = 0, hi = e->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (e->keys[mid] >> KEY_MORTON_AT < place)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct cloud_name block_of(uint32_t submap, const int32_t p_q[3])
{
    return (struct cloud_name){submap, p_q[0] >> KEY_BLOCK_BITS, p_q[1] >> KEY_BLOCK_BITS,
                               p_q[2] >> KEY_BLOCK_BITS};
}

int cloud_place_put(struct cloud *c, uint32_t submap, const int32_t p_q[3],
                    const struct key_look *look, struct err *err)
{
    const struct cloud_name name = block_of(submap, p_q);
    uint64_t key = key_make(p_q, look);
    struct cloud_entry *e;
    uint32_t at, block;
    int rc = open_place(c, err);

    if (rc == 0)
        rc = cloud_block_get(c, &name, &e, err);
    if (rc)
        return rc;
    at = first_at(e, key >> KEY_MORTON_AT);
    block = (uint32_t)(e - c->blocks);
    if (at < e->n && e->keys[at] >> KEY_MORTON_AT == key >> KEY_MORTON_AT) {
        if (e->keys[at] == key)
            return 0;
        cloud_place_push(c, block, e->keys[at], -1);
        cloud_place_push(c, block, key, +1);
        return 0;
    }
    if (e->n_next >= CLOUD_BLOCK_POINTS || (int64_t)c->points + c->n_more >= c->limits.max_points)
        return err_set(err, ERR_LIMIT, "more than %u points in one block, or %u in all",
                       CLOUD_BLOCK_POINTS, c->limits.max_points);
    rc = cloud_block_reserve(e, e->n_next + 1, err);
    if (rc)
        return rc;
    e->n_next++;
    c->n_more++;
    cloud_place_push(c, block, key, +1);
    return 0;
}

int cloud_place_remove(struct cloud *c, uint32_t submap, const int32_t p_q[3], struct err *err)
{
    const struct cloud_name name = block_of(submap, p_q);
    const struct key_look none = {{0}, 0, 0};
    uint64_t place = key_make(p_q, &none) >> KEY_MORTON_AT;
    struct cloud_entry *e = cloud_block_find(c, &name);
    uint32_t at;
    int rc;

    if (!e)
        return 0;
    rc = open_place(c, err);
    if (rc)
        return rc;
    at = first_at(e, place);
    if (at == e->n || e->keys[at] >> KEY_MORTON_AT != place)
        return 0;
    cloud_place_push(c, (uint32_t)(e - c->blocks), e->keys[at], -1);
    e->n_next--;
    c->n_more--;
    return 0;
}
