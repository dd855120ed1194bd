#include "daemon/session/outbox.h"

#include "daemon/session/corrections.h"
#include "daemon/session/dirty.h"
#include "daemon/session/missing.h"
#include "daemon/session/tracked_objects_due.h"
#include "proto/lock.h"
#include "proto/wire/result.h"

#include <stdlib.h>
#include <string.h>

struct outbox {
    struct mirror *mirror;
    uint32_t epoch;
    int ring_cap;

    /* for the client's WebSocket thread alone */
    enum codec_kind codec;
    struct mirror_copy copy;
    struct delta_scratch *scratch;
    struct result_scratch *packer; /* NULL before the first result */
    struct frame_result *sending;  /* result that the last message borrows */
    /* A result was sent, so a waiting block is next: else a client that reads more slowly than
     * results come would get no blocks. */
    bool after_result;
    bool after_news; /* poses or objects were sent, so a block is next */
    char text[CONTROL_TEXT_MAX];

    /* under lock */
    struct lock lock;
    bool started, ready_due, clear_due, ended_due, session_closed_due, session_closed_told, broken,
        closed;
    struct control_ready ready;
    struct control_ack *acks; /* ring [ring_cap] */
    int ack_first, ack_n, in_flight;
    /* ring [ring_cap] of results whose acks are in that one; the newest of another's frames */
    struct frame_result **results, *newest;
    int result_first, result_n;
    struct dirty dirty;
    bool waits;      /* the client waits for a commit that is changing the cloud */
    uint64_t marked; /* every commit up to this revision is in the set */
    bool synced;
    uint64_t synced_revision;
    struct corrections follow;
    struct places_due places;
    struct tracked_objects_due objects;
    bool bye_due;
    enum outbox_haste haste;
    struct control_bye bye;
};

int outbox_new(struct outbox **outbox, struct mirror *mirror, uint32_t epoch, int window,
               struct err *err)
{
    struct outbox *o = calloc(1, sizeof(*o));
    int rc;

    *outbox = NULL;
    if (!o)
        return err_set(err, ERR_MEMORY, "no memory for a client");
    o->mirror = mirror;
    o->epoch = epoch;
    dirty_open(&o->dirty);
    o->ring_cap = OUTBOX_WINDOWS * window;
    o->acks = calloc((size_t)o->ring_cap, sizeof(*o->acks));
    o->results = calloc((size_t)o->ring_cap, sizeof(*o->results));
    rc = o->acks && o->results ? delta_scratch_new(&o->scratch, err)
                               : err_set(err, ERR_MEMORY, "no memory for a client's answers");
    if (rc) {
        free(o->acks);
        free(o->results);
        free(o);
        return rc;
    }
    lock_init(&o->lock, LOCK_OUTBOX);
    *outbox = o;
    return 0;
}

void outbox_free(struct outbox **outbox)
{
    struct outbox *o = *outbox;

    if (!o)
        return;
    lock_destroy(&o->lock);
    delta_scratch_free(&o->scratch);
    mirror_copy_free(&o->copy);
    result_scratch_free(&o->packer);
    for (int i = 0; i < o->ring_cap; i++)
        results_unref(o->results[i]);
    results_unref(o->newest);
    results_unref(o->sending);
    free(o->results);
    free(o->acks);
    dirty_free(&o->dirty);
    tracked_objects_due_free(&o->objects);
    free(o);
    *outbox = NULL;
}

bool outbox_mark(struct outbox *o, const uint32_t *blocks, uint32_t n, uint64_t revision)
{
    bool news;

    lock_take(&o->lock);
    news = o->started && (n > 0 || o->waits);
    o->waits = false;
    if (o->started) {
        for (uint32_t i = 0; i < n; i++)
            o->broken |= !dirty_mark(&o->dirty, blocks[i]);
        if (revision > o->marked)
            o->marked = revision;
    }
    lock_give(&o->lock);
    return news;
}

/* Marks every block that the client lacks. Commits that come meanwhile mark theirs themselves. */
static void mark_missing(struct outbox *o, const struct control_reach *has)
{
    struct mirror_summary now;
    struct mirror_entry *list;
    uint32_t n;
    mirror_summary(o->mirror, &now);
    list = missing_list(o->mirror, &n);
    lock_take(&o->lock);
    o->broken |= !list;
    for (uint32_t i = 0; i < n; i++) {
        const struct mirror_entry *e = &list[i];
        if (control_reaches(has, e->revision, &e->name))
            o->broken |= !dirty_hold(&o->dirty, e->index, e->revision);
        else if (e->n_points || has->revision)
            o->broken |= !dirty_mark(&o->dirty, e->index);
    }
    if (now.revision > o->marked)
        o->marked = now.revision;
    lock_give(&o->lock);
    free(list);
}

int outbox_start(struct outbox *o, const struct control_ready *ready,
                 const struct control_start *start, struct err *err)
{
    static const struct control_reach nothing = {0};
    bool again, resumes = start->resume && start->epoch == o->epoch &&
                          start->reach.revision <= ready->revision && start->reach.revision > 0;

    lock_take(&o->lock);
    again = o->started;
    if (!again) {
        o->ready = *ready;
        o->ready.resumed = resumes;
        o->codec = ready->codec;
        o->started = o->ready_due = true;
        o->clear_due = !resumes;
    }
    lock_give(&o->lock);
    if (again)
        return err_at(err, ERR_STATE, "/op", "this client has started already");
    mark_missing(o, resumes ? &start->reach : &nothing);
    lock_take(&o->lock);
    again = o->broken;
    lock_give(&o->lock);
    return again ? err_set(err, ERR_MEMORY, "no memory for the client's set of blocks") : 0;
}

int outbox_admit(struct outbox *o, struct err *err)
{
    bool room;

    lock_take(&o->lock);
    room = o->in_flight + o->ack_n < o->ring_cap;
    if (room)
        o->in_flight++;
    lock_give(&o->lock);
    return room ? 0
                : err_at(err, ERR_LIMIT, "flood", "%d frames without waiting for an answer",
                         o->ring_cap);
}

void outbox_ack(struct outbox *o, const struct control_ack *ack)
{
    lock_take(&o->lock);
    o->in_flight--;
    o->acks[(o->ack_first + o->ack_n) % o->ring_cap] = *ack;
    o->ack_n++;
    lock_give(&o->lock);
}

void outbox_result(struct outbox *o, struct frame_result *result, bool sender)
{
    struct frame_result **place = &o->newest, *old;

    results_ref(result);
    lock_take(&o->lock);
    if (sender)
        place = &o->results[(o->result_first + o->result_n++) % o->ring_cap];
    old = *place;
    *place = result;
    lock_give(&o->lock);
    results_unref(old);
}

void outbox_place(struct outbox *o, const struct places *places, uint32_t submap)
{
    lock_take(&o->lock);
    places_due_note(&o->places, places, submap);
    lock_give(&o->lock);
}

void outbox_objects(struct outbox *o, const struct control_object *all, uint64_t mask,
                    uint32_t searching)
{
    lock_take(&o->lock);
    o->broken |= !tracked_objects_due_note(&o->objects, all, mask);
    o->objects.searching = searching;
    lock_give(&o->lock);
}

void outbox_follow(struct outbox *o, struct trajectory *of, int source,
                   enum frame_pose_convention convention)
{
    o->follow = (struct corrections){of, (uint32_t)source, convention, 0, 0, 0};
}

void outbox_poses(struct outbox *o, uint32_t first, uint32_t last, uint64_t revision)
{
    lock_take(&o->lock);
    corrections_add(&o->follow, first, last, revision);
    lock_give(&o->lock);
}

void outbox_end(struct outbox *o)
{
    lock_take(&o->lock);
    o->ended_due = true;
    lock_give(&o->lock);
}

void outbox_session_closed(struct outbox *o)
{
    lock_take(&o->lock);
    o->session_closed_due = true;
    lock_give(&o->lock);
}

void outbox_bye(struct outbox *o, const struct control_bye *bye, enum outbox_haste haste)
{
    lock_take(&o->lock);
    if (!o->bye_due)
        o->bye = *bye;
    o->bye_due = true;
    if (haste > o->haste)
        o->haste = haste;
    lock_give(&o->lock);
}

/* ------------------------------------------------------------------------- sending */

/* Under the lock: is nothing but answers sent any more? */
static bool outbox_is_leaving(const struct outbox *o)
{
    return o->bye_due && (o->haste == OUTBOX_AT_ONCE ||
                          (o->haste == OUTBOX_ANSWERED && o->in_flight == 0 && o->ack_n == 0));
}

static enum stream_kind outbox_say(struct outbox *o, const struct control_message *m,
                                   const uint8_t **msg, size_t *len)
{
    *len = control_write(o->text, sizeof(o->text), m);
    *msg = (const uint8_t *)o->text;
    return STREAM_TEXT;
}

/* Under the lock: does the next ack belong to this result? */
static bool is_next_ack(const struct outbox *o, const struct frame_result *r)
{
    return o->ack_n && o->acks[o->ack_first].seq == r->seq;
}

/* Takes the next `ready` or ack; a result's ack stays. Returns whether there is one. */
static bool take_control(struct outbox *o, struct control_message *m)
{
    bool some = true;

    lock_take(&o->lock);
    if (o->ready_due) {
        *m = (struct control_message){.op = CONTROL_READY, .ready = o->ready};
        o->ready_due = false;
    } else if (o->ack_n && !(o->result_n && is_next_ack(o, o->results[o->result_first]))) {
        *m = (struct control_message){.op = CONTROL_ACK, .ack = o->acks[o->ack_first]};
        o->ack_first = (o->ack_first + 1) % o->ring_cap;
        o->ack_n--;
    } else {
        some = false;
    }
    lock_give(&o->lock);
    return some;
}

/* Takes the next result, with its reference: before its ack, or between the acks of others. */
static struct frame_result *next_result(struct outbox *o)
{
    struct frame_result *r = NULL;

    lock_take(&o->lock);
    if (o->started && !o->ready_due && !o->broken) {
        struct frame_result **first = &o->results[o->result_first];
        if (o->result_n && is_next_ack(o, *first)) {
            r = *first;
            *first = NULL;
            o->result_first = (o->result_first + 1) % o->ring_cap;
            o->result_n--;
        } else if (o->newest) {
            r = o->newest;
            o->newest = NULL;
        }
    }
    lock_give(&o->lock);
    return r;
}

/* Returns true if one was packed. */
static bool take_result(struct outbox *o, const uint8_t **msg, size_t *len)
{
    struct frame_result *r = next_result(o);
    int rc = 0;

    if (!r)
        return false;
    results_unref(o->sending);
    o->sending = r;
    o->after_result = true;
    if (!o->packer)
        rc = result_scratch_new(&o->packer, NULL);
    if (rc == 0)
        rc = result_pack(o->packer, o->codec, r->msg, r->len, msg, len, NULL);
    if (rc) {
        lock_take(&o->lock);
        o->broken = true;
        lock_give(&o->lock);
    }
    return rc == 0;
}

static int result_encode(struct outbox *o, struct delta *d, const uint8_t **msg, size_t *len)
{
    d->epoch = o->epoch;
    d->codec = o->codec;
    return delta_encode(o->scratch, d, msg, len, NULL);
}

/* Takes the clear with which a new mirror begins, then places of submaps. Their messages have
 * revision 0, because revisions do not count places. */
static bool take_frame_of_blocks(struct outbox *o, const uint8_t **msg, size_t *len)
{
    struct delta d = {.op = DELTA_CLEAR};
    bool due, done;

    lock_take(&o->lock);
    due = o->clear_due ||
          (o->started && !outbox_is_leaving(o) && !o->broken && places_due_next(&o->places, &d));
    o->clear_due = false;
    lock_give(&o->lock);
    if (!due)
        return false;
    done = result_encode(o, &d, msg, len) == 0;
    lock_take(&o->lock);
    o->broken |= !done;
    lock_give(&o->lock);
    return done;
}

/* The cloud is being changed, which may take long: the client is woken when that is over. */
static bool put_back(struct outbox *o, uint32_t index)
{
    lock_take(&o->lock);
    dirty_put_back(&o->dirty, index);
    lock_give(&o->lock);
    return false;
}

/* Encodes the longest waiting block that is out of date. Returns true if there was one. No block
 * goes while a place is due, which may be that of its submap. */
static bool take_block(struct outbox *o, const uint8_t **msg, size_t *len, struct outbox_sent *sent)
{
    uint32_t index;
    uint64_t held;
    int rc;

    for (;;) {
        lock_take(&o->lock);
        index =
            outbox_is_leaving(o) || o->broken || o->places.n ? DIRTY_NONE : dirty_pop(&o->dirty);
        o->waits = index != DIRTY_NONE;
        held = index == DIRTY_NONE ? 0 : o->dirty.held[index];
        lock_give(&o->lock);
        if (index == DIRTY_NONE)
            return false;
        rc = mirror_read(o->mirror, index, held, &o->copy, NULL);
        if (rc == ERR_BUSY)
            return put_back(o, index);
        if (rc == ERR_END)
            continue;
        if (rc == 0)
            rc = result_encode(o, &o->copy.delta, msg, len);
        lock_take(&o->lock);
        if (rc == 0)
            o->dirty.held[index] = o->copy.delta.revision;
        else
            o->broken = true;
        lock_give(&o->lock);
        if (rc)
            return false;
        sent->blocks = 1;
        sent->points = o->copy.delta.n_added;
        return true;
    }
}

/* Takes corrected poses, then tracked objects. */
static bool take_news(struct outbox *o, struct control_message *m)
{
    struct corrections part;
    bool open, poses, things;

    do {
        lock_take(&o->lock);
        open = o->started && !outbox_is_leaving(o) && !o->broken;
        poses = open && corrections_next(&o->follow, &part);
        things = open && !poses && tracked_objects_due_next(&o->objects, &m->objects);
        lock_give(&o->lock);
    } while (poses && !corrections_read(&part, &m->poses));
    m->op = poses ? CONTROL_POSES : CONTROL_OBJECTS;
    return poses || things;
}

/* Would a `sync` tell the client anything? */
static bool sync_due(struct outbox *o, uint64_t *marked)
{
    bool due;

    lock_take(&o->lock);
    *marked = o->marked;
    due = o->started && !outbox_is_leaving(o) && !o->broken && o->dirty.head == DIRTY_NONE &&
          (!o->synced || o->synced_revision != *marked);
    lock_give(&o->lock);
    return due;
}

/* The mirror is read outside this lock. A commit that comes in between has another revision than
 * the complete one of the set, and the `sync` waits for the commit's marks. */
static bool take_sync(struct outbox *o, struct control_message *m)
{
    struct mirror_summary now;
    uint64_t marked;
    bool valid;

    if (!sync_due(o, &marked))
        return false;
    mirror_summary(o->mirror, &now);
    lock_take(&o->lock);
    valid = now.revision == marked && o->marked == marked && o->dirty.head == DIRTY_NONE;
    if (valid) {
        o->synced = true;
        o->synced_revision = marked;
    }
    lock_give(&o->lock);
    *m = (struct control_message){.op = CONTROL_SYNC, .sync = {now.revision, now.points, now.hash}};
    return valid;
}

/* Takes `ended` and `closed`, once each, behind the `sync` that holds everything. */
static bool take_ended(struct outbox *o, struct control_message *m)
{
    bool some = false;

    lock_take(&o->lock);
    if ((o->ended_due || o->session_closed_due) && o->synced && o->synced_revision == o->marked &&
        !outbox_is_leaving(o) && !o->broken && o->dirty.head == DIRTY_NONE && o->in_flight == 0 &&
        o->ack_n == 0 && !o->objects.searching && !o->objects.mask) {
        m->op = o->ended_due ? CONTROL_ENDED : CONTROL_SESSION_CLOSED;
        m->ended.revision = o->synced_revision;
        o->session_closed_told |= !o->ended_due;
        *(o->ended_due ? &o->ended_due : &o->session_closed_due) = false;
        some = true;
    }
    lock_give(&o->lock);
    return some;
}

/* Under the lock: is all sent that OUTBOX_COMPLETE waits for? A session is closed after its last
 * frame was answered, so `closed` may come in a moment although nothing is due now. */
static bool outbox_is_complete(const struct outbox *o)
{
    return o->in_flight == 0 && o->dirty.head == DIRTY_NONE && !o->ended_due &&
           !o->session_closed_due && (o->session_closed_told || !o->started);
}

/* Returns the closing message when nothing else is left, else STREAM_NONE. */
static enum stream_kind take_end(struct outbox *o, struct control_message *m)
{
    enum stream_kind kind = STREAM_NONE;

    lock_take(&o->lock);
    if (o->closed) {
        kind = STREAM_CLOSE;
    } else if (o->broken) {
        *m = (struct control_message){
            .op = CONTROL_BYE, .bye = {CONTROL_RECONNECT, 2000, "no memory for this client"}};
        kind = STREAM_TEXT;
    } else if (outbox_is_leaving(o) ||
               (o->bye_due && o->haste == OUTBOX_COMPLETE && outbox_is_complete(o))) {
        *m = (struct control_message){.op = CONTROL_BYE, .bye = o->bye};
        kind = STREAM_TEXT;
    }
    o->closed = kind != STREAM_NONE;
    lock_give(&o->lock);
    return kind;
}

enum stream_kind outbox_next(struct outbox *o, const uint8_t **msg, size_t *len,
                             struct outbox_sent *sent)
{
    struct control_message m;
    enum stream_kind kind = STREAM_NONE;

    memset(sent, 0, sizeof(*sent));
    *msg = NULL;
    *len = 0;
    if (o->closed)
        return STREAM_CLOSE;
    if (!o->after_result && take_result(o, msg, len))
        kind = STREAM_BINARY;
    else if (take_control(o, &m))
        kind = outbox_say(o, &m, msg, len);
    else if (!o->after_news && take_news(o, &m)) {
        kind = outbox_say(o, &m, msg, len);
        o->after_news = true;
    } else if (take_frame_of_blocks(o, msg, len) || take_block(o, msg, len, sent)) {
        kind = STREAM_BINARY;
        o->after_result = o->after_news = false;
    } else if (take_result(o, msg, len))
        kind = STREAM_BINARY;
    else if (take_news(o, &m) || take_sync(o, &m) || take_ended(o, &m) ||
             (kind = take_end(o, &m)) == STREAM_TEXT)
        kind = outbox_say(o, &m, msg, len);
    sent->bytes = *len;
    return kind;
}
