#include "daemon/disk/journal_internal.h"

#include <stdlib.h>
#include <unistd.h>

struct journal_reader {
    struct journal_window w;
    struct journal_list list;
    char id[JOURNAL_ID_LEN + 1];
    int dir, segment; /* segment: index of the open one */
    uint64_t next, last, at;
};

static int record_spoilt(const struct journal_reader *r, struct err *err)
{
    return err_at(err, ERR_IO, r->id, "record %llu of its journal is not what it was",
                  (unsigned long long)r->next);
}

/* Did the window return (rc, *h) the record r->next? */
static int record_judge(const struct journal_reader *r, const struct journal_head *h, int rc,
                        struct err *err)
{
    return rc == ERR_INPUT || (rc == 0 && h->number != r->next) ? record_spoilt(r, err) : rc;
}

/* Opens a segment and moves behind its SEGMENT record. */
static int segment_enter(struct journal_reader *r, int segment, struct err *err)
{
    const uint8_t *p;
    struct journal_head h;
    int rc;

    journal_window_close(&r->w);
    r->segment = segment;
    r->next = r->list.first[segment];
    r->at = 0;
    rc = journal_window_open(&r->w, r->dir, r->next, err);
    if (rc == 0)
        rc = record_judge(r, &h, journal_window_record(&r->w, &h, &p, 0, err), err);
    if (rc)
        return rc;
    if (!journal_record_is_segment_of(&h, p, r->id))
        return record_spoilt(r, err);
    r->at = JOURNAL_HEADER_BYTES + h.length;
    return 0;
}

static int segment_enter_next(struct journal_reader *r, struct err *err)
{
    int next = r->segment + 1;

    if (next >= r->list.n || r->list.first[next] != r->next)
        return record_spoilt(r, err);
    return segment_enter(r, next, err);
}

/* Moves to the record `from`. Bodies before it are not read. */
static int record_find(struct journal_reader *r, uint64_t from, struct err *err)
{
    struct journal_head h;
    int segment = r->list.n - 1, rc;

    while (segment >= 0 && r->list.first[segment] > from)
        segment--;
    if (segment < 0)
        return err_at(err, ERR_NOT_FOUND, r->id, "its journal does not reach back to record %llu",
                      (unsigned long long)from);
    rc = segment_enter(r, segment, err);
    while (rc == 0 && r->next < from && r->at < r->w.size) {
        rc = record_judge(r, &h, journal_window_head(&r->w, &h, r->at, err), err);
        if (rc == 0) {
            r->at += JOURNAL_HEADER_BYTES + h.length;
            r->next++;
        }
    }
    if (rc == 0 && r->at == r->w.size)
        return err_at(err, ERR_NOT_FOUND, r->id, "its journal ends before record %llu",
                      (unsigned long long)from);
    return rc;
}

int journal_read_open(struct journal_reader **out, struct journal *j, const char *id, uint64_t from,
                      uint64_t last, struct err *err)
{
    struct journal_reader *r = calloc(1, sizeof(*r));
    int rc;

    *out = r;
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory to read a journal");
    r->dir = r->w.fd = -1;
    r->last = last;
    rc = journal_folder_session(j, id, &r->dir, err);
    if (rc == 0) {
        for (int i = 0; i < JOURNAL_ID_LEN; i++)
            r->id[i] = id[i];
        rc = journal_folder_segments(&r->list, r->dir, err);
    }
    r->next = from;
    if (rc == 0 && from <= last)
        rc = record_find(r, from, err);
    if (rc)
        journal_read_close(out);
    return rc;
}

int journal_read_next(struct journal_reader *r, enum journal_type *type, uint64_t *number,
                      const uint8_t **body, size_t *len, struct err *err)
{
    const uint8_t *p;
    struct journal_head h;
    int rc = 0;

    if (r->next > r->last)
        return err_set(err, ERR_END, "no more records");
    if (r->at == r->w.size)
        rc = segment_enter_next(r, err);
    if (rc == 0)
        rc = record_judge(r, &h, journal_window_record(&r->w, &h, &p, r->at, err), err);
    if (rc)
        return rc;
    if (h.type == JOURNAL_SEGMENT)
        return record_spoilt(r, err);
    *type = h.type;
    *number = h.number;
    *body = p + JOURNAL_HEADER_BYTES;
    *len = h.length;
    r->at += JOURNAL_HEADER_BYTES + h.length;
    r->next++;
    return 0;
}

void journal_read_close(struct journal_reader **out)
{
    struct journal_reader *r = *out;

    if (!r)
        return;
    journal_window_free(&r->w);
    free(r->list.first);
    if (r->dir >= 0)
        close(r->dir);
    free(r);
    *out = NULL;
}
