/*
 * nvml_cuda.c - the few calls of NVIDIA's management library that we need; it comes with the
 * driver, its header does not come with every toolkit
 */
#include "gpu/base/plan_cuda.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#define NVML_TEMPERATURE_GPU 0

#define PROCESSES 8 /* more than one is many */

/* As of nvmlDeviceGetComputeRunningProcesses_v3 */
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

struct nvml_cuda {
    void *library, *device;
    int (*processes)(void *device, unsigned *count, struct process *processes);
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
        *(void **)&n->processes = dlsym(n->library, "nvmlDeviceGetComputeRunningProcesses_v3");
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

int nvml_cuda_alone(const struct nvml_cuda *n)
{
    struct process processes[PROCESSES];
    unsigned count = PROCESSES;

    return n && n->processes && n->processes(n->device, &count, processes) == 0 && count == 1;
}
