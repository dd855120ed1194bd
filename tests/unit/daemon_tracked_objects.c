/* Things over pictures: the same, moved, several, gone, hidden, lost and back; their history, and
 * their bytes. */
#include "daemon/session/tracked_objects_due.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static struct tracked_objects now;
static struct tracked_objects_detection sights[8];
static struct tracked_objects_search search;
static struct vec3 gone[4]; /* places that the picture shows to be empty */
static int n_gone;

static enum tracked_objects_visibility view(void *ctx, const char *object, const struct rigid *T_wo)
{
    (void)ctx;
    assert_true(object[0]);
    for (int i = 0; i < n_gone; i++)
        if (vec3_norm2(vec3_sub(gone[i], vec3_make(T_wo->t[0], T_wo->t[1], T_wo->t[2]))) < 1e-6f)
            return TRACKED_OBJECTS_GONE;
    return TRACKED_OBJECTS_UNSEEN;
}

static void begin(void)
{
    memset(&now, 0, sizeof(now));
    search = (struct tracked_objects_search){.at = sights, .view = view};
    n_gone = 0;
}

static void see(const char *object, float x, float y)
{
    struct tracked_objects_detection *s = &sights[search.n++];

    *s = (struct tracked_objects_detection){.object = object,
                                            .class_name = "thing",
                                            .box = {-0.05f, -0.05f, 0, 0.05f, 0.05f, 0.1f},
                                            .T_wo = rigid_identity(),
                                            .score = 0.9f,
                                            .support = 0.5f};
    s->T_wo.t[0] = x;
    s->T_wo.t[1] = y;
}

static void empty(float x, float y)
{
    gone[n_gone++] = vec3_make(x, y, 0);
}

/* The next picture; returns the mask of what is told. */
static uint64_t next(void)
{
    uint64_t news;

    search.seq++;
    search.revision += 10;
    news = tracked_objects_update(&now, &search);
    search.n = n_gone = 0;
    return news;
}

static void is(int i, uint32_t id, enum control_object_state state, float x)
{
    assert_int_equal(now.at[i].id, id);
    assert_int_equal(now.at[i].state, state);
    assert_float_equal(now.at[i].pose[4], x, 1e-6f);
}

TEST(what_stays_is_the_same)
{
    begin();
    see("mug", 1, 0);
    see("mug", 2, 0);
    see("box", 1, 0.03f); /* another object at the same place is another thing */
    assert_true(next() == 7);
    is(0, 1, CONTROL_OBJECT_NEW, 1);
    is(1, 2, CONTROL_OBJECT_NEW, 2);
    is(2, 3, CONTROL_OBJECT_NEW, 1);
    assert_string_equal(now.at[2].object, "box");
    assert_string_equal(now.at[2].class_name, "thing");
    assert_int_equal(now.at[1].revision, 10);
    see("mug", 2.04f, 0); /* in another order, a little off */
    see("mug", 1.05f, 0);
    assert_true(next() == 3);
    is(0, 1, CONTROL_OBJECT_SEEN, 1.05f);
    is(1, 2, CONTROL_OBJECT_SEEN, 2.04f);
    assert_int_equal(now.at[0].seq, 2);
    assert_int_equal(now.n, 3);
    assert_int_equal(now.n_history, 3); /* that it is still there is no change */
    search.submap = 1;                  /* another world: nothing there is known */
    see("mug", 1, 0);
    assert_true(next() == 8);
    is(3, 4, CONTROL_OBJECT_NEW, 1);
    assert_int_equal(now.at[3].submap, 1);
}

/* One that is missing and one that is found anew are one thing, unless there are two of either. */
TEST(one_that_moves_keeps_its_number)
{
    begin();
    see("mug", 1, 0);
    see("box", 3, 0);
    next();
    empty(1, 0);
    see("mug", 5, 0);
    assert_true(next() == 1);
    is(0, 1, CONTROL_OBJECT_SEEN, 5);
    assert_int_equal(now.n_history, 3);
    see("mug", 7, 0); /* the place where it was is out of sight: it may be another one */
    next();
    is(2, 3, CONTROL_OBJECT_NEW, 7);
    empty(5, 0);
    empty(7, 0);
    see("mug", 9, 0); /* two are missing */
    next();
    is(3, 4, CONTROL_OBJECT_NEW, 9);
    empty(9, 0);
    see("mug", 11, 0); /* two are found */
    see("mug", 13, 0);
    next();
    is(4, 5, CONTROL_OBJECT_NEW, 11);
    is(5, 6, CONTROL_OBJECT_NEW, 13);
}

TEST(what_is_gone_twice_is_lost)
{
    begin();
    see("mug", 1, 0);
    next();
    assert_true(next() == 0); /* not recognised, or hidden: it says nothing, however often */
    assert_true(next() == 0);
    assert_true(next() == 0);
    is(0, 1, CONTROL_OBJECT_NEW, 1);
    empty(1, 0);
    assert_true(next() == 0);
    see("mug", 1, 0); /* there after all, so it is counted anew */
    next();
    empty(1, 0);
    assert_true(next() == 0);
    empty(1, 0);
    assert_true(next() == 1);
    is(0, 1, CONTROL_OBJECT_LOST, 1);
    assert_int_equal(now.at[0].seq, 8);
    empty(1, 0);
    assert_true(next() == 0); /* it is lost once */
    see("mug", 1.02f, 0);
    assert_true(next() == 1);
    is(0, 1, CONTROL_OBJECT_SEEN, 1.02f);
    assert_int_equal(now.n_history, 3); /* new, lost, seen */
    assert_int_equal(now.history[1].state, CONTROL_OBJECT_LOST);
    empty(1.02f, 0);
    next();
    empty(1.02f, 0);
    next();
    see("mug", 40, 0); /* lost, and now elsewhere: the one that is missing */
    next();
    is(0, 1, CONTROL_OBJECT_SEEN, 40);
    assert_int_equal(now.n, 1);
}

/* A session knows 64 things; the one that was lost first makes room, and where none was, what is
 * new is left out. Its history is a ring. */
TEST(there_are_bounds)
{
    struct control_object *list = calloc(TRACKED_OBJECTS_HISTORY, sizeof(*list));

    assert_non_null(list);
    begin();
    for (int i = 0; i < TRACKED_OBJECTS_MAX; i++) {
        see("mug", (float)i, 0);
        next();
    }
    see("mug", 100, 0);
    assert_true(next() == 0);
    assert_int_equal(now.n, TRACKED_OBJECTS_MAX);
    for (int k = 0; k < 4; k++) {
        empty(k < 2 ? 7 : 5, 0);
        next();
    }
    assert_int_equal(now.at[5].state, CONTROL_OBJECT_LOST);
    see("box", 100, 0);
    assert_true(next() == 1ull << 5);
    is(5, 65, CONTROL_OBJECT_NEW, 100);
    for (int k = 0; k < 300; k++) {
        empty(k % 2 ? 100 : 101, 0);
        see("box", k % 2 ? 101 : 100, 0);
        search.at = sights;
        next();
    }
    assert_true(now.n_history > TRACKED_OBJECTS_HISTORY);
    assert_int_equal(tracked_objects_history(&now, list), TRACKED_OBJECTS_HISTORY);
    for (int i = 1; i < TRACKED_OBJECTS_HISTORY; i++)
        assert_true(list[i].seq > list[i - 1].seq);
    assert_int_equal(list[TRACKED_OBJECTS_HISTORY - 1].seq, search.seq);
    free(list);
}

/* A client that reads late is told of each thing once, as it is then, six in a message. */
TEST(a_late_client_is_told_once)
{
    struct tracked_objects_due due = {0};
    struct control_objects m;
    uint64_t news;

    begin();
    for (int i = 0; i < 8; i++)
        see("mug", (float)i, 0);
    news = next();
    assert_true(news == 0xff);
    assert_false(tracked_objects_due_next(&due, &m));
    assert_true(tracked_objects_due_note(&due, now.at, news));
    see("mug", 3.02f, 0);
    assert_true(tracked_objects_due_note(&due, now.at, next()));
    assert_true(tracked_objects_due_next(&due, &m));
    assert_int_equal(m.n, CONTROL_OBJECTS_MAX);
    assert_int_equal(m.at[3].id, 4);
    assert_int_equal(m.at[3].state, CONTROL_OBJECT_SEEN);
    assert_float_equal(m.at[3].pose[4], 3.02f, 1e-6f);
    assert_true(tracked_objects_due_next(&due, &m));
    assert_int_equal(m.n, 2);
    assert_int_equal(m.at[1].id, 8);
    assert_false(tracked_objects_due_next(&due, &m));
    tracked_objects_due_free(&due);
}

/* Bytes and back is the same to the bit; each cut and many damages are refused or harmless. */
TEST(bytes_of_things)
{
    struct tracked_objects *back = malloc(sizeof(*back));
    struct bytes_writer w;
    struct bytes_reader r;
    struct err err;
    uint8_t *buf, *other;
    size_t n;
    int refused = 0;

    begin();
    for (int i = 0; i < 300; i++) {
        see(i % 3 ? "mug" : "box", (float)(i % 7), 0.3f * (float)(i % 5));
        empty((float)(i % 6), 0);
        next();
    }
    now.n_searched = 300;
    now.n_skipped = 4;
    n = tracked_objects_bytes(&now);
    buf = malloc(n);
    other = malloc(n);
    assert_true(back && buf && other);
    w = bytes_writer(buf, n);
    tracked_objects_put(&w, &now);
    assert_true(!w.bad && w.at == n);
    r = bytes_reader(buf, n);
    assert_int_equal(tracked_objects_get(back, &r, &err), 0);
    assert_memory_equal(back, &now, sizeof(now));
    for (size_t k = 0; k < 400; k++) {
        size_t len = k % 2 ? n : k * n / 400;

        memcpy(other, buf, n);
        other[k * 7919 % n] ^= (uint8_t)(1 << k % 8);
        r = bytes_reader(other, len);
        if (tracked_objects_get(back, &r, &err)) {
            assert_true(err.text[0] && back->n == 0 && back->n_history == 0);
            refused++;
        } else {
            assert_true(back->n <= TRACKED_OBJECTS_MAX);
        }
    }
    assert_true(refused >= 200);
    free(back);
    free(buf);
    free(other);
}
