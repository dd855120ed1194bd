#include "daemon/work/tying_internal.h"

#include "daemon/log.h"
#include "daemon/session/places.h"
#include "daemon/session/session_sources.h"
#include "daemon/session/session_submaps.h"
#include "gpu/tie/small.h"
#include "proto/geom/pose.h"
#include "proto/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE 10
/* A keyframe is one that moved or turned so far from the world's last one. The first few of a world
 * come sooner: a world has to be tied before it can be seen. */
#define APART_M 0.1f
#define APART_RAD 0.12f
#define SOON 3
#define SOON_SHARE 0.2f
/* From each of these numbers of keyframes on they stand twice as far apart, and the last quarter is
 * for worlds that have few. */
#define WIDER 128
#define FEW 24
#define FOR_FEW (TIES_KEYFRAMES / 4)
/* What is claimed of a world that began with a jump: that it may lie anywhere near. */
#define JUMP_M 1.0
#define JUMP_RAD 0.5
/* And of one that was cut off: what the path through a world errs by, of its length. */
#define CUT_M 0.02
#define CUT_RAD 0.002
#define JUDGED_MOST 60 /* moves by which a convention is found, or is not looked for any more */
/* Clients are told of a world again that moved by more. */
#define MOVED_M 0.002f
#define MOVED_RAD 0.001f

/* ------------------------------------------------------------------------- keyframes */

static float angle(const struct rigid *a, const struct rigid *b)
{
    float trace = 0;

    for (int i = 0; i < 9; i++)
        trace += a->r[i] * b->r[i];
    return acosf(fmaxf(-1, fminf(1, 0.5f * (trace - 1))));
}

/* Is its depth that of another camera than the picture is of (lens.h)? */
static bool is_mapped(const struct job *job)
{
    const struct queue_item *item = job->item;
    int w, h;

    session_get_net(job->session, &w, &h);
    return lens_map_make(&item->frame.lens, item->K, item->width, item->height, w, h).mapped != 0;
}

/* The frame's pose or, where it is not known yet, the one before it. */
static const struct rigid *pose_of(struct rigid *room, const struct job *job)
{
    struct session_pose last;

    if (session_setup(job->session)->options.pose_source == SESSION_POSE_DEVICE)
        return &job->item->frame.T_wc;
    *room = trajectory_last(session_trajectory(job->session), &last) ? last.T_wc : rigid_identity();
    return room;
}

bool tying_wants(struct job *job)
{
    struct tying_part *p = session_work(job->session)->tying;
    const struct tying_world *w;
    const struct rigid *T;
    struct rigid room;
    uint32_t n_seen;
    float far = 1;

    if (!p || job->item->submap >= API_SUBMAPS_MAX)
        return false;
    lock_take(&p->lock);
    n_seen = p->n_seen;
    lock_give(&p->lock);
    if (p->n - n_seen >= TYING_WAITING || is_mapped(job))
        return false;
    w = &p->worlds[job->item->submap];
    if (p->n >= (w->n < FEW ? TIES_KEYFRAMES : TIES_KEYFRAMES - FOR_FEW))
        return false;
    if (w->n < SOON)
        far = SOON_SHARE;
    else if (w->n >= FEW)
        for (uint32_t n = WIDER; n <= p->n; n += WIDER / 2)
            far *= 2;
    T = pose_of(&room, job);
    return w->n == 0 ||
           vec3_norm2(vec3_make(T->t[0] - w->last.t[0], T->t[1] - w->last.t[1],
                                T->t[2] - w->last.t[2])) > far * far * APART_M * APART_M ||
           angle(T, &w->last) > fminf(far, 4) * APART_RAD;
}

/* Room for a keyframe's grey picture and depth. */
static bool make_room(struct tying_waiting *w, size_t pixels)
{
    if (!w->grey)
        w->grey = malloc(DESCRIBE_PIXELS);
    if (w->pixels < pixels) {
        free(w->depth);
        w->depth = malloc(pixels * sizeof(*w->depth));
        w->pixels = w->depth ? pixels : 0;
    }
    return w->grey && w->depth;
}

void tying_keep(struct job *job)
{
    struct tying_part *p = session_work(job->session)->tying;
    struct tying_waiting *k = &p->waiting[p->n % TYING_WAITING];
    struct tying_world *w = &p->worlds[job->item->submap];
    struct describe_picture *picture = &k->picture;

    *picture = (struct describe_picture){
        .width = job->frame.width, .height = job->frame.height, .K = job->frame.K};
    session_get_net(job->session, &picture->depth_w, &picture->depth_h);
    if (!job->frame.depth_out || !make_room(k, (size_t)picture->depth_w * (size_t)picture->depth_h))
        return;
    describe_grey(picture, k->grey, job->frame.rgb);
    memcpy(k->depth, job->frame.depth_out,
           (size_t)picture->depth_w * (size_t)picture->depth_h * sizeof(*k->depth));
    picture->depth = k->depth;
    k->world = job->item->submap;
    k->cut = job->item->cut;
    k->T_wc = job->frame.result.T_wc;
    w->last = k->T_wc;
    w->n++;
    lock_take(&p->lock);
    p->n_kept = ++p->n;
    lock_give(&p->lock);
    tying_kick(p);
}

/* ------------------------------------------------------------------------- ties */

/* A world that begins with a jump or a cut lies where its poses have it: near that which it jumped
 * from, or as its path goes on. */
static bool claim(struct tying_part *p, const struct tying_waiting *k)
{
    int64_t parent = p->worlds[k->world].claimed ? -1 : session_world_before(p->session, k->world);
    double length = (double)session_setup(p->session)->options.submap_m;

    p->worlds[k->world].claimed = true;
    if (parent < 0)
        return false;
    ties_claim(p->ties, &(struct ties_claim){.world = k->world,
                                             .parent = (uint32_t)parent,
                                             .T_wc = k->T_wc,
                                             .sigma_m = k->cut ? CUT_M * length : JUMP_M,
                                             .sigma_rad = k->cut ? CUT_RAD * length : JUMP_RAD,
                                             .cut = k->cut});
    return true;
}

static bool moved(const struct api_submap *at, const struct rigid *T)
{
    struct rigid was;

    if (!at->placed || pose_from_numbers(&was, at->pose, PLACES_MAX_M, NULL))
        return true;
    return angle(&was, T) > MOVED_RAD ||
           vec3_norm2(vec3_make(was.t[0] - T->t[0], was.t[1] - T->t[1], was.t[2] - T->t[2])) >
               MOVED_M * MOVED_M;
}

/* Worlds that lie elsewhere now, or somewhere at last. */
static void place_all(struct tying_part *p, int n)
{
    struct places places = {.told = {false}};
    struct err err = {0};
    struct rigid T;
    int n_moved = 0;

    for (int i = 0; i < n; i++) {
        const struct api_submap *at = &p->list[i];
        const struct ties_place *place = &p->places[at->submap];

        if (!place->known || place->fixed)
            continue;
        small_to(&T, &place->T);
        if (!moved(at, &T))
            continue;
        pose_numbers(places.pose[at->submap], &T);
        places.told[at->submap] = p->worlds[at->submap].mine = true;
        n_moved++;
        if (!at->placed)
            LOG_AT(LOG_INFO, "session %s: submap %u is tied to its world", session_id(p->session),
                   (unsigned)at->submap);
    }
    if (!n_moved)
        return;
    session_tie_places(p->session, &places);
    if (store_session_write(p->session, &err))
        LOG_AT(LOG_WARNING, "session %s: places of submaps are not on the disk: %s",
               session_id(p->session), err.text);
    else
        session_tell_places(p->session, &places);
}

int tying_find_places(struct tying_part *p, bool all_fixed)
{
    int n = session_submaps(p->session, p->list);

    memset(p->places, 0, sizeof(p->places));
    for (int i = 0; i < TIES_WORLDS; i++)
        p->places[i].T = sim3_identity();
    p->places[0].fixed = true;
    for (int i = 0; i < n; i++) {
        const struct api_submap *at = &p->list[i];
        struct ties_place *place = &p->places[at->submap];
        struct rigid T;

        place->fixed = at->submap == 0 ||
                       (at->placed && (all_fixed || !at->tied || !p->worlds[at->submap].mine));
        if (place->fixed && pose_from_numbers(&T, at->pose, PLACES_MAX_M, NULL) == 0)
            small_from(&place->T, &T);
    }
    return n;
}

static void solve(struct tying_part *p)
{
    int n = tying_find_places(p, false);
    struct err err = {0};

    if (ties_solve(p->ties, p->places, &err))
        LOG_AT(LOG_WARNING, "session %s: %s", session_id(p->session), err.text);
    else
        place_all(p, n);
}

/* The world that began the chain of jumps and cuts that this one is of. */
static uint32_t root_of(struct session *s, uint32_t world)
{
    int before;

    while ((before = session_world_before(s, world)) >= 0)
        world = (uint32_t)before;
    return world;
}

/* Do poses say how the camera moved since the keyframe that was judged last? Poses that seem to
 * jump are judged as well: those of a wrong unit always do. */
static void judge(struct tying_part *p, const struct ties_keyframe *k)
{
    const struct ties_keyframe *last = p->n_described ? ties_room(p->ties, p->judged) : NULL;

    if (p->convention != CONVENTION_GIVEN || p->votes.n >= JUDGED_MOST)
        return;
    if (!last || root_of(p->session, last->world) != root_of(p->session, k->world) ||
        !confirm_pair(&p->confirmed, &last->seen, &k->seen)) {
        p->judged = p->n_described;
        return;
    }
    if (!convention_note(&p->votes, &p->confirmed.T_ba, &last->T_wc, &k->T_wc))
        return;
    p->judged = p->n_described;
    p->convention = convention_of(&p->votes);
    if (p->convention == CONVENTION_GIVEN)
        return;
    session_set_bad_pose(p->session, convention_text(p->convention));
    LOG_AT(LOG_WARNING, "session %s: %s (%u of %u moves agree, %u as they came)",
           session_id(p->session), convention_text(p->convention),
           (unsigned)p->votes.of[p->convention], (unsigned)p->votes.n,
           (unsigned)p->votes.of[CONVENTION_GIVEN]);
}

/* Describes the keyframe that came first, and compares it. Returns whether there was memory. */
static bool next(struct tying *t, struct tying_part *p)
{
    const struct tying_waiting *w = &p->waiting[p->n_seen % TYING_WAITING];
    struct ties_keyframe *k = ties_room(p->ties, p->n_described);
    bool more;

    if (!k)
        return false;
    k->world = w->world;
    k->T_wc = w->T_wc;
    describe_picture(&k->seen, &t->room, &w->picture);
    if (!tying_ties(&session_setup(p->session)->options))
        return true;
    judge(p, k);
    more = claim(p, w);
    more = ties_next(p->ties, p->n_described) || more;
    if (more)
        solve(p);
    return true;
}

static void serve(void *ctx, int thread, struct turn_entry *e)
{
    struct tying *t = ctx;
    struct tying_part *p = e ? CONTAINER_OF(e, struct tying_part, turn) : NULL;
    struct session *s;
    uint32_t n;

    (void)thread;
    if (!p)
        return;
    /* On Linux a thread has a niceness of its own. */
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    s = p->session;
    lock_take(&p->lock);
    n = p->n_kept - p->n_seen;
    lock_give(&p->lock);
    if (n == 0 && !session_dead(s)) {
        n += tying_step_bundle(p);
    } else if (!session_dead(s)) {
        bool described = next(t, p);

        lock_take(&p->lock);
        p->n_seen++;
        p->n_described += described;
        n += p->bundle;
        lock_give(&p->lock);
        n--;
    }
    if (turn_done(t->pool.turns, e, n && !session_dead(s)))
        session_unref(s);
}

/* ------------------------------------------------------------------------- lives */

int tying_start(struct tying **tying, void (*ended)(struct session *s), struct err *err)
{
    struct tying *t = calloc(1, sizeof(*t));
    int rc;

    *tying = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory to tie worlds");
    t->ended = ended;
    rc = turn_pool_start(&t->pool, 1, "ties", serve, t, err);
    if (rc)
        tying_free(tying);
    return rc;
}

void tying_stop(struct tying *t)
{
    struct turn_entry *e;

    turn_pool_stop(&t->pool);
    while (t->pool.turns && (e = turn_drop(t->pool.turns)))
        session_unref(CONTAINER_OF(e, struct tying_part, turn)->session);
}

void tying_free(struct tying **tying)
{
    struct tying *t = *tying;

    if (!t)
        return;
    tying_stop(t);
    turn_pool_free(&t->pool);
    free(t);
    *tying = NULL;
}

size_t tying_bytes(const struct session_options *o)
{
    size_t pixels = (size_t)o->net_w * (size_t)o->net_h;

    if (!tying_keeps(o))
        return 0;
    return ties_bytes() + sizeof(struct tying_part) +
           TYING_WAITING * (DESCRIBE_PIXELS + pixels * sizeof(float));
}

int tying_adopt(struct tying *t, struct session *s, struct tying_part **part, struct err *err)
{
    struct tying_part *p;
    int rc;

    *part = NULL;
    if (!t || !tying_keeps(&session_setup(s)->options))
        return 0;
    p = calloc(1, sizeof(*p));
    rc = p ? ties_new(&p->ties, err) : err_set(err, ERR_MEMORY, "no memory for a session's ties");
    if (rc) {
        free(p);
        return rc;
    }
    p->session = s;
    p->tying = t;
    lock_init(&p->lock, LOCK_TYING);
    *part = p;
    return 0;
}

/* ------------------------------------------------------------------------- as bytes */

size_t tying_state_bytes(struct session *s)
{
    struct tying_part *p = session_work(s)->tying;

    if (!p)
        return 0;
    lock_take(&p->lock);
    p->n_saved = p->n_described;
    lock_give(&p->lock);
    return p->n_saved ? SECTION_HEAD_BYTES + SECTION_ALIGN + ties_state_bytes(p->n_saved) : 0;
}

int tying_save(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct tying_part *p = session_work(s)->tying;

    *len = 0;
    return p && p->n_saved ? ties_save(p->ties, p->n_saved, buf, cap, len, err) : 0;
}

/* Keyframes of each world, and whether it has to be claimed, follow from what was kept. */
static void count_again(struct tying_part *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ties_keyframe *k = ties_room(p->ties, i);
        struct tying_world *w = &p->worlds[k->world];

        w->last = k->T_wc;
        w->n++;
        w->claimed = w->mine = true;
    }
    p->n = p->n_kept = p->n_seen = p->n_described = n;
}

int tying_load(struct session *s, const uint8_t *buf, size_t len, struct err *err)
{
    struct tying_part *p = session_work(s)->tying;
    uint32_t n;
    int rc;

    if (!p)
        return 0;
    rc = ties_load(p->ties, &n, buf, len, err);
    if (rc == 0)
        count_again(p, n);
    return rc;
}

void tying_disown(struct tying_part **part)
{
    struct tying_part *p = *part;

    if (!p)
        return;
    for (int i = 0; i < TYING_WAITING; i++) {
        free(p->waiting[i].grey);
        free(p->waiting[i].depth);
    }
    bundling_free(&p->bundling);
    ties_free(&p->ties);
    lock_destroy(&p->lock);
    free(p);
    *part = NULL;
}

uint64_t tying_alive_us(const struct tying *t)
{
    return turn_pool_alive_us(&t->pool);
}
