/*
 * recognising.h - enrolled objects are looked for in the depth of a session's frames
 *
 * Of a session with the option `objects` the depth that is fused is copied, so often a second of
 * the frames' own time as `recognise_hz` says, and a thread of its own looks for the objects in it
 * (gpu/recognise/recogniser.h): nice 10 on processors, a stream of the lowest priority on a GPU. So
 * no frame waits for it. What it finds becomes the session's things (daemon/session/instances.h).
 * Order:   pictures of a session are looked at one after the other. Which ones follows from capture
 *          times alone, so the same frames give the same things. While RECOGNISING_WAITING of a
 *          session wait, one in mode `live` skips the next one that is due, and counts it; one in
 *          mode `lossless`, or that comes out of a journal, holds its next frame back instead
 * State:   a checkpoint is not begun while a picture waits (recognising_settled()), so what it
 *          keeps is what its frames have shown; later frames are replayed and looked at again
 * Threads: wants, keep as session_work.h has it for jobs; holds, settled, save the worker's; the
 *          rest any. One mutex inside, and nothing else is locked under it
 */
#ifndef RECOND_DAEMON_RECOGNISING_H
#define RECOND_DAEMON_RECOGNISING_H

#include "daemon/objects.h"
#include "daemon/work/session_work.h"

#define RECOGNISING_WAITING 4

struct recognising;
struct recognising_part; /* of a session, in its session_work; NULL where it has none */

/* objects: where they are found; it outlives this. */
MUST_CHECK int recognising_start(struct recognising **r, struct objects *objects, struct err *err);
/* When the committers have stopped. */
void recognising_stop(struct recognising *r);
void recognising_free(struct recognising **r);

/*
 * recognising_admit - may a session of this owner have these objects?
 *
 * Out:     *bytes: that it may come to hold for them, 0 = it asks for none
 * Returns: 0; ERR_NOT_FOUND: which object there is not; ERR_INPUT: objects that do not go together
 */
MUST_CHECK int recognising_admit(struct recognising *r, const struct session_options *o,
                                 const char *owner, uint64_t *bytes, struct err *err);

/* A session's part on a device of that name, before another thread knows it; NULL where its options
 * ask for none, or r is NULL. Objects that are there no more, or of another unit than the first,
 * are left out. Returns 0; ERR_MEMORY. */
MUST_CHECK int recognising_adopt(struct recognising *r, struct session *s, const char *device,
                                 struct recognising_part **part, struct err *err);
void recognising_disown(struct recognising_part **part);

/* Is the frame's picture due? Its depth is wanted then. */
bool recognising_wants(struct job *job);
/* A frame that was wanted has its result. revision: of the cloud with its points. */
void recognising_keep(struct job *job, uint64_t revision);
/* Must the session's next frame wait? Its device turn is kicked when not any more. */
bool recognising_holds(struct session *s);
/* Is no picture of it waiting? If one is, the session's device turn is kicked when it is done; if
 * as many as may wait do, none is taken before all are. */
bool recognising_settled(struct session *s);

/* As loop_closure_state_bytes(), _save() and _load(). */
size_t recognising_state_bytes(struct session *s);
MUST_CHECK int recognising_save(struct session *s, uint8_t *buf, size_t cap, size_t *len,
                                struct err *err);
MUST_CHECK int recognising_load(struct session *s, const uint8_t *buf, size_t len, struct err *err);

#endif
