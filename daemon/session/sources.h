/*
 * sources.h - the sources of a session: numbers and worlds of each, and what its frames were told
 *
 * A source is a phone, by the name that its `start` says. Numbers of frames, clock and world_epoch
 * are a source's own. Every (source, world_epoch) of a frame that was taken is a submap of its own,
 * numbered in order of appearance.
 *
 * A frame is taken when the queue is about to have it. From then on it has one verdict, and its
 * number is used up unless that is a refusal: a source's last_seq is the highest of those that were
 * used or dropped. The last SOURCES_VERDICTS verdicts are kept, so that a frame that is sent again
 * gets the answer that it had. What is refused before it is taken leaves nothing here.
 *
 * Owner:   a session, under whose lock all calls are made
 * Memory:  a source's verdicts are set aside when it appears; sources_bytes() is the most
 */
#ifndef RECOND_DAEMON_SOURCES_H
#define RECOND_DAEMON_SOURCES_H

#include "api/api.h"
#include "daemon/session/jump.h"
#include "gpu/gpu.h"

#define SOURCES_VERDICTS 4096

struct sources;

MUST_CHECK int sources_new(struct sources **s, struct err *err);
/* Before the first frame: worlds from number `most` on are refused. Else GPU_SUBMAPS_MAX are. */
void sources_limit_worlds(struct sources *s, int most);
void sources_free(struct sources **s);
size_t sources_bytes(void);

/*
 * sources_join - the number of the source of this name, which appears if it was not there
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

/* The worlds that frames were taken of: number, source and epoch; list [API_SUBMAPS_MAX]. Returns
 * how many there are. */
int sources_worlds(const struct sources *s, struct api_submap *list);
/* A world whose poses jumped, or that was cut, is gone on with in another of the same epoch: the
 * one before that; -1: there is none. */
int sources_world_before(const struct sources *s, uint32_t submap);
bool sources_has_world(const struct sources *s, uint32_t submap);
int sources_n_worlds(const struct sources *s); /* those not heard of yet, below others, too */

/* Was this frame answered? *ack is what it was told then. A frame that was refused is known by its
 * time as well, since another one may have its number. */
bool sources_verdict(const struct sources *s, int source, uint64_t seq, uint64_t t_capture_ns,
                     struct control_ack *ack);

/* Where a frame belongs: its submap, and how often its source had lost its tracking, or its poses
 * jumped and no world began; a frame whose number differs from that before it starts at a new
 * place. */
struct sources_world {
    uint32_t submap, breaks;
    bool cut; /* the submap goes on where the epoch's one before it ended */
    /* the caller's: of all sources, a bit each; how poses go on behind the frame */
    uint32_t connected;
    struct jump jump;
};

#define SOURCES_JUMPED_MAX (GPU_SUBMAPS_MAX / 2) /* worlds that may begin with a jump or a cut */

/* How a frame's pose goes on from that of the frame before. */
enum sources_step {
    SOURCES_ON,
    SOURCES_BROKE,  /* it does not, but no world begins: as if tracking had been lost */
    SOURCES_JUMPED, /* it does not: it begins a world, although its epoch is the same */
    SOURCES_CUT     /* it does, but its submap is long enough, and it begins another one */
};

/*
 * sources_take - a frame is about to enter the queue
 *
 * In:      step: a world that is not told of by its epoch is the one that the epoch's next frames
 *          are of
 * Out:     *world: where it belongs
 * Returns: CONTROL_REASON_NONE: its number is set aside until sources_end() or sources_untake();
 *          CONTROL_DUPLICATE: not above the numbers of those that are under way, or were used or
 *          dropped; CONTROL_WORLDS: the session has as many worlds as it may; CONTROL_OVERLOAD
 */
enum control_reason sources_take(struct sources *s, int source, uint64_t seq, uint32_t world_epoch,
                                 enum sources_step step, struct sources_world *world);
/* A frame of the source was refused because its phone had lost its tracking. */
void sources_add_break(struct sources *s, int source);
/* The queue had no room for it. A world that it began goes with it, if it is the newest of the
 * session and no later frame of the source was taken. */
void sources_untake(struct sources *s, int source, uint64_t seq);
/* A frame that was taken has ended, or one that an earlier process took (store_recover.c); its time
 * counts where it was refused. */
void sources_end(struct sources *s, int source, uint64_t t_capture_ns,
                 const struct control_ack *ack);

/* What a record of the journal says of its frame's source and world. */
struct sources_record {
    const char *name;
    int source;
    uint32_t world_epoch, submap, breaks;
    bool cut;
};
/* Fills in what this does not know yet. Returns 0; ERR_INPUT: it contradicts what is known;
 * ERR_MEMORY. */
MUST_CHECK int sources_learn(struct sources *s, const struct sources_record *r, struct err *err);
/* A frame of the journal enters the queue again: it was taken then. */
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

#endif
