/*
 * state_v1.c - the state that version 0.1.0 wrote: one head of 120 bytes, then the same arrays
 *
 * Body:    magic "GRST" u32 | version 1 u32 | back end [8] | w, h i32 | step f32 | has_last,
 *          has_previous, frame, n_slots, n_unstable, n_free, n_points, n_stable, n_keyframes u32 |
 *          next_id u64 | T_last [12] f32 | the arrays, each from a multiple of 16 on
 */
#include "gpu/mono/state_internal.h"

int state_v1_get(struct state_head *h, const uint8_t *body, size_t len, struct err *err)
{
    struct bytes_reader r = bytes_reader(body, len < STATE_V1_HEAD_BYTES ? 0 : STATE_V1_HEAD_BYTES);
    uint32_t *const count[] = {&h->has_last, &h->has_previous, &h->frame,
                               &h->n_slots,  &h->n_unstable,   &h->n_free,
                               &h->n_points, &h->n_stable,     &h->n_keyframes};
    uint32_t magic = bytes_get_u32(&r), version = bytes_get_u32(&r);

    if (r.bad || magic != STATE_V1_TAG || version != 1)
        return err_set(err, ERR_INPUT, "not a session's state, or cut short");
    memcpy(h->backend, bytes_get_span(&r, sizeof h->backend), sizeof h->backend);
    h->w = bytes_get_i32(&r);
    h->h = bytes_get_i32(&r);
    h->step_m = bytes_get_f32(&r);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        *count[i] = bytes_get_u32(&r);
    h->next_id = bytes_get_u64(&r);
    for (int i = 0; i < 9; i++)
        h->T_last.r[i] = bytes_get_f32(&r);
    for (int i = 0; i < 3; i++)
        h->T_last.t[i] = bytes_get_f32(&r);
    return 0;
}

size_t state_v1_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    size_t end = state_model_lay(l, h, at + STATE_V1_HEAD_BYTES);

    end = state_keyframes_lay(l, h, end);
    l->previous =
        state_take(&end, h->has_previous ? 3 * (size_t)h->w * (size_t)h->h * sizeof(float) : 0);
    return end;
}
