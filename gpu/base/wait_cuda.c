#include "gpu/base/wait_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/gpu.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#define LOOK_MS 20 /* ms between two queries of the driver */
#define LOOKS 500  /* queries until a batch counts as lost: 10 s */

struct mark_cuda {
    cudaEvent_t done;
    sem_t told;
};

struct wait_cuda {
    cudaStream_t tell;
    struct mark_cuda marks[GPU_BATCHES];
    struct err lost; /* code 0: the device is not lost */
};

int wait_cuda_open(struct wait_cuda **out, struct err *err)
{
    const unsigned event = cudaEventDisableTiming | cudaEventBlockingSync;
    struct wait_cuda *w = (struct wait_cuda *)calloc(1, sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory to wait for a device");
    for (int i = 0; i < GPU_BATCHES; i++)
        (void)sem_init(&w->marks[i].told, 0, 0); /* cannot fail */
    for (int i = 0; i < GPU_BATCHES; i++)
        CU_TRY(cudaEventCreateWithFlags(&w->marks[i].done, event));
    CU_TRY(cudaStreamCreateWithFlags(&w->tell, cudaStreamNonBlocking));
out:
    if (rc)
        wait_cuda_close(&w);
    *out = w;
    return rc;
}

/* Functions on the stream `tell` post to the semaphores. Before these are destroyed, the functions
 * have run or were dropped with the context. */
void wait_cuda_close(struct wait_cuda **out)
{
    struct wait_cuda *w = *out;

    if (!w)
        return;
    if (w->tell) {
        (void)cudaStreamSynchronize(w->tell);
        (void)cudaStreamDestroy(w->tell);
    }
    for (int i = 0; i < GPU_BATCHES; i++) {
        if (w->marks[i].done)
            (void)cudaEventDestroy(w->marks[i].done);
        (void)sem_destroy(&w->marks[i].told);
    }
    free(w);
    *out = NULL;
}

/* Runs on a thread of the driver. */
static void CUDART_CB post(void *told)
{
    (void)sem_post((sem_t *)told);
}

int wait_cuda_mark(struct wait_cuda *w, int batch, cudaStream_t stream, struct err *err)
{
    struct mark_cuda *m = &w->marks[batch];
    int rc;

    CU_TRY(cudaEventRecord(m->done, stream));
    CU_TRY(cudaStreamWaitEvent(w->tell, m->done, 0));
    CU_TRY(cudaLaunchHostFunc(w->tell, post, &m->told));
out:
    return rc;
}

/* Returns whether the semaphore was posted within LOOK_MS. */
static int told(struct mark_cuda *m)
{
    struct timespec due;
    int rc;

    (void)clock_gettime(CLOCK_MONOTONIC, &due);
    due.tv_nsec += LOOK_MS * 1000000L;
    if (due.tv_nsec >= 1000000000L) {
        due.tv_nsec -= 1000000000L;
        due.tv_sec++;
    }
    do
        rc = sem_clockwait(&m->told, CLOCK_MONOTONIC, &due);
    while (rc && errno == EINTR);
    return rc == 0;
}

/* Asks the driver. Out: *over: the batch has ended. Returns the batch's error, if any. */
static int wait_look(const struct mark_cuda *m, int *over, struct err *err)
{
    cudaError_t e = cudaEventQuery(m->done);

    *over = e != cudaErrorNotReady;
    if (!*over)
        (void)cudaGetLastError(); /* clears the error, else the next launch reports it */
    return *over ? cuda_try_check(e, "cudaEventQuery(done)", err) : 0;
}

/* A late post may belong to an earlier batch that a query found to be done, so each post is checked
 * with the driver. The bound counts queries instead of time, so that it does not grow while the
 * whole machine stands still. */
static int wait_for(struct mark_cuda *m, struct err *err)
{
    int over = 0, rc = 0;

    for (int looks = 0; rc == 0 && !over;) {
        looks += !told(m);
        rc = wait_look(m, &over, err);
        if (rc == 0 && !over && looks > LOOKS)
            rc = err_set(err, ERR_DEVICE, "a batch does not end: it is under way for %d ms",
                         looks * LOOK_MS);
    }
    return rc;
}

int wait_cuda_batch(struct wait_cuda *w, int batch, struct err *err)
{
    int rc = wait_cuda_lost(w, err);
    struct err why = {0};

    if (rc == 0 && wait_for(&w->marks[batch], &why)) {
        /* After any error of CUDA it is not known when the work under way ends. */
        w->lost = why;
        w->lost.code = ERR_DEVICE;
        rc = wait_cuda_lost(w, err);
    }
    return rc;
}

int wait_cuda_lost(const struct wait_cuda *w, struct err *err)
{
    if (w->lost.code && err)
        *err = w->lost;
    return w->lost.code;
}
