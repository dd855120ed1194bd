#include "daemon/session/jump.h"

#include "proto/bytes.h"
#include "proto/geom/pose.h"

#include <math.h>

bool jump_note(struct jump *j, const struct rigid *T_wc, uint64_t t_ns)
{
    float dt = (float)(t_ns - j->t_ns) * 1e-9f, rotated, reach, off2 = 0, step2 = 0;
    bool jumped = false;

    if (!j->any) {
        *j = (struct jump){.any = true, .epoch = j->epoch, .last = *T_wc, .t_ns = t_ns};
        return false;
    }
    if (t_ns <= j->t_ns)
        return false;
    rotated = pose_angle(&j->last, T_wc);
    reach = JUMP_LEAST_M + 0.5f * JUMP_ACCELERATION * dt * dt;
    for (int i = 0; i < 3; i++) {
        float step = T_wc->t[i] - j->last.t[i], off = step - j->v[i] * dt;

        off2 += off * off;
        step2 += step * step;
        j->v[i] = step / dt;
    }
    if (j->moving)
        jumped = off2 > reach * reach ||
                 rotated > j->spin * dt + JUMP_LEAST_RAD + 0.5f * JUMP_SPINNING * dt * dt;
    j->spin = rotated / dt;
    j->moving = true;
    j->last = *T_wc;
    j->t_ns = t_ns;
    j->way = jumped ? 0 : j->way + sqrtf(step2);
    if (jumped) /* its new speed is not known */
        j->moving = false;
    return jumped;
}

bool jump_cut(struct jump *j, float submap_m)
{
    bool cut = j->way > submap_m;

    if (cut)
        j->way = 0;
    return cut;
}

void jump_put(uint8_t out[JUMP_BYTES], const struct jump *j)
{
    struct bytes_writer w = bytes_writer(out, JUMP_BYTES);

    bytes_put_u64(&w, j->t_ns);
    bytes_put_u32(&w, (j->any ? 1u : 0) | (j->moving ? 2u : 0));
    bytes_put_u32(&w, j->epoch);
    for (int i = 0; i < 9; i++)
        bytes_put_f32(&w, j->last.r[i]);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(&w, j->last.t[i]);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(&w, j->v[i]);
    bytes_put_f32(&w, j->spin);
    bytes_put_f32(&w, j->way);
    bytes_put_u32(&w, 0);
}

bool jump_get(struct jump *j, const uint8_t in[JUMP_BYTES])
{
    struct bytes_reader r = bytes_reader(in, JUMP_BYTES);
    bool finite = true;
    uint32_t word;

    *j = (struct jump){.t_ns = bytes_get_u64(&r)};
    word = bytes_get_u32(&r);
    j->any = (word & 1) != 0;
    j->moving = (word & 2) != 0;
    j->epoch = bytes_get_u32(&r);
    for (int i = 0; i < 9; i++)
        finite = isfinite(j->last.r[i] = bytes_get_f32(&r)) && finite;
    for (int i = 0; i < 3; i++)
        finite = isfinite(j->last.t[i] = bytes_get_f32(&r)) && finite;
    for (int i = 0; i < 3; i++)
        finite = isfinite(j->v[i] = bytes_get_f32(&r)) && finite;
    finite = isfinite(j->spin = bytes_get_f32(&r)) && finite;
    finite = isfinite(j->way = bytes_get_f32(&r)) && finite;
    if (!finite || word > 3)
        *j = (struct jump){.any = false};
    return finite && word <= 3;
}
