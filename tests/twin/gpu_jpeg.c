/*
 * gpu_jpeg - the card's JPEG engines beside libjpeg-turbo: nearly the same picture, the same one
 * whatever else is decoded at that moment, damaged files among it, and damage to a file is that
 * file's own. The kernel behind them makes of planes exactly what MATH.md (I0) says.
 */
#include "gpu/gpu.h"
#include "proto/image/jpeg.h"
#include "tests/support/jpeg_rig_cuda.h"
#include "tests/support/jpeg_write.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Levels between the two decoders. At 1/1 the planes are made into RGB alike, so only the inverse
 * transforms differ, by a level of a plane, which colour makes two or three. Shrunk, means of boxes
 * stand beside what libjpeg-turbo makes of the lower frequencies: tests/unit/gpu_jpeg_point.c.
 */
#define MEAN_MAX 0.05
#define WORST_MAX 2
#define SMALL_MEAN_MAX 0.5

#define THREADS 24
#define ROUNDS 16
#define DAMAGED 200

/* A tentative definition: in a build with CUDA the linker takes that of jpeg_rig_cuda.cu. */
const struct jpeg_rig_api *jpeg_rig_cuda __attribute__((common));
static const struct {
    const char *name;
    int across, down;
} colours[] = {{"4:4:4", 1, 1}, {"4:2:2", 2, 1}, {"4:2:0", 2, 2}};
static const struct jpeg_limits limits = {8192, 8192, 100, 8u << 20, 60000};
static struct gpu *g;
static struct jpeg_decoder *decoder;

struct file {
    uint8_t *data;
    size_t len;
    int w, h;
};

FIXTURE(open_device)
{
    const struct gpu_config config = {.device = "cuda"};
    struct gpu_info info = {0};

    if (gpu_cuda_count() && gpu_open(&g, &config, NULL) == 0)
        gpu_get_info(g, &info);
    if (info.jpeg_engines == 0)
        gpu_close(&g);
    return jpeg_decoder_new(&decoder, NULL);
}

FIXTURE(close_device)
{
    gpu_close(&g);
    jpeg_decoder_free(&decoder);
    return 0;
}

static void need_engines(void)
{
    if (!g) {
        print_message("# hardware: no CUDA device with JPEG engines and nvJPEG\n");
        skip();
    }
}

/* Slopes, edges and a little noise, with colours[kind]. */
static struct file make_as(int w, int h, unsigned seed, int kind)
{
    uint8_t *rgb = malloc((size_t)w * (size_t)h * 3);
    struct file f = {.w = w, .h = h};

    assert_non_null(rgb);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            uint8_t *p = rgb + ((size_t)y * (size_t)w + (size_t)x) * 3;
            seed = seed * 1664525u + 1013904223u;
            p[0] = (uint8_t)(x * 200 / w + (int)(seed >> 28));
            p[1] = (uint8_t)(y * 200 / h + ((x / 64 + y / 48) & 1) * 40);
            p[2] = (uint8_t)(100 + ((x + 2 * y) / 32 % 3) * 30);
        }
    f.data = jpeg_write_as(rgb, w, h, 90, colours[kind].across, colours[kind].down, &f.len);
    free(rgb);
    return f;
}

static struct file make(int w, int h, unsigned seed)
{
    return make_as(w, h, seed, 2);
}

static int on_card(const struct file *f, uint8_t *rgb, int n)
{
    const struct gpu_jpeg jpeg = {.data = f->data,
                                  .len = f->len,
                                  .width = f->w,
                                  .height = f->h,
                                  .rgb = rgb,
                                  .w = (f->w + n - 1) / n,
                                  .h = (f->h + n - 1) / n};
    return gpu_decode(g, &jpeg, NULL);
}

static size_t bytes_of(const struct file *f, int n)
{
    return (size_t)((f->w + n - 1) / n) * (size_t)((f->h + n - 1) / n) * 3;
}

/* How far two pictures are apart: the mean, and the most. */
static double apart(const uint8_t *a, const uint8_t *b, size_t bytes, int *worst)
{
    double sum = 0;

    *worst = 0;
    for (size_t i = 0; i < bytes; i++) {
        int d = abs(a[i] - b[i]);

        sum += d;
        *worst = d > *worst ? d : *worst;
    }
    return sum / (double)bytes;
}

static void compare_with_libjpeg(const struct file *f, const char *name)
{
    uint8_t *card = gpu_host_get(g, bytes_of(f, 1)), *host = malloc(bytes_of(f, 1));

    assert_non_null(host);
    for (int n = 1; n <= 8; n *= 2) {
        double mean;
        int worst;

        assert_int_equal(on_card(f, card, n), 0);
        assert_int_equal(jpeg_decode(decoder, host, (f->w + n - 1) / n, (f->h + n - 1) / n, f->data,
                                     f->len, &limits, NULL),
                         0);
        mean = apart(card, host, bytes_of(f, n), &worst);
        print_message("# info: %s, %d x %d, 1/%d: mean %.3f, at most %d levels apart\n", name, f->w,
                      f->h, n, mean, worst);
        assert_true(mean <= (n == 1 ? MEAN_MAX : SMALL_MEAN_MAX));
        assert_true(n > 1 || worst <= WORST_MAX);
    }
    gpu_host_put(g, card, bytes_of(f, 1));
    free(host);
}

TEST(nearly_as_libjpeg)
{
    static const int sizes[][2] = {{1280, 720}, {1281, 723}, {640, 480}, {1919, 1080}};

    need_engines();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int kind = 0; kind < 3; kind++) {
            struct file f = make_as(sizes[k][0], sizes[k][1], (unsigned)k, kind);

            compare_with_libjpeg(&f, colours[kind].name);
            free(f.data);
        }
}

/* Noise in planes whose rows have something behind them; *room is theirs. */
static struct jpeg_planes noise(int w, int h, int kind, uint8_t **room)
{
    struct jpeg_planes p = {.width = w,
                            .height = h,
                            .halved_x = colours[kind].across - 1,
                            .halved_y = colours[kind].down - 1};
    size_t pitch = (size_t)w + 13, bytes = pitch * (size_t)h;
    unsigned seed = (unsigned)(w * h + kind);

    *room = malloc(JPEG_PLANES * bytes);
    assert_non_null(*room);
    for (size_t i = 0; i < JPEG_PLANES * bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        (*room)[i] = (uint8_t)(seed >> 24);
    }
    for (size_t i = 0; i < JPEG_PLANES; i++) {
        p.plane[i] = *room + i * bytes;
        p.pitch[i] = pitch - i;
    }
    return p;
}

static void compare_with_the_formula(const struct jpeg_planes *p, int n)
{
    int w = (p->width + n - 1) / n, h = (p->height + n - 1) / n;
    size_t bytes = (size_t)w * (size_t)h * 3, at = 0;
    uint8_t *made = malloc(bytes + 1), want[3];
    struct err err = {0};

    assert_non_null(made);
    memset(made, 0xa5, bytes + 1);
    assert_int_equal(jpeg_rig_cuda->rgb(made, bytes + 1, p, n, &err), 0);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, at += 3) {
            jpeg_pixel(want, p, n, x, y);
            assert_memory_equal(made + at, want, 3);
        }
    assert_int_equal(made[bytes], 0xa5);
    free(made);
}

TEST(made_as_the_formula_says)
{
    static const int sizes[][2] = {{JPEG_WIDTH_MIN, 1}, {64, 48}, {131, 77}, {6, 333}, {355, 2}};

    if (!jpeg_rig_cuda || !jpeg_rig_cuda->devices()) {
        print_message("# hardware: no CUDA device\n");
        skip();
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int kind = 0; kind < 3; kind++) {
            uint8_t *room;
            struct jpeg_planes p = noise(sizes[k][0], sizes[k][1], kind, &room);

            for (int n = 1; n <= 8; n *= 2)
                compare_with_the_formula(&p, n);
            free(room);
        }
}

/* Bytes behind the headers are turned, or the file ends early. */
static struct file damage(const struct file *good, uint8_t *data, int i, unsigned *seed)
{
    struct file bad = *good;

    bad.data = data;
    memcpy(data, good->data, good->len);
    bad.len = i % 4 ? good->len : 700 + (size_t)(i % DAMAGED) * (good->len - 700) / DAMAGED;
    for (int k = 0; k < 1 + i % 16; k++) {
        *seed = *seed * 1664525u + 1013904223u;
        data[700 + *seed % (good->len - 700)] = (uint8_t)(*seed >> 24);
    }
    return bad;
}

struct caller {
    pthread_t thread;
    const struct file *f;
    const uint8_t *want;
    int n, spoils, wrong; /* sizes are divided by n; it sends damaged files, with this seed */
};

static void *call(void *arg)
{
    struct caller *c = arg;
    uint8_t *rgb = gpu_host_get(g, bytes_of(c->f, c->n)), *data = malloc(c->f->len);
    unsigned seed = (unsigned)c->spoils;

    for (int i = 0; i < ROUNDS && data; i++) {
        struct file bad;

        if (c->spoils) {
            bad = damage(c->f, data, c->spoils * ROUNDS + i, &seed);
            (void)!on_card(&bad, rgb, c->n);
        } else if (on_card(c->f, rgb, c->n) || memcmp(rgb, c->want, bytes_of(c->f, c->n)) != 0) {
            c->wrong++;
        }
    }
    free(data);
    gpu_host_put(g, rgb, bytes_of(c->f, c->n));
    return NULL;
}

TEST(the_same_in_company)
{
    static struct caller callers[THREADS];
    struct file f[3];
    uint8_t *want[3];

    need_engines();
    for (int k = 0; k < 3; k++) {
        f[k] = make(1280 - 320 * k, 720, 20u + (unsigned)k);
        want[k] = gpu_host_get(g, bytes_of(&f[k], 1 << k));
        assert_int_equal(on_card(&f[k], want[k], 1 << k), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.f = &f[i % 3], .want = want[i % 3], .n = 1 << i % 3};
        callers[i].spoils = i % 5 ? 0 : 1 + i;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    for (int k = 0; k < 3; k++) {
        gpu_host_put(g, want[k], bytes_of(&f[k], 1 << k));
        free(f[k].data);
    }
}

TEST(damage_is_the_files_own)
{
    struct file good, bad;
    unsigned seed = 5;
    uint8_t *want, *got, *data;
    int taken = 0;

    need_engines();
    good = make(1280, 720, 3);
    want = gpu_host_get(g, bytes_of(&good, 2));
    got = gpu_host_get(g, bytes_of(&good, 2));
    data = malloc(good.len);
    assert_non_null(data);
    assert_int_equal(on_card(&good, want, 2), 0);
    for (int i = 0; i < DAMAGED; i++) {
        bad = damage(&good, data, i, &seed);
        taken += on_card(&bad, got, 2) == 0;
        assert_int_equal(on_card(&good, got, 2), 0);
        assert_memory_equal(got, want, bytes_of(&good, 2));
    }
    print_message("# info: of %d damaged files the engines took %d\n", DAMAGED, taken);
    gpu_host_put(g, want, bytes_of(&good, 2));
    gpu_host_put(g, got, bytes_of(&good, 2));
    free(good.data);
    free(data);
}

TEST(other_sizes_are_not_for_it)
{
    struct gpu_jpeg jpeg = {.width = 1280, .height = 720, .w = 500, .h = 300};
    struct err err = {0};

    need_engines();
    assert_int_equal(gpu_decode(g, &jpeg, &err), ERR_UNSUPPORTED);
    jpeg = (struct gpu_jpeg){.width = 8192, .height = 8192, .w = 4096, .h = 4096};
    assert_int_equal(gpu_decode(g, &jpeg, &err), ERR_UNSUPPORTED);
}

/* Sizes that are not the file's, and colours that (I0) does not speak of. */
TEST(other_planes_are_not_for_it)
{
    static const int halved[][2] = {{1, 2}, {4, 1}};
    uint8_t *rgb, *grey;
    struct file f;

    need_engines();
    f = make(1280, 720, 9);
    rgb = gpu_host_get(g, bytes_of(&f, 1));
    f.h = 704;
    assert_int_equal(on_card(&f, rgb, 1), ERR_UNSUPPORTED);
    f.w = 640;
    f.h = 360;
    assert_int_equal(on_card(&f, rgb, 1), ERR_UNSUPPORTED);
    free(f.data);
    grey = calloc(1280 * 720, 3);
    assert_non_null(grey);
    for (int i = 0; i < 2; i++) {
        f = (struct file){.w = 1280, .h = 720};
        f.data = jpeg_write_as(grey, f.w, f.h, 90, halved[i][0], halved[i][1], &f.len);
        assert_int_equal(on_card(&f, rgb, 1), ERR_UNSUPPORTED);
        free(f.data);
    }
    free(grey);
    gpu_host_put(g, rgb, (size_t)1280 * 720 * 3);
}

TEST_GROUP(open_device, close_device)
