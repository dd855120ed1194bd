/* Several pixels want one point: the nearest has it, then the first. MATH.md (A2). */
#include "tests/support/line_case.h"

#define W 96
#define H 72

/* A naive loop over all pairs of pixels: no pixel beats the winner of the point that both
 * observe. */
static uint32_t check_winners(const struct session_cpu *s)
{
    uint32_t contested = 0;
    for (uint32_t i = 0; i < s->n_pixels; i++) {
        uint32_t rivals = 0, better = 0;
        if (s->found[i] == POINT_NONE) {
            assert_int_equal(s->won[i], 0);
            continue;
        }
        for (uint32_t j = 0; j < s->n_pixels; j++) {
            if (j == i || s->found[j] != s->found[i])
                continue;
            rivals++;
            better +=
                s->distance[j] < s->distance[i] || (s->distance[j] == s->distance[i] && j < i);
        }
        assert_int_equal(s->won[i], better == 0);
        contested += rivals > 0 && better == 0;
    }
    return contested;
}

LINE_TEST(the_nearest_pixel_has_the_point)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid far = scene_pose(0, 0, -2.2f, 0), near = scene_pose(0.1f, 0, -1.5f, 0);
    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(line_scene(&line, &drawn, &far), 0);
    assert_int_equal(line_scene(&line, &drawn, &near), 0);
    assert_true(line.f.result.n_updated < line.f.result.n_associated); /* some had to lose */
    assert_true(check_winners(line.cpu) > 500);
}
