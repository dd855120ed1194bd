#include "gpu/base/pulse_cuda.h"

#include "gpu/base/cuda_try.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct pulse_cuda {
    cudaStream_t stream;
    unsigned *word, *word_dev; /* the last asking that was answered, as host and device see it */
    unsigned asked;
};

/* One thread; writes the word. */
static __global__ void answer(unsigned *word, unsigned number)
{
    *(volatile unsigned *)word = number;
    __threadfence_system();
}

static int enqueue(struct pulse_cuda *p, struct err *err)
{
    int rc;

    p->asked++;
    answer<<<1, 1, 0, p->stream>>>(p->word_dev, p->asked);
    CU_TRY(cuda_try_launch());
out:
    return rc;
}

static int answered(const struct pulse_cuda *p)
{
    return __atomic_load_n(p->word, __ATOMIC_ACQUIRE) == p->asked;
}

int pulse_cuda_open(struct pulse_cuda **out, struct err *err)
{
    struct pulse_cuda *p = (struct pulse_cuda *)calloc(1, sizeof *p);
    int rc, least, greatest;

    *out = NULL;
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for the device's pulse");
    CU_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CU_TRY(cudaStreamCreateWithPriority(&p->stream, cudaStreamNonBlocking, greatest));
    CU_TRY(cudaHostAlloc((void **)&p->word, sizeof *p->word, cudaHostAllocMapped));
    CU_TRY(cudaHostGetDevicePointer((void **)&p->word_dev, p->word, 0));
    *p->word = 0;
    if ((rc = enqueue(p, err)))
        goto out;
    CU_TRY(cudaStreamSynchronize(p->stream));
    if (!answered(p))
        rc = err_set(err, ERR_DEVICE, "what the device writes does not come to the host");
out:
    if (rc)
        pulse_cuda_close(&p);
    *out = p;
    return rc;
}

void pulse_cuda_close(struct pulse_cuda **out)
{
    struct pulse_cuda *p = *out;

    if (!p)
        return;
    /* may wait for a kernel under way, which writes to the word */
    if (p->stream)
        (void)cudaStreamSynchronize(p->stream);
    if (p->stream)
        (void)cudaStreamDestroy(p->stream);
    if (p->word)
        (void)cudaFreeHost(p->word);
    free(p);
    *out = NULL;
}

static void nap(void)
{
    struct timespec left = {0, 1000000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

int pulse_cuda_ask(struct pulse_cuda *p, int answer_ms, struct err *err)
{
    int rc = enqueue(p, err);

    for (int naps = 0; rc == 0 && !answered(p); naps++) {
        if (naps < answer_ms)
            nap();
        else
            rc = err_set(err, ERR_DEVICE, "the device has not answered for %d ms", answer_ms);
    }
    return rc;
}
