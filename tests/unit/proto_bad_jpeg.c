/*
 * proto_bad_jpeg.c - thousands of files that were made to hurt a JPEG decoder
 *
 * Under the daemon's own limits none is decoded that is expected to cost more than its deadline,
 * none takes more than 64 MB, and none writes beyond its picture. BOUNDS=1 holds what each really
 * costs against 100 ms: the processor time of this thread, the least of three tries, since
 * neighbours on the machine take time that is not the file's. A sanitizer keeps what is freed, so
 * under one memory is not looked at. N=100000 in the environment makes more files.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/image/jpeg.h"
#include "tests/support/bound.h"
#include "tests/support/bad_jpeg.h"
#include "tests/support/unit.h"

#define FILES 3600 /* one hundred of each kind; a few seconds */
#define W 320
#define H 240
#define GUARD 64
#define COST_MS 100.0
#define MEMORY_KB (64 * 1024)

/* limits.* of the daemon as it is shipped */
static const struct jpeg_limits limits = {4096, 4096, 20, BAD_JPEG_BYTES_MAX, 100};

struct tally {
    uint32_t used, refused;
    double worst_ms;
    uint32_t worst;
};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* The daemon's steps: probe, choose the scale, decode. */
static int decode(struct jpeg_decoder *d, const uint8_t *data, size_t len)
{
    struct jpeg_info info;
    struct err err = {0};
    uint8_t *rgb;
    size_t n;
    int w, h, rc = jpeg_probe(&info, data, len, &limits, &err);

    if (rc == 0) {
        jpeg_scaled_size(&info, W, H, &w, &h);
        n = (size_t)w * (size_t)h * 3;
        rgb = malloc(n + GUARD);
        assert_non_null(rgb);
        memset(rgb + n, 0xa5, GUARD);
        rc = jpeg_decode(d, rgb, w, h, data, len, &limits, &err);
        for (int i = 0; i < GUARD; i++)
            assert_int_equal(rgb[n + (size_t)i], 0xa5);
        free(rgb);
    }
    assert_true(rc == 0 || ((rc == ERR_INPUT || rc == ERR_LIMIT) && err.text[0]));
    return rc;
}

static bool sanitized(void)
{
    const char *mode = getenv("MODE"); /* from tests/run */

    return mode && strcmp(mode, "release") != 0;
}

/* What the probe thinks that decoding takes; 0 where it refuses. */
static double expected_ms(const uint8_t *data, size_t len)
{
    struct jpeg_info info;

    return jpeg_probe(&info, data, len, &limits, NULL) ? 0 : (double)info.cost_ns * 1e-6;
}

static double cost_ms(struct jpeg_decoder *d, const uint8_t *data, size_t len, int *rc)
{
    double least = 1e9;

    for (int i = 0; i < (bound_wanted() ? 3 : 1) && least > COST_MS / 2; i++) {
        double start = now_ms();

        *rc = decode(d, data, len);
        least = now_ms() - start < least ? now_ms() - start : least;
    }
    return least;
}

static long status_kb(const char *key)
{
    char line[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");

    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = atol(line + strlen(key));
    fclose(f);
    return kb;
}

/* So that VmHWM is the peak from here on. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

TEST(none_costs_much)
{
    uint32_t files = getenv("N") ? (uint32_t)atol(getenv("N")) : FILES;
    struct bad_jpeg *bad = bad_jpeg_new(W, H);
    struct jpeg_decoder *d;
    struct tally *kinds = calloc(bad_jpeg_kinds(), sizeof *kinds);
    double expect_ms = 0;
    long before;

    assert_non_null(bad);
    assert_int_equal(jpeg_decoder_new(&d, NULL), 0);
    forget_peak();
    before = status_kb("VmRSS:");
    for (uint32_t i = 0; i < files; i++) {
        struct tally *t = &kinds[i % bad_jpeg_kinds()];
        size_t len;
        int rc;
        const uint8_t *made = bad_jpeg_make(bad, i, &len);
        uint8_t *exact = malloc(len ? len : 1);
        double ms;

        memcpy(exact, made, len);
        ms = cost_ms(d, exact, len, &rc);
        for (int again = 0; bound_wanted() && again < 2 && ms > COST_MS; again++)
            ms = fmin(ms, cost_ms(d, exact, len, &rc));
        if (rc == 0)
            expect_ms = fmax(expect_ms, expected_ms(exact, len));
        t->used += rc == 0;
        t->refused += rc != 0;
        if (ms > t->worst_ms)
            t->worst_ms = ms, t->worst = i;
        free(exact);
    }
    printf("# peak %ld MB above the start\n", (status_kb("VmHWM:") - before) / 1024);
    for (uint32_t k = 0; k < bad_jpeg_kinds(); k++)
        printf("# %-30s used %4u refused %4u, the worst is file %u\n", bad_jpeg_kind(k),
               kinds[k].used, kinds[k].refused, kinds[k].worst);
    printf("# of a file that is decoded at most %.1f ms are expected\n", expect_ms);
    assert_true(expect_ms <= COST_MS);
    for (uint32_t k = 0; k < bad_jpeg_kinds(); k++)
        assert_true(bound_at_most(bad_jpeg_kind(k), kinds[k].worst_ms, COST_MS, "ms"));
    assert_true(sanitized() || status_kb("VmHWM:") - before <= MEMORY_KB);
    free(kinds);
    jpeg_decoder_free(&d);
    bad_jpeg_free(&bad);
}

/* Where entropy-coded data end is where a walk byte by byte says so: behind stuffed bytes, restarts
 * and fill bytes; never behind the file. */
TEST(data_end_at_a_marker)
{
    static const uint8_t head[] = "\xff\xd8\xff\xc0\0\x11\x08\0\x32\0\x5a\3\1\x22\0\2\x11\1\3\x11\1"
                                  "\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\x3f";
    static const uint8_t symbols[8] = {0xff, 0xff, 0xff, 0x00, 0xd0, 0xd7, 0xd9, 0x12};
    uint64_t none_ns = 0;
    uint32_t random = 1;

    for (int round = 0; round < 20000; round++) {
        size_t n = round ? (size_t)round % 24 : 2, end = 0;
        uint8_t *file = malloc(sizeof head + n), *tail = file + sizeof head;
        struct jpeg_info info;
        int rc;

        memcpy(file, head, sizeof head); /* its last byte is the string's own 0 */
        for (size_t i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            tail[i] = round ? symbols[random >> 29] : i ? 0xd9 : 0xff;
        }
        while (end + 1 < n && (tail[end] != 0xff || tail[end + 1] == 0 ||
                               (tail[end + 1] & 0xf8) == 0xd0 || tail[end + 1] == 0xff))
            end++;
        rc = jpeg_probe(&info, file, sizeof head + n, &limits, NULL);
        assert_int_equal(rc, end + 1 < n && tail[end + 1] == 0xd9 ? 0 : ERR_INPUT);
        if (round == 0)
            none_ns = info.cost_ns;
        if (rc == 0) /* 25 ns a byte: exactly these were taken for data */
            assert_int_equal(info.cost_ns - none_ns, 25 * end);
        free(file);
    }
}
