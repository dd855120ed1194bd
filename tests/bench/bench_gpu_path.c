/*
 * bench_gpu_path - where the camera of a real video was, from its pictures alone: tracks, the
 * networks' depth and motion, and the path that they make, against the folder's poses
 *
 *     bench_gpu_path FOLDER [WIDTH HEIGHT [MODELS [FPS]]]
 *
 * Turned:     the same path with samples of a gyroscope that are drawn from the folder's poses: 200
 *             a second, with a drift, noise and a wrong scale; no unit measured them
 * Beside it:  a path that stands still, one that goes on as it went, and the motion network's.
 * ATE:        of camera centres after the similarity that fits best, whose scale is shown
 * RPE:        from frame to frame, root mean square, scale as it is
 * Clock:      the program's processor time: other programs may run beside it.
 */
#include "gpu/mono/motion_point.h"
#include "gpu/gpu.h"
#include "gpu/track/path.h"
#include "proto/geom/inertial.h"
#include "proto/geom/sim3.h"
#include "tests/bench/support_sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAMES_MAX 4096

enum { TRUTH, STILL, CONSTANT, NETWORK, PATH, TURNED, WAYS };
static const char *const names[WAYS] = {"truth",   "standing still", "constant motion",
                                        "network", "path",           "path, turned"};

/* Of the drawn gyroscope: radians a second, their noise a sample, what it measures too much. */
static const double drift[3] = {0.004, -0.005, 0.003};
#define NOISE 0.002
#define SCALE 1.005
#define STEP_NS 5000000

struct bench {
    struct gpu *g;
    struct gpu_model *depth, *motion;
    struct gpu_session *session;
    struct track t;
    struct path p, turned;
    double fps;
    uint32_t random;
    uint8_t *rgb;
    float *map;
    struct rigid way[WAYS][FRAMES_MAX];
    double track_ms, path_ms, worst_ms;
    int n, n_lost, n_keyframes, posed;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The shipped networks, as their sidecars have them. */
static int open_networks(struct bench *b, const char *folder, struct err *err)
{
    const struct gpu_config config = {.device = "cpu", .threads = 2};
    struct gpu_model_info depth = {.kind = GPU_MODEL_DEPTH,
                                   .name = "depth",
                                   .mean = {0.45f, 0.45f, 0.45f},
                                   .std = {0.225f, 0.225f, 0.225f},
                                   .output = GPU_OUTPUT_LOG,
                                   .focal_px = 200.0f,
                                   .min_depth_m = 0.1f,
                                   .max_depth_m = 120.0f,
                                   .multiple = 32};
    struct gpu_model_info motion = depth;
    int rc;

    motion.kind = GPU_MODEL_MOTION;
    motion.rays = 1;
    snprintf(motion.name, sizeof motion.name, "motion");
    snprintf(depth.path, sizeof depth.path, "%s/depth.onnx", folder);
    snprintf(motion.path, sizeof motion.path, "%s/motion.onnx", folder);
    rc = gpu_open(&b->g, &config, err);
    if (rc == 0)
        rc = gpu_model_open(&b->depth, b->g, &depth, err);
    return rc ? rc : gpu_model_open(&b->motion, b->g, &motion, err);
}

static int open_session(struct bench *b, const struct support_frame *f, int w, int h,
                        struct err *err)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = w,
                                   .net_h = h,
                                   .max_image_w = f->width,
                                   .max_image_h = f->height,
                                   .depth = b->depth,
                                   .motion = b->motion,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 16};
    fuse_params_default(&c.fuse);
    return gpu_session_new(&b->session, b->g, &c, err);
}

/* Means over the boxes of a smaller picture, near enough to (I1). */
static void shrink(uint8_t *to, int w, int h, const struct support_frame *f)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float at_x = ((float)x + 0.5f) * (float)f->width / (float)w;
            float at_y = ((float)y + 0.5f) * (float)f->height / (float)h;
            float half_x = 0.5f * (float)f->width / (float)w;
            float half_y = 0.5f * (float)f->height / (float)h, sum[3] = {0}, n = 0;
            for (int i = (int)(at_y - half_y); (float)i < at_y + half_y && i < f->height; i++)
                for (int k = (int)(at_x - half_x); (float)k < at_x + half_x && k < f->width; k++) {
                    float wide =
                        fminf((float)k + 1, at_x + half_x) - fmaxf((float)k, at_x - half_x);
                    float high =
                        fminf((float)i + 1, at_y + half_y) - fmaxf((float)i, at_y - half_y);
                    for (int c = 0; c < 3; c++)
                        sum[c] +=
                            wide * high *
                            (float)
                                f->rgb[3 * ((size_t)i * (size_t)f->width + (size_t)k) + (size_t)c];
                    n += wide * high;
                }
            for (int c = 0; c < 3; c++)
                to[3 * ((size_t)y * (size_t)w + (size_t)x) + (size_t)c] =
                    (uint8_t)(sum[c] / n + 0.5f);
        }
}

/* a b^-1 c: what took b to a, once more from c. */
static struct rigid again(const struct rigid *a, const struct rigid *b, const struct rigid *c)
{
    struct rigid inverse = rigid_inverse(b), step = rigid_mul(&inverse, a);
    return rigid_mul(c, &step);
}

/* Twelve even ones: mean 0, variance 1. */
static double noise(struct bench *b)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        b->random = b->random * 1664525u + 1013904223u;
        sum += (double)(b->random >> 8) / (1 << 24);
    }
    return sum;
}

/* Samples of an even turn between the last two true poses. */
static void draw_turn(struct bench *b, struct path_frame *pf)
{
    struct rigid inverse = rigid_inverse(&b->way[TRUTH][b->n - 1]);
    struct rigid step = rigid_mul(&inverse, &b->way[TRUTH][b->n]);
    double way[3] = {(double)step.r[7] - (double)step.r[5], (double)step.r[2] - (double)step.r[6],
                     (double)step.r[3] - (double)step.r[1]};
    double sine = 0.5 * sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
    double angle =
        atan2(sine, 0.5 * ((double)step.r[0] + (double)step.r[4] + (double)step.r[8] - 1.0));
    uint64_t span_ns = (uint64_t)(1e9 / b->fps);
    struct inertial_turn t;

    inertial_begin(&t, 1, 1 + span_ns);
    for (uint64_t at = 0; at < span_ns; at += STEP_NS) {
        float rate[3];
        for (int i = 0; i < 3; i++)
            rate[i] = (float)(SCALE * b->fps * way[i] * (sine > 1e-9 ? angle / (2 * sine) : 0.5) +
                              drift[i] + NOISE * noise(b));
        inertial_add(&t, 1 + at, rate);
    }
    if (!inertial_end(&t, pf->turn, &pf->turn_s))
        fprintf(stderr, "bench_gpu_path: a turn that no sample says\n");
}

/* The same tracks once more, with samples. */
static void turned(struct bench *b, struct path_frame *pf)
{
    struct rigid guess = rigid_identity();

    if (b->n > 0) {
        guess =
            again(&b->way[NETWORK][b->n], &b->way[NETWORK][b->n - 1], &b->way[TURNED][b->n - 1]);
        draw_turn(b, pf);
    }
    pf->T_wc = &guess;
    path_cpu(&b->turned, &b->t, pf);
    b->way[TURNED][b->n] = path_T_wc(&b->turned);
}

static int one(struct bench *b, const struct support_frame *f, struct err *err)
{
    struct gpu_frame frame = {.item = {.session = b->session},
                              .rgb = f->rgb,
                              .width = f->width,
                              .height = f->height,
                              .K = f->K,
                              .depth_out = b->map};
    struct gpu_item *item = &frame.item;
    const struct track_frame tf = {b->rgb, NULL, 0};
    struct rigid guess = rigid_identity();
    struct path_frame pf = {
        .depth = b->map,
        .T_wc = &guess,
        .K = intrinsics_scale(f->K, f->width, f->height, b->t.w, b->t.h),
    };
    double begin, middle, end;
    int n = b->n, rc = gpu_submit(b->g, &gpu_line_mono, &item, 1, err);

    if (rc == 0)
        rc = gpu_wait(b->g, &item, 1, err);
    if (rc)
        return rc;
    b->way[NETWORK][n] = frame.result.T_wc;
    if (n > 0)
        guess = again(&b->way[NETWORK][n], &b->way[NETWORK][n - 1], &b->way[PATH][n - 1]);
    shrink(b->rgb, b->t.w, b->t.h, f);
    begin = now_ms();
    track_cpu(&b->t, &tf);
    middle = now_ms();
    path_cpu(&b->p, &b->t, &pf);
    end = now_ms();
    b->track_ms += middle - begin;
    b->path_ms += end - middle;
    b->worst_ms = end - begin > b->worst_ms ? end - begin : b->worst_ms;
    b->n_lost += b->p.told.state == PATH_LOST;
    b->n_keyframes += (int)b->p.told.is_keyframe;
    b->way[PATH][n] = path_T_wc(&b->p);
    b->way[TRUTH][n] = f->T_wc;
    b->way[STILL][n] = rigid_identity();
    b->way[CONSTANT][n] =
        n > 1 ? again(&b->way[TRUTH][n - 1], &b->way[TRUTH][n - 2], &b->way[TRUTH][n - 1])
              : f->T_wc;
    b->posed = f->posed;
    if (f->posed)
        turned(b, &pf);
    b->n++;
    return 0;
}

static struct vec3 centre(const struct rigid *T)
{
    return vec3_make(T->t[0], T->t[1], T->t[2]);
}

/* Of a way that is predicted anew from each true pose (CONSTANT), else from its own motions. */
static double rpe(const struct bench *b, int way, double *degrees)
{
    double sum = 0, turns = 0;
    for (int i = 1; i < b->n; i++) {
        const struct rigid *from = way == CONSTANT ? &b->way[TRUTH][i - 1] : &b->way[way][i - 1];
        struct rigid a = rigid_inverse(from), t = rigid_inverse(&b->way[TRUTH][i - 1]), e;
        a = rigid_mul(&a, &b->way[way][i]);
        t = rigid_mul(&t, &b->way[TRUTH][i]);
        t = rigid_inverse(&t);
        e = rigid_mul(&t, &a);
        sum += (double)vec3_norm2(centre(&e));
        turns += pow(acos(fmin(1.0, fmax(-1.0, 0.5 * ((double)e.r[0] + (double)e.r[4] +
                                                      (double)e.r[8] - 1.0)))),
                     2);
    }
    *degrees = sqrt(turns / (b->n - 1)) * 180.0 / 3.14159265358979;
    return sqrt(sum / (b->n - 1));
}

static double ate(const struct bench *b, int way, double *scale)
{
    struct sim3_moments s = {0};
    struct sim3 m;
    double sum = 0;
    for (int i = 0; i < b->n; i++) {
        const float *p = b->way[way][i].t, *q = b->way[TRUTH][i].t;
        const double from[3] = {p[0], p[1], p[2]}, to[3] = {q[0], q[1], q[2]};
        sim3_moments_add(&s, from, to, 1.0);
    }
    if (sim3_solve(&m, &s, true, NULL))
        m.s = 1; /* a way without extent: any turn is as good */
    *scale = m.s;
    for (int i = 0; i < b->n; i++) {
        const float *p = b->way[way][i].t, *q = b->way[TRUTH][i].t;
        const double from[3] = {p[0], p[1], p[2]};
        double at[3];
        sim3_apply(at, &m, from);
        for (int k = 0; k < 3; k++)
            sum += (at[k] - (double)q[k]) * (at[k] - (double)q[k]);
    }
    return sqrt(sum / b->n);
}

static void report(const struct bench *b)
{
    printf(
        "%d frames of %d x %d: tracks %.2f ms, path %.2f ms, both %.2f ms at most; %d keyframes, "
        "%d times lost\n",
        b->n, b->t.w, b->t.h, b->track_ms / b->n, b->path_ms / b->n, b->worst_ms, b->n_keyframes,
        b->n_lost);
    printf("@ path.track %.6g ms\n@ path.frame %.6g ms\n", b->track_ms / b->n, b->path_ms / b->n);
    if (!b->posed || b->n < 3)
        return;
    for (int way = STILL; way < WAYS; way++) {
        double degrees, scale = 1, off = way == CONSTANT ? NAN : ate(b, way, &scale);
        double step = rpe(b, way, &degrees);
        printf("%-16s RPE %7.2f mm, %.3f degrees", names[way], 1e3 * step, degrees);
        if (way != CONSTANT) /* it begins anew at each true pose */
            printf("; ATE %7.1f cm, scale %.3f", 100 * off, scale);
        printf("\n");
        if (way == PATH)
            printf("@ path.ate %.6g cm\n@ path.rpe %.6g mm\n@ path.scale %.6g\n", 100 * off,
                   1e3 * step, scale);
    }
}

static int run(struct bench *b, struct support_sequence *in, int w, int h, struct err *err)
{
    struct support_frame f;
    int rc = 0;
    while (b->n < FRAMES_MAX && (rc = support_sequence_next(in, &f, err)) == 0) {
        if (!b->session)
            rc = open_session(b, &f, w, h, err);
        if (rc == 0)
            rc = one(b, &f, err);
        if (rc)
            break;
    }
    return rc == ERR_END ? 0 : rc;
}

int main(int argc, char **argv)
{
    static struct bench b;
    int w = argc > 3 ? atoi(argv[2]) : 256, h = argc > 3 ? atoi(argv[3]) : 192, rc;
    struct support_sequence *in = NULL;
    struct err err = {0};
    void *tracks, *path, *again_path;
    if (argc < 2) {
        printf("needs SEQ=folder\n");
        return 77;
    }
    tracks = calloc(1, track_lay_out(&b.t, NULL, w, h));
    track_lay_out(&b.t, tracks, w, h);
    path = calloc(1, path_lay_out(&b.p, NULL, b.t.n_slots));
    path_lay_out(&b.p, path, b.t.n_slots);
    again_path = calloc(1, path_lay_out(&b.turned, NULL, b.t.n_slots));
    path_lay_out(&b.turned, again_path, b.t.n_slots);
    b.fps = argc > 5 ? atof(argv[5]) : 15.0;
    b.random = 1;
    b.rgb = malloc(3 * (size_t)w * (size_t)h);
    b.map = malloc((size_t)w * (size_t)h * sizeof *b.map);
    rc = open_networks(&b, argc > 4 ? argv[4] : "gpu/models", &err);
    if (rc == 0)
        rc = support_sequence_open(&in, argv[1], 0, 0, &err);
    if (rc == 0)
        rc = run(&b, in, w, h, &err);
    if (rc == 0)
        report(&b);
    else
        fprintf(stderr, "bench_gpu_path: %s\n", err.text);
    support_sequence_close(&in);
    gpu_session_free(&b.session);
    gpu_model_close(&b.motion);
    gpu_model_close(&b.depth);
    gpu_close(&b.g);
    free(b.map);
    free(b.rgb);
    free(path);
    free(again_path);
    free(tracks);
    return rc ? 1 : 0;
}
