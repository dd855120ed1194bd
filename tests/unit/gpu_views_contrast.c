/*
 * gpu_views_contrast - contrasts of a picture: 128 where it is plain, the same for a faint pattern
 * as for a strong one and under any light, and within a byte for every picture
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/views/contrast_point.h"
#include "tests/support/unit.h"

#define W 13
#define H 9

static void all(uint8_t to[W * H], const uint16_t *level)
{
    struct views_params p;

    params_fill(&p, &views_params_stage, NULL, NULL);
    for (int i = 0; i < W * H; i++)
        to[i] = contrast_at(&p, level, W, H, i % W, i / W);
}

/* A wave of half a period every three pixels, between 0 and 4 levels. */
static int wave(int i)
{
    return (i % W / 3 + i / W / 3) % 2 * 4;
}

TEST(plain_is_128)
{
    uint16_t level[W * H];
    uint8_t made[W * H];

    for (int bright = 0; bright < 256; bright += 51) {
        for (int i = 0; i < W * H; i++)
            level[i] = (uint16_t)(CONTRAST_ONE * bright);
        all(made, level);
        for (int i = 0; i < W * H; i++)
            assert_int_equal(made[i], 128);
    }
}

/* Contrasts of the wave, so many times as strong and so much brighter. */
static void all_of_wave(uint8_t to[W * H], int times, int plus)
{
    uint16_t level[W * H];

    for (int i = 0; i < W * H; i++)
        level[i] = (uint16_t)(CONTRAST_ONE * (wave(i) * times + plus));
    all(to, level);
}

TEST(light_changes_nothing)
{
    uint8_t dark[W * H], bright[W * H];

    all_of_wave(dark, 3, 10);
    all_of_wave(bright, 3, 180);
    assert_memory_equal(dark, bright, sizeof dark);
}

/* Ten times as strong a pattern: contrasts grow by what the floor of one level had taken. */
TEST(faint_counts_as_strong)
{
    uint8_t faint[W * H], strong[W * H];
    double sums[2] = {0, 0};

    all_of_wave(faint, 1, 100);
    all_of_wave(strong, 10, 100);
    for (int i = 0; i < W * H; i++) {
        sums[0] += abs(faint[i] - 128);
        sums[1] += abs(strong[i] - 128);
        assert_true((faint[i] - 128) * (strong[i] - 128) >= 0);
    }
    print_message("# strong over faint: %.3f\n", sums[1] / sums[0]);
    assert_true(sums[1] < 1.6 * sums[0] && sums[1] > sums[0]);
}

/* The value in double, of the same levels. */
TEST(as_the_formula_says)
{
    uint16_t level[W * H];
    uint8_t made[W * H];

    for (int round = 0; round < 50; round++) {
        srand((unsigned)round);
        for (int i = 0; i < W * H; i++)
            level[i] = (uint16_t)(round == 0 ? rand() % 2 * 255 * CONTRAST_ONE
                                             : rand() % (5 * CONTRAST_ONE * round));
        all(made, level);
        for (int i = 0; i < W * H; i++) {
            double n = 0, a = 0, aa = 0, own = level[i], want;
            for (int k = 0; k < W * H; k++)
                if (abs(k % W - i % W) <= 2 && abs(k / W - i / W) <= 2) {
                    n++;
                    a += level[k];
                    aa += (double)level[k] * level[k];
                }
            want = 128 + 48 * (own - a / n) / (sqrt(aa / n - a / n * a / n) + 4);
            want = want < 0 ? 0 : want > 255 ? 255 : want;
            assert_true(fabs(made[i] - want) <= 0.51);
        }
    }
}
