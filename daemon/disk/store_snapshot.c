/* Where a session stands: into a checkpoint, and out of one. */
#include "daemon/disk/store_internal.h"

#include "daemon/log.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/session_sources.h"
#include "daemon/session/sources.h"
#include "proto/bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sections of a session; the device's own begin with 'G'. */
#define CORE SECTION_TAG('D', 'C', 'O', 'R')
#define MIRROR SECTION_TAG('D', 'M', 'I', 'R')
#define TRAJECTORY SECTION_TAG('D', 'T', 'R', 'A')
#define SOURCES SECTION_TAG('D', 'S', 'R', 'C')
#define POSITION SECTION_TAG('D', 'P', 'O', 'S') /* optional, where one is known */
#define TIES SECTION_TAG('D', 'T', 'I', 'E')     /* optional, with the option ties */
#define OBJECTS SECTION_TAG('D', 'I', 'N', 'S')  /* optional, with the option objects */
#define JUMPS SECTION_TAG('D', 'J', 'M', 'P')    /* optional: struct jump of each source */

unsigned store_reads(uint32_t tag)
{
    if (tag == CORE)
        return STORE_CORE_VERSION;
    return tag == MIRROR || tag == TRAJECTORY || tag == SOURCES || tag == POSITION || tag == TIES ||
                   tag == OBJECTS || tag == JUMPS
               ? 1
               : gpu_session_reads(tag);
}

/* ------------------------------------------------------------------------- out */

/* Where the device's sections come from: the device, or an earlier checkpoint. */
struct origin {
    struct gpu_session *device;
    const struct checkpoint_state *before;
};

/* Bytes of the row; what changes them waits until it is packed. */
static size_t row_bytes(struct session *s, const struct origin *from)
{
    return section_bytes(STORE_CORE_BYTES) +
           (from->device ? gpu_session_state_bytes(from->device) : from->before->len) +
           section_bytes(mirror_state_bytes(session_mirror(s))) +
           section_bytes(trajectory_state_bytes(session_trajectory(s))) +
           section_bytes(sources_state_bytes()) + section_bytes(STORE_JUMPS_BYTES) +
           section_bytes(FRAME_POSITION_BYTES) +
           section_bytes(session_disk(s)->store->ops.recognised_bytes(s)) +
           section_bytes(session_disk(s)->store->ops.tied_bytes(s));
}

/* Where objects are looked for. */
static int pack_objects(struct session *s, struct checkpoint_draft *d, struct err *err)
{
    const struct store_ops *ops = &session_disk(s)->store->ops;
    size_t cap = ops->recognised_bytes(s), len = 0;
    uint8_t *body = cap ? section_open(d->row, d->cap, d->len, cap) : NULL;
    int rc;

    if (cap == 0)
        return 0;
    rc = ops->recognised(s, body, body ? cap : 0, &len, err);
    if (rc == 0)
        section_close(d->row, &d->len, OBJECTS, 1, SECTION_OPTIONAL, len);
    return rc;
}

/* Where there are keyframes. They are the last row, and what row_bytes() left for them. */
static int pack_ties(struct session *s, struct checkpoint_draft *d, struct err *err)
{
    size_t cap = d->cap - d->len, len = 0;
    uint8_t *body;
    int rc;

    if (cap <= SECTION_HEAD_BYTES)
        return 0;
    cap = (cap - SECTION_HEAD_BYTES) & ~(size_t)(SECTION_ALIGN - 1);
    body = section_open(d->row, d->cap, d->len, cap);
    rc = session_disk(s)->store->ops.tied(s, body, body ? cap : 0, &len, err);
    if (rc == 0 && len)
        section_close(d->row, &d->len, TIES, 1, SECTION_OPTIONAL, len);
    return rc;
}

/* Room for it is there, as for the position. */
static void pack_jumps(const struct store_work *work, struct checkpoint_draft *d)
{
    uint8_t *body = section_open(d->row, d->cap, d->len, STORE_JUMPS_BYTES);

    if (!body)
        return;
    store_jumps_put(work, body);
    section_close(d->row, &d->len, JUMPS, 1, SECTION_OPTIONAL, STORE_JUMPS_BYTES);
}

static void pack_position(struct session *s, struct checkpoint_draft *d)
{
    struct session_saved saved;
    uint8_t *body;

    session_save(s, &saved);
    if (!saved.has_position)
        return;
    body = section_open(d->row, d->cap, d->len, FRAME_POSITION_BYTES);
    if (!body)
        return;
    frame_position_put(body, &saved.position);
    section_close(d->row, &d->len, POSITION, 1, SECTION_OPTIONAL, FRAME_POSITION_BYTES);
}

static int copy_device(const struct checkpoint_state *before, struct checkpoint_draft *d,
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

static int pack_device(const struct origin *from, struct checkpoint_draft *d, struct err *err)
{
    size_t len;
    int rc;

    if (!from->device)
        return copy_device(from->before, d, err);
    rc = gpu_session_save(from->device, d->row + d->len, d->cap - d->len, &len, err);
    if (rc == 0)
        d->len += len;
    return rc;
}

static int pack(struct session *s, const struct origin *from, const struct store_work *work,
                struct checkpoint_draft *d, struct err *err)
{
    uint8_t *body = section_open(d->row, d->cap, d->len, STORE_CORE_BYTES);
    size_t cap, len = body ? store_core_put(s, work, body, STORE_CORE_BYTES) : 0;
    int rc;

    if (len == 0)
        return err_set(err, ERR_LIMIT, "no room for a session's counters");
    section_close(d->row, &d->len, CORE, STORE_CORE_VERSION, 0, len);
    rc = pack_device(from, d, err);
    if (rc)
        return rc;
    cap = mirror_state_bytes(session_mirror(s));
    body = section_open(d->row, d->cap, d->len, cap);
    rc = mirror_save(session_mirror(s), body, body ? cap : 0, &len, err);
    if (rc)
        return rc;
    section_close(d->row, &d->len, MIRROR, 1, 0, len);
    cap = trajectory_state_bytes(session_trajectory(s));
    body = section_open(d->row, d->cap, d->len, cap);
    rc = trajectory_save(session_trajectory(s), body, body ? cap : 0, &len, err);
    if (rc)
        return rc;
    section_close(d->row, &d->len, TRAJECTORY, 1, 0, len);
    cap = sources_state_bytes();
    body = section_open(d->row, d->cap, d->len, cap);
    rc = session_save_sources(s, body, body ? cap : 0, &len, err);
    if (rc == 0)
        section_close(d->row, &d->len, SOURCES, 1, 0, len);
    if (rc)
        return rc;
    pack_jumps(work, d);
    pack_position(s, d);
    rc = pack_objects(s, d, err);
    return rc ? rc : pack_ties(s, d, err);
}

static void on_saved(void *ctx, uint64_t number, uint32_t rounds, uint64_t older, int rc)
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
    if (rc == 0 && session_may_rest(s))
        d->store->ops.leave(s);
    session_unref(s);
}

/* Is all on the disk that belongs there? */
static bool is_saved(const struct session_disk *d)
{
    return (d->number == atomic_load(&d->saved) &&
            atomic_load(&d->rounds) == atomic_load(&d->saved_rounds)) ||
           atomic_load(&d->damaged);
}

static bool due(struct session_disk *d)
{
    int every = atomic_load(&d->store->checkpoint_frames);

    if (is_saved(d)) { /* or nothing was used yet */
        atomic_store(&d->want_save, false);
        return false;
    }
    return atomic_load(&d->want_save) || (every && d->unsaved >= (uint64_t)every);
}

void store_checkpoint(struct session *s, struct gpu_session *device, const struct store_work *w)
{
    struct session_disk *d = session_disk(s);
    const struct origin from = {.device = device};
    struct checkpoint_draft *draft;
    struct err err = {0};

    if (!d || !device || !due(d) || journal_log_fenced(d->log) || !d->store->ops.settled(s))
        return;
    draft = checkpoint_begin(d->store->checkpoint, row_bytes(s, &from));
    if (!draft) /* another session's is under way: at the next turn */
        return;
    if (pack(s, &from, w, draft, &err)) {
        LOG_AT(LOG_WARNING, "session %s: no checkpoint: %s", session_id(s), err.text);
        checkpoint_abandon(d->store->checkpoint);
        d->unsaved = 0; /* not with every frame */
        return;
    }
    d->unsaved = 0;
    atomic_store(&d->want_save, false);
    session_ref(s);
    checkpoint_commit(d->store->checkpoint, session_id(s), d->number, atomic_load(&d->rounds),
                      on_saved, s);
}

void store_want_checkpoint(struct session *s, bool rest)
{
    struct session_disk *d = session_disk(s);

    if (!d)
        return;
    if (rest)
        session_allow_rest(s);
    atomic_store(&d->want_save, true);
    d->store->ops.save(s);
    if (rest) /* perhaps it is saved already */
        d->store->ops.leave(s);
}

bool store_wants_checkpoint(const struct session *s)
{
    return session_disk(s) && atomic_load(&session_disk(s)->want_save);
}

bool store_may_rest(struct session *s)
{
    struct session_disk *d = session_disk(s);

    if (!d || session_dead(s))
        return true;
    return session_may_rest(s) && is_saved(d) && queue_used(session_queue(s)) == 0;
}

bool store_settled(struct session *s)
{
    struct session_disk *d = session_disk(s);

    return !d || journal_log_fenced(d->log) || (queue_used(session_queue(s)) == 0 && is_saved(d));
}

/* ------------------------------------------------------------------------- in */

static int find(struct section *s, const struct checkpoint_state *c, uint32_t tag, struct err *err)
{
    if (section_find(s, c->row, c->len, tag))
        return 0;
    return err_set(err, ERR_INPUT, "its checkpoint lacks a section");
}

/* Checkpoints of earlier builds have none: then a pose that jumps from the last one is not seen
 * to. */
static void unpack_jumps(struct session *s, struct store_work *work,
                         const struct checkpoint_state *c)
{
    struct section jumps;

    if (!section_find(&jumps, c->row, c->len, JUMPS) || jumps.version != 1 ||
        jumps.len != STORE_JUMPS_BYTES)
        return;
    if (!store_jumps_get(work, jumps.body))
        LOG_AT(LOG_WARNING, "session %s: where its poses went is lost", session_id(s));
    for (int i = 0; i < API_SOURCES_MAX; i++)
        session_set_jump(s, i, &work->jumps[i]);
}

/* After store_core_get(), which restores the rest. */
static void unpack_position(struct session *s, const struct checkpoint_state *c)
{
    struct session_saved saved;
    struct section position;

    if (!section_find(&position, c->row, c->len, POSITION) || position.version != 1 ||
        position.len != FRAME_POSITION_BYTES)
        return;
    session_save(s, &saved);
    saved.has_position = frame_position_get(&saved.position, position.body);
    session_restore(s, &saved);
}

/* Without them places stay as they are. */
static void unpack_ties(struct session *s, const struct checkpoint_state *c)
{
    struct section ties;
    struct err err = {0};

    if (section_find(&ties, c->row, c->len, TIES) && ties.version == 1 &&
        session_disk(s)->store->ops.tied_again(s, ties.body, ties.len, &err))
        LOG_AT(LOG_WARNING, "session %s: its keyframes are lost: %s", session_id(s), err.text);
}

/* Without them what was recognised begins anew. */
static void unpack_objects(struct session *s, const struct checkpoint_state *c)
{
    struct section objects;
    struct err err = {0};

    if (section_find(&objects, c->row, c->len, OBJECTS) && objects.version == 1 &&
        session_disk(s)->store->ops.recognised_again(s, objects.body, objects.len, &err))
        LOG_AT(LOG_WARNING, "session %s: what was recognised is lost: %s", session_id(s), err.text);
}

int store_unpack(struct session *s, const struct checkpoint_state *c, struct err *err)
{
    struct section core, mirror, trajectory, sources;
    struct store_work work;
    int rc = find(&core, c, CORE, err);

    if (rc == 0)
        rc = find(&mirror, c, MIRROR, err);
    if (rc == 0)
        rc = find(&trajectory, c, TRAJECTORY, err);
    if (rc == 0)
        rc = find(&sources, c, SOURCES, err);
    if (rc == 0)
        rc = store_core_get(s, &work, &core, err);
    if (rc == 0)
        rc = mirror_load(session_mirror(s), mirror.body, mirror.len, err);
    if (rc == 0)
        rc = trajectory_load(session_trajectory(s), trajectory.body, trajectory.len, err);
    if (rc == 0)
        rc = session_load_sources(s, sources.body, sources.len, err);
    if (rc)
        return rc;
    unpack_jumps(s, &work, c);
    session_disk(s)->store->ops.restored(s, &work);
    unpack_position(s, c);
    unpack_ties(s, c);
    unpack_objects(s, c);
    session_disk(s)->number = c->number;
    atomic_store(&session_disk(s)->saved, c->number);
    session_set_resting(s, true);
    return 0;
}

static int fetch(struct session *s, struct checkpoint_state **out, struct err *err)
{
    struct checkpoint_state *c = calloc(1, sizeof(*c));
    struct session_disk *d = session_disk(s);
    uint64_t number = atomic_load(&d->saved);
    int rc;

    *out = NULL;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for a session's checkpoint");
    rc = checkpoint_load(c, journal_path(d->store->journal), session_id(s), number, store_reads,
                         err);
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

int store_save_again(struct session *s, const struct store_work *w, struct err *err)
{
    struct session_disk *d = session_disk(s);
    struct checkpoint_state *c;
    struct origin from = {.device = NULL};
    struct checkpoint_draft *draft;
    int rc;

    if (journal_log_fenced(d->log) || atomic_load(&d->damaged))
        return err_set(err, ERR_IO, "nothing of it can be stored any more");
    rc = fetch(s, &c, err);
    if (rc)
        return rc;
    from.before = c;
    draft = checkpoint_begin(d->store->checkpoint, row_bytes(s, &from));
    if (!draft) {
        rc = err_set(err, ERR_BUSY, "another session's checkpoint is under way");
        goto out;
    }
    rc = pack(s, &from, w, draft, err);
    if (rc) {
        checkpoint_abandon(d->store->checkpoint);
        goto out;
    }
    atomic_store(&d->again, 0);
    session_ref(s);
    checkpoint_commit(d->store->checkpoint, session_id(s), c->number, atomic_load(&d->rounds),
                      on_saved, s);
out:
    drop(c);
    return rc;
}

int store_saved_again(const struct session *s)
{
    return atomic_load(&session_disk(s)->again);
}

void store_drop_fetched(struct session_disk *d)
{
    drop(atomic_exchange(&d->fetched, NULL));
}

int store_fetch(struct session *s, struct err *err)
{
    struct session_disk *d = session_disk(s);
    struct checkpoint_state *c;
    int rc;

    if (!d || !session_resting(s) || atomic_load(&d->fetched))
        return 0;
    rc = fetch(s, &c, err);
    if (rc == 0)
        drop(atomic_exchange(&d->fetched, c));
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
        drop(c);
        c = NULL;
    }
    if (!c) /* it went to rest after this frame was decoded */
        rc = fetch(s, &c, err);
    if (rc == 0 && c->number != d->number)
        rc = err_set(err, ERR_STATE, "its checkpoint is not of its last frame");
    if (rc == 0)
        rc = gpu_session_load(device, c->row, c->len, err);
    drop(c);
    if (rc == 0)
        session_set_resting(s, false);
    return rc;
}
