/* A session says of the scale of its frames what tracks or keyframes measured, and the middle. */
#include "daemon/session/scale_told.h"
#include "tests/support/unit.h"

#include <math.h>

static struct gpu_result measured(float log_scale)
{
    return (struct gpu_result){.views = {.log_scale = log_scale, .log_sigma = 0.5f}};
}

TEST(nothing_is_said_of_what_was_not_measured)
{
    struct scale_told t = {0};
    struct gpu_result r = {.views = {.log_scale = 1},
                           .tracks = {.state = GPU_TRACKS_LOST, .log_scale = 1, .log_sigma = 1}};
    float scale = 9, sigma = 9;

    assert_false(scale_told_of(&r, &scale, &sigma));
    assert_true(scale == 0 && sigma == 0);
    scale_told_note(&t, &r);
    assert_false(scale_told_say(&t).known);
}

/* Landmarks half as far as the network says: ln 2. Keyframes twice as far: log2 2, and half an
 * octave is 0.34657. Tracks are asked first. */
TEST(one_frame_by_hand)
{
    struct gpu_result r = measured(1);
    float scale, sigma;

    assert_true(scale_told_of(&r, &scale, &sigma));
    assert_float_equal(scale, 2, 1e-6f);
    assert_float_equal(sigma, 0.3465736f, 1e-6f);
    r.tracks = (struct gpu_tracks){
        .state = GPU_TRACKS_FOUND, .log_scale = 0.6931472f, .log_sigma = 0.125f};
    assert_true(scale_told_of(&r, &scale, &sigma));
    assert_float_equal(scale, 0.5f, 1e-6f);
    assert_true(sigma == 0.125f);
}

/* Of 100 frames with scales 2^1 ... 2^100 the last 64 count: their lower middle is the 68th. */
TEST(the_middle_is_of_the_last_frames)
{
    struct scale_told t = {0};
    struct gpu_result none = {.n_valid = 1};
    struct api_scale said;

    for (int i = 0; i < 100; i++) {
        struct gpu_result r = measured((float)(i * 37 % 100 + 1));
        scale_told_note(&t, &r);
        scale_told_note(&t, &none);
        said = scale_told_say(&t);
        assert_true(said.known && said.last == exp2f((float)(i * 37 % 100 + 1)));
        if (i == 2) /* 1, 38, 75 */
            assert_true(said.median == exp2f(38));
    }
    t = (struct scale_told){0};
    for (int i = 1; i <= 100; i++) {
        struct gpu_result r = measured((float)i);
        scale_told_note(&t, &r);
    }
    said = scale_told_say(&t);
    assert_true(said.median == exp2f(68) && said.last == exp2f(100));
    assert_float_equal(said.median_sigma, 0.3465736f, 1e-6f);
}
