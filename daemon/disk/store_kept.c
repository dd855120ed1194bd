/* What a checkpoint keeps of a session itself: counters, sizes, how its pictures were held, where
 * its sources' poses went. */
#include "daemon/disk/store_internal.h"

#include "daemon/session/session_ends.h"
#include "daemon/session/session_restart.h"
#include "proto/bytes.h"

#include <math.h>

#define WHOLE 2u       /* in the word of `any`: closing rounds are over ... */
#define ROUNDS 4u      /* ... or to come: builds that had none set neither bit */
#define BUNDLE_SHIFT 3 /* enum store_bundle, of two bits */
#define TURN_SHIFT 8   /* in the word of `any`, which earlier builds hold against 0 */
#define SHAPE_SHIFT 16 /* behind it, 0 in checkpoints of builds that did not know it */

static void put_sizes(struct bytes_writer *w, const struct store_work *work,
                      const struct session_saved *saved)
{
    bytes_put_i32(w, work->jpeg_w);
    bytes_put_i32(w, work->jpeg_h);
    bytes_put_i32(w, work->w);
    bytes_put_i32(w, work->h);
    bytes_put_i32(w, saved->net_w);
    bytes_put_i32(w, saved->net_h);
}

static void put_upright(struct bytes_writer *w, const struct upright *u)
{
    for (int i = 0; i < 3; i++)
        bytes_put_f32(w, u->top[i]);
    for (int i = 0; i < 6; i++)
        bytes_put_f32(w, u->spread[i]);
    bytes_put_u32(w, u->n_stand);
    bytes_put_u32(w, u->n_lie);
}

static int get_upright(struct upright *u, struct bytes_reader *r)
{
    bool finite = true;

    for (int i = 0; i < 3; i++)
        finite = isfinite(u->top[i] = bytes_get_f32(r)) && finite;
    for (int i = 0; i < 6; i++)
        finite = isfinite(u->spread[i] = bytes_get_f32(r)) && finite;
    u->n_stand = bytes_get_u32(r);
    u->n_lie = bytes_get_u32(r);
    return finite && u->n_lie <= u->n_stand ? 0 : -1;
}

size_t store_core_put(struct session *s, const struct store_work *work, uint8_t *buf, size_t cap)
{
    struct bytes_writer w = bytes_writer(buf, cap);
    struct session_disk *d = session_disk(s);
    struct session_saved saved;

    session_save(s, &saved);
    bytes_put_u64(&w, d->ordinal);
    bytes_put_u64(&w, d->refused_before + d->refused);
    bytes_put_u64(&w, d->used);
    bytes_put_u64(&w, atomic_load(&d->front_refused));
    bytes_put_u64(&w, atomic_load(&d->front_dropped));
    bytes_put_u32(&w, work->any
                          ? 1u | (work->is_whole ? WHOLE : ROUNDS) |
                                (uint32_t)work->bundle << BUNDLE_SHIFT |
                                (uint32_t)work->turn << TURN_SHIFT | work->shape << SHAPE_SHIFT
                          : 0);
    bytes_put_u32(&w, work->submap);
    bytes_put_u32(&w, work->breaks);
    put_sizes(&w, work, &saved);
    bytes_put_u64(&w, saved.counts.again);
    bytes_put_u64(&w, saved.counts.keyframes);
    bytes_put_u64(&w, saved.counts.bytes_in);
    bytes_put_u64(&w, saved.counts.bytes_out);
    bytes_put_u64(&w, saved.counts.blocks_out);
    bytes_put_u64(&w, saved.counts.points_out);
    bytes_put_u32(&w, saved.keyframes_kept);
    bytes_put_u32(&w, saved.model_points);
    bytes_put_u32(&w, saved.model_stable);
    put_upright(&w, &work->upright);
    return w.bad ? 0 : w.at;
}

static int get_sizes(struct store_work *work, struct session_saved *saved, struct bytes_reader *r)
{
    int *const field[] = {&work->jpeg_w, &work->jpeg_h, &work->w,
                          &work->h,      &saved->net_w, &saved->net_h};

    for (int i = 0; i < 6; i++) {
        int32_t v = bytes_get_i32(r);
        if (v < 1 || v > (i < 4 ? FRAME_SIDE_MAX : GPU_SIDE_MAX))
            return -1;
        *field[i] = v;
    }
    return 0;
}

int store_core_get(struct session *s, struct store_work *work, const struct section *core,
                   struct err *err)
{
    struct bytes_reader r = bytes_reader(core->body, core->len);
    struct session_disk *d = session_disk(s);
    struct session_saved saved = {0};
    uint32_t any;

    *work = (struct store_work){.any = false};
    if (core->version != STORE_CORE_VERSION && core->version != STORE_CORE_VERSION - 1)
        return err_set(err, ERR_INPUT, "its checkpoint is of an older form");
    d->ordinal = bytes_get_u64(&r);
    d->refused_before = bytes_get_u64(&r);
    d->used = bytes_get_u64(&r);
    atomic_store(&d->front_refused, bytes_get_u64(&r));
    atomic_store(&d->front_dropped, bytes_get_u64(&r));
    any = bytes_get_u32(&r);
    work->any = any != 0;
    /* what an earlier build closed stays as it is */
    work->is_whole = any & WHOLE || (!(any & ROUNDS) && session_closing(s));
    work->bundle = (enum store_bundle)(any >> BUNDLE_SHIFT & 3);
    work->turn = (int)(any >> TURN_SHIFT & 3);
    work->shape = any >> SHAPE_SHIFT;
    work->submap = bytes_get_u32(&r);
    work->breaks = bytes_get_u32(&r);
    if (get_sizes(work, &saved, &r))
        return err_set(err, ERR_INPUT, "its checkpoint contradicts itself");
    saved.counts.again = bytes_get_u64(&r);
    saved.counts.keyframes = bytes_get_u64(&r);
    saved.counts.bytes_in = bytes_get_u64(&r);
    saved.counts.bytes_out = bytes_get_u64(&r);
    saved.counts.blocks_out = bytes_get_u64(&r);
    saved.counts.points_out = bytes_get_u64(&r);
    saved.keyframes_kept = bytes_get_u32(&r);
    saved.model_points = bytes_get_u32(&r);
    saved.model_stable = bytes_get_u32(&r);
    if (core->version == STORE_CORE_VERSION && get_upright(&work->upright, &r))
        return err_set(err, ERR_INPUT, "its checkpoint contradicts itself");
    if (r.bad || bytes_left(&r) || d->used + d->refused_before > d->ordinal)
        return err_set(err, ERR_INPUT, "its checkpoint contradicts itself");
    d->decode_refused = d->refused_before;
    d->stored_frames = d->ordinal;
    session_restore(s, &saved);
    return 0;
}

/* ------------------------------------------------------------------------- jumps */

void store_jumps_put(const struct store_work *work, uint8_t out[STORE_JUMPS_BYTES])
{
    for (int i = 0; i < API_SOURCES_MAX; i++)
        jump_put(out + i * JUMP_BYTES, &work->jumps[i]);
}

bool store_jumps_get(struct store_work *work, const uint8_t in[STORE_JUMPS_BYTES])
{
    bool good = true;

    for (int i = 0; i < API_SOURCES_MAX; i++)
        good = jump_get(&work->jumps[i], in + i * JUMP_BYTES) && good;
    return good;
}
