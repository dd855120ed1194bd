#include "daemon/work/bundling.h"

#include "daemon/log.h"
#include "daemon/session/session_frames.h"
#include "daemon/session/session_info.h"
#include "daemon/session/session_sources.h"
#include "gpu/tie/bundle.h"
#include "gpu/tie/small.h"
#include "proto/geom/octa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP_NS 10000000 /* between two checks of the disk */
#define POINTS 2048     /* points of one step */
#define ROWS 512
#define DEPTH_REL 0.05f /* relative error that a point's depth may have against a keyframe's */
#define UNSEEN 1e-6f    /* weight of a keyframe that does not see a point */
#define PLACE_MOST 2147483000.0 /* steps: a point that would move farther stays */
#define EDGE 0.1f /* share of the picture within which a keyframe's weight grows from 0 */

/* How a keyframe moves: C takes its old world to its new one. */
struct moved {
    struct rigid was, is, back, C; /* back: world to the old camera */
    int64_t row;                   /* row of the trajectory, -1: none */
};

struct bundling {
    struct session *session;
    struct ties *ties;
    struct bundle *bundle;
    uint32_t n;
    int step;      /* of steps[] */
    bool is_moved; /* the keyframes moved */
    bool writing;
    uint64_t revision;
    uint32_t slot; /* next slot of the cloud */
    uint64_t row;  /* next row of the trajectory */
    uint32_t k;    /* keyframe whose row is searched for */
    struct moved moved[TIES_KEYFRAMES];
    struct mirror_point points[POINTS];
    struct session_pose rows[ROWS];
    struct rigid T_wc[ROWS];
};

int bundling_new(struct bundling **out, struct session *s, struct ties *t, uint32_t n,
                 const struct ties_place *place, struct err *err)
{
    struct bundling *b = calloc(1, sizeof(*b));
    int rc;

    *out = NULL;
    if (!b)
        return err_set(err, ERR_MEMORY, "no memory to bundle a session");
    rc = bundle_new(&b->bundle, t, n, place, err);
    if (rc) {
        free(b);
        return rc;
    }
    b->session = s;
    b->ties = t;
    b->n = n;
    *out = b;
    return 0;
}

void bundling_free(struct bundling **bundling)
{
    if (*bundling)
        bundle_free(&(*bundling)->bundle);
    free(*bundling);
    *bundling = NULL;
}

/* ------------------------------------------------------------------------- the disk */

static void disk_nap(void)
{
    const struct timespec t = {.tv_nsec = NAP_NS};

    nanosleep(&t, NULL);
}

/* Each step returns 1: it is done; 0: it goes on; -1: there is no disk for it. */
static int save_frames(struct bundling *b)
{
    if (!session_disk(b->session))
        return 1;
    if (store_settled(b->session)) {
        session_work(b->session)->kept.bundle = SESSION_WORK_BUNDLING;
        return 1;
    }
    session_work_save(b->session, false);
    disk_nap();
    return 0;
}

static int save_all(struct bundling *b)
{
    struct err err = {0};
    int rc;

    if (!session_disk(b->session))
        return 1;
    if (!b->writing) {
        rc = store_save_again(b->session, &err);
        b->writing = rc == 0;
        if (rc && rc != ERR_BUSY) {
            LOG_AT(LOG_WARNING, "session %s: it cannot be saved: %s", session_id(b->session),
                   err.text);
            return -1;
        }
    }
    rc = b->writing ? store_saved_again(b->session) : 0;
    if (rc == 0)
        disk_nap();
    else
        b->writing = false;
    return rc;
}

/* ------------------------------------------------------------------------- points */

static struct ties_keyframe *bundling_keyframe(const struct bundling *b, uint32_t k)
{
    return ties_room(b->ties, k);
}

/* (W13) Returns the weight of a keyframe for a point. */
static float point_weight(const struct moved *m, const struct describe_keyframe *seen,
                          struct vec3 p)
{
    struct vec3 c = rigid_apply(&m->back, p);
    float w = UNSEEN / (1 + vec3_norm2(c)), x, y, in, depth, off;

    if (!(c.z > 0.05f))
        return w;
    x = (seen->K.fx * c.x / c.z + seen->K.cx + 0.5f) / (float)seen->w;
    y = (seen->K.fy * c.y / c.z + seen->K.cy + 0.5f) / (float)seen->h;
    in = fminf(fminf(x, 1 - x), fminf(y, 1 - y)) / EDGE;
    if (!(in > 0))
        return w;
    depth = seen->depth[(int)(y * DESCRIBE_GRID_H) * DESCRIBE_GRID_W + (int)(x * DESCRIBE_GRID_W)];
    if (!(depth > 0))
        return w;
    off = (c.z - depth) / (DEPTH_REL * depth);
    off = 1 / (1 + off * off);
    return w + fminf(in, 1) * off * off;
}

/* Moves a point. Returns whether it changed. */
static bool move_point(struct bundling *b, struct mirror_point *p, float step)
{
    const struct vec3 at = {(float)p->p_q[0] * step, (float)p->p_q[1] * step,
                            (float)p->p_q[2] * step};
    double sum[3] = {0, 0, 0}, all = 0, to_q[3];
    const struct moved *most = NULL;
    float best = 0;
    bool moves = false;

    for (uint32_t k = 0; k < b->n; k++) {
        const struct ties_keyframe *key = bundling_keyframe(b, k);
        const struct moved *m = &b->moved[k];
        struct vec3 to;
        float w;

        if (key->world != p->submap)
            continue;
        w = point_weight(m, &key->seen, at);
        to = rigid_apply(&m->C, at);
        sum[0] += (double)w * (double)(to.x - at.x);
        sum[1] += (double)w * (double)(to.y - at.y);
        sum[2] += (double)w * (double)(to.z - at.z);
        all += (double)w;
        if (w > best)
            best = w, most = m;
    }
    for (int i = 0; most && i < 3; i++) {
        to_q[i] = round((double)p->p_q[i] + sum[i] / all / (double)step);
        if (!(fabs(to_q[i]) < PLACE_MOST))
            return false;
        moves = moves || to_q[i] != (double)p->p_q[i];
    }
    for (int i = 0; moves && i < 3; i++)
        p->p_q[i] = (int32_t)to_q[i];
    if (moves && p->look.normal) {
        struct rigid rotation = most->C;

        rotation.t[0] = rotation.t[1] = rotation.t[2] = 0;
        p->look.normal = octa_encode(rigid_apply(&rotation, octa_decode(p->look.normal)), 1);
    }
    return moves;
}

/* Moves the next points of the cloud. */
static int move_points(struct bundling *b)
{
    struct session *s = b->session;
    float step = session_setup(s)->options.step_m;
    uint32_t before = b->slot, n_moved = 0, n;
    struct mirror_commit commit;

    if (!b->is_moved)
        return 1;
    n = mirror_get_points(session_mirror(s), &b->slot, b->points, POINTS);
    for (uint32_t i = 0; i < n; i++)
        if (move_point(b, &b->points[i], step))
            b->points[n_moved++] = b->points[i];
    if (n_moved) {
        mirror_move_points(session_mirror(s), b->points, n_moved, &commit);
        metrics_add(session_setup(s)->metrics, METRICS_POINTS_LEFT_OUT, commit.n_left_out);
        session_publish_moved(s, &commit);
        b->revision = commit.revision;
    }
    return b->slot == before;
}

/* ------------------------------------------------------------------------- the path */

/* Reads the next rows of the trajectory; returns 0 at its end, after which it begins again. */
static int next_rows(struct bundling *b)
{
    int n =
        b->is_moved ? trajectory_read(session_trajectory(b->session), b->row, b->rows, ROWS) : 0;

    if (n == 0)
        b->row = 0;
    return n;
}

/* Finds the keyframes' rows in the trajectory by their poses, in order. */
static int find_rows(struct bundling *b)
{
    int n = next_rows(b);

    for (int i = 0; i < n; i++)
        for (uint32_t k = b->k; k < b->n; k++) {
            if (b->rows[i].submap != bundling_keyframe(b, k)->world ||
                memcmp(&b->rows[i].T_wc, &b->moved[k].was, sizeof(b->moved[k].was)) != 0)
                continue;
            b->moved[k].row = (int64_t)b->row + i;
            b->k = k + 1;
            break;
        }
    b->row += (uint64_t)n;
    return n == 0;
}

/* Interpolates a pose between two corrections, `share` of the way from the first to the second. */
static void pose_between(struct rigid *T, const struct moved *a, const struct moved *b,
                         double share)
{
    struct sim3 A, B, C, by;
    double d[6];

    small_from(&by, T);
    small_from(&C, &a->C);
    small_mul(&A, &C, &by);
    small_from(&C, &b->C);
    small_mul(&B, &C, &by);
    small_inverse(&by, &A);
    small_mul(&by, &B, &by);
    small_log(d, &by);
    for (int i = 0; i < 3; i++) {
        d[i] *= share;
        d[3 + i] = 0;
    }
    by = A;
    memset(by.t, 0, sizeof(by.t));
    small_move(&by, d);
    for (int i = 0; i < 3; i++)
        by.t[i] = A.t[i] + share * (B.t[i] - A.t[i]);
    small_to(T, &by);
}

static void move_row(const struct bundling *b, const struct session_pose *pose, int64_t row,
                     struct rigid *T)
{
    const struct moved *before = NULL, *after = NULL;

    *T = pose->T_wc;
    for (uint32_t k = 0; k < b->n && !after; k++) {
        const struct moved *m = &b->moved[k];

        if (m->row < 0 || bundling_keyframe(b, k)->world != pose->submap)
            continue;
        if (m->row <= row)
            before = m;
        if (m->row >= row)
            after = m;
    }
    if (before && before->row == row)
        *T = before->is;
    else if (before && after)
        pose_between(T, before, after,
                     (double)(row - before->row) / (double)(after->row - before->row));
    else if (before || after)
        pose_between(T, before ? before : after, before ? before : after, 0);
}

/* Moves the frames of the path, then the keyframes themselves. */
static int move_rows(struct bundling *b)
{
    int n = next_rows(b);

    for (int i = 0; i < n; i++)
        move_row(b, &b->rows[i], (int64_t)b->row + i, &b->T_wc[i]);
    if (n)
        session_correct_poses(b->session, (uint32_t)b->row, b->T_wc, (uint32_t)n, b->revision);
    b->row += (uint64_t)n;
    for (uint32_t k = 0; n == 0 && b->is_moved && k < b->n; k++)
        bundling_keyframe(b, k)->T_wc = b->moved[k].is;
    return n == 0;
}

/* ------------------------------------------------------------------------- steps */

static void bundling_tell(struct bundling *b, enum api_bundle_state state)
{
    struct bundle_result r;

    bundle_tell(b->bundle, &r);
    session_tell_bundle(b->session,
                        &(struct api_bundle){state, r.n_keyframes, r.n_pairs, r.moved_m});
}

static void bundling_end(struct bundling *b, bool is_saved)
{
    static const enum api_bundle_state states[] = {
        [BUNDLE_UNSEEN] = API_BUNDLE_UNSEEN,     [BUNDLE_RIGHT] = API_BUNDLE_RIGHT,
        [BUNDLE_CONTRARY] = API_BUNDLE_CONTRARY, [BUNDLE_CORRECTED] = API_BUNDLE_CORRECTED,
        [BUNDLE_NO_MEMORY] = API_BUNDLE_FAILED,
    };
    struct bundle_result r;

    bundle_tell(b->bundle, &r);
    bundling_tell(b, is_saved ? states[r.end] : API_BUNDLE_FAILED);
    LOG_AT(LOG_INFO,
           "session %s: bundled, %s: %u keyframes, %u pairs, %.2f to %.2f deviations, moved by "
           "%.3f m at most",
           session_id(b->session), api_bundle_state_name(states[r.end]), (unsigned)r.n_keyframes,
           (unsigned)r.n_pairs, (double)r.off_before, (double)r.off_after, (double)r.moved_m);
}

/* Compares keyframes; at the end computes how they move. */
static int bundling_compare(struct bundling *b)
{
    struct bundle_result r;

    if (bundle_step(b->bundle))
        return 0;
    bundle_tell(b->bundle, &r);
    session_work(b->session)->kept.bundle = SESSION_WORK_BUNDLED;
    b->is_moved = r.end == BUNDLE_CORRECTED;
    for (uint32_t k = 0; b->is_moved && k < b->n; k++) {
        struct moved *m = &b->moved[k];

        m->was = bundling_keyframe(b, k)->T_wc;
        bundle_pose(b->bundle, k, &m->is);
        m->back = rigid_inverse(&m->was);
        m->C = rigid_mul(&m->is, &m->back);
        m->row = -1;
    }
    return 1;
}

bool bundling_step(struct bundling *b)
{
    static int (*const steps[])(struct bundling * b) = {
        save_frames, save_all, bundling_compare, move_points, find_rows, move_rows, save_all};
    int rc;

    if (session_dead(b->session))
        return false;
    bundling_tell(b, API_BUNDLE_RUNNING);
    rc = steps[b->step](b);
    b->step += rc > 0;
    if (rc >= 0 && b->step < (int)(sizeof(steps) / sizeof(steps[0])))
        return true;
    bundling_end(b, rc > 0);
    return false;
}
