#include "api/ctl/reconctl_render.h"
#include "api/ctl/reconctl_sheet.h"
#include "api/ctl/reconctl_text.h"
#include "proto/image/png.h"

#include <stdlib.h>
#include <string.h>

#define CELL_W RECONCTL_SHEET_CELL_W
#define GAP 8
#define CAPTION_H (RECONCTL_TEXT_HIGH + 2 * GAP)
#define WIDE (3 * CELL_W + 4 * GAP)
#define DARK 26 /* grey of the ground */
#define PITCH 0.3f
#define SCALE_W 96 /* height of the bar of depth colours */

struct page {
    uint8_t *rgb; /* [h][WIDE][3] */
    int h;
};

static int left_of(int column)
{
    return GAP + column * (CELL_W + GAP);
}

static void write_text(struct page *p, int column, int y, const char *text)
{
    reconctl_text_draw(p->rgb, WIDE, p->h, left_of(column), y, text);
}

static void paste(struct page *p, int column, int y, const uint8_t *rgb, int h)
{
    for (int i = 0; i < h; i++)
        memcpy(p->rgb + 3 * ((size_t)(y + i) * WIDE + (size_t)left_of(column)),
               rgb + (size_t)i * 3 * CELL_W, 3 * CELL_W);
}

/* Draws the colours of depth with the metres at both ends. */
static void draw_scale(struct page *p, const struct reconctl_sheet *s, int column, int y)
{
    char near[32], far[32];
    int x = left_of(column + 1) - GAP;

    snprintf(near, sizeof near, "%.1f", (double)s->near_m);
    snprintf(far, sizeof far, "%.1f m", (double)s->far_m);
    x -= reconctl_text_width(far);
    reconctl_text_draw(p->rgb, WIDE, p->h, x, y, far);
    x -= SCALE_W + GAP;
    for (int i = 0; i < SCALE_W; i++) {
        float t = (float)i / (SCALE_W - 1);
        uint16_t mm = (uint16_t)fminf(1e3f * s->near_m * powf(s->far_m / s->near_m, t), 65535);
        uint8_t colour[3];

        client_splat_depth_colours(colour, &mm, 1, s->near_m, s->far_m);
        for (int k = 0; k < RECONCTL_TEXT_HIGH; k++)
            memcpy(p->rgb + 3 * ((size_t)(y + k - 1) * WIDE + (size_t)(x + i)), colour, 3);
    }
    x -= reconctl_text_width(near) + GAP;
    reconctl_text_draw(p->rgb, WIDE, p->h, x, y, near);
}

/* Chooses one camera for all rows: it looks in the direction of the first row and fits the last
 * cloud. */
static int choose_view(struct client_splat_view *view, struct reconctl_sheet *s, const char *up,
                       struct err *err)
{
    struct reconctl_sheet_row *last = &s->row[s->filled - 1];
    struct client_splat_cloud cloud = {.xyz = last->xyz};
    struct client_splat_orbit orbit = {.pitch = PITCH, .w = CELL_W, .h = s->cell_h};
    const float yaw = 0;
    int rc = reconctl_render_level(orbit.R_wc, up, &s->T_wc, err);

    if (rc)
        return rc;
    for (int i = 0; i < s->filled; i++)
        s->row[i].n = client_splat_crop(s->row[i].xyz, s->row[i].rgb, s->row[i].n);
    cloud.n = last->n;
    client_splat_frame(&orbit, &cloud, &yaw, 1);
    *view = client_splat_at(&orbit, yaw, 1);
    return 0;
}

static int draw_row(struct page *p, const struct reconctl_sheet *s, int i, int y, uint8_t *picture,
                    const struct client_splat_view *view, struct err *err)
{
    const struct reconctl_sheet_row *row = &s->row[i];
    const struct client_splat_cloud cloud = {.n = row->n, .xyz = row->xyz, .rgb = row->rgb};
    char text[64];
    int rc = client_splat_draw(picture, view, &cloud, err);

    if (rc)
        return rc;
    paste(p, 0, y, row->input, s->cell_h);
    paste(p, 1, y, row->depth, s->cell_h);
    paste(p, 2, y, picture, s->cell_h);
    y += s->cell_h + GAP;
    snprintf(text, sizeof text, "frame %llu", (unsigned long long)row->frame);
    write_text(p, 0, y, text);
    snprintf(text, sizeof text, "%zu points", row->n);
    write_text(p, 2, y, text);
    if (i == s->filled - 1)
        draw_scale(p, s, 1, y);
    return 0;
}

int reconctl_sheet_write(struct reconctl_sheet *s, const char *path, const char *up,
                         struct err *err)
{
    struct page p = {.h = CAPTION_H + s->filled * (s->cell_h + CAPTION_H)};
    struct client_splat_view view;
    uint8_t *picture;
    int rc;

    if (s->filled == 0)
        return err_at(err, ERR_INPUT, path, "no moment had both a depth map and a pose");
    p.rgb = malloc((size_t)3 * WIDE * (size_t)p.h);
    picture = malloc((size_t)3 * CELL_W * (size_t)s->cell_h);
    rc = p.rgb && picture ? choose_view(&view, s, up, err)
                          : err_set(err, ERR_MEMORY, "no memory for pictures");
    if (rc)
        goto out;
    memset(p.rgb, DARK, (size_t)3 * WIDE * (size_t)p.h);
    write_text(&p, 0, GAP, "video");
    write_text(&p, 1, GAP, "depth of each frame");
    write_text(&p, 2, GAP, "the cloud so far");
    for (int i = 0; rc == 0 && i < s->filled; i++)
        rc = draw_row(&p, s, i, CAPTION_H + i * (s->cell_h + CAPTION_H), picture, &view, err);
    if (rc == 0)
        rc = png_write_file(path, p.rgb, WIDE, p.h, err);
out:
    free(picture);
    free(p.rgb);
    return rc;
}
