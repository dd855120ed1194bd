#include "tests/support/fake_host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int fake_host_models(struct core *core, struct api_model *out, int cap, int *n, struct err *err)
{
    (void)core;
    (void)cap;
    (void)err;
    memset(out, 0, sizeof *out);
    strcpy(out->name, "depth-small");
    strcpy(out->kind, "depth");
    strcpy(out->output, "disparity");
    strcpy(out->licence, "MIT");
    out->multiple = 32;
    out->weights = 14000000;
    out->is_default = true;
    *n = 1;
    return 0;
}

int fake_host_devices(struct core *core, struct api_device *out, int cap, int *n, struct err *err)
{
    (void)core;
    (void)cap;
    (void)err;
    memset(out, 0, sizeof *out);
    strcpy(out->name, "cpu");
    strcpy(out->backend, "cpu");
    strcpy(out->model, "a processor");
    out->temperature_c = NAN;
    out->threads = 2;
    *n = 1;
    return 0;
}

size_t fake_host_metrics(struct core *core, char *buf, size_t cap)
{
    (void)core;
    return (size_t)snprintf(buf, cap, "# TYPE fake_up gauge\nfake_up 1\n");
}

/* A fake core begins with its pool. */
int fake_host_task_new(struct core *core, struct later_task **t, const struct later_kind *kind,
                       void *ctx, const char *owner, struct err *err)
{
    return later_new(*(struct later **)(void *)core, t, kind, ctx, owner, err);
}
