/*
 * tenant.h - the owners of sessions, by the names of their tokens, and their quotas
 *
 * A tenant is made when its name is first heard of and stays until the end: token files and
 * manifests bound their number. Quotas are counted here, so that they hold when several threads ask
 * at once.
 * Threads: any; a mutex for each tenant, nothing else is locked under it.
 */
#pragma once

#include "api/api.h"
#include "daemon/metrics.h"

struct tenant;
struct tenants;

MUST_CHECK int tenant_table_new(struct tenants **t, struct err *err);
void tenant_table_free(struct tenants **t);
/* Returns the tenant of that name, made if there is none, without a quota. NULL: no memory. */
struct tenant *tenant_get(struct tenants *t, const char *name);
/* Takes over all tokens and their quotas. Tenants that are not among them have none. */
void tenant_set_all(struct tenants *t, const struct api_tenant *now, int n);
/* Adds up the disk space of each anew: begin, tenant_add_disk() for each session, end. */
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
/* Counts a session of so much memory. Returns 0; ERR_BUSY: which quota is used up. */
MUST_CHECK int tenant_take(struct tenant *t, uint64_t memory_bytes, struct err *err);
/* The same for a session of before a restart, whatever the quota is. */
void tenant_take_back(struct tenant *t, uint64_t memory_bytes);
void tenant_give(struct tenant *t, uint64_t memory_bytes);

MUST_CHECK int tenant_take_export(struct tenant *t, struct err *err);
void tenant_give_export(struct tenant *t);

/*
 * tenant_frame - count a frame that came in
 *
 * Returns: microseconds by which its tenant is ahead of its frames a second; 0 without a bound.
 *          Reading less for so long keeps the rate, whatever the number of sessions.
 */
uint64_t tenant_frame(struct tenant *t, uint64_t now_us);
float tenant_frames_per_s(struct tenant *t); /* its quota, 0 = none */

void tenant_add_disk(struct tenant *t, uint64_t bytes);
/* Returns the disk space of the last sum. */
bool tenant_disk_full(struct tenant *t);
