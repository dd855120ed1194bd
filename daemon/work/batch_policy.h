/*
 * batch_policy.h - when a batch leaves for its device, and with how many frames
 *
 * Pure decisions: the worker brings the times, the policy reads no clock and takes no lock. What
 * batches of a size take is learnt from those that had to be waited for.
 * docs/ARCHITECTURE.md, "Batches", says why.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A device computes batches of 1, 2, 4 ... 64 frames; other sizes cost as the next of these. */
#define BATCH_POLICY_SIZES 7
#define BATCH_POLICY_DEADLINE_US 33000 /* a frame older than this waits for no other */
#define BATCH_POLICY_NAP_US 500000     /* how long an idle worker sleeps */

struct batch_policy {
    int most;                               /* frames of a batch */
    uint32_t wait_us;                       /* how long a batch may wait while the device is idle */
    uint32_t expect_us[BATCH_POLICY_SIZES]; /* device time for up to 1, 2, 4 ... frames */
    uint32_t enqueue_us;                    /* recent time to enqueue a batch */
    uint64_t done_us;                       /* when the last batch was done */
};

/* The frames that a device has and may get. */
struct batch_policy_load {
    int n_left;           /* frames left behind for the next batch */
    bool busy;            /* a batch is under way: */
    int n;                /* its frames */
    uint64_t enqueued_us; /* and the time it was enqueued */
};

/*
 * batch_policy_due_us - just before the batch that is under way is likely to be done
 *
 * The next batch may be filled until then, because the device is busy. The time left over is for
 * enqueuing that batch, and an eighth for errors.
 */
uint64_t batch_policy_due_us(const struct batch_policy *p, int n, uint64_t enqueued_us);

/* Returns how long the worker may sleep until a frame comes: a due batch has to be waited for. */
uint64_t batch_policy_nap_us(const struct batch_policy *p, const struct batch_policy_load *load,
                             uint64_t now_us);

/* Returns until when a batch waits while the device is idle, and its oldest frame has time. */
uint64_t batch_policy_idle_until_us(const struct batch_policy *p, uint64_t now_us,
                                    uint64_t oldest_received_us);

struct batch_policy_wait {
    uint64_t until_us; /* 0: the batch leaves now */
    bool for_any;      /* for any frame; else only for those that are known to be on their way */
};

/*
 * batch_policy_wait - may a batch of n frames wait for more?
 *
 * In:      due_us: batch_policy_due_us() of the batch under way, 0 if the device is idle;
 *          idle_until_us: as the batch was begun
 */
struct batch_policy_wait batch_policy_wait(const struct batch_policy *p, int n, uint64_t now_us,
                                           uint64_t due_us, uint64_t idle_until_us);

/*
 * batch_policy_size - how many of n frames leave
 *
 * A few more than a power of two cost as much as twice as many: if that power of two is faster in
 * proportion, the other frames go with the next batch, and are not left behind again. An unknown
 * size is tried. The expected time of an avoided size shrinks each time, so that one slow batch
 * does not rule it out for ever.
 * In:      n_left: those of the n that the last batch left behind
 */
int batch_policy_size(struct batch_policy *p, int n, int n_left);

/* Learns how long it took to enqueue a batch. */
void batch_policy_enqueued(struct batch_policy *p, uint64_t took_us);

/* A batch of n is done; it was waited for from waited_us on. The expected time of its size at most
 * doubles; where the work was done already, it shrinks. A back end that computes while it enqueues
 * never waits, so its batches are due at once. */
void batch_policy_done(struct batch_policy *p, int n, uint64_t enqueued_us, uint64_t waited_us,
                       uint64_t now_us);

/* Returns the charge of n frames that took `us` together, in proportion to the pixels of their
 * networks, which take nearly all of the time. */
void batch_policy_share(uint64_t share_us[], const uint64_t pixels[], int n, uint64_t us);
