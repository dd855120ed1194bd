/* Feeds the journals' frames through the queues of live frames (store_recover.c). */
#include "daemon/disk/store_internal.h"

#include "daemon/clock.h"
#include "api/file.h"
#include "daemon/log.h"
#include "daemon/session/session_clients.h"
#include "daemon/session/session_info.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/session_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KILLS_MAX 2 /* times that a frame may kill the process */
#define MOMENT_US 5000
#define AT_ONCE 16 /* sessions that are replayed side by side */

static const struct suspect_frame *recovery_suspect(const struct recovery *r,
                                                    const struct session *s, uint64_t number)
{
    for (int i = 0; i < r->n_suspects; i++)
        if (r->suspects[i].number == number && strcmp(r->suspects[i].id, session_id(s)) == 0)
            return &r->suspects[i];
    return NULL;
}

/* Keeps the frame for the operator. */
static void record_quarantine(struct recovery *r, const struct session *s, uint64_t seq,
                              const uint8_t *body, size_t len)
{
    char path[CONFIG_TEXT_CAP + 96];
    int fd;

    snprintf(path, sizeof(path), "%s/quarantine/%s-%llu.frame", journal_path(r->st->journal),
             session_id(s), (unsigned long long)seq);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || file_write(fd, body + STORE_META_BYTES, len - STORE_META_BYTES))
        LOG_AT(LOG_WARNING, "%.200s cannot be written: %s", path, strerror(errno));
    if (fd >= 0) {
        if (fsync(fd))
            LOG_AT(LOG_WARNING, "%.200s: %s", path, strerror(errno));
        close(fd);
    }
    atomic_fetch_add(&r->st->quarantined, 1);
    LOG_EVENT(LOG_ERR, LOG_EVENT_FRAME_QUARANTINED,
              "session %s: frame %llu has ended the process %d times and is left out; it is kept "
              "in %.200s",
              session_id(s), (unsigned long long)seq, KILLS_MAX, path);
}

/* A frame of the journal, and its source's motion behind it. */
struct record {
    uint64_t number;
    const uint8_t *body;
    size_t len;
    struct store_meta meta;
    struct frame frame;
    struct jump jump;
};

static enum frame_pose_convention convention_of(const struct store_meta *m)
{
    return m->flags & STORE_FRAME_CV ? FRAME_POSE_CV : FRAME_POSE_OPENGL;
}

/* Parses the frame's message, the camera of its depth and the models of both cameras. */
static int record_parse(struct record *r, const uint8_t *msg, size_t len, struct err *err)
{
    size_t rig = r->meta.flags & STORE_FRAME_RIG ? FRAME_RIG_BYTES : 0;
    size_t lenses = r->meta.flags & STORE_FRAME_LENSES ? FRAME_LENSES_BYTES : 0;
    const uint8_t *behind;
    int rc;

    if (len < FRAME_HEADER_BYTES + rig + lenses)
        return err_set(err, ERR_INPUT, "a record of %zu bytes", len);
    behind = msg + len - rig - lenses;
    rc = frame_parse(&r->frame, msg, len - rig - lenses, convention_of(&r->meta), err);
    if (rc == 0 && rig)
        rc = frame_rig_get(&r->frame.rig, behind, err);
    if (rc == 0 && lenses)
        rc = frame_lenses_get(&r->frame, behind + rig, err);
    return rc;
}

static int record_read(struct record *r, struct err *err)
{
    if (r->len < STORE_META_BYTES + FRAME_HEADER_BYTES)
        return err_set(err, ERR_INPUT, "record %llu is no frame", (unsigned long long)r->number);
    if (!store_meta_decode(&r->meta, r->body))
        return err_set(err, ERR_INPUT, "record %llu says what none says",
                       (unsigned long long)r->number);
    return record_parse(r, r->body + STORE_META_BYTES, r->len - STORE_META_BYTES, err);
}

/* Pushes it into the queue like a frame that just came in. */
static int record_push(struct recovery *r, struct session *s, const struct record *c,
                       struct err *err)
{
    const struct queue_dropped none = {.suspect = -1};
    struct session_disk *d = session_disk(s);
    const struct suspect_frame *suspect = recovery_suspect(r, s, c->number);
    const struct queue_arrival a = {.frame = &c->frame,
                                    .header = c->body + STORE_META_BYTES,
                                    .convention = convention_of(&c->meta),
                                    .source = (int)c->meta.source,
                                    .submap = c->meta.submap,
                                    .received_us = clock_us(),
                                    .breaks = c->meta.breaks,
                                    .cut = (c->meta.flags & STORE_FRAME_CUT) != 0,
                                    .jump = c->jump};
    struct queue_dropped dropped;
    struct queue_item *item;
    int rc = queue_push(session_queue(s), &a, &item, &dropped, err);

    if (rc)
        return rc;
    session_retake(s, a.source, c->frame.seq);
    item->number = c->number;
    item->replayed = true;
    store_ticket_new(d, item)->ordinal = c->meta.ordinal;
    atomic_fetch_add(&d->replaying, 1);
    if (suspect && suspect->kills >= KILLS_MAX) {
        const struct control_ack poison = {
            .seq = c->frame.seq, .status = CONTROL_REFUSED, .reason = CONTROL_POISON};
        record_quarantine(r, s, c->frame.seq, c->body, c->len);
        atomic_fetch_add(&d->skipped, 1);
        store_outcome(s, item, &poison);
    } else {
        r->st->ops.stored(s, item, &none);
    }
    return 0;
}

/* The session takes no more frames: those not replayed stay on the disk. */
static void returning_give_up(struct store_returning *b, const struct err *err)
{
    session_unqueue(b->s, b->unfed);
    store_damage(b->s, err->text);
    journal_read_close(&b->reader);
    b->fed = true;
}

/* Replays the record of a frame. Its source's path continues with it however it ended; it is
 * computed again if it was used. Out: *used. Returns an error for a used frame alone. */
static int record_take(struct recovery *r, struct store_returning *b, struct record *c, bool *used,
                       struct err *err)
{
    enum store_end end = (enum store_end)b->ends[c->number - b->from - 1];
    int rc = record_read(c, err);

    *used = end == STORE_END_USED;
    if (end == STORE_END_REFUSED)
        atomic_fetch_add(&session_disk(b->s)->skipped, 1);
    if (rc == 0)
        c->jump = session_retrace(b->s, (int)c->meta.source, &c->frame);
    if (!*used)
        return 0;
    return rc ? rc : record_push(r, b->s, c, err);
}

/* Feeds the session's next used frame. Returns false if none is left, or the queue has no room. */
static bool returning_feed(struct recovery *r, struct store_returning *b, uint64_t *fed)
{
    enum journal_type type;
    struct err err = {0};
    struct record c;
    bool used = false;
    int rc = 0;

    if (b->fed || session_dead(b->s) ||
        queue_used(session_queue(b->s)) >= session_setup(b->s)->queue_frames)
        return false;
    if (!b->reader)
        rc = journal_read_open(&b->reader, r->st->journal, session_id(b->s), b->from + 1, b->last,
                               &err);
    while (rc == 0 && !used &&
           (rc = journal_read_next(b->reader, &type, &c.number, &c.body, &c.len, &err)) == 0)
        if (type == JOURNAL_FRAME)
            rc = record_take(r, b, &c, &used, &err);
    if (rc == 0) {
        *fed = c.number;
        b->unfed--;
        return true;
    }
    if (rc != ERR_END) {
        returning_give_up(b, &err);
        return false;
    }
    journal_read_close(&b->reader);
    b->fed = true;
    return false;
}

void store_replayed(struct session *s)
{
    struct session_disk *d = session_disk(s);
    struct recovery *r = d->store->recovery;

    atomic_fetch_sub(&d->replaying, 1);
    lock_take(&r->lock);
    comeback_ended(&r->comeback, clock_us());
    pthread_cond_broadcast(&r->ended);
    lock_give(&r->lock);
}

/* Waits until a frame has ended, MOMENT_US at most. */
static void recovery_wait(struct recovery *r)
{
    lock_take(&r->lock);
    (void)clock_wait(&r->ended, &r->lock, clock_us() + MOMENT_US);
    lock_give(&r->lock);
}

/* Replays each suspect while no other frame is under way, not even one of its session. */
static void returning_feed_alone(struct recovery *r, struct store_returning *b, int n_suspects)
{
    uint64_t number = 0;

    while (n_suspects > 0 && !b->fed && !atomic_load(&r->stop)) {
        if (atomic_load(&session_disk(b->s)->replaying)) {
            recovery_wait(r);
            continue;
        }
        /* the process survived it, or it is in quarantine */
        if (number && recovery_suspect(r, b->s, number)) {
            suspect_clear(r->st->suspect, session_id(b->s), number);
            n_suspects--;
        }
        number = 0;
        if (n_suspects > 0)
            returning_feed(r, b, &number);
        if (session_dead(b->s))
            return;
    }
}

static void recovery_feed_suspects(struct recovery *r)
{
    for (int i = 0; i < r->n && r->n_suspects; i++) {
        int n = 0;
        for (int k = 0; k < r->n_suspects; k++)
            n += strcmp(r->suspects[k].id, session_id(r->list[i].s)) == 0 &&
                 r->suspects[k].number > r->list[i].from &&
                 r->suspects[k].number <= r->list[i].last;
        if (n)
            LOG_AT(LOG_WARNING,
                   "session %s: %d frames may have ended the last process; each is "
                   "replayed alone",
                   session_id(r->list[i].s), n);
        returning_feed_alone(r, &r->list[i], n);
    }
    if (!atomic_load(&r->stop)) /* the others need no replay: they were used, or are gone */
        for (int k = 0; k < r->n_suspects; k++)
            suspect_clear(r->st->suspect, r->suspects[k].id, r->suspects[k].number);
}

static bool returning_finish(struct store_returning *b)
{
    struct session_disk *d = b->s ? session_disk(b->s) : NULL;

    if (!d || !b->fed || atomic_load(&d->replaying) || !store_is_settled(b->s) ||
        !d->store->ops.back(b->s, d->stored_frames > 0))
        return false;
    free(b->ends);
    b->ends = NULL;
    session_unref(b->s);
    b->s = NULL;
    return true;
}

static void returning_drop_dead(struct store_returning *b)
{
    if (b->s && session_dead(b->s) && !b->fed) {
        journal_read_close(&b->reader);
        b->fed = true;
    }
}

int store_back_s(struct session *s)
{
    struct recovery *r = session_disk(s)->store->recovery;
    struct session_info info;
    int back_s;

    session_get_info(s, &info);
    lock_take(&r->lock);
    back_s = comeback_s(&r->comeback, info.counts.queued);
    lock_give(&r->lock);
    return back_s;
}

/* Sessions with the least to replay come first: most have nothing behind their checkpoint. */
static int by_unfed(const void *a, const void *b)
{
    const struct store_returning *x = a, *y = b;

    return x->unfed < y->unfed ? -1 : x->unfed > y->unfed;
}

static bool is_asked_for(const struct store_returning *b)
{
    return b->s && !b->fed && session_asked_for(b->s);
}

/* Tells store_back_s() the frames that lie before the sessions that are asked for. Returns whether
 * there is one with frames to feed. */
static bool recovery_note_asked(struct recovery *r)
{
    uint64_t asked = 0, asked_frames = 0, other_frames = 0;
    bool any = false;

    for (int i = 0; i < r->n; i++) {
        const struct store_returning *b = &r->list[i];
        uint64_t under_way = b->s ? atomic_load(&session_disk(b->s)->replaying) : 0;
        any |= is_asked_for(b);
        if (b->s && session_asked_for(b->s)) {
            asked++;
            asked_frames += b->unfed + under_way;
        } else {
            other_frames += under_way;
        }
    }
    lock_take(&r->lock);
    r->comeback.asked = asked;
    r->comeback.asked_frames = asked_frames;
    r->comeback.other_frames = other_frames;
    lock_give(&r->lock);
    return any;
}

/* Feeds the next frame of each session that is served: those that a client has asked for, else the
 * first few. Returns false if there is none, or no room. */
static bool recovery_feed_some(struct recovery *r)
{
    bool asked = recovery_note_asked(r), progress = false;
    uint64_t ignored;

    for (int i = 0, n = 0; i < r->n && n < AT_ONCE; i++) {
        if (!r->list[i].s || r->list[i].fed || (asked && !is_asked_for(&r->list[i])))
            continue;
        progress |= returning_feed(r, &r->list[i], &ignored);
        n++;
    }
    return progress;
}

void *store_replay_run(void *arg)
{
    struct recovery *r = arg;
    int left = r->n;

    recovery_feed_suspects(r);
    qsort(r->list, (size_t)r->n, sizeof(*r->list), by_unfed);
    while (left && !atomic_load(&r->stop)) {
        bool progress = recovery_feed_some(r);
        for (int i = 0; i < r->n; i++) {
            if (!r->list[i].s)
                continue;
            returning_drop_dead(&r->list[i]);
            if (returning_finish(&r->list[i])) {
                left--;
                progress = true;
            }
        }
        if (!progress)
            recovery_wait(r);
    }
    if (left == 0 && r->n)
        LOG_AT(LOG_NOTICE, "%d sessions are back after %.3f s", r->n,
               (double)(clock_us() - r->began_us) * 1e-6);
    return NULL;
}
