#include "daemon/work/work_state.h"

#include "daemon/work/closing.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/session_sources.h"
#include "daemon/session/session_ends.h"
#include "proto/bytes.h"

#include <math.h>

#define CORE_VERSION 4 /* version 3 lacks how cameras were held */
#define CORE_BYTES 180

/* Bits of the word of `any`: */
#define WHOLE 2u       /* closing rounds are over */
#define ROUNDS 4u      /* closing rounds are to come: earlier builds set neither bit */
#define BUNDLE_SHIFT 3 /* two bits of enum session_work_bundle */
#define TURN_SHIFT 8
#define SHAPE_SHIFT 16 /* 0 in checkpoints of builds that did not have it */

static void put_sizes(struct bytes_writer *w, const struct session_work_kept *work,
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

static uint32_t any_word(const struct session_work_kept *work)
{
    return !work->any
               ? 0
               : 1u | (work->is_whole ? WHOLE : ROUNDS) | (uint32_t)work->bundle << BUNDLE_SHIFT |
                     (uint32_t)work->turn << TURN_SHIFT | work->shape << SHAPE_SHIFT;
}

static size_t core_bytes(struct session *s)
{
    (void)s;
    return CORE_BYTES;
}

static int core_save(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    const struct session_work_kept *work = &session_work(s)->kept;
    struct bytes_writer w = bytes_writer(buf, cap);
    struct session_saved saved;

    session_save(s, &saved);
    store_put_counts(s, &w);
    bytes_put_u32(&w, any_word(work));
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
    *len = w.at;
    return w.bad ? err_set(err, ERR_LIMIT, "no room for a session's counters") : 0;
}

static int get_sizes(struct session_work_kept *work, struct session_saved *saved,
                     struct bytes_reader *r)
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

static void get_any_word(struct session_work_kept *work, struct session *s, uint32_t word)
{
    work->any = word != 0;
    /* a session that an earlier build closed stays as it is */
    work->is_whole = word & WHOLE || (!(word & ROUNDS) && session_closing(s));
    work->bundle = (enum session_work_bundle)(word >> BUNDLE_SHIFT & 3);
    work->turn = (int)(word >> TURN_SHIFT & 3);
    work->shape = word >> SHAPE_SHIFT;
}

static int core_load(struct session *s, const struct section *in, struct err *err)
{
    struct bytes_reader r = bytes_reader(in->body, in->len);
    struct session_work_kept work = {.any = false};
    struct session_saved saved = {0};
    bool good;

    if (in->version < CORE_VERSION - 1)
        return err_set(err, ERR_INPUT, "its checkpoint is of an older form");
    good = store_get_counts(s, &r);
    get_any_word(&work, s, bytes_get_u32(&r));
    work.submap = bytes_get_u32(&r);
    work.breaks = bytes_get_u32(&r);
    good = get_sizes(&work, &saved, &r) == 0 && good;
    saved.counts.again = bytes_get_u64(&r);
    saved.counts.keyframes = bytes_get_u64(&r);
    saved.counts.bytes_in = bytes_get_u64(&r);
    saved.counts.bytes_out = bytes_get_u64(&r);
    saved.counts.blocks_out = bytes_get_u64(&r);
    saved.counts.points_out = bytes_get_u64(&r);
    saved.keyframes_kept = bytes_get_u32(&r);
    saved.model_points = bytes_get_u32(&r);
    saved.model_stable = bytes_get_u32(&r);
    if (in->version == CORE_VERSION)
        good = get_upright(&work.upright, &r) == 0 && good;
    if (!good || r.bad || bytes_left(&r))
        return err_set(err, ERR_INPUT, "its checkpoint contradicts itself");
    session_restore(s, &saved);
    closing_restore(s, &work);
    return 0;
}

const struct state_section work_state_core = {.tag = SECTION_TAG('D', 'C', 'O', 'R'),
                                              .version = CORE_VERSION,
                                              .bytes = core_bytes,
                                              .save = core_save,
                                              .load = core_load};

/* ------------------------------------------------------------------------- jumps */

static size_t jumps_bytes(struct session *s)
{
    (void)s;
    return (size_t)API_SOURCES_MAX * JUMP_BYTES;
}

static int jumps_save(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    (void)cap;
    (void)err;
    for (int i = 0; i < API_SOURCES_MAX; i++)
        jump_put(buf + i * JUMP_BYTES, &session_work(s)->kept.jumps[i]);
    *len = jumps_bytes(s);
    return 0;
}

/* Takes over the valid ones. */
static int jumps_load(struct session *s, const struct section *in, struct err *err)
{
    struct jump *jumps = session_work(s)->kept.jumps;
    bool good = true;

    if (in->len != jumps_bytes(s))
        return err_set(err, ERR_INPUT, "not the jumps of all sources");
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        good = jump_get(&jumps[i], in->body + i * JUMP_BYTES) && good;
        session_set_jump(s, i, &jumps[i]);
    }
    return good ? 0 : err_set(err, ERR_INPUT, "a source's is none");
}

const struct state_section work_state_jumps = {.tag = SECTION_TAG('D', 'J', 'M', 'P'),
                                               .version = 1,
                                               .flags = SECTION_OPTIONAL,
                                               .bytes = jumps_bytes,
                                               .save = jumps_save,
                                               .load = jumps_load};
