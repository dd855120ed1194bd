#include "daemon/session/export.h"

#include <stdlib.h>
#include <string.h>

struct export
{
    struct mirror_snapshot cloud;
    struct places places;
    uint64_t tag;
    float step_m;
    char header[PLY_HEADER_MAX];
    size_t header_len;
};

/* Drops the blocks of unplaced submaps and numbers the others' points anew. */
static void leave_out(struct mirror_snapshot *s, const struct places *places)
{
    uint32_t kept = 0;
    uint64_t at = 0;

    for (uint32_t i = 0; i < s->n_blocks; i++) {
        struct mirror_block b = s->blocks[i];
        if (!places_find(places, b.name.submap, NULL, NULL))
            continue;
        memmove(s->keys + at, s->keys + b.first, b.n * sizeof(*s->keys));
        b.first = at;
        at += b.n;
        s->blocks[kept++] = b;
    }
    s->n_blocks = kept;
    s->points = at;
}

int export_open(struct export **export, struct mirror *m, const struct ply_frame *frame,
                const struct places *places, bool unplaced, struct err *err)
{
    struct export *e = calloc(1, sizeof(*e));
    int rc;

    *export = NULL;
    if (!e)
        return err_set(err, ERR_MEMORY, "no memory for an export");
    rc = mirror_snapshot(m, &e->cloud, err);
    if (rc) {
        free(e);
        return rc;
    }
    e->tag = api_cloud_tag(e->cloud.hash, places_mix(places), unplaced);
    e->places = *places;
    e->step_m = frame->step_m;
    if (!unplaced)
        leave_out(&e->cloud, places);
    e->header_len = (size_t)ply_header(e->header, e->cloud.points, frame, e->cloud.hash);
    *export = e;
    return 0;
}

void export_close(struct export **export)
{
    struct export *e = *export;

    if (!e)
        return;
    mirror_snapshot_free(&e->cloud);
    free(e);
    *export = NULL;
}

uint64_t export_bytes(const struct export *e)
{
    return e->header_len + e->cloud.points * PLY_POINT_BYTES;
}

uint64_t export_tag(const struct export *e)
{
    return e->tag;
}

/* Returns the block that holds point number `rank` of the snapshot. */
static uint32_t block_of(const struct export *e, uint64_t rank)
{
    uint32_t low = 0, high = e->cloud.n_blocks - 1;

    while (low < high) {
        uint32_t mid = low + (high - low + 1) / 2;
        if (e->cloud.blocks[mid].first <= rank)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

/* Writes points [rank, rank + n) of one block, n cut at the block's end. */
static uint64_t write_points(const struct export *e, uint64_t rank, uint64_t n, uint8_t *out)
{
    const struct mirror_block *b = &e->cloud.blocks[block_of(e, rank)];
    struct cloud_block view = {.name = b->name, .keys = e->cloud.keys + b->first, .n = b->n};
    struct rigid T;
    bool moved;

    if (n > b->first + b->n - rank)
        n = b->first + b->n - rank;
    moved = places_find(&e->places, b->name.submap, &T, NULL) && e->places.told[b->name.submap];
    ply_points(out, &view, (uint32_t)(rank - b->first), (uint32_t)n, e->step_m, moved ? &T : NULL);
    return n;
}

size_t export_read(const struct export *e, uint64_t offset, uint8_t *buf, size_t cap)
{
    uint64_t total = export_bytes(e), rank, at;
    uint8_t point[PLY_POINT_BYTES];
    size_t n = 0, part;

    if (offset < e->header_len) {
        n = e->header_len - offset < cap ? e->header_len - offset : cap;
        memcpy(buf, e->header + offset, n);
    }
    while (n < cap && offset + n < total) {
        at = offset + n - e->header_len;
        rank = at / PLY_POINT_BYTES;
        part = at % PLY_POINT_BYTES;
        if (part == 0 && cap - n >= PLY_POINT_BYTES) {
            n += PLY_POINT_BYTES * write_points(e, rank, (cap - n) / PLY_POINT_BYTES, buf + n);
            continue;
        }
        write_points(e, rank, 1, point); /* the reader's buffer ends within a point */
        part = PLY_POINT_BYTES - part < cap - n ? PLY_POINT_BYTES - part : cap - n;
        memcpy(buf + n, point + at % PLY_POINT_BYTES, part);
        n += part;
    }
    return n;
}
