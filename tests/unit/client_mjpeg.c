/* Streams of pictures: where they are cut, what is left out, in whatever pieces they arrive. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/client/client_mjpeg.h"
#include "tests/support/unit.h"

/* A picture by hand: an EXIF segment with a whole thumbnail inside, a table, a scan with stuffed
 * bytes, a restart, fill bytes, a second scan, the end. */
static const uint8_t picture[] = {
    0xff, 0xd8, 0xff, 0xe1, 0x00, 0x0a, 0xff, 0xd8, 0xff, 0xda, 0xff, 0xd9, 0x00, 0x00, 0xff,
    0xdb, 0x00, 0x04, 0x12, 0x34, 0xff, 0xda, 0x00, 0x03, 0x01, 0x55, 0xff, 0x00, 0xff, 0xd3,
    0x66, 0xff, 0xff, 0xc4, 0x00, 0x02, 0xff, 0xda, 0x00, 0x02, 0x77, 0xff, 0xff, 0xff, 0xd9};
static const uint8_t small[] = {0xff, 0xd8, 0xff, 0xda, 0x00, 0x02, 0x01, 0xff, 0xd9};

struct feed {
    int ends[2];
    struct client_mjpeg *m;
};

static void open_feed(struct feed *f, size_t max)
{
    assert_int_equal(pipe(f->ends), 0);
    assert_int_equal(client_mjpeg_new(&f->m, f->ends[0], max, NULL), 0);
}

static void put(struct feed *f, const void *data, size_t len)
{
    assert_int_equal(write(f->ends[1], data, len), (ssize_t)len);
}

static void close_feed(struct feed *f)
{
    client_mjpeg_free(&f->m);
    assert_null(f->m);
    close(f->ends[0]);
    if (f->ends[1] >= 0)
        close(f->ends[1]);
}

static void end(struct feed *f)
{
    close(f->ends[1]);
    f->ends[1] = -1;
}

static void expect(struct feed *f, const uint8_t *want, size_t want_len)
{
    const uint8_t *data;
    size_t len;
    struct err err = {0};

    assert_int_equal(client_mjpeg_next(f->m, 1000, &data, &len, &err), 0);
    assert_int_equal(len, want_len);
    assert_memory_equal(data, want, want_len);
}

static void expect_code(struct feed *f, int code)
{
    const uint8_t *data;
    size_t len;

    assert_int_equal(client_mjpeg_next(f->m, 0, &data, &len, NULL), code);
}

TEST(pictures_are_cut_at_their_own_end)
{
    static const char boundary[] = "\r\n--boundary\r\nContent-Type: image/jpeg\r\n\r\n";
    struct feed f;

    open_feed(&f, 1000);
    put(&f, boundary, strlen(boundary));
    put(&f, picture, sizeof picture);
    put(&f, boundary, strlen(boundary));
    put(&f, small, sizeof small);
    put(&f, picture, sizeof picture);
    end(&f);
    expect(&f, picture, sizeof picture);
    expect(&f, small, sizeof small);
    expect(&f, picture, sizeof picture);
    expect_code(&f, ERR_END);
    expect_code(&f, ERR_END);
    assert_int_equal(client_mjpeg_broken(f.m), 0);
    close_feed(&f);
}

/* Every way to split the bytes in two, and one at a time: the same pictures. */
TEST(pieces_do_not_matter)
{
    struct feed f;

    for (size_t cut = 1; cut < sizeof picture; cut++) {
        open_feed(&f, 1000);
        put(&f, picture, cut);
        expect_code(&f, ERR_BUSY);
        put(&f, picture + cut, sizeof picture - cut);
        expect(&f, picture, sizeof picture);
        close_feed(&f);
    }
    open_feed(&f, 1000);
    for (size_t i = 0; i < sizeof picture; i++) {
        expect_code(&f, ERR_BUSY);
        put(&f, picture + i, 1);
    }
    expect(&f, picture, sizeof picture);
    close_feed(&f);
}

TEST(damage_costs_one_picture)
{
    static const uint8_t no_marker[] = {0xff, 0xd8, 0xff, 0xdb, 0x00, 0x03, 0x01, 0x42, 0x43};
    static const uint8_t bad_length[] = {0xff, 0xd8, 0xff, 0xdb, 0x00, 0x01, 0x01};
    static const uint8_t again[] = {0xff, 0xd8, 0xff, 0xda, 0x00, 0x02, 0x01, 0x02};
    struct feed f;

    open_feed(&f, 1000);
    put(&f, no_marker, sizeof no_marker);
    put(&f, small, sizeof small);
    put(&f, bad_length, sizeof bad_length);
    put(&f, small, sizeof small);
    put(&f, again, sizeof again); /* a scan that a new picture interrupts */
    put(&f, small, sizeof small);
    put(&f, again, sizeof again); /* and one that the end of the stream does */
    end(&f);
    for (int i = 0; i < 3; i++)
        expect(&f, small, sizeof small);
    expect_code(&f, ERR_END);
    assert_int_equal(client_mjpeg_broken(f.m), 4);
    close_feed(&f);
}

TEST(a_picture_has_a_bound)
{
    uint8_t *big = calloc(1, 50000);
    struct feed f;

    assert_non_null(big);
    memset(big, 0x11, 50000);
    memcpy(big, small, 7);
    memcpy(big + 49998, small + 7, 2);
    open_feed(&f, 49999);
    put(&f, big, 50000);
    put(&f, small, sizeof small);
    expect(&f, small, sizeof small);
    assert_int_equal(client_mjpeg_broken(f.m), 1);
    close_feed(&f);
    open_feed(&f, 50000);
    put(&f, big, 50000);
    expect(&f, big, 50000);
    close_feed(&f);
    free(big);
}

TEST(noise_ends)
{
    uint8_t noise[60000];
    uint32_t seed = 1;
    const uint8_t *data;
    size_t len;
    struct feed f;
    int rc;

    for (size_t i = 0; i < sizeof noise; i++) {
        seed = seed * 1664525u + 1013904223u;
        noise[i] = seed & 0x300000 ? (uint8_t)(seed >> 24) : 0xff;
        if (i % 97 == 0 && i + 1 < sizeof noise)
            noise[i] = 0xd8;
    }
    open_feed(&f, 5000);
    put(&f, noise, sizeof noise);
    end(&f);
    do {
        rc = client_mjpeg_next(f.m, 0, &data, &len, NULL);
        if (rc == 0) {
            assert_true(len <= 5000 && len >= 4);
            assert_int_equal(data[0] << 8 | data[1], 0xffd8);
            assert_int_equal(data[len - 2] << 8 | data[len - 1], 0xffd9);
        }
    } while (rc == 0);
    assert_int_equal(rc, ERR_END);
    close_feed(&f);
}
