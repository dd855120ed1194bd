#include "daemon/session/session_internal.h"

#include "daemon/clock.h"
#include "daemon/session/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Makes an id, 26 characters of base32 (130 random bits), that cannot be guessed, and an epoch. */
static int make_id(char id[API_ID_CAP], uint32_t *epoch, struct err *err)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint8_t random[30];

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return err_set(err, ERR_IO, "no random numbers from the system");
    for (int i = 0; i < 26; i++)
        id[i] = digits[random[i] & 31];
    id[26] = '\0';
    memcpy(epoch, random + 26, sizeof(*epoch));
    *epoch |= 1; /* never 0 */
    return 0;
}

int session_new(struct session **session, const struct session_setup *setup, struct err *err)
{
    uint32_t max_points = setup->options.max_points ? setup->options.max_points : 1;
    struct cloud_limits limits = {setup->max_blocks, max_points}; /* 1: the kind has no map */
    struct session *s = calloc(1, sizeof(*s));
    int rc = 0;

    *session = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    s->setup = *setup;
    atomic_init(&s->refs, 1);
    lock_init(&s->lock, LOCK_SESSION);
    s->changed_s = clock_unix_s();
    s->kept.net_w = setup->options.net_w;
    s->kept.net_h = setup->options.net_h;
    if (!setup->id[0]) {
        s->setup.created_s = s->changed_s;
        rc = make_id(s->setup.id, &s->setup.epoch, err);
    }
    if (rc == 0)
        rc = queue_new(&s->queue, setup->queue_frames, setup->max_payload_bytes, err);
    if (rc == 0)
        rc = mirror_new(&s->mirror, &limits, err);
    if (rc == 0)
        rc = trajectory_new(&s->trajectory, err);
    if (rc == 0)
        rc = results_new(&s->results, err);
    if (rc == 0)
        rc = sources_new(&s->sources, err);
    if (rc == 0 && setup->options.objects[0] && !(s->tracked = calloc(1, sizeof(*s->tracked))))
        rc = err_set(err, ERR_MEMORY, "no memory for the objects of a session");
    if (rc == 0 && setup->kind->has_one_submap)
        sources_limit_submaps(s->sources, 1);
    if (rc) {
        session_free(s);
        return rc;
    }
    s->pace = pace_new((double)setup->options.fps);
    if (setup->options.mode == SESSION_LOSSLESS)
        queue_set_lossless(s->queue);
    *session = s;
    return 0;
}

struct session *session_ref(struct session *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void session_unref(struct session *s)
{
    if (atomic_fetch_sub(&s->refs, 1) == 1)
        s->setup.last(s);
}

void session_free(struct session *s)
{
    queue_free(&s->queue);
    mirror_free(&s->mirror);
    trajectory_free(&s->trajectory);
    results_unref(s->latest);
    results_free(&s->results);
    sources_free(&s->sources);
    free(s->preview);
    free(s->tracked);
    lock_destroy(&s->lock);
    free(s);
}

/* ------------------------------------------------------------------------- what it is */

const char *session_id(const struct session *s)
{
    return s->setup.id;
}

uint32_t session_epoch(const struct session *s)
{
    return s->setup.epoch;
}

const struct session_setup *session_setup(const struct session *s)
{
    return &s->setup;
}

struct queue *session_queue(const struct session *s)
{
    return s->queue;
}

struct mirror *session_mirror(const struct session *s)
{
    return s->mirror;
}

struct trajectory *session_trajectory(const struct session *s)
{
    return s->trajectory;
}

struct results *session_results(const struct session *s)
{
    return s->results;
}

struct session_work *session_work(const struct session *s)
{
    return s->work;
}

struct session_disk *session_disk(const struct session *s)
{
    return s->disk;
}

void session_set_work(struct session *s, struct session_work *work)
{
    s->work = work;
}

void session_set_disk(struct session *s, struct session_disk *disk)
{
    s->disk = disk;
}

bool session_dead(const struct session *s)
{
    return atomic_load(&s->dead);
}

void session_set_net(struct session *s, int w, int h)
{
    lock_take(&s->lock);
    s->kept.net_w = w;
    s->kept.net_h = h;
    lock_give(&s->lock);
}

void session_get_net(struct session *s, int *w, int *h)
{
    lock_take(&s->lock);
    *w = s->kept.net_w;
    *h = s->kept.net_h;
    lock_give(&s->lock);
}

void session_set_bad_pose(struct session *s, const char *what)
{
    lock_take(&s->lock);
    s->bad_pose = what;
    lock_give(&s->lock);
}

void session_set_fault(struct session *s, const char *why)
{
    lock_take(&s->lock);
    snprintf(s->fault, sizeof(s->fault), "%s", why);
    lock_give(&s->lock);
}
