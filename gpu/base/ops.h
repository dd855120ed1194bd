/*
 * ops.h - a back end is one const table of functions, chosen once at gpu_open()
 *
 * gpu.c checks arguments, then calls through the table. A back end derives its own structures from
 * struct gpu, struct gpu_model and struct gpu_session by putting them first.
 */
#pragma once

#include "gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of a line's sessions on one back end. Arguments were checked. */
struct gpu_session_ops {
    size_t (*bytes)(const struct gpu_session_config *c);
    int (*make)(struct gpu_session **s, struct gpu *g, const struct gpu_session_config *c,
                struct err *err);
    void (*free)(struct gpu_session *s);
    /* as gpu_session_save() and gpu_session_load(); NULL: no state between items */
    unsigned (*reads)(uint32_t tag);
    size_t (*state_bytes)(struct gpu_session *s);
    int (*save)(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err);
    int (*load)(struct gpu_session *s, const uint8_t *buf, size_t len, struct err *err);
    /* Depth [net_h][net_w] of the next item of a session without a depth network (tests,
     * self-test); given before gpu_submit(). */
    int (*put_depth)(struct gpu_session *s, const float *depth, struct err *err);
};

struct net;
struct network;
struct graph_cuda;

struct gpu_ops {
    const char *name;
    int (*open)(struct gpu **g, const struct gpu_config *config, struct err *err);
    void (*close)(struct gpu *g);
    void (*get_info)(const struct gpu *g, struct gpu_info *info);
    int (*model_open)(struct gpu_model **m, struct gpu *g, const struct gpu_model_info *info,
                      struct err *err);
    void (*model_close)(struct gpu_model *m);
    /* A network for one input size, and the host memory that it takes (network.h). */
    int (*network_make)(void **exec, size_t *bytes, struct gpu *g, const struct net *net, int w,
                        int h, struct err *err);
    void (*network_free)(void *exec);
    /* NULL: the back end does not know the line */
    const struct gpu_session_ops *(*session)(const struct gpu_line *line);
    /* attach() gives a session its shared networks, planned for its size. detach() returns them,
     * also if attach() failed or was never called. NULL: sessions share nothing */
    int (*attach)(struct gpu_session *s, struct err *err);
    /* the same for pictures that are turned sideways */
    int (*attach_sideways)(struct gpu_session *s, struct err *err);
    void (*detach)(struct gpu_session *s);
    void (*trim)(struct gpu *g); /* frees memory that is kept for later sessions; may be NULL */
    int (*submit)(struct gpu *g, const struct gpu_line *line, struct gpu_item *const *items, int n,
                  struct err *err);
    /* NULL: a batch is done when submit() returns */
    int (*wait)(struct gpu *g, struct gpu_item *const *items, int n, struct err *err);
    /* NULL: malloc and free do */
    void *(*host_get)(struct gpu *g, size_t bytes);
    void (*host_put)(struct gpu *g, void *memory, size_t bytes);
    /* NULL: there are no engines */
    int (*decode)(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err);
};

struct gpu {
    const struct gpu_ops *ops;
    char why[160];       /* the back end that gpu_open() chose and why */
    uint64_t n_batches;  /* batches submitted so far */
    uint64_t used_bytes; /* of host memory: sessions, weights, networks of the CPU back end */
};

struct gpu_model {
    struct gpu *gpu;
    struct gpu_model_info info;
};

struct gpu_session {
    struct gpu *gpu;
    struct gpu_session_config config;
    uint64_t batch; /* the last batch that it was in, counted from 1 */
    /* from attach(): networks by kind, if the back end runs them one by one, or the recorded line,
     * if it runs all at once */
    struct network *networks[GPU_MODEL_KINDS];
    struct graph_cuda *graph;
    /* from attach_sideways(): the depth network, or the recorded line with it */
    struct network *network_sideways;
    struct graph_cuda *graph_sideways;
    int sideways; /* attach_sideways() was called: items may be turned by odd quarters */
};

/* As gpu_session_new(), but networks may be missing (self-test, tests). Arguments are trusted. */
MUST_CHECK int gpu_session_make(struct gpu_session **s, struct gpu *g,
                                const struct gpu_session_config *c, struct err *err);

/* Fills a stage's struct with its numbers and the overrides of the session's networks. */
void gpu_session_params(void *params, const struct params_stage *stage,
                        const struct gpu_session_config *c);

static inline struct gpu_frame *gpu_frame_of(struct gpu_item *item)
{
    return (struct gpu_frame *)item;
}

extern const struct gpu_ops backend_cpu;
/* NULL in a build without CUDA (backend_none.c). */
extern const struct gpu_ops *const backend_cuda;
int backend_cuda_count(void);

#ifdef __cplusplus
}
#endif
