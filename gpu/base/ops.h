/*
 * ops.h - what a back end is: one const table of stage-sized functions, chosen once at gpu_open()
 *
 * gpu.c checks arguments, then calls through the table. A back end derives its own structures from
 * struct gpu, struct gpu_model and struct gpu_session by putting them first.
 */
#ifndef RECOND_GPU_OPS_H
#define RECOND_GPU_OPS_H

#include "gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_ops {
    const char *name;
    int (*open)(struct gpu **g, const struct gpu_config *config, struct err *err);
    void (*close)(struct gpu *g);
    void (*get_info)(const struct gpu *g, struct gpu_info *info);
    int (*model_open)(struct gpu_model **m, struct gpu *g, const struct gpu_model_info *info,
                      struct err *err);
    void (*model_close)(struct gpu_model *m);
    size_t (*session_bytes)(const struct gpu_session_config *c);
    int (*session_new)(struct gpu_session **s, struct gpu *g, const struct gpu_session_config *c,
                       struct err *err);
    void (*session_free)(struct gpu_session *s);
    size_t (*state_bytes)(struct gpu_session *s);
    int (*save)(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err);
    int (*load)(struct gpu_session *s, const uint8_t *buf, size_t len, struct err *err);
    int (*upload)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*image)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*depth)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*motion)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*covisible)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*associate)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*keyframe)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*fuse)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*remove)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*change)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*download)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    int (*wait)(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err);
    /* Depth [net_h][net_w] of the next frame of a session without a depth network (tests,
     * self-test); given before gpu_covisible(). */
    int (*put_depth)(struct gpu_session *s, const float *depth, struct err *err);
    /* NULL: malloc and free do */
    void *(*host_get)(struct gpu *g, size_t bytes);
    void (*host_put)(struct gpu *g, void *memory, size_t bytes);
    /* NULL: there are no engines */
    int (*decode)(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err);
};

struct gpu {
    const struct gpu_ops *ops;
    char why[160]; /* what gpu_open() chose and why */
};

struct gpu_model {
    struct gpu *gpu;
    struct gpu_model_info info;
};

struct gpu_session {
    struct gpu *gpu;
    struct gpu_session_config config;
};

extern const struct gpu_ops ops_cpu;
/* NULL in a build without CUDA (ops_none.c). */
extern const struct gpu_ops *const ops_cuda;
int ops_cuda_count(void);

#ifdef __cplusplus
}
#endif
#endif
