/* worker_internal.h - what worker.c, worker_flight.c and worker_make.c share; nobody else includes
 * it */
#ifndef RECOND_DAEMON_WORKER_INTERNAL_H
#define RECOND_DAEMON_WORKER_INTERNAL_H

#include "daemon/config.h"
#include "daemon/work/shelf.h"
#include "daemon/work/worker.h"

#include <pthread.h>

/* A batch on its way through the device. */
struct flight {
    struct gpu_item *items[GPU_BATCH_MAX];
    struct job *jobs[GPU_BATCH_MAX];
    int n;
    uint64_t began_us, enqueued_us;
};

/* A device computes batches of 1, 2, 4 ... frames, and one between costs what the next of these
 * costs. */
#define WORKER_SIZES 7

/* Sessions that wait for the thread that makes and frees; under the worker's lock. */
struct worker_line {
    struct session_work *first, *last;
};

struct worker {
    /* of the thread itself */
    pthread_t thread;
    struct worker_config config;
    char device_name[GPU_NAME_CAP], cache_path[CONFIG_TEXT_CAP];
    struct gpu *gpu;
    struct flight flights[GPU_BATCHES]; /* under way: n_flights of them, the oldest at `oldest` */
    int oldest, n_flights;
    struct job *left[GPU_BATCH_MAX]; /* boarded, and left behind for the next flight: n_left */
    int n_left;
    uint32_t expect_us[WORKER_SIZES]; /* what the device needs for up to 1, 2, 4 ... frames */
    uint32_t enqueue_us;              /* what it takes to enqueue a flight, of late */
    double busy_us;                   /* of the device, since looked_us */
    uint64_t landed_us, looked_us;

    bool stopped; /* of whoever starts and stops it */
    struct turn *turns;
    struct budget budget;
    atomic_ullong alive_us, frames, errors;
    atomic_bool lost;

    struct { /* worker_make.c */
        pthread_t thread;
        bool started;
        struct shelf shelf; /* of its thread, while that runs */
        atomic_ullong alive_us;
        /* under the lock */
        pthread_cond_t some;
        struct worker_line made, leaving;
        int n_leaving; /* those whose device state is not back */
        bool ending;
    } make;

    pthread_mutex_t lock;
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

/* Those who were left behind and sessions that have a turn board the next flight, others may join
 * it, and it is launched. */
void worker_flight_begin(struct worker *w, struct turn_entry **entries, int n);
/* Waits for the oldest flight; for all of them. */
void worker_flight_land(struct worker *w);
void worker_flight_land_all(struct worker *w);
/* Until when frames may still come for the flight after the oldest one: it is enqueued just before
 * that is done. */
uint64_t worker_flight_due_us(const struct worker *w);
/* The device context is lost: whoever finds out. */
void worker_flight_lose(struct worker *w);
/* An item that was taken, in its session's turn: refused, unless it is used after a restart. */
void worker_flight_refuse(struct worker *w, struct session *s, struct queue_item *item,
                          enum control_reason reason);

/* Starts the thread that makes sessions; the device is open. */
MUST_CHECK int worker_make_start(struct worker *w, struct err *err);
/* Gives everything back and ends it. */
void worker_make_stop(struct worker *w);
/* The session gets its device state, then its next turn. It has its turn, and is working. */
void worker_make_session(struct worker *w, struct session *s);
/* Its device state goes; with a reference that is let go of then. Worker's thread, no turn. */
void worker_make_leave(struct worker *w, struct session *s);

#endif
