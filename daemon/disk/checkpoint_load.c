#include "daemon/disk/checkpoint_internal.h"

#include "daemon/disk/folder.h"
#include "proto/crc32c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int bodies_check(const struct checkpoint_head *h, const uint8_t *packed, struct err *err)
{
    for (int i = 0; i < h->n; packed += h->entry[i++].packed)
        if (crc32c(0, packed, h->entry[i].packed) != h->entry[i].crc)
            return err_set(err, ERR_INPUT, "section %d is damaged", i);
    return 0;
}

static int bodies_unpack(struct checkpoint_state *out, const struct checkpoint_head *h,
                         const uint8_t *packed, struct codec *codec, struct err *err)
{
    size_t total = 0;
    int rc = 0;

    for (int i = 0; i < h->n; i++)
        if (!h->entry[i].passed_over)
            total += section_bytes(h->entry[i].s.len);
    out->row = malloc(total + 1);
    if (!out->row)
        return err_set(err, ERR_MEMORY, "no memory for a state of %zu bytes", total);
    for (int i = 0; i < h->n && rc == 0; packed += h->entry[i++].packed) {
        const struct checkpoint_entry *e = &h->entry[i];
        if (e->passed_over)
            continue;
        rc = codec_unpack(codec, CODEC_ZSTD, section_open(out->row, total, out->len, e->s.len),
                          e->s.len, packed, e->packed, err);
        if (rc == 0)
            section_close(out->row, &out->len, e->s.tag, e->s.version, e->s.flags, e->s.len);
    }
    return rc;
}

static int state_load(struct checkpoint_state *out, const struct checkpoint_folder *f,
                      uint64_t number, struct codec *codec, struct err *err)
{
    struct checkpoint_head h;
    uint8_t *packed = NULL;
    size_t len = 0;
    int fd, rc = checkpoint_file_open(f, number, &h, &fd, err);

    if (rc)
        return rc;
    for (int i = 0; i < h.n; i++)
        len += h.entry[i].packed;
    packed = malloc(len + 1);
    if (!packed)
        rc = err_set(err, ERR_MEMORY, "no memory for a checkpoint of %zu bytes", len);
    else if (folder_read(fd, packed, len, h.bytes))
        rc = err_set(err, ERR_IO, "a checkpoint cannot be read");
    if (rc == 0)
        rc = bodies_check(&h, packed, err);
    if (rc == 0)
        rc = bodies_unpack(out, &h, packed, codec, err);
    out->number = number;
    if (rc)
        checkpoint_state_free(out);
    free(packed);
    close(fd);
    return rc;
}

/* The newest one below `limit` that can be loaded; what is passed over on the way is told. */
static int state_load_newest(struct checkpoint_state *out, const struct checkpoint_folder *f,
                             uint64_t limit, struct codec *codec, struct err *err)
{
    struct checkpoint_state passed = {0};
    struct err why = {0};
    uint64_t number;
    int rc;

    for (;; limit = number) {
        rc = checkpoint_file_below(f->fd, limit, &number);
        if (rc)
            rc = err_set(err, rc, "the folder of a session: %s", strerror(errno));
        else if (number == 0)
            rc = err_set(err, ERR_NOT_FOUND, "no whole checkpoint, %d damaged", passed.skipped);
        if (rc)
            break;
        rc = state_load(out, f, number, codec, &why);
        if (rc == 0)
            break;
        if (rc == ERR_MEMORY) {
            err_set(err, rc, "%s", why.text);
            break;
        }
        if (rc != ERR_UNSUPPORTED) {
            passed.skipped++;
        } else if (!passed.foreign) {
            passed.foreign = number;
            snprintf(passed.why, sizeof(passed.why), "%.*s", (int)sizeof(passed.why) - 1, why.text);
        }
    }
    out->skipped = passed.skipped;
    out->foreign = passed.foreign;
    memcpy(out->why, passed.why, sizeof(out->why));
    return rc;
}

int checkpoint_load(struct checkpoint_state *out, const struct checkpoint *c, const char *id,
                    uint64_t max_number, struct err *err)
{
    uint64_t limit = max_number < UINT64_MAX ? max_number + 1 : max_number;
    struct checkpoint_folder f;
    struct codec *codec = NULL;
    int rc = checkpoint_file_folder(&f, c, id, err);

    memset(out, 0, sizeof *out);
    if (rc)
        return rc;
    rc = codec_new(&codec, err);
    if (rc == 0)
        rc = state_load_newest(out, &f, limit, codec, err);
    codec_free(&codec);
    close(f.fd);
    return rc;
}

void checkpoint_state_free(struct checkpoint_state *s)
{
    free(s->row);
    memset(s, 0, sizeof *s);
}

int checkpoint_set_aside(const struct checkpoint *c, const char *id, struct err *err)
{
    struct checkpoint_folder f;
    uint64_t number = UINT64_MAX;
    struct checkpoint_head h;
    int fd, rc = checkpoint_file_folder(&f, c, id, err);

    if (rc)
        return rc;
    while (rc == 0 && (rc = checkpoint_file_below(f.fd, number, &number)) == 0 && number) {
        if (checkpoint_file_open(&f, number, &h, &fd, NULL) == ERR_UNSUPPORTED)
            rc = checkpoint_file_set_aside(f.fd, number);
        if (fd >= 0)
            close(fd);
    }
    if (rc || fsync(f.fd))
        rc = err_set(err, ERR_IO, "another build's checkpoint cannot be set aside: %s",
                     strerror(errno));
    close(f.fd);
    return rc;
}

int checkpoint_cut(const struct checkpoint *c, const char *id, uint64_t max_number, struct err *err)
{
    struct checkpoint_folder f;
    int changed, rc = checkpoint_file_folder(&f, c, id, err);

    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : rc;
    rc = checkpoint_file_cut(&f, max_number, &changed);
    if (rc == 0 && changed && fsync(f.fd))
        rc = ERR_IO;
    if (rc)
        err_set(err, rc, "checkpoints that the journal has lost cannot be removed: %s",
                strerror(errno));
    close(f.fd);
    return rc;
}
