#include "api/ctl/reconctl_eval_online.h"

#include "proto/image/jpeg.h"

#include <stdlib.h>

/* Pictures are tracked at the smallest size of the decoder that is at least this wide. */
#define TRACK_W 320
#define TRACK_H 200

struct reconctl_eval_online {
    struct jpeg_decoder *jpeg;
    struct eval_scale *scale;
    uint8_t *rgb;
    int width, height; /* of the first picture */
    int w, h, posed;   /* as it is tracked */
    struct eval_scale_answer last;
};

static const struct jpeg_limits limits = {.max_width = FRAME_SIDE_MAX,
                                          .max_height = FRAME_SIDE_MAX,
                                          .max_scans = 100,
                                          .max_bytes = FRAME_PAYLOAD_MAX,
                                          .deadline_ms = 10000};

int reconctl_eval_online_new(struct reconctl_eval_online **out, struct err *err)
{
    struct reconctl_eval_online *o = calloc(1, sizeof *o);
    int rc;

    *out = o;
    if (!o)
        return err_set(err, ERR_MEMORY, "no memory to track corners");
    o->last.scale = 1;
    rc = jpeg_decoder_new(&o->jpeg, err);
    if (rc)
        reconctl_eval_online_free(out);
    return rc;
}

void reconctl_eval_online_free(struct reconctl_eval_online **o)
{
    if (*o) {
        jpeg_decoder_free(&(*o)->jpeg);
        eval_scale_free(&(*o)->scale);
        free((*o)->rgb);
    }
    free(*o);
    *o = NULL;
}

int reconctl_eval_online_posed(const struct reconctl_eval_online *o)
{
    return o->posed;
}

static int begin(struct reconctl_eval_online *o, const struct frame *f, struct err *err)
{
    struct jpeg_info info;
    int rc = jpeg_probe(&info, f->payload, f->payload_len, &limits, err);

    if (rc)
        return rc;
    jpeg_scaled_size(&info, TRACK_W, TRACK_H, &o->w, &o->h);
    o->width = info.width;
    o->height = info.height;
    if (o->w < 32 || o->h < 32)
        return 0; /* too small to track anything: the scale stays 1 */
    o->rgb = malloc((size_t)3 * (size_t)o->w * (size_t)o->h);
    if (!o->rgb)
        return err_set(err, ERR_MEMORY, "no memory for a picture of %dx%d", o->w, o->h);
    return eval_scale_new(&o->scale, o->w, o->h,
                          intrinsics_scale(f->K, info.width, info.height, o->w, o->h), err);
}

int reconctl_eval_online_frame(struct reconctl_eval_online *o, struct eval_scale_answer *a,
                               const struct frame *f, const float *depth, int dw, int dh,
                               struct err *err)
{
    const uint32_t needed = FRAME_HAS_POSE | FRAME_HAS_CAMERA;
    int rc = 0;

    o->last.corners = 0;
    if ((f->flags & needed) == needed && !o->scale)
        rc = begin(o, f, err);
    if (rc == 0 && o->scale && (f->flags & needed) == needed && f->width == o->width &&
        f->height == o->height) {
        rc = jpeg_decode(o->jpeg, o->rgb, o->w, o->h, f->payload, f->payload_len, &limits, err);
        if (rc == 0) {
            o->posed++;
            o->last = eval_scale_frame(o->scale, o->rgb, depth, dw, dh, &f->T_wc);
        }
    }
    *a = o->last;
    return rc;
}
