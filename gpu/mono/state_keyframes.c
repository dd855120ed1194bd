/*
 * state_keyframes.c - the section of keyframes, with their maps of points
 *
 * Body:    n u32 | 0 (12 bytes) | keyframes [n] | overlaps [n][n] | maps [n][h][w], which a session
 *          with cubes lacks
 */
#include "gpu/mono/state_internal.h"

#define HEAD_BYTES 16

#define AT(type, field, offset) \
    _Static_assert(offsetof(struct type, field) == (offset), #type "." #field " is on disk")
_Static_assert(sizeof(struct keyframe) == 748 && sizeof(struct rigid) == 48 &&
                   sizeof(struct intrinsics) == 16 && sizeof(struct vec3) == 12,
               "records without padding");
AT(rigid, r, 0);
AT(rigid, t, 36);
AT(intrinsics, fx, 0);
AT(intrinsics, fy, 4);
AT(intrinsics, cx, 8);
AT(intrinsics, cy, 12);
AT(keyframe, camera.T_wc, 0);
AT(keyframe, camera.T_cw, 48);
AT(keyframe, camera.K, 96);
AT(keyframe, camera.w, 112);
AT(keyframe, camera.h, 116);
AT(keyframe, grid.p, 120);
AT(keyframe, grid.valid, 696);
AT(keyframe, frame, 744);

static size_t state_keyframes_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    size_t n = h->n_keyframes, end = at + HEAD_BYTES;

    l->keyframes = state_take(&end, n * sizeof(struct keyframe));
    l->overlaps = state_take(&end, n * n);
    l->maps = state_take(&end, h->cells ? 0 : n * (size_t)h->w * (size_t)h->h * sizeof(uint32_t));
    return end;
}

static void state_keyframes_put(uint8_t *buf, struct bytes_writer *head, const struct state_head *h,
                                const struct state_layout *l)
{
    state_gap(buf, l->overlaps);
    state_gap(buf, l->maps);
    bytes_put_u32(head, h->n_keyframes);
    for (int i = 0; i < 3; i++)
        bytes_put_u32(head, 0);
}

static void state_keyframes_get(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)version;
    h->n_keyframes = bytes_get_u32(head);
}

void state_tidy_keyframes(uint8_t *keyframes, size_t n)
{
    for (size_t i = 0; i < n; i++, keyframes += sizeof(struct keyframe)) {
        struct covisible_grid g;
        uint8_t *grid = keyframes + offsetof(struct keyframe, grid);
        memcpy(&g, grid, sizeof g);
        for (int k = 0; k < COVISIBLE_GRID; k++)
            if (!g.valid[k])
                g.p[k] = vec3_make(0, 0, 0);
        memcpy(grid, &g, sizeof g);
    }
}

/* ------------------------------------------------------------------------- maps */

static uint32_t zigzag(uint32_t d)
{
    return d << 1 ^ (d >> 31 ? 0xffffffffu : 0u);
}

static uint32_t unzigzag(uint32_t v)
{
    return v >> 1 ^ (v & 1 ? 0xffffffffu : 0u);
}

void state_pack_cells(uint8_t *to, const struct map_cell *cells, size_t n, const uint8_t *place,
                      uint32_t *last)
{
    uint32_t before = *last;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = POINT_NONE;
        if (cells[i].tag && state_tag(place, cells[i].slot) == cells[i].tag) {
            v = zigzag(cells[i].slot - before);
            before = cells[i].slot;
        }
        memcpy(to + i * sizeof v, &v, sizeof v);
    }
    *last = before;
}

void state_unpack_cells(struct map_cell *cells, const uint8_t *from, size_t n, const uint8_t *place,
                        uint32_t *last)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t v = state_word(from, i);
        cells[i].slot = cells[i].tag = 0;
        if (v == POINT_NONE)
            continue;
        *last += unzigzag(v);
        cells[i].slot = *last;
        cells[i].tag = state_tag(place, *last);
    }
}

/* ------------------------------------------------------------------------- checks */

static int check_keyframes(const struct state_head *h, const struct state_layout *l,
                           const uint8_t *buf, struct err *err)
{
    for (size_t i = 0; i < h->n_keyframes; i++) {
        struct keyframe kf;
        int ok;
        memcpy(&kf, buf + l->keyframes + i * sizeof kf, sizeof kf);
        ok = kf.frame && kf.frame <= h->frame && kf.camera.w == h->w && kf.camera.h == h->h &&
             state_finite((const uint8_t *)&kf.camera, 28);
        for (int k = 0; k < COVISIBLE_GRID && ok; k++)
            ok = kf.grid.valid[k] == 0 ||
                 (kf.grid.valid[k] == 1 && state_finite((const uint8_t *)&kf.grid.p[k], 3));
        if (!ok)
            return err_set(err, ERR_INPUT, "keyframe %zu is none", i);
    }
    for (size_t i = 0; i < (size_t)h->n_keyframes * h->n_keyframes; i++)
        if (buf[l->overlaps + i] > 2 * COVISIBLE_GRID)
            return err_set(err, ERR_INPUT, "an overlap larger than any");
    return 0;
}

/* Each cell must be empty or name a living point. */
static int check_maps(const struct state_head *h, const struct state_layout *l, const uint8_t *buf,
                      struct err *err)
{
    size_t pixels = (size_t)h->w * (size_t)h->h;
    for (uint32_t k = 0; k < h->n_keyframes; k++) {
        const uint8_t *map = buf + l->maps + k * pixels * sizeof(uint32_t);
        uint32_t slot = 0;
        for (size_t i = 0; i < pixels; i++) {
            uint32_t v = state_word(map, i);
            if (v == POINT_NONE)
                continue;
            slot += unzigzag(v);
            if (slot >= h->n_slots || state_tag(buf + l->place, slot) == 0)
                return err_set(err, ERR_INPUT, "a map names slot %u, where no point is", slot);
        }
    }
    return 0;
}

static int state_keyframes_check(const struct state_head *h, const struct state_layout *l,
                                 const uint8_t *buf, struct err *err)
{
    int rc = check_keyframes(h, l, buf, err);

    return rc || h->cells ? rc : check_maps(h, l, buf, err);
}

const struct state_part state_keyframes = {SECTION_TAG('G', 'K', 'E', 'Y'),
                                           1,
                                           NULL,
                                           state_keyframes_lay,
                                           state_keyframes_put,
                                           state_keyframes_get,
                                           state_keyframes_check};
