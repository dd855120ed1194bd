/*
 * gpu_jpeg_point - MATH.md (I0) makes of libjpeg-turbo's planes what libjpeg-turbo makes of the
 * file: the same bits at 1/1, nearly the same at 1/2, 1/4 and 1/8
 */
#include "gpu/base/jpeg_point.h"
#include "proto/image/jpeg.h"
#include "tests/support/jpeg_planes.h"
#include "tests/support/jpeg_write.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>

static const struct jpeg_limits limits = {8192, 8192, 100, 8u << 20, 60000};
static const struct {
    const char *name;
    int across, down;
} colours[] = {{"4:4:4", 1, 1}, {"4:2:2", 2, 1}, {"4:2:0", 2, 2}};

struct picture {
    uint8_t *data, *room, *host; /* the file, memory of planes, libjpeg-turbo's RGB */
    struct jpeg_planes planes;
    int w, h; /* of host */
};

/* noise 0: slopes, edges and a little noise, as cameras see; 1: noise alone, all colours of it */
static struct picture make(int w, int h, int n, size_t kind, int noise)
{
    struct picture p = {.w = (w + n - 1) / n, .h = (h + n - 1) / n};
    uint8_t *rgb = malloc((size_t)w * (size_t)h * 3);
    struct jpeg_decoder *decoder;
    unsigned seed = 7;
    size_t len;

    assert_non_null(rgb);
    for (int i = 0; i < w * h; i++) {
        int x = i % w, y = i / w;
        uint8_t *at = rgb + (size_t)i * 3;

        seed = seed * 1664525u + 1013904223u;
        at[0] = (uint8_t)(noise ? (int)(seed >> 24) : x * 200 / w + (int)(seed >> 28));
        at[1] = (uint8_t)(noise ? (int)(seed >> 16) : y * 200 / h + ((x / 64 + y / 48) & 1) * 40);
        at[2] = (uint8_t)(noise ? (int)(seed >> 20) : 100 + ((x + 2 * y) / 32 % 3) * 30);
    }
    p.data = jpeg_write_as(rgb, w, h, 90, colours[kind].across, colours[kind].down, &len);
    free(rgb);
    assert_int_equal(jpeg_planes_read(&p.planes, &p.room, p.data, len), 0);
    assert_int_equal(p.planes.halved_x, colours[kind].across - 1);
    assert_int_equal(p.planes.halved_y, colours[kind].down - 1);
    p.host = malloc((size_t)p.w * (size_t)p.h * 3);
    assert_non_null(p.host);
    assert_int_equal(jpeg_decoder_new(&decoder, NULL), 0);
    assert_int_equal(jpeg_decode(decoder, p.host, p.w, p.h, p.data, len, &limits, NULL), 0);
    jpeg_decoder_free(&decoder);
    return p;
}

static void drop(struct picture *p)
{
    free(p->data);
    free(p->room);
    free(p->host);
}

/*
 * libjpeg-turbo's smaller inverse transforms give means of boxes, too, but of samples that were
 * neither rounded to levels nor cut off at 0 and 255. The mean of rounded samples is rounded to the
 * next level here and there, which makes 0.13 to 0.31 levels in the mean and 3 at most. Where the
 * last box is not whole, libjpeg-turbo also averages what the encoder filled the block up with,
 * which (I0) does not see: 13 at most, at 1/8. (I0) is no brighter, 0.009 at most; at 1/8 it is
 * darker by up to 0.095: libjpeg-turbo knows means of blocks to an eighth and rounds halves up.
 */
#define MEAN_MAX 0.4
#define BIAS_MAX 0.02
#define BIAS_8_MAX 0.12
#define WORST_MAX 4
#define WORST_UNEVEN_MAX 16

/* How far (I0) is from the host's picture, in levels; bias > 0: brighter. Returns the most. */
static int compare(const struct picture *p, int n, double *mean, double *bias)
{
    int worst = 0;
    double sum = 0, brighter = 0;

    for (int y = 0; y < p->h; y++)
        for (int x = 0; x < p->w; x++) {
            uint8_t rgb[3];

            jpeg_pixel(rgb, &p->planes, n, x, y);
            for (int ch = 0; ch < 3; ch++) {
                int d = rgb[ch] - p->host[(y * p->w + x) * 3 + ch];

                sum += abs(d);
                brighter += d;
                worst = abs(d) > worst ? abs(d) : worst;
            }
        }
    *mean = sum / (p->w * p->h * 3);
    *bias = brighter / (p->w * p->h * 3);
    return worst;
}

TEST(whole_pictures_are_equal)
{
    static const int sizes[][2] = {
        {64, 48}, {65, 47}, {JPEG_WIDTH_MIN, 1}, {6, 2},    {7, 3}, {17, 16}, {16, 17},
        {33, 31}, {5, 127}, {1281, 9},           {322, 241}};

    for (size_t k = 0; k < sizeof colours / sizeof *colours; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int noise = 0; noise < 2; noise++) {
                struct picture p = make(sizes[i][0], sizes[i][1], 1, k, noise);
                double mean, bias;

                assert_int_equal(compare(&p, 1, &mean, &bias), 0);
                drop(&p);
            }
}

TEST(small_pictures_are_near)
{
    static const int sizes[][2] = {{1280, 720}, {1283, 725}};
    static const int most[] = {WORST_MAX, WORST_UNEVEN_MAX};

    for (size_t k = 0; k < sizeof colours / sizeof *colours; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int n = 2; n <= 8; n *= 2) {
                struct picture p = make(sizes[i][0], sizes[i][1], n, k, 0);
                double mean, bias;
                int worst = compare(&p, n, &mean, &bias);

                print_message("# info: %s, %d x %d, 1/%d: mean %.3f, bias %+.3f, most %d levels\n",
                              colours[k].name, sizes[i][0], sizes[i][1], n, mean, bias, worst);
                assert_true(mean <= MEAN_MAX);
                assert_true(fabs(bias) <= (n < 8 ? BIAS_MAX : BIAS_8_MAX));
                assert_in_range(worst, 0, most[i]);
                drop(&p);
            }
}
