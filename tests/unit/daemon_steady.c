/*
 * Steady state allocates nothing: malloc is counted while frames go from the edge through decoder,
 * worker, mirror and outbox of a session that has warmed up.
 *
 * Left out on purpose, because they are not steady: a new block of space, a larger block than ever,
 * 1,024 more poses. The fake device stays within its space, so none of them falls into what is
 * counted. libjpeg-turbo's own pool for each picture is not ours; the count is of calls from this
 * program's code.
 */
#include "tests/support/fault_malloc.h"

#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

TEST(a_warm_session_allocates_nothing)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    uint8_t *msg;
    size_t len;
    long before = 0;
    struct frame f;
    struct rig r;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    f = rig_frame(&r, 0);
    f.T_wc = rigid_identity();
    len = FRAME_HEAD_BYTES + f.payload_len;
    msg = malloc(len);
    memcpy(msg + FRAME_HEAD_BYTES, f.payload, f.payload_len);
    for (uint64_t seq = 1; seq <= 900; seq++) {
        if (seq == 600)
            before = atomic_load(&fault_malloc_count);
        f.seq = seq;
        frame_encode_head(msg, &f, FRAME_POSE_CV);
        assert_int_equal(core_ops.stream_frame(in.s, msg, len, NULL), 0);
        for (int i = 0; i < 300000 && rig_info(&r, id).counts.used < seq; i++)
            usleep(200);
        for (;;) {
            const uint8_t *out;
            size_t out_len;
            if (core_ops.stream_next(in.s, &out, &out_len) == STREAM_NONE)
                break;
        }
    }
    assert_int_equal(rig_info(&r, id).counts.used, 900);
    assert_true(rig_info(&r, id).counts.blocks_out > 300);
    assert_true(before > 20); /* it does count */
    if (atomic_load(&fault_malloc_count) != before)
        fail_msg("%ld allocations in 300 frames", atomic_load(&fault_malloc_count) - before);
    free(msg);
    rig_disconnect(&in);
    rig_close(&r);
}
