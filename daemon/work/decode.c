#include "daemon/work/decode.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/session/session_ends.h"
#include "daemon/work/frame_end.h"
#include "daemon/work/parts.h"
#include "daemon/work/worker.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define DECODE_MS_MAX (1 << 20)

struct decode_thread {
    struct decode *decode;
    struct jpeg_decoder *decoder;
    struct parts *parts;
};

struct decode {
    struct turn_pool pool;
    struct jpeg_limits limits;
    int64_t card_pixels;
    struct decode_thread threads[TURN_POOL_MAX];
};

static bool has_network(const struct session *s)
{
    return session_setup(s)->depth || session_setup(s)->motion;
}

/* The size that a picture is decoded to at least: `decode_scale` times what the network sees of the
 * whole picture. The image stage averages the rest unrounded (MATH.md (I1), (V25)), where a decoder
 * rounds what it shrinks to levels. Without a network it is the session's own size. */
static void wanted_size(struct session *s, const struct jpeg_info *info,
                        const struct queue_item *item, int *w, int *h)
{
    float scale = session_setup(s)->options.decode_scale;
    struct lens_map m;

    session_get_net(s, w, h);
    if (!has_network(s))
        return;
    m = lens_map_make(&item->frame.lens, item->K, info->width, info->height, *w, *h);
    if (m.mapped) {
        *w = (int)ceilf(fminf((float)m.w * (m.K.fx / m.from.fx), (float)m.w));
        *h = (int)ceilf(fminf((float)m.h * (m.K.fy / m.from.fy), (float)m.h));
    }
    *w = (int)((float)*w * scale);
    *h = (int)((float)*h * scale);
}

/* Without a network pictures are used as they come, if they are not too large. */
static void choose_whole(const struct jpeg_info *info, int *w, int *h)
{
    int part = 1;

    while (part < 8 && (info->width > part * GPU_SIDE_MAX || info->height > part * GPU_SIDE_MAX))
        part *= 2;
    jpeg_scaled_size(info, info->width / part, info->height / part, w, h);
}

/* The first frame decides the network's picture, and how much room the pictures of all have. The
 * view out of a sphere has the shape of most cameras' pictures. */
static void choose_sizes(struct session *s, const struct jpeg_info *info,
                         const struct queue_item *item)
{
    struct store_work *k = &session_work(s)->kept;
    const struct lens *lens = &item->frame.lens;
    int w, h;

    session_get_net(s, &w, &h);
    if (w == 0 && !has_network(s)) {
        choose_whole(info, &w, &h);
        session_set_net(s, w, h);
    } else if (w == 0) {
        bool sphere = lens->model == LENS_SPHERE;

        models_net_size(sphere ? 4 : info->width, sphere ? 3 : info->height,
                        session_setup(s)->multiple, &w, &h);
        session_set_net(s, w, h);
    }
    k->jpeg_w = info->width;
    k->jpeg_h = info->height;
    wanted_size(s, info, item, &w, &h);
    jpeg_scaled_size(info, w, h, &k->w, &k->h);
}

/* The size at which this picture is decoded: the one that is wanted, or the next smaller
 * ones, if that is more than the session has room for. Returns false if none is small enough. */
static bool fit(struct session *s, const struct jpeg_info *info, struct queue_item *item)
{
    const struct store_work *k = &session_work(s)->kept;
    int side = k->w > k->h ? k->w : k->h, least_w, least_h;

    wanted_size(s, info, item, &least_w, &least_h);
    for (int part = 1; part <= 8; part *= 2) {
        int *w = &item->width, *h = &item->height;

        jpeg_scaled_size(info, least_w / part, least_h / part, w, h);
        if (*w <= side && *h <= side && (int64_t)*w * *h <= (int64_t)k->w * k->h)
            return true;
    }
    return false;
}

/* Intrinsics of the whole picture, from the frame or from the session. */
static enum control_reason camera(const struct session *s, struct queue_item *item)
{
    const struct session_options *o = &session_setup(s)->options;

    item->K = item->frame.K;
    if (item->frame.flags & FRAME_HAS_CAMERA)
        return CONTROL_REASON_NONE;
    if (!o->has_camera)
        return CONTROL_NO_CAMERA;
    item->K =
        intrinsics_scale(o->K, o->camera_w, o->camera_h, item->frame.width, item->frame.height);
    return CONTROL_REASON_NONE;
}

/* The same of the decoded picture. A focal length that is lost in scaling is refused here: the
 * device would refuse the batch for it. */
static enum control_reason scale_camera(struct queue_item *item)
{
    item->K =
        intrinsics_scale(item->K, item->frame.width, item->frame.height, item->width, item->height);
    return item->K.fx >= FRAME_FOCAL_MIN_PX && item->K.fy >= FRAME_FOCAL_MIN_PX
               ? CONTROL_REASON_NONE
               : CONTROL_BAD_FRAME;
}

/* The file's headers alone decide whether the card or this thread decodes, so a frame gives the
 * same picture when it is decoded again after a restart. A card that fails is the exception, but
 * then the process ends. */
static int decode_picture(struct decode_thread *t, struct session *s, const struct queue_item *item,
                          const uint8_t *data, size_t len, const struct jpeg_info *info,
                          uint8_t *rgb)
{
    const struct gpu_jpeg jpeg = {.data = data,
                                  .len = len,
                                  .width = info->width,
                                  .height = info->height,
                                  .rgb = rgb,
                                  .w = item->width,
                                  .h = item->height};
    struct jpeg_limits limits = t->decode->limits;
    int64_t least = t->decode->card_pixels;
    int rc;

    if (info->plain && least && (int64_t)info->width * info->height >= least &&
        worker_decode(session_work(s)->worker, &jpeg) == 0) {
        metrics_add(session_setup(s)->metrics, METRICS_CARD_PICTURES, 1);
        return 0;
    }
    rc = jpeg_decode(t->decoder, jpeg.rgb, jpeg.w, jpeg.h, jpeg.data, jpeg.len, &limits, NULL);
    while (rc == ERR_BUSY) { /* its verdict does not depend on what this machine does meanwhile */
        LOG_AT(LOG_WARNING, "session %s: decoding frame %llu took too long and is tried again",
               session_id(s), (unsigned long long)item->frame.seq);
        if (limits.deadline_ms < DECODE_MS_MAX)
            limits.deadline_ms *= 2; /* the estimate was within the bound already */
        rc = jpeg_decode(t->decoder, jpeg.rgb, jpeg.w, jpeg.h, jpeg.data, jpeg.len, &limits, NULL);
    }
    return rc;
}

/* Room for pictures and, behind each, for what comes beside it. */
static int make_room(struct session *s, struct queue_item *item)
{
    const struct store_work *k = &session_work(s)->kept;
    size_t at = parts_at((size_t)k->w * (size_t)k->h * 3);
    int w, h;

    session_get_net(s, &w, &h);
    return queue_set_pictures(session_queue(s), item,
                              at + parts_bytes(&session_setup(s)->options, w, h), NULL);
}

static enum control_reason decode_parts(struct decode_thread *t, struct session *s,
                                        struct queue_item *item)
{
    const struct store_work *k = &session_work(s)->kept;
    uint8_t *room = item->rgb + parts_at((size_t)k->w * (size_t)k->h * 3);
    int w, h, rc;

    session_get_net(s, &w, &h);
    rc = parts_decode(t->parts, item, room, &session_setup(s)->options, w, h, NULL);
    return rc == 0 ? CONTROL_REASON_NONE : rc == ERR_MEMORY ? CONTROL_MEMORY : CONTROL_BAD_FRAME;
}

/* The other picture of a pair, which is of the same size, behind the first. */
static enum control_reason decode_second(struct decode_thread *t, struct session *s,
                                         struct queue_item *item)
{
    const struct store_work *k = &session_work(s)->kept;
    const struct session_options *o = &session_setup(s)->options;
    const struct frame_part *part = frame_find(&item->frame, FRAME_COLOUR);
    struct jpeg_info info;

    if (o->kind != SESSION_PANORAMA || o->baseline_m > 0)
        return CONTROL_REASON_NONE;
    item->bad_part = FRAME_COLOUR;
    if (!part || part->codec != FRAME_JPEG || !item->frame.rig.known ||
        part->width != item->frame.width || part->height != item->frame.height)
        return CONTROL_BAD_FRAME;
    if (jpeg_probe(&info, part->data, part->len, &t->decode->limits, NULL))
        return CONTROL_DECODE_ERROR;
    if (info.width != part->width || info.height != part->height)
        return CONTROL_BAD_FRAME;
    item->second = item->rgb + parts_at((size_t)k->w * (size_t)k->h * 3);
    item->second_K =
        intrinsics_scale(item->frame.rig.K, part->width, part->height, item->width, item->height);
    if (decode_picture(t, s, item, part->data, part->len, &info, item->second))
        return CONTROL_DECODE_ERROR;
    item->bad_part = 0;
    return CONTROL_REASON_NONE;
}

/* CONTROL_REASON_NONE: item holds a picture. */
static enum control_reason decode_item(struct decode_thread *t, struct session *s,
                                       struct queue_item *item)
{
    const struct frame *f = &item->frame;
    bool first = session_work(s)->kept.jpeg_w == 0;
    enum control_reason reason;
    struct jpeg_info info;

    if (jpeg_probe(&info, f->payload, f->payload_len, &t->decode->limits, NULL))
        return CONTROL_DECODE_ERROR;
    if (info.width != f->width || info.height != f->height)
        return CONTROL_BAD_FRAME;
    reason = camera(s, item);
    if (reason != CONTROL_REASON_NONE)
        return reason;
    if (first)
        choose_sizes(s, &info, item);
    if (!fit(s, &info, item))
        return CONTROL_BAD_FRAME;
    item->exif_turn = info.turn;
    reason = scale_camera(item);
    if (reason != CONTROL_REASON_NONE)
        return reason;
    if (!item->rgb && make_room(s, item))
        return CONTROL_MEMORY;
    reason = decode_parts(t, s, item);
    if (reason != CONTROL_REASON_NONE)
        return reason;
    reason = decode_second(t, s, item);
    if (reason != CONTROL_REASON_NONE)
        return reason;
    return decode_picture(t, s, item, f->payload, f->payload_len, &info, item->rgb)
               ? CONTROL_DECODE_ERROR
               : CONTROL_REASON_NONE;
}

/* A first frame that was no good decides nothing: the next one may have another size. */
static void undo_first(struct session *s, struct queue_item *item)
{
    if (item->rgb)
        queue_unset_pictures(session_queue(s), item);
    session_work(s)->kept.jpeg_w = session_work(s)->kept.jpeg_h = 0;
    session_set_net(s, session_setup(s)->options.net_w, session_setup(s)->options.net_h);
}

/* A session that has rested needs what its device knew. */
static enum control_reason wake_up(struct session *s)
{
    struct err err = {0};

    if (store_fetch(s, &err) == 0)
        return CONTROL_REASON_NONE;
    LOG_AT(LOG_ERR, "session %s cannot go on: %s", session_id(s), err.text);
    return err.code == ERR_MEMORY ? CONTROL_MEMORY : CONTROL_STORAGE;
}

static void decode_next(struct decode_thread *t, struct session *s)
{
    struct queue_item *item = queue_take_waiting(session_queue(s));
    bool first = session_work(s)->kept.jpeg_w == 0;
    enum control_reason reason;
    uint64_t start_us;

    if (!item)
        return;
    start_us = clock_us();
    session_work_due(s, true);
    store_enter(s, item);
    reason = session_hurried(s) ? CONTROL_SHUTDOWN : wake_up(s);
    if (reason == CONTROL_REASON_NONE)
        reason = decode_item(t, s, item);
    item->decode_us = clock_us() - start_us;
    metrics_observe(session_setup(s)->metrics, METRICS_DECODE, item->decode_us);
    turn_charge(t->decode->pool.turns, &session_work(s)->decode_turn, item->decode_us);
    if (reason == CONTROL_REASON_NONE) {
        queue_ready(session_queue(s), item);
        session_work_kick_device(s);
        session_work_due(s, false);
        return;
    }
    session_work_due(s, false);
    if (first)
        undo_first(s, item);
    frame_end_undecoded(s, item, reason);
}

static void serve(void *ctx, int thread, struct turn_entry *e)
{
    struct session *s = e ? session_work_of_decoder(e) : NULL;
    struct decode *d = ctx;

    if (!s)
        return;
    if (!session_dead(s))
        decode_next(&d->threads[thread], s);
    if (turn_done(d->pool.turns, e, !session_dead(s) && queue_can_decode(session_queue(s))))
        session_unref(s);
}

void decode_admit(struct session *s, struct queue_item *item, const struct queue_dropped *d)
{
    queue_stored(session_queue(s), item);
    session_work_kick_decoder(s);
    frame_end_displaced(s, d);
}

struct turn *decode_turns(struct decode *d)
{
    return d->pool.turns;
}

uint64_t decode_alive_us(const struct decode *d)
{
    return turn_pool_alive_us(&d->pool);
}

static int cores(int n_devices)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN), most = n_devices > 1 ? 8 * n_devices : 8;

    return n < 1 ? 1 : n > most ? (int)most : (int)n;
}

int decode_start(struct decode **decode, int threads, int n_devices,
                 const struct jpeg_limits *limits, int64_t card_pixels, struct err *err)
{
    struct decode *d = calloc(1, sizeof(*d));
    int rc = 0;

    *decode = d;
    if (!d)
        return err_set(err, ERR_MEMORY, "no memory for the decoders");
    d->limits = *limits;
    d->card_pixels = card_pixels;
    threads = threads ? threads : cores(n_devices);
    for (int i = 0; i < threads && i < TURN_POOL_MAX && rc == 0; i++) {
        d->threads[i].decode = d;
        rc = jpeg_decoder_new(&d->threads[i].decoder, err);
        if (rc == 0)
            rc = parts_new(&d->threads[i].parts, err);
    }
    if (rc == 0)
        rc = turn_pool_start(&d->pool, threads, "decoder", serve, d, err);
    if (rc)
        decode_free(decode);
    return rc;
}

void decode_stop(struct decode *d)
{
    struct turn_entry *e;

    turn_pool_stop(&d->pool);
    while (d->pool.turns && (e = turn_drop(d->pool.turns)))
        session_unref(session_work_of_decoder(e));
}

void decode_free(struct decode **decode)
{
    struct decode *d = *decode;

    if (!d)
        return;
    decode_stop(d);
    turn_pool_free(&d->pool);
    for (int i = 0; i < TURN_POOL_MAX; i++) {
        jpeg_decoder_free(&d->threads[i].decoder);
        parts_free(&d->threads[i].parts);
    }
    free(d);
    *decode = NULL;
}
