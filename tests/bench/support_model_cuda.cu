#include "tests/bench/support_model_cuda.h"

#include "gpu/base/cuda_try.h"

#include <stdlib.h>

/* A model as the host makes it, an entry a slot. */
struct model {
    struct point_place *place;
    struct point_stat *stat;
    uint64_t *id, *key;
    uint32_t *order; /* slots in random order; those that are free come first */
    uint32_t n, room;
};

static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*state >> 32) * n >> 32);
}

static void shuffle(uint32_t *order, uint32_t n)
{
    uint64_t state = 1;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = random_below(&state, i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* Each point has a cube of its own, far from what is seen. */
static void strew(struct model *m)
{
    shuffle(m->order, m->n);
    for (uint32_t i = m->room; i < m->n; i++) {
        uint32_t slot = m->order[i];
        m->place[slot].z = 1e3f;
        m->place[slot].tag = slot + 1;
        m->stat[slot].c_c = 0.01f;
        m->stat[slot].w_a = 10.0f;
        m->stat[slot].n_observations = 10;
        m->stat[slot].state = POINT_STABLE;
        m->id[slot] = slot + 1;
        m->key[slot] = 1ull << 60 | slot;
    }
}

template <typename T>
static int put(T *to, const T *from, size_t n, cudaStream_t stream, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyHostToDevice, stream));
    CU_TRY(cudaStreamSynchronize(stream));
out:
    return rc;
}

static int upload(struct session_cuda *s, const struct model *m, cudaStream_t stream,
                  struct err *err)
{
    struct session_dev dev;
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(&dev, s->dev, sizeof dev, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaStreamSynchronize(stream));
    dev.n_slots = m->n;
    dev.n_free = m->room;
    dev.n_points = dev.n_stable = m->n - m->room;
    dev.next_id = (uint64_t)m->n + 1;
    dev.table_worn = dev.table != NULL; /* the first frame fills it */
    if ((rc = put(s->host.place, m->place, m->n, stream, err)) ||
        (rc = put(s->host.stat, m->stat, m->n, stream, err)) ||
        (rc = put(s->host.id, m->id, m->n, stream, err)) ||
        (dev.table && (rc = put(s->host.key, m->key, m->n, stream, err))) ||
        (rc = put(s->host.free_slots, m->order, m->room, stream, err)) ||
        (rc = put(s->dev, &dev, 1, stream, err)))
        goto out;
out:
    return rc;
}

int support_model_fill(struct session_cuda *s, uint32_t n, uint32_t room, cudaStream_t stream,
                       struct err *err)
{
    const size_t slots = (size_t)n + room;
    struct model m;
    int rc;

    m.n = (uint32_t)slots;
    m.room = room;
    m.place = (struct point_place *)calloc(slots, sizeof *m.place);
    m.stat = (struct point_stat *)calloc(slots, sizeof *m.stat);
    m.id = (uint64_t *)calloc(slots, sizeof *m.id);
    m.key = (uint64_t *)calloc(slots, sizeof *m.key);
    m.order = (uint32_t *)calloc(slots, sizeof *m.order);
    if (m.place && m.stat && m.id && m.key && m.order) {
        strew(&m);
        rc = upload(s, &m, stream, err);
    } else {
        rc = err_set(err, ERR_MEMORY, "no memory for a model of %u points", n);
    }
    free(m.place);
    free(m.stat);
    free(m.id);
    free(m.key);
    free(m.order);
    return rc;
}
