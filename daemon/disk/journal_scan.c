#include "daemon/disk/journal_internal.h"

#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_STEP ((size_t)64 << 10)
/* A client can fill its frames with data like headers. When so many bytes were summed in vain, the
 * search stops and reports damage, which costs no other session time. */
#define SEARCH_BUDGET (1ull << 30)

struct scanner {
    const char *id;
    int dir;
    struct journal_window w;
    struct journal_scan *scan;
    uint64_t expected; /* number of the next record */
    uint64_t synced;   /* journal_mark_read() */
    uint64_t bytes_cut;
};

/* The end of the valid part of a segment, and why it ends there. */
struct stop {
    uint64_t at;   /* bytes */
    int n_records; /* records behind the SEGMENT record */
    bool torn_at;  /* the bytes that follow may be a torn write */
    const char *why;
};

/* Is this whole record the expected one? */
static const char *record_misplaced(const struct scanner *s, const struct journal_head *h,
                                    const uint8_t *record, uint64_t off)
{
    if (off == 0 && !journal_record_is_segment_of(h, record, s->id))
        return "it is another session's, or of another version";
    if (off > 0 && h->type == JOURNAL_SEGMENT)
        return "it begins anew in the middle";
    if (h->type > JOURNAL_OUTCOME)
        return "another build wrote a record that this one does not know";
    if (h->number != s->expected)
        return "a number is out of order";
    return NULL;
}

static int segment_walk(struct scanner *s, struct stop *stop, struct err *err)
{
    const uint8_t *record;
    struct journal_head h;
    uint64_t off = 0;
    int rc = 0;

    *stop = (struct stop){0};
    while (off < s->w.size) {
        rc = journal_window_record(&s->w, &h, &record, off, err);
        if (rc == ERR_INPUT) {
            stop->torn_at = true;
            stop->why = "a record is not what was written";
        } else if (rc == 0) {
            stop->why = record_misplaced(s, &h, record, off);
        }
        if (rc || stop->why)
            break;
        if (off > 0) {
            stop->n_records++;
            s->expected++;
        }
        off += JOURNAL_HEADER_BYTES + h.length;
    }
    stop->at = off;
    return rc == ERR_INPUT ? 0 : rc;
}

/* Is there a whole record behind `from` that begins a group? Returns 1, 0, or an error. */
static int group_behind(struct scanner *s, uint64_t from, struct err *err)
{
    static const uint8_t magic[4] = {JOURNAL_MAGIC & 255, JOURNAL_MAGIC >> 8 & 255,
                                     JOURNAL_MAGIC >> 16 & 255, JOURNAL_MAGIC >> 24};
    const uint64_t highest = s->expected + s->w.size / JOURNAL_HEADER_BYTES;
    const uint8_t *p, *found;
    struct journal_head h;
    uint64_t summed = 0;
    int rc;

    while (from < s->w.size && s->w.size - from >= JOURNAL_HEADER_BYTES) {
        size_t n = s->w.size - from < SEARCH_STEP ? (size_t)(s->w.size - from) : SEARCH_STEP;
        rc = journal_window_get(&s->w, &p, from, n, err);
        if (rc)
            return rc;
        found = memmem(p, n, magic, sizeof(magic));
        if (!found) {
            from += n - (sizeof(magic) - 1);
            continue;
        }
        from += (uint64_t)(found - p);
        if (s->w.size - from < JOURNAL_HEADER_BYTES)
            break;
        rc = journal_window_get(&s->w, &p, from, JOURNAL_HEADER_BYTES, err);
        if (rc)
            return rc;
        if (journal_record_parse(&h, p) && h.flags == JOURNAL_FLAG_GROUP &&
            h.type != JOURNAL_SEGMENT && h.number > s->expected && h.number <= highest) {
            rc = journal_window_record(&s->w, &h, &p, from, err);
            if (rc != ERR_INPUT)
                return rc ? rc : 1;
            summed += h.length;
            if (summed > SEARCH_BUDGET)
                return 1;
        }
        from++;
    }
    return 0;
}

static void scan_damage(struct scanner *s, uint64_t first, uint64_t at, const char *why)
{
    char name[FOLDER_NAME_CAP];

    folder_name(name, first, JOURNAL_SUFFIX);
    s->scan->damaged = true;
    snprintf(s->scan->damage, sizeof(s->scan->damage), "%s, byte %llu, record %llu: %s", name,
             (unsigned long long)at, (unsigned long long)s->expected, why);
    LOG_AT(LOG_ERR, "session %s: %s", s->id, s->scan->damage);
}

/* Cuts the last segment behind its first `at` bytes, or removes it if it holds no record. The kept
 * part is synced, because its writer may have died before its sync. */
static int tail_cut(struct scanner *s, uint64_t first, const struct stop *stop, struct err *err)
{
    char name[FOLDER_NAME_CAP];
    int fd = -1, rc = 0;

    folder_name(name, first, JOURNAL_SUFFIX);
    if (!stop->n_records) {
        if (unlinkat(s->dir, name, 0) || fsync(s->dir))
            return err_at(err, ERR_IO, name, "cannot remove it: %s", strerror(errno));
    } else {
        fd = openat(s->dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || (stop->at < s->w.size && ftruncate(fd, (off_t)stop->at)) || fsync(fd) ||
            fsync(s->dir))
            rc = err_at(err, ERR_IO, name, "cannot cut and sync it: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        if (rc)
            return rc;
    }
    s->bytes_cut = s->w.size - (stop->n_records ? stop->at : 0);
    s->scan->torn = s->bytes_cut > 0 || !stop->n_records;
    if (s->scan->torn)
        LOG_AT(LOG_NOTICE, "session %s: cut a torn tail of %llu bytes behind record %llu", s->id,
               (unsigned long long)s->bytes_cut, (unsigned long long)s->expected - 1);
    return 0;
}

static int segment_scan(struct scanner *s, uint64_t first, bool last, struct err *err)
{
    struct err why = {0};
    struct stop stop;
    int rc, later = 0;

    if (first != s->expected) {
        scan_damage(s, first, 0, "records before it are missing");
        return 0;
    }
    rc = journal_window_open(&s->w, s->dir, first, err);
    if (rc)
        return rc;
    rc = segment_walk(s, &stop, &why);
    if (rc == 0 && stop.torn_at && last)
        later = group_behind(s, stop.at + 1, &why);
    if (rc == ERR_MEMORY || later == ERR_MEMORY) {
        rc = err_set(err, ERR_MEMORY, "%s", why.text);
    } else if (rc || later < 0) {
        scan_damage(s, first, stop.at, why.text); /* a bad sector counts as damage */
        rc = 0;
    } else if (later || (stop.why && !stop.torn_at) || (stop.why && !last)) {
        scan_damage(s, first, stop.at, stop.why);
    } else if (!last && !stop.n_records) {
        scan_damage(s, first, stop.at, "it holds no record");
    } else if (last && s->expected <= s->synced) {
        scan_damage(s, first, stop.at, "records behind it were synced and are gone");
    } else if (last) {
        rc = tail_cut(s, first, &stop, err);
        if (s->scan->torn && !stop.n_records)
            stop.at = 0;
    }
    s->scan->bytes += stop.at;
    journal_window_close(&s->w);
    return rc;
}

int journal_scan(struct journal *j, const char *id, struct journal_scan *scan, struct err *err)
{
    struct scanner s = {.id = id, .dir = -1, .w = {.fd = -1}, .scan = scan, .expected = 1};
    struct journal_list list = {0};
    int rc;

    *scan = (struct journal_scan){.first = 1};
    rc = journal_folder_session(j, id, &s.dir, err);
    if (rc)
        return rc;
    rc = journal_folder_segments(&list, s.dir, err);
    if (rc)
        goto out;
    s.synced = journal_mark_read(s.dir);
    if (list.n)
        scan->first = s.expected = list.first[0];
    else if (s.synced)
        scan_damage(&s, s.expected, 0, "records were synced, and no segment is left");
    for (int i = 0; i < list.n && rc == 0 && !scan->damaged; i++)
        rc = segment_scan(&s, list.first[i], i == list.n - 1, err);
    scan->last = s.expected - 1;
    atomic_fetch_sub(&j->counts.used_bytes, s.bytes_cut);
out:
    free(list.first);
    journal_window_free(&s.w);
    close(s.dir);
    return rc;
}
