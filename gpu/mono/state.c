#include "gpu/mono/state_internal.h"

#include <stdio.h>

#define SESSION_BYTES 76

void state_head_make(struct state_head *h, const char *backend, const struct gpu_session_config *c)
{
    memset(h, 0, sizeof *h);
    snprintf(h->backend, sizeof h->backend, "%s", backend);
    h->w = c->net_w;
    h->h = c->net_h;
    h->step_m = c->step_m;
    h->normals = 1;
    h->worlds = 1;
    h->cells = c->fuse.cells != 0;
    h->views = c->views ? state_views.version : 0;
    h->path = c->tracks ? state_path.version : 0;
}

size_t state_take(size_t *end, size_t n)
{
    size_t at = (*end + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;

    *end = at + n;
    return at;
}

void state_gap(uint8_t *buf, size_t array)
{
    memset(buf + array - SECTION_ALIGN, 0, SECTION_ALIGN);
}

int state_finite(const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, from + i * sizeof f, sizeof f);
        if (!isfinite(f))
            return 0;
    }
    return 1;
}

/* ------------------------------------------------------------------------- the session */

static size_t lay_session(struct state_layout *l, const struct state_head *h, size_t at)
{
    (void)l;
    (void)h;
    return at + SESSION_BYTES;
}

static void put_session(uint8_t *buf, struct bytes_writer *head, const struct state_head *h,
                        const struct state_layout *l)
{
    (void)buf;
    (void)l;
    for (size_t i = 0; i < sizeof h->backend; i++)
        bytes_put_u8(head, (uint8_t)h->backend[i]);
    bytes_put_i32(head, h->w);
    bytes_put_i32(head, h->h);
    bytes_put_f32(head, h->step_m);
    bytes_put_u32(head, h->frame);
    bytes_put_u32(head, h->has_last);
    for (int i = 0; i < 9; i++)
        bytes_put_f32(head, h->T_last.r[i]);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(head, h->T_last.t[i]);
}

static void get_session(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)version;
    for (size_t i = 0; i < sizeof h->backend; i++)
        h->backend[i] = (char)bytes_get_u8(head);
    h->w = bytes_get_i32(head);
    h->h = bytes_get_i32(head);
    h->step_m = bytes_get_f32(head);
    h->frame = bytes_get_u32(head);
    h->has_last = bytes_get_u32(head);
    for (int i = 0; i < 9; i++)
        h->T_last.r[i] = bytes_get_f32(head);
    for (int i = 0; i < 3; i++)
        h->T_last.t[i] = bytes_get_f32(head);
}

static int check_session(const struct state_head *h, const struct state_layout *l,
                         const uint8_t *buf, struct err *err)
{
    (void)l;
    (void)buf;
    if (h->has_last > 1 || (h->has_last && !state_finite((const uint8_t *)&h->T_last, 12)))
        return err_set(err, ERR_INPUT, "a last frame that this session cannot have had");
    return 0;
}

/* ------------------------------------------------------------------------- the last picture */

static int has_previous(const struct state_head *h)
{
    return h->has_previous != 0;
}

static size_t lay_previous(struct state_layout *l, const struct state_head *h, size_t at)
{
    l->previous = at;
    return at + 3 * (size_t)h->w * (size_t)h->h * sizeof(float);
}

static void get_previous(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)head;
    (void)version;
    h->has_previous = 1;
}

static int check_previous(const struct state_head *h, const struct state_layout *l,
                          const uint8_t *buf, struct err *err)
{
    if (!state_finite(buf + l->previous, 3 * (size_t)h->w * (size_t)h->h))
        return err_set(err, ERR_INPUT, "a previous picture that is not finite");
    return 0;
}

/* ------------------------------------------------------------------------- all of them */

static const struct state_part state_session = {SECTION_TAG('G', 'S', 'E', 'S'),
                                                1,
                                                NULL,
                                                lay_session,
                                                put_session,
                                                get_session,
                                                check_session},
                               state_previous = {SECTION_TAG('G', 'P', 'R', 'E'),
                                                 1,
                                                 has_previous,
                                                 lay_previous,
                                                 NULL,
                                                 get_previous,
                                                 check_previous};
static const struct state_part *const state_part[] = {
    &state_session, &state_model, &state_normals, &state_worlds,  &state_keyframes,
    &state_cells,   &state_views, &state_path,    &state_previous};
#define N_PARTS ((int)(sizeof state_part / sizeof *state_part))

/* The places of the bodies in a row that is read; a missing part has len 0. */
struct found {
    size_t at[N_PARTS], len[N_PARTS];
    int any[N_PARTS];
    unsigned version[N_PARTS];
};

unsigned state_reads(uint32_t tag)
{
    for (int i = 0; i < N_PARTS; i++)
        if (state_part[i]->tag == tag)
            return state_part[i]->version;
    return 0;
}

static int is_wanted(const struct state_part *p, const struct state_head *h)
{
    return !p->wanted || p->wanted(h);
}

void state_layout_make(struct state_layout *l, const struct state_head *h)
{
    size_t at = 0;

    memset(l, 0, sizeof *l);
    for (int i = 0; i < N_PARTS; i++)
        if (is_wanted(state_part[i], h)) {
            size_t body = at + SECTION_HEAD_BYTES;
            at += section_bytes(state_part[i]->lay(l, h, body) - body);
        }
    l->bytes = at;
}

void state_begin(uint8_t *buf, const struct state_head *h, const struct state_layout *l)
{
    size_t at = 0;

    for (int i = 0; i < N_PARTS; i++) {
        const struct state_part *p = state_part[i];
        size_t body = at + SECTION_HEAD_BYTES;
        struct state_layout same;
        struct bytes_writer head;
        if (!is_wanted(p, h))
            continue;
        head = bytes_writer(buf + body, l->bytes - body);
        if (p->put)
            p->put(buf, &head, h, l);
        section_close(buf, &at, p->tag, p->version, 0, p->lay(&same, h, body) - body);
    }
}

static int find_part(struct found *f, const struct section *s, const uint8_t *buf, struct err *err)
{
    int i = 0;

    while (i < N_PARTS && state_part[i]->tag != s->tag)
        i++;
    if (i == N_PARTS || f->any[i])
        return err_set(err, ERR_INPUT, "a state has one of its sections twice");
    f->any[i] = 1;
    f->at[i] = (size_t)(s->body - buf);
    f->len[i] = s->len;
    f->version[i] = s->version;
    return 0;
}

/* Finds the sections of the device that this build reads. */
static int find_parts(struct found *f, const uint8_t *buf, size_t len, struct err *err)
{
    struct section s;
    size_t at = 0;
    int rc;

    memset(f, 0, sizeof *f);
    while ((rc = section_next(&s, buf, len, &at, err)) == 1) {
        if ((s.tag & 0xff) != 'G')
            continue;
        rc = section_use(&s, state_reads(s.tag), err);
        if (rc == 1)
            rc = find_part(f, &s, buf, err);
        if (rc)
            return rc;
    }
    return rc;
}

/* Reads the numbers in the heads of all sections. */
static int get_heads(struct state_head *h, struct found *f, const uint8_t *buf, struct err *err)
{
    memset(h, 0, sizeof *h);
    for (int i = 0; i < N_PARTS; i++) {
        struct bytes_reader r = bytes_reader(buf + f->at[i], f->len[i]);
        if (f->any[i])
            state_part[i]->get(h, &r, f->version[i]);
        else if (is_wanted(state_part[i], h))
            return err_set(err, ERR_INPUT, "not a session's state: it lacks a section");
        if (r.bad)
            return err_set(err, ERR_INPUT, "a session's state is cut short");
    }
    return 0;
}

static int check_head(const struct state_head *h, const struct gpu_session_config *c,
                      struct err *err)
{
    if (h->w != c->net_w || h->h != c->net_h || h->step_m != c->step_m)
        return err_set(err, ERR_INPUT, "the state of a session of another shape");
    if (h->cells != (uint32_t)(c->fuse.cells != 0))
        return err_set(err, ERR_INPUT, "the state of a session that finds its points otherwise");
    if ((h->views != 0) != (c->views != 0))
        return err_set(err, ERR_INPUT, "the state of a session that makes its depth otherwise");
    if (h->path && !c->tracks)
        return err_set(err, ERR_INPUT, "the state of a session whose poses come from tracks");
    if (h->n_slots > c->max_points || h->n_keyframes > (uint32_t)c->fuse.max_keyframes)
        return err_set(err, ERR_INPUT, "%u slots and %u keyframes are over the session's limits",
                       h->n_slots, h->n_keyframes);
    if (h->n_free > h->n_slots || h->n_points != h->n_slots - h->n_free ||
        h->n_unstable > h->n_points || h->n_stable != h->n_points - h->n_unstable)
        return err_set(err, ERR_INPUT, "counts of points that do not add up");
    if (h->has_previous > 1 || (h->has_previous && !c->motion))
        return err_set(err, ERR_INPUT, "a previous picture in a session that keeps none");
    if (h->next_id == 0)
        return err_set(err, ERR_INPUT, "an id that no point may have");
    return 0;
}

/* Finds the places of the arrays, which must fill their sections. */
static int lay_found(struct state_layout *l, const struct state_head *h, const struct found *f,
                     struct err *err)
{
    int ok = 1;

    memset(l, 0, sizeof *l);
    for (int i = 0; i < N_PARTS; i++)
        if (f->any[i])
            ok &= state_part[i]->lay(l, h, f->at[i]) == f->at[i] + f->len[i];
    return ok ? 0 : err_set(err, ERR_INPUT, "a section is not as long as its counts say");
}

int state_check(struct state_head *h, struct state_layout *l, const uint8_t *buf, size_t len,
                const struct gpu_session_config *c, struct err *err)
{
    struct found f;
    int rc = find_parts(&f, buf, len, err);

    if (rc == 0)
        rc = get_heads(h, &f, buf, err);
    if (rc == 0)
        rc = check_head(h, c, err);
    if (rc == 0)
        rc = lay_found(l, h, &f, err);
    for (int i = 0; i < N_PARTS && rc == 0; i++)
        if (is_wanted(state_part[i], h))
            rc = state_part[i]->check(h, l, buf, err);
    l->bytes = len;
    return rc;
}
