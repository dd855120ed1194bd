#include "api/ctl/reconctl_boxes.h"

#include "api/ctl/reconctl_text.h"
#include "api/file.h"
#include "proto/geom/pose.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)4 << 20)
#define DEPTH_MAX 8
#define FAR_M 1e6f
#define NEAR_M 0.02f
#define SHOWN 0.98f  /* opacity of a line over what is behind it ... */
#define HIDDEN 0.29f /* ... and of a line that the cloud hides */
#define LEAST_PX 1.5f
#define WIDTHS 500.0f /* lines in a picture's height, if more than LEAST_PX */
#define MARGIN 4      /* border of a name, pixels */
#define PANEL 0.9f

/* the colour of view/scene.js */
static const uint8_t paint[3] = {120, 220, 120}, panel[3] = {26, 31, 39};

static bool read_list(float *v, const struct json *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct json *one = json_item(list, i);
        if ((json_kind(one) != JSON_KIND_INTEGER && json_kind(one) != JSON_KIND_REAL) ||
            !(fabs(json_f64(one)) <= (double)FAR_M))
            return false;
        v[i] = (float)json_f64(one);
    }
    return !json_item(list, n);
}

/* Finds the place of a submap; false: unknown. submaps: of GET .../submaps, or NULL. */
static bool find_place(struct rigid *T_ws, const struct json *submaps, int64_t submap)
{
    const struct json *one;
    float pose[7];

    *T_ws = rigid_identity();
    if (!submaps)
        return submap == 0;
    for (size_t i = 0; (one = json_item(submaps, i)); i++)
        if (json_i64(json_member(one, "submap")) == submap)
            return read_list(pose, json_member(one, "pose"), 7) &&
                   pose_from_numbers(T_ws, pose, FAR_M, NULL) == 0;
    return false;
}

static int box_read(struct reconctl_boxes *to, const struct json *one,
                      const struct json *submaps, struct err *err)
{
    struct reconctl_box *t = &to->at[to->n];
    char name[RECONCTL_SHOWN], class_name[RECONCTL_SHOWN];
    struct rigid T_ws, T_so;
    float pose[7], box[6];

    if (!read_list(pose, json_member(one, "pose"), 7) ||
        !read_list(box, json_member(one, "box"), 6) || pose_from_numbers(&T_so, pose, FAR_M, NULL))
        return err_set(err, ERR_INPUT, "an object has no pose and box as sessions tell them");
    if (strcmp(json_text(json_member(one, "state")), "lost") == 0 ||
        !find_place(&T_ws, submaps, json_i64(json_member(one, "submap"))))
        return 0;
    if (to->n == RECONCTL_BOXES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d objects", RECONCTL_BOXES_MAX);
    t->T_wo = rigid_mul(&T_ws, &T_so);
    memcpy(t->box, box, sizeof t->box);
    reconctl_member(name, one, "object");
    reconctl_member(class_name, one, "class");
    snprintf(t->name, sizeof t->name, "%s%s%s", name, class_name[0] ? ", " : "", class_name);
    to->n++;
    return 0;
}

static int boxes_read(struct reconctl_boxes *to, const struct json *doc,
                       const struct json *submaps, struct err *err)
{
    const struct json *list = json_member(doc, "objects"), *one;
    int rc = 0;

    if (json_kind(list) != JSON_KIND_LIST)
        return err_set(err, ERR_INPUT, "it has no list `objects`");
    for (size_t i = 0; rc == 0 && (one = json_item(list, i)); i++)
        rc = box_read(to, one, submaps, err);
    return rc;
}

static int load_file(struct reconctl_boxes *to, const char *path, struct err *err)
{
    struct file_content file = {0};
    struct json *doc = NULL;
    int rc = file_load(&file, path, path, FILE_MAX, err);

    if (rc == 0)
        rc = json_parse(&doc, (const char *)file.data, file.len, DEPTH_MAX, err);
    if (rc == 0)
        rc = boxes_read(to, doc, NULL, err);
    if (rc && err && !err->where[0])
        snprintf(err->where, sizeof err->where, "%s", path);
    json_free(&doc);
    free(file.data);
    return rc;
}

static int load_session(struct reconctl_boxes *to, const char *session,
                        const struct reconctl_common *common, struct err *err)
{
    char id[CONTROL_ID_CAP], path[96];
    struct json *doc = NULL, *places = NULL;
    struct reconctl_link link;
    int rc = reconctl_link_open(&link, common, false, err);

    if (rc)
        return rc;
    rc = reconctl_find_session(id, link.client, session, err);
    if (rc == 0) {
        snprintf(path, sizeof path, "/v1/sessions/%s/objects", id);
        rc = reconctl_get(link.client, path, &doc, err);
    }
    if (rc == 0) {
        snprintf(path, sizeof path, "/v1/sessions/%s/submaps", id);
        rc = reconctl_get(link.client, path, &places, err);
    }
    if (rc == 0)
        rc = boxes_read(to, doc, json_member(places, "submaps"), err);
    json_free(&doc);
    json_free(&places);
    reconctl_link_close(&link);
    return rc;
}

int reconctl_boxes_load(struct reconctl_boxes *boxes, const char *from,
                         const struct reconctl_common *common, struct err *err)
{
    FILE *f = fopen(from, "re");

    boxes->n = 0;
    if (!f)
        return load_session(boxes, from, common, err);
    fclose(f);
    return load_file(boxes, from, err);
}

/* ------------------------------------------------------------------------- the picture */

struct place {
    float u, v, z;
};

static struct place project(const struct client_splat_view *view, struct vec3 p)
{
    return (struct place){view->K.fx * p.x / p.z + view->K.cx, view->K.fy * p.y / p.z + view->K.cy,
                          p.z};
}

/* Returns a corner of a box in camera axes; bit i of its number chooses lowest or highest along
 * axis i. */
static struct vec3 box_corner(const struct client_splat_view *view, const struct reconctl_box *t,
                              int number)
{
    struct vec3 p = {t->box[number & 1][0], t->box[number >> 1 & 1][1], t->box[number >> 2 & 1][2]};

    p = rigid_apply(&t->T_wo, p);
    return rigid_apply(&view->T_cw, p);
}

/* Returns how much of one pixel a line from a to b covers, and its depth there. */
static float line_cover(const struct place *a, const struct place *b, float x, float y, float width,
                        float *z)
{
    float du = b->u - a->u, dv = b->v - a->v, length2 = du * du + dv * dv;
    float t = length2 > 0 ? ((x - a->u) * du + (y - a->v) * dv) / length2 : 0, off;

    t = t < 0 ? 0 : t > 1 ? 1 : t;
    off = hypotf(x - a->u - t * du, y - a->v - t * dv);
    *z = 1 / ((1 - t) / a->z + t / b->z);
    off = 0.5f * width + 0.5f - off;
    return off < 0 ? 0 : off > 1 ? 1 : off;
}

/* Finds the pixels of a picture's side that a line may touch. */
static void span(int *first, int *last, float a, float b, float width, int side)
{
    *first = (int)fmaxf(0, fminf(fminf(a, b) - width, (float)side));
    *last = (int)fminf((float)(side - 1), fmaxf(fmaxf(a, b) + width, -1));
}

/* share [h][w]: how much of each pixel is covered, by the line that covers it most. */
static void draw_line(float *share, const struct client_splat_view *view, struct vec3 p,
                      struct vec3 q)
{
    float width = fmaxf(LEAST_PX, (float)view->h / WIDTHS), z, s;
    struct place a, b;
    int x0, x1, y0, y1;

    if (p.z < NEAR_M && q.z < NEAR_M)
        return;
    if (p.z < NEAR_M || q.z < NEAR_M) { /* the part behind the camera is cut off */
        struct vec3 *behind = p.z < q.z ? &p : &q, *ahead = p.z < q.z ? &q : &p;
        float t = (NEAR_M - behind->z) / (ahead->z - behind->z);
        *behind = vec3_make(behind->x + t * (ahead->x - behind->x),
                            behind->y + t * (ahead->y - behind->y), NEAR_M);
    }
    a = project(view, p);
    b = project(view, q);
    span(&x0, &x1, a.u, b.u, width + 1, view->w);
    span(&y0, &y1, a.v, b.v, width + 1, view->h);
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            size_t i = (size_t)y * (size_t)view->w + (size_t)x;
            s = line_cover(&a, &b, (float)x, (float)y, width, &z);
            s *= view->depth[i] > 0 && view->depth[i] < 0.995f * z ? HIDDEN : SHOWN;
            share[i] = fmaxf(share[i], s);
        }
}

static void pixel_blend(uint8_t *pixel, const uint8_t colour[3], float share)
{
    for (int k = 0; k < 3; k++)
        pixel[k] = (uint8_t)((1 - share) * (float)pixel[k] + share * (float)colour[k] + 0.5f);
}

/* The font has no capitals. */
static void draw_name(uint8_t *rgb, const struct client_splat_view *view,
                      const struct reconctl_box *t)
{
    struct vec3 p = box_corner(view, t, 7);
    char text[sizeof t->name];
    struct place at;
    int x, y, w;

    if (p.z < NEAR_M)
        return;
    at = project(view, p);
    if (!(fabsf(at.u) < 1e6f && fabsf(at.v) < 1e6f))
        return;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = t->name[i] == '_' ? '-' : (char)tolower((unsigned char)t->name[i]);
    w = reconctl_text_width(text) + 2 * MARGIN;
    x = (int)fmaxf(0, fminf(at.u, (float)(view->w - w))); /* moves it into the picture */
    y = (int)fmaxf(0, fminf(at.v, (float)(view->h - RECONCTL_TEXT_HIGH - 2 * MARGIN)));
    for (int v = y; v < y + RECONCTL_TEXT_HIGH + 2 * MARGIN && v < view->h; v++)
        for (int u = x; u < x + w && u < view->w; u++)
            pixel_blend(rgb + 3 * ((size_t)v * (size_t)view->w + (size_t)u), panel, PANEL);
    reconctl_text_draw(rgb, view->w, view->h, x + MARGIN, y + MARGIN, text);
}

int reconctl_boxes_draw(uint8_t *rgb, const struct client_splat_view *view,
                         const struct reconctl_boxes *boxes, struct err *err)
{
    size_t pixels = (size_t)view->w * (size_t)view->h;
    float *share = calloc(pixels, sizeof *share);

    if (!share)
        return err_set(err, ERR_MEMORY, "no memory for boxes in a picture");
    for (int i = 0; i < boxes->n; i++)
        for (int c = 0; c < 8; c++)
            for (int k = 1; k < 8; k <<= 1)
                if (!(c & k))
                    draw_line(share, view, box_corner(view, &boxes->at[i], c),
                              box_corner(view, &boxes->at[i], c | k));
    for (size_t i = 0; i < pixels; i++)
        if (share[i] > 0)
            pixel_blend(rgb + 3 * i, paint, share[i]);
    for (int i = 0; i < boxes->n; i++)
        draw_name(rgb, view, &boxes->at[i]);
    free(share);
    return 0;
}
