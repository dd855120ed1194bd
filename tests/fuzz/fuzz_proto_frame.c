/* fuzz_proto_frame - a frame message of a stranger: parsed, and what was accepted survives a round
 * trip */
#include "proto/wire/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

/* An accepted frame is sane, and its header encodes to a message that gives the same frame. */
static void check_frame(const struct frame *f, enum frame_pose_convention convention)
{
    uint8_t *again = malloc(FRAME_HEADER_BYTES + (size_t)f->payload_len);
    struct frame g;

    check(again != NULL);
    check(f->width >= 1 && f->width <= FRAME_SIDE_MAX && f->payload_len <= FRAME_PAYLOAD_MAX);
    for (int i = 0; i < 9; i++)
        check(fabsf(f->T_wc.r[i]) <= 1.001f);
    for (int i = 0; i < 3; i++)
        check(fabsf(f->T_wc.t[i]) <= FRAME_COORD_MAX_M);
    frame_encode_header(again, f, convention);
    memcpy(again + FRAME_HEADER_BYTES, f->payload, f->payload_len);
    check(frame_parse(&g, again, FRAME_HEADER_BYTES + (size_t)f->payload_len, convention, NULL) ==
          0);
    check(g.seq == f->seq && g.flags == f->flags && g.world_epoch == f->world_epoch);
    check(g.t_capture_ns == f->t_capture_ns && g.height == f->height);
    check(memcmp(&g.K, &f->K, sizeof g.K) == 0);
    for (int i = 0; i < 9; i++)
        check(fabsf(g.T_wc.r[i] - f->T_wc.r[i]) < 1e-3f);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame f;
    struct err err = {0};

    for (int c = FRAME_POSE_OPENGL; c <= FRAME_POSE_CV; c++) {
        if (frame_parse(&f, data, size, (enum frame_pose_convention)c, &err) == 0)
            check_frame(&f, (enum frame_pose_convention)c);
        else
            check(err.code == ERR_INPUT && err.text[0] && err.where[0]);
    }
    return 0;
}
