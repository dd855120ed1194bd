/* worker_internal.h - what worker.c and worker_flight.c share; nobody else includes it */
#ifndef RECOND_DAEMON_WORKER_INTERNAL_H
#define RECOND_DAEMON_WORKER_INTERNAL_H

#include "daemon/config.h"
#include "daemon/shelf.h"
#include "daemon/worker.h"

#include <stddef.h>

/* A batch on its way through the device. */
struct flight {
    struct gpu_frame *frames[GPU_BATCH_MAX];
    struct job *jobs[GPU_BATCH_MAX];
    int n;
    uint64_t began_us, enqueued_us;
};

struct worker {
    /* of the thread itself */
    pthread_t thread;
    struct worker_config config;
    char device_name[GPU_NAME_CAP], cache_path[CONFIG_TEXT_CAP];
    struct gpu *gpu;
    struct shelf shelf;
    struct flight flights[GPU_FLIGHTS]; /* under way: n_flights of them, the oldest at `oldest` */
    int oldest, n_flights;
    uint32_t expect_us[GPU_BATCH_MAX + 1]; /* what the device needs for so many frames */
    uint64_t busy_us, busy_from_us, landed_us, looked_us;

    bool stopped; /* of whoever starts and stops it */
    struct turn *turns;
    struct budget budget;
    atomic_ullong alive_us, frames, errors;
    atomic_bool lost;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* state, n_working, served, ending */
    int state;              /* 1: opening, 0: open, else the error */
    struct err open_error;
    struct gpu_info info;
    float busy;
    struct session *retired; /* list through next_retired */
    int n_working;           /* sessions whose job is not done */
    bool served;             /* the thread takes no more frames */
    bool ending;             /* it shall close the device */
};

static inline struct session *worker_session_of(struct turn_entry *e)
{
    return (struct session *)(void *)((char *)e - offsetof(struct session, work_turn));
}

/* Sessions that have a turn board the next flight, others may join it, and it is launched. */
void worker_flight_begin(struct worker *w, struct turn_entry **entries, int n);
/* Waits for the oldest flight; for all of them. */
void worker_flight_land(struct worker *w);
void worker_flight_land_all(struct worker *w);
/* Until when frames may still come for the flight after the oldest one. */
uint64_t worker_flight_due_us(const struct worker *w);

#endif
