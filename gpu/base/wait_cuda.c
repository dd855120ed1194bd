#include "gpu/base/wait_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/gpu.h"
#include "gpu/base/pulse_cuda.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#define LONGEST_MS 10000 /* a batch may take, however alive the device is */

struct mark_cuda {
    cudaEvent_t done;
    sem_t told;
    struct timespec due; /* CLOCK_MONOTONIC: when the pulse is asked next */
};

struct wait_cuda {
    int answer_ms;
    int alone; /* silence counts; atomic */
    cudaStream_t tell;
    struct pulse_cuda *pulse;
    struct mark_cuda marks[GPU_FLIGHTS];
    struct err lost; /* code 0: it is not */
};

int wait_cuda_open(struct wait_cuda **out, int answer_ms, struct err *err)
{
    const unsigned event = cudaEventDisableTiming | cudaEventBlockingSync;
    struct wait_cuda *w = (struct wait_cuda *)calloc(1, sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory to wait for a device");
    w->answer_ms = answer_ms;
    for (int i = 0; i < GPU_FLIGHTS; i++)
        (void)sem_init(&w->marks[i].told, 0, 0); /* cannot fail */
    for (int i = 0; i < GPU_FLIGHTS; i++)
        CU_TRY(cudaEventCreateWithFlags(&w->marks[i].done, event));
    if (answer_ms > 0) {
        CU_TRY(cudaStreamCreateWithFlags(&w->tell, cudaStreamNonBlocking));
        rc = pulse_cuda_open(&w->pulse, err);
    }
out:
    if (rc)
        wait_cuda_close(&w);
    *out = w;
    return rc;
}

/* What waits to be told posts to a semaphore: it has come to its end, or been dropped with the
 * context, before that goes. */
void wait_cuda_close(struct wait_cuda **out)
{
    struct wait_cuda *w = *out;

    if (!w)
        return;
    if (w->tell) {
        (void)cudaStreamSynchronize(w->tell);
        (void)cudaStreamDestroy(w->tell);
    }
    pulse_cuda_close(&w->pulse);
    for (int i = 0; i < GPU_FLIGHTS; i++) {
        if (w->marks[i].done)
            (void)cudaEventDestroy(w->marks[i].done);
        (void)sem_destroy(&w->marks[i].told);
    }
    free(w);
    *out = NULL;
}

void wait_cuda_alone(struct wait_cuda *w, int alone)
{
    __atomic_store_n(&w->alone, alone, __ATOMIC_RELAXED);
}

static int alone(const struct wait_cuda *w)
{
    return __atomic_load_n(&w->alone, __ATOMIC_RELAXED);
}

/* On a thread of the driver. */
static void CUDART_CB post(void *told)
{
    (void)sem_post((sem_t *)told);
}

static void due_in(struct timespec *due, int ms)
{
    (void)clock_gettime(CLOCK_MONOTONIC, due);
    due->tv_sec += ms / 1000;
    due->tv_nsec += ms % 1000 * 1000000L;
    if (due->tv_nsec >= 1000000000L) {
        due->tv_nsec -= 1000000000L;
        due->tv_sec++;
    }
}

int wait_cuda_mark(struct wait_cuda *w, int flight, cudaStream_t stream, struct err *err)
{
    struct mark_cuda *m = &w->marks[flight];
    int rc;

    CU_TRY(cudaEventRecord(m->done, stream));
    if (w->answer_ms <= 0)
        goto out;
    CU_TRY(cudaStreamWaitEvent(w->tell, m->done, 0));
    CU_TRY(cudaLaunchHostFunc(w->tell, post, &m->told));
    due_in(&m->due, w->answer_ms);
out:
    return rc;
}

/* Returns whether it was posted before it was due. */
static int told(struct mark_cuda *m)
{
    int rc;

    do
        rc = sem_clockwait(&m->told, CLOCK_MONOTONIC, &m->due);
    while (rc && errno == EINTR);
    return rc == 0;
}

/* What the driver knows: *over, well or with the error that is returned, or not yet. */
static int look(const struct mark_cuda *m, int *over, struct err *err)
{
    cudaError_t e = cudaEventQuery(m->done);

    *over = e != cudaErrorNotReady;
    if (!*over)
        (void)cudaGetLastError(); /* else the next launch is blamed for it */
    return *over ? cuda_try_check(e, "cudaEventQuery(done)", err) : 0;
}

/* A silent device may have done the batch at the very last moment: then it is no longer silent.
 * Where others are, what the driver knows counts alone. */
static int ask(struct wait_cuda *w, struct mark_cuda *m, int *over, struct err *err)
{
    struct err why = {0};
    int rc = 0;

    if (pulse_cuda_ask(w->pulse, w->answer_ms, &why)) {
        rc = look(m, over, err);
        if (rc == 0 && !*over && alone(w))
            rc = err_set(err, ERR_DEVICE, "%s", why.text);
    }
    due_in(&m->due, w->answer_ms);
    return rc;
}

/* A post may be that of a batch before, of which another look told first: then it is not over, and
 * its own is still to come. */
static int wait_for(struct wait_cuda *w, struct mark_cuda *m, struct err *err)
{
    int over = 0, waited_ms = 0, rc = 0;

    while (rc == 0 && !over) {
        int posted = told(m);
        rc = look(m, &over, err);
        if (rc == 0 && !over && !posted) {
            rc = ask(w, m, &over, err);
            waited_ms += w->answer_ms + 1; /* an answer takes a nap */
        }
        if (rc == 0 && !over && waited_ms > LONGEST_MS)
            rc = err_set(err, ERR_DEVICE, "a batch does not end: it is under way for %d ms",
                         waited_ms);
    }
    return rc;
}

/* Whatever CUDA said, nobody knows when what is under way ends. */
static int lose(struct wait_cuda *w, const struct err *why, struct err *err)
{
    w->lost = *why;
    w->lost.code = ERR_DEVICE;
    return wait_cuda_lost(w, err);
}

int wait_cuda_land(struct wait_cuda *w, int flight, struct err *err)
{
    struct mark_cuda *m = &w->marks[flight];
    struct err why = {0};
    int rc = wait_cuda_lost(w, err);

    if (rc)
        goto out;
    if (w->answer_ms <= 0) {
        CU_TRY(cudaEventSynchronize(m->done));
        goto out;
    }
    if (wait_for(w, m, &why))
        rc = lose(w, &why, err);
out:
    return rc;
}

int wait_cuda_alive(struct wait_cuda *w, struct err *err)
{
    struct err why = {0};
    int rc = wait_cuda_lost(w, err);

    if (rc == 0 && w->answer_ms > 0 && alone(w) && pulse_cuda_ask(w->pulse, w->answer_ms, &why))
        rc = lose(w, &why, err);
    return rc;
}

int wait_cuda_lost(const struct wait_cuda *w, struct err *err)
{
    if (w->lost.code && err)
        *err = w->lost;
    return w->lost.code;
}
