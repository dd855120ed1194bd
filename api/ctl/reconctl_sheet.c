#include "api/client/client_sequence.h"
#include "api/client/client_splat.h"
#include "api/ctl/reconctl_sheet.h"
#include "proto/geom/robust.h"
#include "proto/image/jpeg.h"
#include "proto/cloud/ply.h"
#include "proto/image/png.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELL_W RECONCTL_SHEET_CELL_W
#define DEPTH_SIDE_MAX 4096
/* The range of colours is the first map's 2...98 %, widened by this. */
#define RANGE_SLACK 1.4f

int reconctl_sheet_new(struct reconctl_sheet **out, int rows, struct err *err)
{
    struct reconctl_sheet *s = calloc(1, sizeof *s);

    *out = s;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for pictures");
    s->rows = rows < 1 ? 5 : rows > RECONCTL_SHEET_ROWS_MAX ? RECONCTL_SHEET_ROWS_MAX : rows;
    return 0;
}

static void row_clear(struct reconctl_sheet_row *row)
{
    free(row->input);
    free(row->depth);
    free(row->xyz);
    free(row->rgb);
    *row = (struct reconctl_sheet_row){0};
}

void reconctl_sheet_free(struct reconctl_sheet **s)
{
    for (int i = 0; *s && i < RECONCTL_SHEET_ROWS_MAX; i++)
        row_clear(&(*s)->row[i]);
    free(*s);
    *s = NULL;
}

bool reconctl_sheet_due(const struct reconctl_sheet *s, uint64_t n, uint64_t total)
{
    uint64_t k = (uint64_t)s->filled + 1, rows = (uint64_t)s->rows;

    if (s->filled == s->rows)
        return false;
    /* Rows of a source of unknown length: after 8, 32, 72 ... frames. */
    return total ? n >= total * k / rows : n >= 8 * k * k;
}

/* Mixes the four pixels around a place between them. */
static void pixel_between(uint8_t *to, const uint8_t *from, int fw, int fh, float u, float v)
{
    int x = (int)u, y = (int)v, x1 = x + 1 < fw ? x + 1 : x, y1 = y + 1 < fh ? y + 1 : y;
    float a = u - (float)x, b = v - (float)y;

    for (int k = 0; k < 3; k++) {
        const uint8_t *upper = from + 3 * (size_t)y * (size_t)fw + k;
        const uint8_t *lower = from + 3 * (size_t)y1 * (size_t)fw + k;

        to[k] = (uint8_t)((1 - b) * ((1 - a) * (float)upper[3 * x] + a * (float)upper[3 * x1]) +
                          b * ((1 - a) * (float)lower[3 * x] + a * (float)lower[3 * x1]) + 0.5f);
    }
}

/* Scales a picture down by area average, or up by mixing. */
static void scale(uint8_t *to, int w, int h, const uint8_t *from, int fw, int fh)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, to += 3) {
            int x0 = x * fw / w, x1 = (x + 1) * fw / w, y0 = y * fh / h, y1 = (y + 1) * fh / h;
            unsigned sum[3] = {0}, n = 0;

            if (fw < w || fh < h) {
                pixel_between(to, from, fw, fh, (float)(x * (fw - 1)) / (float)w,
                              (float)(y * (fh - 1)) / (float)h);
                continue;
            }
            for (int v = y0; v < y1; v++)
                for (int u = x0; u < x1; u++, n++)
                    for (int b = 0; b < 3; b++)
                        sum[b] += from[3 * ((size_t)v * (size_t)fw + (size_t)u) + (size_t)b];
            for (int b = 0; b < 3; b++)
                to[b] = (uint8_t)((sum[b] + n / 2) / n);
        }
}

static int add_input(struct reconctl_sheet *s, const struct frame *f, struct err *err)
{
    const struct jpeg_limits limits = {.max_width = FRAME_SIDE_MAX,
                                       .max_height = FRAME_SIDE_MAX,
                                       .max_scans = 100,
                                       .max_bytes = FRAME_PAYLOAD_MAX,
                                       .deadline_ms = 5000};
    struct jpeg_decoder *decoder = NULL;
    struct jpeg_info info;
    uint8_t *rgb = NULL;
    int w, h, rc;

    rc = jpeg_probe(&info, f->payload, f->payload_len, &limits, err);
    if (rc)
        return rc;
    jpeg_scaled_size(&info, CELL_W, s->cell_h, &w, &h);
    rgb = malloc(3 * (size_t)w * (size_t)h);
    rc = rgb ? jpeg_decoder_new(&decoder, err) : err_set(err, ERR_MEMORY, "no memory for pictures");
    if (rc == 0)
        rc = jpeg_decode(decoder, rgb, w, h, f->payload, f->payload_len, &limits, err);
    if (rc == 0)
        scale(s->row[s->filled].input, CELL_W, s->cell_h, rgb, w, h);
    jpeg_decoder_free(&decoder);
    free(rgb);
    return rc;
}

static int set_range(struct reconctl_sheet *s, const uint16_t *depth, size_t n, struct err *err)
{
    float *some = malloc(n * sizeof *some);
    size_t m = 0;

    if (!some)
        return err_set(err, ERR_MEMORY, "no memory for pictures");
    for (size_t i = 0; i < n; i++)
        if (depth[i])
            some[m++] = depth[i];
    s->near_m = m ? 1e-3f * robust_select(some, m, m / 50) / RANGE_SLACK : 0.5f;
    s->far_m = m ? 1e-3f * robust_select(some, m, m - 1 - m / 50) * RANGE_SLACK : 10.0f;
    free(some);
    return 0;
}

static int add_depth(struct reconctl_sheet *s, struct client *client, const char *session,
                     struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char path[96], file[256];
    uint16_t *depth = NULL;
    uint8_t *rgb = NULL;
    int w, h, fd, rc;

    snprintf(path, sizeof path, "/v1/sessions/%s/depth", session);
    snprintf(file, sizeof file, "%.200s/reconctl-depth-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    fd = mkstemp(file);
    if (fd < 0)
        return err_at(err, ERR_INPUT, file, "cannot be written: %m");
    close(fd);
    rc = client_download(client, path, file, err);
    if (rc == 0)
        rc = png_read_gray16(file, &depth, &w, &h, DEPTH_SIDE_MAX, err);
    unlink(file);
    if (rc)
        goto out;
    rgb = malloc(3 * (size_t)w * (size_t)h);
    if (!rgb) {
        rc = err_set(err, ERR_MEMORY, "no memory for pictures");
        goto out;
    }
    if (s->filled == 0)
        rc = set_range(s, depth, (size_t)w * (size_t)h, err);
    if (rc)
        goto out;
    client_splat_depth_colours(rgb, depth, (size_t)w * (size_t)h, s->near_m, s->far_m);
    scale(s->row[s->filled].depth, CELL_W, s->cell_h, rgb, w, h);
out:
    free(rgb);
    free(depth);
    return rc;
}

/* Copies all points of a mirror that have a place, to that place. */
static int add_cloud(struct reconctl_sheet_row *row, const struct cloud *cloud, float step_m,
                     struct err *err)
{
    size_t total = (size_t)cloud_points(cloud);

    row->xyz = malloc((total + 1) * 3 * sizeof *row->xyz);
    row->rgb = malloc((total + 1) * 3);
    if (!row->xyz || !row->rgb)
        return err_set(err, ERR_MEMORY, "no memory for %zu points", total);
    for (uint32_t b = 0; b < cloud_blocks(cloud); b++) {
        struct cloud_block block = cloud_block(cloud, b);
        const struct rigid *T;

        if (!cloud_place(cloud, block.name.submap, &T))
            continue;
        for (uint32_t i = 0; i < block.n && row->n < total; i++, row->n++) {
            struct key_look look = key_look(block.keys[i]);
            int32_t p_q[3];
            struct vec3 p;

            key_position(block.name, block.keys[i], p_q);
            p = vec3_make((float)p_q[0] * step_m, (float)p_q[1] * step_m, (float)p_q[2] * step_m);
            if (T)
                p = rigid_apply(T, p);
            memcpy(row->xyz + 3 * row->n, (const float[3]){p.x, p.y, p.z}, 3 * sizeof(float));
            memcpy(row->rgb + 3 * row->n, look.rgb, 3);
        }
    }
    return 0;
}

/* Reads the newest pose of the session's trajectory, whose lines are seconds and a pose. */
static int newest_pose(struct rigid *T, struct client *client, const char *session, struct err *err)
{
    char path[96], *body = NULL, *line = NULL, *save = NULL, *last = NULL;
    int rc;

    snprintf(path, sizeof path, "/v1/sessions/%s/trajectory", session);
    rc = client_request(client, "GET", path, NULL, &body, NULL, NULL, err);
    if (rc == 0)
        for (line = strtok_r(body, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            if (*line != '#' && *line)
                last = line;
    if (rc == 0 && !last)
        rc = err_set(err, ERR_END, "the session has no trajectory yet");
    if (rc == 0) {
        last += strcspn(last, " \t");
        rc = client_sequence_pose(T, last + strspn(last, " \t"), err);
    }
    free(body);
    return rc;
}

int reconctl_sheet_add(struct reconctl_sheet *s, struct client *client, const char *session,
                       const struct frame *f, const struct cloud *cloud, float step_m,
                       struct err *err)
{
    struct reconctl_sheet_row *row = &s->row[s->filled];
    struct rigid T_wc;
    int rc = 0;

    if (s->filled == s->rows)
        return 0;
    if (s->cell_h == 0) {
        s->cell_h = CELL_W * f->height / f->width;
        s->cell_h = s->cell_h < 32 ? 32 : s->cell_h > 640 ? 640 : s->cell_h;
    }
    row->frame = f->seq + 1;
    row->input = malloc((size_t)s->cell_h * 3 * CELL_W);
    row->depth = malloc((size_t)s->cell_h * 3 * CELL_W);
    if (!row->input || !row->depth)
        rc = err_set(err, ERR_MEMORY, "no memory for pictures");
    if (rc == 0)
        rc = add_input(s, f, err);
    if (rc == 0)
        rc = add_depth(s, client, session, err);
    if (rc == 0)
        rc = newest_pose(&T_wc, client, session, err);
    if (rc == 0)
        rc = add_cloud(row, cloud, step_m, err);
    if (rc == 0) {
        if (s->filled++ == 0)
            s->T_wc = T_wc;
        return 0;
    }
    row_clear(row);
    /* A row waits while its frame was refused or its depth is not ready; the push goes on. */
    return rc == ERR_MEMORY || rc == ERR_IO ? rc : 0;
}
