/* panorama_state.c - a panorama session as bytes: its volume, and the picture that it has kept */
#include "gpu/panorama/panorama.h"

#include "proto/bytes.h"
#include "proto/section.h"

#include <string.h>

static int has_field(const struct gpu_session_config *c)
{
    return c->consistency == GPU_CONSISTENCY_PATCH;
}

static size_t body_bytes(const struct gpu_session_config *c)
{
    return PANORAMA_HEAD_BYTES + (has_field(c) ? 8 : 4) * panorama_voxels(c) +
           8 * panorama_all_words(c);
}

size_t panorama_state_bytes(const struct gpu_session_config *c, const struct panorama_kept *kept)
{
    return section_bytes(body_bytes(c)) +
           (kept->there ? section_bytes(PANORAMA_KEPT_BYTES + panorama_kept_bytes(kept)) : 0);
}

unsigned panorama_state_reads(uint32_t tag)
{
    return tag == PANORAMA_TAG        ? PANORAMA_VERSION
           : tag == PANORAMA_KEPT_TAG ? PANORAMA_KEPT_VERSION
                                      : 0;
}

static void put_head(uint8_t *body, const struct gpu_session_config *c)
{
    struct bytes_writer w = bytes_writer(body, PANORAMA_HEAD_BYTES);

    memset(body, 0, PANORAMA_HEAD_BYTES);
    for (int i = 0; i < 3; i++)
        bytes_put_i32(&w, c->volume.n[i]);
    bytes_put_i32(&w, c->volume.up);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(&w, c->volume.min_m[i]);
    bytes_put_f32(&w, c->volume.voxel_m);
    bytes_put_i32(&w, (int32_t)c->consistency);
}

/* ------------------------------------------------------------------------- the kept picture */

static void put_kept(uint8_t *body, const struct gpu_pair_eye *eye)
{
    struct bytes_writer w = bytes_writer(body, PANORAMA_KEPT_BYTES);
    uint8_t lens[LENS_BYTES];

    memset(body, 0, PANORAMA_KEPT_BYTES);
    lens_put(lens, &eye->lens);
    bytes_put_i32(&w, eye->width);
    bytes_put_i32(&w, eye->height);
    bytes_put_f32(&w, eye->K.fx);
    bytes_put_f32(&w, eye->K.fy);
    bytes_put_f32(&w, eye->K.cx);
    bytes_put_f32(&w, eye->K.cy);
    for (int i = 0; i < 9; i++)
        bytes_put_f32(&w, eye->T_wc.r[i]);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(&w, eye->T_wc.t[i]);
    for (int i = 0; i < LENS_BYTES; i++)
        bytes_put_u8(&w, lens[i]);
}

static int get_kept(struct gpu_pair_eye *eye, const uint8_t *body, struct err *err)
{
    struct bytes_reader r = bytes_reader(body, PANORAMA_KEPT_BYTES);

    eye->width = bytes_get_i32(&r);
    eye->height = bytes_get_i32(&r);
    eye->K.fx = bytes_get_f32(&r);
    eye->K.fy = bytes_get_f32(&r);
    eye->K.cx = bytes_get_f32(&r);
    eye->K.cy = bytes_get_f32(&r);
    for (int i = 0; i < 9; i++)
        eye->T_wc.r[i] = bytes_get_f32(&r);
    for (int i = 0; i < 3; i++)
        eye->T_wc.t[i] = bytes_get_f32(&r);
    return lens_get(&eye->lens, bytes_get_span(&r, LENS_BYTES), err);
}

static int open_kept(uint8_t *buf, size_t cap, const struct panorama_kept *kept,
                     struct panorama_body *to, size_t *len, struct err *err)
{
    size_t bytes = PANORAMA_KEPT_BYTES + panorama_kept_bytes(kept);
    uint8_t *body = section_open(buf, cap, *len, bytes);

    if (!body)
        return err_set(err, ERR_LIMIT, "a kept picture of %zu bytes does not fit %zu", bytes, cap);
    put_kept(body, &kept->eye);
    to->picture = body + PANORAMA_KEPT_BYTES;
    section_close(buf, len, PANORAMA_KEPT_TAG, PANORAMA_KEPT_VERSION, 0, bytes);
    return 0;
}

/* A state without the section has no picture. */
static int find_kept(const uint8_t *buf, size_t len, const struct gpu_session_config *c,
                     struct panorama_kept *kept, struct panorama_bytes *from, struct err *err)
{
    struct panorama_kept found = {.there = 1};
    struct section s;
    int rc;

    if (section_find(&s, buf, len, PANORAMA_KEPT_TAG) != 1)
        return 0;
    if ((rc = section_use(&s, PANORAMA_KEPT_VERSION, err)) == 0)
        rc = err_set(err, ERR_UNSUPPORTED, "a kept picture of another version");
    if (rc < 0)
        return rc;
    if (s.len < PANORAMA_KEPT_BYTES)
        return err_set(err, ERR_INPUT, "a kept picture of %zu bytes", s.len);
    rc = get_kept(&found.eye, s.body, err);
    found.eye.rgb = s.body + PANORAMA_KEPT_BYTES;
    if (rc == 0)
        rc = panorama_check_eye(c, &found.eye, err);
    found.eye.rgb = NULL;
    if (rc == 0 && s.len != PANORAMA_KEPT_BYTES + panorama_kept_bytes(&found))
        rc = err_set(err, ERR_INPUT, "a kept picture of another size");
    if (rc)
        return rc;
    *kept = found;
    from->picture = s.body + PANORAMA_KEPT_BYTES;
    return 0;
}

/* ------------------------------------------------------------------------- both sections */

/* Does a column's last word have bits behind the column's end? */
static int has_more_voxels(const uint8_t *words, const struct gpu_session_config *c)
{
    size_t n = panorama_columns(c), each = 4 * (size_t)panorama_words(&c->volume);
    uint32_t rest = c->volume.n[2] % 32 ? ~0u << (c->volume.n[2] % 32) : 0, any = 0;

    for (size_t i = 1; i <= n; i++) {
        struct bytes_reader r = bytes_reader(words + i * each - 4, 4);

        any |= bytes_get_u32(&r) & rest;
    }
    return any != 0;
}

int panorama_state_open(uint8_t *buf, size_t cap, const struct gpu_session_config *c,
                        const struct panorama_kept *kept, struct panorama_body *to, size_t *len,
                        struct err *err)
{
    size_t at = 0;
    uint8_t *body = section_open(buf, cap, 0, body_bytes(c));

    if (!body)
        return err_set(err, ERR_LIMIT, "a state of %zu bytes does not fit %zu",
                       panorama_state_bytes(c, kept), cap);
    put_head(body, c);
    to->voxels = body + PANORAMA_HEAD_BYTES;
    to->dirty = to->voxels + 4 * panorama_voxels(c);
    to->told = to->dirty + 4 * panorama_all_words(c);
    to->field = has_field(c) ? to->told + 4 * panorama_all_words(c) : NULL;
    to->picture = NULL;
    section_close(buf, &at, PANORAMA_TAG, PANORAMA_VERSION, 0, body_bytes(c));
    *len = at;
    return kept->there ? open_kept(buf, cap, kept, to, len, err) : 0;
}

int panorama_state_find(const uint8_t *buf, size_t len, const struct gpu_session_config *c,
                        struct panorama_kept *kept, struct panorama_bytes *from, struct err *err)
{
    uint8_t head[PANORAMA_HEAD_BYTES];
    struct section s;
    int rc;

    if (section_find(&s, buf, len, PANORAMA_TAG) != 1)
        return err_set(err, ERR_INPUT, "a state without voxels");
    if ((rc = section_use(&s, PANORAMA_VERSION, err)) == 0) /* the section has nothing else */
        rc = err_set(err, ERR_UNSUPPORTED, "voxels of another version");
    if (rc < 0)
        return rc;
    put_head(head, c);
    if (s.len != body_bytes(c) || memcmp(s.body, head, sizeof head))
        return err_set(err, ERR_INPUT, "a state of another volume");
    from->voxels = s.body + PANORAMA_HEAD_BYTES;
    from->dirty = from->voxels + 4 * panorama_voxels(c);
    from->told = from->dirty + 4 * panorama_all_words(c);
    from->field = has_field(c) ? from->told + 4 * panorama_all_words(c) : NULL;
    from->picture = NULL;
    if (has_more_voxels(from->dirty, c) || has_more_voxels(from->told, c))
        return err_set(err, ERR_INPUT, "a state of voxels that the volume does not have");
    return c->baseline_m > 0.0f ? find_kept(buf, len, c, kept, from, err) : 0;
}
