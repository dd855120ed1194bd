/*
 * net_dnnl.h - the inside of the oneDNN executor, only for net_dnnl*.c
 *
 *     store   one tensor in one layout: a place in the arena. A tensor has its first store and, if
 *             a reader needs another layout, copies. A store may be a part of another store
 *             (concat).
 *     job     one thing that run() does: a oneDNN primitive or a loop of net_dnnl_loop.c
 *     blob    weights and factors in a primitive's layout
 *
 * new(): every step of the graph emits jobs and stores; then stores get places in the arena by
 * lifetime, and only then memory objects are made. run() walks the jobs.
 */
#pragma once

#include "gpu/net/net_graph.h"
#include "gpu/net/net_dnnl_loop.h"

#include <oneapi/dnnl/dnnl.h>

enum layout { LAYOUT_PLAIN, LAYOUT_LAST, LAYOUT_BLOCK8, LAYOUT_BLOCK16, LAYOUT_OTHER };

struct store {
    dnnl_memory_desc_t md;
    enum layout layout;
    struct net_mem_span span; /* jobs and place: only of roots */
    int root;                 /* itself, or the store that contains its bytes */
    size_t root_at;           /* bytes from the root's begin */
    int user;                 /* 1: the caller's memory, no place in the arena */
    dnnl_memory_t mem;
};

struct blob {
    dnnl_memory_desc_t md;
    void *data;
    size_t bytes;
    dnnl_memory_t mem;
};

#define JOB_ARGS 6 /* two sources, weights, bias or addend, result, scratchpad */

struct job {
    const struct net_step *step; /* NULL = a change of layout or a copy */
    dnnl_primitive_t prim;       /* NULL: a loop */
    int n_args;
    struct {
        int arg;
        int store, blob; /* one of them is set, the other -1; both -1: the scratchpad */
    } ref[JOB_ARGS];
    dnnl_exec_arg_t args[JOB_ARGS];
    dnnl_memory_t scratch;
    size_t scratch_bytes;
    struct net_dnnl_loop loop;
    int loop_src, loop_dst;
};

/* The decisions about a tensor before jobs are emitted. */
struct place {
    int store;     /* its first store, -1 = not made yet */
    int part_of;   /* tensor of the concat whose store it is written to; -1 = none */
    int channel;   /* where in it */
    int over;      /* residual whose store it overwrites, -1 = none */
    int shared;    /* its bytes also have another shape: must not be overwritten */
    int last_read; /* step */
};

struct copy {
    int tensor, store;
};

struct net_dnnl {
    struct net_graph *g;
    size_t max_bytes;
    int block; /* channels in a block of the layout that convolutions prefer; 0 = none */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct place *places; /* [g->n_tensors] */
    struct store *stores;
    struct blob *blobs;
    struct job *jobs;
    struct copy *copies;
    int n_stores, n_blobs, n_jobs, n_copies;
    size_t cap_stores, cap_blobs, cap_jobs, cap_copies;
    int in_store, out_store;
    void *arena, *scratch;
    size_t arena_bytes, scratch_bytes, blob_bytes;
};

/* net_dnnl_plan.c: the order of jobs, places in the arena */
MUST_CHECK int net_dnnl_plan(struct net_dnnl *p, struct err *err);
MUST_CHECK int net_dnnl_plan_arena(struct net_dnnl *p, struct err *err);

/* net_dnnl_emit.c: stores and jobs */
/* A store for these dimensions; part of `root` at `root_at` bytes if root >= 0. Returns index or
 * code. */
int net_dnnl_emit_store(struct net_dnnl *p, const dnnl_memory_desc_t *md, int root, size_t root_at,
                        struct err *err);
MUST_CHECK int net_dnnl_emit_md(const int d[4], enum layout layout, dnnl_memory_desc_t *md,
                                struct err *err);
/* The tensor in this layout: its store, a copy made before, or a new copy. Returns index or
 * code. */
int net_dnnl_emit_get(struct net_dnnl *p, int tensor, const dnnl_memory_desc_t *md,
                      struct err *err);
/* The tensor in a plain or blocked layout (plain: plain alone) with a place in the arena. Returns
 * index or code. */
int net_dnnl_emit_own(struct net_dnnl *p, int tensor, int plain, struct err *err);
/* Out: *store: the store that the tensor's writer should write to, because the tensor is a part of
 * a concat or may overwrite a residual; -1: any store will do. */
MUST_CHECK int net_dnnl_emit_wanted(struct net_dnnl *p, int tensor, int *store, struct err *err);
/* Gives the tensor a store of the layout that its writer chose: the wanted store if it has that
 * layout, else a new one. Returns index or code. */
int net_dnnl_emit_put(struct net_dnnl *p, int tensor, int wanted, const dnnl_memory_desc_t *md,
                      struct err *err);
MUST_CHECK int net_dnnl_emit_loop(struct net_dnnl *p, const struct net_dnnl_loop *l, int from,
                                  int to, struct err *err);
MUST_CHECK int net_dnnl_emit_copy(struct net_dnnl *p, int from, int to, struct err *err);
struct job *net_dnnl_emit_job(struct net_dnnl *p, const struct net_step *s, struct err *err);
/* One of store and blob is -1; both are for the scratchpad. A job has room for all arguments. */
void net_dnnl_emit_arg(struct net_dnnl *p, struct job *j, int arg, int store, int blob);
int net_dnnl_emit_fail(struct err *err, const struct net_step *s, const char *what,
                       dnnl_status_t status);
/* Finishes a job from a primitive descriptor, which is destroyed. */
MUST_CHECK int net_dnnl_emit_finish(struct net_dnnl *p, struct job *j, dnnl_primitive_desc_t pd,
                                    struct err *err);

/* net_dnnl_prim.c: a step to a primitive; net_dnnl_move.c: a step to copies and loops */
MUST_CHECK int net_dnnl_prim(struct net_dnnl *p, const struct net_step *s, struct err *err);
MUST_CHECK int net_dnnl_move(struct net_dnnl *p, const struct net_step *s, struct err *err);
/* A resize by whole factors, which oneDNN supports. */
MUST_CHECK int net_dnnl_prim_resample(struct net_dnnl *p, const struct net_step *s,
                                      struct err *err);
