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
    uint8_t *msg;
    size_t len;
    long before = 0;
    struct frame f;

    rig_begin(&in, NULL);
    f = rig_frame(0);
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
        for (int i = 0; i < 300000 && rig_info(in.id).counts.used < seq; i++)
            usleep(200);
        for (;;) {
            const uint8_t *out;
            size_t out_len;
            if (core_ops.stream_next(in.s, &out, &out_len) == STREAM_NONE)
                break;
        }
    }
    assert_int_equal(rig_info(in.id).counts.used, 900);
    assert_true(rig_info(in.id).counts.blocks_out > 300);
    assert_true(before > 20); /* it does count */
    if (atomic_load(&fault_malloc_count) != before)
        fail_msg("%ld allocations in 300 frames", atomic_load(&fault_malloc_count) - before);
    free(msg);
    rig_end(&in);
}
