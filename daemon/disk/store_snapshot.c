/* Where a session stands: into a checkpoint, and out of one. */
#include "daemon/disk/store_internal.h"

#include "daemon/work/decode.h"
#include "daemon/log.h"
#include "daemon/work/worker.h"
#include "proto/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORE_VERSION 1
#define CORE_BYTES 152

/* ------------------------------------------------------------------------- counters and sizes */

static void put_sizes(struct bytes_writer *w, const struct session *s)
{
    bytes_put_i32(w, s->decode.jpeg_w);
    bytes_put_i32(w, s->decode.jpeg_h);
    bytes_put_i32(w, s->decode.w);
    bytes_put_i32(w, s->decode.h);
    bytes_put_i32(w, s->net_w);
    bytes_put_i32(w, s->net_h);
}

/* On the worker's thread, between two frames. Sizes do not change any more once a frame was used.
 * Returns the bytes, 0 if they do not fit. */
static size_t pack_core(struct session *s, uint8_t *buf, size_t cap)
{
    struct bytes_writer w = bytes_writer(buf, cap);

    bytes_put_u32(&w, CORE_VERSION);
    bytes_put_u64(&w, s->work.ordinal);
    bytes_put_u64(&w, s->work.refused_before + s->work.refused);
    bytes_put_u64(&w, s->work.used);
    bytes_put_u64(&w, atomic_load(&s->front_refused));
    bytes_put_u64(&w, atomic_load(&s->front_dropped));
    bytes_put_u32(&w, s->work.any);
    bytes_put_u32(&w, s->work.world_epoch);
    bytes_put_u32(&w, s->work.breaks);
    pthread_mutex_lock(&s->lock);
    put_sizes(&w, s);
    bytes_put_u64(&w, s->last_seq);
    bytes_put_u32(&w, s->any_seq);
    bytes_put_u64(&w, s->counts.keyframes);
    bytes_put_u64(&w, s->counts.bytes_in);
    bytes_put_u64(&w, s->counts.bytes_out);
    bytes_put_u64(&w, s->counts.blocks_out);
    bytes_put_u64(&w, s->counts.points_out);
    bytes_put_u32(&w, s->keyframes_kept);
    bytes_put_u32(&w, s->model_points);
    bytes_put_u32(&w, s->model_stable);
    pthread_mutex_unlock(&s->lock);
    return w.bad ? 0 : w.at;
}

static int get_sizes(struct session *s, struct bytes_reader *r)
{
    int *const field[] = {&s->decode.jpeg_w, &s->decode.jpeg_h, &s->decode.w,
                          &s->decode.h,      &s->net_w,         &s->net_h};

    for (int i = 0; i < 6; i++) {
        int32_t v = bytes_get_i32(r);
        if (v < 1 || v > (i < 4 ? FRAME_SIDE_MAX : GPU_SIDE_MAX))
            return -1;
        *field[i] = v;
    }
    return 0;
}

static int unpack_core(struct session *s, const uint8_t *buf, size_t len, struct err *err)
{
    struct bytes_reader r = bytes_reader(buf, len);
    uint32_t version = bytes_get_u32(&r);

    s->work.ordinal = bytes_get_u64(&r);
    s->work.refused_before = bytes_get_u64(&r);
    s->work.used = bytes_get_u64(&r);
    atomic_store(&s->front_refused, bytes_get_u64(&r));
    atomic_store(&s->front_dropped, bytes_get_u64(&r));
    s->work.any = bytes_get_u32(&r) != 0;
    s->work.world_epoch = bytes_get_u32(&r);
    s->work.breaks = bytes_get_u32(&r);
    if (version != CORE_VERSION || get_sizes(s, &r))
        return err_set(err, ERR_INPUT,
                       "its checkpoint is of another version, or contradicts itself");
    s->last_seq = bytes_get_u64(&r);
    s->any_seq = bytes_get_u32(&r) != 0;
    s->counts.keyframes = bytes_get_u64(&r);
    s->counts.bytes_in = bytes_get_u64(&r);
    s->counts.bytes_out = bytes_get_u64(&r);
    s->counts.blocks_out = bytes_get_u64(&r);
    s->counts.points_out = bytes_get_u64(&r);
    s->keyframes_kept = bytes_get_u32(&r);
    s->model_points = bytes_get_u32(&r);
    s->model_stable = bytes_get_u32(&r);
    if (r.bad || bytes_left(&r) || s->work.used + s->work.refused_before > s->work.ordinal)
        return err_set(err, ERR_INPUT, "its checkpoint contradicts itself");
    s->decode.refused = s->work.refused_before;
    s->stored_frames = s->work.ordinal;
    atomic_store(&s->breaks, s->work.breaks);
    return 0;
}

/* ------------------------------------------------------------------------- out */

static int pack(struct session *s, struct checkpoint_draft *d, struct err *err)
{
    int rc;

    d->len[CHECKPOINT_CORE] = pack_core(s, d->part[CHECKPOINT_CORE], d->cap[CHECKPOINT_CORE]);
    if (d->len[CHECKPOINT_CORE] == 0)
        return err_set(err, ERR_LIMIT, "no room for a session's counters");
    rc = gpu_session_save(s->work.device, d->part[CHECKPOINT_DEVICE], d->cap[CHECKPOINT_DEVICE],
                          &d->len[CHECKPOINT_DEVICE], err);
    if (rc == 0)
        rc = mirror_save(s->mirror, d->part[CHECKPOINT_MIRROR], d->cap[CHECKPOINT_MIRROR],
                         &d->len[CHECKPOINT_MIRROR], err);
    if (rc == 0)
        rc = trajectory_save(s->trajectory, d->part[CHECKPOINT_TRAJECTORY],
                             d->cap[CHECKPOINT_TRAJECTORY], &d->len[CHECKPOINT_TRAJECTORY], err);
    return rc;
}

static void on_saved(void *ctx, uint64_t number, uint64_t older, int rc)
{
    struct session *s = ctx;

    if (rc == 0) {
        atomic_store(&s->saved, number);
        atomic_fetch_add(&s->setup.store->checkpoints, 1);
        if (!s->setup.options.record && older)
            journal_log_forget(s->log, older + 1);
    } else if (!atomic_load(&s->dead)) {
        LOG_AT(LOG_WARNING,
               "session %.6s: no checkpoint could be written (%s); its journal is whole", s->id,
               err_name(rc));
    }
    if (rc == 0 && atomic_load(&s->may_rest))
        worker_retire(s->setup.worker, s);
    session_unref(s);
}

static bool due(struct session *s)
{
    int every = atomic_load(&s->setup.store->checkpoint_frames);

    if (s->work.number == atomic_load(&s->saved)) { /* or nothing was used yet */
        atomic_store(&s->want_save, false);
        return false;
    }
    return (atomic_load(&s->want_save) || (every && s->work.unsaved >= (uint64_t)every));
}

void store_checkpoint(struct session *s)
{
    struct store *st = s->setup.store;
    struct checkpoint_draft *draft;
    size_t bytes[CHECKPOINT_PARTS];
    struct err err = {0};

    if (!s->log || !s->work.device || !due(s) || journal_log_fenced(s->log))
        return;
    bytes[CHECKPOINT_CORE] = CORE_BYTES;
    bytes[CHECKPOINT_DEVICE] = gpu_session_state_bytes(s->work.device);
    bytes[CHECKPOINT_MIRROR] = mirror_state_bytes(s->mirror);
    bytes[CHECKPOINT_TRAJECTORY] = trajectory_state_bytes(s->trajectory);
    draft = checkpoint_begin(st->checkpoint, bytes);
    if (!draft) /* another session's is under way: at the next turn */
        return;
    if (pack(s, draft, &err)) {
        LOG_AT(LOG_WARNING, "session %.6s: no checkpoint: %s", s->id, err.text);
        checkpoint_abandon(st->checkpoint);
        s->work.unsaved = 0; /* not with every frame */
        return;
    }
    s->work.unsaved = 0;
    atomic_store(&s->want_save, false);
    session_ref(s);
    checkpoint_commit(st->checkpoint, s->id, s->work.number, on_saved, s);
}

void store_want_checkpoint(struct session *s, bool rest)
{
    if (!s->log) {
        if (rest)
            worker_retire(s->setup.worker, s);
        return;
    }
    if (rest)
        atomic_store(&s->may_rest, true);
    atomic_store(&s->want_save, true);
    worker_kick(s->setup.worker, s);
    if (rest) /* perhaps it is saved already */
        worker_retire(s->setup.worker, s);
}

bool store_may_rest(struct session *s)
{
    if (atomic_load(&s->dead) || !s->log || !s->work.device)
        return true;
    return atomic_load(&s->may_rest) && s->work.number == atomic_load(&s->saved) &&
           queue_used(s->queue) == 0;
}

bool store_settled(struct session *s)
{
    return !s->log || journal_log_fenced(s->log) ||
           (queue_used(s->queue) == 0 && atomic_load(&s->work.number) == atomic_load(&s->saved));
}

/* ------------------------------------------------------------------------- in */

int store_unpack(struct session *s, const struct checkpoint_state *c, struct err *err)
{
    int rc = unpack_core(s, c->part[CHECKPOINT_CORE], c->len[CHECKPOINT_CORE], err);

    if (rc == 0)
        rc = mirror_load(s->mirror, c->part[CHECKPOINT_MIRROR], c->len[CHECKPOINT_MIRROR], err);
    if (rc == 0)
        rc = trajectory_load(s->trajectory, c->part[CHECKPOINT_TRAJECTORY],
                             c->len[CHECKPOINT_TRAJECTORY], err);
    if (rc)
        return rc;
    s->work.number = c->number;
    atomic_store(&s->saved, c->number);
    session_set_resting(s, true);
    return 0;
}

static int fetch(struct session *s, struct checkpoint_state **out, struct err *err)
{
    struct checkpoint_state *c = calloc(1, sizeof(*c));
    uint64_t number = atomic_load(&s->saved);
    int rc;

    *out = NULL;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for a session's checkpoint");
    rc = checkpoint_load(c, journal_path(s->setup.store->journal), s->id, number, err);
    if (rc == 0 && c->number != number) {
        rc = err_set(err, ERR_IO, "its newest checkpoint cannot be read");
        checkpoint_state_free(c);
    }
    if (rc)
        free(c);
    else
        *out = c;
    return rc;
}

static void drop(struct checkpoint_state *c)
{
    if (!c)
        return;
    checkpoint_state_free(c);
    free(c);
}

void store_drop_fetched(struct session *s)
{
    drop(atomic_exchange(&s->fetched, NULL));
}

int store_fetch(struct session *s, struct err *err)
{
    struct checkpoint_state *c;
    int rc;

    if (!s->log || !atomic_load(&s->resting) || atomic_load(&s->fetched))
        return 0;
    rc = fetch(s, &c, err);
    if (rc == 0)
        drop(atomic_exchange(&s->fetched, c));
    return rc;
}

int store_restore(struct session *s, struct err *err)
{
    struct checkpoint_state *c;
    int rc = 0;

    if (!s->log || s->work.number == 0)
        return 0;
    c = atomic_exchange(&s->fetched, NULL);
    if (c && c->number != s->work.number) {
        drop(c);
        c = NULL;
    }
    if (!c) /* it went to rest after this frame was decoded */
        rc = fetch(s, &c, err);
    if (rc == 0 && c->number != s->work.number)
        rc = err_set(err, ERR_STATE, "its checkpoint is not of its last frame");
    if (rc == 0)
        rc = gpu_session_load(s->work.device, c->part[CHECKPOINT_DEVICE], c->len[CHECKPOINT_DEVICE],
                              err);
    drop(c);
    if (rc == 0)
        session_set_resting(s, false);
    return rc;
}
