/*
 * bench_gpu_track - tracks of real video on the processor: cost, length, drift; and what their
 * landmarks are worth
 *
 *     bench_gpu_track FOLDER [WIDTH HEIGHT [FILE]]
 *
 * Tracks:  epipolar error of a track's observation against the one `lag` frames before, by the
 *          folder's poses, whose own error is in it.
 * Paper:   25 tracks of 15 frames are triangulated by the given poses and optimised, every 15
 *          frames: mean residual before, after one round of 65,536, after our rounds, and after
 *          Levenberg-Marquardt.
 * Depth:   every 15 frames all tracks become landmarks and are optimised; their depth in the newest
 *          frame against the true one.
 * Clock:   the program's processor time: other programs may run beside it.
 * FILE:    the last of the paper's batches, for peer_ceres.
 */
#include "gpu/track/landmark.h"
#include "tests/bench/support_landmarks.h"
#include "tests/bench/support_sequence.h"
#include "tests/support/landmark_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAGS 4
#define PAPER_POINTS 25
#define PAPER_FRAMES 15
#define FRAMES_MAX 4096
#define ERRORS_MAX (1 << 20)

static const uint32_t lag_of[LAGS] = {1, 5, 15, 45};

struct errors {
    float *v;
    size_t n;
};

struct bench {
    struct track t;
    struct landmark_search_camera camera[FRAMES_MAX];
    struct errors epipolar[LAGS];
    double ms, live, born, length;
    uint32_t n_ended;
    struct {
        double prior, paper, rounds, lm;
        int n;
    } sum;
    struct errors before_rel, after_rel, residual;
    struct landmark_search_camera ring[TRACK_KEPT];
    struct landmark_session s;
    double landmark_ms;
    int n_landmark_frames;
    float *noise;
    const char *file;
    struct track_slot *before;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Means over the boxes of a smaller picture. */
static void shrink(uint8_t *to, int w, int h, const struct support_frame *f)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int x0 = x * f->width / w, x1 = (x + 1) * f->width / w;
            int y0 = y * f->height / h, y1 = (y + 1) * f->height / h;
            uint32_t sum[3] = {0, 0, 0}, n = (uint32_t)((x1 - x0) * (y1 - y0));
            for (int i = y0; i < y1; i++)
                for (int k = x0; k < x1; k++)
                    for (int c = 0; c < 3; c++)
                        sum[c] +=
                            f->rgb[3 * ((size_t)i * (size_t)f->width + (size_t)k) + (size_t)c];
            for (int c = 0; c < 3; c++)
                to[3 * ((size_t)y * (size_t)w + (size_t)x) + (size_t)c] =
                    (uint8_t)((sum[c] + n / 2) / n);
        }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static void add_error(struct errors *e, float v)
{
    if (e->n < ERRORS_MAX)
        e->v[e->n++] = v;
}

/* Pixels that b lies off the line which a of the earlier camera is seen as. */
static float epipolar(const struct landmark_search_camera *ca, const float *a,
                      const struct landmark_search_camera *cb, const float *b)
{
    struct rigid inverse = rigid_inverse(&ca->T_cw), T = rigid_mul(&cb->T_cw, &inverse);
    struct vec3 ray = vec3_make((a[0] - ca->K.cx) / ca->K.fx, (a[1] - ca->K.cy) / ca->K.fy, 1.0f);
    float p[2][2];
    for (int i = 0; i < 2; i++) { /* the ray at 0.5 and at 8 m */
        float z = i ? 8.0f : 0.5f;
        struct vec3 q = rigid_apply(&T, vec3_make(ray.x * z, ray.y * z, z));
        if (q.z < 0.05f)
            return NAN;
        p[i][0] = cb->K.fx * q.x / q.z + cb->K.cx;
        p[i][1] = cb->K.fy * q.y / q.z + cb->K.cy;
    }
    {
        float dx = p[1][0] - p[0][0], dy = p[1][1] - p[0][1], l = sqrtf(dx * dx + dy * dy);
        float ex = b[0] - p[0][0], ey = b[1] - p[0][1];
        if (l < 0.5f) /* a camera that only turns: a point, not a line */
            return sqrtf(ex * ex + ey * ey);
        return fabsf(dx * ey - dy * ex) / l;
    }
}

static void judge(struct bench *b, uint32_t f)
{
    const struct track *t = &b->t;
    for (uint32_t i = 0; i < (uint32_t)t->n_slots; i++)
        for (int k = 0; k < LAGS; k++) {
            uint32_t lag = lag_of[k];
            float e;
            if (track_length(t, &t->slot[i]) <= lag)
                continue;
            e = epipolar(&b->camera[f - lag], track_seen(t, i, f - lag), &b->camera[f],
                         track_seen(t, i, f));
            if (isfinite(e))
                add_error(&b->epipolar[k], e);
        }
}

static double mean_residual(const struct landmark_search_batch *b)
{
    double sum = 0;
    for (int i = 0; i < b->n_landmarks; i++)
        sum += (double)b->landmark[i].residual_px / b->n_landmarks;
    return sum;
}

/* 25 tracks x 15 frames, as in the paper's Figure 1. */
static int paper(struct bench *b, uint32_t f, struct err *err)
{
    struct landmark_search_landmark start[PAPER_POINTS], now[PAPER_POINTS];
    struct landmark_search_observation seen[PAPER_POINTS * PAPER_FRAMES];
    struct landmark_search_batch batch = {now, seen, b->camera, 0, 0, (int)f + 1};
    struct landmark_search_params params = landmark_search_params_paper();
    const struct track *t = &b->t;
    double prior = 0, lm = 0;
    for (uint32_t i = 0; i < (uint32_t)t->n_slots && batch.n_landmarks < PAPER_POINTS; i++) {
        uint32_t slot = i * 7919u % (uint32_t)t->n_slots;
        struct landmark_search_landmark *m = &start[batch.n_landmarks];
        double p[3];
        *m = b->s.landmark[slot];
        if (m->n < PAPER_FRAMES)
            continue;
        m->first = (uint32_t)batch.n_observations;
        m->n = PAPER_FRAMES;
        for (uint32_t k = 0; k < PAPER_FRAMES; k++) {
            const float *o = track_seen(t, slot, f - k);
            seen[m->first + k] = (struct landmark_search_observation){f - k, o[0], o[1]};
        }
        p[0] = m->p.x, p[1] = m->p.y, p[2] = m->p.z;
        m->residual_px = (float)landmark_case_residual(&batch, m, p);
        if (rigid_apply(&b->camera[f].T_cw, m->p).z < 0.1f || !(m->residual_px < 5.0f))
            continue; /* no landmark */
        prior += (double)m->residual_px / PAPER_POINTS;
        landmark_case_lm(&batch, m, p);
        lm += landmark_case_residual(&batch, m, p) / PAPER_POINTS;
        batch.n_landmarks++;
        batch.n_observations += PAPER_FRAMES;
    }
    if (batch.n_landmarks < PAPER_POINTS)
        return 0;
    b->sum.n++;
    b->sum.prior += prior;
    b->sum.lm += lm;
    memcpy(now, start, sizeof now);
    landmark_search_cpu(&batch, b->noise, &params);
    b->sum.paper += mean_residual(&batch);
    memcpy(now, start, sizeof now);
    params = landmark_search_params_default();
    landmark_search_cpu(&batch, b->noise, &params);
    b->sum.rounds += mean_residual(&batch);
    return b->file ? support_landmarks_write(b->file, &batch, start, err) : 0;
}

/* Relative error of a landmark's depth; NAN where nothing is known. */
static float depth_error(const struct bench *b, const struct support_frame *f, uint32_t slot,
                         struct vec3 p, uint32_t n)
{
    const struct track_slot *s = &b->t.slot[slot];
    int x = (int)((s->x + 0.5f) * (float)f->width / (float)b->t.w);
    int y = (int)((s->y + 0.5f) * (float)f->height / (float)b->t.h);
    float z = rigid_apply(&b->camera[n].T_cw, p).z, truth = f->depth[y * f->width + x];
    return truth > 0.0f && z > 0.0f ? fabsf(z - truth) / truth : NAN;
}

/* All tracks: from rays to landmarks, and what that does to their depth. */
static void landmarks(struct bench *b, const struct support_frame *f, uint32_t n)
{
    const struct landmark_search_params params = landmark_search_params_default();
    struct landmark_search_landmark *m = b->s.landmark;
    struct landmark_search_batch batch = {m, b->s.observation, b->ring, b->t.n_slots,
                                          0, TRACK_KEPT};
    float *before = malloc((size_t)b->t.n_slots * sizeof *before);
    double begin = now_ms();
    for (uint32_t i = 0; i < (uint32_t)b->t.n_slots; i++)
        before[i] = m[i].n ? depth_error(b, f, i, m[i].p, n) : NAN;
    landmark_search_cpu(&batch, b->noise, &params);
    b->landmark_ms += now_ms() - begin;
    b->n_landmark_frames++;
    for (uint32_t i = 0; i < (uint32_t)b->t.n_slots; i++) {
        float after = m[i].n ? depth_error(b, f, i, m[i].p, n) : NAN;
        if (!(m[i].residual_px < 2.0f))
            continue;
        add_error(&b->residual, m[i].residual_px);
        if (isfinite(before[i]) && isfinite(after)) {
            add_error(&b->before_rel, before[i]);
            add_error(&b->after_rel, after);
        }
    }
    free(before);
}

static void count(struct bench *b)
{
    struct track *t = &b->t;
    for (int i = 0; i < t->n_slots; i++) {
        const struct track_slot *was = &b->before[i];
        if (was->id && was->id != t->slot[i].id) {
            b->n_ended++;
            b->length += t->n_frames - 1 - was->born;
        }
    }
    memcpy(b->before, t->slot, (size_t)t->n_slots * sizeof *t->slot);
    b->live += t->n_live;
    b->born += t->n_new;
}

static int run(struct bench *b, struct support_sequence *in, int w, int h, struct err *err)
{
    struct support_frame f;
    const struct landmark_params lp = landmark_params_default();
    uint8_t *rgb = malloc(3 * (size_t)w * (size_t)h);
    uint32_t n = 0;
    int rc = 0;
    for (; n < FRAMES_MAX && (rc = support_sequence_next(in, &f, err)) == 0; n++) {
        struct track_frame tf = {rgb, NULL, 0};
        double begin;
        shrink(rgb, w, h, &f);
        b->camera[n].T_cw = rigid_inverse(&f.T_wc);
        b->camera[n].K = intrinsics_scale(f.K, f.width, f.height, w, h);
        b->ring[n % TRACK_KEPT] = b->camera[n];
        begin = now_ms();
        track_cpu(&b->t, &tf);
        b->ms += now_ms() - begin;
        count(b);
        if (f.posed)
            judge(b, n);
        if (!f.posed || n % PAPER_FRAMES != PAPER_FRAMES - 1)
            continue;
        (void)landmark_cpu(&b->s, &lp);
        rc = paper(b, n, err);
        if (rc)
            break;
        landmarks(b, &f, n);
    }
    free(rgb);
    return rc == ERR_END ? 0 : rc;
}

static float median(struct errors *e)
{
    qsort(e->v, e->n, sizeof *e->v, by_value);
    return e->n ? e->v[e->n / 2] : NAN;
}

static void report_landmarks(struct bench *b)
{
    double n = b->n_landmark_frames ? b->n_landmark_frames : 1,
           before = (double)median(&b->before_rel);
    double after = (double)median(&b->after_rel), residual = (double)median(&b->residual);
    printf(
        "landmarks of all tracks: %.0f within 2 px, %.2f ms, median residual %.3f px, depth off by "
        "%.4f before and %.4f after (median, relative)\n",
        (double)b->residual.n / n, b->landmark_ms / n, residual, before, after);
    if (b->residual.n)
        printf("@ track.landmarks %.6g tracks\n@ track.landmark_depth %.6g rel\n",
               (double)b->residual.n / n, after);
}

static void report(struct bench *b)
{
    double n = b->t.n_frames, k = b->sum.n ? b->sum.n : 1;
    printf("%d x %d: %.2f ms a frame, %.0f tracks, %.0f new a frame, mean length at its end %.1f\n",
           b->t.w, b->t.h, b->ms / n, b->live / n, b->born / n,
           b->n_ended ? b->length / b->n_ended : 0.0);
    printf("@ track.frame %.6g ms\n@ track.live %.6g tracks\n", b->ms / n, b->live / n);
    for (int i = 0; i < LAGS; i++) {
        struct errors *e = &b->epipolar[i];
        size_t wrong = 0;
        if (!e->n)
            continue;
        qsort(e->v, e->n, sizeof *e->v, by_value);
        while (wrong < e->n && e->v[e->n - 1 - wrong] > 1.0f)
            wrong++;
        printf("epipolar error over %2u frames: median %.3f px, 90 %% %.3f px, over 1 px %.1f %%, "
               "%.0f tracks\n",
               lag_of[i], (double)e->v[e->n / 2], (double)e->v[e->n * 9 / 10],
               100.0 * (double)wrong / (double)e->n, (double)e->n / n);
        printf("@ track.epipolar_%u %.6g px\n", lag_of[i], (double)e->v[e->n / 2]);
    }
    printf("25 x 15, %d times: triangulated %.4f px, one round %.4f, our rounds %.4f, "
           "Levenberg-Marquardt %.4f (%.3f times ours)\n",
           b->sum.n, b->sum.prior / k, b->sum.paper / k, b->sum.rounds / k, b->sum.lm / k,
           b->sum.lm / (b->sum.rounds > 0 ? b->sum.rounds : 1));
    if (b->sum.n)
        printf("@ track.paper %.6g px\n@ track.rounds %.6g px\n@ track.lm %.6g px\n",
               b->sum.paper / k, b->sum.rounds / k, b->sum.lm / k);
}

int main(int argc, char **argv)
{
    static struct bench b;
    int w = argc > 3 ? atoi(argv[2]) : 256, h = argc > 3 ? atoi(argv[3]) : 192, rc;
    struct support_sequence *in = NULL;
    struct err err = {0};
    void *arena;
    if (argc < 2) {
        printf("needs SEQ=folder\n");
        return 77;
    }
    b.file = argc > 4 ? argv[4] : NULL;
    arena = calloc(1, track_lay_out(&b.t, NULL, w, h));
    track_lay_out(&b.t, arena, w, h);
    b.before = calloc((size_t)b.t.n_slots, sizeof *b.before);
    b.noise = malloc(LANDMARK_SEARCH_NOISE_BYTES);
    landmark_search_noise(b.noise);
    b.s =
        (struct landmark_session){&b.t,
                                  b.ring,
                                  calloc((size_t)b.t.n_slots, sizeof *b.s.landmark),
                                  calloc((size_t)b.t.n_slots * TRACK_KEPT, sizeof *b.s.observation),
                                  0,
                                  0};
    for (int i = 0; i < LAGS; i++)
        b.epipolar[i].v = malloc(ERRORS_MAX * sizeof(float));
    b.before_rel.v = malloc(ERRORS_MAX * sizeof(float));
    b.after_rel.v = malloc(ERRORS_MAX * sizeof(float));
    b.residual.v = malloc(ERRORS_MAX * sizeof(float));
    rc = support_sequence_open(&in, argv[1], 0, 0, &err);
    if (rc == 0)
        rc = run(&b, in, w, h, &err);
    support_sequence_close(&in);
    if (rc == 0) {
        report(&b);
        report_landmarks(&b);
    } else
        fprintf(stderr, "bench_gpu_track: %s\n", err.text);
    for (int i = 0; i < LAGS; i++)
        free(b.epipolar[i].v);
    free(b.before_rel.v);
    free(b.after_rel.v);
    free(b.residual.v);
    free(b.s.landmark);
    free(b.s.observation);
    free(b.before);
    free(b.noise);
    free(arena);
    return rc ? 1 : 0;
}
