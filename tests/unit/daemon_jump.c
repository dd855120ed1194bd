/* Poses that jump: what is one, what world its frames are of, and whose word of places counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "daemon/session/jump.h"
#include "daemon/session/places.h"
#include "daemon/session/sources.h"

#define FRAME_NS 33333333ull

static struct rigid at(float x, float turn)
{
    const float c = cosf(turn), s = sinf(turn);
    struct rigid T = {{c, 0, s, 0, 1, 0, -s, 0, c}, {x, 0, 0}};

    return T;
}

static bool note(struct jump *j, float x, float turn, uint64_t frame)
{
    const struct rigid T = at(x, turn);

    return jump_note(j, &T, (frame + 1) * FRAME_NS);
}

/* A hand goes to and fro at 2 m/s and 1 Hz and turns; a car goes at 30 m/s; frames are missing. */
static void what_cameras_do(void **state)
{
    struct jump hand = {.any = false}, car = {.any = false};

    (void)state;
    for (uint64_t i = 0; i < 300; i++) {
        float t = (float)i / 30;

        assert_false(note(&hand, 0.32f * sinf(6.28f * t), 1.5f * sinf(3 * t), i));
        if (i % 7 < 5)
            assert_false(note(&car, 30 * t, 0.05f * t, i));
    }
}

/* 30 cm to the side between two frames, and half a turn; once each, however often it is asked. */
static void jumps(void **state)
{
    struct jump j = {.any = false};

    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        assert_false(note(&j, 0.02f * (float)i, 0, i));
    assert_true(note(&j, 0.5f, 0, 10));
    assert_false(note(&j, 0.5f, 0, 10));
    assert_false(note(&j, 0.9f, 0, 9)); /* it came late */
    for (uint64_t i = 11; i < 20; i++)
        assert_false(note(&j, 0.5f + 0.02f * (float)(i - 10), 0, i));
    assert_true(note(&j, 0.7f, 1.5f, 20));
    assert_false(note(&j, 0.72f, 1.5f, 21));
    assert_false(note(&j, 1.4f, 1.5f, 36)); /* half a second later it may be there */
}

/* A jump begins a submap of the same epoch, and the epoch goes on there; what came before it is
 * known, over a restart as well. A source that begins an epoch has jumped nowhere. */
static void worlds_of_jumps(void **state)
{
    static uint8_t bytes[1 << 22];
    struct sources *s, *again;
    struct err err = {0};
    struct sources_world world = {99, 0, 0};
    uint64_t seq = 0;
    size_t len;

    (void)state;
    assert_int_equal(sources_new(&s, &err), 0);
    assert_int_equal(sources_join(s, "one", 0, &err), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sources_take(s, 0, seq++, 5, i > 0, &world), CONTROL_REASON_NONE);
        assert_int_equal(world.submap, i);
        assert_int_equal(sources_take(s, 0, seq++, 5, false, &world), CONTROL_REASON_NONE);
        assert_int_equal(world.submap, i);
    }
    assert_int_equal(sources_take(s, 0, seq++, 6, true, &world), CONTROL_REASON_NONE);
    assert_int_equal(world.submap, 3);
    assert_int_equal(sources_take(s, 0, seq++, 5, false, &world), CONTROL_REASON_NONE);
    assert_int_equal(world.submap, 2);
    assert_int_equal(sources_save(s, bytes, sizeof bytes, &len, &err), 0);
    assert_int_equal(sources_new(&again, &err), 0);
    assert_int_equal(sources_load(again, bytes, len, &err), 0);
    for (uint32_t i = 0; i < 5; i++) {
        const int before[] = {-1, 0, 1, -1, -1};

        assert_int_equal(sources_world_before(s, i), before[i]);
        assert_int_equal(sources_world_before(again, i), before[i]);
    }
    sources_free(&again);
    for (uint32_t i = 0; i < 400; i++) { /* half of all worlds are left for those that are said */
        for (uint64_t k = 0; k < seq; k++)
            sources_untake(s, 0, k);
        assert_int_equal(sources_take(s, 0, seq++, 5, true, &world), CONTROL_REASON_NONE);
        assert_true(world.submap < SOURCES_JUMPED_MAX);
    }
    assert_int_equal(sources_n_worlds(s), SOURCES_JUMPED_MAX);
    sources_free(&s);
}

/* What a client tells of a place holds, whatever ties say before and after. */
static void whose_word_counts(void **state)
{
    const float told[7] = {0, 0, 0, 1, 1, 2, 3};
    struct places p = {.told = {false}}, ties = {.told = {false}};
    float pose[7];

    (void)state;
    for (int i = 1; i < 3; i++) {
        ties.told[i] = true;
        ties.pose[i][3] = 1;
        ties.pose[i][4] = (float)i;
    }
    assert_int_equal(places_tell(&p, 2, told, NULL), 0);
    places_tie(&p, &ties);
    assert_true(places_find(&p, 1, NULL, pose) && pose[4] == 1 && p.tied[1]);
    assert_true(places_find(&p, 2, NULL, pose) && pose[5] == 2 && !p.tied[2]);
    assert_false(places_find(&p, 3, NULL, NULL));
    ties.pose[1][4] = 9;
    places_tie(&p, &ties);
    assert_true(places_find(&p, 1, NULL, pose) && pose[4] == 9);
    assert_int_equal(places_tell(&p, 1, told, NULL), 0);
    places_tie(&p, &ties);
    assert_true(places_find(&p, 1, NULL, pose) && pose[4] == 1 && !p.tied[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cameras_do),
        cmocka_unit_test(jumps),
        cmocka_unit_test(worlds_of_jumps),
        cmocka_unit_test(whose_word_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
