/*
 * jpeg_cuda.c - the few calls of nvJPEG that we need; it comes with CUDA's libraries, its header
 * does not come with every toolkit, and a machine without it decodes on the host
 */
#include "gpu/jpeg_cuda.h"

#include "gpu/cuda_try.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SEATS_MAX 16
#define PIXELS_MAX (4096 * 2304) /* a seat keeps room for the largest picture that sat there */

/* nvJPEG's own numbers and structures */
#define BACKEND_HARDWARE 3
#define OUTPUT_RGBI 5 /* interleaved, in the first plane */
#define PLANES 4

struct image {
    unsigned char *plane[PLANES];
    size_t pitch[PLANES];
};

typedef int get_fn(void *ctx, void **piece, size_t bytes, cudaStream_t stream);
typedef int put_fn(void *ctx, void *piece, size_t bytes, cudaStream_t stream);

struct allocator {
    get_fn *get;
    put_fn *put;
    void *ctx;
};

/* Where an allocator's pieces come from; nvJPEG holds on to it. */
struct source {
    struct memory_cuda *memory;
    enum memory_cuda_kind kind;
};

/* One picture on its way. */
struct seat {
    struct seat *next;
    void *state;
    cudaStream_t stream;
    cudaEvent_t done;
    uint8_t *full, *small; /* as the engine makes it, and shrunk */
    size_t bytes;          /* of each */
};

struct jpeg_cuda {
    void *library, *handle;
    int (*create)(int backend, struct allocator *device, struct allocator *pinned, unsigned flags,
                  void **handle);
    int (*destroy)(void *handle);
    int (*hardware)(void *handle, unsigned *engines, unsigned *cores_each);
    int (*state_create)(void *handle, void **state);
    int (*state_destroy)(void *state);
    int (*prepare)(void *handle, void *state, int n, int threads, int format);
    int (*decode)(void *handle, void *state, const unsigned char *const *data, const size_t *len,
                  struct image *images, cudaStream_t stream);
    int device, n_seats;
    unsigned engines;
    struct memory_cuda *memory;
    struct source device_memory, pinned_memory;
    pthread_mutex_t lock;
    pthread_cond_t left;
    struct seat *unused;
    struct seat seats[SEATS_MAX];
};

/* ------------------------------------------------------------------------- nvJPEG's memory */

static int get_piece(void *ctx, void **piece, size_t bytes, cudaStream_t stream)
{
    const struct source *from = (const struct source *)ctx;

    (void)stream;
    return memory_cuda_get(from->memory, from->kind, piece, bytes, NULL);
}

/* What was asked of the stream may still use it. */
static int put_piece(void *ctx, void *piece, size_t bytes, cudaStream_t stream)
{
    const struct source *to = (const struct source *)ctx;

    (void)bytes;
    (void)cudaStreamSynchronize(stream);
    memory_cuda_put(to->memory, to->kind, piece);
    return 0;
}

/* ------------------------------------------------------------------------- open, close */

static int load(struct jpeg_cuda *j)
{
    static const char *const names[] = {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"};

    for (size_t i = 0; i < sizeof names / sizeof *names && !j->library; i++)
        j->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!j->library)
        return -1;
    *(void **)&j->create = dlsym(j->library, "nvjpegCreateExV2");
    *(void **)&j->destroy = dlsym(j->library, "nvjpegDestroy");
    *(void **)&j->hardware = dlsym(j->library, "nvjpegGetHardwareDecoderInfo");
    *(void **)&j->state_create = dlsym(j->library, "nvjpegJpegStateCreate");
    *(void **)&j->state_destroy = dlsym(j->library, "nvjpegJpegStateDestroy");
    *(void **)&j->prepare = dlsym(j->library, "nvjpegDecodeBatchedInitialize");
    *(void **)&j->decode = dlsym(j->library, "nvjpegDecodeBatched");
    return j->create && j->destroy && j->hardware && j->state_create && j->state_destroy &&
                   j->prepare && j->decode
               ? 0
               : -1;
}

static int open_seat(struct jpeg_cuda *j, struct err *err)
{
    const unsigned event = cudaEventDisableTiming | cudaEventBlockingSync;
    struct seat *s = &j->seats[j->n_seats++];
    int rc;

    if (j->state_create(j->handle, &s->state) || j->prepare(j->handle, s->state, 1, 1, OUTPUT_RGBI))
        return -1;
    CU_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    CU_TRY(cudaEventCreateWithFlags(&s->done, event));
    s->next = j->unused;
    j->unused = s;
out:
    return rc;
}

static int open_all(struct jpeg_cuda *j)
{
    struct allocator device = {get_piece, put_piece, &j->device_memory};
    struct allocator pinned = {get_piece, put_piece, &j->pinned_memory};
    unsigned cores;
    int rc = load(j);

    if (rc == 0)
        rc = j->create(BACKEND_HARDWARE, &device, &pinned, 0, &j->handle);
    if (rc == 0)
        rc = j->hardware(j->handle, &j->engines, &cores);
    if (rc || j->engines == 0)
        return -1;
    while (rc == 0 && j->n_seats < SEATS_MAX && (unsigned)j->n_seats <= j->engines)
        rc = open_seat(j, NULL);
    return rc;
}

void jpeg_cuda_open(struct jpeg_cuda **out, int device, struct memory_cuda *memory)
{
    struct jpeg_cuda *j = (struct jpeg_cuda *)calloc(1, sizeof *j);

    *out = NULL;
    if (!j)
        return;
    j->device = device;
    j->memory = memory;
    j->device_memory = (struct source){memory, MEMORY_CUDA_DEVICE};
    j->pinned_memory = (struct source){memory, MEMORY_CUDA_PINNED};
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->left, NULL);
    if (open_all(j)) {
        (void)cudaGetLastError(); /* no fault of whoever calls next */
        jpeg_cuda_close(&j);
    }
    *out = j;
}

static void close_seat(struct jpeg_cuda *j, struct seat *s)
{
    if (s->state)
        (void)j->state_destroy(s->state);
    if (s->stream)
        (void)cudaStreamDestroy(s->stream);
    if (s->done)
        (void)cudaEventDestroy(s->done);
    if (s->full)
        memory_cuda_put(j->memory, MEMORY_CUDA_DEVICE, s->full);
    if (s->small)
        memory_cuda_put(j->memory, MEMORY_CUDA_DEVICE, s->small);
}

void jpeg_cuda_close(struct jpeg_cuda **jpeg)
{
    struct jpeg_cuda *j = *jpeg;

    if (!j)
        return;
    for (int i = 0; i < j->n_seats; i++)
        close_seat(j, &j->seats[i]);
    if (j->handle)
        (void)j->destroy(j->handle);
    if (j->library)
        dlclose(j->library);
    pthread_cond_destroy(&j->left);
    pthread_mutex_destroy(&j->lock);
    free(j);
    *jpeg = NULL;
}

int jpeg_cuda_engines(const struct jpeg_cuda *j)
{
    return j ? (int)j->engines : 0;
}

/* ------------------------------------------------------------------------- pictures */

static struct seat *sit(struct jpeg_cuda *j)
{
    struct seat *s;

    pthread_mutex_lock(&j->lock);
    while (!j->unused)
        pthread_cond_wait(&j->left, &j->lock);
    s = j->unused;
    j->unused = s->next;
    pthread_mutex_unlock(&j->lock);
    return s;
}

static void leave(struct jpeg_cuda *j, struct seat *s)
{
    pthread_mutex_lock(&j->lock);
    s->next = j->unused;
    j->unused = s;
    pthread_mutex_unlock(&j->lock);
    pthread_cond_signal(&j->left);
}

static int make_room(struct jpeg_cuda *j, struct seat *s, size_t bytes, struct err *err)
{
    int rc;

    if (bytes <= s->bytes)
        return 0;
    if (s->full)
        memory_cuda_put(j->memory, MEMORY_CUDA_DEVICE, s->full);
    if (s->small)
        memory_cuda_put(j->memory, MEMORY_CUDA_DEVICE, s->small);
    s->full = s->small = NULL;
    s->bytes = 0;
    rc = memory_cuda_get(j->memory, MEMORY_CUDA_DEVICE, (void **)&s->full, bytes, err);
    if (rc == 0)
        rc = memory_cuda_get(j->memory, MEMORY_CUDA_DEVICE, (void **)&s->small, bytes, err);
    if (rc == 0)
        s->bytes = bytes;
    return rc;
}

/* What a picture is divided by to have this size, 0 = no such number. */
static int divisor(const struct gpu_jpeg *p)
{
    for (int n = 1; n <= 8; n *= 2)
        if ((p->width + n - 1) / n == p->w && (p->height + n - 1) / n == p->h)
            return n;
    return 0;
}

static int decode(struct jpeg_cuda *j, struct seat *s, const struct gpu_jpeg *p, int n,
                  struct err *err)
{
    struct image image = {{s->full}, {(size_t)p->width * 3}};
    const uint8_t *made = n > 1 ? s->small : s->full;
    int rc, status = j->decode(j->handle, s->state, &p->data, &p->len, &image, s->stream);

    if (status) { /* it may have asked something of the stream; then it starts anew */
        CU_TRY(cudaStreamSynchronize(s->stream));
        (void)j->prepare(j->handle, s->state, 1, 1, OUTPUT_RGBI);
        return err_set(err, ERR_UNSUPPORTED, "the card's JPEG engines say %d", status);
    }
    if (n > 1 && (rc = jpeg_cuda_shrink(s->small, s->full, p->width, p->height, n, s->stream, err)))
        return rc;
    CU_TRY(cudaMemcpyAsync(p->rgb, made, (size_t)p->w * (size_t)p->h * 3, cudaMemcpyDeviceToHost,
                           s->stream));
    CU_TRY(cudaEventRecord(s->done, s->stream));
    CU_TRY(cudaEventSynchronize(s->done));
out:
    return rc;
}

int jpeg_cuda_decode(struct jpeg_cuda *j, const struct gpu_jpeg *p, struct err *err)
{
    int n = divisor(p), rc;
    struct seat *s;

    if (!j || n == 0 || (int64_t)p->width * p->height > PIXELS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%d x %d to %d x %d is not for the card's engines",
                       p->width, p->height, p->w, p->h);
    CU_TRY(cudaSetDevice(j->device));
    s = sit(j);
    rc = make_room(j, s, (size_t)p->width * (size_t)p->height * 3, err);
    if (rc == 0)
        rc = decode(j, s, p, n, err);
    leave(j, s);
out:
    return rc;
}
