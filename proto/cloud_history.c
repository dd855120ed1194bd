/*
 * What happened to a block in its last commits. A history that weighs more than the block is worth
 * nothing - the block itself is then the shorter message - so the oldest commits are forgotten.
 */
#include "proto/cloud_internal.h"

#include <stdlib.h>
#include <string.h>

static void forget_all(struct cloud_entry *e)
{
    e->n_past = e->n_commits = 0;
    e->past_base = e->revision;
}

static void forget_oldest(struct cloud_entry *e, uint32_t n_commits, uint32_t n_keys)
{
    if (!n_commits)
        return;
    e->past_base = e->commits[n_commits - 1].revision;
    e->n_commits -= n_commits;
    e->n_past -= n_keys;
    memmove(e->commits, e->commits + n_commits, e->n_commits * sizeof *e->commits);
    memmove(e->past, e->past + n_keys, e->n_past * sizeof *e->past);
}

/* Forget as many of the oldest commits as it takes for n keys more to weigh no more than the
 * block. */
static void make_room(struct cloud_entry *e, uint64_t n)
{
    uint64_t weight =
        n + CLOUD_COMMIT_WEIGHT + e->n_past + (uint64_t)CLOUD_COMMIT_WEIGHT * e->n_commits;
    uint32_t commits = 0, keys = 0;

    while (weight > e->n && commits < e->n_commits) {
        weight -= CLOUD_COMMIT_WEIGHT + e->commits[commits].n;
        keys += e->commits[commits++].n;
    }
    forget_oldest(e, commits, keys);
}

static int reserve(struct cloud_entry *e, uint32_t n)
{
    uint32_t cap = e->n_past + n;
    struct cloud_commit_entry *commits;
    uint64_t *past;

    if (cap > e->past_cap) {
        cap += cap / 2 + 32;
        past = realloc(e->past, cap * sizeof *past);
        if (!past)
            return 0;
        e->past = past;
        e->past_cap = cap;
    }
    if (e->n_commits == e->commits_cap) {
        cap = 2 * e->commits_cap + 8;
        commits = realloc(e->commits, cap * sizeof *commits);
        if (!commits)
            return 0;
        e->commits = commits;
        e->commits_cap = cap;
    }
    return 1;
}

void cloud_history_push(struct cloud_entry *e, const struct cloud_change *net, size_t n)
{
    uint64_t n_keys = 0;

    for (size_t i = 0; i < n; i++)
        n_keys += (uint64_t)(net[i].count < 0 ? -net[i].count : net[i].count);
    /* Without memory the block goes on without a history: its clients get it whole. */
    if (n_keys + CLOUD_COMMIT_WEIGHT > e->n ||
        (make_room(e, n_keys), !reserve(e, (uint32_t)n_keys))) {
        forget_all(e);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t key = net[i].count < 0 ? net[i].key | CLOUD_REMOVED_BIT : net[i].key;

        for (int32_t k = net[i].count < 0 ? -net[i].count : net[i].count; k > 0; k--)
            e->past[e->n_past++] = key;
    }
    e->commits[e->n_commits++] =
        (struct cloud_commit_entry){.revision = e->revision, .n = (uint32_t)n_keys};
}
