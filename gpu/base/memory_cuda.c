#include "gpu/base/memory_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/base/slab.h"

#include <stdlib.h>
#include <unistd.h>

#define DEVICE_CHUNK_BYTES (256u << 20)
#define PINNED_CHUNK_BYTES (32u << 20)
#define RESERVE_SHARE 8 /* the reserve is at most 1/8 of the device's memory */
#define PINNED_SHARE \
    16 /* 1/16 of the reserve (at most half of the host's memory) is pinned beside it */

/* The source of a slab's chunks. */
struct source {
    int device;
    enum memory_cuda_kind kind;
};

struct memory_cuda {
    struct source sources[2];
    struct slab *slabs[2]; /* [enum memory_cuda_kind] */
};

/* ------------------------------------------------------------------------- the driver */

static int memory_get(enum memory_cuda_kind kind, void **memory, size_t bytes, struct err *err)
{
    int rc;
    if (kind == MEMORY_CUDA_DEVICE)
        CU_TRY(cudaMalloc(memory, bytes));
    else
        CU_TRY(cudaHostAlloc(memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
out:
    if (rc)
        (void)cudaGetLastError(); /* clears the error, else the next launch reports it */
    return rc;
}

/* If the context is lost, the driver frees nothing, and there is no remedy. */
static void memory_put(enum memory_cuda_kind kind, void *memory)
{
    (void)(kind == MEMORY_CUDA_DEVICE ? cudaFree(memory) : cudaFreeHost(memory));
    (void)cudaGetLastError();
}

static int use_device(int device, struct err *err)
{
    int rc;
    CU_TRY(cudaSetDevice(device));
out:
    return rc;
}

static int source_get(void **memory, size_t bytes, void *ctx, struct err *err)
{
    const struct source *s = (const struct source *)ctx;
    int rc = use_device(s->device, err);
    return rc ? rc : memory_get(s->kind, memory, bytes, err);
}

static void source_put(void *memory, void *ctx)
{
    const struct source *s = (const struct source *)ctx;
    (void)use_device(s->device, NULL);
    memory_put(s->kind, memory);
}

/* ------------------------------------------------------------------------- whole */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Takes as much of the reserve as is free; sessions ask for the rest when they need it. */
static int memory_reserve(struct memory_cuda *m, uint64_t bytes, struct err *err)
{
    uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    size_t unused = 0, total = 0;
    int rc = 0;

    if (bytes == 0)
        return 0;
    CU_TRY(cudaMemGetInfo(&unused, &total));
    bytes = least(bytes, least(total / RESERVE_SHARE, unused / 2));
    if (bytes < DEVICE_CHUNK_BYTES)
        return 0;
    rc = slab_reserve(m->slabs[MEMORY_CUDA_DEVICE], bytes, err);
    if (rc == 0)
        rc = slab_reserve(m->slabs[MEMORY_CUDA_PINNED], least(bytes, host / 2) / PINNED_SHARE, err);
    rc = rc == ERR_MEMORY ? 0 : rc;
out:
    return rc;
}

int memory_cuda_open(struct memory_cuda **out, int device, uint64_t reserve_bytes, struct err *err)
{
    struct memory_cuda *m = (struct memory_cuda *)calloc(1, sizeof *m);
    const size_t chunk_bytes[2] = {DEVICE_CHUNK_BYTES, PINNED_CHUNK_BYTES};
    int rc = 0;

    *out = NULL;
    if (!m)
        return err_set(err, ERR_MEMORY, "no memory for lists of memory");
    for (int i = 0; i < 2 && rc == 0; i++) {
        const struct slab_source from = {source_get, source_put, &m->sources[i], chunk_bytes[i]};

        m->sources[i] = (struct source){device, (enum memory_cuda_kind)i};
        rc = slab_new(&m->slabs[i], &from, err);
    }
    if (rc == 0)
        rc = use_device(device, err);
    if (rc == 0)
        rc = memory_reserve(m, reserve_bytes, err);
    if (rc)
        memory_cuda_close(&m);
    *out = m;
    return rc;
}

void memory_cuda_close(struct memory_cuda **memory)
{
    struct memory_cuda *m = *memory;

    if (!m)
        return;
    for (int i = 0; i < 2; i++)
        slab_free(&m->slabs[i]);
    free(m);
    *memory = NULL;
}

int memory_cuda_get(struct memory_cuda *m, enum memory_cuda_kind kind, void **piece, size_t bytes,
                    struct err *err)
{
    *piece = NULL;
    return m ? slab_get(m->slabs[kind], piece, bytes, err) : memory_get(kind, piece, bytes, err);
}

void memory_cuda_put(struct memory_cuda *m, enum memory_cuda_kind kind, void *piece)
{
    if (!piece)
        return;
    if (m)
        slab_put(m->slabs[kind], piece);
    else
        memory_put(kind, piece);
}

void memory_cuda_trim(struct memory_cuda *m)
{
    for (int i = 0; i < 2; i++)
        slab_trim(m->slabs[i]);
}
