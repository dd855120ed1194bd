#include "api/ctl/reconctl_eval_picture.h"

#include "api/client/client_splat.h"
#include "proto/image/jpeg.h"
#include "proto/image/png.h"

#include <stdlib.h>
#include <string.h>

#define PANEL_H 480
#define BEHIND_M 0.5f
#define WIDER 0.8f /* of the camera's focal length */

struct reconctl_eval_picture {
    struct jpeg_decoder *jpeg;
    uint8_t *rgb, *shown; /* of the last frame, of the shown one */
    int w, h, shown_w, shown_h;
    struct intrinsics K; /* of the shown one */
    struct rigid T_wc;
};

static const struct jpeg_limits limits = {.max_width = FRAME_SIDE_MAX,
                                          .max_height = FRAME_SIDE_MAX,
                                          .max_scans = 100,
                                          .max_bytes = FRAME_PAYLOAD_MAX,
                                          .deadline_ms = 10000};

int reconctl_eval_picture_new(struct reconctl_eval_picture **out, struct err *err)
{
    struct reconctl_eval_picture *p = calloc(1, sizeof *p);
    int rc;

    *out = p;
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a picture");
    rc = jpeg_decoder_new(&p->jpeg, err);
    if (rc)
        reconctl_eval_picture_free(out);
    return rc;
}

void reconctl_eval_picture_free(struct reconctl_eval_picture **p)
{
    if (*p) {
        jpeg_decoder_free(&(*p)->jpeg);
        free((*p)->rgb);
        free((*p)->shown);
    }
    free(*p);
    *p = NULL;
}

static int show(struct reconctl_eval_picture *p, const struct frame *f, struct err *err)
{
    size_t n = 3 * (size_t)p->w * (size_t)p->h;

    free(p->shown);
    p->shown = malloc(n);
    if (!p->shown)
        return err_set(err, ERR_MEMORY, "no memory for a picture of %dx%d", p->w, p->h);
    memcpy(p->shown, p->rgb, n);
    p->shown_w = p->w;
    p->shown_h = p->h;
    p->K = intrinsics_scale(f->K, f->width, f->height, p->w, p->h);
    p->T_wc = f->T_wc;
    return 0;
}

int reconctl_eval_picture_frame(struct reconctl_eval_picture *p, const uint8_t **rgb, int *w,
                                int *h, const struct frame *f, bool shown, struct err *err)
{
    struct jpeg_info info;
    int rc = jpeg_probe(&info, f->payload, f->payload_len, &limits, err);

    if (rc)
        return rc;
    jpeg_scaled_size(&info, PANEL_H / 2, PANEL_H / 2, &p->w, &p->h);
    free(p->rgb);
    p->rgb = malloc(3 * (size_t)p->w * (size_t)p->h);
    if (!p->rgb)
        return err_set(err, ERR_MEMORY, "no memory for a picture of %dx%d", p->w, p->h);
    rc = jpeg_decode(p->jpeg, p->rgb, p->w, p->h, f->payload, f->payload_len, &limits, err);
    *rgb = p->rgb;
    *w = p->w;
    *h = p->h;
    return rc || !shown ? rc : show(p, f, err);
}

/* Puts a picture of any size into a column of the sheet, nearest pixel. */
static void put_panel(uint8_t *sheet, int column, int w, const uint8_t *rgb, int rgb_w, int rgb_h)
{
    for (int y = 0; y < PANEL_H; y++)
        for (int x = 0; x < w; x++)
            memcpy(
                sheet + 3 * ((size_t)y * (size_t)(3 * w) + (size_t)(column * w + x)),
                rgb + 3 * ((size_t)(y * rgb_h / PANEL_H) * (size_t)rgb_w + (size_t)(x * rgb_w / w)),
                3);
}

static struct client_splat_view view_of(const struct reconctl_eval_picture *p, int w)
{
    struct client_splat_view v = {.w = w, .h = PANEL_H};
    struct rigid T = p->T_wc;

    for (int k = 0; k < 3; k++)
        T.t[k] -= BEHIND_M * T.r[3 * k + 2];
    v.T_cw = rigid_inverse(&T);
    v.K = intrinsics_scale(p->K, p->shown_w, p->shown_h, w, PANEL_H);
    v.K.fx *= WIDER;
    v.K.fy *= WIDER;
    return v;
}

int reconctl_eval_picture_write(struct reconctl_eval_picture *p, const char *path,
                                const struct ply_cloud *truth, const struct ply_cloud *cloud,
                                struct err *err)
{
    const struct ply_cloud *const clouds[2] = {truth, cloud};
    int w = p->shown ? p->shown_w * PANEL_H / p->shown_h : 1, rc = 0;
    uint8_t *panel = malloc(3 * (size_t)w * PANEL_H), *sheet = malloc(9 * (size_t)w * PANEL_H);
    struct client_splat_view view;

    if (!p->shown)
        rc = err_set(err, ERR_STATE, "no frame to show the cloud from");
    else if (!panel || !sheet)
        rc = err_set(err, ERR_MEMORY, "no memory for a picture");
    if (rc == 0) {
        view = view_of(p, w);
        put_panel(sheet, 0, w, p->shown, p->shown_w, p->shown_h);
    }
    for (int i = 0; i < 2 && rc == 0; i++) {
        const struct client_splat_cloud points = {
            .n = clouds[i]->n, .xyz = clouds[i]->xyz, .rgb = clouds[i]->rgb};

        rc = client_splat_draw(panel, &view, &points, err);
        if (rc == 0)
            put_panel(sheet, 1 + i, w, panel, w, PANEL_H);
    }
    if (rc == 0)
        rc = png_write_file(path, sheet, 3 * w, PANEL_H, err);
    free(panel);
    free(sheet);
    return rc;
}
