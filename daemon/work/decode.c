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

/* A frame at a decoder, with the inputs of all steps. */
struct decode_step {
    struct decode_thread *thread;
    struct session *s;
    struct session_work *work;
    const struct session_options *options;
    struct queue_item *item;
    struct jpeg_info info;
    int net_w, net_h; /* the network's picture; 0: the first frame decides */
    bool is_first;    /* no frame was good before it */
    uint64_t start_us;
};

/* ------------------------------------------------------------------------- sizes */

static bool has_network(const struct decode_step *step)
{
    return step->work->setup->depth || step->work->setup->motion;
}

/* The size that a picture is decoded to at least: `decode_scale` times what the network sees of the
 * whole picture. The image stage averages the rest unrounded (MATH.md (I1), (V25)), where a decoder
 * rounds what it shrinks to levels. Without a network it is the session's own size. */
static void wanted_size(const struct decode_step *step, int *w, int *h)
{
    const struct queue_item *item = step->item;
    struct lens_map m;

    *w = step->net_w;
    *h = step->net_h;
    if (!has_network(step))
        return;
    m = lens_map_make(&item->frame.lens, item->K, step->info.width, step->info.height, *w, *h);
    if (m.mapped) {
        *w = (int)ceilf(fminf((float)m.w * (m.K.fx / m.from.fx), (float)m.w));
        *h = (int)ceilf(fminf((float)m.h * (m.K.fy / m.from.fy), (float)m.h));
    }
    *w = (int)((float)*w * step->options->decode_scale);
    *h = (int)((float)*h * step->options->decode_scale);
}

/* Without a network pictures are used as they come, if they are not too large. */
static void whole_size(const struct jpeg_info *info, int *w, int *h)
{
    int part = 1;

    while (part < 8 && (info->width > part * GPU_SIDE_MAX || info->height > part * GPU_SIDE_MAX))
        part *= 2;
    jpeg_scaled_size(info, info->width / part, info->height / part, w, h);
}

/* The first frame decides the network's picture, and the room of all pictures. A view out of a
 * sphere has the shape of most cameras' pictures. */
static void choose_sizes(struct decode_step *step)
{
    struct session_work_kept *k = &step->work->kept;
    bool sphere = step->item->frame.lens.model == LENS_SPHERE;
    int w, h;

    if (step->net_w == 0 && !has_network(step))
        whole_size(&step->info, &step->net_w, &step->net_h);
    else if (step->net_w == 0)
        models_net_size(sphere ? 4 : step->info.width, sphere ? 3 : step->info.height,
                        step->work->setup->multiple, &step->net_w, &step->net_h);
    session_set_net(step->s, step->net_w, step->net_h);
    k->jpeg_w = step->info.width;
    k->jpeg_h = step->info.height;
    wanted_size(step, &w, &h);
    jpeg_scaled_size(&step->info, w, h, &k->w, &k->h);
}

/* A first frame that was not good decides nothing: the next one may have another size. */
static void undo_sizes(struct decode_step *step)
{
    struct session_work_kept *k = &step->work->kept;

    if (step->item->rgb)
        queue_unset_pictures(step->work->queue, step->item);
    k->jpeg_w = k->jpeg_h = 0;
    session_set_net(step->s, step->options->net_w, step->options->net_h);
}

/* Chooses the size at which this picture is decoded: the wanted one, or the next smaller ones that
 * fit the session's room. Returns false if none is small enough. */
static bool fit_picture(const struct decode_step *step)
{
    const struct session_work_kept *k = &step->work->kept;
    int side = k->w > k->h ? k->w : k->h, least_w, least_h;

    wanted_size(step, &least_w, &least_h);
    for (int part = 1; part <= 8; part *= 2) {
        int *w = &step->item->width, *h = &step->item->height;

        jpeg_scaled_size(&step->info, least_w / part, least_h / part, w, h);
        if (*w <= side && *h <= side && (int64_t)*w * *h <= (int64_t)k->w * k->h)
            return true;
    }
    return false;
}

/* Returns the intrinsics of the whole picture, from the frame or from the session. */
static enum control_reason find_camera(const struct decode_step *step)
{
    const struct session_options *o = step->options;
    struct queue_item *item = step->item;

    item->K = item->frame.K;
    if (item->frame.flags & FRAME_HAS_CAMERA)
        return CONTROL_REASON_NONE;
    if (!o->has_camera)
        return CONTROL_NO_CAMERA;
    item->K =
        intrinsics_scale(o->K, o->camera_w, o->camera_h, item->frame.width, item->frame.height);
    return CONTROL_REASON_NONE;
}

/* Scales them to the decoded picture. A focal length that vanishes in scaling is refused here: the
 * device would refuse the batch for it. */
static enum control_reason scale_camera(struct queue_item *item)
{
    item->K =
        intrinsics_scale(item->K, item->frame.width, item->frame.height, item->width, item->height);
    return item->K.fx >= FRAME_FOCAL_MIN_PX && item->K.fy >= FRAME_FOCAL_MIN_PX
               ? CONTROL_REASON_NONE
               : CONTROL_BAD_FRAME;
}

/* ------------------------------------------------------------------------- pictures */

/* Reserves pictures and, behind each, its parts. */
static size_t beside_picture(const struct session_work_kept *k)
{
    return parts_at((size_t)k->w * (size_t)k->h * 3);
}

static int make_room(const struct decode_step *step)
{
    return queue_set_pictures(step->work->queue, step->item,
                              beside_picture(&step->work->kept) +
                                  parts_bytes(step->options, step->net_w, step->net_h),
                              NULL);
}

/* The file's headers alone decide whether the card or this thread decodes, so a frame gives the
 * same picture when it is decoded again after a restart. If a card fails, the process ends. */
static int decode_picture(const struct decode_step *step, const uint8_t *data, size_t len,
                          const struct jpeg_info *info, uint8_t *rgb)
{
    const struct gpu_jpeg jpeg = {.data = data,
                                  .len = len,
                                  .width = info->width,
                                  .height = info->height,
                                  .rgb = rgb,
                                  .w = step->item->width,
                                  .h = step->item->height};
    struct jpeg_limits limits = step->thread->decode->limits;
    struct jpeg_decoder *decoder = step->thread->decoder;
    int64_t least = step->thread->decode->card_pixels;
    int rc;

    if (info->plain && least && (int64_t)info->width * info->height >= least &&
        worker_decode(step->work->worker, &jpeg) == 0) {
        metrics_add(step->work->setup->metrics, METRICS_CARD_PICTURES, 1);
        return 0;
    }
    rc = jpeg_decode(decoder, jpeg.rgb, jpeg.w, jpeg.h, jpeg.data, jpeg.len, &limits, NULL);
    while (rc == ERR_BUSY) { /* the verdict must not depend on the machine's load */
        LOG_AT(LOG_WARNING, "session %s: decoding frame %llu took too long and is tried again",
               session_id(step->s), (unsigned long long)step->item->frame.seq);
        if (limits.deadline_ms < DECODE_MS_MAX)
            limits.deadline_ms *= 2; /* the estimate was within the bound already */
        rc = jpeg_decode(decoder, jpeg.rgb, jpeg.w, jpeg.h, jpeg.data, jpeg.len, &limits, NULL);
    }
    return rc;
}

static enum control_reason decode_parts(const struct decode_step *step)
{
    int rc = parts_decode(step->thread->parts, step->item,
                          step->item->rgb + beside_picture(&step->work->kept), step->options,
                          step->net_w, step->net_h, NULL);

    return rc == 0 ? CONTROL_REASON_NONE : rc == ERR_MEMORY ? CONTROL_MEMORY : CONTROL_BAD_FRAME;
}

/* Decodes the other picture of a pair, which has the same size, behind the first. */
static enum control_reason decode_second(const struct decode_step *step)
{
    struct queue_item *item = step->item;
    const struct frame_part *part = frame_find(&item->frame, FRAME_COLOUR);
    struct jpeg_info info;

    if (step->options->kind != SESSION_PANORAMA || step->options->baseline_m > 0)
        return CONTROL_REASON_NONE;
    item->bad_part = FRAME_COLOUR;
    if (!part || part->codec != FRAME_JPEG || !item->frame.rig.known ||
        part->width != item->frame.width || part->height != item->frame.height)
        return CONTROL_BAD_FRAME;
    if (jpeg_probe(&info, part->data, part->len, &step->thread->decode->limits, NULL))
        return CONTROL_DECODE_ERROR;
    if (info.width != part->width || info.height != part->height)
        return CONTROL_BAD_FRAME;
    item->second = item->rgb + beside_picture(&step->work->kept);
    item->second_K =
        intrinsics_scale(item->frame.rig.K, part->width, part->height, item->width, item->height);
    if (decode_picture(step, part->data, part->len, &info, item->second))
        return CONTROL_DECODE_ERROR;
    item->bad_part = 0;
    return CONTROL_REASON_NONE;
}

/* ------------------------------------------------------------------------- a frame */

/* A suspended session needs its device state again. */
static enum control_reason wake_session(struct session *s)
{
    struct err err = {0};

    if (store_fetch(s, &err) == 0)
        return CONTROL_REASON_NONE;
    LOG_AT(LOG_ERR, "session %s cannot go on: %s", session_id(s), err.text);
    return err.code == ERR_MEMORY ? CONTROL_MEMORY : CONTROL_STORAGE;
}

/* Reads sizes and camera from the picture's headers and the frame's. */
static enum control_reason probe_frame(struct decode_step *step)
{
    const struct frame *f = &step->item->frame;
    enum control_reason reason;

    if (jpeg_probe(&step->info, f->payload, f->payload_len, &step->thread->decode->limits, NULL))
        return CONTROL_DECODE_ERROR;
    if (step->info.width != f->width || step->info.height != f->height)
        return CONTROL_BAD_FRAME;
    reason = find_camera(step);
    if (reason != CONTROL_REASON_NONE)
        return reason;
    if (step->is_first)
        choose_sizes(step);
    if (!fit_picture(step))
        return CONTROL_BAD_FRAME;
    step->item->exif_turn = step->info.turn;
    return scale_camera(step->item);
}

/* Returns CONTROL_REASON_NONE: the item holds a picture. */
static enum control_reason decode_frame(struct decode_step *step)
{
    const struct frame *f = &step->item->frame;
    enum control_reason reason;

    reason = session_hurried(step->s) ? CONTROL_SHUTDOWN : wake_session(step->s);
    if (reason == CONTROL_REASON_NONE)
        reason = probe_frame(step);
    if (reason == CONTROL_REASON_NONE && !step->item->rgb && make_room(step))
        reason = CONTROL_MEMORY;
    if (reason == CONTROL_REASON_NONE)
        reason = decode_parts(step);
    if (reason == CONTROL_REASON_NONE)
        reason = decode_second(step);
    if (reason == CONTROL_REASON_NONE &&
        decode_picture(step, f->payload, f->payload_len, &step->info, step->item->rgb))
        reason = CONTROL_DECODE_ERROR;
    return reason;
}

/* Takes the session's next frame. Returns false if none may be decoded now. */
static bool step_begin(struct decode_step *step, struct decode_thread *thread, struct session *s)
{
    struct session_work *k = session_work(s);

    *step = (struct decode_step){.thread = thread,
                                 .s = s,
                                 .work = k,
                                 .options = &k->setup->options,
                                 .item = queue_take_waiting(k->queue),
                                 .is_first = k->kept.jpeg_w == 0,
                                 .start_us = clock_us()};
    if (!step->item)
        return false;
    session_get_net(s, &step->net_w, &step->net_h);
    session_work_due(s, true);
    store_enter(s, step->item);
    return true;
}

/* Gives the frame to the device, or ends it. */
static void step_end(struct decode_step *step, enum control_reason reason)
{
    struct session_work *k = step->work;
    struct queue_item *item = step->item;

    item->decode_us = clock_us() - step->start_us;
    metrics_observe(k->setup->metrics, METRICS_DECODE, item->decode_us);
    turn_charge(k->decode_turns, &k->decode_turn, item->decode_us);
    if (reason == CONTROL_REASON_NONE) {
        queue_ready(k->queue, item);
        session_work_kick_device(step->s);
    }
    session_work_due(step->s, false);
    if (reason == CONTROL_REASON_NONE)
        return;
    if (step->is_first)
        undo_sizes(step);
    frame_end_undecoded(step->s, item, reason);
}

static void serve_session(void *ctx, int thread, struct turn_entry *e)
{
    struct decode *d = ctx;
    struct decode_step step;
    struct session *s;

    if (!e)
        return;
    s = session_work_of_decoder(e);
    if (!session_dead(s) && step_begin(&step, &d->threads[thread], s))
        step_end(&step, decode_frame(&step));
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

static int default_threads(int n_devices)
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
    threads = threads ? threads : default_threads(n_devices);
    for (int i = 0; i < threads && i < TURN_POOL_MAX && rc == 0; i++) {
        d->threads[i].decode = d;
        rc = jpeg_decoder_new(&d->threads[i].decoder, err);
        if (rc == 0)
            rc = parts_new(&d->threads[i].parts, err);
    }
    if (rc == 0)
        rc = turn_pool_start(&d->pool, threads, "decoder", serve_session, d, err);
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
