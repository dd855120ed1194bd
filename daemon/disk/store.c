/* The folder, a session's files, a frame's way to the disk. */
#include "daemon/disk/store_internal.h"

#include "daemon/clock.h"
#include "daemon/work/decode.h"
#include "daemon/work/job.h"
#include "daemon/log.h"
#include "daemon/work/worker.h"
#include "proto/bytes.h"
#include "proto/types.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX "/journal"

/* ------------------------------------------------------------------------- what a record says */

void store_meta_encode(uint8_t out[STORE_META_BYTES], const struct store_meta *m)
{
    struct bytes_writer w = bytes_writer(out, STORE_META_BYTES);

    bytes_put_u32(&w, m->flags);
    bytes_put_u32(&w, m->breaks);
    bytes_put_u64(&w, m->displaced);
    bytes_put_u64(&w, m->front_refused);
    bytes_put_u64(&w, m->front_dropped);
    bytes_put_u64(&w, m->ordinal);
}

void store_meta_decode(struct store_meta *m, const uint8_t in[STORE_META_BYTES])
{
    struct bytes_reader r = bytes_reader(in, STORE_META_BYTES);

    m->flags = bytes_get_u32(&r);
    m->breaks = bytes_get_u32(&r);
    m->displaced = bytes_get_u64(&r);
    m->front_refused = bytes_get_u64(&r);
    m->front_dropped = bytes_get_u64(&r);
    m->ordinal = bytes_get_u64(&r);
}

/* ------------------------------------------------------------------------- the folder */

/* As configured, else a folder in the one that the service manager keeps for us, else none. */
static bool choose_path(const struct config *config, char *path, size_t cap)
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

static void read_boot(char *boot, size_t cap)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    boot[0] = '\0';
    if (f && fgets(boot, (int)cap, f))
        boot[strcspn(boot, "\n")] = '\0';
    if (f)
        fclose(f);
}

static int open_parts(struct store *st, const struct config *config, const char *path, bool arm,
                      struct err *err)
{
    const struct journal_config journal = {.path = path,
                                           .threads = config->journal.threads,
                                           .segment_bytes = config->journal.segment_bytes,
                                           .high_water_percent = config->journal.high_water,
                                           .max_bytes = config->journal.max_bytes};
    char file[CONFIG_TEXT_CAP + 64];
    int rc = journal_open(&st->journal, &journal, err);

    if (rc == 0)
        rc = checkpoint_start(&st->checkpoint, path, store_reads, err);
    snprintf(file, sizeof(file), "%s/suspects", path);
    if (rc == 0)
        rc = suspect_open(&st->suspect, file, err);
    if (rc == 0 && arm)
        rc = suspect_arm(st->suspect, err);
    return rc;
}

int store_open(struct store **store, const struct config *config,
               void (*free_session)(struct session *s), bool arm, struct err *err)
{
    char path[CONFIG_TEXT_CAP + sizeof(SUFFIX)];
    struct store *st;
    int rc;

    *store = NULL;
    if (!choose_path(config, path, sizeof(path)))
        return 0;
    st = calloc(1, sizeof(*st));
    if (!st)
        return err_set(err, ERR_MEMORY, "no memory for the journal");
    st->free_session = free_session;
    read_boot(st->boot, sizeof(st->boot));
    store_configure(st, config);
    rc = open_parts(st, config, path, arm, err);
    if (rc)
        store_close(&st);
    *store = st;
    return rc;
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

static void on_done(void *ctx, struct journal_entry *e, int rc);

int store_session_log(struct store *st, struct session *s, uint64_t next_number, struct err *err)
{
    bool sync = session_setup(s)->options.journal == SESSION_JOURNAL_SYNC;

    return journal_log_new(&session_disk(s)->log, st->journal, session_id(s), sync, next_number,
                           on_done, s, err);
}

int store_session_attach(struct store *st, struct session *s, struct err *err)
{
    struct session_disk *d;

    if (!st || session_setup(s)->options.journal == SESSION_JOURNAL_OFF)
        return 0;
    d = calloc(1, sizeof(*d));
    if (!d)
        return err_set(err, ERR_MEMORY, "no memory for a session's journal");
    d->session = s;
    d->store = st;
    pthread_mutex_init(&d->storing, NULL);
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
    pthread_mutex_destroy(&d->storing);
    free(d);
    session_set_disk(s, NULL);
}

int store_session_new(struct store *st, struct session *s, struct err *err)
{
    int rc = store_session_attach(st, s, err);

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
        store_manifest_remove(journal_path(d->store->journal), session_id(s));
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
        st->free_session(d->session);
        if (unwanted && journal_remove(st->journal, id, &err))
            LOG_AT(LOG_WARNING, "session %.6s: its files stay: %s", id, err.text);
    }
}

bool store_fenced(const struct session *s)
{
    return session_disk(s) && journal_log_fenced(session_disk(s)->log);
}

/* ------------------------------------------------------------------------- a frame */

static struct queue_item *item_of(struct journal_entry *e)
{
    return CONTAINER_OF(e, struct queue_item, store.entry);
}

/* The frame that made room hears of it when its successor is on the disk. */
static void answer_displaced(struct session *s, const struct queue_dropped *d)
{
    const struct control_ack ack = {
        .seq = d->seq, .status = CONTROL_DROPPED, .reason = CONTROL_OVERLOAD};

    if (!d->any)
        return;
    if (d->suspect >= 0)
        suspect_leave(session_disk(s)->store->suspect, d->suspect);
    session_answer(s, d->stream, &ack, 0);
}

static void admit(struct session *s, struct queue_item *item)
{
    const struct queue_dropped displaced = item->store.displaced;

    queue_stored(session_queue(s), item);
    decode_kick(s);
    answer_displaced(s, &displaced);
}

/* On its thread: nothing of this session is stored any more. The others go on. */
static void fence(struct session *s)
{
    LOG_EVENT(LOG_ERR, LOG_EVENT_STORAGE_FAILED,
              "session %.6s: its journal failed, it takes no more frames", session_id(s));
    session_set_fault(s, "its journal failed: no more frames can be stored");
}

static void on_done(void *ctx, struct journal_entry *e, int rc)
{
    struct session *s = ctx;
    struct queue_item *item = item_of(e);

    if (e->type == JOURNAL_OUTCOME) {
        job_end(s, item, &item->store.end);
    } else if (rc == 0) {
        item->store.number = e->number;
        admit(s, item);
    } else {
        const struct control_ack ack = {.status = CONTROL_REFUSED, .reason = CONTROL_STORAGE};
        fence(s);
        store_front_end(s, CONTROL_REFUSED);
        answer_displaced(s, &item->store.displaced);
        job_end(s, item, &ack);
    }
    session_unref(s);
}

/* Under `storing`, so that ordinals and numbers rise together. */
static void append_frame(struct session *s, struct queue_item *item)
{
    struct session_disk *d = session_disk(s);
    struct store_ticket *ticket = &item->store;
    const struct store_meta meta = {.flags =
                                        (ticket->convention == FRAME_POSE_CV ? STORE_FRAME_CV : 0) |
                                        (ticket->displaced.any ? STORE_FRAME_DISPLACED : 0),
                                    .breaks = item->breaks,
                                    .displaced = ticket->displaced.number,
                                    .front_refused = atomic_load(&d->front_refused),
                                    .front_dropped = atomic_load(&d->front_dropped),
                                    .ordinal = ++d->stored_frames};

    ticket->ordinal = meta.ordinal;
    store_meta_encode(ticket->meta, &meta);
    ticket->entry = (struct journal_entry){
        .type = JOURNAL_FRAME,
        .part = {{ticket->meta, STORE_META_BYTES},
                 {ticket->header, FRAME_HEADER_BYTES},
                 {(void *)(uintptr_t)item->frame.payload, item->frame.payload_len}},
        .n_parts = 3};
    journal_append(d->log, &ticket->entry);
}

void store_frame(struct session *s, struct queue_item *item, const struct queue_dropped *dropped)
{
    struct session_disk *d = session_disk(s);

    item->store.displaced = *dropped;
    item->store.skipped = d ? atomic_load(&d->skipped) : 0;
    if (!d || item->store.replayed) {
        admit(s, item);
        return;
    }
    session_ref(s);
    pthread_mutex_lock(&d->storing);
    append_frame(s, item);
    pthread_mutex_unlock(&d->storing);
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

    if (!d)
        return;
    item->store.refused_before = d->decode_refused;
    item->store.suspect = suspect_enter(d->store->suspect, session_id(s), item->store.number);
}

void store_leave(struct session *s, struct queue_item *item)
{
    if (item->store.suspect >= 0)
        suspect_leave(session_disk(s)->store->suspect, item->store.suspect);
    item->store.suspect = -1;
}

void store_outcome(struct session *s, struct queue_item *item, const struct control_ack *ack)
{
    struct store_ticket *ticket = &item->store;
    struct bytes_writer w = bytes_writer(ticket->meta, STORE_OUTCOME_BYTES);

    store_leave(s, item);
    if (!ticket->number) {
        job_end(s, item, ack);
        return;
    }
    queue_ending(session_queue(s), item);
    ticket->end = *ack;
    bytes_put_u64(&w, ticket->number);
    bytes_put_u64(&w, item->frame.seq);
    bytes_put_u32(&w, (uint32_t)ack->status);
    bytes_put_u32(&w, (uint32_t)ack->reason);
    ticket->entry = (struct journal_entry){
        .type = JOURNAL_OUTCOME, .part = {{ticket->meta, STORE_OUTCOME_BYTES}}, .n_parts = 1};
    session_ref(s);
    journal_append(session_disk(s)->log, &ticket->entry);
}

void store_decode_refused(struct session *s, const struct queue_item *item)
{
    if (item->store.number)
        session_disk(s)->decode_refused++;
}

void store_device_refused(struct session *s, const struct queue_item *item)
{
    if (item->store.number)
        session_disk(s)->refused++;
}

void store_used(struct session *s, struct queue_item *item)
{
    struct session_disk *d = session_disk(s);

    if (!item->store.number)
        return;
    store_leave(s, item);
    d->number = item->store.number;
    d->ordinal = item->store.ordinal;
    d->refused_before = item->store.refused_before + item->store.skipped;
    d->used++;
    d->unsaved++;
}
