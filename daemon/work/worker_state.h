/* worker_state.h - what the two threads of a device share (worker.h) */
#ifndef RECOND_DAEMON_WORKER_STATE_H
#define RECOND_DAEMON_WORKER_STATE_H

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
    int n, n_left; /* n_left: of them, those that the last batch left behind */
    uint64_t began_us, enqueued_us;
};

/* Sessions that wait for the thread that makes and frees, in the order in which they came. One that
 * is wanted again before its memory is back is in both lists. Under the worker's lock. */
struct worker_list {
    struct session_work *first, *last;
};

struct worker {
    /* of the thread itself */
    pthread_t thread;
    struct worker_config config;
    char device_name[GPU_NAME_CAP], cache_path[CONFIG_TEXT_CAP];
    struct gpu *gpu;
    struct batch batches[GPU_BATCHES]; /* under way: n_batches of them, the oldest at `oldest` */
    int oldest, n_batches;
    struct job *left[GPU_BATCH_MAX]; /* left behind for the next batch: n_left */
    int n_left;
    struct batch_policy policy;
    double busy_us; /* of the device, since noted_us */
    uint64_t noted_us;

    bool stopped; /* of the thread that starts and stops it */
    struct turn *turns;
    struct worker_budget budget;
    atomic_ullong alive_us, frames, errors;
    atomic_ullong ps_per_pixel;    /* of the networks' input, of late; 0 = not known */
    atomic_ullong too_many_pixels; /* fewest that it could not be made for; 0 = none */
    atomic_bool lost;

    struct { /* worker_make.c */
        pthread_t thread;
        bool started;
        struct gpu_model *models[MODELS_MAX]; /* of its thread: the device's copies, NULL = none */
        atomic_ullong alive_us;
        /* under the lock */
        pthread_cond_t some;
        struct worker_list waiting[2]; /* by enum worker_waiting */
        int n_leaving;                 /* sessions whose device state is not back */
        bool ending;
    } make;

    struct lock lock;
    pthread_cond_t changed; /* state, n_working, make.n_leaving, served, ending */
    int state;              /* 1: opening, 0: open, else the error */
    struct err open_error;
    struct gpu_info info;
    float busy;
    struct session_work *retired; /* list through next_retired */
    int n_working;                /* sessions whose turn is not over */
    bool served;                  /* the thread takes no more frames */
    bool ending;                  /* it shall close the device */
};

/* The device context is lost; by the thread that finds out. Frames that are in a journal are used
 * after the restart, and until then their clients are told nothing. */
void worker_lose(struct worker *w);

#endif
