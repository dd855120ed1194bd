/*
 * The history of a block: the changes of its last commits. Where a history is larger than the
 * block, the whole block is the shorter message, so the oldest commits are forgotten. Forgotten
 * commits stay in front of the others until room is needed, so that the cost of a commit depends on
 * what it changed and not on how much is remembered.
 */
#include "proto/cloud/cloud_internal.h"

#include "proto/array.h"

#include <stdlib.h>
#include <string.h>

static void history_forget(struct cloud_entry *e)
{
    e->past_first = e->n_past = e->commits_first = e->n_commits = 0;
    e->past_base = e->revision;
}

/* Forgets the oldest commits until the history with n keys more is no larger than the block. */
static void cloud_history_make_room(struct cloud_entry *e, uint64_t n)
{
    uint64_t weight =
        n + CLOUD_COMMIT_WEIGHT + e->n_past + (uint64_t)CLOUD_COMMIT_WEIGHT * e->n_commits;

    while (weight > e->n && e->n_commits) {
        const struct cloud_commit_entry *oldest = &e->commits[e->commits_first++];

        weight -= CLOUD_COMMIT_WEIGHT + oldest->n;
        e->n_commits--;
        e->past_first += oldest->n;
        e->n_past -= oldest->n;
        e->past_base = oldest->revision;
    }
}

void cloud_history_pack(struct cloud_entry *e)
{
    if (e->past_first)
        memmove(e->past, e->past + e->past_first, e->n_past * sizeof *e->past);
    if (e->commits_first)
        memmove(e->commits, e->commits + e->commits_first, e->n_commits * sizeof *e->commits);
    e->past_first = e->commits_first = 0;
}

/* Makes room for one commit of n keys. The arrays grow unless a third of them is free after
 * packing, so that a key is moved about twice in all. */
static int cloud_history_reserve(struct cloud_entry *e, uint32_t n)
{
    if (array_grow_u32(&e->ranks, &e->ranks_cap, n, sizeof *e->ranks))
        return 0;
    if (e->past_first + e->n_past + n <= e->past_cap &&
        e->commits_first + e->n_commits < e->commits_cap)
        return 1;
    cloud_history_pack(e);
    return !array_grow_u32(&e->past, &e->past_cap, (uint64_t)e->n_past + n + e->past_cap / 3,
                           sizeof *e->past) &&
           !array_grow_u32(&e->commits, &e->commits_cap,
                           (uint64_t)e->n_commits + 1 + e->commits_cap / 3, sizeof *e->commits);
}

static void append(struct cloud_entry *e, const struct cloud_change *net, size_t n, uint32_t n_keys)
{
    uint64_t *past = e->past + e->past_first + e->n_past;
    uint32_t n_left = 0, at;

    for (size_t i = 0; i < n; i++)
        for (int32_t k = 0; k < -net[i].count; k++) {
            past[n_left] = net[i].key;
            e->ranks[n_left++] = net[i].rank + (uint32_t)k;
        }
    at = n_left;
    for (size_t i = 0; i < n; i++)
        for (int32_t k = 0; k < net[i].count; k++)
            past[at++] = net[i].key;
    e->commits[e->commits_first + e->n_commits++] =
        (struct cloud_commit_entry){.revision = e->revision, .n = n_keys, .n_left = n_left};
    e->n_past += n_keys;
}

void cloud_history_push(struct cloud_entry *e, const struct cloud_change *net, size_t n)
{
    uint64_t n_keys = 0;

    for (size_t i = 0; i < n; i++)
        n_keys += (uint64_t)(net[i].count < 0 ? -net[i].count : net[i].count);
    /* If memory is short, the block loses its history and its clients get it whole. */
    if (n_keys + CLOUD_COMMIT_WEIGHT > e->n ||
        (cloud_history_make_room(e, n_keys), !cloud_history_reserve(e, (uint32_t)n_keys)))
        history_forget(e);
    else
        append(e, net, n, (uint32_t)n_keys);
}

uint32_t cloud_history_since(const struct cloud_entry *e, uint64_t revision, const uint64_t **past,
                             uint32_t *n_commits)
{
    uint32_t first = e->commits_first + e->n_commits, n = 0, commits = 0;

    while (commits < e->n_commits && e->commits[first - 1].revision > revision) {
        n += e->commits[--first].n;
        commits++;
    }
    *past = e->past + e->past_first + e->n_past - n;
    *n_commits = commits;
    return n;
}
