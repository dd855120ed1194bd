#include "daemon/trajectory.h"

#include <pthread.h>
#include <stdlib.h>

#define PIECE 1024
#define PIECES (TRAJECTORY_MAX / PIECE)

struct trajectory {
    pthread_mutex_t lock;
    uint32_t n;
    struct session_pose *pieces[PIECES];
};

int trajectory_new(struct trajectory **trajectory, struct err *err)
{
    struct trajectory *t = calloc(1, sizeof(*t));

    *trajectory = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for a trajectory");
    pthread_mutex_init(&t->lock, NULL);
    return 0;
}

void trajectory_free(struct trajectory **trajectory)
{
    struct trajectory *t = *trajectory;

    if (!t)
        return;
    for (uint32_t i = 0; i < PIECES; i++)
        free(t->pieces[i]);
    pthread_mutex_destroy(&t->lock);
    free(t);
    *trajectory = NULL;
}

int trajectory_append(struct trajectory *t, const struct session_pose *pose, struct err *err)
{
    struct session_pose **piece;
    int rc = 0;

    pthread_mutex_lock(&t->lock);
    piece = &t->pieces[t->n / PIECE % PIECES];
    if (t->n == TRAJECTORY_MAX)
        rc = err_set(err, ERR_LIMIT, "a trajectory holds at most %u poses", TRAJECTORY_MAX);
    else if (!*piece && !(*piece = malloc(PIECE * sizeof(**piece))))
        rc = err_set(err, ERR_MEMORY, "no memory for %d more poses", PIECE);
    else
        (*piece)[t->n++ % PIECE] = *pose;
    pthread_mutex_unlock(&t->lock);
    return rc;
}

int trajectory_read(struct trajectory *t, uint64_t first, struct session_pose *poses, int cap)
{
    int n = 0;

    pthread_mutex_lock(&t->lock);
    for (; n < cap && first < t->n; n++, first++)
        poses[n] = t->pieces[first / PIECE][first % PIECE];
    pthread_mutex_unlock(&t->lock);
    return n;
}
