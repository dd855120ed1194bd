#include "daemon/disk/checkpoint_head.h"

#include "proto/bytes.h"
#include "proto/crc32c.h"

#include <stdio.h>
#include <string.h>

#define MAGIC 0x504b4352u /* "RCKP" */
#define VERSION 2u
#define WRITER_CAP 32
#define RATIO_MAX 40000 /* most plain bytes of a packed one: zstd has 128 KiB in 4 bytes at most */

_Static_assert(sizeof(RECOND_VERSION) <= WRITER_CAP, "it is written into a file's head");

/* Puts a text and pads it with zeros. */
static void head_put_text(struct bytes_writer *w, const char *text, size_t cap)
{
    memset(w->data + w->at, 0, cap);
    memcpy(w->data + w->at, text, strlen(text));
    w->at += cap;
}

void checkpoint_head_put(uint8_t *out, const char *id, const struct checkpoint_head *h)
{
    struct bytes_writer w = bytes_writer(out, (size_t)CHECKPOINT_HEAD_BYTES(h->n));

    bytes_put_u32(&w, MAGIC);
    bytes_put_u32(&w, VERSION);
    /* checkpoint_file_folder() has checked that it is shorter */
    head_put_text(&w, id, CHECKPOINT_ID_CAP);
    bytes_put_u64(&w, h->number);
    head_put_text(&w, RECOND_VERSION, WRITER_CAP);
    bytes_put_u32(&w, (uint32_t)h->n);
    bytes_put_u32(&w, crc32c(0, out, w.at));
    for (int i = 0; i < h->n; i++) {
        const struct checkpoint_entry *e = &h->entry[i];
        bytes_put_u32(&w, e->s.tag);
        bytes_put_u16(&w, e->s.version);
        bytes_put_u16(&w, e->s.flags);
        bytes_put_u64(&w, e->s.len);
        bytes_put_u64(&w, e->packed);
        bytes_put_u32(&w, e->crc);
    }
    bytes_put_u32(&w, crc32c(0, out + CHECKPOINT_PREFIX_BYTES, w.at - CHECKPOINT_PREFIX_BYTES));
}

/* Parses the prefix, whose place and sum every version keeps. */
static int head_get_prefix(struct checkpoint_head *h, char writer[WRITER_CAP], const uint8_t *in,
                           size_t len, const char *id, struct err *err)
{
    struct bytes_reader r = bytes_reader(in, len);
    char name[CHECKPOINT_ID_CAP] = "";
    const uint8_t *text;
    uint32_t version, n;

    (void)bytes_get_u32(&r);
    version = bytes_get_u32(&r);
    text = bytes_get_span(&r, CHECKPOINT_ID_CAP);
    h->number = bytes_get_u64(&r);
    (void)bytes_get_span(&r, WRITER_CAP);
    n = bytes_get_u32(&r);
    if (len < CHECKPOINT_PREFIX_BYTES ||
        crc32c(0, in, CHECKPOINT_PREFIX_BYTES - 4) != bytes_get_u32(&r))
        return err_set(err, ERR_INPUT, "the header is damaged");
    memcpy(name, id, strlen(id));
    if (memcmp(text, name, CHECKPOINT_ID_CAP) != 0)
        return err_set(err, ERR_INPUT, "another session's checkpoint");
    memcpy(writer, text + CHECKPOINT_ID_CAP + 8, WRITER_CAP - 1);
    if (version != VERSION)
        return err_set(err, ERR_UNSUPPORTED, "its form has version %u, this build reads %u",
                       (unsigned)version, VERSION);
    if (n > CHECKPOINT_SECTIONS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "it has %u sections, this build reads %d", (unsigned)n,
                       CHECKPOINT_SECTIONS_MAX);
    h->n = (int)n;
    h->bytes = (size_t)CHECKPOINT_HEAD_BYTES(h->n);
    return 0;
}

static int head_get_table(struct checkpoint_head *h, const uint8_t *in, size_t len, struct err *err)
{
    struct bytes_reader r = bytes_reader(in, len);

    r.at = CHECKPOINT_PREFIX_BYTES;
    for (int i = 0; i < h->n; i++) {
        struct checkpoint_entry *e = &h->entry[i];
        e->s.tag = bytes_get_u32(&r);
        e->s.version = bytes_get_u16(&r);
        e->s.flags = bytes_get_u16(&r);
        e->s.len = bytes_get_u64(&r);
        e->packed = bytes_get_u64(&r);
        e->crc = bytes_get_u32(&r);
    }
    if (len < h->bytes || crc32c(0, in + CHECKPOINT_PREFIX_BYTES,
                                 h->bytes - CHECKPOINT_PREFIX_BYTES - 4) != bytes_get_u32(&r))
        return err_set(err, ERR_INPUT, "the table of sections is damaged");
    return 0;
}

/* Are the bodies within the limits, and do they fill the file? */
static int head_check_sizes(const struct checkpoint_head *h, uint64_t size, struct err *err)
{
    uint64_t plain = 0, left;

    if (size < h->bytes)
        return err_set(err, ERR_INPUT, "it is cut short");
    left = size - h->bytes;
    for (int i = 0; i < h->n; i++) {
        const struct checkpoint_entry *e = &h->entry[i];
        if (e->packed > left || e->s.len > CHECKPOINT_PLAIN_MAX - plain ||
            e->s.len / RATIO_MAX > e->packed)
            return err_set(err, ERR_INPUT, "section %d is larger than the file or the limit", i);
        left -= e->packed;
        plain += e->s.len;
    }
    return left ? err_set(err, ERR_INPUT, "bytes behind the last section") : 0;
}

static int head_check_use(struct checkpoint_head *h, const struct checkpoint_reads *reads,
                          struct err *err)
{
    for (int i = 0; i < h->n; i++) {
        struct checkpoint_entry *e = &h->entry[i];
        int use = section_use(&e->s, reads->fn(reads->ctx, e->s.tag), err);
        if (use < 0)
            return use;
        e->passed_over = !use;
    }
    return 0;
}

int checkpoint_head_get(struct checkpoint_head *h, const uint8_t *in, size_t len, uint64_t size,
                        const struct checkpoint_reads *reads, uint64_t number, struct err *err)
{
    struct bytes_reader r = bytes_reader(in, len);
    char writer[WRITER_CAP] = "";
    struct err why = {0};
    int rc;

    if (bytes_get_u32(&r) != MAGIC)
        return err_set(err, ERR_INPUT, "the header is damaged");
    rc = head_get_prefix(h, writer, in, len, reads->id, &why);
    if (rc == 0)
        rc = head_get_table(h, in, len, &why);
    if (rc == 0 && h->number != number)
        rc = err_set(&why, ERR_INPUT, "the checkpoint of another record");
    if (rc == 0)
        rc = head_check_sizes(h, size, &why);
    if (rc == 0)
        rc = head_check_use(h, reads, &why);
    if (rc == ERR_UNSUPPORTED)
        return err_set(err, rc, "recond %s wrote it: %s", writer, why.text);
    return rc ? err_set(err, rc, "%s", why.text) : 0;
}
