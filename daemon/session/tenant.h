/*
 * tenant.h - those that sessions belong to, by the names of their tokens, and what they may hold
 *
 * A tenant is made when its name is first heard of and stays until the end: there are no more than
 * lines of token files and owners in manifests. What its quota bounds is counted here, so that a
 * bound holds whichever threads ask at once.
 * Threads: any; a mutex for each tenant, nothing else is locked under it.
 */
#ifndef RECOND_DAEMON_TENANT_H
#define RECOND_DAEMON_TENANT_H

#include "api/api.h"
#include "daemon/metrics.h"

struct tenant;
struct tenants;

MUST_CHECK int tenant_table_new(struct tenants **t, struct err *err);
void tenant_table_free(struct tenants **t);
/* The tenant of that name, made if there is none, without a quota. NULL: no memory. */
struct tenant *tenant_get(struct tenants *t, const char *name);
/* The tokens that there are now, and their quotas. Tenants that are not among them have none. */
void tenant_set_all(struct tenants *t, const struct api_tenant *now, int n);
/* Disk space of each is added up anew: begin, tenant_add_disk() for each session, end. */
void tenant_begin_disk(struct tenants *t);
void tenant_end_disk(struct tenants *t);
void tenant_write_metrics(struct metrics_text *text, struct tenants *t);

const char *tenant_name(const struct tenant *t);

/*
 * tenant_allows - may a new session have these options?
 *
 * In:      asked: what the client asked for; resolved: after options_resolve()
 * In/out:  resolved: a retention that was not asked for is lowered to the quota
 * Returns: 0; ERR_DENIED: which option the token may not have
 */
MUST_CHECK int tenant_allows(struct tenant *t, const struct session_options *asked,
                             struct session_options *resolved, struct err *err);
/* A session of so much memory comes. Returns 0; ERR_BUSY: which quota is used up. */
MUST_CHECK int tenant_take(struct tenant *t, uint64_t memory_bytes, struct err *err);
/* The same for one that was there before a restart, whatever the quota says. */
void tenant_take_back(struct tenant *t, uint64_t memory_bytes);
void tenant_give(struct tenant *t, uint64_t memory_bytes);

MUST_CHECK int tenant_take_export(struct tenant *t, struct err *err);
void tenant_give_export(struct tenant *t);

/*
 * tenant_frame - a frame came in
 *
 * Returns: microseconds by which its tenant is ahead of its frames a second; 0 without a bound.
 *          Reading less for so long keeps the rate, whatever the number of sessions.
 */
uint64_t tenant_frame(struct tenant *t, uint64_t now_us);
float tenant_frames_per_s(struct tenant *t); /* its bound, 0 = none */

void tenant_add_disk(struct tenant *t, uint64_t bytes);
/* As it was when disk space was added up last. */
bool tenant_disk_full(struct tenant *t);

#endif
