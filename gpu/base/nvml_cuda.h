/*
 * nvml_cuda.h - temperature by the driver's management library, which is looked for at run time
 * (internal to gpu/)
 */
#ifndef RECOND_GPU_NVML_CUDA_H
#define RECOND_GPU_NVML_CUDA_H

struct nvml_cuda;

void nvml_cuda_open(struct nvml_cuda **n, int device); /* NULL: there is none */
void nvml_cuda_close(struct nvml_cuda **n);
float nvml_cuda_temperature(const struct nvml_cuda *n); /* NAN = not known */

#endif
