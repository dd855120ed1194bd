/*
 * session_cuda_state.cu - the CUDA back end's session as bytes, and back (state.h)
 *
 * Each array travels in one copy of its used part, straight between the device and the caller's
 * bytes. Maps and the previous picture are repacked on the way, by pieces that fit the session's
 * pinned depth map, which is not read between two frames.
 */
#include "gpu/mono/session_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/mono/state.h"
#include "gpu/track/path_record.h"

#include <string.h>

/* Enqueues a copy between the device and the host. */
static int session_state_copy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                              cudaStream_t stream, struct err *err)
{
    int rc = 0;
    if (n)
        CU_TRY(cudaMemcpyAsync(to, from, n, kind, stream));
out:
    return rc;
}

static int down(void *to, const void *from, size_t n, cudaStream_t stream, struct err *err)
{
    return session_state_copy(to, from, n, cudaMemcpyDeviceToHost, stream, err);
}

static int up(void *to, const void *from, size_t n, cudaStream_t stream, struct err *err)
{
    return session_state_copy(to, from, n, cudaMemcpyHostToDevice, stream, err);
}

static int session_state_finish(cudaStream_t stream, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaStreamSynchronize(stream));
out:
    return rc;
}

/* How many of the `left` things of 8 bytes the pinned depth map takes at once. */
static size_t piece(const struct session_cuda *s, size_t left)
{
    size_t most = s->host.n_pixels * sizeof *s->depth_out / 8;
    return left < most ? left : most;
}

static int session_state_describe(struct state_head *h, struct session_dev *d, struct views *v,
                                  const struct session_cuda *s, cudaStream_t stream,
                                  struct err *err)
{
    int rc = down(d, s->dev, sizeof *d, stream, err);
    if (rc == 0 && s->host.views)
        rc = down(v, s->host.views, sizeof *v, stream, err);
    if (rc == 0)
        rc = session_state_finish(stream, err);
    if (rc)
        return rc;
    state_head_make(h, "cuda", &s->base.config);
    h->has_last = (uint32_t)d->has_last;
    h->has_previous = (uint32_t)d->has_previous;
    h->frame = d->frame;
    h->n_slots = d->n_slots;
    h->n_unstable = d->n_unstable;
    h->n_free = d->n_free;
    h->n_points = d->n_points;
    h->n_stable = d->n_stable;
    h->n_keyframes = d->n_keyframes;
    h->next_id = d->next_id;
    h->T_last = d->T_last;
    if (d->views)
        state_views_of(h, v);
    return 0;
}

size_t session_cuda_state_bytes(const struct session_cuda *s, cudaStream_t stream)
{
    struct session_dev d;
    struct views v;
    struct state_head h;
    struct state_layout l;
    if (session_state_describe(&h, &d, &v, s, stream, NULL))
        return 0;
    state_layout_make(&l, &h);
    return l.bytes;
}

/* Saves or loads the arrays of the model: `kind` device to host writes buf. */
static int copy_points(uint8_t *buf, const struct state_layout *l, const struct session_dev *d,
                       enum cudaMemcpyKind kind, cudaStream_t stream, struct err *err)
{
    size_t n = d->n_slots;
    const struct {
        void *dev;
        size_t at, bytes;
    } arrays[] = {
        {d->place, l->place, n * sizeof *d->place},
        {d->stat, l->stat, n * sizeof *d->stat},
        {d->normal, l->normals, l->normals ? n * sizeof *d->normal : 0},
        {d->out, l->out, n * sizeof *d->out},
        {d->id, l->id, n * sizeof *d->id},
        {d->worlds, l->worlds, l->worlds ? d->n_keyframes * sizeof *d->worlds : 0},
        {d->unstable[d->unstable_now], l->unstable, d->n_unstable * sizeof(uint32_t)},
        {d->free_slots, l->free_slots, d->n_free * sizeof(uint32_t)},
        {d->key, l->keys, d->table ? n * sizeof *d->key : 0},
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && rc == 0; i++) {
        uint8_t *host = buf + arrays[i].at;
        rc = kind == cudaMemcpyDeviceToHost
                 ? session_state_copy(host, arrays[i].dev, arrays[i].bytes, kind, stream, err)
                 : session_state_copy(arrays[i].dev, host, arrays[i].bytes, kind, stream, err);
    }
    return rc;
}

/* The same for many views, whose keyframes are in v itself. */
static int copy_views(uint8_t *buf, const struct state_head *h, const struct state_layout *l,
                      const struct views *v, enum cudaMemcpyKind kind, cudaStream_t stream,
                      struct err *err)
{
    struct state_views_map maps[STATE_VIEWS_MAPS];
    int rc = 0;
    state_views_maps(maps, v, h, l);
    for (int i = 0; i < STATE_VIEWS_MAPS && rc == 0; i++) {
        uint8_t *host = buf + maps[i].at;
        rc = kind == cudaMemcpyDeviceToHost
                 ? session_state_copy(host, maps[i].map, maps[i].bytes, kind, stream, err)
                 : session_state_copy(maps[i].map, host, maps[i].bytes, kind, stream, err);
    }
    return rc;
}

/* ------------------------------------------------------------------------- save */

static int save_map(const struct session_cuda *s, uint8_t *to, const struct map_cell *map,
                    const uint8_t *place, cudaStream_t stream, struct err *err)
{
    size_t n = s->host.n_pixels, m;
    uint32_t last = 0;
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0; at += m) {
        m = piece(s, n - at);
        rc = down(s->depth_out, map + at, m * sizeof *map, stream, err);
        if (rc == 0)
            rc = session_state_finish(stream, err);
        if (rc == 0)
            state_pack_cells(to + at * sizeof(uint32_t), (const struct map_cell *)s->depth_out, m,
                             place, &last);
    }
    return rc;
}

static int save_keyframes(const struct session_cuda *s, uint8_t *buf, const struct state_layout *l,
                          const struct session_dev *d, cudaStream_t stream, struct err *err)
{
    size_t k = d->n_keyframes, n = d->n_pixels;
    int rc = down(buf + l->keyframes, d->keyframes, k * sizeof *d->keyframes, stream, err);
    if (rc == 0 && k)
        CU_TRY(cudaMemcpy2DAsync(buf + l->overlaps, k, d->overlaps, (size_t)d->fuse.max_keyframes,
                                 k, k, cudaMemcpyDeviceToHost, stream));
    if (rc == 0)
        rc = session_state_finish(stream, err); /* places and keyframes are read below */
    if (rc == 0)
        state_tidy_keyframes(buf + l->keyframes, k);
    for (size_t i = 0; i < k && rc == 0 && !d->table; i++)
        rc = save_map(s, buf + l->maps + i * n * sizeof(uint32_t), d->maps + i * n, buf + l->place,
                      stream, err);
out:
    return rc;
}

static int save_views(uint8_t *buf, const struct state_head *h, const struct state_layout *l,
                      const struct views *v, cudaStream_t stream, struct err *err)
{
    int rc = copy_views(buf, h, l, v, cudaMemcpyDeviceToHost, stream, err);
    memcpy(buf + l->views_kept, v->kept, h->views_places * sizeof *v->kept);
    return rc ? rc : session_state_finish(stream, err);
}

/* Saves or loads their arrays: t and p are the device's records. */
static int copy_path(uint8_t *buf, const struct state_layout *l, const struct track *t,
                     const struct path *p, enum cudaMemcpyKind kind, cudaStream_t stream,
                     struct err *err)
{
    size_t n = (size_t)t->n_slots;
    const struct {
        void *dev;
        size_t at, bytes;
    } arrays[] = {{t->slot, l->path_slots, n * sizeof *t->slot},
                  {path_record_pyramid(t), l->path_pyramid, t->pyramid_bytes},
                  {p->landmark, l->path_landmarks, 2 * n * sizeof *p->landmark}};
    int rc = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && rc == 0; i++) {
        uint8_t *host = buf + arrays[i].at;
        rc = kind == cudaMemcpyDeviceToHost
                 ? session_state_copy(host, arrays[i].dev, arrays[i].bytes, kind, stream, err)
                 : session_state_copy(arrays[i].dev, host, arrays[i].bytes, kind, stream, err);
    }
    return rc;
}

static int save_path(const struct session_cuda *s, uint8_t *buf, const struct state_layout *l,
                     cudaStream_t stream, struct err *err)
{
    struct path_record r;
    struct track t;
    struct path p;
    int rc = down(&t, s->host.track, sizeof t, stream, err);
    if (rc == 0)
        rc = down(&p, s->host.path, sizeof p, stream, err);
    if (rc == 0)
        rc = session_state_finish(stream, err);
    if (rc)
        return rc;
    r = path_record_of(&t, &p);
    memcpy(buf + l->path_record, &r, sizeof r);
    rc = copy_path(buf, l, &t, &p, cudaMemcpyDeviceToHost, stream, err);
    return rc ? rc : session_state_finish(stream, err);
}

static int load_path(const struct session_cuda *s, const uint8_t *buf, const struct state_head *h,
                     const struct state_layout *l, cudaStream_t stream, struct err *err)
{
    struct path_record r = path_record_get(buf + l->path_record, h->path);
    struct track t = s->track;
    struct path p = s->path;
    int rc;
    path_record_to(&t, &p, &r);
    rc = copy_path((uint8_t *)buf, l, &t, &p, cudaMemcpyHostToDevice, stream, err);
    if (rc == 0)
        rc = up(s->host.track, &t, sizeof t, stream, err);
    if (rc == 0)
        rc = up(s->host.path, &p, sizeof p, stream, err);
    return rc ? rc : session_state_finish(stream, err);
}

static int save_previous(const struct session_cuda *s, uint8_t *to, const struct session_dev *d,
                         cudaStream_t stream, struct err *err)
{
    const __half *from = (const __half *)s->depth_out;
    size_t n = d->n_pixels, m;
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0; at += m) {
        m = piece(s, n - at);
        rc = down(s->depth_out, d->previous + 4 * at, m * 4 * sizeof *from, stream, err);
        if (rc == 0)
            rc = session_state_finish(stream, err);
        for (size_t i = 0; i < m && rc == 0; i++)
            for (size_t ch = 0; ch < 3; ch++) {
                float v = __half2float(from[4 * i + ch]);
                memcpy(to + (ch * n + at + i) * sizeof v, &v, sizeof v);
            }
    }
    return rc;
}

int session_cuda_save(const struct session_cuda *s, uint8_t *buf, size_t cap, size_t *len,
                      cudaStream_t stream, struct err *err)
{
    struct session_dev d;
    struct state_head h;
    struct state_layout l;
    struct views v;
    int rc = session_state_describe(&h, &d, &v, s, stream, err);

    if (rc)
        return rc;
    state_layout_make(&l, &h);
    if (l.bytes > cap)
        return err_set(err, ERR_LIMIT, "a state of %zu bytes does not fit %zu", l.bytes, cap);
    state_begin(buf, &h, &l);
    rc = copy_points(buf, &l, &d, cudaMemcpyDeviceToHost, stream, err);
    if (rc == 0)
        rc = save_keyframes(s, buf, &l, &d, stream, err);
    if (rc == 0 && h.views)
        rc = save_views(buf, &h, &l, &v, stream, err);
    if (rc == 0 && h.path)
        rc = save_path(s, buf, &l, stream, err);
    if (rc == 0 && h.has_previous)
        rc = save_previous(s, buf + l.previous, &d, stream, err);
    if (rc == 0)
        *len = l.bytes;
    return rc;
}

/* ------------------------------------------------------------------------- load */

static int load_map(const struct session_cuda *s, struct map_cell *map, const uint8_t *from,
                    const uint8_t *place, cudaStream_t stream, struct err *err)
{
    size_t n = s->host.n_pixels, m;
    uint32_t last = 0;
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0; at += m) {
        m = piece(s, n - at);
        state_unpack_cells((struct map_cell *)s->depth_out, from + at * sizeof(uint32_t), m, place,
                           &last);
        rc = up(map + at, s->depth_out, m * sizeof *map, stream, err);
        if (rc == 0)
            rc = session_state_finish(stream, err);
    }
    return rc;
}

static int load_keyframes(const struct session_cuda *s, const struct session_dev *d,
                          const uint8_t *buf, const struct state_layout *l, cudaStream_t stream,
                          struct err *err)
{
    size_t k = d->n_keyframes, n = d->n_pixels;
    int rc = up(d->keyframes, buf + l->keyframes, k * sizeof *d->keyframes, stream, err);
    if (rc == 0 && k)
        CU_TRY(cudaMemcpy2DAsync(d->overlaps, (size_t)d->fuse.max_keyframes, buf + l->overlaps, k,
                                 k, k, cudaMemcpyHostToDevice, stream));
    for (size_t i = 0; i < k && rc == 0 && !d->table; i++)
        rc = load_map(s, d->maps + i * n, buf + l->maps + i * n * sizeof(uint32_t), buf + l->place,
                      stream, err);
out:
    return rc;
}

static int load_previous(const struct session_cuda *s, const struct session_dev *d,
                         const uint8_t *from, cudaStream_t stream, struct err *err)
{
    __half *to = (__half *)s->depth_out;
    size_t n = d->n_pixels, m;
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0; at += m) {
        m = piece(s, n - at);
        for (size_t i = 0; i < m; i++) {
            float v[4] = {0, 0, 0, 0};
            for (size_t ch = 0; ch < 3; ch++)
                memcpy(&v[ch], from + (ch * n + at + i) * sizeof *v, sizeof *v);
            for (size_t ch = 0; ch < 4; ch++)
                to[4 * i + ch] = __float2half_rn(v[ch]);
        }
        rc = up(d->previous + 4 * at, to, m * 4 * sizeof *to, stream, err);
        if (rc == 0)
            rc = session_state_finish(stream, err);
    }
    return rc;
}

static int load_views(const struct session_dev *d, struct views *v, const uint8_t *buf,
                      const struct state_head *h, const struct state_layout *l, cudaStream_t stream,
                      struct err *err)
{
    int rc;
    state_views_to(v, h);
    state_views_kept(v->kept, buf, h, l);
    rc = copy_views((uint8_t *)buf, h, l, v, cudaMemcpyHostToDevice, stream, err);
    return rc ? rc : up(d->views, v, sizeof *v, stream, err);
}

static void take_counts(struct session_dev *d, const struct state_head *h)
{
    d->has_last = (int)h->has_last;
    d->has_previous = (int)h->has_previous;
    d->frame = h->frame;
    d->n_slots = h->n_slots;
    d->n_unstable = h->n_unstable;
    d->n_free = h->n_free;
    d->n_points = h->n_points;
    d->n_stable = h->n_stable;
    d->n_keyframes = h->n_keyframes;
    d->next_id = h->next_id;
    d->T_last = h->T_last;
}

int session_cuda_load(struct session_cuda *s, const uint8_t *buf, size_t len, cudaStream_t stream,
                      struct err *err)
{
    struct session_dev d;
    struct state_head h;
    struct state_layout l;
    struct views v;
    int rc = session_state_describe(&h, &d, &v, s, stream, err);

    if (rc == 0 && (d.frame || d.n_slots))
        rc = err_set(err, ERR_STATE, "a state is loaded into a new session alone");
    if (rc == 0)
        rc = state_check(&h, &l, buf, len, &s->base.config, err);
    if (rc)
        return rc;
    take_counts(&d, &h);
    d.table_worn = d.table != NULL; /* the first frame fills the table */
    rc = copy_points((uint8_t *)buf, &l, &d, cudaMemcpyHostToDevice, stream, err);
    if (rc == 0)
        rc = load_keyframes(s, &d, buf, &l, stream, err);
    if (rc == 0 && h.views)
        rc = load_views(&d, &v, buf, &h, &l, stream, err);
    if (rc == 0 && h.path)
        rc = load_path(s, buf, &h, &l, stream, err);
    if (rc == 0 && h.has_previous)
        rc = load_previous(s, &d, buf + l.previous, stream, err);
    if (rc == 0)
        rc = up(s->dev, &d, sizeof d, stream, err);
    if (rc == 0)
        rc = session_state_finish(stream, err);
    return rc;
}
