#include "gpu/base/cuda_try.h"
#include "gpu/base/fault_cuda.h"
#include "gpu/base/pulse_cuda.h"
#include "tests/support/pulse_case.h"

#include <stdint.h>
#include <time.h>

/* One thread; reads the clock until ns have gone by. */
static __global__ void spin(uint64_t ns)
{
    uint64_t begin, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

/* A stream to keep busy, and the pulse beside it. */
static int open_case(cudaStream_t *stream, struct pulse_cuda **p, struct err *err)
{
    int rc;

    CU_TRY(cudaSetDevice(0));
    CU_TRY(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    rc = pulse_cuda_open(p, err);
out:
    return rc;
}

static void close_case(cudaStream_t stream, struct pulse_cuda **p)
{
    pulse_cuda_close(p);
    if (stream)
        (void)cudaStreamDestroy(stream);
}

static int idle(int n, int answer_ms, struct err *err)
{
    cudaStream_t stream = NULL;
    struct pulse_cuda *p = NULL;
    int rc = open_case(&stream, &p, err);

    for (int i = 0; i < n && rc == 0; i++)
        rc = pulse_cuda_ask(p, answer_ms, err);
    close_case(stream, &p);
    return rc;
}

static int busy(int *is_busy, int busy_ms, int answer_ms, struct err *err)
{
    cudaStream_t stream = NULL;
    struct pulse_cuda *p = NULL;
    int rc;

    *is_busy = 0;
    if ((rc = open_case(&stream, &p, err)))
        goto out;
    spin<<<1, 1, 0, stream>>>((uint64_t)busy_ms * 1000000);
    CU_TRY(cuda_try_launch());
    if ((rc = pulse_cuda_ask(p, answer_ms, err)))
        goto out;
    *is_busy = cudaStreamQuery(stream) == cudaErrorNotReady;
    CU_TRY(cudaStreamSynchronize(stream));
out:
    close_case(stream, &p);
    return rc;
}

static int struck(int answer_ms, struct err *err)
{
    const struct timespec moment = {0, 10000000};
    cudaStream_t stream = NULL;
    struct pulse_cuda *p = NULL;
    int rc;

    if ((rc = open_case(&stream, &p, err)) || (rc = pulse_cuda_ask(p, answer_ms, err)) ||
        (rc = fault_cuda_strike(stream, err))) {
        rc = ERR_UNSUPPORTED; /* not what the case is about: err says what it was */
        goto out;
    }
    (void)nanosleep(&moment, NULL);
    rc = pulse_cuda_ask(p, answer_ms, err);
out:
    close_case(stream, &p);
    return rc;
}

static const struct pulse_case_api table = {idle, busy, struck};

extern "C" {
extern const struct pulse_case_api *pulse_case_cuda;
const struct pulse_case_api *pulse_case_cuda = &table;
}
