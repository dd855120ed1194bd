/*
 * queue.h - the frames of one session between its client and the device
 *
 * frame_state.h has the states of a frame's slot. All slots are made with the session; a frame's
 * payload is copied once, into its slot. The lowest free slot is taken first, and pages of unused
 * slots are never touched. Pictures are decoded at most QUEUE_AHEAD frames ahead of the device, so
 * a frame that will be dropped is seldom decoded.
 * Sources: the feeding sources share the slots: a source has more than its share only while
 *          QUEUE_RESERVE slots stay free for each other one (counting those that it has). So a
 *          source that sends too much loses its own frames alone.
 * Full:    a source with its share or more drops its own oldest frame that no thread works on,
 *          undecoded ones first; one with less drops a frame of the source that has most. If there
 *          is none, or the session is lossless, the new frame is refused. The caller answers for
 *          the dropped frame.
 * Threads: any push (WebSocket edge, recovery), one decodes at a time, one runs (worker); one mutex
 *          inside.
 * Owner:   an item belongs to the thread that took it until queue_ready() or queue_release().
 */
#pragma once

#include "daemon/session/frame_state.h"
#include "daemon/session/jump.h"
#include "gpu/gpu.h"
#include "proto/err.h"
#include "proto/wire/control.h"
#include "proto/wire/frame.h"

#include <stdbool.h>

#define QUEUE_FRAMES_MAX 64
#define QUEUE_RESERVE 2 /* free slots kept for each other source, at most its share */
#define QUEUE_AHEAD 2   /* decoded frames that wait for the device */
#define QUEUE_PICTURES (QUEUE_AHEAD + 1) /* one more is on the device */

/* A frame that was dropped for another one. */
struct queue_dropped {
    bool any;
    uint64_t seq, stream;
    int source;
    uint64_t number; /* number of its record in the journal, 0 = none */
    int suspect;
};

/* A frame as it comes in. */
struct queue_arrival {
    const struct frame *frame;
    const uint8_t *header; /* [FRAME_HEADER_BYTES] as it was sent; NULL: it will not be stored */
    enum frame_pose_convention convention; /* convention of the header's pose */
    uint64_t stream;                       /* serial number of the client that sent it */
    int source;                            /* its source (sources.h) */
    uint32_t feeders;                      /* bit i: a client of source i is connected */
    uint32_t submap;                       /* submap of its pose */
    uint64_t received_us;                  /* clock_us() */
    uint32_t breaks;                       /* how often tracking had been lost when it was sent */
    bool cut;                              /* sources_submap.cut of its submap */
    struct jump jump;                      /* its source's motion behind it */
};

struct queue_item {
    struct frame frame;           /* its body lies in the slot */
    uint64_t stream, received_us; /* of its arrival, as those below */
    int source;
    uint32_t submap;
    uint64_t decode_us; /* time that decoding took */
    uint32_t breaks;
    bool cut;
    struct jump jump;
    /* set by the journal (daemon/disk) */
    int slot;                           /* 0 ... n_frames - 1, fixed */
    uint64_t number;                    /* number of its record, 0 = none */
    int suspect;                        /* suspect_enter(), -1 = none */
    bool replayed;                      /* it comes from the journal */
    uint8_t header[FRAME_HEADER_BYTES]; /* as it was sent */
    enum frame_pose_convention convention;
    uint8_t *rgb;      /* picture, from queue_take_waiting() on; NULL while there are no pictures */
    int width, height; /* size of rgb, set by the decoder */
    struct intrinsics K; /* intrinsics of rgb */
    int exif_turn;       /* jpeg_info.turn */
    /* The frame's other parts; NULL: it has none (daemon/work/parts.h). */
    struct gpu_sensor sensor;
    const uint8_t *mask;
    uint8_t *second; /* the other picture of a pair, as large as rgb */
    struct intrinsics second_K;
    uint8_t bad_part; /* enum frame_part_type of the part that the decoder refuses; 0 = none */
    /* for the queue alone */
    atomic_int state; /* enum frame_state */
    uint64_t rank;
    int picture;
};

/* Allocates pictures in memory that the session's device reads fast. */
struct queue_memory {
    void *(*get)(void *ctx, size_t bytes); /* NULL: there is none */
    void (*put)(void *ctx, void *memory, size_t bytes);
    void *ctx; /* must outlive the queue */
};

struct queue;

MUST_CHECK int queue_new(struct queue **q, int n_frames, size_t max_payload_bytes, struct err *err);
void queue_free(struct queue **q);
/* Call it before the first frame; without it pictures come from malloc(). */
void queue_set_memory(struct queue *q, const struct queue_memory *memory);
/* Call it before the first frame: no frame is dropped for a new one. */
void queue_set_lossless(struct queue *q);
size_t queue_bytes(int n_frames, size_t max_payload_bytes);

/*
 * queue_push - copy a frame in
 *
 * Out:     *item, storing: queue_stored() sends it on its way. *dropped: the frame that made room,
 *          if one had to; perhaps the new one
 * Returns: 0; ERR_BUSY: the new frame was turned away (and is in *dropped); ERR_LIMIT: body over
 *          max_payload_bytes, nothing changed
 */
MUST_CHECK int queue_push(struct queue *q, const struct queue_arrival *a, struct queue_item **item,
                          struct queue_dropped *dropped, struct err *err);
/* The frame is stored and may be decoded. */
void queue_stored(struct queue *q, struct queue_item *item);

/* Takes the oldest waiting frame for decoding; NULL if there is none, or enough are decoded
 * already, or one is being decoded. */
struct queue_item *queue_take_waiting(struct queue *q);
/* Allocates pictures of this many bytes, once a session: before it items have no rgb. */
MUST_CHECK int queue_set_pictures(struct queue *q, struct queue_item *decoding, size_t bytes,
                                  struct err *err);
/* Frees them: the first frame's size turned out not to be the session's. */
void queue_unset_pictures(struct queue *q, struct queue_item *decoding);
void queue_ready(struct queue *q, struct queue_item *item);

/* Takes the oldest decoded frame for the device; NULL if there is none. */
struct queue_item *queue_take_ready(struct queue *q);
/* The frame is refused, and keeps its slot until that is stored. */
void queue_ending(struct queue *q, struct queue_item *item);
/* Frees the slot of any item that was taken. Returns the client that is to be told of its end. */
uint64_t queue_release(struct queue *q, struct queue_item *item);
/* A client sent this frame of its source again (same seq, same time) while it is still in the
 * queue: its end is told to that client. Returns false if it is not in the queue, or was its
 * own. */
bool queue_adopt(struct queue *q, int source, const struct frame *f, uint64_t stream);

bool queue_can_decode(struct queue *q);
bool queue_has_ready(struct queue *q);
int queue_used(struct queue *q); /* slots that are not free */
