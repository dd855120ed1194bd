/*
 * nvml_cuda.c - calls of NVIDIA's management library, which comes with the driver; not every
 * toolkit has its header
 */
#include "gpu/base/nvml_cuda.h"

#include <cuda_runtime.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#define NVML_TEMPERATURE_GPU 0

struct nvml_cuda {
    void *library, *device;
    int (*shutdown)(void);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
};

void nvml_cuda_open(struct nvml_cuda **out, int device)
{
    struct nvml_cuda *n = (struct nvml_cuda *)calloc(1, sizeof *n);
    int (*init)(void) = NULL;
    int (*by_bus)(const char *bus, void **handle) = NULL;
    char bus[32];

    *out = NULL;
    if (!n)
        return;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library) {
        *(void **)&init = dlsym(n->library, "nvmlInit_v2");
        *(void **)&by_bus = dlsym(n->library, "nvmlDeviceGetHandleByPciBusId_v2");
        *(void **)&n->shutdown = dlsym(n->library, "nvmlShutdown");
        *(void **)&n->temperature = dlsym(n->library, "nvmlDeviceGetTemperature");
    }
    if (init && by_bus && n->shutdown && n->temperature && init() == 0) {
        if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) == cudaSuccess &&
            by_bus(bus, &n->device) == 0) {
            *out = n;
            return;
        }
        n->shutdown();
    }
    if (n->library)
        dlclose(n->library);
    free(n);
}

void nvml_cuda_close(struct nvml_cuda **n)
{
    if (!*n)
        return;
    (*n)->shutdown();
    dlclose((*n)->library);
    free(*n);
    *n = NULL;
}

float nvml_cuda_temperature(const struct nvml_cuda *n)
{
    unsigned celsius;
    return n && n->temperature(n->device, NVML_TEMPERATURE_GPU, &celsius) == 0 ? (float)celsius
                                                                               : NAN;
}
