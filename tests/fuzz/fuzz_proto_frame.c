/* fuzz_proto_frame - a frame message of a stranger: parsed, and what was accepted survives a round
 * trip */
#include "proto/wire/frame.h"
#include "tests/support/fuzz_case.h"

/* An accepted frame is sane, and its header encodes to a message that gives the same frame. */
static void check_frame(const struct frame *f, enum frame_pose_convention convention)
{
    uint8_t *again = malloc(frame_bytes(f)), *body;
    struct frame g;

    check(again != NULL);
    check(f->width >= FRAME_SIDE_MIN && f->width <= FRAME_SIDE_MAX && f->payload_len > 0);
    check(frame_bytes(f) <= FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX && !f->unknown_bit);
    check(f->n_parts >= 0 && f->n_parts < FRAME_PARTS_MAX);
    for (int i = 0; i < 9; i++)
        check(fabsf(f->T_wc.r[i]) <= 1.001f);
    for (int i = 0; i < 3; i++)
        check(fabsf(f->T_wc.t[i]) <= FRAME_COORD_MAX_M);
    frame_encode(again, f, convention);
    check(frame_parse(&g, again, frame_bytes(f), convention, NULL) == 0);
    check(g.n_parts == f->n_parts && g.camera == f->camera && g.payload_len == f->payload_len);
    for (int i = 0; i < g.n_parts; i++)
        check(g.parts[i].type == f->parts[i].type && g.parts[i].len == f->parts[i].len &&
              memcmp(g.parts[i].data, f->parts[i].data, g.parts[i].len) == 0);
    body = malloc(g.body_len);
    check(body != NULL);
    memcpy(body, g.body, g.body_len);
    memset(again, 0, frame_bytes(f));
    frame_move(&g, body); /* all of it lies in the copy */
    check(memcmp(g.payload, f->payload, g.payload_len) == 0);
    free(body);
    check(g.seq == f->seq && g.flags == f->flags && g.world_epoch == f->world_epoch);
    check(g.t_capture_ns == f->t_capture_ns && g.height == f->height);
    check(memcmp(&g.K, &f->K, sizeof g.K) == 0);
    for (int i = 0; i < 9; i++)
        check(fabsf(g.T_wc.r[i] - f->T_wc.r[i]) < 1e-3f);
    free(again);
}

/* What is read of samples and positions is sane, or nothing is. */
static void check_sensors(const struct frame *f, enum frame_pose_convention convention)
{
    const struct frame_part *gps = frame_find(f, FRAME_GPS);
    struct frame_position p;
    float turn[3], seconds;
    struct vec3 up;

    for (uint64_t before_ns = 1; before_ns <= 1u << 30; before_ns <<= 5)
        if (frame_turn(f, convention, f->t_capture_ns - before_ns, turn, &seconds)) {
            check(seconds > 0 && seconds <= 1);
            for (int i = 0; i < 3; i++)
                check(fabsf(turn[i]) <= 2.001f);
        }
    if (frame_up(f, convention, &up))
        check(fabsf(vec3_norm2(up) - 1) < 1e-3f);
    if (gps && frame_position_get(&p, gps->data))
        check(fabs(p.latitude) <= 90 && fabs(p.longitude) <= 180 && isfinite(p.altitude_m) &&
              p.accuracy_m >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame f;
    struct err err = {0};

    for (int c = FRAME_POSE_OPENGL; c <= FRAME_POSE_CV; c++) {
        if (frame_parse(&f, data, size, (enum frame_pose_convention)c, &err) == 0) {
            check_frame(&f, (enum frame_pose_convention)c);
            check_sensors(&f, (enum frame_pose_convention)c);
        } else
            check((err.code == ERR_INPUT || (err.code == ERR_UNSUPPORTED && f.unknown_bit)) &&
                  err.text[0] && err.where[0]);
    }
    return 0;
}
