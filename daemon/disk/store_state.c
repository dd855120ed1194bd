#include "daemon/disk/store_internal.h"

#include "daemon/log.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_restart.h"

#include <stdlib.h>
#include <string.h>

unsigned store_reads(const void *store, uint32_t tag)
{
    const struct store *st = store;

    for (int i = 0; st->ops.sections[i]; i++)
        if (st->ops.sections[i]->tag == tag)
            return st->ops.sections[i]->version;
    return gpu_session_reads(tag);
}

bool store_is_settled(struct session *s)
{
    const struct state_section *const *row = session_disk(s)->store->ops.sections;

    while (*row && (!(*row)->settled || (*row)->settled(s)))
        row++;
    return !*row;
}

/* ------------------------------------------------------------------------- counters */

void store_put_counts(struct session *s, struct bytes_writer *w)
{
    struct session_disk *d = session_disk(s);

    bytes_put_u64(w, d->ordinal);
    bytes_put_u64(w, d->refused_before + d->refused);
    bytes_put_u64(w, d->used);
    bytes_put_u64(w, atomic_load(&d->front_refused));
    bytes_put_u64(w, atomic_load(&d->front_dropped));
}

bool store_get_counts(struct session *s, struct bytes_reader *r)
{
    struct session_disk *d = session_disk(s);

    d->stored_frames = d->ordinal = bytes_get_u64(r);
    d->decode_refused = d->refused_before = bytes_get_u64(r);
    d->used = bytes_get_u64(r);
    atomic_store(&d->front_refused, bytes_get_u64(r));
    atomic_store(&d->front_dropped, bytes_get_u64(r));
    return d->used + d->refused_before <= d->ordinal;
}

/* ------------------------------------------------------------------------- out */

/* The rows of a checkpoint. The device's sections come from the device, or from an earlier
 * checkpoint if one is given. */
struct snapshot {
    struct gpu_session *device;
    const struct checkpoint_state *before;
    size_t caps[CHECKPOINT_SECTIONS_MAX]; /* room of each row: state_section.bytes() */
};

/* Returns the bytes of all sections. They stay the same until they are saved, because this thread
 * has the session's turn. */
static size_t snapshot_measure(struct snapshot *from, struct session *s)
{
    const struct state_section *const *row = session_disk(s)->store->ops.sections;
    size_t bytes = from->device ? gpu_session_state_bytes(from->device) : from->before->len;

    for (int i = 0; row[i]; i++)
        bytes += section_bytes(from->caps[i] = row[i]->bytes(s));
    return bytes;
}

static int row_save(const struct state_section *row, struct session *s, size_t cap,
                    struct checkpoint_draft *d, struct err *err)
{
    uint8_t *body = section_open(d->row, d->cap, d->len, cap);
    size_t len = 0;
    int rc;

    if (!cap)
        return 0;
    rc = row->save(s, body, body ? cap : 0, &len, err);
    if (rc == 0 && len)
        section_close(d->row, &d->len, row->tag, row->version, row->flags, len);
    return rc;
}

static int device_copy(const struct checkpoint_state *before, struct checkpoint_draft *d,
                       struct err *err)
{
    struct section part;
    size_t at = 0;
    int rc;

    while ((rc = section_next(&part, before->row, before->len, &at, err)) == 1) {
        uint8_t *body;

        if ((part.tag & 0xff) != 'G')
            continue;
        body = section_open(d->row, d->cap, d->len, part.len);
        if (!body)
            return err_set(err, ERR_LIMIT, "no room for a device's state");
        memcpy(body, part.body, part.len);
        section_close(d->row, &d->len, part.tag, part.version, part.flags, part.len);
    }
    return rc;
}

static int device_save(const struct snapshot *from, struct checkpoint_draft *d, struct err *err)
{
    size_t len;
    int rc;

    if (!from->device)
        return device_copy(from->before, d, err);
    rc = gpu_session_save(from->device, d->row + d->len, d->cap - d->len, &len, err);
    if (rc == 0)
        d->len += len;
    return rc;
}

/* The device's sections stand behind the first row, where earlier builds have them. */
static int snapshot_save(const struct snapshot *from, struct session *s, struct checkpoint_draft *d,
                         struct err *err)
{
    const struct state_section *const *row = session_disk(s)->store->ops.sections;
    int rc = 0;

    for (int i = 0; row[i] && rc == 0; i++) {
        rc = row_save(row[i], s, from->caps[i], d, err);
        if (rc == 0 && i == 0)
            rc = device_save(from, d, err);
    }
    return rc;
}

static void snapshot_on_saved(void *ctx, uint64_t number, uint32_t rounds, uint64_t older, int rc)
{
    struct session *s = ctx;
    struct session_disk *d = session_disk(s);

    if (rc == 0) {
        atomic_store(&d->saved, number);
        atomic_store(&d->saved_rounds, rounds);
        atomic_fetch_add(&d->store->checkpoints, 1);
        if (!session_setup(s)->options.record && older)
            journal_log_forget(d->log, older + 1);
    } else if (!session_dead(s)) {
        LOG_AT(LOG_WARNING, "session %s: no checkpoint could be written (%s); its journal is whole",
               session_id(s), err_name(rc));
    }
    atomic_store(&d->again, rc ? -1 : 1);
    if (rc == 0 && session_may_suspend(s))
        d->store->ops.leave(s);
    session_unref(s);
}

/* Does the newest checkpoint hold the last used frame and all closing rounds? */
static bool disk_is_saved(const struct session_disk *d)
{
    return (d->number == atomic_load(&d->saved) &&
            atomic_load(&d->rounds) == atomic_load(&d->saved_rounds)) ||
           atomic_load(&d->damaged);
}

static bool disk_is_due(struct session_disk *d)
{
    int every = atomic_load(&d->store->checkpoint_frames);

    if (disk_is_saved(d)) { /* no frame was used yet, or all is saved */
        atomic_store(&d->want_save, false);
        return false;
    }
    return atomic_load(&d->want_save) || (every && d->unsaved >= (uint64_t)every);
}

/* Hands over the session's state after record `number`; snapshot_on_saved() follows. Returns: 0;
 * ERR_BUSY: another session's checkpoint is under way; the errors of a row's save() */
static int snapshot_write(struct session *s, struct snapshot *from, uint64_t number,
                          struct err *err)
{
    struct session_disk *d = session_disk(s);
    struct checkpoint *c = d->store->checkpoint;
    struct checkpoint_draft *draft = checkpoint_begin(c, snapshot_measure(from, s));
    int rc;

    if (!draft)
        return err_set(err, ERR_BUSY, "another session's checkpoint is under way");
    rc = snapshot_save(from, s, draft, err);
    if (rc) {
        checkpoint_abandon(c);
        return rc;
    }
    atomic_store(&d->again, 0);
    session_ref(s);
    checkpoint_commit(c, session_id(s), number, atomic_load(&d->rounds), snapshot_on_saved, s);
    return 0;
}

void store_checkpoint(struct session *s, struct gpu_session *device)
{
    struct session_disk *d = session_disk(s);
    struct snapshot from = {.device = device};
    struct err err = {0};
    bool wanted;
    int rc;

    if (!d || !device || !disk_is_due(d) || journal_log_fenced(d->log) || !store_is_settled(s))
        return;
    wanted = atomic_exchange(&d->want_save, false);
    rc = snapshot_write(s, &from, d->number, &err);
    if (rc && wanted)
        atomic_store(&d->want_save, true);
    if (rc == ERR_BUSY) /* tried again at the next turn */
        return;
    d->unsaved = 0; /* after an error too, so that not every frame tries again */
    if (rc)
        LOG_AT(LOG_WARNING, "session %s: no checkpoint: %s", session_id(s), err.text);
}

void store_want_checkpoint(struct session *s, bool suspend)
{
    if (!session_disk(s))
        return;
    if (suspend)
        session_allow_suspend(s);
    atomic_store(&session_disk(s)->want_save, true);
}

bool store_wants_checkpoint(const struct session *s)
{
    return session_disk(s) && atomic_load(&session_disk(s)->want_save);
}

bool store_may_suspend(struct session *s)
{
    struct session_disk *d = session_disk(s);

    if (!d || session_dead(s))
        return true;
    return session_may_suspend(s) && disk_is_saved(d) && queue_used(session_queue(s)) == 0;
}

bool store_settled(struct session *s)
{
    struct session_disk *d = session_disk(s);

    return !d || journal_log_fenced(d->log) ||
           (queue_used(session_queue(s)) == 0 && disk_is_saved(d));
}

/* ------------------------------------------------------------------------- in */

int store_unpack(struct session *s, const struct checkpoint_state *c, struct err *err)
{
    const struct state_section *const *row = session_disk(s)->store->ops.sections;

    for (; *row; row++) {
        const bool optional = (*row)->flags & SECTION_OPTIONAL;
        struct err why = {0};
        struct section in;
        int rc = 0;

        if (section_find(&in, c->row, c->len, (*row)->tag))
            rc = (*row)->load(s, &in, optional ? &why : err);
        else if (!optional)
            rc = err_set(err, ERR_INPUT, "its checkpoint lacks a section");
        if (rc && !optional)
            return rc;
        if (rc)
            LOG_AT(LOG_WARNING, "session %s: what its section %s holds is lost: %s", session_id(s),
                   section_name((char[5]){""}, (*row)->tag), why.text);
    }
    session_disk(s)->number = c->number;
    atomic_store(&session_disk(s)->saved, c->number);
    session_set_suspended(s, true);
    return 0;
}

static int newest_read(struct session *s, struct checkpoint_state **out, struct err *err)
{
    struct checkpoint_state *c = calloc(1, sizeof(*c));
    struct session_disk *d = session_disk(s);
    uint64_t number = atomic_load(&d->saved);
    int rc;

    *out = NULL;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for a session's checkpoint");
    rc = checkpoint_load(c, d->store->checkpoint, session_id(s), number, err);
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

static void newest_free(struct checkpoint_state *c)
{
    if (!c)
        return;
    checkpoint_state_free(c);
    free(c);
}

int store_save_again(struct session *s, struct err *err)
{
    struct session_disk *d = session_disk(s);
    struct checkpoint_state *c;
    struct snapshot from = {.device = NULL};
    int rc;

    if (journal_log_fenced(d->log) || atomic_load(&d->damaged))
        return err_set(err, ERR_IO, "nothing of it can be stored any more");
    rc = newest_read(s, &c, err);
    if (rc)
        return rc;
    from.before = c;
    rc = snapshot_write(s, &from, c->number, err);
    newest_free(c);
    return rc;
}

int store_saved_again(const struct session *s)
{
    return atomic_load(&session_disk(s)->again);
}

void store_drop_fetched(struct session_disk *d)
{
    newest_free(atomic_exchange(&d->fetched, NULL));
}

int store_fetch(struct session *s, struct err *err)
{
    struct session_disk *d = session_disk(s);
    struct checkpoint_state *c;
    int rc;

    if (!d || !session_is_suspended(s) || atomic_load(&d->fetched))
        return 0;
    rc = newest_read(s, &c, err);
    if (rc == 0)
        newest_free(atomic_exchange(&d->fetched, c));
    return rc;
}

int store_restore(struct session *s, struct gpu_session *device, struct err *err)
{
    struct session_disk *d = session_disk(s);
    struct checkpoint_state *c;
    int rc = 0;

    if (!d || d->number == 0)
        return 0;
    c = atomic_exchange(&d->fetched, NULL);
    if (c && c->number != d->number) {
        newest_free(c);
        c = NULL;
    }
    if (!c) /* the session was suspended after this frame was decoded */
        rc = newest_read(s, &c, err);
    if (rc == 0 && c->number != d->number)
        rc = err_set(err, ERR_STATE, "its checkpoint is not of its last frame");
    if (rc == 0)
        rc = gpu_session_load(device, c->row, c->len, err);
    newest_free(c);
    if (rc == 0)
        session_set_suspended(s, false);
    return rc;
}
