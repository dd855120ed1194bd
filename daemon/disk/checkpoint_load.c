#include "daemon/disk/checkpoint_internal.h"

#include "daemon/disk/folder.h"
#include "proto/crc32c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the body of an entry at *at, checks it, and unpacks it to the end of the row. */
static int entry_load(struct checkpoint_state *out, size_t cap, const struct checkpoint_entry *e,
                      int fd, uint64_t *at, uint8_t *packed, struct codec *codec, struct err *err)
{
    uint8_t *body = section_open(out->row, cap, out->len, e->s.len);
    int rc;

    if (folder_read(fd, packed, e->packed, *at))
        return err_set(err, ERR_IO, "a checkpoint cannot be read");
    if (crc32c(0, packed, e->packed) != e->crc)
        return err_set(err, ERR_INPUT, "a section is damaged");
    *at += e->packed;
    if (e->passed_over)
        return 0;
    rc = codec_unpack(codec, CODEC_ZSTD, body, e->s.len, packed, e->packed, err);
    if (rc == 0)
        section_close(out->row, &out->len, e->s.tag, e->s.version, e->s.flags, e->s.len);
    return rc;
}

static int state_load(struct checkpoint_state *out, const struct checkpoint_folder *f,
                      uint64_t number, struct codec *codec, struct err *err)
{
    struct checkpoint_head h;
    size_t plain = 0, most = 0;
    uint8_t *packed;
    uint64_t at;
    int fd, rc = checkpoint_file_open(f, number, &h, &fd, err);

    if (rc)
        return rc;
    for (int i = 0; i < h.n; i++) {
        plain += h.entry[i].passed_over ? 0 : section_bytes(h.entry[i].s.len);
        most = h.entry[i].packed > most ? (size_t)h.entry[i].packed : most;
    }
    packed = malloc(most + 1);
    out->row = malloc(plain + 1);
    if (!packed || !out->row)
        rc = err_set(err, ERR_MEMORY, "no memory for a checkpoint of %zu bytes", plain);
    at = h.bytes;
    for (int i = 0; i < h.n && rc == 0; i++)
        rc = entry_load(out, plain, &h.entry[i], fd, &at, packed, codec, err);
    out->number = number;
    if (rc)
        checkpoint_state_free(out);
    free(packed);
    close(fd);
    return rc;
}

/* Loads the newest one below `limit` that can be loaded; newer ones that cannot are reported. */
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
    int rc = checkpoint_folder(&f, c, id, err);

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
    int fd, rc = checkpoint_folder(&f, c, id, err);

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
    int changed, rc = checkpoint_folder(&f, c, id, err);

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
