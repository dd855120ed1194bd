#include "daemon/work/loop_closure_internal.h"

#include "daemon/log.h"
#include "daemon/session/places.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_info.h"
#include "daemon/session/session_sources.h"
#include "daemon/session/session_submaps.h"
#include "gpu/tie/small.h"
#include "proto/geom/pose.h"
#include "proto/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A keyframe moved or rotated so far from its submap's last one. The first few of a submap come
 * sooner: a submap has to be tied before it can be shown. */
#define APART_M 0.1f
#define APART_RAD 0.12f
#define SOON 3
#define SOON_SHARE 0.2f
/* From each of these numbers of keyframes on they stand twice as far apart, and the last quarter is
 * for submaps that have few. */
#define WIDER 128
#define FEW 24
#define FOR_FEW (TIES_KEYFRAMES / 4)
/* The claimed uncertainty of a submap that began with a jump: it may lie anywhere near. */
#define JUMP_M 1.0
#define JUMP_RAD 0.5
/* The claimed error of a submap that was cut off: a share of the length of its path. */
#define CUT_M 0.02
#define CUT_RAD 0.002
#define JUDGED_MOST 60 /* moves after which no convention is searched for any more */
/* Clients are told of a submap that moved by more than this. */
#define MOVED_M 0.002f
#define MOVED_RAD 0.001f

/* Does the session tie its submaps? */
static bool has_ties(const struct session_options *o)
{
    return o->kind == SESSION_MONO && o->ties == SESSION_TIES_ON &&
           o->pose_source == SESSION_POSE_DEVICE;
}

static bool keeps_keyframes(const struct session_options *o)
{
    return has_ties(o) || (o->kind == SESSION_MONO && o->bundle == SESSION_BUNDLE_ON);
}

/* ------------------------------------------------------------------------- keyframes */

/* Does its depth come from another camera than its picture (lens.h)? */
static bool is_mapped(const struct job *job)
{
    const struct queue_item *item = job->item;
    int w, h;

    session_get_net(job->session, &w, &h);
    return lens_map_make(&item->frame.lens, item->K, item->width, item->height, w, h).mapped != 0;
}

/* Returns the frame's pose or, where it is not known yet, the one before it. */
static const struct rigid *pose_of(struct rigid *room, const struct job *job)
{
    struct session_pose last;

    if (session_setup(job->session)->options.pose_source == SESSION_POSE_DEVICE)
        return &job->item->frame.T_wc;
    *room = trajectory_last(session_trajectory(job->session), &last) ? last.T_wc : rigid_identity();
    return room;
}

bool loop_closure_wants(struct job *job)
{
    struct loop_closure *p = session_work(job->session)->loops;
    const struct loop_closure_submap *w;
    const struct rigid *T;
    struct rigid room;
    float far = 1;

    if (!p || job->item->submap >= API_SUBMAPS_MAX)
        return false;
    if (p->n - atomic_load(&p->n_seen) >= LOOP_CLOSURE_WAITING || is_mapped(job))
        return false;
    w = &p->submaps[job->item->submap];
    if (p->n >= (w->n < FEW ? TIES_KEYFRAMES : TIES_KEYFRAMES - FOR_FEW))
        return false;
    if (w->n < SOON)
        far = SOON_SHARE;
    else if (w->n >= FEW)
        for (uint32_t n = WIDER; n <= p->n; n += WIDER / 2)
            far *= 2;
    T = pose_of(&room, job);
    return w->n == 0 || pose_distance2(T, &w->last) > far * far * APART_M * APART_M ||
           pose_angle(T, &w->last) > fminf(far, 4) * APART_RAD;
}

/* Reserves a keyframe's grey picture and depth. */
static bool make_room(struct loop_closure_waiting *w, size_t pixels)
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

void loop_closure_keep(struct job *job)
{
    struct loop_closure *p = session_work(job->session)->loops;
    struct loop_closure_waiting *k = &p->waiting[p->n % LOOP_CLOSURE_WAITING];
    struct loop_closure_submap *w = &p->submaps[job->item->submap];
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
    k->submap = job->item->submap;
    k->cut = job->item->cut;
    k->T_wc = job->frame.result.T_wc;
    w->last = k->T_wc;
    w->n++;
    atomic_store(&p->n_kept, ++p->n);
    later_kick(p->task);
}

/* ------------------------------------------------------------------------- ties */

/* Claims a place for a submap that begins with a jump or a cut, by its poses: near the submap that
 * it jumped from, or as its path continues. */
static bool submap_claim(struct loop_closure *p, const struct loop_closure_waiting *k)
{
    int64_t parent =
        p->submaps[k->submap].claimed ? -1 : session_submap_before(p->session, k->submap);
    double length = (double)session_setup(p->session)->options.submap_m;

    p->submaps[k->submap].claimed = true;
    if (parent < 0)
        return false;
    ties_claim(p->ties, &(struct ties_claim){.world = k->submap,
                                             .parent = (uint32_t)parent,
                                             .T_wc = k->T_wc,
                                             .sigma_m = k->cut ? CUT_M * length : JUMP_M,
                                             .sigma_rad = k->cut ? CUT_RAD * length : JUMP_RAD,
                                             .cut = k->cut});
    return true;
}

static bool submap_moved(const struct api_submap *at, const struct rigid *T)
{
    struct rigid was;

    if (!at->placed || pose_from_numbers(&was, at->pose, PLACES_MAX_M, NULL))
        return true;
    return pose_angle(&was, T) > MOVED_RAD || pose_distance2(&was, T) > MOVED_M * MOVED_M;
}

/* Sets the submaps that moved or were placed. */
static void place_all(struct loop_closure *p, int n)
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
        if (!submap_moved(at, &T))
            continue;
        pose_numbers(places.pose[at->submap], &T);
        places.told[at->submap] = p->submaps[at->submap].mine = true;
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

/* Fills p->places and p->list with the places so far; places by ties are fixed if all_fixed.
 * Returns how many there are. */
static int find_places(struct loop_closure *p, bool all_fixed)
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
                       (at->placed && (all_fixed || !at->tied || !p->submaps[at->submap].mine));
        if (place->fixed && pose_from_numbers(&T, at->pose, PLACES_MAX_M, NULL) == 0)
            small_from(&place->T, &T);
    }
    return n;
}

static void ties_solve_places(struct loop_closure *p)
{
    int n = find_places(p, false);
    struct err err = {0};

    if (ties_solve(p->ties, p->places, &err))
        LOG_AT(LOG_WARNING, "session %s: %s", session_id(p->session), err.text);
    else
        place_all(p, n);
}

/* Returns the first submap of this one's chain of jumps and cuts. */
static uint32_t submap_root(struct session *s, uint32_t submap)
{
    int before;

    while ((before = session_submap_before(s, submap)) >= 0)
        submap = (uint32_t)before;
    return submap;
}

/* Do poses tell how the camera moved since the last judged keyframe? Poses that seem to jump are
 * judged as well: those of a wrong unit always do. */
static void poses_judge(struct loop_closure *p, const struct ties_keyframe *k)
{
    const struct tie_params *params = ties_params(p->ties);
    const struct ties_keyframe *last = p->n_described ? ties_room(p->ties, p->judged) : NULL;

    if (p->convention != CONVENTION_GIVEN || p->votes.n >= JUDGED_MOST)
        return;
    if (!last || submap_root(p->session, last->world) != submap_root(p->session, k->world) ||
        !confirm_pair(&p->confirmed, &last->seen, &k->seen, params)) {
        p->judged = p->n_described;
        return;
    }
    if (!convention_note(&p->votes, &p->confirmed.T_ba, &last->T_wc, &k->T_wc, params))
        return;
    p->judged = p->n_described;
    p->convention = convention_of(&p->votes, params);
    if (p->convention == CONVENTION_GIVEN)
        return;
    session_set_bad_pose(p->session, convention_text(p->convention));
    LOG_AT(LOG_WARNING, "session %s: %s (%u of %u moves agree, %u as they came)",
           session_id(p->session), convention_text(p->convention),
           (unsigned)p->votes.of[p->convention], (unsigned)p->votes.n,
           (unsigned)p->votes.of[CONVENTION_GIVEN]);
}

_Static_assert(sizeof(struct describe_room) <= LATER_ROOM_BYTES, "a slice has room to describe");

/* Describes the oldest keyframe, and compares it. Returns false without memory. */
static bool describe_next(struct loop_closure *p, struct describe_room *room)
{
    const struct loop_closure_waiting *w =
        &p->waiting[atomic_load(&p->n_seen) % LOOP_CLOSURE_WAITING];
    struct ties_keyframe *k = ties_room(p->ties, p->n_described);
    bool more;

    if (!k)
        return false;
    k->world = w->submap;
    k->T_wc = w->T_wc;
    describe_picture(&k->seen, room, &w->picture, ties_params(p->ties));
    if (!has_ties(&session_setup(p->session)->options))
        return true;
    poses_judge(p, k);
    more = submap_claim(p, w);
    more = ties_next(p->ties, p->n_described) || more;
    if (more)
        ties_solve_places(p);
    return true;
}

/* ------------------------------------------------------------------------- the bundle */

bool loop_closure_is_to_bundle(struct session *s)
{
    const struct session_work *k = session_work(s);

    return k->loops && (k->kept.bundle == SESSION_WORK_BUNDLING ||
                        (session_setup(s)->options.bundle == SESSION_BUNDLE_ON &&
                         k->kept.bundle != SESSION_WORK_BUNDLED));
}

bool loop_closure_bundle(struct session *s)
{
    struct loop_closure *p = session_work(s)->loops;

    if (!p || atomic_load(&p->n_kept) == 0) {
        session_set_bundle(s, false);
        return false;
    }
    if (!atomic_exchange(&p->bundle, true)) {
        session_tell_bundle(s, &(struct api_bundle){.state = API_BUNDLE_RUNNING});
        later_kick(p->task);
    }
    return true;
}

void loop_closure_give_up(struct session *s)
{
    struct loop_closure *p = session_work(s)->loops;

    if (p)
        atomic_store(&p->bundle, false);
    session_set_bundle(s, false);
}

/* Runs one step of the bundle. Returns whether more follow. */
static bool step_bundle(struct loop_closure *p)
{
    struct err err = {0};

    if (!p->bundling) {
        find_places(p, true);
        if (bundling_new(&p->bundling, p->session, p->ties, p->n_described, p->places, &err)) {
            LOG_AT(LOG_WARNING, "session %s: %s", session_id(p->session), err.text);
            session_tell_bundle(p->session, &(struct api_bundle){.state = API_BUNDLE_FAILED});
            return false;
        }
    }
    if (bundling_step(p->bundling))
        return true;
    bundling_free(&p->bundling);
    return false;
}

/* ------------------------------------------------------------------------- slices */

/* Works on a keyframe or, when all are described, on a step of the bundle that was asked for. */
static bool run_slice(void *session, void *room)
{
    struct session *s = session;
    struct loop_closure *p = session_work(s)->loops;

    if (session_dead(s))
        return false;
    if (atomic_load(&p->n_kept) != atomic_load(&p->n_seen)) {
        atomic_fetch_add(&p->n_described, describe_next(p, room));
        atomic_fetch_add(&p->n_seen, 1);
        return atomic_load(&p->bundle) || atomic_load(&p->n_kept) != atomic_load(&p->n_seen);
    }
    if (!atomic_load(&p->bundle) || step_bundle(p))
        return atomic_load(&p->bundle);
    atomic_store(&p->bundle, false);
    session_set_bundle(s, false);
    session_work(s)->ops->settle(s); /* the session may have waited for the bundle alone */
    return false;
}

/* ------------------------------------------------------------------------- lives */

size_t loop_closure_bytes(const struct session_options *o)
{
    size_t pixels = (size_t)o->net_w * (size_t)o->net_h;

    if (!keeps_keyframes(o))
        return 0;
    return ties_bytes() + sizeof(struct loop_closure) +
           LOOP_CLOSURE_WAITING * (DESCRIBE_PIXELS + pixels * sizeof(float));
}

int loop_closure_adopt(struct later *later, struct session *s, struct loop_closure **part,
                       struct err *err)
{
    static const struct later_kind kind = {"ties", run_slice, .hold = session_work_hold,
                                           .let_go = session_work_let_go};
    const struct session_setup *setup = session_setup(s);
    struct tie_params params;
    struct loop_closure *p;
    int rc;

    *part = NULL;
    if (!later || !keeps_keyframes(&setup->options))
        return 0;
    *part = p = calloc(1, sizeof(*p));
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a session's ties");
    p->session = s;
    params_fill(&params, &tie_params_stage, setup->depth ? &setup->depth->overrides : NULL,
                setup->motion ? &setup->motion->overrides : NULL);
    rc = ties_new(&p->ties, &params, err);
    if (rc == 0)
        rc = later_new(later, &p->task, &kind, s, NULL, err);
    if (rc)
        loop_closure_disown(part);
    return rc;
}

/* ------------------------------------------------------------------------- as bytes */

/* Chooses what the next keyframes_save() writes. */
static size_t keyframes_bytes(struct session *s)
{
    struct loop_closure *p = session_work(s)->loops;

    if (!p)
        return 0;
    p->n_saved = atomic_load(&p->n_described);
    return p->n_saved ? ties_state_bytes(p->n_saved) : 0;
}

static int keyframes_save(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct loop_closure *p = session_work(s)->loops;

    *len = 0;
    return p && p->n_saved ? ties_save(p->ties, p->n_saved, buf, cap, len, err) : 0;
}

/* Each submap's keyframes, and whether it is claimed, follow from the checkpoint. */
static void count_again(struct loop_closure *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ties_keyframe *k = ties_room(p->ties, i);
        struct loop_closure_submap *w = &p->submaps[k->world];

        w->last = k->T_wc;
        w->n++;
        w->claimed = w->mine = true;
    }
    p->n = n;
    atomic_store(&p->n_kept, n);
    atomic_store(&p->n_seen, n);
    atomic_store(&p->n_described, n);
}

static int keyframes_load(struct session *s, const struct section *in, struct err *err)
{
    struct loop_closure *p = session_work(s)->loops;
    uint32_t n;
    int rc;

    if (!p)
        return 0;
    rc = ties_load(p->ties, &n, in->body, in->len, err);
    if (rc == 0)
        count_again(p, n);
    return rc;
}

const struct state_section loop_closure_state = {.tag = SECTION_TAG('D', 'T', 'I', 'E'),
                                                 .version = 1,
                                                 .flags = SECTION_OPTIONAL,
                                                 .bytes = keyframes_bytes,
                                                 .save = keyframes_save,
                                                 .load = keyframes_load};

void loop_closure_disown(struct loop_closure **part)
{
    struct loop_closure *p = *part;

    if (!p)
        return;
    for (int i = 0; i < LOOP_CLOSURE_WAITING; i++) {
        free(p->waiting[i].grey);
        free(p->waiting[i].depth);
    }
    later_free(&p->task);
    bundling_free(&p->bundling);
    ties_free(&p->ties);
    free(p);
    *part = NULL;
}
