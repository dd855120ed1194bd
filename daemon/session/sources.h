/*
 * sources.h - the sources of a session: frame numbers, submaps, verdicts of frames
 *
 * A source is a phone, named by its `start`, with frame numbers, a clock and a world_epoch of its
 * own. Every (source, world_epoch) of a taken frame is a submap, numbered by appearance.
 * A frame is taken just before it enters the queue, and gets one verdict. A source's last_seq is
 * the highest number of a used or dropped frame. The last SOURCES_VERDICTS verdicts are kept, so
 * that a repeated frame gets the same answer. A frame refused before it is taken leaves no trace.
 *
 * Owner:   a session, under whose lock all calls are made
 * Memory:  a source's verdicts are allocated when it appears; sources_bytes() is the most
 */
#pragma once

#include "api/api.h"
#include "daemon/session/jump.h"
#include "gpu/gpu.h"

#define SOURCES_VERDICTS 4096

struct sources;

MUST_CHECK int sources_new(struct sources **s, struct err *err);
/* Before the first frame: submaps from number `most` on are refused. Else GPU_SUBMAPS_MAX are. */
void sources_limit_submaps(struct sources *s, int most);
void sources_free(struct sources **s);
size_t sources_bytes(void);

/*
 * sources_join - the number of the source of this name, which is added if it is new
 *
 * In:      connected: bit i: a client of source i is connected. A source that never had a frame
 *          taken and has no client leaves its place to another.
 * Returns: 0 ... API_SOURCES_MAX - 1; ERR_LIMIT: there are that many; ERR_MEMORY
 */
MUST_CHECK int sources_join(struct sources *s, const char *name, uint32_t connected,
                            struct err *err);
const char *sources_name(const struct sources *s, int source);
/* Fills info [API_SOURCES_MAX], all but `connected`; returns the number of places that are or were
 * in use. A place without a source has no name. */
int sources_info(const struct sources *s, struct api_source *info);

/* Fills list [API_SUBMAPS_MAX]: the submaps that frames were taken of, with source and epoch.
 * Returns how many there are. */
int sources_submaps(const struct sources *s, struct api_submap *list);
/* Returns the submap of the same epoch before this one, which jumped or was cut; -1: there is
 * none. */
int sources_submap_before(const struct sources *s, uint32_t submap);
bool sources_has_submap(const struct sources *s, uint32_t submap);
int sources_n_submaps(const struct sources *s); /* counts unseen ones below others, too */

/* Was this frame answered? *ack is its verdict. A refused frame is known by its time as well, since
 * another one may have its number. */
bool sources_verdict(const struct sources *s, int source, uint64_t seq, uint64_t t_capture_ns,
                     struct control_ack *ack);

/* Where a frame belongs: its submap, and how often its source had lost its tracking or jumped
 * within it. A frame whose `breaks` differs from that before it starts at a new place. */
struct sources_submap {
    uint32_t submap, breaks;
    bool cut; /* the submap continues the epoch's one before it */
    /* Set by the caller: clients of sources, a bit each; the source's motion behind the frame. */
    uint32_t connected;
    struct jump jump;
};

#define SOURCES_JUMPED_MAX (GPU_SUBMAPS_MAX / 2) /* submaps that may begin with a jump or a cut */

/* How a frame's pose continues that of the frame before. */
enum sources_step {
    SOURCES_ON,
    SOURCES_BROKE,  /* it jumped, but no submap begins: as if tracking had been lost */
    SOURCES_JUMPED, /* it jumped, and begins a submap of the same epoch */
    SOURCES_CUT     /* it did not jump, but its submap is long enough, so it begins another one */
};

/*
 * sources_take - a frame is about to enter the queue
 *
 * In:      step: a submap that begins within an epoch gets the epoch's next frames
 * Out:     *out: where it belongs
 * Returns: CONTROL_REASON_NONE: its number is reserved until sources_end() or sources_untake();
 *          CONTROL_DUPLICATE: not above the numbers of frames that are under way, or were used or
 *          dropped; CONTROL_WORLDS: the session has as many submaps as it may; CONTROL_OVERLOAD
 */
enum control_reason sources_take(struct sources *s, int source, uint64_t seq, uint32_t world_epoch,
                                 enum sources_step step, struct sources_submap *out);
/* Counts a frame that was refused because its phone had lost its tracking. */
void sources_add_break(struct sources *s, int source);
/* The queue had no room for the frame. A submap that it began is removed, if it is the session's
 * newest and no later frame of the source was taken. */
void sources_untake(struct sources *s, int source, uint64_t seq);
/* Records the verdict of a frame that was taken, or that an earlier process took (store_recover.c);
 * its time counts if it was refused. */
void sources_end(struct sources *s, int source, uint64_t t_capture_ns,
                 const struct control_ack *ack);

/* Source and submap of a frame's record in the journal. */
struct sources_record {
    const char *name;
    int source;
    uint32_t world_epoch, submap, breaks;
    bool cut;
};
/* Adds a record. Returns 0; ERR_INPUT: it contradicts what is known; ERR_MEMORY. */
MUST_CHECK int sources_learn(struct sources *s, const struct sources_record *r, struct err *err);
/* A frame of the journal, taken by an earlier process, enters the queue again. */
void sources_retake(struct sources *s, int source, uint64_t seq);

/*
 * sources_save / sources_load - as bytes, and back into new ones; frames under way are left out
 *
 * Returns: 0; ERR_LIMIT: cap, for which sources_state_bytes() is enough at any time; ERR_INPUT: not
 *          such bytes; ERR_MEMORY
 */
size_t sources_state_bytes(void);
MUST_CHECK int sources_save(const struct sources *s, uint8_t *buf, size_t cap, size_t *len,
                            struct err *err);
MUST_CHECK int sources_load(struct sources *s, const uint8_t *buf, size_t len, struct err *err);
