/* The orientation in a picture's Exif, in both orders of bytes, cut, and damaged. */
#include <stdlib.h>
#include <string.h>

#include "proto/image/jpeg.h"
#include "tests/support/jpeg_write.h"
#include "tests/support/unit.h"

/* An Exif segment with one other entry before the orientation, in either order of bytes. */
static size_t exif(uint8_t *to, int big, unsigned orientation)
{
    static const uint8_t little_one[] = "Exif\0\0II*\0\x08\0\0\0\x02\0"
                                        "\x0f\x01\x02\0\x04\0\0\0pho\0"
                                        "\x12\x01\x03\0\x01\0\0\0\0\0\0\0",
                         big_one[] = "Exif\0\0MM\0*\0\0\0\x08\0\x02"
                                     "\x01\x0f\0\x02\0\0\0\x04pho\0"
                                     "\x01\x12\0\x03\0\0\0\x01\0\0\0\0";
    size_t n = sizeof big_one - 1;

    memcpy(to, big ? big_one : little_one, n);
    to[n - 4 + (big ? 1 : 0)] = (uint8_t)orientation;
    return n;
}

TEST(exif_says_how_it_was_held)
{
    static const int turn[10] = {0, 0, 0, 2, 0, 0, 1, 0, 3, 0};
    uint8_t segment[64], rgb[16 * 16 * 3], *picture, *held;
    const struct jpeg_limits limits = {100, 100, 10, 100000, 1000};
    struct jpeg_info info;
    size_t len, n;

    for (int big = 0; big < 2; big++)
        for (unsigned orientation = 0; orientation < 10; orientation++) {
            n = exif(segment, big, orientation);
            assert_int_equal(jpeg_exif_turn(segment, n), turn[orientation]);
            for (size_t cut = 0; cut < n; cut++) { /* a cut one says nothing, or what it said */
                uint8_t *alone = malloc(cut ? cut : 1);

                memcpy(alone, segment, cut);
                assert_true(jpeg_exif_turn(alone, cut) == 0);
                free(alone);
            }
        }
    n = exif(segment, 1, 6);
    for (size_t bit = 0; bit < 8 * n; bit++) { /* damage is survived */
        segment[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_in_range(jpeg_exif_turn(segment, n), 0, 3);
        segment[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    memset(rgb, 90, sizeof rgb);
    picture = jpeg_write(rgb, 16, 16, 90, &len);
    assert_int_equal(jpeg_probe(&info, picture, len, &limits, NULL), 0);
    assert_int_equal(info.turn, 0);
    held = malloc(len + n + 4);
    memcpy(held, picture, 2);
    memcpy(held + 2, (const uint8_t[]){0xff, 0xe1, 0, (uint8_t)(n + 2)}, 4);
    memcpy(held + 6, segment, n);
    memcpy(held + 6 + n, picture + 2, len - 2);
    assert_int_equal(jpeg_probe(&info, held, len + n + 4, &limits, NULL), 0);
    assert_int_equal(info.turn, 1);
    free(held);
    free(picture);
}
