#include "daemon/session/tenant.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tenant {
    struct tenant *next; /* fixed, as the name */
    char name[API_NAME_CAP];
    pthread_mutex_t lock; /* of all that follows */
    struct quota quota;
    int sessions, exports;
    uint64_t memory_bytes, disk_bytes, adding_bytes; /* adding_bytes: of the sum under way */
    uint64_t frames, refused;
    uint64_t due_us; /* when the next frame would be due at the quota's rate */
};

struct tenants {
    pthread_mutex_t lock; /* of the list; tenants are only ever added */
    struct tenant *first;
};

int tenant_table_new(struct tenants **tenants, struct err *err)
{
    struct tenants *t = calloc(1, sizeof(*t));

    *tenants = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for the table of tenants");
    pthread_mutex_init(&t->lock, NULL);
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
        pthread_mutex_destroy(&o->lock);
        free(o);
    }
    pthread_mutex_destroy(&t->lock);
    free(t);
    *tenants = NULL;
}

static struct tenant *first_of(struct tenants *t)
{
    struct tenant *first;

    pthread_mutex_lock(&t->lock);
    first = t->first;
    pthread_mutex_unlock(&t->lock);
    return first;
}

struct tenant *tenant_get(struct tenants *t, const char *name)
{
    struct tenant *o;

    pthread_mutex_lock(&t->lock);
    for (o = t->first; o && strcmp(o->name, name) != 0;)
        o = o->next;
    if (!o && (o = calloc(1, sizeof(*o)))) {
        snprintf(o->name, sizeof(o->name), "%s", name);
        o->quota = quota_none;
        pthread_mutex_init(&o->lock, NULL);
        o->next = t->first;
        t->first = o;
    }
    pthread_mutex_unlock(&t->lock);
    return o;
}

static void set_quota(struct tenant *o, const struct quota *quota)
{
    pthread_mutex_lock(&o->lock);
    o->quota = *quota;
    pthread_mutex_unlock(&o->lock);
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

    pthread_mutex_lock(&o->lock);
    q = o->quota;
    pthread_mutex_unlock(&o->lock);
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

static int over(const struct tenant *o, uint64_t memory_bytes, struct err *err)
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

    pthread_mutex_lock(&o->lock);
    rc = over(o, memory_bytes, err);
    o->sessions += rc == 0;
    o->memory_bytes += rc == 0 ? memory_bytes : 0;
    o->refused += rc != 0;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

void tenant_take_back(struct tenant *o, uint64_t memory_bytes)
{
    pthread_mutex_lock(&o->lock);
    o->sessions++;
    o->memory_bytes += memory_bytes;
    pthread_mutex_unlock(&o->lock);
}

void tenant_give(struct tenant *o, uint64_t memory_bytes)
{
    pthread_mutex_lock(&o->lock);
    o->sessions--;
    o->memory_bytes -= memory_bytes;
    pthread_mutex_unlock(&o->lock);
}

/* ------------------------------------------------------------------------- exports, frames */

int tenant_take_export(struct tenant *o, struct err *err)
{
    int rc = 0;

    pthread_mutex_lock(&o->lock);
    if (o->quota.exports && o->exports >= o->quota.exports)
        rc = err_set(err, ERR_BUSY, "the token '%s' reads its %d exports", o->name,
                     o->quota.exports);
    o->exports += rc == 0;
    o->refused += rc != 0;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

void tenant_give_export(struct tenant *o)
{
    pthread_mutex_lock(&o->lock);
    o->exports--;
    pthread_mutex_unlock(&o->lock);
}

uint64_t tenant_frame(struct tenant *o, uint64_t now_us)
{
    uint64_t ahead_us = 0;

    pthread_mutex_lock(&o->lock);
    o->frames++;
    if (o->quota.frames_per_s > 0) {
        if (o->due_us < now_us)
            o->due_us = now_us;
        o->due_us += (uint64_t)(1e6 / (double)o->quota.frames_per_s);
        ahead_us = o->due_us - now_us;
    }
    pthread_mutex_unlock(&o->lock);
    return ahead_us;
}

float tenant_frames_per_s(struct tenant *o)
{
    float bound;

    pthread_mutex_lock(&o->lock);
    bound = o->quota.frames_per_s;
    pthread_mutex_unlock(&o->lock);
    return bound;
}

/* ------------------------------------------------------------------------- disk */

void tenant_add_disk(struct tenant *o, uint64_t bytes)
{
    pthread_mutex_lock(&o->lock);
    o->adding_bytes += bytes;
    pthread_mutex_unlock(&o->lock);
}

void tenant_begin_disk(struct tenants *t)
{
    for (struct tenant *o = first_of(t); o; o = o->next) {
        pthread_mutex_lock(&o->lock);
        o->adding_bytes = 0;
        pthread_mutex_unlock(&o->lock);
    }
}

void tenant_end_disk(struct tenants *t)
{
    for (struct tenant *o = first_of(t); o; o = o->next) {
        pthread_mutex_lock(&o->lock);
        o->disk_bytes = o->adding_bytes;
        pthread_mutex_unlock(&o->lock);
    }
}

bool tenant_disk_full(struct tenant *o)
{
    bool full;

    pthread_mutex_lock(&o->lock);
    full = o->quota.disk_bytes && o->disk_bytes >= o->quota.disk_bytes;
    pthread_mutex_unlock(&o->lock);
    return full;
}

/* ------------------------------------------------------------------------- metrics */

enum { SESSIONS, MEMORY, DISK, EXPORTS, FRAMES, REFUSED, VALUES };

static uint64_t value(struct tenant *o, int which)
{
    uint64_t values[VALUES];

    pthread_mutex_lock(&o->lock);
    values[SESSIONS] = (uint64_t)o->sessions;
    values[MEMORY] = o->memory_bytes;
    values[DISK] = o->disk_bytes;
    values[EXPORTS] = (uint64_t)o->exports;
    values[FRAMES] = o->frames;
    values[REFUSED] = o->refused;
    pthread_mutex_unlock(&o->lock);
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
                          (unsigned long long)value(o, i));
        }
    }
}
