/* Poses that jump: what is one, what world its frames are of, and whose word of places counts. */
#include <math.h>
#include <string.h>

#include "daemon/session/jump.h"
#include "daemon/session/places.h"
#include "daemon/session/sources.h"
#include "tests/support/unit.h"

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
TEST(what_cameras_do)
{
    struct jump hand = {.any = false}, car = {.any = false};

    for (uint64_t i = 0; i < 300; i++) {
        float t = (float)i / 30;

        assert_false(note(&hand, 0.32f * sinf(6.28f * t), 1.5f * sinf(3 * t), i));
        if (i % 7 < 5)
            assert_false(note(&car, 30 * t, 0.05f * t, i));
    }
}

/* 30 cm to the side between two frames, and half a turn; once each, however often it is asked. */
TEST(jumps)
{
    struct jump j = {.any = false};

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

static struct sources *s;
static struct sources_world world; /* of the frame that was taken last */
static struct err err;

static void new_sources(void)
{
    world.submap = 99;
    assert_int_equal(sources_new(&s, &err), 0);
    assert_int_equal(sources_join(s, "one", 0, &err), 0);
}

static void take(int source, uint64_t seq, uint32_t epoch, enum sources_step step)
{
    assert_int_equal(sources_take(s, source, seq, epoch, step, &world), CONTROL_REASON_NONE);
}

/* A path is cut into pieces of its length, jumps begin anew, and what was cut is known. */
TEST(paths_are_cut)
{
    struct jump j = {.any = false};
    int cuts = 0;

    for (uint64_t i = 0; i < 200; i++) {
        assert_false(note(&j, 0.05f * (float)i, 0, i));
        cuts += jump_cut(&j, 2);
    }
    assert_int_equal(cuts, 4); /* 9.95 m */
    assert_true(note(&j, 5, 0, 200));
    assert_true(j.way == 0 && !jump_cut(&j, 2));
    new_sources();
    for (uint64_t seq = 0; seq < 6; seq++) {
        const enum sources_step step = seq == 0 || seq == 3 ? SOURCES_CUT
                                       : seq == 5           ? SOURCES_JUMPED
                                                            : SOURCES_ON;
        const uint32_t submap[] = {0, 0, 0, 1, 1, 2};

        take(0, seq, 0, step);
        assert_int_equal(world.submap, submap[seq]);
        assert_int_equal(world.cut, submap[seq] == 1); /* the first one goes on from nothing */
    }
    assert_int_equal(sources_world_before(s, 1), 0);
    sources_free(&s);
}

/* A jump begins a submap of the same epoch, and the epoch goes on there; what came before it is
 * known, over a restart as well. A source that begins an epoch has jumped nowhere. */
TEST(worlds_of_jumps)
{
    static uint8_t bytes[1 << 22];
    struct sources *again;
    uint32_t breaks;
    uint64_t seq = 0;
    size_t len;

    new_sources();
    for (uint32_t i = 0; i < 3; i++) {
        take(0, seq++, 5, i > 0 ? SOURCES_JUMPED : SOURCES_ON);
        assert_int_equal(world.submap, i);
        take(0, seq++, 5, SOURCES_ON);
        assert_int_equal(world.submap, i);
    }
    take(0, seq++, 6, SOURCES_JUMPED);
    assert_int_equal(world.submap, 3);
    take(0, seq++, 5, SOURCES_ON);
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
    breaks = world.breaks;
    for (uint32_t i = 0; i < 400; i++) { /* half of all worlds are left for those that are said */
        const struct control_ack used = {.seq = seq - 1, .status = CONTROL_USED};
        int n_worlds = sources_n_worlds(s);

        sources_end(s, 0, 0, &used);
        take(0, seq++, 5, SOURCES_JUMPED);
        assert_true(world.submap < SOURCES_JUMPED_MAX);
        breaks += sources_n_worlds(s) == n_worlds; /* where no world begins it breaks off */
        assert_int_equal(world.breaks, breaks);
    }
    assert_int_equal(sources_n_worlds(s), SOURCES_JUMPED_MAX);
    sources_free(&s);
}

/* Where no world is to begin with it a jump is a break: what follows is of the same world, and
 * nothing that was seen before it stands beside it. */
TEST(breaks_begin_no_world)
{
    uint64_t seq = 0;

    new_sources();
    for (uint32_t i = 0; i < 4; i++) {
        take(0, seq++, 5, i > 0 ? SOURCES_BROKE : SOURCES_ON);
        assert_int_equal(world.submap, 0);
        assert_int_equal(world.breaks, i);
        assert_false(world.cut);
        take(0, seq++, 5, SOURCES_ON);
        assert_int_equal(world.breaks, i);
    }
    assert_int_equal(sources_take(s, 0, seq - 1, 5, SOURCES_BROKE, &world), CONTROL_DUPLICATE);
    take(0, seq++, 6, SOURCES_BROKE);
    assert_int_equal(world.submap, 1); /* an epoch that is new begins a world by itself */
    assert_int_equal(world.breaks, 3);
    sources_free(&s);
}

/* A frame that the queue did not take begins no world; one behind which others were taken does. */
TEST(what_is_not_taken_begins_nothing)
{
    new_sources();
    assert_int_equal(sources_join(s, "two", 1, &err), 1);
    take(0, 1, 0, SOURCES_ON);
    take(0, 2, 0, SOURCES_JUMPED);
    sources_untake(s, 0, 2);
    assert_int_equal(sources_n_worlds(s), 1);
    sources_untake(s, 0, 2);
    assert_int_equal(sources_n_worlds(s), 1);
    take(0, 2, 0, SOURCES_JUMPED);
    assert_int_equal(world.submap, 1);
    take(0, 3, 0, SOURCES_ON);
    sources_untake(s, 0, 2); /* frame 3 is in that world */
    assert_int_equal(sources_n_worlds(s), 2);
    take(0, 4, 0, SOURCES_JUMPED);
    take(1, 1, 0, SOURCES_ON);
    assert_int_equal(world.submap, 3);
    sources_untake(s, 0, 4); /* its number lies between others */
    assert_int_equal(sources_n_worlds(s), 4);
    sources_free(&s);
}

/* What a client tells of a place holds, whatever ties say before and after. */
TEST(whose_word_counts)
{
    const float told[7] = {0, 0, 0, 1, 1, 2, 3};
    struct places p = {.told = {false}}, ties = {.told = {false}};
    float pose[7];

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
