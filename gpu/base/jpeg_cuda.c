/*
 * jpeg_cuda.c - the few calls of nvJPEG that we need; it comes with CUDA's libraries, its header
 * does not come with every toolkit, and a machine without it decodes on the host
 */
#include "gpu/base/jpeg_cuda.h"

#include "gpu/base/cuda_try.h"
#include "proto/lock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 2                /* calls under way */
#define SLOTS 4                  /* slots of a batch: pictures of one call */
#define PIXELS_MAX (4096 * 2304) /* a slot keeps room for the largest picture it had */
#define PITCH_UNIT 256           /* rows of planes begin at multiples of this, in bytes */

/* nvJPEG's own numbers and structures */
#define BACKEND_HARDWARE 3
#define OUTPUT_YUV 1 /* planes as they are coded */
#define COLOURS_444 0
#define COLOURS_422 1
#define COLOURS_420 2
#define PLANES_MAX 4

struct image {
    unsigned char *plane[PLANES_MAX];
    size_t pitch[PLANES_MAX];
};

typedef int get_fn(void *ctx, void **piece, size_t bytes, cudaStream_t stream);
typedef int put_fn(void *ctx, void *piece, size_t bytes, cudaStream_t stream);

struct allocator {
    get_fn *get;
    put_fn *put;
    void *ctx;
};

/* The source of an allocator's pieces. nvJPEG keeps the pointer. */
struct source {
    struct memory_cuda *memory;
    enum memory_cuda_kind kind;
};

/* The place where one picture of a call is made. */
struct slot {
    uint8_t *planes, *rgb; /* as the engine makes it, and as the host gets it */
    size_t planes_bytes, rgb_bytes;
};

/* An engine batch: one call on its way. */
struct engine_batch {
    struct engine_batch *next;
    void *states[SLOTS]; /* of calls of 1 ... SLOTS pictures */
    cudaStream_t stream;
    cudaEvent_t done;
    struct slot slots[SLOTS];
};

/* One picture that a thread waits for. */
struct request {
    struct request *next;
    const struct gpu_jpeg *jpeg;
    struct jpeg_planes picture; /* its planes lie in the slot that it is made in */
    int divisor, rc;
    bool taken, done;
    struct err *err;
};

struct jpeg_cuda {
    void *library, *handle;
    int (*create)(int backend, struct allocator *device, struct allocator *pinned, unsigned flags,
                  void **handle);
    int (*destroy)(void *handle);
    int (*hardware)(void *handle, unsigned *engines, unsigned *cores_each);
    int (*info)(void *handle, const unsigned char *data, size_t len, int *components, int *colours,
                int widths[PLANES_MAX], int heights[PLANES_MAX]);
    int (*state_create)(void *handle, void **state);
    int (*state_destroy)(void *state);
    int (*prepare)(void *handle, void *state, int n, int threads, int format);
    int (*decode)(void *handle, void *state, const unsigned char *const *data, const size_t *len,
                  struct image *images, cudaStream_t stream);
    int device, n_slots; /* of each batch */
    unsigned engines;
    struct memory_cuda *memory;
    struct source device_memory, pinned_memory;
    struct lock lock;
    pthread_cond_t changed;
    struct engine_batch *unused;
    struct request *first, **last; /* not taken */
    struct engine_batch batches[BATCHES];
};

/* ------------------------------------------------------------------------- nvJPEG's memory */

static int get_piece(void *ctx, void **piece, size_t bytes, cudaStream_t stream)
{
    const struct source *from = (const struct source *)ctx;

    (void)stream;
    return memory_cuda_get(from->memory, from->kind, piece, bytes, NULL);
}

/* Work that is enqueued on the stream may still use the piece, so we wait for it first. */
static int put_piece(void *ctx, void *piece, size_t bytes, cudaStream_t stream)
{
    const struct source *to = (const struct source *)ctx;

    (void)bytes;
    (void)cudaStreamSynchronize(stream);
    memory_cuda_put(to->memory, to->kind, piece);
    return 0;
}

/* ------------------------------------------------------------------------- open, close */

static int jpeg_load(struct jpeg_cuda *j)
{
    static const char *const names[] = {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"};

    for (size_t i = 0; i < sizeof names / sizeof *names && !j->library; i++)
        j->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!j->library)
        return -1;
    *(void **)&j->create = dlsym(j->library, "nvjpegCreateExV2");
    *(void **)&j->destroy = dlsym(j->library, "nvjpegDestroy");
    *(void **)&j->hardware = dlsym(j->library, "nvjpegGetHardwareDecoderInfo");
    *(void **)&j->info = dlsym(j->library, "nvjpegGetImageInfo");
    *(void **)&j->state_create = dlsym(j->library, "nvjpegJpegStateCreate");
    *(void **)&j->state_destroy = dlsym(j->library, "nvjpegJpegStateDestroy");
    *(void **)&j->prepare = dlsym(j->library, "nvjpegDecodeBatchedInitialize");
    *(void **)&j->decode = dlsym(j->library, "nvjpegDecodeBatched");
    return j->create && j->destroy && j->hardware && j->info && j->state_create &&
                   j->state_destroy && j->prepare && j->decode
               ? 0
               : -1;
}

static int open_batch(struct jpeg_cuda *j, struct engine_batch *b, struct err *err)
{
    const unsigned event = cudaEventDisableTiming | cudaEventBlockingSync;
    int rc;

    for (int n = 1; n <= j->n_slots; n++)
        if (j->state_create(j->handle, &b->states[n - 1]) ||
            j->prepare(j->handle, b->states[n - 1], n, 1, OUTPUT_YUV))
            return -1;
    CU_TRY(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    CU_TRY(cudaEventCreateWithFlags(&b->done, event));
    b->next = j->unused;
    j->unused = b;
out:
    return rc;
}

static int open_all(struct jpeg_cuda *j)
{
    struct allocator device = {get_piece, put_piece, &j->device_memory};
    struct allocator pinned = {get_piece, put_piece, &j->pinned_memory};
    unsigned cores = 0;
    int rc = jpeg_load(j);

    if (rc == 0)
        rc = j->create(BACKEND_HARDWARE, &device, &pinned, 0, &j->handle);
    if (rc == 0)
        rc = j->hardware(j->handle, &j->engines, &cores);
    if (rc || j->engines == 0)
        return -1;
    j->n_slots = j->engines * cores < SLOTS ? (int)(j->engines * cores) : SLOTS;
    j->n_slots = j->n_slots ? j->n_slots : 1;
    for (int i = 0; i < BATCHES && rc == 0; i++)
        rc = open_batch(j, &j->batches[i], NULL);
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
    j->last = &j->first;
    j->device_memory = (struct source){memory, MEMORY_CUDA_DEVICE};
    j->pinned_memory = (struct source){memory, MEMORY_CUDA_PINNED};
    lock_init(&j->lock, LOCK_JPEG_CUDA);
    pthread_cond_init(&j->changed, NULL);
    if (open_all(j)) {
        (void)cudaGetLastError(); /* clears the error, else the next call reports it */
        jpeg_cuda_close(&j);
    }
    *out = j;
}

static void close_batch(struct jpeg_cuda *j, struct engine_batch *b)
{
    for (int i = 0; i < SLOTS; i++) {
        if (b->states[i])
            (void)j->state_destroy(b->states[i]);
        memory_cuda_put(j->memory, MEMORY_CUDA_DEVICE, b->slots[i].planes);
        memory_cuda_put(j->memory, MEMORY_CUDA_DEVICE, b->slots[i].rgb);
    }
    if (b->stream)
        (void)cudaStreamDestroy(b->stream);
    if (b->done)
        (void)cudaEventDestroy(b->done);
}

void jpeg_cuda_close(struct jpeg_cuda **jpeg)
{
    struct jpeg_cuda *j = *jpeg;

    if (!j)
        return;
    for (int i = 0; i < BATCHES; i++)
        close_batch(j, &j->batches[i]);
    if (j->handle)
        (void)j->destroy(j->handle);
    if (j->library)
        dlclose(j->library);
    pthread_cond_destroy(&j->changed);
    lock_destroy(&j->lock);
    free(j);
    *jpeg = NULL;
}

int jpeg_cuda_engines(const struct jpeg_cuda *j)
{
    return j ? (int)j->engines : 0;
}

/* ------------------------------------------------------------------------- pictures */

static int room_for(struct jpeg_cuda *j, uint8_t **place, size_t *room, size_t bytes,
                    struct err *err)
{
    int rc;

    if (bytes <= *room)
        return 0;
    memory_cuda_put(j->memory, MEMORY_CUDA_DEVICE, *place);
    *place = NULL;
    *room = 0;
    rc = memory_cuda_get(j->memory, MEMORY_CUDA_DEVICE, (void **)place, bytes, err);
    if (rc == 0)
        *room = bytes;
    return rc;
}

static size_t rgb_bytes(const struct request *r)
{
    return (size_t)r->jpeg->w * (size_t)r->jpeg->h * 3;
}

static size_t plane_bytes(const struct jpeg_planes *p, int i)
{
    return p->pitch[i] * (size_t)jpeg_extent(p->height, i ? p->halved_y : 0);
}

/* Sets the places of a picture's planes for the engine and the kernel. */
static int jpeg_make_room(struct jpeg_cuda *j, struct slot *s, struct request *r,
                          struct image *image, struct err *err)
{
    struct jpeg_planes *p = &r->picture;
    size_t bytes = 0, at = 0;
    int rc;

    for (int i = 0; i < JPEG_PLANES; i++)
        bytes += plane_bytes(p, i);
    rc = room_for(j, &s->planes, &s->planes_bytes, bytes, err);
    if (rc == 0)
        rc = room_for(j, &s->rgb, &s->rgb_bytes, rgb_bytes(r), err);
    if (rc)
        return rc;
    *image = (struct image){{0}, {0}};
    for (int i = 0; i < JPEG_PLANES; i++) {
        image->plane[i] = s->planes + at;
        image->pitch[i] = p->pitch[i];
        p->plane[i] = image->plane[i];
        at += plane_bytes(p, i);
    }
    return 0;
}

/* The divisor that gives a picture this size, 0 = none. */
static int divisor(const struct gpu_jpeg *p)
{
    for (int n = 1; n <= 8; n *= 2)
        if ((p->width + n - 1) / n == p->w && (p->height + n - 1) / n == p->h)
            return n;
    return 0;
}

/*
 * Reads a picture's planes. nvJPEG must find the sizes that the caller read in the headers, because
 * they set the slot's room. ERR_UNSUPPORTED: planes that (I0) does not cover.
 */
static int jpeg_look(struct jpeg_cuda *j, struct request *r, struct err *err)
{
    const struct gpu_jpeg *p = r->jpeg;
    int components = 0, colours = -1, w[PLANES_MAX] = {0}, h[PLANES_MAX] = {0};
    int status = j->info(j->handle, p->data, p->len, &components, &colours, w, h);
    int halved_x = colours == COLOURS_422 || colours == COLOURS_420;
    int halved_y = colours == COLOURS_420, same = 1;

    r->picture = (struct jpeg_planes){
        .width = p->width, .height = p->height, .halved_x = halved_x, .halved_y = halved_y};
    for (int i = 0; i < JPEG_PLANES; i++) {
        int columns = jpeg_extent(p->width, i ? halved_x : 0);

        same &= w[i] == columns && h[i] == jpeg_extent(p->height, i ? halved_y : 0);
        r->picture.pitch[i] = ((size_t)columns + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    }
    if (status || components != JPEG_PLANES || !same || (!halved_x && colours != COLOURS_444))
        return err_set(err, ERR_UNSUPPORTED,
                       "nvJPEG says %d: %d planes, colours of kind %d, %d x %d", status, components,
                       colours, w[0], h[0]);
    return 0;
}

/* Decodes n pictures by one call. ERR_UNSUPPORTED: the engines refuse at least one of them. */
static int engines_make(struct jpeg_cuda *j, struct engine_batch *b,
                        struct request *const *requests, int n, struct err *err)
{
    const unsigned char *data[SLOTS];
    struct image images[SLOTS];
    size_t len[SLOTS];
    int rc, status;

    for (int i = 0; i < n; i++) {
        const struct gpu_jpeg *p = requests[i]->jpeg;

        rc = jpeg_make_room(j, &b->slots[i], requests[i], &images[i], err);
        if (rc)
            return rc;
        data[i] = p->data;
        len[i] = p->len;
    }
    status = j->decode(j->handle, b->states[n - 1], data, len, images, b->stream);
    if (status == 0)
        return 0;
    /* the failed call may have enqueued work; the state is prepared again behind it */
    CU_TRY(cudaStreamSynchronize(b->stream));
    (void)j->prepare(j->handle, b->states[n - 1], n, 1, OUTPUT_YUV);
    return err_set(err, ERR_UNSUPPORTED, "the card's JPEG engines say %d", status);
out:
    return rc;
}

static int decode(struct jpeg_cuda *j, struct engine_batch *b, struct request *const *requests,
                  int n, struct err *err)
{
    int rc = engines_make(j, b, requests, n, err);

    if (rc)
        return rc;
    for (int i = 0; i < n; i++) {
        const struct request *r = requests[i];
        uint8_t *rgb = b->slots[i].rgb;

        rc = jpeg_cuda_rgb(rgb, &r->picture, r->divisor, b->stream, err);
        if (rc)
            return rc;
        CU_TRY(cudaMemcpyAsync(r->jpeg->rgb, rgb, rgb_bytes(r), cudaMemcpyDeviceToHost, b->stream));
    }
    CU_TRY(cudaEventRecord(b->done, b->stream));
    CU_TRY(cudaEventSynchronize(b->done));
out:
    return rc;
}

/* If a call fails, each picture is decoded alone, so that a bad file fails only its own request. */
static void jpeg_serve(struct jpeg_cuda *j, struct engine_batch *b, struct request *const *requests,
                       int n)
{
    struct err err = {0};
    int rc = decode(j, b, requests, n, &err);

    for (int i = 0; i < n; i++) {
        struct request *r = requests[i];

        if (rc && n > 1) {
            r->rc = decode(j, b, &r, 1, r->err);
            continue;
        }
        r->rc = rc;
        if (rc && r->err)
            *r->err = err;
    }
}

static int jpeg_take(struct jpeg_cuda *j, struct request *requests[SLOTS])
{
    int n = 0;

    for (; n < j->n_slots && j->first; n++) {
        requests[n] = j->first;
        requests[n]->taken = true;
        j->first = requests[n]->next;
    }
    if (!j->first)
        j->last = &j->first;
    return n;
}

/* Waits until the request is done: by another thread or, when a batch is free, by this one. */
static void have_done(struct jpeg_cuda *j, struct request *mine)
{
    struct request *requests[SLOTS];

    lock_take(&j->lock);
    *j->last = mine;
    j->last = &mine->next;
    while (!mine->done) {
        struct engine_batch *b = mine->taken ? NULL : j->unused;
        int n;

        if (!b) {
            lock_wait(&j->lock, &j->changed);
            continue;
        }
        j->unused = b->next;
        n = jpeg_take(j, requests);
        lock_give(&j->lock);
        jpeg_serve(j, b, requests, n);
        lock_take(&j->lock);
        for (int i = 0; i < n; i++)
            requests[i]->done = true;
        b->next = j->unused;
        j->unused = b;
        pthread_cond_broadcast(&j->changed);
    }
    lock_give(&j->lock);
}

int jpeg_cuda_decode(struct jpeg_cuda *j, const struct gpu_jpeg *p, struct err *err)
{
    struct request request = {.jpeg = p, .divisor = divisor(p), .err = err};
    int rc;

    if (!j || request.divisor == 0 || p->width < JPEG_WIDTH_MIN ||
        (int64_t)p->width * p->height > PIXELS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%d x %d to %d x %d is not for the card's engines",
                       p->width, p->height, p->w, p->h);
    rc = jpeg_look(j, &request, err);
    if (rc)
        return rc;
    CU_TRY(cudaSetDevice(j->device));
    have_done(j, &request);
    rc = request.rc;
out:
    return rc;
}
