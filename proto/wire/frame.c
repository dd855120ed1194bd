#include "proto/wire/frame.h"

#include "proto/geom/inertial.h"
#include "proto/geom/pose.h"

#include <string.h>

#define FLAGS_AT 4
#define CAMERA_AT 32
#define ALTITUDE_MAX_M 1e5f
#define ACCURACY_MAX_M 1e8f
#define IMU_FORCE_AT 20 /* of a sample */
/* m/s2: a mean force outside of this range is not gravity's, or has another unit */
#define IMU_LEAST 7.0
#define IMU_MOST 13.0
#define RIG_MAX_M 32.0f /* metres between two cameras of a rig; cameras.h allows 20 */

void frame_swap_axes(struct rigid *T)
{
    for (int i = 0; i < 3; i++) {
        T->r[3 * i + 1] = -T->r[3 * i + 1];
        T->r[3 * i + 2] = -T->r[3 * i + 2];
    }
}

/* ------------------------------------------------------------------------- header */

static int check_start(struct bytes_reader *r, size_t *header_len, struct err *err)
{
    unsigned op = bytes_get_u8(r), version = bytes_get_u8(r);

    *header_len = bytes_get_u16(r);
    if (r->len < FRAME_HEADER_BYTES)
        return err_at(err, ERR_INPUT, "header_len", "%zu bytes are no frame header of %d", r->len,
                      FRAME_HEADER_BYTES);
    if (op != FRAME_OP)
        return err_at(err, ERR_INPUT, "op", "opcode 0x%02x, a frame has 0x%02x", op, FRAME_OP);
    if (version != FRAME_VERSION)
        return err_at(err, ERR_INPUT, "version", "frame version %u, this server speaks %d", version,
                      FRAME_VERSION);
    if (*header_len < FRAME_HEADER_BYTES)
        return err_at(err, ERR_INPUT, "header_len", "header length %zu, must be %d or more",
                      *header_len, FRAME_HEADER_BYTES);
    return 0;
}

static int check_camera(const struct frame *f, struct err *err)
{
    const struct intrinsics *K = &f->K;
    float limit = 64.0f * FRAME_SIDE_MAX; /* largest focal length and centre; no camera has more */

    if (!(f->flags & FRAME_HAS_CAMERA))
        return 0;
    if (!isfinite(K->fx) || !isfinite(K->fy) || !isfinite(K->cx) || !isfinite(K->cy))
        return err_at(err, ERR_INPUT, "camera", "intrinsics are not finite");
    if (!(K->fx >= FRAME_FOCAL_MIN_PX && K->fy >= FRAME_FOCAL_MIN_PX && K->fx <= limit &&
          K->fy <= limit))
        return err_at(err, ERR_INPUT, "camera", "focal length %g x %g pixels, must be in %g...%g",
                      (double)K->fx, (double)K->fy, (double)FRAME_FOCAL_MIN_PX, (double)limit);
    if (!(fabsf(K->cx) <= limit && fabsf(K->cy) <= limit))
        return err_at(err, ERR_INPUT, "camera", "principal point %g, %g is beyond %g pixels",
                      (double)K->cx, (double)K->cy, (double)limit);
    return 0;
}

uint32_t frame_get_world_epoch(const uint8_t header[FRAME_HEADER_BYTES])
{
    struct bytes_reader r = bytes_reader(header + 24, 4);

    return bytes_get_u32(&r);
}

bool frame_get_seq(uint64_t *seq, const uint8_t *msg, size_t len)
{
    struct bytes_reader r = bytes_reader(msg, len);
    struct err ignored;
    size_t header_len;
    bool ours = check_start(&r, &header_len, &ignored) == 0;

    bytes_get_u32(&r); /* flags */
    *seq = bytes_get_u64(&r);
    return ours;
}

/* ------------------------------------------------------------------------- parts */

/* Tells whether this build reads parts of this type in this codec and unit. */
static bool understood(unsigned type, unsigned codec, unsigned unit)
{
    static const struct {
        unsigned codecs, units; /* Mask of the bits that are in use. */
    } known[] = {
        [FRAME_COLOUR] = {1u << FRAME_JPEG, 1u},
        [FRAME_DEPTH] = {1u << FRAME_RAW | 1u << FRAME_DEFLATE | 1u << FRAME_PNG, 3u},
        [FRAME_CONFIDENCE] = {1u << FRAME_RAW | 1u << FRAME_DEFLATE | 1u << FRAME_PNG, 1u},
        [FRAME_MASK] = {1u << FRAME_RAW | 1u << FRAME_DEFLATE, 1u},
        [FRAME_IMU] = {1u << FRAME_RAW, 1u},
        [FRAME_GPS] = {1u << FRAME_RAW, 1u},
    };

    return type < sizeof known / sizeof *known && codec < 32 && unit < 32 &&
           known[type].codecs >> codec & 1 && known[type].units >> unit & 1;
}

static int check_sides(const struct frame_part *p, struct err *err)
{
    bool picture = p->type == FRAME_COLOUR;
    int least = picture ? FRAME_SIDE_MIN : 1;

    if (p->width < least || p->width > FRAME_SIDE_MAX)
        return err_at(err, ERR_INPUT, "width", "width %d, must be in %d...%d", p->width, least,
                      FRAME_SIDE_MAX);
    if (p->height < least || p->height > FRAME_SIDE_MAX)
        return err_at(err, ERR_INPUT, "height", "height %d, must be in %d...%d", p->height, least,
                      FRAME_SIDE_MAX);
    if (!picture && (uint32_t)p->width * (uint32_t)p->height > FRAME_MAP_PIXELS)
        return err_at(err, ERR_INPUT, "width", "a part of %d x %d pixels, it may have %u", p->width,
                      p->height, FRAME_MAP_PIXELS);
    return 0;
}

/* Returns the bytes of an uncompressed part; 0 = the size varies. */
static uint32_t plain_bytes(const struct frame_part *p)
{
    uint32_t w = (uint32_t)p->width, h = (uint32_t)p->height;

    if (p->codec != FRAME_RAW)
        return 0;
    return p->type == FRAME_DEPTH        ? 2 * w * h
           : p->type == FRAME_CONFIDENCE ? w * h
           : p->type == FRAME_MASK       ? (w + 7) / 8 * h
                                         : 0;
}

static int check_part(const struct frame_part *p, struct err *err)
{
    int rc = 0;

    if (p->type <= FRAME_MASK)
        rc = check_sides(p, err);
    if (rc)
        return rc;
    if (p->len == 0 || (plain_bytes(p) && p->len != plain_bytes(p)) ||
        (p->type == FRAME_IMU && p->len % FRAME_IMU_BYTES) ||
        (p->type == FRAME_GPS && p->len < FRAME_GPS_BYTES))
        return err_at(err, ERR_INPUT, "part", "a part of type %d has %u bytes", (int)p->type,
                      (unsigned)p->len);
    return 0;
}

/* Takes an understood part: the first one of colour is the picture, the rest are other parts. */
static int take_part(struct frame *f, const struct frame_part *p, struct err *err)
{
    int rc = check_part(p, err);

    if (rc)
        return rc;
    if (p->type == FRAME_COLOUR && !f->payload) {
        f->width = p->width;
        f->height = p->height;
        f->camera = p->camera;
        f->payload = p->data;
        f->payload_len = p->len;
    } else if (f->n_parts < FRAME_PARTS_MAX - 1) {
        f->parts[f->n_parts++] = *p;
    }
    return 0;
}

/* Reads one entry; its payload begins at *at. */
static int get_part(struct frame *f, struct bytes_reader *entry, const uint8_t *msg, size_t len,
                    size_t *at, struct err *err)
{
    unsigned type = bytes_get_u8(entry), codec = bytes_get_u8(entry);
    struct frame_part p = {.flags = bytes_get_u16(entry)};

    p.width = bytes_get_u16(entry);
    p.height = bytes_get_u16(entry);
    p.camera = bytes_get_u16(entry);
    p.unit = bytes_get_u16(entry);
    p.len = bytes_get_u32(entry);
    p.data = msg + *at;
    if (p.len > len - *at)
        return err_at(err, ERR_INPUT, "parts", "a part of %u bytes, %zu are left", (unsigned)p.len,
                      len - *at);
    *at += p.len;
    if (!understood(type, codec, p.unit)) {
        if (!(p.flags >> FRAME_PART_VITAL_BIT & 1))
            return 0;
        f->unknown_bit = FRAME_PART_VITAL_BIT;
        return err_at(err, ERR_UNSUPPORTED, "part", "a part of type %u, codec %u, unit %u", type,
                      codec, p.unit);
    }
    p.type = (enum frame_part_type)type;
    p.codec = (enum frame_codec)codec;
    return take_part(f, &p, err);
}

static int get_parts(struct frame *f, const uint8_t *msg, size_t len, size_t header_len,
                     unsigned n_parts, unsigned part_len, struct err *err)
{
    size_t at = header_len + (size_t)n_parts * part_len;
    int rc = 0;

    if (len - FRAME_HEADER_BYTES > FRAME_PAYLOAD_MAX)
        return err_at(err, ERR_INPUT, "parts", "%zu bytes behind the header, at most %u",
                      len - FRAME_HEADER_BYTES, FRAME_PAYLOAD_MAX);
    if (n_parts < 1 || n_parts > FRAME_PARTS_MAX)
        return err_at(err, ERR_INPUT, "n_parts", "%u parts, must be 1...%d", n_parts,
                      FRAME_PARTS_MAX);
    if (part_len < FRAME_PART_BYTES)
        return err_at(err, ERR_INPUT, "part_len", "entries of %u bytes, they have %d or more",
                      part_len, FRAME_PART_BYTES);
    if (at > len)
        return err_at(err, ERR_INPUT, "n_parts", "%u entries of %u bytes do not fit", n_parts,
                      part_len);
    for (unsigned i = 0; i < n_parts && rc == 0; i++) {
        struct bytes_reader entry =
            bytes_reader(msg + header_len + (size_t)i * part_len, FRAME_PART_BYTES);

        rc = get_part(f, &entry, msg, len, &at, err);
    }
    if (rc)
        return rc;
    if (at != len)
        return err_at(err, ERR_INPUT, "parts", "%zu bytes belong to no part", len - at);
    return f->payload ? 0 : err_at(err, ERR_INPUT, "parts", "no part is a JPEG in colour");
}

const struct frame_part *frame_find(const struct frame *f, enum frame_part_type type)
{
    for (int i = 0; i < f->n_parts; i++)
        if (f->parts[i].type == type)
            return &f->parts[i];
    return NULL;
}

static double get_f64(struct bytes_reader *r)
{
    uint64_t bits = bytes_get_u64(r);
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static void put_f64(struct bytes_writer *w, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    bytes_put_u64(w, bits);
}

bool frame_position_get(struct frame_position *p, const uint8_t *bytes)
{
    struct bytes_reader r = bytes_reader(bytes, FRAME_POSITION_BYTES);
    struct frame_position read;

    read.latitude = get_f64(&r);
    read.longitude = get_f64(&r);
    read.altitude_m = bytes_get_f32(&r);
    read.accuracy_m = bytes_get_f32(&r);
    if (!(fabs(read.latitude) <= 90 && fabs(read.longitude) <= 180 &&
          fabsf(read.altitude_m) <= ALTITUDE_MAX_M && read.accuracy_m >= 0 &&
          read.accuracy_m <= ACCURACY_MAX_M))
        return false;
    *p = read;
    return true;
}

void frame_position_put(uint8_t *bytes, const struct frame_position *p)
{
    struct bytes_writer w = bytes_writer(bytes, FRAME_POSITION_BYTES);

    put_f64(&w, p->latitude);
    put_f64(&w, p->longitude);
    bytes_put_f32(&w, p->altitude_m);
    bytes_put_f32(&w, p->accuracy_m);
}

bool frame_up(const struct frame *f, enum frame_pose_convention convention, struct vec3 *up)
{
    const struct frame_part *part = frame_find(f, FRAME_IMU);
    uint32_t n = part ? part->len / FRAME_IMU_BYTES : 0;
    double sum[3] = {0, 0, 0}, length;
    float flip = convention == FRAME_POSE_OPENGL ? -1.0f : 1.0f;

    for (uint32_t i = 0; i < n; i++) {
        struct bytes_reader r =
            bytes_reader(part->data + (size_t)i * FRAME_IMU_BYTES + IMU_FORCE_AT,
                         FRAME_IMU_BYTES - IMU_FORCE_AT);
        for (int k = 0; k < 3; k++)
            sum[k] += (double)bytes_get_f32(&r);
    }
    length = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    if (!(length >= IMU_LEAST * n && length <= IMU_MOST * n) || n == 0)
        return false;
    *up = vec3_make((float)(sum[0] / length), flip * (float)(sum[1] / length),
                    flip * (float)(sum[2] / length));
    return true;
}

bool frame_turn(const struct frame *f, enum frame_pose_convention convention, uint64_t before_ns,
                float turn[3], float *seconds)
{
    const struct frame_part *part = frame_find(f, FRAME_IMU);
    uint32_t n = part ? part->len / FRAME_IMU_BYTES : 0;
    float flip = convention == FRAME_POSE_OPENGL ? -1.0f : 1.0f;
    struct inertial_turn t;

    inertial_begin(&t, before_ns, f->t_capture_ns);
    for (uint32_t i = 0; i < n && !t.is_bad; i++) {
        struct bytes_reader r =
            bytes_reader(part->data + (size_t)i * FRAME_IMU_BYTES, FRAME_IMU_BYTES);
        uint64_t at_ns = bytes_get_u64(&r);
        float rate[3];
        for (int k = 0; k < 3; k++)
            rate[k] = (k == 0 ? 1.0f : flip) * bytes_get_f32(&r);
        inertial_add(&t, at_ns, rate);
    }
    return inertial_end(&t, turn, seconds);
}

void frame_move(struct frame *f, const uint8_t *body)
{
    f->payload = body + (f->payload - f->body);
    for (int i = 0; i < f->n_parts; i++)
        f->parts[i].data = body + (f->parts[i].data - f->body);
    f->body = body;
}

/* ------------------------------------------------------------------------- parsing */

static int check_flags(struct frame *f, struct err *err)
{
    for (int bit = 16; bit < 32; bit++)
        if (f->flags & FRAME_FLAGS_VITAL & 1u << bit) {
            f->unknown_bit = bit;
            return err_at(err, ERR_UNSUPPORTED, "flags", "bit %d is not known here", bit);
        }
    return 0;
}

int frame_parse(struct frame *f, const uint8_t *msg, size_t len,
                enum frame_pose_convention convention, struct err *err)
{
    struct bytes_reader r = bytes_reader(msg, len), pose_bytes;
    unsigned n_parts, part_len;
    struct intrinsics K;
    size_t header_len;
    int rc;

    *f = (struct frame){.T_wc = rigid_identity()};
    rc = check_start(&r, &header_len, err);
    if (rc)
        return rc;
    f->flags = bytes_get_u32(&r);
    f->seq = bytes_get_u64(&r);
    f->t_capture_ns = bytes_get_u64(&r);
    f->world_epoch = bytes_get_u32(&r);
    n_parts = bytes_get_u16(&r);
    part_len = bytes_get_u16(&r);
    K.fx = bytes_get_f32(&r);
    K.fy = bytes_get_f32(&r);
    K.cx = bytes_get_f32(&r);
    K.cy = bytes_get_f32(&r);
    if (f->flags & FRAME_HAS_CAMERA)
        f->K = K;
    pose_bytes = bytes_reader(bytes_get_span(&r, POSE_BYTES), POSE_BYTES);
    f->body = msg + FRAME_HEADER_BYTES;
    f->body_len = (uint32_t)(len - FRAME_HEADER_BYTES);
    rc = check_flags(f, err);
    if (rc == 0)
        rc = get_parts(f, msg, len, header_len, n_parts, part_len, err);
    if (rc == 0)
        rc = check_camera(f, err);
    if (rc || !(f->flags & FRAME_HAS_POSE))
        return rc;
    rc = pose_get(&pose_bytes, &f->T_wc, FRAME_COORD_MAX_M, err);
    if (rc == 0 && convention == FRAME_POSE_OPENGL)
        frame_swap_axes(&f->T_wc);
    return rc;
}

/* ------------------------------------------------------------------------- writing */

static void put_camera(struct bytes_writer *w, const struct intrinsics *K)
{
    bytes_put_f32(w, K->fx);
    bytes_put_f32(w, K->fy);
    bytes_put_f32(w, K->cx);
    bytes_put_f32(w, K->cy);
}

void frame_put_camera(uint8_t header[FRAME_HEADER_BYTES], const struct intrinsics *K)
{
    struct bytes_writer w = bytes_writer(header + CAMERA_AT, 16);

    header[FLAGS_AT] |= FRAME_HAS_CAMERA;
    put_camera(&w, K);
}

void frame_rig_put(uint8_t out[FRAME_RIG_BYTES], const struct frame_rig *rig)
{
    struct bytes_writer w = bytes_writer(out, FRAME_RIG_BYTES);

    put_camera(&w, &rig->K);
    pose_put(&w, &rig->T_cd);
}

int frame_rig_get(struct frame_rig *rig, const uint8_t in[FRAME_RIG_BYTES], struct err *err)
{
    struct bytes_reader r = bytes_reader(in, FRAME_RIG_BYTES);
    struct frame_rig read = {.known = true};
    int rc;

    read.K.fx = bytes_get_f32(&r);
    read.K.fy = bytes_get_f32(&r);
    read.K.cx = bytes_get_f32(&r);
    read.K.cy = bytes_get_f32(&r);
    rc = pose_get(&r, &read.T_cd, RIG_MAX_M, err);
    if (rc == 0)
        *rig = read;
    return rc;
}

bool frame_has_lenses(const struct frame *f)
{
    return f->lens.model != LENS_PINHOLE || f->rig.lens.model != LENS_PINHOLE;
}

void frame_lenses_put(uint8_t out[FRAME_LENSES_BYTES], const struct frame *f)
{
    lens_put(out, &f->lens);
    lens_put(out + LENS_BYTES, &f->rig.lens);
}

int frame_lenses_get(struct frame *f, const uint8_t in[FRAME_LENSES_BYTES], struct err *err)
{
    struct lens depth;
    int rc = lens_get(&depth, in + LENS_BYTES, err);

    if (rc == 0)
        rc = lens_get(&f->lens, in, err);
    if (rc == 0)
        f->rig.lens = depth;
    return rc;
}

static void put_part(struct bytes_writer *w, const struct frame_part *p)
{
    bytes_put_u8(w, (uint8_t)p->type);
    bytes_put_u8(w, (uint8_t)p->codec);
    bytes_put_u16(w, p->flags);
    bytes_put_u16(w, (uint16_t)p->width);
    bytes_put_u16(w, (uint16_t)p->height);
    bytes_put_u16(w, (uint16_t)p->camera);
    bytes_put_u16(w, (uint16_t)p->unit);
    bytes_put_u32(w, p->len);
}

size_t frame_encode_head(uint8_t *head, const struct frame *f,
                         enum frame_pose_convention convention)
{
    size_t len = FRAME_HEAD_BYTES + (size_t)f->n_parts * FRAME_PART_BYTES;
    const struct frame_part picture = {FRAME_COLOUR, FRAME_JPEG, 0,    f->width,      f->height,
                                       f->camera,    0,          NULL, f->payload_len};
    struct bytes_writer w = bytes_writer(head, len);
    struct rigid T = f->flags & FRAME_HAS_POSE ? f->T_wc : rigid_identity();

    if ((f->flags & FRAME_HAS_POSE) && convention == FRAME_POSE_OPENGL)
        frame_swap_axes(&T);
    bytes_put_u8(&w, FRAME_OP);
    bytes_put_u8(&w, FRAME_VERSION);
    bytes_put_u16(&w, FRAME_HEADER_BYTES);
    bytes_put_u32(&w, f->flags);
    bytes_put_u64(&w, f->seq);
    bytes_put_u64(&w, f->t_capture_ns);
    bytes_put_u32(&w, f->world_epoch);
    bytes_put_u16(&w, (uint16_t)(1 + f->n_parts));
    bytes_put_u16(&w, FRAME_PART_BYTES);
    put_camera(&w, &f->K);
    pose_put(&w, &T);
    bytes_put_u32(&w, 0);
    put_part(&w, &picture);
    for (int i = 0; i < f->n_parts; i++)
        put_part(&w, &f->parts[i]);
    return len;
}

size_t frame_bytes(const struct frame *f)
{
    size_t len = FRAME_HEAD_BYTES + (size_t)f->payload_len;

    for (int i = 0; i < f->n_parts; i++)
        len += FRAME_PART_BYTES + (size_t)f->parts[i].len;
    return len;
}

void frame_encode(uint8_t *msg, const struct frame *f, enum frame_pose_convention convention)
{
    size_t at = frame_encode_head(msg, f, convention);

    memcpy(msg + at, f->payload, f->payload_len);
    at += f->payload_len;
    for (int i = 0; i < f->n_parts; i++) {
        if (f->parts[i].len > 0) /* an empty part has no data */
            memcpy(msg + at, f->parts[i].data, f->parts[i].len);
        at += f->parts[i].len;
    }
}
