/* worker_state.h - what the two threads of a device share (worker.h) */
#pragma once

#include "daemon/config.h"
#include "daemon/session/pipeline.h"
#include "daemon/work/batch_policy.h"
#include "daemon/work/worker.h"
#include "proto/lock.h"

#include <pthread.h>

/* Items of one line that the device computes together. */
struct batch {
    const struct gpu_line *line;
    struct gpu_item *items[GPU_BATCH_MAX];
    struct job *jobs[GPU_BATCH_MAX];
    int n, n_left; /* n_left: those of n that the last batch left behind */
    uint64_t began_us, enqueued_us;
};

/* Sessions that wait for the thread that makes and frees, in order of arrival. A session may be in
 * both lists. Under the worker's lock. */
struct worker_list {
    struct session_work *first, *last;
};

struct worker {
    /* for the worker's thread alone */
    pthread_t thread;
    struct worker_config config;
    char device_name[GPU_NAME_CAP], cache_path[CONFIG_TEXT_CAP];
    struct gpu *gpu;
    struct batch batches[GPU_BATCHES]; /* under way: n_batches, the oldest at `oldest` */
    int oldest, n_batches;
    struct job *left[GPU_BATCH_MAX]; /* left behind for the next batch: n_left */
    int n_left;
    struct batch_policy policy;
    double busy_us; /* device time since noted_us */
    uint64_t noted_us;

    bool stopped; /* for the thread that starts and stops it */
    struct turn *turns;
    struct worker_budget budget;
    atomic_ullong alive_us, frames, errors;
    /* picoseconds for each pixel of the networks' input, of late; 0 = not known */
    atomic_ullong ps_per_pixel;
    atomic_ullong too_many_pixels; /* smallest size for which memory was short; 0 = none */
    atomic_bool lost;

    struct { /* worker_make.c */
        pthread_t thread;
        bool started;
        struct gpu_model *models[MODELS_MAX]; /* for its thread: the device's copies, NULL = none */
        atomic_ullong alive_us;
        /* guarded by the lock */
        pthread_cond_t some;
        struct worker_list waiting[2]; /* indexed by enum worker_waiting */
        int n_leaving;                 /* sessions whose device state is not freed yet */
        bool ending;
    } make;

    struct lock lock;
    pthread_cond_t changed; /* signals state, n_working, make.n_leaving, served, ending */
    int state;              /* 1: opening, 0: open, else the error */
    struct err open_error;
    struct gpu_info info;
    float busy;
    struct session_work *retired; /* list through next_retired */
    int n_working;                /* sessions whose turn is not over */
    bool served;                  /* the thread takes no more frames */
    bool ending;                  /* the thread is to close the device */
};

/* Called by the thread that finds the device context lost. Frames in a journal are used after the
 * restart, and until then their clients are told nothing. */
void worker_lose(struct worker *w);
