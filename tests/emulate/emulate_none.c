/*
 * What the host cannot run: networks, faults and JPEG engines, which sessions without networks
 * never ask for.
 */
#include "gpu/base/fault_cuda.h"
#include "gpu/base/jpeg_cuda.h"
#include "gpu/net/net_cuda.h"

int net_cuda_new(struct net_cuda **p, const struct net *net, const struct net_cuda_config *config,
                 cudaStream_t stream, struct err *err)
{
    (void)net;
    (void)config;
    (void)stream;
    *p = NULL;
    return err_set(err, ERR_UNSUPPORTED, "no networks where kernels run on the host");
}

void net_cuda_free(struct net_cuda **p)
{
    *p = NULL;
}

__half *net_cuda_input(const struct net_cuda *p)
{
    (void)p;
    return NULL;
}

int net_cuda_input_pitch(const struct net_cuda *p)
{
    (void)p;
    return 0;
}

const float *net_cuda_output(const struct net_cuda *p)
{
    (void)p;
    return NULL;
}

int net_cuda_run(struct net_cuda *p, int n, cudaStream_t stream, struct err *err)
{
    (void)p;
    (void)n;
    (void)stream;
    return err_set(err, ERR_UNSUPPORTED, "no networks where kernels run on the host");
}

long fault_cuda_asked(void)
{
    return 0;
}

int fault_cuda_strike(cudaStream_t stream, struct err *err)
{
    (void)stream;
    return err_set(err, ERR_UNSUPPORTED, "no faults where kernels run on the host");
}

void jpeg_cuda_open(struct jpeg_cuda **j, int device, struct memory_cuda *memory)
{
    (void)device;
    (void)memory;
    *j = NULL;
}

void jpeg_cuda_close(struct jpeg_cuda **j)
{
    *j = NULL;
}

int jpeg_cuda_engines(const struct jpeg_cuda *j)
{
    (void)j;
    return 0;
}

int jpeg_cuda_decode(struct jpeg_cuda *j, const struct gpu_jpeg *jpeg, struct err *err)
{
    (void)j;
    (void)jpeg;
    return err_set(err, ERR_UNSUPPORTED, "no JPEG engines where kernels run on the host");
}
