#include "daemon/session/tenant.h"

#include "proto/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tenant {
    struct tenant *next; /* fixed, like the name */
    char name[API_NAME_CAP];
    struct lock lock; /* guards all that follows */
    struct quota quota;
    int sessions, exports;
    uint64_t memory_bytes, disk_bytes, adding_bytes; /* adding_bytes: the sum under way */
    uint64_t frames, refused;
    uint64_t due_us; /* when the next frame is due at the quota's rate */
};

struct tenants {
    struct lock lock; /* guards the list; tenants are only ever added */
    struct tenant *first;
};

int tenant_table_new(struct tenants **tenants, struct err *err)
{
    struct tenants *t = calloc(1, sizeof(*t));

    *tenants = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for the table of tenants");
    lock_init(&t->lock, LOCK_TENANTS);
    return 0;
}

void tenant_table_free(struct tenants **tenants)
{
    struct tenants *t = *tenants;
    struct tenant *next;

    if (!t)
        return;
    for (struct tenant *o = t->first; o; o = next) {
        next = o->next;
        lock_destroy(&o->lock);
        free(o);
    }
    lock_destroy(&t->lock);
    free(t);
    *tenants = NULL;
}

static struct tenant *first_of(struct tenants *t)
{
    struct tenant *first;

    lock_take(&t->lock);
    first = t->first;
    lock_give(&t->lock);
    return first;
}

struct tenant *tenant_get(struct tenants *t, const char *name)
{
    struct tenant *o;

    lock_take(&t->lock);
    for (o = t->first; o && strcmp(o->name, name) != 0;)
        o = o->next;
    if (!o && (o = calloc(1, sizeof(*o)))) {
        snprintf(o->name, sizeof(o->name), "%s", name);
        o->quota = quota_none;
        lock_init(&o->lock, LOCK_TENANT);
        o->next = t->first;
        t->first = o;
    }
    lock_give(&t->lock);
    return o;
}

static void set_quota(struct tenant *o, const struct quota *quota)
{
    lock_take(&o->lock);
    o->quota = *quota;
    lock_give(&o->lock);
}

void tenant_set_all(struct tenants *t, const struct api_tenant *now, int n)
{
    struct tenant *o;

    for (o = first_of(t); o; o = o->next) {
        int i = 0;
        while (i < n && strcmp(now[i].name, o->name) != 0)
            i++;
        if (i == n)
            set_quota(o, &quota_none);
    }
    for (int i = 0; i < n; i++)
        if ((o = tenant_get(t, now[i].name)))
            set_quota(o, &now[i].quota);
}

const char *tenant_name(const struct tenant *o)
{
    return o->name;
}

/* ------------------------------------------------------------------------- sessions */

int tenant_allows(struct tenant *o, const struct session_options *asked,
                  struct session_options *resolved, struct err *err)
{
    struct quota q;

    lock_take(&o->lock);
    q = o->quota;
    lock_give(&o->lock);
    if (resolved->record && !q.record)
        return err_at(err, ERR_DENIED, "/record", "record: not with the token '%s'", o->name);
    if (q.net_pixels && asked->net_w && asked->net_w * asked->net_h > q.net_pixels)
        return err_at(err, ERR_DENIED, "/net", "net: %d pixels, the token '%s' may have %d",
                      asked->net_w * asked->net_h, o->name, q.net_pixels);
    if (q.retention_s < 0 || (resolved->retention_s >= 0 && resolved->retention_s <= q.retention_s))
        return 0;
    if (asked->retention_s)
        return err_at(err, ERR_DENIED, "/retention_s",
                      "retention_s: %d, the token '%s' may have at most %d", asked->retention_s,
                      o->name, q.retention_s);
    resolved->retention_s = q.retention_s;
    return 0;
}

static int quota_over(const struct tenant *o, uint64_t memory_bytes, struct err *err)
{
    const struct quota *q = &o->quota;

    if (q->sessions && o->sessions >= q->sessions)
        return err_set(err, ERR_BUSY, "the token '%s' has its %d sessions", o->name, q->sessions);
    if (q->memory_bytes && o->memory_bytes + memory_bytes > q->memory_bytes)
        return err_set(err, ERR_BUSY,
                       "%llu bytes are asked for, the token '%s' has %llu of its %llu",
                       (unsigned long long)memory_bytes, o->name,
                       (unsigned long long)o->memory_bytes, (unsigned long long)q->memory_bytes);
    if (q->disk_bytes && o->disk_bytes >= q->disk_bytes)
        return err_set(err, ERR_BUSY, "the token '%s' has its %llu bytes of journals", o->name,
                       (unsigned long long)q->disk_bytes);
    return 0;
}

int tenant_take(struct tenant *o, uint64_t memory_bytes, struct err *err)
{
    int rc;

    lock_take(&o->lock);
    rc = quota_over(o, memory_bytes, err);
    o->sessions += rc == 0;
    o->memory_bytes += rc == 0 ? memory_bytes : 0;
    o->refused += rc != 0;
    lock_give(&o->lock);
    return rc;
}

void tenant_take_back(struct tenant *o, uint64_t memory_bytes)
{
    lock_take(&o->lock);
    o->sessions++;
    o->memory_bytes += memory_bytes;
    lock_give(&o->lock);
}

void tenant_give(struct tenant *o, uint64_t memory_bytes)
{
    lock_take(&o->lock);
    o->sessions--;
    o->memory_bytes -= memory_bytes;
    lock_give(&o->lock);
}

/* ------------------------------------------------------------------------- exports, frames */

int tenant_take_export(struct tenant *o, struct err *err)
{
    int rc = 0;

    lock_take(&o->lock);
    if (o->quota.exports && o->exports >= o->quota.exports)
        rc = err_set(err, ERR_BUSY, "the token '%s' reads its %d exports", o->name,
                     o->quota.exports);
    o->exports += rc == 0;
    o->refused += rc != 0;
    lock_give(&o->lock);
    return rc;
}

void tenant_give_export(struct tenant *o)
{
    lock_take(&o->lock);
    o->exports--;
    lock_give(&o->lock);
}

uint64_t tenant_frame(struct tenant *o, uint64_t now_us)
{
    uint64_t ahead_us = 0;

    lock_take(&o->lock);
    o->frames++;
    if (o->quota.frames_per_s > 0) {
        if (o->due_us < now_us)
            o->due_us = now_us;
        o->due_us += (uint64_t)(1e6 / (double)o->quota.frames_per_s);
        ahead_us = o->due_us - now_us;
    }
    lock_give(&o->lock);
    return ahead_us;
}

float tenant_frames_per_s(struct tenant *o)
{
    float bound;

    lock_take(&o->lock);
    bound = o->quota.frames_per_s;
    lock_give(&o->lock);
    return bound;
}

/* ------------------------------------------------------------------------- disk */

void tenant_add_disk(struct tenant *o, uint64_t bytes)
{
    lock_take(&o->lock);
    o->adding_bytes += bytes;
    lock_give(&o->lock);
}

void tenant_begin_disk(struct tenants *t)
{
    for (struct tenant *o = first_of(t); o; o = o->next) {
        lock_take(&o->lock);
        o->adding_bytes = 0;
        lock_give(&o->lock);
    }
}

void tenant_end_disk(struct tenants *t)
{
    for (struct tenant *o = first_of(t); o; o = o->next) {
        lock_take(&o->lock);
        o->disk_bytes = o->adding_bytes;
        lock_give(&o->lock);
    }
}

bool tenant_disk_full(struct tenant *o)
{
    bool full;

    lock_take(&o->lock);
    full = o->quota.disk_bytes && o->disk_bytes >= o->quota.disk_bytes;
    lock_give(&o->lock);
    return full;
}

/* ------------------------------------------------------------------------- metrics */

enum { SESSIONS, MEMORY, DISK, EXPORTS, FRAMES, REFUSED, VALUES };

static uint64_t quota_value(struct tenant *o, int which)
{
    uint64_t values[VALUES];

    lock_take(&o->lock);
    values[SESSIONS] = (uint64_t)o->sessions;
    values[MEMORY] = o->memory_bytes;
    values[DISK] = o->disk_bytes;
    values[EXPORTS] = (uint64_t)o->exports;
    values[FRAMES] = o->frames;
    values[REFUSED] = o->refused;
    lock_give(&o->lock);
    return values[which];
}

void tenant_write_metrics(struct metrics_text *text, struct tenants *t)
{
    static const struct {
        const char *name, *type, *help;
    } rows[VALUES] = {
        {"recond_owner_sessions", "gauge", "Sessions by owner, the name of a token."},
        {"recond_owner_memory_bytes", "gauge", "Memory set aside for them."},
        {"recond_owner_journal_bytes", "gauge", "Bytes of their journals."},
        {"recond_owner_exports", "gauge", "Clouds being read."},
        {"recond_owner_frames_total", "counter", "Frames taken in."},
        {"recond_owner_refused_total", "counter", "Sessions and exports refused by quota."},
    };
    char label[2 * API_NAME_CAP + 1];

    for (int i = 0; i < VALUES; i++) {
        metrics_family(text, rows[i].name, rows[i].type, rows[i].help);
        for (struct tenant *o = first_of(t); o; o = o->next) {
            metrics_label(label, sizeof(label), o->name);
            metrics_print(text, "%s{owner=\"%s\"} %llu\n", rows[i].name, label,
                          (unsigned long long)quota_value(o, i));
        }
    }
}
