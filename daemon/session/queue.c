#include "daemon/session/queue.h"

#include "proto/lock.h"

#include <stdlib.h>
#include <string.h>

struct queue {
    struct lock lock;
    int n;
    size_t slab_bytes;
    uint64_t next_rank;
    uint8_t *slabs;    /* [n][slab_bytes] */
    uint8_t *pictures; /* [QUEUE_PICTURES][picture_bytes], NULL before the first frame */
    size_t picture_bytes;
    struct queue_memory memory;
    bool lossless; /* no frame is dropped for another */
    bool picture_used[QUEUE_PICTURES];
    struct queue_item items[];
};

/* Slots begin on pages of their own, so that unused ones are never touched. */
static size_t slab_size(size_t max_payload_bytes)
{
    return (max_payload_bytes + 4095) & ~(size_t)4095;
}

size_t queue_bytes(int n_frames, size_t max_payload_bytes)
{
    return sizeof(struct queue) +
           (size_t)n_frames * (sizeof(struct queue_item) + slab_size(max_payload_bytes));
}

static void *plain_get(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void plain_put(void *ctx, void *memory, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(memory);
}

static void free_pictures(struct queue *q)
{
    if (q->pictures)
        q->memory.put(q->memory.ctx, q->pictures, q->picture_bytes * QUEUE_PICTURES);
    q->pictures = NULL;
}

int queue_new(struct queue **queue, int n_frames, size_t max_payload_bytes, struct err *err)
{
    struct queue *q;

    *queue = NULL;
    if (n_frames < 1 || n_frames > QUEUE_FRAMES_MAX)
        return err_set(err, ERR_INPUT, "a queue of %d frames, 1 to %d are allowed", n_frames,
                       QUEUE_FRAMES_MAX);
    q = calloc(1, sizeof(*q) + (size_t)n_frames * sizeof(q->items[0]));
    if (!q)
        return err_set(err, ERR_MEMORY, "no memory for a queue of frames");
    q->n = n_frames;
    q->memory = (struct queue_memory){plain_get, plain_put, NULL};
    q->slab_bytes = slab_size(max_payload_bytes);
    q->slabs = malloc((size_t)n_frames * q->slab_bytes);
    if (!q->slabs) {
        free(q);
        return err_set(err, ERR_MEMORY, "no memory for %d frames of %zu bytes", n_frames,
                       max_payload_bytes);
    }
    for (int i = 0; i < n_frames; i++)
        q->items[i].slot = i;
    lock_init(&q->lock, LOCK_QUEUE);
    *queue = q;
    return 0;
}

void queue_set_memory(struct queue *q, const struct queue_memory *memory)
{
    q->memory = *memory;
}

void queue_set_lossless(struct queue *q)
{
    q->lossless = true;
}

void queue_free(struct queue **queue)
{
    struct queue *q = *queue;

    if (!q)
        return;
    lock_destroy(&q->lock);
    free_pictures(q);
    free(q->slabs);
    free(q);
    *queue = NULL;
}

/* Returns the oldest item in a state, of one source or (-1) of any; NULL if there is none. */
static struct queue_item *oldest_of(struct queue *q, int state, int source)
{
    struct queue_item *best = NULL;

    for (int i = 0; i < q->n; i++)
        if (q->items[i].state == state && (source < 0 || q->items[i].source == source) &&
            (!best || q->items[i].rank < best->rank))
            best = &q->items[i];
    return best;
}

static struct queue_item *queue_oldest(struct queue *q, int state)
{
    return oldest_of(q, state, -1);
}

static int count_of(const struct queue *q, int state)
{
    int n = 0;

    for (int i = 0; i < q->n; i++)
        n += q->items[i].state == state;
    return n;
}

static void give_picture(struct queue *q, struct queue_item *item)
{
    if (item->rgb)
        q->picture_used[item->picture] = false;
    item->rgb = NULL;
}

static bool take_picture(struct queue *q, struct queue_item *item)
{
    for (int i = 0; q->pictures && i < QUEUE_PICTURES; i++) {
        if (q->picture_used[i])
            continue;
        q->picture_used[i] = true;
        item->picture = i;
        item->rgb = q->pictures + (size_t)i * q->picture_bytes;
        return true;
    }
    return false;
}

/* Counts the slots of a source. */
static int slots_of(const struct queue *q, int source)
{
    int n = 0;

    for (int i = 0; i < q->n; i++)
        n += q->items[i].state != FRAME_STATE_FREE && q->items[i].source == source;
    return n;
}

/* Returns the oldest frame of a source that no thread works on. */
static struct queue_item *oldest_idle(struct queue *q, int source)
{
    struct queue_item *item = oldest_of(q, FRAME_STATE_WAITING, source);

    return item ? item : oldest_of(q, FRAME_STATE_READY, source);
}

/* Returns such a frame of the source with the most slots, if these are more than `own`. */
static struct queue_item *oldest_of_fullest(struct queue *q, int own)
{
    struct queue_item *best = NULL;

    for (int i = 0; i < q->n; i++) {
        int n = q->items[i].state == FRAME_STATE_FREE ? 0 : slots_of(q, q->items[i].source);
        struct queue_item *item = n > own ? oldest_idle(q, q->items[i].source) : NULL;

        if (!item)
            continue;
        own = n;
        best = item;
    }
    return best;
}

static struct queue_item *free_slot(struct queue *q)
{
    for (int i = 0; i < q->n; i++)
        if (q->items[i].state == FRAME_STATE_FREE)
            return &q->items[i];
    return NULL;
}

/* Returns a free slot, dropping a frame if necessary; NULL if there is none for this source. */
static struct queue_item *make_room(struct queue *q, const struct queue_arrival *a,
                                    struct queue_dropped *dropped)
{
    uint32_t others = a->feeders & ~(1u << a->source);
    int n = 1 + __builtin_popcount(others), own = slots_of(q, a->source), reserved = 0;
    int share = q->n > n ? q->n / n : 1, reserve = share < QUEUE_RESERVE ? share : QUEUE_RESERVE;
    struct queue_item *item;

    for (int i = 0; i < 32; i++)
        if (others >> i & 1 && slots_of(q, i) < reserve)
            reserved += reserve - slots_of(q, i);
    if (own < share || count_of(q, FRAME_STATE_FREE) > reserved) {
        item = free_slot(q);
        if (item)
            return item;
    }
    if (q->lossless)
        return NULL;
    item = own < share ? oldest_of_fullest(q, own) : NULL;
    if (!item)
        item = oldest_idle(q, a->source);
    if (!item)
        return NULL;
    *dropped = (struct queue_dropped){true,         item->frame.seq, item->stream,
                                      item->source, item->number,    item->suspect};
    give_picture(q, item);
    return item;
}

/* Copies the frame into its slot: no other copy of its bytes is made on this host. */
static void copy_in(struct queue *q, struct queue_item *item, const struct queue_arrival *a)
{
    const struct frame *f = a->frame;
    uint8_t *slab = q->slabs + (size_t)(item - q->items) * q->slab_bytes;

    memcpy(slab, f->body, f->body_len);
    item->frame = *f;
    frame_move(&item->frame, slab);
    item->stream = a->stream;
    item->submap = a->submap;
    item->received_us = a->received_us;
    item->breaks = a->breaks;
    item->cut = a->cut;
    item->jump = a->jump;
    item->number = 0;
    item->suspect = -1;
    item->bad_part = 0;
    item->replayed = false;
    item->convention = a->convention;
    if (a->header)
        memcpy(item->header, a->header, FRAME_HEADER_BYTES);
}

int queue_push(struct queue *q, const struct queue_arrival *a, struct queue_item **out,
               struct queue_dropped *dropped, struct err *err)
{
    const struct frame *f = a->frame;
    struct queue_item *item;

    *out = NULL;
    dropped->any = false;
    if (f->body_len > q->slab_bytes)
        return err_at(err, ERR_LIMIT, "parts", "%u bytes, at most %zu are allowed",
                      (unsigned)f->body_len, q->slab_bytes);
    lock_take(&q->lock);
    item = make_room(q, a, dropped);
    if (item) {
        frame_state_move(&item->state, dropped->any ? FRAME_EVENT_DISPLACE : FRAME_EVENT_COME);
        item->source = a->source;
    }
    lock_give(&q->lock);
    if (!item) {
        *dropped = (struct queue_dropped){true, f->seq, a->stream, a->source, 0, -1};
        return err_set(err, ERR_BUSY, "every frame of the queue is being worked on");
    }
    copy_in(q, item, a);
    lock_take(&q->lock);
    item->rank = q->next_rank++;
    frame_state_move(&item->state, FRAME_EVENT_COPIED);
    lock_give(&q->lock);
    *out = item;
    return 0;
}

static void move_item(struct queue *q, struct queue_item *item, enum frame_event event)
{
    lock_take(&q->lock);
    frame_state_move(&item->state, event);
    lock_give(&q->lock);
}

void queue_stored(struct queue *q, struct queue_item *item)
{
    move_item(q, item, FRAME_EVENT_STORED);
}

void queue_ending(struct queue *q, struct queue_item *item)
{
    lock_take(&q->lock);
    give_picture(q, item);
    frame_state_move(&item->state, FRAME_EVENT_REFUSE);
    lock_give(&q->lock);
}

static bool may_decode(const struct queue *q)
{
    return count_of(q, FRAME_STATE_DECODING) == 0 && count_of(q, FRAME_STATE_READY) < QUEUE_AHEAD &&
           count_of(q, FRAME_STATE_WAITING) > 0;
}

struct queue_item *queue_take_waiting(struct queue *q)
{
    struct queue_item *item = NULL;

    lock_take(&q->lock);
    if (may_decode(q)) {
        item = queue_oldest(q, FRAME_STATE_WAITING);
        if (q->pictures && !take_picture(q, item))
            item = NULL;
        if (item)
            frame_state_move(&item->state, FRAME_EVENT_DECODE);
    }
    lock_give(&q->lock);
    return item;
}

int queue_set_pictures(struct queue *q, struct queue_item *decoding, size_t bytes, struct err *err)
{
    uint8_t *pictures = q->memory.get(q->memory.ctx, bytes * QUEUE_PICTURES);

    if (!pictures)
        return err_set(err, ERR_MEMORY, "no memory for %d pictures of %zu bytes", QUEUE_PICTURES,
                       bytes);
    lock_take(&q->lock);
    q->pictures = pictures;
    q->picture_bytes = bytes;
    take_picture(q, decoding);
    lock_give(&q->lock);
    return 0;
}

void queue_unset_pictures(struct queue *q, struct queue_item *decoding)
{
    lock_take(&q->lock);
    give_picture(q, decoding);
    free_pictures(q);
    lock_give(&q->lock);
}

void queue_ready(struct queue *q, struct queue_item *item)
{
    move_item(q, item, FRAME_EVENT_DECODED);
}

struct queue_item *queue_take_ready(struct queue *q)
{
    struct queue_item *item;

    lock_take(&q->lock);
    item = queue_oldest(q, FRAME_STATE_READY);
    if (item)
        frame_state_move(&item->state, FRAME_EVENT_TAKE);
    lock_give(&q->lock);
    return item;
}

uint64_t queue_release(struct queue *q, struct queue_item *item)
{
    uint64_t stream;

    lock_take(&q->lock);
    give_picture(q, item);
    frame_state_move(&item->state, FRAME_EVENT_END);
    stream = item->stream;
    lock_give(&q->lock);
    return stream;
}

bool queue_adopt(struct queue *q, int source, const struct frame *f, uint64_t stream)
{
    bool found = false;

    lock_take(&q->lock);
    for (int i = 0; i < q->n && !found; i++) {
        struct queue_item *item = &q->items[i];
        if (item->state <= FRAME_STATE_FILLING || item->source != source ||
            item->frame.seq != f->seq || item->frame.t_capture_ns != f->t_capture_ns ||
            item->stream == stream)
            continue;
        item->stream = stream;
        found = true;
    }
    lock_give(&q->lock);
    return found;
}

bool queue_can_decode(struct queue *q)
{
    bool can;

    lock_take(&q->lock);
    can = may_decode(q);
    lock_give(&q->lock);
    return can;
}

bool queue_has_ready(struct queue *q)
{
    bool has;

    lock_take(&q->lock);
    has = queue_oldest(q, FRAME_STATE_READY) != NULL;
    lock_give(&q->lock);
    return has;
}

int queue_used(struct queue *q)
{
    int n;

    lock_take(&q->lock);
    n = q->n - count_of(q, FRAME_STATE_FREE);
    lock_give(&q->lock);
    return n;
}
