#include "proto/wire/frame.h"

#include "proto/bytes.h"
#include "proto/geom/pose.h"

/* Right-multiplication by diag(1, -1, -1) turns OpenGL camera axes into OpenCV ones and back. */
static void swap_camera_axes(struct rigid *T)
{
    for (int i = 0; i < 3; i++) {
        T->r[3 * i + 1] = -T->r[3 * i + 1];
        T->r[3 * i + 2] = -T->r[3 * i + 2];
    }
}

static int check_start(struct bytes_reader *r, struct err *err)
{
    unsigned op = bytes_get_u8(r), version = bytes_get_u8(r), header_len = bytes_get_u16(r);

    if (r->len < FRAME_HEADER_BYTES)
        return err_at(err, ERR_INPUT, "header_len", "%zu bytes are no frame header of %d", r->len,
                      FRAME_HEADER_BYTES);
    if (op != FRAME_OP)
        return err_at(err, ERR_INPUT, "op", "opcode 0x%02x, a frame has 0x%02x", op, FRAME_OP);
    if (version != FRAME_VERSION)
        return err_at(err, ERR_INPUT, "version", "frame version %u, this server speaks %d", version,
                      FRAME_VERSION);
    if (header_len != FRAME_HEADER_BYTES)
        return err_at(err, ERR_INPUT, "header_len", "header length %u, must be %d", header_len,
                      FRAME_HEADER_BYTES);
    return 0;
}

static int check_camera(const struct frame *f, struct err *err)
{
    const struct intrinsics *K = &f->K;
    float limit = 64.0f * FRAME_SIDE_MAX; /* of focal length and centre: no camera has more */

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

static int check_fields(const struct frame *f, size_t len, struct err *err)
{
    if (f->flags & ~(uint32_t)FRAME_FLAGS_KNOWN)
        return err_at(err, ERR_INPUT, "flags", "unknown flags 0x%x",
                      (unsigned)(f->flags & ~(uint32_t)FRAME_FLAGS_KNOWN));
    if (f->payload_len == 0 || f->payload_len > FRAME_PAYLOAD_MAX)
        return err_at(err, ERR_INPUT, "payload_len", "payload of %u bytes, must be in 1...%u",
                      (unsigned)f->payload_len, FRAME_PAYLOAD_MAX);
    if (f->payload_len != len - FRAME_HEADER_BYTES)
        return err_at(err, ERR_INPUT, "payload_len", "payload of %u bytes announced, %zu follow",
                      (unsigned)f->payload_len, len - FRAME_HEADER_BYTES);
    if (f->width < 1 || f->width > FRAME_SIDE_MAX)
        return err_at(err, ERR_INPUT, "width", "width %d, must be in 1...%d", f->width,
                      FRAME_SIDE_MAX);
    if (f->height < 1 || f->height > FRAME_SIDE_MAX)
        return err_at(err, ERR_INPUT, "height", "height %d, must be in 1...%d", f->height,
                      FRAME_SIDE_MAX);
    return check_camera(f, err);
}

bool frame_get_seq(uint64_t *seq, const uint8_t *msg, size_t len)
{
    struct bytes_reader r = bytes_reader(msg, len);
    struct err ignored;
    bool ours = check_start(&r, &ignored) == 0;

    bytes_get_u32(&r); /* flags */
    *seq = bytes_get_u64(&r);
    return ours;
}

int frame_parse(struct frame *f, const uint8_t *msg, size_t len,
                enum frame_pose_convention convention, struct err *err)
{
    struct bytes_reader r = bytes_reader(msg, len);
    struct bytes_reader pose_bytes;
    struct intrinsics K;
    int rc;

    *f = (struct frame){.T_wc = rigid_identity()};
    rc = check_start(&r, err);
    if (rc)
        return rc;
    f->flags = bytes_get_u32(&r);
    f->seq = bytes_get_u64(&r);
    f->t_capture_ns = bytes_get_u64(&r);
    f->width = bytes_get_u16(&r);
    f->height = bytes_get_u16(&r);
    K.fx = bytes_get_f32(&r);
    K.fy = bytes_get_f32(&r);
    K.cx = bytes_get_f32(&r);
    K.cy = bytes_get_f32(&r);
    if (f->flags & FRAME_HAS_CAMERA)
        f->K = K;
    pose_bytes = bytes_reader(bytes_get_span(&r, POSE_BYTES), POSE_BYTES);
    f->world_epoch = bytes_get_u32(&r);
    f->payload_len = bytes_get_u32(&r);
    f->payload = msg + FRAME_HEADER_BYTES;
    rc = check_fields(f, len, err);
    if (rc || !(f->flags & FRAME_HAS_POSE))
        return rc;
    rc = pose_get(&pose_bytes, &f->T_wc, FRAME_COORD_MAX_M, err);
    if (rc == 0 && convention == FRAME_POSE_OPENGL)
        swap_camera_axes(&f->T_wc);
    return rc;
}

void frame_encode_header(uint8_t *header, const struct frame *f,
                         enum frame_pose_convention convention)
{
    struct bytes_writer w = bytes_writer(header, FRAME_HEADER_BYTES);
    struct rigid T = f->flags & FRAME_HAS_POSE ? f->T_wc : rigid_identity();

    if ((f->flags & FRAME_HAS_POSE) && convention == FRAME_POSE_OPENGL)
        swap_camera_axes(&T);
    bytes_put_u8(&w, FRAME_OP);
    bytes_put_u8(&w, FRAME_VERSION);
    bytes_put_u16(&w, FRAME_HEADER_BYTES);
    bytes_put_u32(&w, f->flags);
    bytes_put_u64(&w, f->seq);
    bytes_put_u64(&w, f->t_capture_ns);
    bytes_put_u16(&w, (uint16_t)f->width);
    bytes_put_u16(&w, (uint16_t)f->height);
    bytes_put_f32(&w, f->K.fx);
    bytes_put_f32(&w, f->K.fy);
    bytes_put_f32(&w, f->K.cx);
    bytes_put_f32(&w, f->K.cy);
    pose_put(&w, &T);
    bytes_put_u32(&w, f->world_epoch);
    bytes_put_u32(&w, f->payload_len);
}
