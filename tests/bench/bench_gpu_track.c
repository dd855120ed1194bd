/*
 * bench_gpu_track - tracks of real video on the processor: cost and length; and the paper's figure
 * of their landmarks
 *
 *     bench_gpu_track FOLDER [WIDTH HEIGHT [FILE]]
 *
 * Paper:   25 tracks of 15 frames are triangulated by the given poses and optimised, every 15
 *          frames: mean residual before, after one round of 65,536, after our rounds, and after
 *          Levenberg-Marquardt.
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

#define PAPER_POINTS 25
#define PAPER_FRAMES 15
#define FRAMES_MAX 4096

struct bench {
    struct track t;
    struct landmark_search_camera camera[FRAMES_MAX];
    double ms, live, born, length;
    uint32_t n_ended;
    struct {
        double prior, paper, rounds, lm;
        int n;
    } sum;
    struct landmark_search_camera ring[TRACK_KEPT];
    struct landmark_session s;
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
    for (; n < FRAMES_MAX && rc == 0 && (rc = support_sequence_next(in, &f, err)) == 0; n++) {
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
        if (!f.posed || n % PAPER_FRAMES != PAPER_FRAMES - 1)
            continue;
        (void)landmark_cpu(&b->s, &lp);
        rc = paper(b, n, err);
    }
    free(rgb);
    return rc == ERR_END ? 0 : rc;
}

static void report(struct bench *b)
{
    double n = b->t.n_frames, k = b->sum.n ? b->sum.n : 1;
    printf("%d x %d: %.2f ms a frame, %.0f tracks, %.0f new a frame, mean length at its end %.1f\n",
           b->t.w, b->t.h, b->ms / n, b->live / n, b->born / n,
           b->n_ended ? b->length / b->n_ended : 0.0);
    printf("@ track.frame %.6g ms\n@ track.live %.6g tracks\n", b->ms / n, b->live / n);
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
    rc = support_sequence_open(&in, argv[1], 0, 0, &err);
    if (rc == 0)
        rc = run(&b, in, w, h, &err);
    support_sequence_close(&in);
    if (rc == 0) {
        report(&b);
    } else
        fprintf(stderr, "bench_gpu_track: %s\n", err.text);
    free(b.s.landmark);
    free(b.s.observation);
    free(b.before);
    free(b.noise);
    free(arena);
    return rc ? 1 : 0;
}
