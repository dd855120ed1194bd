/*
 * A producer's cloud as bytes, and back. The bytes hold the blocks with their keys and revisions,
 * and what each slot holds. Hashes of names are computed again; the history is not kept.
 *
 *     magic "RCLD" u32 | version u32 | revision u64 | hash u64 | points u64 | blocks u32 | slots
 *     u32 blocks times: submap u32 | x y z i32 | keys u32 | revision u64
 *     points times: key u64, the blocks' in a row
 *     slots times: block + 1 u32, 0 = empty
 *     slots times: key u64 (of empty ones: 0)
 */
#include "proto/cloud/cloud_internal.h"

#include <string.h>

#define MAGIC 0x444c4352u /* "RCLD" */
#define VERSION 2u        /* version 1 had keys without normals */
#define HEAD_BYTES 40u
#define BLOCK_BYTES 28u

struct head {
    uint64_t revision, hash, points;
    uint32_t n_blocks, n_slots;
};

static size_t bytes_of(uint64_t n_blocks, uint64_t points, uint64_t n_slots)
{
    return HEAD_BYTES + n_blocks * BLOCK_BYTES + points * 8 + n_slots * 12;
}

size_t cloud_state_bytes(const struct cloud *c)
{
    return bytes_of(c->n_blocks, c->points, c->slots_touched);
}

/* ------------------------------------------------------------------------- save */

static void put_blocks(struct bytes_writer *w, const struct cloud *c)
{
    for (uint32_t i = 0; i < c->n_blocks; i++) {
        const struct cloud_entry *e = &c->blocks[i];

        key_put_name(w, &e->name);
        bytes_put_u32(w, e->n);
        bytes_put_u64(w, e->revision);
    }
    for (uint32_t i = 0; i < c->n_blocks; i++)
        for (uint32_t k = 0; k < c->blocks[i].n; k++)
            bytes_put_u64(w, c->blocks[i].keys[k]);
}

int cloud_state_save(const struct cloud *c, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    size_t need = cloud_state_bytes(c);
    struct bytes_writer w = bytes_writer(buf, cap);

    *len = 0;
    if (c->n_staged || (c->n_blocks && !c->staged_cap && !c->by_place))
        return err_set(err, ERR_STATE, "only a producer's cloud is saved, between two commits");
    if (need > cap)
        return err_set(err, ERR_LIMIT, "a cloud of %zu bytes does not fit %zu", need, cap);
    bytes_put_u32(&w, MAGIC);
    bytes_put_u32(&w, VERSION);
    bytes_put_u64(&w, c->revision);
    bytes_put_u64(&w, c->hash);
    bytes_put_u64(&w, c->points);
    bytes_put_u32(&w, c->n_blocks);
    bytes_put_u32(&w, c->slots_touched);
    put_blocks(&w, c);
    for (uint32_t i = 0; i < c->slots_touched; i++)
        bytes_put_u32(&w, c->slots[i].block);
    for (uint32_t i = 0; i < c->slots_touched; i++)
        bytes_put_u64(&w, c->slots[i].block ? c->slots[i].key : 0);
    *len = w.at;
    return 0;
}

/* ------------------------------------------------------------------------- load */

static int get_head(struct bytes_reader *r, struct head *h, const struct cloud *c, struct err *err)
{
    uint32_t magic = bytes_get_u32(r), version = bytes_get_u32(r);

    h->revision = bytes_get_u64(r);
    h->hash = bytes_get_u64(r);
    h->points = bytes_get_u64(r);
    h->n_blocks = bytes_get_u32(r);
    h->n_slots = bytes_get_u32(r);
    if (r->bad || magic != MAGIC || version != VERSION)
        return err_set(err, ERR_INPUT, "not the state of a cloud, or of another version");
    if (h->n_blocks > c->limits.max_blocks || h->points > c->limits.max_points ||
        h->n_slots > c->limits.max_points)
        return err_set(err, ERR_INPUT, "%u blocks, %llu points, %u slots: over the limits",
                       (unsigned)h->n_blocks, (unsigned long long)h->points, (unsigned)h->n_slots);
    if (r->len != bytes_of(h->n_blocks, h->points, h->n_slots))
        return err_set(err, ERR_INPUT, "the state of a cloud is cut short, or too long");
    return 0;
}

/* Reads the name and the revision of the next block and makes room for its keys. */
static int get_block(struct cloud *c, struct bytes_reader *r, const struct head *h, struct err *err)
{
    struct cloud_name name;
    struct cloud_entry *e;
    uint64_t revision;
    bool placed = key_get_name(r, &name);
    uint32_t n = bytes_get_u32(r);
    int rc;

    revision = bytes_get_u64(r);
    if (!placed || n > CLOUD_BLOCK_POINTS || n > h->points - c->points || revision > h->revision ||
        (n && !revision))
        return err_set(err, ERR_INPUT, "a block out of place, too large or of the future");
    if (cloud_block_find(c, &name))
        return err_set(err, ERR_INPUT, "a block that is there twice");
    rc = cloud_block_get(c, &name, &e, err);
    if (!rc)
        rc = cloud_block_reserve(e, n, err);
    if (rc)
        return rc;
    e->revision = e->past_base = revision;
    e->n = e->n_next = n;
    c->points += n;
    return 0;
}

static int get_keys(struct cloud *c, struct bytes_reader *r, struct err *err)
{
    for (uint32_t i = 0; i < c->n_blocks; i++) {
        struct cloud_entry *e = &c->blocks[i];

        for (uint32_t k = 0; k < e->n; k++) {
            e->keys[k] = bytes_get_u64(r);
            if (k && e->keys[k] < e->keys[k - 1])
                return err_set(err, ERR_INPUT, "the points of a block are not in order");
            c->hash += cloud_key_hash(e, e->keys[k]);
        }
    }
    return 0;
}

/* Reads what the slots hold, as changes in c->staged. */
static int get_slots(struct cloud *c, struct bytes_reader *r, const struct head *h, struct err *err)
{
    c->slots_touched = h->n_slots; /* state_forget() clears these members */
    for (uint32_t i = 0; i < h->n_slots; i++) {
        c->slots[i].block = bytes_get_u32(r);
        if (c->slots[i].block > c->n_blocks)
            return err_set(err, ERR_INPUT, "a slot of a block that is not there");
    }
    for (uint32_t i = 0; i < h->n_slots; i++) {
        struct cloud_slot *s = &c->slots[i];

        s->key = bytes_get_u64(r);
        if (s->block)
            c->staged[c->n_staged++] =
                (struct cloud_change){.key = s->key, .block = s->block - 1, .count = 1};
        else if (s->key)
            return err_set(err, ERR_INPUT, "an empty slot that holds a point");
    }
    c->staged_touched = c->n_staged;
    return 0;
}

/* Checks that slots and blocks hold the same points: the sorted keys of the slots are those of the
 * blocks in a row. */
static int compare_slots(struct cloud *c, struct err *err)
{
    const struct cloud_change *at = c->staged;

    if (c->n_staged != c->points)
        return err_set(err, ERR_INPUT, "%zu slots hold points, blocks %llu", c->n_staged,
                       (unsigned long long)c->points);
    cloud_sort(c->staged, c->staged_aux, c->n_staged);
    for (uint32_t i = 0; i < c->n_blocks; i++)
        for (uint32_t k = 0; k < c->blocks[i].n; k++, at++)
            if (at->block != i || at->key != c->blocks[i].keys[k])
                return err_set(err, ERR_INPUT, "slots and blocks hold different points");
    return 0;
}

static void state_forget(struct cloud *c)
{
    cloud_block_free_all(c);
    if (c->slots_touched)
        memset(c->slots, 0, c->slots_touched * sizeof *c->slots);
    c->points = c->hash = 0;
    c->slots_touched = 0;
}

/* Reads blocks, keys and hash. */
static int get_content(struct cloud *c, struct bytes_reader *r, const struct head *h,
                       struct err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < h->n_blocks && !rc; i++)
        rc = get_block(c, r, h, err);
    if (!rc && c->points != h->points)
        rc = err_set(err, ERR_INPUT, "the blocks have fewer points than there are");
    if (!rc)
        rc = get_keys(c, r, err);
    if (!rc && c->hash != h->hash)
        rc = err_set(err, ERR_INPUT, "the cloud does not hash as it did");
    return rc;
}

/* Checks a cloud of places, which has points and no slots: at most one point lies at each place. */
static int load_places(struct cloud *c, struct bytes_reader *r, const struct head *h,
                       struct err *err)
{
    int rc = get_content(c, r, h, err);

    for (uint32_t i = 0; i < c->n_blocks && !rc; i++)
        for (uint32_t k = 1; k < c->blocks[i].n && !rc; k++)
            if (c->blocks[i].keys[k] >> KEY_MORTON_AT == c->blocks[i].keys[k - 1] >> KEY_MORTON_AT)
                rc = err_set(err, ERR_INPUT, "two points at one place, and no slots");
    if (rc) {
        state_forget(c);
        return rc;
    }
    c->by_place = 1;
    c->revision = h->revision;
    return 0;
}

int cloud_state_load(struct cloud *c, const uint8_t *buf, size_t len, struct err *err)
{
    struct bytes_reader r = bytes_reader(buf, len);
    struct head h;
    int rc;

    if (c->n_blocks || c->revision || c->n_staged || c->slots_touched)
        return err_set(err, ERR_STATE, "a state is loaded into a new cloud alone");
    rc = get_head(&r, &h, c, err);
    if (!rc && h.n_slots == 0 && h.points)
        return load_places(c, &r, &h, err);
    if (!rc && !c->staged_cap)
        rc = cloud_stage_open(c, err);
    if (rc)
        return rc;
    rc = get_content(c, &r, &h, err);
    if (!rc)
        rc = get_slots(c, &r, &h, err);
    if (!rc)
        rc = compare_slots(c, err);
    c->n_staged = 0;
    if (rc)
        state_forget(c);
    else
        c->revision = h.revision;
    return rc;
}
