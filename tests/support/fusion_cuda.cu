#include "tests/support/fusion_cuda.h"

#include "gpu/mono/associate_point.h"
#include "gpu/base/cuda_try.h"
#include "gpu/mono/scan_cuda.cuh"

#include <stdlib.h>

#define GUARD_BYTE 0xa5
#define PIECES_MAX 64

struct fusion_rig {
    int n;
    cudaStream_t stream;
    struct session_cuda *s[FUSION_CUDA_MAX];
    struct frame_cuda *frames; /* on the device, [n] */
    __half *depth_in[FUSION_CUDA_MAX], *motion_in[FUSION_CUDA_MAX];
    float *depth_raw[FUSION_CUDA_MAX]; /* what a network would say of a turned picture */
    uint32_t pixels_max;
    enum gpu_views_kind views;
    int tracks;
    int w_max, h_max;
    enum gpu_depth_source depth_source;
};

/* Where pieces of the arena begin; behind the last one there is a guard, too. */
static int pieces(const struct session_cuda *s, void **at)
{
    const struct session_dev *h = &s->host;
    void *const all[] = {h->mask,         h->sensor_values,
                         h->sensor_sure,  h->sensor_claims,
                         h->sensor_bins,  h->trust,
                         s->dev,          h->picture,
                         h->rgb,          h->depth,
                         h->usable,       h->world,
                         h->found,        h->through,
                         h->distance,     h->bins,
                         h->counts,       h->groups,
                         h->wins,         h->mark,
                         h->chunk_counts, h->carved,
                         h->keyframes,    h->overlap_now,
                         h->overlaps,     h->maps,
                         h->place,        h->stat,
                         h->out,          h->id,
                         h->claims,       h->previous,
                         h->unstable[0],  h->unstable[1],
                         h->free_slots,   h->cell_claims,
                         h->key,          h->table,
                         h->entry,        h->normal,
                         h->worlds,       h->views,
                         s->views.grey,   h->track,
                         h->path,         s->track.pyramid[0],
                         s->path.landmark};
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            at[n++] = (uint8_t *)all[i] - SESSION_CUDA_GUARD;
    at[n++] = (uint8_t *)s->arena + s->arena_bytes - SESSION_CUDA_GUARD;
    return n;
}

static int open_session(struct fusion_rig *r, int i, const struct gpu_session_config *c,
                        struct err *err)
{
    size_t n = (size_t)c->net_w * c->net_h;
    void *guard[PIECES_MAX];
    int rc = session_cuda_new(&r->s[i], NULL, NULL, c, r->stream, err), n_guards;
    if (rc)
        goto out;
    n_guards = pieces(r->s[i], guard);
    for (int k = 0; k < n_guards; k++)
        CU_TRY(cudaMemsetAsync(guard[k], GUARD_BYTE, SESSION_CUDA_GUARD, r->stream));
    CU_TRY(cudaMalloc(&r->depth_in[i], n * 4 * sizeof(__half)));
    CU_TRY(cudaMalloc(&r->motion_in[i], n * 8 * sizeof(__half)));
    CU_TRY(cudaMalloc(&r->depth_raw[i], n * sizeof(float)));
    /* read_state() reads them whether or not the session has the networks that they are for */
    CU_TRY(cudaMemsetAsync(r->depth_in[i], 0, n * 4 * sizeof(__half), r->stream));
    CU_TRY(cudaMemsetAsync(r->motion_in[i], 0, n * 8 * sizeof(__half), r->stream));
    if (n > r->pixels_max)
        r->pixels_max = (uint32_t)n;
    if (c->views)
        r->views = c->views;
    if (c->tracks)
        r->tracks = c->tracks;
    if (c->depth_source != GPU_DEPTH_NETWORK)
        r->depth_source = c->depth_source;
    r->w_max = c->net_w > r->w_max ? c->net_w : r->w_max;
    r->h_max = c->net_h > r->h_max ? c->net_h : r->h_max;
out:
    return rc;
}

static void close_rig(struct fusion_rig **rig)
{
    struct fusion_rig *r = *rig;
    if (!r)
        return;
    for (int i = 0; i < r->n; i++) {
        session_cuda_free(&r->s[i]);
        (void)cudaFree(r->depth_in[i]);
        (void)cudaFree(r->motion_in[i]);
        (void)cudaFree(r->depth_raw[i]);
    }
    (void)cudaFree(r->frames);
    if (r->stream)
        (void)cudaStreamDestroy(r->stream);
    free(r);
    *rig = NULL;
}

static int open_rig(struct fusion_rig **out, const struct gpu_session_config *c, int n,
                    struct err *err)
{
    struct fusion_rig *r = NULL;
    int rc = 0, devices = 0;
    cudaError_t e = cudaGetDeviceCount(&devices);

    *out = NULL;
    if (e != cudaSuccess || devices == 0)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA device: %s", cudaGetErrorString(e));
    r = (struct fusion_rig *)calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory");
    r->n = n;
    CU_TRY(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
    CU_TRY(cudaMalloc(&r->frames, (size_t)n * sizeof *r->frames));
    for (int i = 0; i < n && rc == 0; i++)
        rc = open_session(r, i, &c[i], err);
out:
    if (rc)
        close_rig(&r);
    *out = r;
    return rc;
}

static void describe(struct frame_cuda *to, const struct fusion_rig *r, int i,
                     const struct gpu_frame *f)
{
    memset(to, 0, sizeof *to);
    if (!f->rgb)
        return;
    to->s = r->s[i]->dev;
    to->map = lens_map_make(&f->lens, f->K, f->width, f->height, r->s[i]->host.w, r->s[i]->host.h);
    to->T_wc = f->T_wc;
    to->has_pose = f->has_pose;
    to->restart = f->restart;
    to->submap = f->submap;
    to->source = f->source;
    to->breaks = f->breaks;
    to->goes_on = f->goes_on != 0;
    to->turn = f->item.turn;
    to->depth_raw = f->item.turn ? r->depth_raw[i] : NULL;
    for (int net = 0; net < 2; net++)
        for (int ch = 0; ch < 3; ch++) {
            to->mean[net][ch] = FUSION_CUDA_MEAN(net, ch);
            to->std[net][ch] = FUSION_CUDA_STD(net, ch);
        }
    to->depth_in = r->depth_in[i];
    to->motion_in = r->motion_in[i];
    to->depth_pitch = 4;
    to->motion_pitch = 8;
    to->rays = 1;
    to->changes = r->s[i]->changes;
    to->result = r->s[i]->result;
    to->depth_out = f->depth_out ? r->s[i]->depth_out : NULL;
    session_cuda_put_sensor(to, r->s[i], f);
    session_cuda_put_views(to, r->s[i]);
    session_cuda_put_tracks(to, r->s[i]);
}

static int upload(struct fusion_rig *r, const struct gpu_frame *f, const float *const *depth,
                  struct err *err)
{
    struct frame_cuda frames[FUSION_CUDA_MAX];
    int rc = 0;
    for (int i = 0; i < r->n; i++) {
        describe(&frames[i], r, i, &f[i]);
        if (!f[i].rgb)
            continue;
        rc = session_cuda_upload(r->s[i], &f[i], r->stream, err);
        if (rc == 0)
            rc = session_cuda_put_depth(r->s[i], depth[i], r->stream, err);
        if (rc)
            goto out;
        if (f[i].item.turn)
            CU_TRY(cudaMemcpyAsync(r->depth_raw[i], depth[i],
                                   r->s[i]->host.n_pixels * sizeof(float), cudaMemcpyHostToDevice,
                                   r->stream));
    }
    CU_TRY(cudaMemcpyAsync(r->frames, frames, (size_t)r->n * sizeof *frames, cudaMemcpyHostToDevice,
                           r->stream));
out:
    return rc;
}

static const struct {
    const char *name;
    pass_cuda_fn *enqueue;
} passes[] = {{"image", image_cuda},         {"depth", depth_cuda},   {"sensor", sensor_cuda},
              {"follow", follow_cuda},       {"views", views_cuda},   {"covisible", covisible_cuda},
              {"associate", associate_cuda}, {"update", update_cuda}, {"insert", insert_cuda},
              {"remove", remove_cuda}};

#define PASSES ((int)(sizeof passes / sizeof *passes))

static const char *pass_name(int pass)
{
    return pass < PASSES ? passes[pass].name : NULL;
}

static int run_pass(struct fusion_rig *r, int pass, struct err *err)
{
    const struct pass_cuda p = {r->frames,       r->n,     r->pixels_max, r->views,     r->tracks,
                                r->depth_source, r->w_max, r->h_max,      {NULL, NULL}, r->stream};

    return passes[pass].enqueue(&p, err);
}

static int take(struct fusion_rig *r, struct gpu_frame *f, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaStreamSynchronize(r->stream));
    for (int i = 0; i < r->n; i++) {
        if (!f[i].rgb)
            continue;
        f[i].result = r->s[i]->result->result;
        f[i].changes = r->s[i]->changes;
        if (f[i].depth_out)
            memcpy(f[i].depth_out, r->s[i]->depth_out,
                   r->s[i]->host.n_pixels * sizeof *f[i].depth_out);
    }
out:
    return rc;
}

static int run_batch(struct fusion_rig *r, struct gpu_frame *f, const float *const *depth,
                     struct err *err)
{
    int rc = upload(r, f, depth, err);

    for (int k = 0; k < PASSES && rc == 0; k++)
        rc = run_pass(r, k, err);
    return rc ? rc : take(r, f, err);
}

/* Device memory to new host memory. */
template <class T>
static int get(struct fusion_rig *r, T **to, const T *from, size_t n, struct err *err)
{
    int rc = 0;
    *to = (T *)calloc(n + 1, sizeof(T));
    if (!*to)
        return err_set(err, ERR_MEMORY, "no memory");
    CU_TRY(cudaMemcpyAsync(*to, from, n * sizeof(T), cudaMemcpyDeviceToHost, r->stream));
    CU_TRY(cudaStreamSynchronize(r->stream));
out:
    return rc;
}

/* Values of an array that are not what they should be between frames. */
template <class T>
static int count_not(struct fusion_rig *r, uint32_t *count, const T *from, size_t n, T want,
                     struct err *err)
{
    T *values = NULL;
    int rc = get(r, &values, from, n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        *count += values[i] != want;
    free(values);
    return rc;
}

static int look_around(struct fusion_rig *r, const struct session_cuda *s, struct fusion_state *st,
                       struct err *err)
{
    const uint64_t unclaimed = POINT_UNCLAIMED;
    void *guard[PIECES_MAX];
    int n = pieces(s, guard), rc;
    rc = count_not(r, &st->n_claims_left, s->host.claims, s->host.max_points, unclaimed, err);
    if (rc == 0)
        rc = count_not(r, &st->n_claims_left, s->host.cell_claims,
                       s->host.table ? 0
                                     : (size_t)s->host.n_pixels * (size_t)s->host.fuse.n_covisible,
                       unclaimed, err);
    if (rc == 0)
        rc = count_not(r, &st->n_bins_left, s->host.bins, ASSOCIATE_BINS, 0u, err);
    for (int i = 0; i < n && rc == 0; i++)
        rc = count_not(r, &st->n_guards_hurt, (const uint8_t *)guard[i], SESSION_CUDA_GUARD,
                       (uint8_t)GUARD_BYTE, err);
    return rc;
}

static int look_inside(struct fusion_rig *r, const struct session_dev *d, struct fusion_state *st,
                       struct err *err)
{
    size_t n = d->n_pixels, k = (size_t)d->fuse.max_keyframes;
    int rc = get(r, &st->place, d->place, d->n_slots, err);
    rc = rc ? rc : get(r, &st->stat, d->stat, d->n_slots, err);
    rc = rc ? rc : get(r, &st->normal, d->normal, d->n_slots, err);
    rc = rc ? rc : get(r, &st->out, d->out, d->n_slots, err);
    rc = rc ? rc : get(r, &st->id, d->id, d->n_slots, err);
    rc = rc ? rc : get(r, &st->unstable, d->unstable[d->unstable_now], d->n_unstable, err);
    rc = rc ? rc : get(r, &st->free_slots, d->free_slots, d->n_free, err);
    rc = rc ? rc : get(r, &st->keyframes, d->keyframes, k, err);
    rc = rc ? rc : get(r, &st->overlaps, d->overlaps, k * k, err);
    rc = rc ? rc : get(r, &st->maps, d->maps, d->table ? 0 : k * n, err);
    rc = rc ? rc : get(r, &st->key, d->key, d->table ? d->n_slots : 0, err);
    rc = rc ? rc : get(r, &st->rgb, d->rgb, 3 * n, err);
    return rc;
}

static void free_frame(struct fusion_frame *f)
{
    free(f->rgb);
    free(f->depth);
    free(f->usable);
    free(f->distance);
    free(f->world);
    free(f->found);
    free(f->through);
    free(f->overlap_now);
    memset(f, 0, sizeof *f);
}

/* What the device has of the frame that is under way. */
static int read_frame(struct fusion_rig *r, int session, struct fusion_frame *f, struct err *err)
{
    struct session_dev *d = NULL;
    int rc;

    memset(f, 0, sizeof *f);
    rc = get(r, &d, r->s[session]->dev, 1, err);
    rc = rc ? rc : get(r, &f->rgb, d->rgb, 3 * (size_t)d->n_pixels, err);
    rc = rc ? rc : get(r, &f->depth, d->depth, d->n_pixels, err);
    rc = rc ? rc : get(r, &f->usable, d->usable, d->n_pixels, err);
    rc = rc ? rc : get(r, &f->distance, d->distance, d->n_pixels, err);
    rc = rc ? rc : get(r, &f->world, d->world, d->n_pixels, err);
    rc = rc ? rc : get(r, &f->found, d->found, d->n_pixels, err);
    rc = rc ? rc : get(r, &f->through, d->through, d->n_pixels, err);
    rc = rc ? rc : get(r, &f->overlap_now, d->overlap_now, (size_t)d->fuse.max_keyframes, err);
    if (rc == 0) {
        f->camera = d->camera;
        f->grid = d->grid;
        f->n_covisible = d->n_covisible;
        for (int k = 0; k < d->n_covisible; k++) {
            f->covisible_place[k] = d->covisible[k].place;
            f->covisible_overlap[k] = d->covisible[k].overlap;
        }
        f->is_keyframe = d->is_keyframe;
        f->place_new = d->place_new;
        f->n_keyframes = d->n_keyframes;
        f->n_valid = d->n_valid;
        f->n_associated = d->n_associated;
        f->median_depth_m = d->median_depth_m;
    } else {
        free_frame(f);
    }
    free(d);
    return rc;
}

static int read_state(struct fusion_rig *r, int session, struct fusion_state *st, struct err *err)
{
    const struct session_cuda *s = r->s[session];
    struct session_dev *d = NULL;
    size_t n = s->host.n_pixels;
    int rc;

    memset(st, 0, sizeof *st);
    rc = get(r, &d, s->dev, 1, err);
    if (rc == 0)
        rc = look_inside(r, d, st, err);
    if (rc == 0)
        rc = look_around(r, s, st, err);
    if (rc == 0)
        rc = get(r, &st->depth_in, (const uint16_t *)r->depth_in[session], 4 * n, err);
    if (rc == 0)
        rc = get(r, &st->motion_in, (const uint16_t *)r->motion_in[session], 8 * n, err);
    if (rc == 0) {
        st->K = d->camera.K;
        st->T_wc = d->camera.T_wc;
        st->n_slots = d->n_slots;
        st->n_unstable = d->n_unstable;
        st->n_free = d->n_free;
        st->n_points = d->n_points;
        st->n_stable = d->n_stable;
        st->n_keyframes = d->n_keyframes;
        st->next_id = d->next_id;
    }
    free(d);
    return rc;
}

static void free_state(struct fusion_state *st)
{
    free(st->place);
    free(st->stat);
    free(st->normal);
    free(st->out);
    free(st->id);
    free(st->unstable);
    free(st->free_slots);
    free(st->keyframes);
    free(st->overlaps);
    free(st->maps);
    free(st->key);
    free(st->rgb);
    free(st->depth_in);
    free(st->motion_in);
    memset(st, 0, sizeof *st);
}

static size_t state_bytes(struct fusion_rig *r, int session)
{
    return session_cuda_state_bytes(r->s[session], r->stream);
}

static int save(struct fusion_rig *r, int session, uint8_t *buf, size_t cap, size_t *len,
                struct err *err)
{
    return session_cuda_save(r->s[session], buf, cap, len, r->stream, err);
}

static int load(struct fusion_rig *r, int session, const uint8_t *buf, size_t len, struct err *err)
{
    return session_cuda_load(r->s[session], buf, len, r->stream, err);
}

static const struct fusion_api api = {open_rig,   close_rig,   run_batch,  upload,     pass_name,
                                      run_pass,   take,        read_frame, free_frame, read_state,
                                      free_state, state_bytes, save,       load};
extern "C" const struct fusion_api *fusion_cuda = &api;
