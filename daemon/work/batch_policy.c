#include "daemon/work/batch_policy.h"

#define DONE_ALREADY_US 50    /* a wait as short as this found the work done */
#define LEARN_US 1000         /* first guess for a batch of an unknown size */
#define WAKE_US 100           /* a sleeping thread may wake so late */
#define ENQUEUE_MAX_US 10000u /* an enqueuing that took longer was delayed by something else */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the index of a batch of n frames in expect_us. */
static int size_of(int n)
{
    int size = 0;

    while (size < BATCH_POLICY_SIZES - 1 && 1 << size < n)
        size++;
    return size;
}

uint64_t batch_policy_due_us(const struct batch_policy *p, int n, uint64_t enqueued_us)
{
    uint64_t expect_us = p->expect_us[size_of(n)];
    uint64_t margin_us = expect_us / 8 + 2 * (uint64_t)p->enqueue_us + WAKE_US;

    return max_u64(enqueued_us, p->done_us) + (expect_us > margin_us ? expect_us - margin_us : 0);
}

uint64_t batch_policy_nap_us(const struct batch_policy *p, const struct batch_policy_load *load,
                             uint64_t now_us)
{
    uint64_t due_us;

    if (load->n_left)
        return 0;
    if (!load->busy)
        return BATCH_POLICY_NAP_US;
    due_us = batch_policy_due_us(p, load->n, load->enqueued_us);
    return due_us > now_us ? due_us - now_us : 0;
}

uint64_t batch_policy_idle_until_us(const struct batch_policy *p, uint64_t now_us,
                                    uint64_t oldest_received_us)
{
    return min_u64(now_us + p->wait_us, oldest_received_us + BATCH_POLICY_DEADLINE_US);
}

struct batch_policy_wait batch_policy_wait(const struct batch_policy *p, int n, uint64_t now_us,
                                           uint64_t due_us, uint64_t idle_until_us)
{
    struct batch_policy_wait w = {.for_any = now_us < due_us};

    w.until_us = w.for_any ? due_us : idle_until_us;
    if (n == 0 || n >= p->most || now_us >= w.until_us)
        w.until_us = 0;
    return w;
}

int batch_policy_size(struct batch_policy *p, int n, int n_left)
{
    uint32_t *all_us = &p->expect_us[size_of(n)], most_us;
    int most = 1;

    while (2 * most <= n)
        most *= 2;
    most_us = p->expect_us[size_of(most)];
    if (most == n || most < n_left ||
        (uint64_t)most_us * (unsigned)n >= (uint64_t)*all_us * (unsigned)most)
        return n;
    *all_us -= *all_us / 256 + 1;
    return most;
}

void batch_policy_enqueued(struct batch_policy *p, uint64_t took_us)
{
    p->enqueue_us =
        (uint32_t)((7 * (uint64_t)p->enqueue_us + min_u64(took_us, ENQUEUE_MAX_US)) / 8);
}

void batch_policy_done(struct batch_policy *p, int n, uint64_t enqueued_us, uint64_t waited_us,
                       uint64_t now_us)
{
    uint64_t took_us = now_us - max_u64(enqueued_us, p->done_us);
    uint32_t *expect_us = &p->expect_us[size_of(n)];

    if (now_us - waited_us < DONE_ALREADY_US)
        *expect_us -= *expect_us / 4;
    else
        *expect_us = (uint32_t)min_u64(took_us, 2 * (uint64_t)*expect_us + LEARN_US);
    p->done_us = now_us;
}

void batch_policy_share(uint64_t share_us[], const uint64_t pixels[], int n, uint64_t us)
{
    uint64_t all = 0;

    for (int i = 0; i < n; i++)
        all += 1 + pixels[i];
    for (int i = 0; i < n; i++)
        share_us[i] = us * (1 + pixels[i]) / all;
}
