#include "daemon/work/recognising.h"

#include "daemon/log.h"
#include "daemon/session/instances.h"
#include "daemon/session/session_objects.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/sources.h"
#include "daemon/session/tenant.h"
#include "gpu/recognise/recogniser.h"
#include "proto/bytes.h"
#include "proto/lock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE 10
/* What a picture must show of the place where a thing was before it says anything of it: this share
 * of the points that would face the camera, and so many. */
#define JUDGED_SHARE 0.3f
#define JUDGED_LEAST 40
#define GONE_SHARE 0.4f  /* of those points that it confirms, at most: the thing is gone */
#define THERE_SHARE 0.6f /* at least: it is there */

struct recognising {
    struct turn_pool pool;
    struct objects *objects;
    /* of the thread */
    struct hypothesis found[HYPOTHESES_MAX];
    struct instances_sight sights[HYPOTHESES_MAX];
    struct instances now;
};

/* A picture that is not looked at yet. Its memory stays for the next one. */
struct waiting {
    uint64_t seq, revision;
    uint32_t submap;
    struct rigid T_wc;
    struct intrinsics K;
    int w, h;
    float *depth;
};

/* An object that the session looks for. */
struct sought {
    const struct enrolled *object;
    float box[6];
};

struct recognising_part {
    struct session *session;
    struct recognising *recognising;
    struct turn_entry turn;
    char device[API_NAME_CAP];
    struct sought sought[SESSION_OBJECTS_MAX];
    const struct object *objects[SESSION_OBJECTS_MAX];
    int n_objects;
    struct library library;
    struct lock lock; /* of n_kept, n_seen, saving, broken */
    uint32_t n_kept, n_seen;
    bool saving; /* a checkpoint waits until nothing else does, and nothing else may come */
    bool broken; /* it cannot be computed, and the log says why: nothing is taken any more */
    /* picture n at n % RECOGNISING_WAITING: the committer's before n_kept says that it is there,
     * then the thread's until n_seen does */
    struct waiting waiting[RECOGNISING_WAITING];
    /* of each source: when its last picture was taken; of the worker, then the committer */
    struct {
        bool any;
        uint64_t t_ns;
    } last[API_SOURCES_MAX];
    struct recogniser *recogniser; /* of the thread; NULL before the first picture */
};

/* ------------------------------------------------------------------------- pictures */

/* Is it time for a picture of the source, by its own clock? One that steps back begins anew. */
static bool is_due(const struct recognising_part *p, const struct job *job)
{
    const struct queue_item *item = job->item;
    double hz = (double)session_setup(p->session)->options.recognise_hz;
    uint64_t t_ns = item->frame.t_capture_ns, last_ns = p->last[item->source].t_ns;

    return !p->last[item->source].any || t_ns < last_ns ||
           (double)(t_ns - last_ns) >= 1e9 / hz * (1 - 1e-6);
}

bool recognising_wants(struct job *job)
{
    struct recognising_part *p = session_work(job->session)->recognising;
    bool room, broken;

    if (!p || !is_due(p, job))
        return false;
    lock_take(&p->lock);
    room = p->n_kept - p->n_seen < RECOGNISING_WAITING && !p->saving;
    broken = p->broken;
    lock_give(&p->lock);
    if (!room && !broken)
        session_look_skipped(p->session);
    return room && !broken;
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

void recognising_keep(struct job *job, uint64_t revision)
{
    struct recognising_part *p = session_work(job->session)->recognising;
    struct waiting *k = &p->waiting[p->n_kept % RECOGNISING_WAITING];
    const struct queue_item *item = job->item;
    int w, h;

    session_get_net(job->session, &w, &h);
    p->last[item->source].any = true;
    p->last[item->source].t_ns = item->frame.t_capture_ns;
    if (!job->frame.depth_out || !make_room(k, w, h)) {
        LOG_AT(LOG_WARNING, "session %s: no memory to look for objects", session_id(p->session));
        return;
    }
    memcpy(k->depth, job->frame.depth_out, (size_t)w * (size_t)h * sizeof(*k->depth));
    k->K = lens_map_make(&item->frame.lens, item->K, item->width, item->height, w, h).K;
    k->seq = item->frame.seq;
    k->revision = revision;
    k->submap = item->submap;
    k->T_wc = job->frame.result.T_wc;
    session_look_begin(p->session);
    lock_take(&p->lock);
    p->n_kept++;
    lock_give(&p->lock);
    session_ref(p->session);
    if (!turn_kick(p->recognising->pool.turns, &p->turn))
        session_unref(p->session);
}

bool recognising_holds(struct session *s)
{
    struct recognising_part *p = session_work(s)->recognising;
    bool full;

    if (!p)
        return false;
    lock_take(&p->lock);
    full =
        (p->n_kept - p->n_seen == RECOGNISING_WAITING || (p->saving && p->n_kept != p->n_seen)) &&
        !p->broken;
    lock_give(&p->lock);
    return full && (session_setup(s)->options.mode == SESSION_LOSSLESS || session_recovering(s));
}

bool recognising_settled(struct session *s)
{
    struct recognising_part *p = session_work(s)->recognising;
    bool settled;

    if (!p)
        return true;
    lock_take(&p->lock);
    settled = p->n_kept == p->n_seen;
    /* pictures that come as fast as they are looked at would put it off for ever */
    p->saving = !settled && (p->saving || p->n_kept - p->n_seen == RECOGNISING_WAITING);
    lock_give(&p->lock);
    return settled;
}

/* ------------------------------------------------------------------------- looking */

/* What a picture is looked at with. */
struct look {
    struct recognising_part *part;
    struct rigid T_cw;
};

static enum instances_view view(void *ctx, const char *object, const struct rigid *T_wo)
{
    const struct look *l = ctx;
    struct rigid T_co = rigid_mul(&l->T_cw, T_wo);
    struct hypothesis_view v;
    uint32_t i = 0, judged;

    while (i < (uint32_t)l->part->n_objects && strcmp(l->part->objects[i]->name, object) != 0)
        i++;
    if (i == (uint32_t)l->part->n_objects) /* its object is there no more */
        return INSTANCES_UNSEEN;
    v = recogniser_judge(l->part->recogniser, i, &T_co);
    judged = v.supported + v.contradicted;
    if (judged < JUDGED_LEAST || (float)judged < JUDGED_SHARE * (float)v.facing)
        return INSTANCES_UNSEEN;
    if ((float)v.supported <= GONE_SHARE * (float)judged)
        return INSTANCES_GONE;
    return (float)v.supported >= THERE_SHARE * (float)judged ? INSTANCES_THERE : INSTANCES_UNSEEN;
}

/* Its recogniser, made with the session's first picture: then the size is known. */
static int open_recogniser(struct recognising_part *p, const struct waiting *w, struct err *err)
{
    return p->recogniser ? 0
                         : recogniser_open(&p->recogniser, p->device, w->w, w->h, &p->library, err);
}

static int look_at(struct recognising *r, struct recognising_part *p, const struct waiting *w,
                   struct err *err)
{
    struct look look = {.part = p, .T_cw = rigid_inverse(&w->T_wc)};
    struct instances_look told = {.seq = w->seq,
                                  .revision = w->revision,
                                  .submap = w->submap,
                                  .at = r->sights,
                                  .view = view,
                                  .ctx = &look};
    uint32_t n = 0;
    int rc = open_recogniser(p, w, err);

    if (rc == 0)
        rc = recogniser_run(p->recogniser, w->depth, w->K, r->found, &n, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        const struct hypothesis *h = &r->found[i];
        const struct sought *o = &p->sought[h->object];

        r->sights[i] = (struct instances_sight){.object = o->object->object.name,
                                                .class_name = o->object->class_name,
                                                .T_wo = rigid_mul(&w->T_wc, &h->T_co),
                                                .score = h->score,
                                                .support = h->support};
        memcpy(r->sights[i].box, o->box, sizeof(o->box));
    }
    told.n = (int)n;
    (void)session_get_objects(p->session, &r->now);
    r->now.n_looks++;
    session_look_end(p->session, &r->now, instances_update(&r->now, &told));
    return 0;
}

/* Looks at the picture that came first. Returns whether another one waits. */
static bool next(struct recognising *r, struct recognising_part *p)
{
    struct err err = {0};
    bool more, broken;
    int rc;

    lock_take(&p->lock);
    broken = p->broken;
    lock_give(&p->lock);
    rc = broken || session_dead(p->session)
             ? ERR_STATE
             : look_at(r, p, &p->waiting[p->n_seen % RECOGNISING_WAITING], &err);
    if (rc)
        session_look_end(p->session, NULL, 0);
    if (rc && rc != ERR_STATE)
        LOG_AT(LOG_ERR, "session %s: objects are not looked for any more: %s",
               session_id(p->session), err.text);
    lock_take(&p->lock);
    p->broken |= rc && rc != ERR_STATE;
    p->n_seen++;
    more = p->n_kept != p->n_seen;
    p->saving &= more;
    lock_give(&p->lock);
    return more;
}

static void serve(void *ctx, int thread, struct turn_entry *e)
{
    struct recognising *r = ctx;
    struct recognising_part *p = e ? CONTAINER_OF(e, struct recognising_part, turn) : NULL;
    struct session *s;
    bool more;

    (void)thread;
    if (!p)
        return;
    /* On Linux a thread has a niceness of its own. */
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    s = p->session;
    lock_take(&p->lock);
    more = p->n_kept != p->n_seen;
    lock_give(&p->lock);
    if (more) {
        more = next(r, p);
        session_work_kick_device(s); /* a frame, or a checkpoint, may have waited for this */
    }
    if (turn_done(r->pool.turns, e, more))
        session_unref(s);
}

/* ------------------------------------------------------------------------- lives */

int recognising_start(struct recognising **recognising, struct objects *objects, struct err *err)
{
    struct recognising *r = calloc(1, sizeof(*r));
    int rc;

    *recognising = r;
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory to look for objects");
    r->objects = objects;
    rc = turn_pool_start(&r->pool, 1, "objects", serve, r, err);
    if (rc)
        recognising_free(recognising);
    return rc;
}

void recognising_stop(struct recognising *r)
{
    struct turn_entry *e;

    turn_pool_stop(&r->pool);
    while (r->pool.turns && (e = turn_drop(r->pool.turns)))
        session_unref(CONTAINER_OF(e, struct recognising_part, turn)->session);
}

void recognising_free(struct recognising **recognising)
{
    struct recognising *r = *recognising;

    if (!r)
        return;
    recognising_stop(r);
    turn_pool_free(&r->pool);
    free(r);
    *recognising = NULL;
}

/* What the objects' library would be, but for its tensors. */
static int count(struct recognising *r, struct library *l, const char *names, const char *owner,
                 struct err *err)
{
    char name[API_NAME_CAP];
    const struct enrolled *e;
    int rc = 0;

    *l = (struct library){0};
    for (int i = 0; rc == 0 && session_options_name_at(names, i, name); i++) {
        e = objects_get(r->objects, owner, name);
        if (!e)
            return err_at(err, ERR_NOT_FOUND, "/objects", "no object named '%s' is enrolled", name);
        if (i > 0 && (!(e->object.unit_m == l->unit_m) || !(e->object.voxel == l->voxel)))
            rc = err_at(err, ERR_INPUT, "/objects",
                        "%s was enrolled with units of %g m, those before it with %g m", name,
                        (double)e->object.unit_m, (double)l->unit_m);
        l->unit_m = e->object.unit_m;
        l->voxel = e->object.voxel;
        l->n_objects++;
        l->n_tensors += (uint32_t)e->object.n_tensors;
        l->n_entries += (uint32_t)e->object.n_entries;
        l->n_points += (uint32_t)e->object.n_points;
        if (e->object.n_points > l->most_points)
            l->most_points = (uint32_t)e->object.n_points;
        objects_put(e);
    }
    return rc;
}

int recognising_admit(struct recognising *r, const struct session_options *o, const char *owner,
                      uint64_t *bytes, struct err *err)
{
    int w = o->net_w ? o->net_w : 416, h = o->net_h ? o->net_h : 416;
    struct library l;
    int rc;

    *bytes = 0;
    if (!o->objects[0] || !r)
        return 0;
    rc = count(r, &l, o->objects, owner, err);
    if (rc == 0)
        *bytes = recogniser_bytes(w, h, &l) + sizeof(struct recognising_part) +
                 sizeof(struct instances) +
                 RECOGNISING_WAITING * (uint64_t)w * (uint64_t)h * sizeof(float);
    return rc;
}

static float at(struct vec3 p, int axis)
{
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

static void box_of(float box[6], const struct object *o)
{
    for (int i = 0; i < 3; i++) {
        box[i] = o->n_points ? INFINITY : 0;
        box[3 + i] = o->n_points ? -INFINITY : 0;
        for (size_t k = 0; k < o->n_points; k++) {
            box[i] = fminf(box[i], at(o->point[k].p, i));
            box[3 + i] = fmaxf(box[3 + i], at(o->point[k].p, i));
        }
    }
}

/* Holds the objects that there are. A session that comes back may have lost some. */
static void hold(struct recognising_part *p, const char *names, const char *owner)
{
    char name[API_NAME_CAP];

    for (int i = 0; session_options_name_at(names, i, name); i++) {
        const struct enrolled *e = objects_get(p->recognising->objects, owner, name);

        if (!e || (p->n_objects && !(e->object.unit_m == p->objects[0]->unit_m &&
                                     e->object.voxel == p->objects[0]->voxel))) {
            objects_put(e);
            continue;
        }
        p->sought[p->n_objects].object = e;
        p->objects[p->n_objects] = &e->object;
        box_of(p->sought[p->n_objects].box, &e->object);
        p->n_objects++;
    }
}

int recognising_adopt(struct recognising *r, struct session *s, const char *device,
                      struct recognising_part **part, struct err *err)
{
    const struct session_setup *setup = session_setup(s);
    struct recognising_part *p;
    int rc = 0;

    *part = NULL;
    if (!r || !setup->options.objects[0])
        return 0;
    p = calloc(1, sizeof(*p));
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a session's objects");
    p->session = s;
    p->recognising = r;
    snprintf(p->device, sizeof(p->device), "%s", device);
    lock_init(&p->lock, LOCK_RECOGNISING);
    hold(p, setup->options.objects, tenant_name(setup->tenant));
    if (p->n_objects)
        rc = library_new(&p->library, p->objects, (uint32_t)p->n_objects, err);
    p->broken = p->n_objects == 0;
    if (rc)
        recognising_disown(&p);
    *part = p;
    return rc;
}

void recognising_disown(struct recognising_part **part)
{
    struct recognising_part *p = *part;

    if (!p)
        return;
    recogniser_close(&p->recogniser);
    library_free(&p->library);
    for (int i = 0; i < p->n_objects; i++)
        objects_put(p->sought[i].object);
    for (int i = 0; i < RECOGNISING_WAITING; i++)
        free(p->waiting[i].depth);
    lock_destroy(&p->lock);
    free(p);
    *part = NULL;
}

/* ------------------------------------------------------------------------- as bytes */

#define SOURCES_BYTES (API_SOURCES_MAX * 12)

size_t recognising_state_bytes(struct session *s)
{
    return session_work(s)->recognising
               ? SECTION_HEAD_BYTES + SECTION_ALIGN + SOURCES_BYTES + sizeof(struct instances)
               : 0;
}

int recognising_save(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct recognising_part *p = session_work(s)->recognising;
    struct bytes_writer w = bytes_writer(buf, cap);
    struct instances *now;

    *len = 0;
    if (!p)
        return 0;
    now = malloc(sizeof(*now));
    if (!now)
        return err_set(err, ERR_MEMORY, "no memory to keep what was recognised");
    (void)session_get_objects(s, now);
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        bytes_put_u32(&w, p->last[i].any);
        bytes_put_u64(&w, p->last[i].t_ns);
    }
    instances_put(&w, now);
    free(now);
    if (w.bad)
        return err_set(err, ERR_LIMIT, "no room for what was recognised");
    *len = w.at;
    return 0;
}

int recognising_load(struct session *s, const uint8_t *buf, size_t len, struct err *err)
{
    struct recognising_part *p = session_work(s)->recognising;
    struct bytes_reader r = bytes_reader(buf, len);
    struct instances *now;
    int rc;

    if (!p)
        return 0;
    now = malloc(sizeof(*now));
    if (!now)
        return err_set(err, ERR_MEMORY, "no memory for what was recognised");
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        p->last[i].any = bytes_get_u32(&r) != 0;
        p->last[i].t_ns = bytes_get_u64(&r);
    }
    rc = instances_get(now, &r, err);
    if (rc == 0)
        session_set_objects(s, now);
    else
        memset(p->last, 0, sizeof(p->last));
    free(now);
    return rc;
}
