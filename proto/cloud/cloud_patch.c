#include "proto/cloud/cloud_internal.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for n changes and the patch made of them. */
static int cloud_patch_reserve(struct cloud *c, size_t n, struct err *err)
{
    size_t cap = n + n / 2 + 64;

    if (n <= c->net_cap)
        return 0;
    free(c->net);
    free(c->net_aux);
    free(c->patch_removed);
    free(c->patch_added);
    c->net = malloc(cap * sizeof *c->net);
    c->net_aux = malloc(cap * sizeof *c->net_aux);
    c->patch_removed = malloc(cap * sizeof *c->patch_removed);
    c->patch_added = malloc(cap * sizeof *c->patch_added);
    c->net_cap = 0;
    if (!c->net || !c->net_aux || !c->patch_removed || !c->patch_added)
        return err_set(err, ERR_MEMORY, "no memory for a patch of %zu points", n);
    c->net_cap = cap;
    return 0;
}

/* Puts the sorted net changes of several commits into c->net. */
static size_t collect(struct cloud *c, const struct cloud_commit_entry *commits, uint32_t n_commits,
                      const uint64_t *past)
{
    size_t n = 0;

    for (uint32_t i = 0; i < n_commits; i++)
        for (uint32_t k = 0; k < commits[i].n; k++, n++)
            c->net[n] =
                (struct cloud_change){.key = past[n], .count = k < commits[i].n_left ? -1 : 1};
    cloud_sort(c->net, c->net_aux, n);
    return cloud_sort_net(c->net, n);
}

/* A single commit is a patch already: both its parts are sorted, and the keys that left were ranked
 * when they did. */
static void cloud_patch_copy(struct cloud *c, const struct cloud_entry *e,
                             const struct cloud_commit_entry *commit, const uint64_t *past,
                             struct cloud_patch *patch)
{
    patch->n_removed = commit->n_left;
    patch->n_added = commit->n - commit->n_left;
    memcpy(c->patch_removed, e->ranks, patch->n_removed * sizeof *e->ranks);
    memcpy(c->patch_added, past + patch->n_removed, patch->n_added * sizeof *past);
}

/*
 * Turns removed keys into indices of the block as it was. That content is no longer held, but it is
 * the present content without the added keys and with the removed ones: this function walks both in
 * order and counts.
 */
static void split(struct cloud *c, const struct cloud_entry *e, size_t n_net,
                  struct cloud_patch *patch)
{
    uint32_t now = 0, then = 0, stride = cloud_block_stride(e, n_net);

    for (size_t k = 0; k < n_net; k++) {
        uint64_t key = c->net[k].key;
        uint32_t at = cloud_block_seek(e, now, key, stride), copies = 0;

        then += at - now;
        while (at + copies < e->n && e->keys[at + copies] == key)
            copies++;
        now = at + copies;
        for (int32_t i = 0; i < c->net[k].count; i++)
            c->patch_added[patch->n_added++] = key;
        for (int32_t i = 0; i > c->net[k].count; i--)
            c->patch_removed[patch->n_removed++] = then + (uint32_t)-i;
        then += (uint32_t)((int32_t)copies - c->net[k].count);
    }
}

int cloud_patch(struct cloud *c, uint32_t block, uint64_t base_revision, struct cloud_patch *patch,
                struct err *err)
{
    const struct cloud_entry *e;
    const struct cloud_commit_entry *commits;
    const uint64_t *past;
    uint32_t n, n_commits;
    int rc;

    if (block >= c->n_blocks)
        return err_set(err, ERR_NOT_FOUND, "block %u of %u", (unsigned)block,
                       (unsigned)c->n_blocks);
    e = &c->blocks[block];
    if (base_revision == 0 || base_revision < e->past_base || base_revision > e->revision)
        return err_set(err, ERR_NOT_FOUND, "revision %llu is not in the block's history",
                       (unsigned long long)base_revision);
    n = cloud_history_since(e, base_revision, &past, &n_commits);
    commits = e->commits + e->commits_first + e->n_commits - n_commits;
    rc = cloud_patch_reserve(c, n, err);
    if (rc)
        return rc;
    *patch = (struct cloud_patch){.base_revision = base_revision,
                                  .revision = e->revision,
                                  .removed = c->patch_removed,
                                  .added = c->patch_added};
    if (n_commits == 1)
        cloud_patch_copy(c, e, commits, past, patch);
    else
        split(c, e, collect(c, commits, n_commits, past), patch);
    return 0;
}
