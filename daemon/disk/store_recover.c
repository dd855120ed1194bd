/*
 * After a start: every session of the folder comes back, then its journal is replayed.
 *
 * First, before the edges are open, each session is made again from its meta file and its newest
 * checkpoint and registered as "recovering". Then a thread feeds the frames behind the checkpoints
 * through the queues of live frames. Suspects go first, each with the whole process to itself; one
 * that has killed twice is put into quarantine instead.
 */
#include "daemon/disk/store_internal.h"

#include "daemon/clock.h"
#include "daemon/disk/folder.h"
#include "daemon/log.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/session_sources.h"
#include "daemon/session/session_submaps.h"
#include "daemon/session/sources.h"
#include "proto/bytes.h"
#include "proto/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- making the sessions again */

static int by_rank(const void *a, const void *b)
{
    const struct store_manifest *x = a, *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Removes a session that was deleted, or has neither a record nor a checkpoint. */
static bool is_left_over(const struct store *st, const char *id)
{
    int fd = folder_open_at(journal_sessions(st->journal), id);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool gone = false, empty = dir != NULL;
    struct dirent *d;

    while (dir && (d = readdir(dir))) {
        gone |= strcmp(d->d_name, STORE_GONE) == 0;
        empty &= d->d_name[0] < '0' || d->d_name[0] > '9';
    }
    if (dir)
        closedir(dir);
    return gone || empty;
}

static void session_kept(const char *id, const char *why)
{
    LOG_EVENT(LOG_ERR, LOG_EVENT_SESSION_DAMAGED,
              "session %s does not come back, its files are kept: %s", id, why);
}

/* Handles a folder without a meta file. */
static void session_clean_up(struct store *st, const char *id)
{
    struct err err = {0};

    if (!is_left_over(st, id))
        session_kept(id, "its meta.json is missing");
    else if (journal_remove(st->journal, id, &err))
        LOG_AT(LOG_WARNING, "session %s: left-over files stay: %s", id, err.text);
}

/* Renames another build's session, so that it is reported once and nothing of it is lost. */
static void session_set_aside(struct store *st, const char *id, const struct err *why)
{
    const int sessions = journal_sessions(st->journal);
    char aside[JOURNAL_ID_LEN + 8];

    snprintf(aside, sizeof(aside), "%.*s.aside", JOURNAL_ID_LEN, id);
    if (renameat(sessions, id, sessions, aside))
        session_kept(id, why->text);
    else
        LOG_EVENT(LOG_ERR, LOG_EVENT_SESSION_DAMAGED,
                  "session %s is set aside as %.200s/sessions/%s: %s", id,
                  journal_path(st->journal), aside, why->text);
}

static int recovery_list(struct store *st, struct store_manifest **out, int *n, struct err *err)
{
    DIR *dir = folder_list(journal_sessions(st->journal));
    struct store_manifest *list = NULL;
    struct err why = {0};
    struct dirent *d;
    size_t cap = 0;
    int rc = 0, got;

    *n = 0;
    if (!dir)
        return err_set(err, ERR_IO, "the folder of sessions: %s", strerror(errno));
    while (rc == 0 && (d = readdir(dir))) {
        if (!journal_id_valid(d->d_name))
            continue;
        if (array_grow(&list, &cap, (size_t)*n + 1, sizeof(*list))) {
            rc = err_set(err, ERR_MEMORY, "no memory to list the sessions");
            break;
        }
        got = store_manifest_read(journal_sessions(st->journal), d->d_name, &list[*n], &why);
        if (got == 0)
            (*n)++;
        else if (got == ERR_NOT_FOUND)
            session_clean_up(st, d->d_name);
        else if (got == ERR_UNSUPPORTED)
            session_set_aside(st, d->d_name, &why);
        else
            session_kept(d->d_name, why.text);
    }
    closedir(dir);
    if (rc == 0 && *n)
        qsort(list, (size_t)*n, sizeof(*list), by_rank);
    *out = list;
    return rc;
}

/* The machine went down under an unsynced journal, whose last records may be lost. */
static bool may_have_lost(const struct store_manifest *m, const struct store *st)
{
    return m->options.journal != SESSION_JOURNAL_SYNC && strcmp(m->boot, st->boot) != 0;
}

/*
 * Decides what to do with another build's checkpoint that is newer than the loaded one (number 0 =
 * none). If the journal reaches back, it is replayed instead, under a new epoch; else nothing on
 * the disk changes.
 */
static int returning_replace_foreign(struct store_returning *b, const struct journal_scan *scan,
                                     const struct checkpoint_state *c, struct err *err)
{
    const char *id = session_id(b->s);
    char what[API_TEXT_CAP];

    if (!scan->damaged && scan->first <= c->number + 1 && scan->last >= c->foreign) {
        LOG_AT(LOG_WARNING, "session %s: its checkpoint of record %llu is set aside: %s", id,
               (unsigned long long)c->foreign, c->why);
        b->replaced = true;
        return checkpoint_set_aside(session_disk(b->s)->store->checkpoint, id, err);
    }
    b->unread = true;
    snprintf(what, sizeof(what),
             "its checkpoint cannot be read (%.90s), its journal does not reach back", c->why);
    store_damage(b->s, what);
    return 0;
}

/* Loads the journal's newest checkpoint into the session. Returns 0 also if there is none. */
static int returning_load_checkpoint(struct store_returning *b, const struct store_manifest *m,
                                     const struct journal_scan *scan, struct err *err)
{
    struct store *st = session_disk(b->s)->store;
    const char *id = session_id(b->s);
    /* A checkpoint that holds records which an unsynced journal has lost is not used. */
    const bool cut = !scan->damaged && may_have_lost(m, st);
    struct checkpoint_state c;
    int rc = checkpoint_load(&c, st->checkpoint, id, cut ? scan->last : UINT64_MAX, err);

    if (c.skipped)
        LOG_AT(LOG_WARNING, "session %s: %d damaged checkpoints are passed over", id, c.skipped);
    if (rc == 0)
        rc = store_unpack(b->s, &c, err);
    else if (rc == ERR_NOT_FOUND)
        rc = 0;
    if (rc == 0 && c.foreign)
        rc = returning_replace_foreign(b, scan, &c, err);
    if (rc == 0 && cut && !b->unread)
        rc = checkpoint_cut(st->checkpoint, id, scan->last, err);
    if (rc == 0 && !scan->damaged && c.number > scan->last)
        store_damage(b->s, "its journal ends before its checkpoint: records are gone");
    checkpoint_state_free(&c);
    return rc;
}

/* Makes clients start over, with a new epoch, where the session's points may differ from here on.
 * Writes the meta file again if it has changed. */
static int returning_check_epoch(const struct store_returning *b, const struct store_manifest *m,
                                 struct err *err)
{
    const char *boot = session_disk(b->s)->store->boot, *why = NULL;

    if (b->replaced || b->unread)
        why = "another build wrote its checkpoint";
    else if (may_have_lost(m, session_disk(b->s)->store))
        why = "the machine went down";
    else if (strcmp(session_disk(b->s)->origin, m->origin) != 0)
        why = "what computes it has changed";
    if (why) {
        session_renew_epoch(b->s);
        LOG_AT(LOG_NOTICE, "session %s: its clients start over: %s", session_id(b->s), why);
    }
    if (b->unread || (session_epoch(b->s) == m->epoch && strcmp(m->boot, boot) == 0))
        return 0;
    return store_session_write(b->s, err);
}

/* ------------------------------------------------------------------------- records to replay */

struct tally {
    uint64_t frames, dropped, refused, front_refused, front_dropped;
    bool any;
};

static void returning_mark(struct store_returning *b, uint64_t number, enum store_end end)
{
    if (number > b->from && number <= b->last && b->ends[number - b->from - 1] == STORE_END_USED)
        b->ends[number - b->from - 1] = (uint8_t)end;
}

/* Marks the frame that was dropped for this one. */
static void tally_add_displaced(struct store_returning *b, struct tally *t,
                                const struct store_meta *m)
{
    const struct control_ack ack = {
        .seq = m->displaced_seq, .status = CONTROL_DROPPED, .reason = CONTROL_OVERLOAD};

    session_keep_verdict(b->s, (int)m->displaced_source, 0, &ack);
    if (m->displaced <= b->from)
        return;
    returning_mark(b, m->displaced, STORE_END_DROPPED);
    t->dropped++;
}

static int tally_add_frame(struct store_returning *b, struct tally *t, const uint8_t *body,
                           size_t len, struct err *err)
{
    struct sources_record r;
    struct store_meta m;
    int rc;

    if (len < STORE_META_BYTES + FRAME_HEADER_BYTES || !store_meta_decode(&m, body))
        return err_set(err, ERR_INPUT, "a record of its journal is no frame");
    t->frames = m.ordinal;
    t->front_refused = m.front_refused;
    t->front_dropped = m.front_dropped;
    t->any = true;
    r = (struct sources_record){
        m.name,   (int)m.source, frame_get_world_epoch(body + STORE_META_BYTES),
        m.submap, m.breaks,      (m.flags & STORE_FRAME_CUT) != 0};
    rc = session_learn_source(b->s, &r, err);
    if (rc == 0 && m.flags & STORE_FRAME_DISPLACED)
        tally_add_displaced(b, t, &m);
    return rc;
}

static void tally_add_outcome(struct store_returning *b, struct tally *t, const uint8_t *body,
                              size_t len)
{
    struct bytes_reader r = bytes_reader(body, len);
    uint64_t number = bytes_get_u64(&r);
    struct control_ack ack = {.seq = bytes_get_u64(&r)};
    uint32_t status = bytes_get_u32(&r), reason = bytes_get_u32(&r);
    uint16_t source = bytes_get_u16(&r), part = bytes_get_u16(&r);
    uint64_t t_capture_ns = bytes_get_u64(&r);

    if (r.bad || status > CONTROL_REFUSED || reason >= CONTROL_REASONS || source >= API_SOURCES_MAX)
        return;
    ack.status = (enum control_status)status;
    ack.reason = (enum control_reason)reason;
    ack.part = (uint8_t)part;
    session_keep_verdict(b->s, (int)source, t_capture_ns, &ack);
    if (number <= b->from)
        return;
    returning_mark(b, number, status == CONTROL_DROPPED ? STORE_END_DROPPED : STORE_END_REFUSED);
    t->dropped += status == CONTROL_DROPPED;
    t->refused += status != CONTROL_DROPPED;
}

/* Reads the records behind the checkpoint once: how did each frame end, as far as is known? */
static int returning_survey(struct recovery *r, struct store_returning *b, struct tally *t,
                            struct err *err)
{
    enum journal_type type;
    const uint8_t *body;
    uint64_t number;
    size_t len;
    int rc;

    b->ends = calloc(b->last - b->from, 1);
    if (!b->ends)
        return err_set(err, ERR_MEMORY, "no memory to replay a journal");
    rc = journal_read_open(&b->reader, r->st->journal, session_id(b->s), b->from + 1, b->last, err);
    while (rc == 0 && (rc = journal_read_next(b->reader, &type, &number, &body, &len, err)) == 0) {
        if (type == JOURNAL_FRAME)
            rc = tally_add_frame(b, t, body, len, err);
        else
            tally_add_outcome(b, t, body, len);
        /* the frame was lost: nothing to replay */
        if (type != JOURNAL_FRAME)
            returning_mark(b, number, STORE_END_DROPPED);
    }
    journal_read_close(&b->reader);
    return rc == ERR_END ? 0 : rc;
}

static void raise_to(atomic_ullong *count, uint64_t n)
{
    if (n > atomic_load(count))
        atomic_store(count, n);
}

static void tally_set_counts(struct session *s, const struct tally *t, uint64_t n_replay)
{
    struct session_disk *d = session_disk(s);
    uint64_t before_dropped = d->ordinal - d->used - d->refused_before;

    if (t->any) {
        d->stored_frames = t->frames;
        raise_to(&d->front_refused, t->front_refused);
        raise_to(&d->front_dropped, t->front_dropped);
    }
    session_set_ends(s, d->used, before_dropped + t->dropped + atomic_load(&d->front_dropped),
                     d->refused_before + t->refused + atomic_load(&d->front_refused), n_replay);
}

static int returning_prepare(struct recovery *r, struct store_returning *b,
                             const struct journal_scan *scan, struct err *err)
{
    struct session *s = b->s;
    struct tally t = {0};
    int rc = 0;

    b->from = session_disk(s)->number;
    b->last = scan->last > b->from ? scan->last : b->from;
    b->fed = b->last == b->from || b->unread;
    if (!b->fed && scan->first > b->from + 1) {
        store_damage(s, "the records that its checkpoints stood for are gone");
        b->last = b->from;
        b->fed = true;
    }
    if (!b->fed)
        rc = returning_survey(r, b, &t, err);
    for (uint64_t i = 0; rc == 0 && !b->fed && i < b->last - b->from; i++)
        b->unfed += b->ends[i] == STORE_END_USED;
    if (rc == 0)
        tally_set_counts(s, &t, b->unfed);
    return rc;
}

/* ------------------------------------------------------------------------- one session */

static int returning_bring(struct recovery *r, const struct store_manifest *m, struct err *err)
{
    struct store_returning *b = &r->list[r->n];
    char origin[STORE_ORIGIN_CAP];
    struct journal_scan scan;
    struct session *s;
    uint64_t next;
    int rc = journal_scan(r->st->journal, m->id, &scan, err);

    if (rc == 0)
        rc = r->st->ops.make(r->st->ops.core, m, &s, origin, err);
    if (rc)
        return rc;
    memset(b, 0, sizeof(*b));
    b->s = s;
    session_set_recovering(s, m->closed, m->tokens, m->n_tokens);
    session_set_places(s, &m->places);
    rc = store_session_attach(r->st, s, origin, err);
    if (rc == 0)
        rc = returning_load_checkpoint(b, m, &scan, err);
    next = scan.last + 1;
    if (rc == 0 && session_disk(s)->number > scan.last)
        next = session_disk(s)->number + 1;
    if (rc == 0)
        rc = store_session_log(r->st, s, next, err);
    if (rc == 0 && scan.damaged)
        store_damage(s, scan.damage);
    if (rc == 0)
        rc = returning_prepare(r, b, &scan, err);
    if (rc == 0)
        rc = returning_check_epoch(b, m, err);
    if (rc == 0)
        rc = r->st->ops.add(r->st->ops.core, s, err);
    if (rc) {
        free(b->ends);
        session_unref(s);
        return rc;
    }
    r->n++;
    atomic_fetch_add(&r->st->recovered, 1);
    return 0;
}

/* ------------------------------------------------------------------------- for other threads */

static int recovery_bring_all(struct recovery *r, const struct store_manifest *manifests, int n,
                              struct err *err)
{
    r->list = calloc((size_t)n + 1, sizeof(*r->list));
    if (!r->list)
        return err_set(err, ERR_MEMORY, "no memory for the sessions that come back");
    for (int i = 0; i < n; i++) {
        struct err why = {0};
        if (returning_bring(r, &manifests[i], &why))
            LOG_EVENT(LOG_ERR, LOG_EVENT_SESSION_DAMAGED,
                      "session %s does not come back, its files are kept: %s%s%s", manifests[i].id,
                      why.where, why.where[0] ? ": " : "", why.text);
    }
    r->n_suspects = suspect_list(r->st->suspect, r->suspects, SUSPECT_LIST);
    if (r->n_suspects > SUSPECT_LIST)
        r->n_suspects = SUSPECT_LIST;
    return 0;
}

int store_recover(struct recovery **recovery, struct store *st, struct err *err)
{
    struct recovery *r = calloc(1, sizeof(*r));
    struct store_manifest *manifests = NULL;
    int n = 0, rc;

    *recovery = r;
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory to recover");
    r->st = st;
    st->recovery = r;
    r->began_us = clock_us();
    lock_init(&r->lock, LOCK_RECOVERY);
    pthread_cond_init(&r->ended, NULL);
    rc = recovery_list(r->st, &manifests, &n, err);
    if (rc == 0)
        rc = recovery_bring_all(r, manifests, n, err);
    free(manifests);
    return rc;
}

void store_replay(struct recovery *r)
{
    if (!r || r->started)
        return;
    r->started = pthread_create(&r->thread, NULL, store_replay_run, r) == 0;
    if (!r->started)
        LOG_AT(LOG_ERR, "no thread to replay journals: %d sessions stay away until the next start",
               r->n);
}

void store_recover_stop(struct recovery *r)
{
    if (!r)
        return;
    atomic_store(&r->stop, true);
    if (r->started)
        pthread_join(r->thread, NULL);
    r->started = false;
    for (int i = 0; i < r->n; i++) {
        journal_read_close(&r->list[i].reader);
        free(r->list[i].ends);
        if (r->list[i].s)
            session_unref(r->list[i].s);
    }
    r->n = 0;
    free(r->list);
    r->list = NULL;
}

void store_recover_free(struct recovery **recovery)
{
    struct recovery *r = *recovery;

    if (!r)
        return;
    store_recover_stop(r);
    pthread_cond_destroy(&r->ended);
    lock_destroy(&r->lock);
    free(r);
    *recovery = NULL;
}
