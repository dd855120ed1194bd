#include "daemon/work/object_search.h"

#include "daemon/log.h"
#include "daemon/session/session_objects.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/sources.h"
#include "daemon/session/tenant.h"
#include "daemon/session/tracked_objects.h"
#include "gpu/recognise/recogniser.h"
#include "proto/bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A picture says something about an object's place only if it shows this share, and this number, of
 * the points that would face the camera. */
#define JUDGED_SHARE 0.3f
#define JUDGED_LEAST 40
#define GONE_SHARE 0.4f  /* most of those points confirmed: the object is gone */
#define THERE_SHARE 0.6f /* least of those points confirmed: the object is there */
/* On a busy machine a search of 0.4 s may take minutes at its low priority. */
#define PATIENCE_S 600

/* Buffers of a slice. */
struct search_room {
    struct hypothesis found[HYPOTHESES_MAX];
    struct tracked_objects_detection detections[HYPOTHESES_MAX];
    struct tracked_objects now;
};
_Static_assert(sizeof(struct search_room) <= LATER_ROOM_BYTES, "a slice has room to search");

/* A picture that waits for its search. Its memory is used again for the next one. */
struct waiting {
    uint64_t seq, revision;
    uint32_t submap;
    struct rigid T_wc;
    struct intrinsics K;
    int w, h;
    float *depth;
};

/* An object that the session searches for. */
struct sought {
    const struct enrolled *object;
    float box[6];
};

struct object_search {
    struct session *session;
    struct later_task *task;
    char device[API_NAME_CAP];
    struct sought sought[SESSION_OBJECTS_MAX];
    const struct object *objects[SESSION_OBJECTS_MAX];
    int n_objects;
    struct library library;
    atomic_bool broken; /* it cannot be computed, and the log says why: no picture is taken */
    /* a checkpoint waits for all pictures, so no other picture may come */
    atomic_bool saving;
    /* Picture n is at n % OBJECT_SEARCH_WAITING: the committer owns it before n_kept counts it,
     * then the slices until n_seen does. */
    atomic_uint n_kept, n_seen;
    struct waiting waiting[OBJECT_SEARCH_WAITING];
    /* Of each source: when its last picture was taken; owned by the worker, then the committer. */
    struct {
        bool any;
        uint64_t t_ns;
    } last[API_SOURCES_MAX];
    struct recogniser *recogniser; /* owned by the slices; NULL before the first picture */
};

/* ------------------------------------------------------------------------- pictures */

/* Is a picture of the source due, by its own clock? A clock that steps back begins anew. */
static bool is_due(const struct object_search *p, const struct job *job)
{
    const struct queue_item *item = job->item;
    double hz = (double)session_setup(p->session)->options.recognise_hz;
    uint64_t t_ns = item->frame.t_capture_ns, last_ns = p->last[item->source].t_ns;

    return !p->last[item->source].any || t_ns < last_ns ||
           (double)(t_ns - last_ns) >= 1e9 / hz * (1 - 1e-6);
}

static uint32_t n_waiting(const struct object_search *p)
{
    return atomic_load(&p->n_kept) - atomic_load(&p->n_seen);
}

bool object_search_wants(struct job *job)
{
    struct object_search *p = session_work(job->session)->search;
    uint32_t n;

    if (!p || atomic_load(&p->broken) || !is_due(p, job))
        return false;
    n = n_waiting(p);
    if (n == 0 || (n < OBJECT_SEARCH_WAITING && !atomic_load(&p->saving)))
        return true;
    session_search_skipped(p->session);
    return false;
}

static bool make_room(struct waiting *w, int width, int height)
{
    size_t pixels = (size_t)width * (size_t)height;

    if (!w->depth || pixels > (size_t)w->w * (size_t)w->h) {
        free(w->depth);
        w->depth = malloc(pixels * sizeof(*w->depth));
    }
    w->w = w->depth ? width : 0;
    w->h = w->depth ? height : 0;
    return w->depth != NULL;
}

void object_search_keep(struct job *job, uint64_t revision)
{
    struct object_search *p = session_work(job->session)->search;
    struct waiting *k = &p->waiting[atomic_load(&p->n_kept) % OBJECT_SEARCH_WAITING];
    const struct queue_item *item = job->item;
    int w, h;

    session_get_net(job->session, &w, &h);
    p->last[item->source].any = true;
    p->last[item->source].t_ns = item->frame.t_capture_ns;
    if (!job->frame.depth_out || !make_room(k, w, h)) {
        LOG_AT(LOG_WARNING, "session %s: no memory to search for objects", session_id(p->session));
        return;
    }
    memcpy(k->depth, job->frame.depth_out, (size_t)w * (size_t)h * sizeof(*k->depth));
    k->K = lens_map_make(&item->frame.lens, item->K, item->width, item->height, w, h).K;
    k->seq = item->frame.seq;
    k->revision = revision;
    k->submap = item->submap;
    k->T_wc = job->frame.result.T_wc;
    session_search_begin(p->session);
    atomic_fetch_add(&p->n_kept, 1);
    later_kick(p->task);
}

bool object_search_holds(struct session *s)
{
    struct object_search *p = session_work(s)->search;
    uint32_t n = p && !atomic_load(&p->broken) ? n_waiting(p) : 0;

    return n && (n == OBJECT_SEARCH_WAITING || atomic_load(&p->saving)) &&
           (session_setup(s)->options.mode == SESSION_LOSSLESS || session_recovering(s));
}

/* A checkpoint, and the end of a replay, wait until no picture waits; the session's device turn is
 * woken then. Once the ring is full, none is taken before all are done. */
static bool pictures_settled(struct session *s)
{
    struct object_search *p = session_work(s)->search;
    uint32_t n = p ? n_waiting(p) : 0;

    /* pictures that come as fast as they are searched would delay it for ever */
    if (n == OBJECT_SEARCH_WAITING)
        atomic_store(&p->saving, true);
    return n == 0;
}

/* ------------------------------------------------------------------------- searching */

/* The inputs of one search. */
struct search {
    struct object_search *part;
    struct rigid T_cw;
};

static enum tracked_objects_visibility slice_view(void *ctx, const char *object,
                                                  const struct rigid *T_wo)
{
    const struct search *l = ctx;
    struct rigid T_co = rigid_mul(&l->T_cw, T_wo);
    struct hypothesis_view v;
    uint32_t i = 0, judged;

    while (i < (uint32_t)l->part->n_objects && strcmp(l->part->objects[i]->name, object) != 0)
        i++;
    if (i == (uint32_t)l->part->n_objects) /* its object is no longer enrolled */
        return TRACKED_OBJECTS_UNSEEN;
    v = recogniser_judge(l->part->recogniser, i, &T_co);
    judged = v.supported + v.contradicted;
    if (judged < JUDGED_LEAST || (float)judged < JUDGED_SHARE * (float)v.facing)
        return TRACKED_OBJECTS_UNSEEN;
    if ((float)v.supported <= GONE_SHARE * (float)judged)
        return TRACKED_OBJECTS_GONE;
    return (float)v.supported >= THERE_SHARE * (float)judged ? TRACKED_OBJECTS_THERE
                                                             : TRACKED_OBJECTS_UNSEEN;
}

/* Makes the recogniser with the session's first picture, when the size is known. */
static int search_picture(struct object_search *p, struct search_room *room,
                          const struct waiting *w, struct err *err)
{
    struct search search = {.part = p, .T_cw = rigid_inverse(&w->T_wc)};
    struct tracked_objects_search told = {.seq = w->seq,
                                          .revision = w->revision,
                                          .submap = w->submap,
                                          .at = room->detections,
                                          .view = slice_view,
                                          .ctx = &search};
    uint32_t n = 0;
    int rc = 0;

    if (!p->recogniser)
        rc = recogniser_open(&p->recogniser, p->device, w->w, w->h, &p->library, err);
    if (rc == 0)
        rc = recogniser_run(p->recogniser, w->depth, w->K, room->found, &n, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        const struct hypothesis *h = &room->found[i];
        const struct sought *o = &p->sought[h->object];

        room->detections[i] =
            (struct tracked_objects_detection){.object = o->object->object.name,
                                               .class_name = o->object->class_name,
                                               .T_wo = rigid_mul(&w->T_wc, &h->T_co),
                                               .score = h->score,
                                               .support = h->support};
        memcpy(room->detections[i].box, o->box, sizeof(o->box));
    }
    told.n = (int)n;
    (void)session_get_objects(p->session, &room->now);
    room->now.n_searched++;
    session_search_end(p->session, &room->now, tracked_objects_update(&room->now, &told));
    return 0;
}

/* Searches the oldest picture. */
static bool run_slice(void *session, void *room)
{
    struct session *s = session;
    struct object_search *p = session_work(s)->search;
    struct waiting *w = &p->waiting[atomic_load(&p->n_seen) % OBJECT_SEARCH_WAITING];
    bool skips = atomic_load(&p->broken) || session_dead(s);
    struct err err = {0};

    if (n_waiting(p) == 0)
        return false;
    if (!skips && search_picture(p, room, w, &err)) {
        LOG_AT(LOG_ERR, "session %s: objects are not searched for any more: %s", session_id(s),
               err.text);
        atomic_store(&p->broken, true);
        skips = true;
    }
    if (skips)
        session_search_end(s, NULL, 0);
    if (atomic_fetch_add(&p->n_seen, 1) + 1 == atomic_load(&p->n_kept))
        atomic_store(&p->saving, false);
    session_work_kick_device(s); /* a frame or a checkpoint may have waited for this */
    return n_waiting(p) != 0;
}

/* ------------------------------------------------------------------------- lives */

/* Holds the objects of these names that fit one library. A new session needs all of them; for a
 * recovered one, missing objects are left out. */
static int hold_objects(struct object_search *p, struct objects *store, const char *names,
                        const char *owner, bool all, struct err *err)
{
    char name[API_NAME_CAP];

    for (int i = 0; session_options_name_at(names, i, name); i++) {
        const struct enrolled *e = objects_get(store, owner, name);
        const struct object *first = p->n_objects ? p->objects[0] : NULL;

        if (!e && all)
            return err_at(err, ERR_NOT_FOUND, "/objects", "no object named '%s' is enrolled", name);
        if (e &&
            (!first || (e->object.unit_m == first->unit_m && e->object.voxel == first->voxel))) {
            p->sought[p->n_objects].object = e;
            object_box(p->sought[p->n_objects].box, &e->object);
            p->objects[p->n_objects++] = &e->object;
            continue;
        }
        objects_put(e);
        if (all)
            return err_at(err, ERR_INPUT, "/objects",
                          "%s was enrolled with another unit than those before it, %g m", name,
                          (double)first->unit_m);
    }
    return 0;
}

int object_search_admit(struct objects *store, const struct session_options *o, int w, int h,
                        const char *owner, uint64_t *bytes, struct err *err)
{
    struct object_search *p = calloc(1, sizeof(*p));
    struct library l = {0};
    int rc = p ? hold_objects(p, store, o->objects, owner, true, err)
               : err_set(err, ERR_MEMORY, "no memory for a session's objects");

    *bytes = 0;
    for (int i = 0; rc == 0 && i < p->n_objects; i++) { /* bytes of the library */
        const struct object *e = p->objects[i];

        l.unit_m = e->unit_m;
        l.voxel = e->voxel;
        l.n_objects++;
        l.n_tensors += (uint32_t)e->n_tensors;
        l.n_entries += (uint32_t)e->n_entries;
        l.n_points += (uint32_t)e->n_points;
        if (e->n_points > l.most_points)
            l.most_points = (uint32_t)e->n_points;
    }
    if (l.n_objects)
        *bytes = recogniser_bytes(w, h, &l) + sizeof(struct object_search) +
                 sizeof(struct tracked_objects) +
                 OBJECT_SEARCH_WAITING * (uint64_t)w * (uint64_t)h * sizeof(float);
    object_search_disown(&p);
    return rc;
}

int object_search_adopt(struct later *later, struct objects *store, struct session *s,
                        const char *device, struct object_search **part, struct err *err)
{
    static const struct later_kind kind = {"searches for objects", run_slice,
                                           .hold = session_work_hold, .let_go = session_work_let_go,
                                           .patience_s = PATIENCE_S};
    const struct session_setup *setup = session_setup(s);
    struct object_search *p;
    int rc;

    *part = NULL;
    if (!later || !setup->options.objects[0])
        return 0;
    *part = p = calloc(1, sizeof(*p));
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a session's objects");
    p->session = s;
    snprintf(p->device, sizeof(p->device), "%s", device);
    (void)hold_objects(p, store, setup->options.objects, tenant_name(setup->tenant), false, NULL);
    atomic_store(&p->broken, p->n_objects == 0);
    rc = later_new(later, &p->task, &kind, s, NULL, err);
    if (rc == 0 && p->n_objects)
        rc = library_new(&p->library, p->objects, (uint32_t)p->n_objects, err);
    if (rc)
        object_search_disown(part);
    return rc;
}

void object_search_disown(struct object_search **part)
{
    struct object_search *p = *part;

    if (!p)
        return;
    later_free(&p->task);
    recogniser_close(&p->recogniser);
    library_free(&p->library);
    for (int i = 0; i < p->n_objects; i++)
        objects_put(p->sought[i].object);
    for (int i = 0; i < OBJECT_SEARCH_WAITING; i++)
        free(p->waiting[i].depth);
    free(p);
    *part = NULL;
}

/* ------------------------------------------------------------------------- as bytes */

/* Times of pictures, then all tracked objects, with four bytes for each count of misses. */
#define STATE_BYTES \
    (API_SOURCES_MAX * 12 + sizeof(struct tracked_objects) + TRACKED_OBJECTS_MAX * sizeof(uint32_t))

static size_t objects_state_bytes(struct session *s)
{
    return session_work(s)->search ? STATE_BYTES : 0;
}

static int objects_state_save(struct session *s, uint8_t *buf, size_t cap, size_t *len,
                              struct err *err)
{
    struct object_search *p = session_work(s)->search;
    struct bytes_writer w = bytes_writer(buf, cap);
    struct tracked_objects *now = malloc(sizeof(*now));

    if (!now)
        return err_set(err, ERR_MEMORY, "no memory to keep the objects that were found");
    (void)session_get_objects(s, now);
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        bytes_put_u32(&w, p->last[i].any);
        bytes_put_u64(&w, p->last[i].t_ns);
    }
    tracked_objects_put(&w, now);
    free(now);
    if (w.bad)
        return err_set(err, ERR_LIMIT, "no room for the objects that were found");
    *len = w.at;
    return 0;
}

static int objects_state_load(struct session *s, const struct section *in, struct err *err)
{
    struct object_search *p = session_work(s)->search;
    struct bytes_reader r = bytes_reader(in->body, in->len);
    struct tracked_objects *now;
    int rc;

    if (!p)
        return 0;
    now = malloc(sizeof(*now));
    if (!now)
        return err_set(err, ERR_MEMORY, "no memory for the objects that were found");
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        p->last[i].any = bytes_get_u32(&r) != 0;
        p->last[i].t_ns = bytes_get_u64(&r);
    }
    rc = tracked_objects_get(now, &r, err);
    if (rc == 0)
        session_set_objects(s, now);
    else
        memset(p->last, 0, sizeof(p->last));
    free(now);
    return rc;
}

const struct state_section object_search_state = {.tag = SECTION_TAG('D', 'I', 'N', 'S'),
                                                  .version = 1,
                                                  .flags = SECTION_OPTIONAL,
                                                  .bytes = objects_state_bytes,
                                                  .save = objects_state_save,
                                                  .load = objects_state_load,
                                                  .settled = pictures_settled};
