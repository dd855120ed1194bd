/* Places of submaps are told before blocks, again when they change, and anew after a resume. */
#include "daemon/session/outbox.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define SLOTS 500
#define EPOCH 77

static void start(struct outbox *o, uint64_t revision, uint64_t resume_at)
{
    const struct control_start said = {
        .resume = resume_at > 0, .epoch = EPOCH, .reach = {.revision = resume_at}};
    const struct control_ready ready = {.epoch = EPOCH,
                                        .revision = revision,
                                        .codec = CODEC_DEFLATE,
                                        .session = "x",
                                        .step_m = 0.001f,
                                        .window = 4,
                                        .max_frame_bytes = 1 << 20};

    assert_int_equal(outbox_start(o, &ready, &said, NULL), 0);
}

static void commit(struct mirror *m, struct mirror_commit *out)
{
    struct gpu_change changes[SLOTS];

    for (uint32_t i = 0; i < SLOTS; i++) {
        changes[i] = (struct gpu_change){.slot = i, .kind = GPU_CHANGE_PUT, .confidence = 1};
        for (int k = 0; k < 3; k++)
            changes[i].p_q[k] = rand() % 900;
    }
    mirror_commit(m, 1, changes, SLOTS, out);
    assert_int_equal(out->n_left_out, 0);
}

/* The transform that comes next; other messages are passed over. Returns false if none comes. */
static bool next_place(struct outbox *o, struct delta *d, int *n_blocks)
{
    struct outbox_sent sent;
    struct delta_scratch *s;
    const uint8_t *msg;
    enum stream_kind kind;
    size_t len;

    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    *n_blocks = 0;
    while ((kind = outbox_next(o, &msg, &len, &sent)) != STREAM_NONE && kind != STREAM_CLOSE) {
        if (kind != STREAM_BINARY)
            continue;
        if (msg[0] == DELTA_SUBMAP)
            break;
        *n_blocks += msg[0] != DELTA_CLEAR;
    }
    if (kind == STREAM_BINARY)
        assert_int_equal(delta_decode(s, d, msg, len, NULL), 0);
    delta_scratch_free(&s);
    return kind == STREAM_BINARY;
}

TEST(places_come_before_blocks)
{
    const float at[7] = {0, 0, 0, 1, 1, 2, 3}, back[7] = {0, 0, 0, 1, 0, 0, 0};
    const struct cloud_limits limits = {100, SLOTS};
    struct mirror *m;
    struct places places = {.told = {false}};
    struct mirror_commit out;
    struct outbox *o, *late;
    struct delta d;
    int n;

    assert_int_equal(mirror_new(&m, &limits, NULL), 0);
    assert_int_equal(outbox_new(&o, m, EPOCH, 4, NULL), 0);
    commit(m, &out);
    outbox_place(o, &places, 0); /* the first one lies where it is: nothing to tell */
    outbox_place(o, &places, 1);
    start(o, out.revision, 0);
    assert_true(next_place(o, &d, &n));
    assert_true(n == 0 && d.id == 1 && d.unplaced && d.revision == 0 && d.epoch == EPOCH);
    assert_false(next_place(o, &d, &n));
    assert_true(n > 0);

    /* It is placed while blocks wait: its place goes first, once, in its newest form. */
    commit(m, &out);
    outbox_mark(o, out.changed, out.n_changed, out.revision);
    assert_int_equal(places_tell(&places, 1, back, NULL), 0);
    outbox_place(o, &places, 1);
    assert_int_equal(places_tell(&places, 1, at, NULL), 0);
    outbox_place(o, &places, 1);
    assert_true(next_place(o, &d, &n));
    assert_true(n == 0 && d.id == 1 && !d.unplaced && d.T.t[0] == 1 && d.T.t[2] == 3);
    outbox_place(o, &places, 1); /* as it is told already */
    assert_false(next_place(o, &d, &n));
    assert_true(n > 0);

    /* The first one is told when it was moved, back to where it began too. */
    assert_int_equal(places_tell(&places, 0, at, NULL), 0);
    outbox_place(o, &places, 0);
    assert_true(next_place(o, &d, &n) && d.id == 0 && d.T.t[1] == 2);
    assert_int_equal(places_tell(&places, 0, back, NULL), 0);
    outbox_place(o, &places, 0);
    assert_true(next_place(o, &d, &n) && d.id == 0 && d.T.t[1] == 0 && !d.unplaced);

    /* A client that resumes is told all of them, whatever it held. */
    assert_int_equal(outbox_new(&late, m, EPOCH, 4, NULL), 0);
    outbox_place(late, &places, 0);
    outbox_place(late, &places, 1);
    start(late, out.revision, out.revision);
    assert_true(next_place(late, &d, &n) && d.id == 0);
    assert_true(next_place(late, &d, &n) && d.id == 1 && n == 0 && d.T.t[2] == 3);
    assert_false(next_place(late, &d, &n));
    assert_int_equal(n, 0);
    outbox_free(&late);
    outbox_free(&o);
    mirror_free(&m);
}
