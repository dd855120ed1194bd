#include "proto/wire/delta.h"

#include "proto/array.h"
#include "proto/wire/planes.h"
#include "proto/geom/pose.h"

#include <stdlib.h>
#include <string.h>

#define PLANES_AT 56       /* offset of the planes in put and patch */
#define TRANSFORM_BYTES 48 /* size of submap and object transforms */
#define TRANSFORM_MAX_M 1.0e6f
#define UNPLACED 1u /* flag of a submap transform */

/* Each plane is a part for the codec: the planes of removed indices, then those of added keys. */
#define PARTS_REMOVED PLANES_REMOVED_BYTES
#define PARTS (PARTS_REMOVED + PLANES_ADDED_BYTES)

struct delta_scratch {
    struct codec *codec;
    uint8_t *plain, *msg; /* planes, and the message of delta_encode() */
    uint32_t *removed;    /* arrays of delta_decode() */
    uint64_t *added;
    size_t plain_cap, msg_cap, removed_cap, added_cap; /* bytes */
};

int delta_scratch_new(struct delta_scratch **s, struct err *err)
{
    int rc;

    *s = calloc(1, sizeof **s);
    if (!*s)
        return err_set(err, ERR_MEMORY, "no memory for block messages");
    rc = codec_new(&(*s)->codec, err);
    if (rc)
        delta_scratch_free(s);
    return rc;
}

void delta_scratch_free(struct delta_scratch **s)
{
    if (!*s)
        return;
    codec_free(&(*s)->codec);
    free((*s)->plain);
    free((*s)->msg);
    free((*s)->removed);
    free((*s)->added);
    free(*s);
    *s = NULL;
}

/* Makes room. The pointer is never NULL afterwards, not even for 0 bytes. */
static int delta_reserve(void *array, size_t *cap, size_t bytes, struct err *err)
{
    return array_grow(array, cap, bytes + 1, 1)
               ? err_set(err, ERR_MEMORY, "no memory for a block message of %zu bytes", bytes)
               : 0;
}

#define RESERVE(s, field, bytes, err) delta_reserve(&(s)->field, &(s)->field##_cap, (bytes), (err))

/* ------------------------------------------------------------------------- encode */

static void put_header(struct bytes_writer *w, const struct delta *d, enum codec_kind codec)
{
    bytes_put_u8(w, (uint8_t)d->op);
    bytes_put_u8(w, DELTA_VERSION);
    bytes_put_u8(w, (uint8_t)codec);
    bytes_put_u8(w, d->op == DELTA_SUBMAP && d->unplaced ? UNPLACED : 0);
    bytes_put_u32(w, d->epoch);
    bytes_put_u64(w, d->revision);
}

/* Fills the planes and compresses them behind the header. Planes that did not shrink are sent
 * raw. */
static int encode_planes(struct delta_scratch *s, const struct delta *d, enum codec_kind *codec,
                         size_t *body_len, struct err *err)
{
    size_t plain_len = planes_bytes(d->n_removed, d->n_added);
    size_t bound = codec_bound(d->codec, plain_len, PARTS), part_len[PARTS];
    int rc;

    *codec = d->codec;
    rc = RESERVE(s, plain, plain_len, err);
    if (!rc)
        rc = RESERVE(s, msg, PLANES_AT + bound, err);
    if (rc)
        return rc;
    planes_split(s->plain, d->removed, d->n_removed, d->added, d->n_added);
    for (int i = 0; i < PARTS; i++)
        part_len[i] = i < PARTS_REMOVED ? d->n_removed : d->n_added;
    rc = codec_pack(s->codec, d->codec, s->msg + PLANES_AT, bound, body_len, s->plain, part_len,
                    PARTS, err);
    if (rc == 0 && *body_len >= plain_len) {
        *codec = CODEC_RAW;
        *body_len = plain_len;
        memcpy(s->msg + PLANES_AT, s->plain, plain_len);
    }
    return rc;
}

static int encode_points(struct delta_scratch *s, const struct delta *d, size_t *len,
                         struct err *err)
{
    struct bytes_writer w;
    enum codec_kind codec;
    size_t body_len;
    int rc;

    if (d->n_points > DELTA_POINTS_MAX || d->n_added > DELTA_POINTS_MAX ||
        d->n_removed > DELTA_POINTS_MAX)
        return err_set(err, ERR_LIMIT, "more than %u points in one block", DELTA_POINTS_MAX);
    if ((unsigned)d->codec >= CODEC_WIRE_KINDS)
        return err_set(err, ERR_INPUT, "codec %d is unknown", (int)d->codec);
    rc = encode_planes(s, d, &codec, &body_len, err);
    if (rc)
        return rc;
    w = bytes_writer(s->msg, PLANES_AT);
    put_header(&w, d, codec);
    key_put_name(&w, &d->name);
    bytes_put_u32(&w, d->n_points);
    bytes_put_u32(&w, d->n_removed);
    bytes_put_u32(&w, d->n_added);
    bytes_put_u64(&w, d->base_revision);
    bytes_put_u32(&w, (uint32_t)planes_bytes(d->n_removed, d->n_added));
    *len = PLANES_AT + body_len;
    return 0;
}

int delta_encode(struct delta_scratch *s, const struct delta *d, const uint8_t **msg, size_t *len,
                 struct err *err)
{
    struct bytes_writer w;
    int rc;

    if (d->op == DELTA_PUT || d->op == DELTA_PATCH) {
        rc = encode_points(s, d, len, err);
    } else {
        rc = RESERVE(s, msg, TRANSFORM_BYTES, err);
        if (rc)
            return rc;
        w = bytes_writer(s->msg, TRANSFORM_BYTES);
        put_header(&w, d, CODEC_RAW);
        if (d->op == DELTA_DELETE) {
            key_put_name(&w, &d->name);
        } else if (d->op == DELTA_SUBMAP || d->op == DELTA_OBJECT) {
            bytes_put_u32(&w, d->id);
            for (int i = 0; i < 7; i++)
                bytes_put_f32(&w, d->pose[i]);
        } else if (d->op != DELTA_CLEAR) {
            return err_set(err, ERR_INPUT, "block operation 0x%02x is unknown", (unsigned)d->op);
        }
        *len = w.at;
    }
    *msg = s->msg;
    return rc;
}

/* ------------------------------------------------------------------------- decode */

static int get_name(struct bytes_reader *r, struct cloud_name *name, struct err *err)
{
    bool placed = key_get_name(r, name);

    if (r->bad)
        return err_set(err, ERR_INPUT, "message ends inside its header");
    if (!placed)
        return err_set(err, ERR_INPUT, "block coordinates must be in %d...%d", KEY_BLOCK_MIN,
                       KEY_BLOCK_MAX);
    return 0;
}

static int check_counts(const struct delta *d, uint32_t plain_len, struct err *err)
{
    if (d->n_points > DELTA_POINTS_MAX || d->n_removed > DELTA_POINTS_MAX ||
        d->n_added > DELTA_POINTS_MAX)
        return err_set(err, ERR_LIMIT, "more than %u points in one block", DELTA_POINTS_MAX);
    if (d->n_added > d->n_points)
        return err_set(err, ERR_INPUT, "%u points added, but only %u afterwards",
                       (unsigned)d->n_added, (unsigned)d->n_points);
    if (d->op == DELTA_PUT && (d->n_removed || d->base_revision || d->n_added != d->n_points))
        return err_set(err, ERR_INPUT,
                       "a put removes nothing, has no base and adds all its points");
    if (d->op == DELTA_PATCH && d->base_revision >= d->revision)
        return err_set(err, ERR_INPUT, "a patch leads to a newer revision than its base");
    if (plain_len != planes_bytes(d->n_removed, d->n_added))
        return err_set(err, ERR_INPUT, "planes of %u bytes announced, the counts make %zu",
                       (unsigned)plain_len, planes_bytes(d->n_removed, d->n_added));
    return 0;
}

static int decode_points(struct delta_scratch *s, struct delta *d, struct bytes_reader *r,
                         struct err *err)
{
    uint32_t plain_len;
    size_t body_len;
    int rc;

    d->n_points = bytes_get_u32(r);
    d->n_removed = bytes_get_u32(r);
    d->n_added = bytes_get_u32(r);
    d->base_revision = bytes_get_u64(r);
    plain_len = bytes_get_u32(r);
    if (r->bad)
        return err_set(err, ERR_INPUT, "message ends inside its header");
    rc = check_counts(d, plain_len, err);
    if (!rc)
        rc = RESERVE(s, plain, plain_len, err);
    if (!rc)
        rc = RESERVE(s, removed, d->n_removed * sizeof *s->removed, err);
    if (!rc)
        rc = RESERVE(s, added, d->n_added * sizeof *s->added, err);
    if (rc)
        return rc;
    body_len = bytes_left(r);
    rc = codec_unpack(s->codec, d->codec, s->plain, plain_len, bytes_get_span(r, body_len),
                      body_len, err);
    if (!rc)
        rc = planes_join(s->plain, s->removed, d->n_removed, s->added, d->n_added, err);
    d->removed = s->removed;
    d->added = s->added;
    return rc;
}

static int decode_header(struct delta *d, struct bytes_reader *r, struct err *err)
{
    unsigned op = bytes_get_u8(r), version = bytes_get_u8(r), codec = bytes_get_u8(r);
    unsigned flags = bytes_get_u8(r);

    d->epoch = bytes_get_u32(r);
    d->revision = bytes_get_u64(r);
    if (r->bad)
        return err_set(err, ERR_INPUT, "message ends inside its header");
    if (op < DELTA_PUT || op > DELTA_OBJECT)
        return err_set(err, ERR_INPUT, "opcode 0x%02x is no block message", op);
    if (version != DELTA_VERSION)
        return err_set(err, ERR_INPUT, "block message version %u, this side speaks %d", version,
                       DELTA_VERSION);
    if (codec >= CODEC_WIRE_KINDS || (codec && op != DELTA_PUT && op != DELTA_PATCH))
        return err_set(err, ERR_INPUT, "codec %u is not allowed here", codec);
    if (flags && op != DELTA_SUBMAP)
        return err_set(err, ERR_INPUT, "reserved byte is %u, must be 0", flags);
    d->op = (enum delta_op)op;
    d->unplaced = flags & UNPLACED;
    d->codec = (enum codec_kind)codec;
    return 0;
}

int delta_decode(struct delta_scratch *s, struct delta *d, const uint8_t *msg, size_t len,
                 struct err *err)
{
    struct bytes_reader r = bytes_reader(msg, len);
    int rc;

    *d = (struct delta){.T = rigid_identity()};
    if (len > DELTA_MESSAGE_MAX)
        return err_set(err, ERR_LIMIT, "block message of %zu bytes, at most %u", len,
                       DELTA_MESSAGE_MAX);
    rc = decode_header(d, &r, err);
    if (rc)
        return rc;
    if (d->op == DELTA_SUBMAP || d->op == DELTA_OBJECT) {
        d->id = bytes_get_u32(&r);
        for (int i = 0; i < 7; i++)
            d->pose[i] = bytes_get_f32(&r);
        rc = r.bad ? err_set(err, ERR_INPUT, "message ends inside the transform")
                   : pose_from_numbers(&d->T, d->pose, TRANSFORM_MAX_M, err);
    } else if (d->op != DELTA_CLEAR) {
        rc = get_name(&r, &d->name, err);
    }
    if (rc == 0 && (d->op == DELTA_PUT || d->op == DELTA_PATCH))
        rc = decode_points(s, d, &r, err);
    if (rc == 0 && bytes_left(&r))
        rc = err_set(err, ERR_INPUT, "%zu bytes after the message", bytes_left(&r));
    return rc;
}
