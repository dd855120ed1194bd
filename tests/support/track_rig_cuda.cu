#include "tests/support/track_rig_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/track/landmark_cuda.h"
#include "gpu/track/landmark_search_cuda.h"
#include "gpu/track/path_cuda.h"
#include "gpu/track/track_cuda.h"

#include <string.h>

#define SESSIONS 8

static int there(struct err *err)
{
    int devices = 0;
    cudaError_t e = cudaGetDeviceCount(&devices);
    if (e != cudaSuccess || devices == 0)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA device: %s", cudaGetErrorString(e));
    return 0;
}

static int copy_up(void **to, const void *from, size_t bytes, cudaStream_t stream, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaMalloc(to, bytes ? bytes : 1));
    CU_TRY(cudaMemcpyAsync(*to, from, bytes, cudaMemcpyHostToDevice, stream));
out:
    return rc;
}

static int run_landmark_search(struct landmark_search_batch *b,
                               const struct landmark_search_params *p, struct err *err)
{
    struct landmark_search_batch d = *b;
    struct landmark_search_cuda *m = NULL;
    void *piece[3] = {NULL, NULL, NULL};
    cudaStream_t stream = NULL;
    size_t bytes = (size_t)b->n_landmarks * sizeof *b->landmark;
    int rc = there(err);
    if (rc)
        goto out;
    CU_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    rc = copy_up(&piece[0], b->landmark, bytes, stream, err);
    if (rc == 0)
        rc = copy_up(&piece[1], b->observation, (size_t)b->n_observations * sizeof *b->observation,
                     stream, err);
    if (rc == 0)
        rc = copy_up(&piece[2], b->camera, (size_t)b->n_cameras * sizeof *b->camera, stream, err);
    if (rc == 0)
        rc = landmark_search_cuda_open(&m, NULL, b->n_landmarks, stream, err);
    if (rc)
        goto out;
    d.landmark = (struct landmark_search_landmark *)piece[0];
    d.observation = (const struct landmark_search_observation *)piece[1];
    d.camera = (const struct landmark_search_camera *)piece[2];
    rc = landmark_search_cuda_run(m, &d, p, stream, err);
    if (rc)
        goto out;
    CU_TRY(cudaMemcpyAsync(b->landmark, d.landmark, bytes, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaStreamSynchronize(stream));
out:
    landmark_search_cuda_free(&m);
    for (int i = 0; i < 3; i++)
        (void)cudaFree(piece[i]);
    if (stream)
        (void)cudaStreamDestroy(stream);
    return rc;
}

/* One session of a batch on the device. */
struct rig_session {
    struct track host; /* its pointers are the device's */
    void *t, *arena, *rgb, *mask;
    size_t bytes;
};

/* What a session of `from` is, with the pointers of another one laid out as it is. */
static struct track with_pointers_of(const struct track *from, const struct track *pointers)
{
    struct track t = *pointers;
    t.n_frames = from->n_frames;
    t.next_id = from->next_id;
    t.n_live = from->n_live;
    t.n_new = from->n_new;
    t.shift_x = from->shift_x;
    t.shift_y = from->shift_y;
    return t;
}

static int open_session(struct rig_session *s, struct track_job *job, const struct track *t,
                        const uint8_t *arena, const struct track_frame *f, cudaStream_t stream,
                        struct err *err)
{
    size_t n = (size_t)t->w * (size_t)t->h;
    int rc;
    s->bytes = track_lay_out(&s->host, NULL, t->w, t->h);
    rc = copy_up(&s->arena, arena, s->bytes, stream, err);
    if (rc)
        return rc;
    (void)track_lay_out(&s->host, (uint8_t *)s->arena, t->w, t->h);
    s->host = with_pointers_of(t, &s->host);
    rc = copy_up(&s->t, &s->host, sizeof s->host, stream, err);
    if (rc == 0 && f->rgb)
        rc = copy_up(&s->rgb, f->rgb, 3 * n, stream, err);
    if (rc == 0 && f->mask)
        rc = copy_up(&s->mask, f->mask, n, stream, err);
    memset(job, 0, sizeof *job);
    if (f->rgb) {
        job->t = (struct track *)s->t;
        job->frame.rgb = (const uint8_t *)s->rgb;
        job->frame.mask = (const uint8_t *)s->mask;
        job->frame.restart = f->restart;
    }
    return rc;
}

static int read_session(struct rig_session *s, struct track *t, uint8_t *arena, cudaStream_t stream,
                        struct err *err)
{
    struct track there;
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(&there, s->t, sizeof there, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaMemcpyAsync(arena, s->arena, s->bytes, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaStreamSynchronize(stream));
    *t = with_pointers_of(&there, t);
out:
    return rc;
}

static int run_tracks(struct track *t, uint8_t *const *arena, const struct track_frame *f, int n,
                      struct err *err)
{
    struct rig_session s[SESSIONS];
    struct track_job jobs[SESSIONS];
    struct track_batch b = {NULL, sizeof *jobs, n, 0, 0, NULL};
    void *dev_jobs = NULL;
    int rc = there(err);
    memset(s, 0, sizeof s);
    if (rc)
        return rc;
    CU_TRY(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    for (int i = 0; i < n && rc == 0; i++) {
        rc = open_session(&s[i], &jobs[i], &t[i], arena[i], &f[i], b.stream, err);
        b.w_max = t[i].w > b.w_max ? t[i].w : b.w_max;
        b.h_max = t[i].h > b.h_max ? t[i].h : b.h_max;
    }
    if (rc == 0)
        rc = copy_up(&dev_jobs, jobs, (size_t)n * sizeof *jobs, b.stream, err);
    b.first = (const struct track_job *)dev_jobs;
    if (rc == 0)
        rc = track_cuda_run(&b, err);
    for (int i = 0; i < n && rc == 0; i++)
        rc = read_session(&s[i], &t[i], arena[i], b.stream, err);
out:
    for (int i = 0; i < n; i++) {
        (void)cudaFree(s[i].t);
        (void)cudaFree(s[i].arena);
        (void)cudaFree(s[i].rgb);
        (void)cudaFree(s[i].mask);
    }
    (void)cudaFree(dev_jobs);
    if (b.stream)
        (void)cudaStreamDestroy(b.stream);
    return rc;
}

static int run_landmarks(const struct landmark_session *s, const uint8_t *arena,
                         const struct landmark_params *p, struct err *err)
{
    const struct track_frame none = {NULL, NULL, 0};
    size_t n = (size_t)s->track->n_slots, landmarks = n * sizeof *s->landmark;
    size_t observations = n * TRACK_KEPT * sizeof *s->observation;
    struct landmark_session d = *s;
    struct rig_session track;
    struct track_job job;
    void *piece[4] = {NULL, NULL, NULL, NULL};
    cudaStream_t stream = NULL;
    int rc = there(err);
    memset(&track, 0, sizeof track);
    if (rc)
        return rc;
    CU_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    rc = open_session(&track, &job, s->track, arena, &none, stream, err);
    if (rc == 0)
        rc = copy_up(&piece[0], s->camera, TRACK_KEPT * sizeof *s->camera, stream, err);
    if (rc == 0)
        rc = copy_up(&piece[1], s->landmark, landmarks, stream, err);
    if (rc == 0)
        rc = copy_up(&piece[2], s->observation, observations, stream, err);
    d.track = (const struct track *)track.t;
    d.camera = (const struct landmark_search_camera *)piece[0];
    d.landmark = (struct landmark_search_landmark *)piece[1];
    d.observation = (struct landmark_search_observation *)piece[2];
    if (rc == 0)
        rc = copy_up(&piece[3], &d, sizeof d, stream, err);
    if (rc == 0)
        rc = landmark_cuda_run((const struct landmark_session *)piece[3], 1, p, stream, err);
    if (rc)
        goto out;
    CU_TRY(cudaMemcpyAsync(s->landmark, d.landmark, landmarks, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaMemcpyAsync(s->observation, d.observation, observations, cudaMemcpyDeviceToHost,
                           stream));
    CU_TRY(cudaStreamSynchronize(stream));
out:
    for (int i = 0; i < 4; i++)
        (void)cudaFree(piece[i]);
    (void)cudaFree(track.t);
    (void)cudaFree(track.arena);
    if (stream)
        (void)cudaStreamDestroy(stream);
    return rc;
}

/* What `from` is, with the pointers of another one. */
static struct path path_with_pointers_of(const struct path *from, const struct path *pointers)
{
    struct path p = *from;
    p.landmark = pointers->landmark;
    p.list = pointers->list;
    p.point = pointers->point;
    p.row = pointers->row;
    p.term = pointers->term;
    p.system = pointers->system;
    return p;
}

static int run_path(struct path *p, uint8_t *arena, const struct track *t,
                    const uint8_t *track_arena, const struct path_frame *f, struct err *err)
{
    const struct track_frame none = {NULL, NULL, 0};
    size_t n = (size_t)t->w * (size_t)t->h, bytes;
    struct path d, pointers;
    struct rig_session track;
    struct track_job unused;
    struct path_job jobs[2]; /* the first is empty */
    void *piece[5] = {NULL, NULL, NULL, NULL, NULL};
    cudaStream_t stream = NULL;
    int rc = there(err);
    memset(&track, 0, sizeof track);
    memset(jobs, 0, sizeof jobs);
    if (rc)
        return rc;
    CU_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bytes = path_lay_out(&pointers, NULL, p->n_slots);
    rc = open_session(&track, &unused, t, track_arena, &none, stream, err);
    if (rc == 0)
        rc = copy_up(&piece[0], arena, bytes, stream, err);
    (void)path_lay_out(&pointers, (uint8_t *)piece[0], p->n_slots);
    d = path_with_pointers_of(p, &pointers);
    if (rc == 0)
        rc = copy_up(&piece[1], &d, sizeof d, stream, err);
    if (rc == 0)
        rc = copy_up(&piece[2], f->depth, n * sizeof *f->depth, stream, err);
    if (rc == 0)
        rc = copy_up(&piece[3], f->T_wc, sizeof *f->T_wc, stream, err);
    jobs[1].p = (struct path *)piece[1];
    jobs[1].t = (const struct track *)track.t;
    jobs[1].frame = *f;
    jobs[1].frame.depth = (const float *)piece[2];
    jobs[1].frame.T_wc = (const struct rigid *)piece[3];
    if (rc == 0)
        rc = copy_up(&piece[4], jobs, sizeof jobs, stream, err);
    if (rc == 0)
        rc = path_cuda_run((const struct path_job *)piece[4], sizeof *jobs, 2, stream, err);
    if (rc)
        goto out;
    CU_TRY(cudaMemcpyAsync(&d, piece[1], sizeof d, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaMemcpyAsync(arena, piece[0], bytes, cudaMemcpyDeviceToHost, stream));
    CU_TRY(cudaStreamSynchronize(stream));
    *p = path_with_pointers_of(&d, p);
out:
    for (int i = 0; i < 5; i++)
        (void)cudaFree(piece[i]);
    (void)cudaFree(track.t);
    (void)cudaFree(track.arena);
    if (stream)
        (void)cudaStreamDestroy(stream);
    return rc;
}

static const struct track_rig_api api = {run_landmark_search, run_tracks, run_landmarks, run_path};
extern "C" const struct track_rig_api *track_rig_cuda = &api;
