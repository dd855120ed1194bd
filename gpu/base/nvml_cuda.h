/*
 * nvml_cuda.h - temperature by the driver's management library, loaded at run time (internal to
 * gpu/)
 */
#pragma once

struct nvml_cuda;

void nvml_cuda_open(struct nvml_cuda **n, int device); /* NULL: there is none */
void nvml_cuda_close(struct nvml_cuda **n);
float nvml_cuda_temperature(const struct nvml_cuda *n); /* NAN = not known */
