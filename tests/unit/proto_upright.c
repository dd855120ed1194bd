/* Which pictures lie on their side where no axis is known to point up: walks around things at every
 * steepness, phones held both ways, a bad beginning. */
#include <math.h>

#include "proto/geom/upright.h"
#include "tests/support/unit.h"

#define N 200
#define DEGREE 0.017453293f

/* A camera in a world whose z points up: it looks so many degrees down, and is turned clockwise
 * about its view by `roll`. */
static struct rigid camera(float heading, float down, float roll)
{
    float ch = cosf(heading * DEGREE), sh = sinf(heading * DEGREE), cd = cosf(down * DEGREE);
    float sd = sinf(down * DEGREE), cr = cosf(roll * DEGREE), sr = sinf(roll * DEGREE);
    const float x[3] = {sh, -ch, 0}, y[3] = {-ch * sd, -sh * sd, -cd};
    const float z[3] = {ch * cd, sh * cd, -sd};
    struct rigid T = {{0}, {0}};

    for (int i = 0; i < 3; i++) {
        T.r[3 * i] = cr * x[i] + sr * y[i];
        T.r[3 * i + 1] = -sr * x[i] + cr * y[i];
        T.r[3 * i + 2] = z[i];
    }
    return T;
}

/* A hand is never still: up to ten degrees, the same in every run. */
static float shake(int i)
{
    return (float)((i * 37) % 21 - 10);
}

TEST(around_a_thing_at_every_steepness)
{
    for (int shown = 0; shown < 4; shown++)
        for (int down = 0; down <= 80; down += 10) {
            struct upright u = {0};
            int last = -1;

            for (int i = 0; i < N; i++) {
                struct rigid T =
                    camera((float)i * 1.8f, (float)down, shake(i) + 90.0f * (float)shown);
                last = upright_turn(&u, &T, shown, last);
                assert_int_equal(last, shown);
            }
        }
}

/* Six pictures of ten stand, four lie on one side; the camera keeps its heading. */
TEST(a_phone_held_both_ways)
{
    struct upright u = {0};
    int last = -1;

    for (int i = 0; i < N; i++) {
        int lies = i / 10 % 10 >= 6;
        struct rigid T = camera(shake(i + 5), 20, shake(i) + (lies ? 90.0f : 0.0f));

        last = upright_turn(&u, &T, 0, last);
        assert_int_equal(last, lies);
    }
}

/* Pictures that lie come first: soon most stand, and these say what is up. */
TEST(a_bad_beginning_is_forgotten)
{
    struct upright u = {0};
    struct rigid T;
    int last = -1;

    for (int i = 0; i < N; i++) {
        T = camera((float)i, 20, shake(i) + (i < 5 ? 70.0f : 0.0f));
        last = upright_turn(&u, &T, 0, last);
        if (i < 5 || i >= 10)
            assert_int_equal(last, 0);
        else
            assert_int_equal(last, 3); /* by what is known until then it lies */
    }
    T = camera(10, 20, -95);
    assert_int_equal(upright_turn(&u, &T, 0, last), 3);
    T = camera(10, 20, 95);
    assert_int_equal(upright_turn(&u, &T, 0, 3), 1);
    T = camera(10, 20, 185);
    assert_int_equal(upright_turn(&u, &T, 0, 1), 2);
}
