/*
 * fake_gpu.h - a back end that is small, quick and predictable, for tests of what stands around it
 *
 * Each frame publishes FAKE_POINTS points: number i of frame f goes to slot (f*FAKE_STEP + i) mod
 * FAKE_SLOTS, so later frames replace what earlier ones put, and every FAKE_REMOVE-th frame removes
 * a run of slots. Where a point goes depends on the picture's first byte, its frame number and the
 * pose alone. Batches are worked on one after the other, `wait_us` each and `size_us` for the next
 * power of two of its frames, while the thread that enqueued them goes on; results come into being
 * in gpu_wait(), so no thread can have them earlier.
 * A closing round (daemon/work/closing.h) publishes nothing, but for `waiting` of them, a point
 * each.
 * fake_gpu_plan says what shall fail, and counts what must not happen.
 */
#pragma once

#include "proto/section.h"
#include "daemon/clock.h"
#include "gpu/base/ops.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_POINTS 200
#define FAKE_SLOTS 900
#define FAKE_STEP 150
#define FAKE_REMOVE 5
#define FAKE_SOURCES 8
#define FAKE_LINES 64
#define FAKE_DEADLY_M 5.0f
#define FAKE_SIZES 7 /* batches of 1, 2, 4 ... 64 */

/* Of one frame; the sensor's pointers are only there or not. */
struct fake_seen {
    int width, height;
    struct intrinsics K;
    struct lens lens;
    struct gpu_sensor sensor;
    uint64_t values, sure; /* sums over its pixels, of values times 1 + place modulo 251 */
    int masked;            /* pixels of the mask */
    int has_start;
    struct rigid T_wc;
    float turn[3], turn_s;
    uint32_t submap, breaks;
};

static struct {
    atomic_int sessions, models; /* that exist */
    atomic_int frames, batches;  /* through the pipeline */
    atomic_int largest_batch;
    atomic_int waiting; /* keyframes that closing rounds find in a session */
    atomic_int rounds;  /* closing rounds so far */
    atomic_int fail_at; /* frame count at which `fail_with` is answered; 0 = never */
    atomic_int fail_with;
    atomic_int fail_wait;  /* batch, counted from 1, whose wait answers `fail_with`; 0 = never */
    atomic_int deadly;     /* a signal that frames with a camera above FAKE_DEADLY_M raise */
    atomic_int delay_us;   /* of each batch, while the caller waits */
    atomic_int wait_us;    /* of each batch, while the caller goes on */
    atomic_bool hold;      /* no batch is done */
    atomic_int busy;       /* devices with a batch under way */
    atomic_bool hold_make; /* no session_new is done */
    atomic_int size_us[FAKE_SIZES];   /* that much more for one of up to 1, 2, 4 ... frames */
    atomic_int cuda_count;            /* devices that there are */
    atomic_uint cuda_broken;          /* bit n: cuda:n does not open */
    atomic_int most_flights;          /* batches that were under way at once */
    atomic_int overlapped;            /* batches that were enqueued while another was under way */
    atomic_long host_bytes;           /* of pictures */
    atomic_int wrong;                 /* calls that break the contract */
    atomic_int session_fails;         /* what session_new answers, 0 = it works */
    atomic_int restarts;              /* frames that came with `restart` */
    atomic_uint breaks[FAKE_SOURCES]; /* of the last frame of each source */
    atomic_bool lost;                 /* poses that are not given are a guess */
    atomic_int depths;                /* frames whose depth was asked for */
    atomic_int turn;                  /* of the last item */
    struct fake_seen seen;            /* the same; read it after the frame's answer */
    atomic_int make_us;               /* what session_new takes */
    atomic_int engines;               /* JPEG engines: they make any file white */
    atomic_int engines_fail;          /* what they answer, 0 = they work */
    atomic_int decoded;               /* pictures that they were given */
    const struct gpu_line
        *_Atomic lines[FAKE_LINES]; /* of the last batches: batch i % FAKE_LINES */
} fake_gpu_plan;

struct fake_gpu {
    struct gpu base;
    char device[16];
    int oldest, next; /* batches: those between are under way */
    uint64_t done_us[GPU_BATCHES];
    atomic_int runner; /* thread that runs frames; 0 = none did */
    bool lost;
};

struct fake_session {
    struct gpu_session base;
    uint32_t frame;
    uint8_t rounds;
    bool under_way;
    struct gpu_change changes[2 * FAKE_POINTS];
};

/* The thread that feeds the device makes and frees nothing. */
static void fake_made(struct gpu *g)
{
    fake_gpu_plan.wrong += ((struct fake_gpu *)g)->runner == gettid();
}

static int fake_model_open(struct gpu_model **m, struct gpu *g, const struct gpu_model_info *info,
                           struct err *err)
{
    fake_made(g);
    *m = calloc(1, sizeof(**m));
    if (!*m)
        return err_set(err, ERR_MEMORY, "no memory");
    (*m)->gpu = g;
    (*m)->info = *info;
    fake_gpu_plan.models++;
    return 0;
}

static void fake_model_close(struct gpu_model *m)
{
    fake_gpu_plan.models--;
    free(m);
}

static size_t fake_session_bytes(const struct gpu_session_config *c)
{
    (void)c;
    return 1 << 20;
}

static int fake_session_new(struct gpu_session **s, struct gpu *g,
                            const struct gpu_session_config *c, struct err *err)
{
    struct fake_session *f;

    fake_made(g);
    if (fake_gpu_plan.make_us)
        usleep((useconds_t)fake_gpu_plan.make_us);
    while (fake_gpu_plan.hold_make)
        usleep(200);
    if (fake_gpu_plan.session_fails)
        return err_set(err, fake_gpu_plan.session_fails, "as planned");
    f = calloc(1, sizeof(*f));
    if (!f)
        return err_set(err, ERR_MEMORY, "no memory");
    f->base.gpu = g;
    f->base.config = *c;
    *s = &f->base;
    fake_gpu_plan.sessions++;
    return 0;
}

static void fake_session_free(struct gpu_session *s)
{
    fake_gpu_plan.sessions--;
    fake_gpu_plan.wrong += ((struct fake_session *)s)->under_way;
    fake_made(s->gpu);
    free(s);
}

static int fake_submit_fails(struct fake_gpu *f, int n, struct err *err)
{
    if (f->lost)
        return err_set(err, ERR_DEVICE, "the context is lost");
    if (f->next - f->oldest == GPU_BATCHES) {
        fake_gpu_plan.wrong++;
        return err_set(err, ERR_STATE, "%d batches are under way", GPU_BATCHES);
    }
    if (fake_gpu_plan.fail_at && fake_gpu_plan.frames + n >= fake_gpu_plan.fail_at) {
        fake_gpu_plan.fail_at = 0;
        f->lost = fake_gpu_plan.fail_with == ERR_DEVICE;
        return err_set(err, fake_gpu_plan.fail_with, "as planned");
    }
    return 0;
}

static uint64_t fake_takes_us(int n)
{
    int size = 0;

    while (size < FAKE_SIZES - 1 && 1 << size < n)
        size++;
    return (uint64_t)fake_gpu_plan.wait_us + (uint64_t)fake_gpu_plan.size_us[size];
}

/* What a frame brings beside its picture, all of it read. */
static void fake_see(const struct gpu_frame *f)
{
    const struct gpu_session_config *c = &f->item.session->config;
    struct fake_seen *seen = &fake_gpu_plan.seen;

    *seen = (struct fake_seen){f->width,
                               f->height,
                               f->K,
                               f->lens,
                               f->sensor,
                               0,
                               0,
                               0,
                               f->has_start,
                               f->T_wc,
                               {f->turn[0], f->turn[1], f->turn[2]},
                               f->turn_s,
                               f->submap,
                               f->breaks};
    for (int i = 0; f->sensor.values && i < f->sensor.width * f->sensor.height; i++) {
        seen->values += (uint64_t)f->sensor.values[i] * (uint64_t)(i % 251 + 1);
        seen->sure += f->sensor.sure ? f->sensor.sure[i] : 255u;
    }
    for (int i = 0; f->mask && i < c->net_w * c->net_h; i++)
        seen->masked += f->mask[i] != 0;
}

/* A round is a frame that is masked all over, after a loss of tracking that no frame told of. */
static bool fake_is_round(const struct gpu_item *item)
{
    const struct gpu_session_config *c = &item->session->config;
    const struct gpu_frame *f = (const struct gpu_frame *)item;
    int masked = 0, all = c->net_w * c->net_h;

    if (c->line != &gpu_line_mono || f->breaks != UINT32_MAX)
        return false;
    for (int i = 0; f->mask && i < all; i++)
        masked += f->mask[i] != 0;
    fake_gpu_plan.wrong += masked != all;
    return true;
}

static int fake_submit(struct gpu *g, const struct gpu_line *line, struct gpu_item *const *items,
                       int n, struct err *err)
{
    struct fake_gpu *f = (struct fake_gpu *)g;
    uint64_t now_us;
    int rc;

    fake_gpu_plan.lines[fake_gpu_plan.batches++ % FAKE_LINES] = line;
    f->runner = gettid();
    if (n > fake_gpu_plan.largest_batch)
        fake_gpu_plan.largest_batch = n;
    if (fake_gpu_plan.delay_us)
        usleep((useconds_t)fake_gpu_plan.delay_us);
    rc = fake_submit_fails(f, n, err);
    if (rc)
        return rc;
    for (int i = 0; i < n; i++) {
        struct fake_session *s = (struct fake_session *)items[i]->session;
        fake_gpu_plan.wrong += s->under_way; /* its last frame is not done */
        fake_gpu_plan.wrong += items[i]->session->config.line != line;
        fake_gpu_plan.wrong += (items[i]->turn & 1) && !gpu_session_is_sideways(&s->base);
        if (!fake_is_round(items[i]))
            fake_gpu_plan.turn = items[i]->turn;
        if (line == &gpu_line_mono && !fake_is_round(items[i]))
            fake_see((const struct gpu_frame *)items[i]);
        s->under_way = true;
        items[i]->batch = f->next;
    }
    now_us = clock_us();
    fake_gpu_plan.busy += f->next == f->oldest;
    if (f->next > f->oldest) {
        uint64_t before_us = f->done_us[(f->next - 1) % GPU_BATCHES];
        fake_gpu_plan.overlapped += before_us > now_us || fake_gpu_plan.hold;
        now_us = before_us > now_us ? before_us : now_us;
    }
    f->done_us[f->next++ % GPU_BATCHES] = now_us + fake_takes_us(n);
    if (f->next - f->oldest > fake_gpu_plan.most_flights)
        fake_gpu_plan.most_flights = f->next - f->oldest;
    return 0;
}

static void fake_put(struct gpu_change *c, const struct gpu_frame *f, uint32_t frame, uint32_t i)
{
    uint32_t slot = (frame * FAKE_STEP + i) % FAKE_SLOTS, where = slot * 613u + f->rgb[0];

    *c = (struct gpu_change){
        .id = frame * 1000u + i, .slot = slot, .kind = GPU_CHANGE_PUT, .confidence = 1};
    for (int k = 0; k < 3; k++)
        c->p_q[k] = (int32_t)(where >> (3 * k) & 0xfff) - 2048 + (int32_t)(1000 * f->T_wc.t[k]);
    c->rgb[0] = (uint8_t)((where + frame * 4) & 0xfc);
    c->rgb[1] = (uint8_t)(where >> 4 & 0xfc);
    c->rgb[2] = f->rgb[1] & 0xfc;
}

static void fake_close_one(struct gpu_frame *f)
{
    struct fake_session *s = (struct fake_session *)f->item.session;

    fake_gpu_plan.rounds++;
    memset(&f->result, 0, sizeof(f->result));
    f->result.n_keyframes = (s->frame + 3) / 4;
    f->result.n_points = f->result.n_stable = FAKE_POINTS;
    f->result.views.n_keyframes = (uint32_t)fake_gpu_plan.waiting;
    f->result.views.n_refined = s->rounds;
    if (s->rounds < fake_gpu_plan.waiting) {
        fake_put(s->changes, f, s->frame + 1 + s->rounds, 0);
        f->result.n_changes = 1;
        f->result.views.n_refined = ++s->rounds;
    }
    f->changes = s->changes;
    f->item.n_passes = 0;
}

static void fake_change_one(struct gpu_frame *f)
{
    struct fake_session *s = (struct fake_session *)f->item.session;
    uint32_t n = 0;

    if (fake_gpu_plan.deadly && f->T_wc.t[2] > FAKE_DEADLY_M)
        raise(fake_gpu_plan.deadly);
    fake_gpu_plan.frames++;
    fake_gpu_plan.restarts += f->restart;
    fake_gpu_plan.breaks[f->source % FAKE_SOURCES] = f->breaks;
    s->frame++;
    for (uint32_t i = 0; i < FAKE_POINTS; i++)
        fake_put(&s->changes[n++], f, s->frame, i);
    for (uint32_t i = 0; i < FAKE_POINTS && s->frame % FAKE_REMOVE == 0; i++)
        s->changes[n++] = (struct gpu_change){.slot = (s->frame * FAKE_STEP + 300 + i) % FAKE_SLOTS,
                                              .kind = GPU_CHANGE_REMOVE};
    memset(&f->result, 0, sizeof(f->result));
    f->result.T_wc = f->T_wc;
    f->result.submap = f->submap;
    if (!f->has_pose && fake_gpu_plan.lost)
        f->result.tracks.state = GPU_TRACKS_LOST;
    else if (!f->has_pose)
        f->result.tracks = (struct gpu_tracks){
            .state = GPU_TRACKS_FOUND, .log_scale = -0.25f, .log_sigma = 0.0625f};
    f->result.is_keyframe = s->frame % 4 == 1;
    f->result.n_keyframes = (s->frame + 3) / 4;
    f->result.n_changes = n;
    f->result.views.n_keyframes = 10 * (f->source + 1);
    f->result.n_points = f->result.n_stable = FAKE_POINTS;
    f->changes = s->changes;
    f->item.passes[0] = (struct gpu_pass_time){"fake", 10};
    f->item.n_passes = 1;
    fake_gpu_plan.depths += f->depth_out != NULL;
    if (f->depth_out)
        for (int i = 0; i < f->item.session->config.net_w * f->item.session->config.net_h; i++)
            f->depth_out[i] = 1.5f;
}

static int fake_wait(struct gpu *g, struct gpu_item *const *items, int n, struct err *err)
{
    struct fake_gpu *f = (struct fake_gpu *)g;
    uint64_t now_us = clock_us(), done_us = f->done_us[f->oldest % GPU_BATCHES];

    if (f->oldest == f->next || items[0]->batch != f->oldest ||
        !((struct fake_session *)items[0]->session)->under_way)
        return 0; /* it never was under way */
    while (fake_gpu_plan.hold)
        usleep(200);
    now_us = clock_us();
    if (done_us > now_us)
        usleep((useconds_t)(done_us - now_us));
    f->oldest++;
    fake_gpu_plan.busy -= f->oldest == f->next;
    if (fake_gpu_plan.fail_wait && f->oldest == fake_gpu_plan.fail_wait) {
        f->lost = fake_gpu_plan.fail_with == ERR_DEVICE;
        for (int i = 0; i < n; i++)
            ((struct fake_session *)items[i]->session)->under_way = false;
        return err_set(err, fake_gpu_plan.fail_with, "as planned");
    }
    for (int i = 0; i < n; i++) {
        fake_gpu_plan.wrong += items[i]->batch != f->oldest - 1;
        ((struct fake_session *)items[i]->session)->under_way = false;
        if (!f->lost)
            (fake_is_round(items[i]) ? fake_close_one : fake_change_one)(gpu_frame_of(items[i]));
    }
    return f->lost ? err_set(err, ERR_DEVICE, "the context is lost") : 0;
}

static void *fake_host_get(struct gpu *g, size_t bytes)
{
    void *memory = malloc(bytes);

    (void)g;
    if (memory)
        fake_gpu_plan.host_bytes += (long)bytes;
    return memory;
}

static void fake_host_put(struct gpu *g, void *memory, size_t bytes)
{
    (void)g;
    fake_gpu_plan.host_bytes -= (long)bytes;
    free(memory);
}

static void fake_close(struct gpu *g)
{
    fake_gpu_plan.wrong += ((struct fake_gpu *)g)->oldest != ((struct fake_gpu *)g)->next;
    free(g);
}

static void fake_get_info(const struct gpu *g, struct gpu_info *info)
{
    const char *device = ((const struct fake_gpu *)g)->device;

    memset(info, 0, sizeof(*info));
    strcpy(info->backend, strncmp(device, "cuda", 4) ? "fake" : "cuda");
    strcpy(info->device, device);
    strcpy(info->model, "none");
    strcpy(info->why, g->why);
    info->memory_total_bytes = 64ull << 30;
    info->threads = 1;
    info->temperature_c = 40.0f;
    info->jpeg_engines = fake_gpu_plan.engines;
}

static int fake_decode(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err)
{
    (void)g;
    if (!fake_gpu_plan.engines)
        return err_set(err, ERR_UNSUPPORTED, "no engines");
    fake_gpu_plan.decoded++;
    if (fake_gpu_plan.engines_fail)
        return err_set(err, fake_gpu_plan.engines_fail, "the engines fail");
    memset(jpeg->rgb, 255, (size_t)jpeg->w * (size_t)jpeg->h * 3);
    return 0;
}

/* What a later frame depends on: how many there were, and how many rounds. */
#define FAKE_ROUNDS_SHIFT 24
#define FAKE_STATE SECTION_TAG('G', 'S', 'E', 'S')

static size_t fake_state_bytes(struct gpu_session *s)
{
    return section_bytes(sizeof(((struct fake_session *)s)->frame));
}

static int fake_save(struct gpu_session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct fake_session *f = (struct fake_session *)s;
    uint8_t *body = section_open(buf, cap, 0, sizeof(f->frame));

    if (f->under_way)
        fake_gpu_plan.wrong++;
    if (!body)
        return err_set(err, ERR_LIMIT, "%zu bytes are too few", cap);
    memcpy(body, &(uint32_t){f->frame | (uint32_t)f->rounds << FAKE_ROUNDS_SHIFT},
           sizeof(f->frame));
    *len = 0;
    section_close(buf, len, FAKE_STATE, 1, 0, sizeof(f->frame));
    return 0;
}

static int fake_load(struct gpu_session *s, const uint8_t *buf, size_t len, struct err *err)
{
    struct fake_session *f = (struct fake_session *)s;
    struct section state;

    if (f->frame || !section_find(&state, buf, len, FAKE_STATE) || state.len != sizeof(f->frame))
        return err_set(err, f->frame ? ERR_STATE : ERR_INPUT, "not a state for this session");
    memcpy(&f->frame, state.body, sizeof(f->frame));
    f->rounds = (uint8_t)(f->frame >> FAKE_ROUNDS_SHIFT);
    f->frame &= (1u << FAKE_ROUNDS_SHIFT) - 1;
    return 0;
}

static const struct gpu_session_ops fake_session_ops = {
    .bytes = fake_session_bytes,
    .make = fake_session_new,
    .free = fake_session_free,
    .state_bytes = fake_state_bytes,
    .save = fake_save,
    .load = fake_load,
};

static const struct gpu_session_ops *fake_session(const struct gpu_line *line)
{
    (void)line;
    return &fake_session_ops;
}

static const struct gpu_ops fake_ops = {
    .name = "fake",
    .close = fake_close,
    .get_info = fake_get_info,
    .model_open = fake_model_open,
    .model_close = fake_model_close,
    .session = fake_session,
    .submit = fake_submit,
    .wait = fake_wait,
    .host_get = fake_host_get,
    .host_put = fake_host_put,
    .decode = fake_decode,
};

static inline int fake_cuda_count(void)
{
    return fake_gpu_plan.cuda_count;
}

/* "auto" is cuda:0 where the plan has CUDA devices, else a device named "fake". */
static inline int fake_open(struct gpu **g, const struct gpu_config *config, struct err *err)
{
    const char *name = config->device;
    struct fake_gpu *f;

    *g = NULL;
    if (strcmp(name, "auto") == 0)
        name = fake_gpu_plan.cuda_count && !(fake_gpu_plan.cuda_broken & 1) ? "cuda:0" : "fake";
    if (strcmp(name, "cuda") == 0)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA in this test");
    if (strncmp(name, "cuda:", 5) == 0 && (atoi(name + 5) >= fake_gpu_plan.cuda_count ||
                                           fake_gpu_plan.cuda_broken >> atoi(name + 5) & 1))
        return err_set(err, ERR_DEVICE, "%s does not answer", name);
    f = calloc(1, sizeof(*f));
    if (!f)
        return err_set(err, ERR_MEMORY, "no memory");
    f->base.ops = &fake_ops;
    snprintf(f->device, sizeof(f->device), "%s", name);
    strcpy(f->base.why, "a test asked for it");
    *g = &f->base;
    return 0;
}
