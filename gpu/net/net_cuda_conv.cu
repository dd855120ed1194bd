#include "gpu/net/net_cuda_conv.h"

#include "gpu/base/cuda_try.h"
#include "gpu/net/net_cuda_conv_halo.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* K is cut into parts for this number of multiprocessors on every device, because the bits depend
 * on the cut. */
#define PROCESSORS 132
#define PART_MIN 256
/* Split runs are offered while idle multiprocessors remain for their parts. */
#define SPLIT_BLOCKS (PROCESSORS * 4)
#define HALF_LARGEST 65504.0f

typedef void (*conv_fn)(const conv_launch);

struct conv_row {
    int bm, bn, bk, threads, smem, per_block; /* per_block: floats of a part */
    conv_fn part, parts, four;                /* four: NULL where there is none */
    int halo;                                 /* smem: of the weights only */
};

template <class S> static constexpr conv_row row_make(conv_fn four = NULL)
{
    return {S::BM,
            S::BN,
            S::BK,
            S::THREADS,
            S::SMEM,
            S::MI * S::NI * 4 * S::THREADS,
            conv_kernel<S, false, false>,
            conv_kernel<S, true, false>,
            four,
            0};
}

/* The same tile as HALO_W columns of a picture. */
template <class S> static constexpr conv_row row_make_halo(void)
{
    return {S::BM,
            S::BN,
            S::BK,
            S::THREADS,
            S::STAGES * S::BN * S::BK * 2 + HALO_ZEROS,
            0,
            halo_kernel<S, false>,
            halo_kernel<S, true>,
            NULL,
            1};
}

template <class S> static constexpr conv_row row_make_four(void)
{
    return row_make<S>(conv_kernel<S, false, true>);
}

static const conv_row rows[] = {
    row_make<conv_shape<128, 128, 64, 32, 32, 4>>(),
    row_make<conv_shape<128, 128, 64, 32, 64, 3>>(),
    row_make<conv_shape<64, 128, 32, 32, 64, 3>>(),
    row_make<conv_shape<128, 96, 32, 48, 32, 4>>(),
    row_make<conv_shape<64, 96, 32, 48, 32, 4>>(),
    row_make_four<conv_shape<256, 64, 64, 32, 32, 3>>(),
    row_make_four<conv_shape<128, 64, 32, 32, 32, 4>>(),
    row_make<conv_shape<128, 64, 32, 32, 64, 3>>(),
    row_make_four<conv_shape<64, 64, 32, 32, 32, 4>>(),
    row_make<conv_shape<64, 64, 32, 16, 64, 4>>(),
    row_make<conv_shape<32, 64, 16, 32, 64, 4>>(),
    row_make_four<conv_shape<256, 32, 32, 32, 32, 3>>(),
    row_make_four<conv_shape<128, 32, 32, 32, 32, 4>>(),
    row_make<conv_shape<128, 32, 32, 16, 64, 3>>(),
    row_make_four<conv_shape<64, 32, 32, 16, 32, 4>>(),
    row_make<conv_shape<64, 32, 32, 16, 64, 4>>(),
    row_make<conv_shape<32, 32, 16, 16, 64, 4>>(),
    row_make<conv_shape<256, 16, 32, 16, 32, 4>>(),
    row_make_four<conv_shape<128, 16, 32, 16, 32, 4>>(),
    row_make<conv_shape<64, 16, 16, 16, 64, 4>>(),
    row_make_halo<conv_shape<128, 16, 32, 16, 32, 4>>(),
    row_make_halo<conv_shape<256, 16, 32, 16, 32, 4>>(),
    row_make_halo<conv_shape<128, 32, 32, 32, 32, 4>>(),
    row_make_halo<conv_shape<256, 32, 32, 32, 32, 4>>(),
    row_make_halo<conv_shape<128, 32, 32, 32, 64, 3>>(),
    row_make_halo<conv_shape<128, 64, 32, 64, 32, 4>>(),
    row_make_halo<conv_shape<128, 64, 32, 32, 32, 4>>(),
    row_make_halo<conv_shape<128, 64, 32, 32, 64, 3>>(),
    row_make_halo<conv_shape<256, 64, 64, 32, 32, 4>>(),
    row_make_halo<conv_shape<128, 96, 32, 48, 32, 4>>(),
    row_make_halo<conv_shape<64, 64, 32, 32, 64, 3>>(),
};
#define ROWS ((int)(sizeof rows / sizeof *rows))

struct net_cuda_conv_plan {
    struct net_cuda_conv conv;
    int four, max_batch;
    int max_smem; /* largest shared memory of a block on this device */
    struct conv_launch launch;
    size_t bytes;
    __half *weights;
    float *bias;
};

static int div_up(int64_t a, int64_t b)
{
    return (int)((a + b - 1) / b);
}

static conv_fn row_fn(const struct net_cuda_conv_plan *p, const conv_row *r, int split)
{
    if (p->four)
        return split ? NULL : r->four;
    return split || p->launch.segments == 1 ? r->part : r->parts;
}

/* ---------------------------------------------------------------------------- one layer */

/* Sizes that fit the loads: 32-bit offsets, multiples of eight channels. */
static int plan_check(const struct net_cuda_conv *c, int max_batch, struct err *err)
{
    const int cin = c->src[0].c + (c->n_src > 1 ? c->src[1].c : 0);
    const double k = (double)c->win.k[0] * (c->win.k[1] + 2) * (cin + 16);

    if (c->n_src < 1 || c->n_src > 2 || max_batch < 1 || c->cout < 1 || c->oh < 1 || c->ow < 1)
        return err_set(err, ERR_INPUT, "convolution of %d sources, %d pictures", c->n_src,
                       max_batch);
    for (int i = 0; i < c->n_src; i++) {
        const struct net_cuda_source *s = &c->src[i];
        const int four = s->pitch == 4 && c->n_src == 1 && !s->up;

        if (s->c < 1 || s->pitch < s->c || (s->pitch % 8 && !four))
            return err_set(err, ERR_INPUT, "%d channels with a pitch of %d", s->c, s->pitch);
        if (s->up && (c->h % 2 || c->w % 2))
            return err_set(err, ERR_INPUT, "an upsampled source of odd size");
        if ((double)max_batch * c->h * c->w * s->pitch / (s->up ? 4 : 1) >= 2147483648.0)
            return err_set(err, ERR_LIMIT, "%d pictures of %d x %d x %d are too large", max_batch,
                           c->h, c->w, s->pitch);
    }
    if ((double)max_batch * c->oh * c->ow >= (1 << 28) || (k + 64) * (c->cout + 8) >= 2147483648.0)
        return err_set(err, ERR_LIMIT, "a convolution of %d x %d x %d is too large", c->oh, c->ow,
                       c->cout);
    if ((!c->out_float && (c->out_pitch % 8 || c->out_pitch < c->cout)) ||
        (c->has_residual && (c->residual_pitch % 8 || c->residual_pitch < c->cout)))
        return err_set(err, ERR_INPUT, "pitch of an output of %d channels", c->cout);
    return 0;
}

/*
 * Cuts K into parts of at least PART_MIN, enough for tiles of 64 x 64 of one picture to fill the
 * device. The cut depends only on the layer. Steps are 64 long if that pads little, else 32.
 */
static void plan_cut(struct net_cuda_conv_plan *p, int k)
{
    const struct net_cuda_conv *c = &p->conv;
    const int64_t tiles = (int64_t)div_up((int64_t)c->oh * c->ow, 64) * div_up(c->cout, 64);
    const int quantum = div_up(k, 64) * 64 * 16 <= k * 17 ? 64 : 32;
    const int steps = div_up(k, quantum);
    int parts = div_up(PROCESSORS - 4, tiles);

    if (parts > k / PART_MIN)
        parts = k / PART_MIN;
    if (parts < 1 || p->four)
        parts = 1;
    p->launch.k_pad = steps * quantum;
    p->launch.k_part = div_up(steps, parts) * quantum;
    p->launch.segments = div_up(p->launch.k_pad, p->launch.k_part);
}

static void plan_launch(struct net_cuda_conv_plan *p)
{
    const struct net_cuda_conv *c = &p->conv;
    const struct net_window *w = &c->win;
    struct conv_launch *l = &p->launch;

    p->four = c->src[0].pitch == 4;
    l->ohw = c->oh * c->ow;
    l->oh = c->oh;
    l->ow = c->ow;
    l->h = c->h;
    l->w = c->w;
    l->stride_y = w->stride[0];
    l->stride_x = w->stride[1];
    l->step_y = w->dil[0];
    l->step_x = w->dil[1] * (p->four ? 2 : 1);
    l->dil_x = w->dil[1];
    /* a tap of zeros in front makes the pairs of pixels begin at even columns */
    const int lead = p->four && w->lo[1] % 2;
    l->org_y = -w->lo[0];
    l->org_x = -w->lo[1] - lead * w->dil[1];
    l->pair = p->four && w->dil[1] == 1 && w->stride[1] % 2 == 0 && c->w % 2 == 0;
    l->taps_y = w->k[0];
    l->taps_x = p->four ? div_up(w->k[1] + lead, 2) : w->k[1];
    l->chunks0 = div_up(c->src[0].c, 8);
    l->chunks = l->chunks0 + (c->n_src > 1 ? div_up(c->src[1].c, 8) : 0);
    l->cout = c->cout;
    l->cout8 = div_up(c->cout, 8) * 8;
    l->out_pitch = c->out_pitch;
    l->residual_pitch = c->residual_pitch;
    l->out_float = c->out_float;
    l->act = c->act;
    for (int i = 0; i < c->n_src; i++) {
        const struct net_cuda_source *s = &c->src[i];
        struct conv_source *to = i ? &l->src1 : &l->src0;

        to->h = c->h >> s->up;
        to->w = c->w >> s->up;
        to->pitch = s->pitch;
        to->up = s->up;
    }
    plan_cut(p, l->taps_y * l->taps_x * l->chunks * 8);
}

/* The place of weight (channel in, ky, kx) in a row of K. */
static size_t pack_place(const struct net_cuda_conv_plan *p, int ci, int ky, int kx)
{
    const struct conv_launch *l = &p->launch;
    const int c0 = p->conv.src[0].c, tap_y = ky * l->taps_x;

    if (p->four) {
        const int at = kx + p->conv.win.lo[1] % 2;

        return (size_t)(tap_y + at / 2) * 8 + (size_t)(at % 2 * 4 + ci);
    }
    return (size_t)(tap_y + kx) * l->chunks * 8 + (size_t)(ci < c0 ? ci : l->chunks0 * 8 + ci - c0);
}

/* Packs weights [cout][cin][kh][kw] to [cout8][k_pad] halves, padded with zeros. */
static int pack_weights(const struct net_cuda_conv_plan *p, __half *to, const float *weights,
                        struct err *err)
{
    const struct net_cuda_conv *c = &p->conv;
    const int cin = c->src[0].c + (c->n_src > 1 ? c->src[1].c : 0);

    for (int o = 0; o < c->cout; o++)
        for (int i = 0; i < cin; i++)
            for (int y = 0; y < c->win.k[0]; y++)
                for (int x = 0; x < c->win.k[1]; x++) {
                    const float w = *weights++;

                    if (!(fabsf(w) <= HALF_LARGEST))
                        return err_set(err, ERR_UNSUPPORTED, "a weight of %g does not fit fp16",
                                       (double)w);
                    to[(size_t)o * p->launch.k_pad + pack_place(p, i, y, x)] = __float2half_rn(w);
                }
    return 0;
}

static int plan_upload(struct net_cuda_conv_plan *p, const float *weights, const float *bias,
                       cudaStream_t stream, struct err *err)
{
    const size_t cout8 = (size_t)p->launch.cout8;
    const size_t w_bytes = cout8 * p->launch.k_pad * sizeof(__half), b_bytes = cout8 * 4;
    __half *w = (__half *)calloc(1, w_bytes);
    float *b = (float *)calloc(1, b_bytes);
    int rc;

    if (!w || !b) {
        rc = err_set(err, ERR_MEMORY, "no memory for the weights of a convolution");
        goto out;
    }
    rc = pack_weights(p, w, weights, err);
    if (rc)
        goto out;
    if (bias)
        memcpy(b, bias, (size_t)p->conv.cout * sizeof *b);
    CU_TRY(cudaMalloc((void **)&p->weights, w_bytes));
    CU_TRY(cudaMalloc((void **)&p->bias, b_bytes));
    CU_TRY(cudaMemcpyAsync(p->weights, w, w_bytes, cudaMemcpyHostToDevice, stream));
    CU_TRY(cudaMemcpyAsync(p->bias, b, b_bytes, cudaMemcpyHostToDevice, stream));
    CU_TRY(cudaStreamSynchronize(stream));
    p->bytes = w_bytes + b_bytes;
    p->launch.weights = p->weights;
    p->launch.bias = p->bias;
out:
    free(w);
    free(b);
    return rc;
}

/* ---------------------------------------------------------------------------- tile shapes */

static int tile_count(const struct net_cuda_conv_plan *p, const conv_row *r, int n)
{
    const struct conv_launch *l = &p->launch;
    const int tiles_n = div_up(l->cout8, r->bn);

    if (r->halo)
        return n * div_up(l->oh, r->bm / HALO_W) * div_up(l->ow, HALO_W) * tiles_n;
    return div_up((int64_t)n * l->ohw, r->bm) * tiles_n;
}

/* Shared memory of a block; for huge patches it exceeds that of every device. */
static int tile_smem(const struct net_cuda_conv_plan *p, const conv_row *r)
{
    const struct conv_launch *l = &p->launch;
    const int h = r->bm / HALO_W;
    double bytes = r->smem;

    if (!r->halo)
        return r->smem;
    bytes += 16.0 * l->chunks0 * halo_side(h, l->taps_y, l->src0.up) *
             halo_side(HALO_W, l->taps_x, l->src0.up);
    bytes += 16.0 * (l->chunks - l->chunks0) * halo_side(h, l->taps_y, l->src1.up) *
             halo_side(HALO_W, l->taps_x, l->src1.up);
    return bytes < 1e9 ? (int)bytes : 1000000000;
}

/* Does the layer meet the needs of net_cuda_conv_halo.cuh? A single tap gains nothing there. */
static int tile_halo_fits(const struct net_cuda_conv_plan *p, int split)
{
    const struct conv_launch *l = &p->launch;

    return !split && !p->four && l->stride_y == 1 && l->stride_x == 1 && l->step_y == 1 &&
           l->step_x == 1 && l->taps_y * l->taps_x > 1 && l->chunks0 % 2 == 0 && l->chunks % 2 == 0;
}

/* A shape fits if its step divides K, the device has the memory, and half of the tile has work. */
static int tile_fits(const struct net_cuda_conv_plan *p, const conv_row *r, int n, int split)
{
    const struct conv_launch *l = &p->launch;

    if (tile_smem(p, r) > p->max_smem || !row_fn(p, r, split))
        return 0;
    if (r->halo && !tile_halo_fits(p, split))
        return 0;
    if (l->k_pad % r->bk || l->k_part % r->bk)
        return 0;
    if (r->bn > 16 && r->bn >= 2 * l->cout8)
        return 0;
    return !split || (l->segments > 1 && tile_count(p, r, n) * l->segments <= SPLIT_BLOCKS);
}

/*
 * Microseconds by rule: blocks run in rounds that fill the device; a round takes the time of a
 * multiprocessor's products or the latency of a block's steps. The constants were fitted to the
 * depth network at batches 1, 4, 8 and 32 on an H200, with all shapes but the halo's: the rule's
 * choice took 2 % longer than the fastest, which was among the first 16.
 */
static double tile_cost(const struct net_cuda_conv_plan *p, const conv_row *r, int n, int split)
{
    const double product = 1.69e-7, load = 0.84, step = 0.14, block = 0.18, meet = 1.33;
    const double add = 1.43e-5;
    const int parts = split ? p->launch.segments : 1,
              k = split ? p->launch.k_part : p->launch.k_pad;
    const int smem = tile_smem(p, r);
    const int sums = r->bm * r->bn / r->threads * (!split && p->launch.segments > 1 ? 2 : 1);
    const int64_t blocks = (int64_t)tile_count(p, r, n) * parts;
    const double work = product * k * (r->bm * r->bn + load * (r->bm + r->bn));
    int fit = 2048 / r->threads;

    if (fit > 227 * 1024 / (smem + 1024))
        fit = 227 * 1024 / (smem + 1024);
    if (fit > 65536 / ((sums + 50) * r->threads))
        fit = 65536 / ((sums + 50) * r->threads);
    if (fit < 1)
        fit = 1;
    const int64_t rounds = blocks / (fit * PROCESSORS), left = blocks % (fit * PROCESSORS);
    const double alone = step * k / r->bk + work;
    double t = (double)rounds * (block + fmax(fit * work, alone));
    if (left)
        t += block + fmax(div_up(left, PROCESSORS) * work, alone);
    return t + (split ? meet + add * parts * r->bm * r->bn : 0.0);
}

int net_cuda_conv_tiles(const struct net_cuda_conv_plan *p, int n, struct net_cuda_tile *tiles,
                        int cap)
{
    double cost[2 * ROWS];
    struct net_cuda_tile all[2 * ROWS];
    int count = 0;

    for (int i = 0; i < 2 * ROWS; i++) {
        const struct net_cuda_tile t = {i / 2, i % 2};
        int at = count;

        if (!tile_fits(p, &rows[t.shape], n, t.split))
            continue;
        const double is = tile_cost(p, &rows[t.shape], n, t.split);
        for (; at > 0 && cost[at - 1] > is; at--) {
            cost[at] = cost[at - 1];
            all[at] = all[at - 1];
        }
        cost[at] = is;
        all[at] = t;
        count++;
    }
    if (count > cap)
        count = cap;
    memcpy(tiles, all, (size_t)count * sizeof *tiles);
    return count;
}

/* ---------------------------------------------------------------------------- verbs */

/* Requests shared memory beyond 48 KiB, once a kernel. */
static int plan_allow(struct net_cuda_conv_plan *p, struct err *err)
{
    int device, rc;

    CU_TRY(cudaGetDevice(&device));
    CU_TRY(cudaDeviceGetAttribute(&p->max_smem, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    for (int i = 0; i < 2 * ROWS; i++) {
        const conv_row *r = &rows[i / 2];
        const conv_fn fn = row_fn(p, r, i % 2);

        if (fn && tile_smem(p, r) <= p->max_smem)
            CU_TRY(cudaFuncSetAttribute((const void *)fn,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        r->halo ? p->max_smem : r->smem));
    }
out:
    return rc;
}

int net_cuda_conv_new(struct net_cuda_conv_plan **out, const struct net_cuda_conv *c,
                      const float *weights, const float *bias, int max_batch, cudaStream_t stream,
                      struct err *err)
{
    struct net_cuda_conv_plan *p = NULL;
    int rc = plan_check(c, max_batch, err);

    *out = NULL;
    if (rc)
        return rc;
    p = (struct net_cuda_conv_plan *)calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a convolution");
    p->conv = *c;
    p->max_batch = max_batch;
    plan_launch(p);
    rc = plan_allow(p, err);
    if (!rc)
        rc = plan_upload(p, weights, bias, stream, err);
    if (rc)
        net_cuda_conv_free(&p);
    *out = p;
    return rc;
}

void net_cuda_conv_free(struct net_cuda_conv_plan **p)
{
    if (!*p)
        return;
    (void)cudaFree((*p)->weights);
    (void)cudaFree((*p)->bias);
    free(*p);
    *p = NULL;
}

size_t net_cuda_conv_bytes(const struct net_cuda_conv_plan *p)
{
    return p->bytes;
}

void net_cuda_conv_scratch(const struct net_cuda_conv_plan *p, int n, size_t *sums,
                           size_t *counters)
{
    for (int i = 0; i < ROWS; i++) {
        const size_t part = (size_t)rows[i].per_block * sizeof(float) * p->launch.segments;
        const size_t tiles = tile_fits(p, &rows[i], n, 1) ? (size_t)tile_count(p, &rows[i], n) : 0;

        if (tiles * part > *sums)
            *sums = tiles * part;
        if (tiles * sizeof(uint32_t) > *counters)
            *counters = tiles * sizeof(uint32_t);
    }
}

static uint64_t hash_add(uint64_t h, const void *data, size_t len)
{
    const unsigned char *b = (const unsigned char *)data;

    for (size_t i = 0; i < len; i++)
        h = (h ^ b[i]) * 1099511628211u;
    return h;
}

uint64_t net_cuda_conv_hash(const struct net_cuda_conv_plan *p)
{
    const int cut[] = {p->launch.k_pad, p->launch.k_part};
    struct net_cuda_conv c = p->conv;
    uint64_t h = 14695981039346656037u;

    c.act.a = c.act.b = 0.0f; /* no layer is faster for them */
    h = hash_add(h, &c, sizeof c);
    h = hash_add(h, cut, sizeof cut);
    for (int i = 0; i < ROWS; i++)
        h = hash_add(h, &rows[i], offsetof(conv_row, part));
    return h;
}

int net_cuda_conv_run(const struct net_cuda_conv_plan *p, const struct net_cuda_conv_args *a,
                      struct net_cuda_tile tile, int n, cudaStream_t stream, struct err *err)
{
    struct conv_launch l = p->launch;
    int rc;

    if (n < 1 || n > p->max_batch || tile.shape < 0 || tile.shape >= ROWS ||
        !tile_fits(p, &rows[tile.shape], n, tile.split))
        return err_set(err, ERR_INPUT, "tile shape %d does not fit a batch of %d", tile.shape, n);
    const conv_row *r = &rows[tile.shape];
    const dim3 grid(tile_count(p, r, n), tile.split ? l.segments : 1);
    l.src0.data = a->src[0];
    l.src1.data = p->conv.n_src > 1 ? a->src[1] : a->src[0];
    l.residual = p->conv.has_residual ? a->residual : NULL;
    l.out = a->out;
    l.scratch = a->scratch;
    l.counters = a->counters;
    l.m = n * l.ohw;
    l.tiles_n = div_up(l.cout8, r->bn);
    row_fn(p, r, tile.split)<<<grid, r->threads, tile_smem(p, r), stream>>>(l);
    CU_TRY(cuda_try_launch());
out:
    return rc;
}
