#include "daemon/session/trajectory.h"

#include "proto/bytes.h"
#include "proto/lock.h"

#include <math.h>
#include <stdlib.h>

#define MAGIC 0x4a525452u /* "RTRJ" */
#define HEAD_BYTES 8u     /* magic, number of poses */
#define POSE_BYTES 72u    /* seq u64 | t_capture_ns u64 | T_wc 12 f32 | source u32 | submap u32 */

#define PIECE 1024
#define PIECES (TRAJECTORY_MAX / PIECE)

struct trajectory {
    struct lock lock;
    uint32_t n;
    struct session_pose *pieces[PIECES];
};

int trajectory_new(struct trajectory **trajectory, struct err *err)
{
    struct trajectory *t = calloc(1, sizeof(*t));

    *trajectory = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for a trajectory");
    lock_init(&t->lock, LOCK_TRAJECTORY);
    return 0;
}

void trajectory_free(struct trajectory **trajectory)
{
    struct trajectory *t = *trajectory;

    if (!t)
        return;
    for (uint32_t i = 0; i < PIECES; i++)
        free(t->pieces[i]);
    lock_destroy(&t->lock);
    free(t);
    *trajectory = NULL;
}

int trajectory_append(struct trajectory *t, const struct session_pose *pose, struct err *err)
{
    struct session_pose **piece;
    int rc = 0;

    lock_take(&t->lock);
    piece = &t->pieces[t->n / PIECE % PIECES];
    if (t->n == TRAJECTORY_MAX)
        rc = err_set(err, ERR_LIMIT, "a trajectory holds at most %u poses", TRAJECTORY_MAX);
    else if (!*piece && !(*piece = malloc(PIECE * sizeof(**piece))))
        rc = err_set(err, ERR_MEMORY, "no memory for %d more poses", PIECE);
    else
        (*piece)[t->n++ % PIECE] = *pose;
    lock_give(&t->lock);
    return rc;
}

int trajectory_read(struct trajectory *t, uint64_t first, struct session_pose *poses, int cap)
{
    int n = 0;

    lock_take(&t->lock);
    for (; n < cap && first < t->n; n++, first++)
        poses[n] = t->pieces[first / PIECE][first % PIECE];
    lock_give(&t->lock);
    return n;
}

bool trajectory_last(struct trajectory *t, struct session_pose *pose)
{
    bool any;

    lock_take(&t->lock);
    any = t->n > 0;
    if (any)
        *pose = t->pieces[(t->n - 1) / PIECE][(t->n - 1) % PIECE];
    lock_give(&t->lock);
    return any;
}

uint32_t trajectory_correct(struct trajectory *t, uint32_t first, const struct rigid *T_wc,
                            uint32_t n)
{
    uint32_t done = 0;

    lock_take(&t->lock);
    for (; done < n && first + done < t->n; done++)
        t->pieces[(first + done) / PIECE][(first + done) % PIECE].T_wc = T_wc[done];
    lock_give(&t->lock);
    return done;
}

size_t trajectory_state_bytes(struct trajectory *t)
{
    size_t n;

    lock_take(&t->lock);
    n = t->n;
    lock_give(&t->lock);
    return HEAD_BYTES + n * POSE_BYTES;
}

static void put_pose(struct bytes_writer *w, const struct session_pose *p)
{
    bytes_put_u64(w, p->seq);
    bytes_put_u64(w, p->t_capture_ns);
    for (int i = 0; i < 9; i++)
        bytes_put_f32(w, p->T_wc.r[i]);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(w, p->T_wc.t[i]);
    bytes_put_u32(w, p->source);
    bytes_put_u32(w, p->submap);
}

int trajectory_save(struct trajectory *t, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct bytes_writer w = bytes_writer(buf, cap);

    lock_take(&t->lock);
    bytes_put_u32(&w, MAGIC);
    bytes_put_u32(&w, t->n);
    for (uint32_t i = 0; i < t->n && !w.bad; i++)
        put_pose(&w, &t->pieces[i / PIECE][i % PIECE]);
    lock_give(&t->lock);
    *len = w.bad ? 0 : w.at;
    return w.bad ? err_set(err, ERR_LIMIT, "a trajectory does not fit %zu bytes", cap) : 0;
}

/* Returns 1, or 0 if a number of the pose is not finite. */
static int get_pose(struct bytes_reader *r, struct session_pose *p)
{
    int ok = 1;

    p->seq = bytes_get_u64(r);
    p->t_capture_ns = bytes_get_u64(r);
    for (int i = 0; i < 9; i++) {
        p->T_wc.r[i] = bytes_get_f32(r);
        ok &= isfinite(p->T_wc.r[i]) != 0;
    }
    for (int i = 0; i < 3; i++) {
        p->T_wc.t[i] = bytes_get_f32(r);
        ok &= isfinite(p->T_wc.t[i]) != 0;
    }
    p->source = bytes_get_u32(r);
    p->submap = bytes_get_u32(r);
    return ok & (p->source < API_SOURCES_MAX);
}

static int load_poses(struct trajectory *t, struct bytes_reader *r, uint32_t n, struct err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct session_pose **piece = &t->pieces[i / PIECE];

        if (!*piece && !(*piece = malloc(PIECE * sizeof(**piece))))
            return err_set(err, ERR_MEMORY, "no memory for %u poses", (unsigned)n);
        if (!get_pose(r, &(*piece)[i % PIECE]))
            return err_set(err, ERR_INPUT, "pose %u is none", (unsigned)i);
    }
    t->n = n;
    return 0;
}

int trajectory_load(struct trajectory *t, const uint8_t *buf, size_t len, struct err *err)
{
    struct bytes_reader r = bytes_reader(buf, len);
    uint32_t magic = bytes_get_u32(&r), n = bytes_get_u32(&r);
    int rc;

    if (r.bad || magic != MAGIC || n > TRAJECTORY_MAX || len != HEAD_BYTES + (size_t)n * POSE_BYTES)
        return err_set(err, ERR_INPUT, "not the poses of a session, or cut short");
    lock_take(&t->lock);
    if (t->n)
        rc = err_set(err, ERR_STATE, "poses are loaded into a new trajectory alone");
    else
        rc = load_poses(t, &r, n, err);
    lock_give(&t->lock);
    return rc;
}
