/* store_recover.h - after a start: sessions come back, and their journals are replayed */
#ifndef RECOND_DAEMON_STORE_RECOVER_H
#define RECOND_DAEMON_STORE_RECOVER_H

#include "daemon/disk/store.h"

/* All sessions of the folder, in the order in which they were made, into the registry, as
 * "recovering". What cannot be read is told in the log and kept. */
MUST_CHECK int store_recover(struct recovery **r, struct store *st, struct err *err);
/* Replay their journals, by a thread of its own; when the edges are there. r may be NULL. */
void store_replay(struct recovery *r);
/* Seconds after which it is worth asking for a session that comes back. */
int store_back_s(struct session *s);
/* A frame that came out of the journal (queue_item.replayed) has ended. */
void store_replayed(struct session *s);
/* Ends its thread, done or not; *r stays, for frames that are still under way. */
void store_recover_stop(struct recovery *r);
void store_recover_free(struct recovery **r);

#endif
