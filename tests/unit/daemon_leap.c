/* A pose that leaps: in sessions without ties what was seen before is no neighbour of what comes
 * behind, though the world is the same; with ties another world begins. */
#include "tests/support/store_rig.h"

#define LEAP_AT 6
#define STEPS 12

static void send_at(struct rig *r, struct rig_client *c, uint64_t seq, float x)
{
    struct frame f = rig_frame(r, seq);
    int had = c->n_acks;

    f.T_wc.t[0] = x;
    assert_int_equal(rig_send_frame(c, &f, NULL), 0);
    rig_wait_acks(c, had + 1);
    assert_int_equal(c->acks[had].status, CONTROL_USED);
}

/* Two centimetres a frame, and 0.6 m besides before frame LEAP_AT. */
static void walk(enum session_ties ties, uint32_t breaks, uint32_t submap)
{
    static struct rig_client c;
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    struct session_options o = options(SESSION_LOSSLESS);
    char id[API_ID_CAP];
    struct rig r;

    open_rig(&r, 0);
    o.ties = ties;
    rig_session(&r, &o, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    for (int i = 1; i <= STEPS; i++) {
        int behind = i >= LEAP_AT;

        send_at(&r, &c, (uint64_t)i, 0.02f * (float)i + (behind ? 0.6f : 0.0f));
        assert_int_equal(seen->breaks, behind ? breaks : 0);
        assert_int_equal(seen->submap, behind ? submap : 0);
    }
    rig_disconnect(&c);
    rig_close(&r);
}

static void without_ties(void **state)
{
    (void)state;
    walk(SESSION_TIES_OFF, 1, 0);
}

static void with_ties(void **state)
{
    (void)state;
    walk(SESSION_TIES_ON, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_ties, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(with_ties, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
