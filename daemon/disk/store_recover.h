/* store_recover.h - after a start: sessions come back, and their journals are replayed */
#pragma once

#include "daemon/disk/store.h"

/* Makes all sessions of the folder again, in the order in which they were created, and registers
 * them as "recovering". Sessions that cannot be read are logged and kept. */
MUST_CHECK int store_recover(struct recovery **r, struct store *st, struct err *err);
/* Starts a thread that replays their journals, once the edges are there. r may be NULL. */
void store_replay(struct recovery *r);
/* Returns the seconds after which a client should ask for a recovering session again. */
int store_back_s(struct session *s);
/* A frame of the journal (queue_item.replayed) has ended. */
void store_replayed(struct session *s);
/* Ends its thread, done or not; *r stays for frames that are still under way. */
void store_recover_stop(struct recovery *r);
void store_recover_free(struct recovery **r);
