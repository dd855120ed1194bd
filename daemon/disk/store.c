/* The store's folder, a session's files, a frame's way to the disk. */
#include "daemon/disk/store_internal.h"

#include "daemon/clock.h"
#include "daemon/disk/folder.h"
#include "daemon/log.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/session_sources.h"
#include "proto/bytes.h"
#include "proto/types.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX "/journal"

/* ---------------------------------------------------------------------- the content of a record */

static void store_meta_encode(uint8_t out[STORE_META_BYTES], const struct store_meta *m)
{
    struct bytes_writer w = bytes_writer(out, STORE_META_BYTES);

    bytes_put_u32(&w, m->flags);
    bytes_put_u32(&w, m->breaks);
    bytes_put_u64(&w, m->displaced);
    bytes_put_u64(&w, m->front_refused);
    bytes_put_u64(&w, m->front_dropped);
    bytes_put_u64(&w, m->ordinal);
    bytes_put_u64(&w, m->displaced_seq);
    bytes_put_u16(&w, (uint16_t)m->source);
    bytes_put_u16(&w, (uint16_t)m->displaced_source);
    bytes_put_u32(&w, m->submap);
    for (int i = 0; i < CONTROL_SOURCE_CAP - 1; i++)
        bytes_put_u8(&w, (uint8_t)m->name[i]);
}

bool store_meta_decode(struct store_meta *m, const uint8_t in[STORE_META_BYTES])
{
    struct bytes_reader r = bytes_reader(in, STORE_META_BYTES);

    m->flags = bytes_get_u32(&r);
    m->breaks = bytes_get_u32(&r);
    m->displaced = bytes_get_u64(&r);
    m->front_refused = bytes_get_u64(&r);
    m->front_dropped = bytes_get_u64(&r);
    m->ordinal = bytes_get_u64(&r);
    m->displaced_seq = bytes_get_u64(&r);
    m->source = bytes_get_u16(&r);
    m->displaced_source = bytes_get_u16(&r);
    m->submap = bytes_get_u32(&r);
    memcpy(m->name, bytes_get_span(&r, CONTROL_SOURCE_CAP - 1), CONTROL_SOURCE_CAP - 1);
    m->name[CONTROL_SOURCE_CAP - 1] = '\0';
    return m->source < API_SOURCES_MAX && m->displaced_source < API_SOURCES_MAX &&
           m->submap < GPU_SUBMAPS_MAX && control_source_valid(m->name);
}

/* ------------------------------------------------------------------------- the folder */

/* Chooses the configured path, else a folder in $STATE_DIRECTORY. False: there is neither. */
static bool store_choose_path(const struct config *config, char *path, size_t cap)
{
    const char *state = getenv("STATE_DIRECTORY");

    if (config->journal.path[0])
        snprintf(path, cap, "%s", config->journal.path);
    else if (state && state[0])
        snprintf(path, cap, "%.*s" SUFFIX, (int)strcspn(state, ":"), state);
    else
        return false;
    return true;
}

static int store_open_parts(struct store *st, const struct config *config, const char *path,
                            bool arm, struct err *err)
{
    const struct journal_config journal = {.path = path,
                                           .threads = config->journal.threads,
                                           .segment_bytes = config->journal.segment_bytes,
                                           .high_water_percent = config->journal.high_water,
                                           .max_bytes = config->journal.max_bytes};
    char file[CONFIG_TEXT_CAP + 64];
    int rc = journal_open(&st->journal, &journal, err);

    if (rc == 0)
        rc = checkpoint_start(&st->checkpoint, journal_sessions(st->journal), store_reads, st, err);
    snprintf(file, sizeof(file), "%s/suspects", path);
    if (rc == 0)
        rc = suspect_open(&st->suspect, file, err);
    if (rc == 0 && arm)
        rc = suspect_arm(st->suspect, err);
    return rc;
}

int store_open(struct store **store, const struct config *config, const struct store_ops *ops,
               bool arm, struct err *err)
{
    char path[CONFIG_TEXT_CAP + sizeof(SUFFIX)];
    struct store *st;
    int rc;

    *store = NULL;
    if (!store_choose_path(config, path, sizeof(path)))
        return 0;
    st = calloc(1, sizeof(*st));
    if (!st)
        return err_set(err, ERR_MEMORY, "no memory for the journal");
    st->ops = *ops;
    folder_read_boot(st->boot);
    st->boot[strcspn(st->boot, "\n")] = '\0';
    store_configure(st, config);
    rc = store_open_parts(st, config, path, arm, err);
    if (rc)
        store_close(&st);
    *store = st;
    return rc;
}

int store_check(const struct config *config, struct err *err)
{
    char path[CONFIG_TEXT_CAP + sizeof(SUFFIX)];

    return store_choose_path(config, path, sizeof(path)) ? folder_check(path, err) : 0;
}

void store_configure(struct store *st, const struct config *config)
{
    atomic_store(&st->checkpoint_frames, config->journal.checkpoint_frames);
}

void store_stop(struct store *st)
{
    if (st->checkpoint)
        checkpoint_stop(st->checkpoint);
    if (st->journal)
        journal_stop(st->journal);
}

void store_close(struct store **store)
{
    struct store *st = *store;

    if (!st)
        return;
    store_stop(st);
    store_reap(st);
    checkpoint_close(&st->checkpoint);
    suspect_close(&st->suspect);
    journal_close(&st->journal);
    free(st);
    *store = NULL;
}

uint64_t store_alive_us(const struct store *st, const char **part)
{
    uint64_t journal = journal_alive_us(st->journal), saved = checkpoint_alive_us(st->checkpoint);

    *part = saved < journal ? "checkpoints" : "journal";
    return saved < journal ? saved : journal;
}

void store_blame(struct store *st)
{
    atomic_store(&st->blamed, true);
    suspect_blame(st->suspect);
}

bool store_full(const struct store *st)
{
    return st && journal_full(st->journal);
}

/* ------------------------------------------------------------------------- sessions */

static void ticket_on_done(void *ctx, struct journal_entry *e, int rc);

int store_session_log(struct store *st, struct session *s, uint64_t next_number, struct err *err)
{
    bool sync = session_setup(s)->options.journal == SESSION_JOURNAL_SYNC;

    return journal_log_new(&session_disk(s)->log, st->journal, session_id(s), sync, next_number,
                           ticket_on_done, s, err);
}

int store_session_attach(struct store *st, struct session *s, const char origin[STORE_ORIGIN_CAP],
                         struct err *err)
{
    size_t n = (size_t)session_setup(s)->queue_frames;
    struct session_disk *d;

    if (!st || session_setup(s)->options.journal == SESSION_JOURNAL_OFF)
        return 0;
    d = calloc(1, sizeof(*d) + n * sizeof(d->tickets[0]));
    if (!d)
        return err_set(err, ERR_MEMORY, "no memory for a session's journal");
    d->session = s;
    d->store = st;
    snprintf(d->origin, sizeof(d->origin), "%s", origin);
    lock_init(&d->storing, LOCK_STORING);
    session_set_disk(s, d);
    return 0;
}

void store_session_free(struct session *s)
{
    struct session_disk *d = session_disk(s);

    if (!d)
        return;
    if (d->log)
        journal_log_free(&d->log);
    store_drop_fetched(d);
    lock_destroy(&d->storing);
    free(d);
    session_set_disk(s, NULL);
}

int store_session_new(struct store *st, struct session *s, const char origin[STORE_ORIGIN_CAP],
                      struct err *err)
{
    int rc = store_session_attach(st, s, origin, err);

    if (!session_disk(s))
        return rc;
    rc = store_session_log(st, s, 1, err); /* makes the folder */
    if (rc == 0)
        rc = store_session_write(s, err);
    if (rc)
        store_session_forget(s);
    return rc;
}

void store_session_forget(struct session *s)
{
    struct session_disk *d = session_disk(s);

    if (d && !atomic_exchange(&d->unwanted, true))
        store_manifest_remove(journal_sessions(d->store->journal), session_id(s));
}

void store_reap_later(struct session *s)
{
    struct session_disk *d = session_disk(s);

    d->next_reaped = atomic_load(&d->store->to_reap);
    while (!atomic_compare_exchange_weak(&d->store->to_reap, &d->next_reaped, d))
        ;
}

void store_reap(struct store *st)
{
    struct session_disk *d = atomic_exchange(&st->to_reap, NULL), *next;
    struct err err = {0};

    for (; d; d = next) {
        bool unwanted = atomic_load(&d->unwanted);
        char id[API_ID_CAP];
        next = d->next_reaped;
        snprintf(id, sizeof(id), "%s", session_id(d->session));
        st->ops.free(d->session);
        if (unwanted && journal_remove(st->journal, id, &err))
            LOG_AT(LOG_WARNING, "session %s: its files stay: %s", id, err.text);
    }
}

void store_damage(struct session *s, const char *what)
{
    atomic_store(&session_disk(s)->damaged, true);
    if (!session_set_damaged(s, what))
        return;
    atomic_fetch_add(&session_disk(s)->store->damaged, 1);
    LOG_EVENT(LOG_ERR, LOG_EVENT_SESSION_DAMAGED, "session %s is damaged, its files are kept: %s",
              session_id(s), what);
}

uint64_t store_bytes(const struct session *s)
{
    return session_disk(s) ? journal_log_bytes(session_disk(s)->log) : 0;
}

bool store_fenced(const struct session *s)
{
    return session_disk(s) && journal_log_fenced(session_disk(s)->log);
}

/* ------------------------------------------------------------------------- a frame */

struct store_ticket *store_ticket_new(struct session_disk *d, struct queue_item *item)
{
    struct store_ticket *t = &d->tickets[item->slot];

    *t = (struct store_ticket){.item = item, .skipped = atomic_load(&d->skipped)};
    return t;
}

/* The frame is on the disk. After the callback its slot and its ticket may be used again. */
static void ticket_admit(struct session *s, struct store_ticket *t)
{
    const struct queue_dropped displaced = t->displaced;
    struct session_disk *d = session_disk(s);

    if (displaced.any)
        suspect_leave(d->store->suspect, displaced.suspect);
    d->store->ops.stored(s, t->item, &displaced);
}

/* Called by a thread of the journal when a record could not be written. The session takes no more
 * frames, the other sessions go on. */
static void ticket_refuse(struct session *s, struct store_ticket *t)
{
    const struct control_ack ack = {.status = CONTROL_REFUSED, .reason = CONTROL_STORAGE};
    const struct store_ops *ops = &session_disk(s)->store->ops;

    LOG_EVENT(LOG_ERR, LOG_EVENT_STORAGE_FAILED,
              "session %s: its journal failed, it takes no more frames", session_id(s));
    session_set_fault(s, "its journal failed: no more frames can be stored");
    store_front_end(s, CONTROL_REFUSED);
    if (t->displaced.any)
        suspect_leave(session_disk(s)->store->suspect, t->displaced.suspect);
    ops->displaced(s, &t->displaced);
    ops->ended(s, t->item, &ack);
}

static void ticket_on_done(void *ctx, struct journal_entry *e, int rc)
{
    struct store_ticket *t = CONTAINER_OF(e, struct store_ticket, entry);
    struct session *s = ctx;

    if (e->type == JOURNAL_OUTCOME) {
        session_disk(s)->store->ops.ended(s, t->item, &t->end);
    } else if (rc == 0) {
        t->item->number = e->number;
        ticket_admit(s, t);
    } else {
        ticket_refuse(s, t);
    }
    session_unref(s);
}

/* The lock `storing` keeps ordinals and record numbers in the same order. */
static void ticket_append(struct session_disk *d, struct store_ticket *t, const char *source)
{
    struct queue_item *item = t->item;
    struct store_meta meta = {.flags = (item->convention == FRAME_POSE_CV ? STORE_FRAME_CV : 0) |
                                       (t->displaced.any ? STORE_FRAME_DISPLACED : 0) |
                                       (item->frame.rig.known ? STORE_FRAME_RIG : 0) |
                                       (frame_has_lenses(&item->frame) ? STORE_FRAME_LENSES : 0) |
                                       (item->cut ? STORE_FRAME_CUT : 0),
                              .breaks = item->breaks,
                              .displaced = t->displaced.number,
                              .displaced_seq = t->displaced.any ? t->displaced.seq : 0,
                              .displaced_source =
                                  t->displaced.any ? (uint32_t)t->displaced.source : 0,
                              .source = (uint32_t)item->source,
                              .submap = item->submap,
                              .front_refused = atomic_load(&d->front_refused),
                              .front_dropped = atomic_load(&d->front_dropped),
                              .ordinal = ++d->stored_frames};

    snprintf(meta.name, sizeof(meta.name), "%s", source);
    t->ordinal = meta.ordinal;
    store_meta_encode(t->meta, &meta);
    t->entry = (struct journal_entry){
        .type = JOURNAL_FRAME,
        .part = {{t->meta, STORE_META_BYTES},
                 {item->header, FRAME_HEADER_BYTES},
                 {(void *)(uintptr_t)item->frame.body, item->frame.body_len}},
        .n_parts = 3};
    if (item->frame.rig.known) {
        frame_rig_put(t->rig, &item->frame.rig);
        t->entry.part[t->entry.n_parts++] = (struct iovec){t->rig, FRAME_RIG_BYTES};
    }
    if (frame_has_lenses(&item->frame)) {
        frame_lenses_put(t->lenses, &item->frame);
        t->entry.part[t->entry.n_parts++] = (struct iovec){t->lenses, FRAME_LENSES_BYTES};
    }
    journal_append(d->log, &t->entry);
}

void store_frame(struct session *s, struct queue_item *item, const struct queue_dropped *dropped)
{
    struct session_disk *d = session_disk(s);
    struct store_ticket *t = store_ticket_new(d, item);
    char source[CONTROL_SOURCE_CAP];

    t->displaced = *dropped;
    session_ref(s);
    session_source_name(s, item->source, source);
    lock_take(&d->storing);
    ticket_append(d, t, source);
    lock_give(&d->storing);
}

void store_front_end(struct session *s, enum control_status status)
{
    struct session_disk *d = session_disk(s);

    if (d)
        atomic_fetch_add(status == CONTROL_DROPPED ? &d->front_dropped : &d->front_refused, 1);
}

void store_enter(struct session *s, struct queue_item *item)
{
    struct session_disk *d = session_disk(s);

    if (!item->number)
        return;
    d->tickets[item->slot].refused_before = d->decode_refused;
    item->suspect = suspect_enter(d->store->suspect, session_id(s), item->number);
}

static void item_leave_suspect(const struct session_disk *d, struct queue_item *item)
{
    suspect_leave(d->store->suspect, item->suspect);
    item->suspect = -1;
}

void store_outcome(struct session *s, struct queue_item *item, const struct control_ack *ack)
{
    struct session_disk *d = session_disk(s);
    struct store_ticket *t = &d->tickets[item->slot];
    struct bytes_writer w = bytes_writer(t->meta, STORE_OUTCOME_BYTES);

    item_leave_suspect(d, item);
    queue_ending(session_queue(s), item);
    t->end = *ack;
    bytes_put_u64(&w, item->number);
    bytes_put_u64(&w, item->frame.seq);
    bytes_put_u32(&w, (uint32_t)ack->status);
    bytes_put_u32(&w, (uint32_t)ack->reason);
    bytes_put_u16(&w, (uint16_t)item->source);
    bytes_put_u16(&w, ack->part);
    bytes_put_u64(&w, item->frame.t_capture_ns);
    t->entry = (struct journal_entry){
        .type = JOURNAL_OUTCOME, .part = {{t->meta, STORE_OUTCOME_BYTES}}, .n_parts = 1};
    session_ref(s);
    journal_append(d->log, &t->entry);
}

void store_decode_refused(struct session *s, const struct queue_item *item)
{
    if (item->number)
        session_disk(s)->decode_refused++;
}

void store_device_refused(struct session *s, const struct queue_item *item)
{
    if (item->number)
        session_disk(s)->refused++;
}

void store_used(struct session *s, struct queue_item *item)
{
    struct session_disk *d = session_disk(s);
    const struct store_ticket *t;

    if (!item->number)
        return;
    t = &d->tickets[item->slot];
    item_leave_suspect(d, item);
    d->number = item->number;
    d->ordinal = t->ordinal;
    d->refused_before = t->refused_before + t->skipped;
    d->used++;
    d->unsaved++;
}

void store_round(struct session *s)
{
    if (session_disk(s))
        atomic_fetch_add(&session_disk(s)->rounds, 1);
}
