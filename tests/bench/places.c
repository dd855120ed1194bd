/*
 * places - write a sequence with exact depth: a walk through a drawn place, or a folder turned
 *
 *     places room|corridor|desk OUT [frames=120] [seed=1] [turn=0|90|180|270]
 *            [length=0.13] [degrees=0.3] [window=20]
 *            [lens=1|2|3] [wide=1]
 *     places FOLDER OUT turn=90|180|270
 *     places FOLDER OUT lens=1|2|3
 *
 * OUT gets the layout that client_sequence.h reads, 640x480 at 15 Hz: frames/, depth/ (the z of the
 * ray through each pixel's centre, millimetres), poses.txt, sequence.json; world y is up.
 * length, degrees: poses.txt has errors as odometry makes them: for `window` frames together, steps
 *     are too long or short by a normal share and turned by an angle about one axis, and the camera
 *     turns besides by that angle over the window. poses_true.txt has none.
 * turn: pictures and depth are turned clockwise by so many degrees, intrinsics and poses with them,
 *     as of a camera that is held so. A folder's pictures are encoded anew.
 * lens: as of a camera that is radial-tangential (1), a fisheye (2) or a sphere (3); sequence.json
 *     says so in one line of its own.
 * wide: pictures of 1280x720, as phones send them.
 */
#include "api/client/client_sequence.h"
#include "tests/bench/place.h"
#include "proto/image/jpeg.h"
#include "proto/image/png.h"
#include "tests/support/jpeg_write.h"
#include "tests/support/lens_warp.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define W 640
#define H 480
#define FPS 15
#define FOCAL 520.0f
#define WIDE_FOCAL 300.0f /* of what other lenses take their pictures from: 94 by 77 degrees */
#define SPHERE_H 1024
#define QUALITY 92
#define DEGREE 0.017453293

struct options {
    const char *source, *out;
    int frames, turn, window, lens, wide;
    uint32_t seed;
    double length, degrees;
};

/* ------------------------------------------------------------------------- the camera's way */

static struct vec3 add(struct vec3 a, struct vec3 b, float by)
{
    return vec3_make(a.x + by * b.x, a.y + by * b.y, a.z + by * b.z);
}

static struct vec3 cross(struct vec3 a, struct vec3 b)
{
    return vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static struct vec3 unit(struct vec3 a)
{
    float n = 1 / sqrtf(vec3_norm2(a));

    return vec3_make(n * a.x, n * a.y, n * a.z);
}

/* Catmull-Rom through four values. */
static struct vec3 between(struct vec3 a, struct vec3 b, struct vec3 c, struct vec3 d, float t)
{
    struct vec3 out = vec3_make(0, 0, 0);

    out = add(out, a, 0.5f * t * (-1 + t * (2 - t)));
    out = add(out, b, 0.5f * (2 + t * t * (-5 + 3 * t)));
    out = add(out, c, 0.5f * t * (1 + t * (4 - 3 * t)));
    return add(out, d, 0.5f * t * t * (t - 1));
}

/* A sum of three waves a second or so long, as hands sway. */
static float sway(double s, int which, uint32_t seed)
{
    float sum = 0;

    for (int i = 0; i < 3; i++)
        sum += (float)sin(s * (1.7 + 1.9 * i + (double)place_hash(i, which, seed)) +
                          6.28 * (double)place_hash(i, which, seed + 1)) /
               (float)(1 + i);
    return sum;
}

static struct rigid pose_at(const struct place *p, int frame, int frames, uint32_t seed)
{
    float x = (float)frame / (float)(frames > 1 ? frames - 1 : 1) * (float)(p->n_stops - 1);
    int i = x >= (float)(p->n_stops - 1) ? p->n_stops - 2 : (int)x, last = p->n_stops - 1;
    const struct place_stop *s[4] = {&p->stop[i ? i - 1 : 0], &p->stop[i], &p->stop[i + 1],
                                     &p->stop[i + 2 > last ? last : i + 2]};
    struct vec3 eye = between(s[0]->eye, s[1]->eye, s[2]->eye, s[3]->eye, x - (float)i);
    struct vec3 at = between(s[0]->at, s[1]->at, s[2]->at, s[3]->at, x - (float)i);
    double t = (double)frame / FPS;
    struct vec3 up = vec3_make(0.03f * sway(t, 6, seed), 1, 0), f, r, d;

    eye = add(eye, vec3_make(sway(t, 0, seed), 0.7f * sway(t, 1, seed), sway(t, 2, seed)), 0.012f);
    at = add(at, vec3_make(sway(t, 3, seed), sway(t, 4, seed), sway(t, 5, seed)), 0.02f);
    f = unit(vec3_sub(at, eye));
    r = unit(cross(f, up));
    d = cross(f, r);
    return (struct rigid){{r.x, d.x, f.x, r.y, d.y, f.y, r.z, d.z, f.z}, {eye.x, eye.y, eye.z}};
}

static double normal(int i, int which, uint32_t seed)
{
    double u = (double)place_hash(i, which, seed) + 1e-9,
           v = (double)place_hash(i, which + 50, seed);

    return sqrt(-2 * log(u)) * cos(6.283185307 * v);
}

/* A turn by degrees about an axis that window i draws. */
static struct rigid drawn_turn(int i, int which, double degrees, uint32_t seed)
{
    struct vec3 a = unit(vec3_make((float)normal(i, which, seed), (float)normal(i, which + 1, seed),
                                   (float)normal(i, which + 2, seed)));
    float c = (float)cos(degrees * DEGREE), s = (float)sin(degrees * DEGREE), k = 1 - c;

    return (struct rigid){{c + k * a.x * a.x, k * a.x * a.y - s * a.z, k * a.x * a.z + s * a.y,
                           k * a.x * a.y + s * a.z, c + k * a.y * a.y, k * a.y * a.z - s * a.x,
                           k * a.x * a.z - s * a.y, k * a.y * a.z + s * a.x, c + k * a.z * a.z},
                          {0, 0, 0}};
}

/* From the pose before and the true poses before and now: what odometry with errors says. */
static struct rigid guess(const struct options *o, const struct rigid *last, const struct rigid *a,
                          const struct rigid *b, int frame)
{
    struct rigid back = rigid_inverse(a), step = rigid_mul(&back, b), tilt;
    int window = frame / o->window;
    float by = (float)(1 + o->length * normal(window, 1, o->seed));
    struct rigid turn = drawn_turn(window, 2, o->degrees, o->seed);
    struct vec3 way = rigid_apply(&turn, vec3_make(by * step.t[0], by * step.t[1], by * step.t[2]));

    tilt = drawn_turn(window, 10, o->degrees / o->window, o->seed);
    step = rigid_mul(&step, &tilt);
    step.t[0] = way.x;
    step.t[1] = way.y;
    step.t[2] = way.z;
    return rigid_mul(last, &step);
}

/* ------------------------------------------------------------------------- the folder */

struct writer {
    const struct options *o;
    FILE *poses, *true_poses;
    uint8_t *rgb;
    uint16_t *depth;
    struct intrinsics K;
    int w, h, n;
    struct lens_warp warp; /* with a lens */
    uint8_t *bent_rgb;
    uint16_t *bent_depth;
};

static void fail(const char *what)
{
    fprintf(stderr, "places: %s\n", what);
    exit(1);
}

static void fail_err(const struct err *err)
{
    char what[ERR_WHERE_CAP + ERR_TEXT_CAP + 2];

    snprintf(what, sizeof what, "%s: %s", err->where, err->text);
    fail(what);
}

static FILE *create(const char *out, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", out, name);
    f = fopen(path, "wb");
    if (!f)
        fail(path);
    return f;
}

static void put_bytes(const char *out, const char *folder, int i, const char *suffix,
                      const uint8_t *data, size_t len)
{
    char name[64];
    FILE *f;

    snprintf(name, sizeof name, "%s/%06d.%s", folder, i, suffix);
    f = create(out, name);
    if (fwrite(data, 1, len, f) != len || fclose(f) != 0)
        fail(name);
}

static void put_pose(FILE *f, int i, const struct rigid *T)
{
    const float *r = T->r;
    double q[4]; /* w x y z */
    double trace = (double)(r[0] + r[4] + r[8]);
    int k = r[0] > r[4] && r[0] > r[8] ? 0 : r[4] > r[8] ? 1 : 2, l = (k + 1) % 3, m = (k + 2) % 3;
    double s;

    if (trace > 0) {
        s = sqrt(trace + 1) * 2;
        q[0] = 0.25 * s;
        q[1] = (double)(r[7] - r[5]) / s;
        q[2] = (double)(r[2] - r[6]) / s;
        q[3] = (double)(r[3] - r[1]) / s;
    } else {
        s = sqrt(1 + (double)(r[4 * k] - r[4 * l] - r[4 * m])) * 2;
        q[0] = (double)(r[3 * m + l] - r[3 * l + m]) / s;
        q[1 + k] = 0.25 * s;
        q[1 + l] = (double)(r[3 * l + k] + r[3 * k + l]) / s;
        q[1 + m] = (double)(r[3 * m + k] + r[3 * k + m]) / s;
    }
    fprintf(f, "%06d %.6f %.6f %.6f %.7f %.7f %.7f %.7f\n", i, (double)T->t[0], (double)T->t[1],
            (double)T->t[2], q[1], q[2], q[3], q[0]);
}

/* Where pixel x, y of a w x h picture is after n quarter turns clockwise. */
static size_t turned(int x, int y, int w, int h, int n)
{
    switch (n) {
    case 1:
        return (size_t)x * (size_t)h + (size_t)(h - 1 - y);
    case 2:
        return (size_t)(h - 1 - y) * (size_t)w + (size_t)(w - 1 - x);
    case 3:
        return (size_t)(w - 1 - x) * (size_t)h + (size_t)y;
    default:
        return (size_t)y * (size_t)w + (size_t)x;
    }
}

static struct intrinsics turn_camera(struct intrinsics K, int w, int h, int n)
{
    for (; n > 0; n--) {
        int side = w;

        K = (struct intrinsics){K.fy, K.fx, (float)(h - 1) - K.cy, K.cx};
        w = h;
        h = side;
    }
    return K;
}

/* The camera of a picture turned n quarters clockwise: its x axis is what was -y, its y axis x. */
static struct rigid turn_pose(struct rigid T, int n)
{
    for (; n > 0; n--)
        for (int k = 0; k < 9; k += 3) {
            float x = T.r[k];

            T.r[k] = -T.r[k + 1];
            T.r[k + 1] = x;
        }
    return T;
}

/* Makes room for pictures of another lens than the drawn one. */
static void open_lens(struct writer *w, int out_w, int out_h)
{
    enum lens_model model = (enum lens_model)w->o->lens;

    if (model == LENS_SPHERE) {
        out_w = 2 * SPHERE_H;
        out_h = SPHERE_H;
    }
    if (!lens_warp_make(&w->warp, model, w->K, w->w, w->h, out_w, out_h))
        fail("no such lens sees what the pictures show");
    w->bent_rgb = malloc((size_t)3 * (size_t)out_w * (size_t)out_h);
    w->bent_depth = malloc(sizeof *w->bent_depth * (size_t)out_w * (size_t)out_h);
    if (!w->bent_rgb || !w->bent_depth)
        fail("no memory");
}

static void put_bent_frame(struct writer *w, const struct rigid *guessed, const struct rigid *T)
{
    uint8_t *data;
    size_t len;
    struct err err;

    lens_warp_run(&w->warp, w->bent_rgb, w->bent_depth, w->rgb, w->depth);
    data = jpeg_write(w->bent_rgb, w->warp.out_w, w->warp.out_h, QUALITY, &len);
    put_bytes(w->o->out, "frames", w->n, "jpg", data, len);
    free(data);
    if (png_encode_gray16(&data, &len, w->bent_depth, w->warp.out_w, w->warp.out_h, &err))
        fail_err(&err);
    put_bytes(w->o->out, "depth", w->n, "png", data, len);
    free(data);
    put_pose(w->poses, w->n, guessed);
    put_pose(w->true_poses, w->n, T);
    w->n++;
}

static void put_frame(struct writer *w, const struct rigid *guessed, const struct rigid *T)
{
    int n = w->o->turn / 90, tw = n & 1 ? w->h : w->w, th = n & 1 ? w->w : w->h;
    size_t pixels = (size_t)w->w * (size_t)w->h, len;
    uint8_t *rgb = malloc(3 * pixels), *data;
    uint16_t *depth = malloc(2 * pixels);
    struct rigid P = turn_pose(*guessed, n), Q = turn_pose(*T, n);
    struct err err;

    if (!rgb || !depth)
        fail("no memory");
    if (w->o->lens) {
        put_bent_frame(w, guessed, T);
        free(rgb);
        free(depth);
        return;
    }
    for (int y = 0; y < w->h; y++)
        for (int x = 0; x < w->w; x++) {
            size_t from = (size_t)y * (size_t)w->w + (size_t)x, to = turned(x, y, w->w, w->h, n);

            memcpy(rgb + 3 * to, w->rgb + 3 * from, 3);
            depth[to] = w->depth[from];
        }
    data = jpeg_write(rgb, tw, th, QUALITY, &len);
    put_bytes(w->o->out, "frames", w->n, "jpg", data, len);
    free(data);
    if (png_encode_gray16(&data, &len, depth, tw, th, &err))
        fail_err(&err);
    put_bytes(w->o->out, "depth", w->n, "png", data, len);
    free(data);
    free(rgb);
    free(depth);
    put_pose(w->poses, w->n, &P);
    put_pose(w->true_poses, w->n, &Q);
    w->n++;
}

static void open_folder(struct writer *w)
{
    static const char head[] = "# frame tx ty tz qx qy qz qw : camera-to-world, camera x right y "
                               "down z forward, metres\n";
    char path[4096];

    mkdir(w->o->out, 0777);
    snprintf(path, sizeof path, "%s/frames", w->o->out);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/depth", w->o->out);
    mkdir(path, 0777);
    w->poses = create(w->o->out, "poses.txt");
    w->true_poses = create(w->o->out, "poses_true.txt");
    fputs(head, w->poses);
    fputs(head, w->true_poses);
}

static void close_folder(struct writer *w, double fps, double unit_m, const char *up)
{
    int n = w->o->turn / 90;
    struct intrinsics K = w->o->lens ? w->warp.K : turn_camera(w->K, w->w, w->h, n);
    int side = w->o->lens ? w->warp.out_w : w->w, other = w->o->lens ? w->warp.out_h : w->h;
    FILE *f = create(w->o->out, "sequence.json");

    fprintf(f, up[0] ? "{\n \"up\": \"%s\",\n" : "{\n", up);
    if (w->o->lens) {
        const struct lens *l = &w->warp.lens;

        fprintf(f, " \"model\": \"%s\", \"distortion\": [", lens_names[l->model]);
        for (int i = 0; i < lens_n_params((enum lens_model)l->model); i++)
            fprintf(f, "%s%.9g", i ? ", " : "", (double)l->k[i]);
        fputs("],\n", f);
    }
    fprintf(f,
            " \"width\": %d, \"height\": %d,\n \"fx\": %.9g, \"fy\": %.9g, \"cx\": %.9g, \"cy\": "
            "%.9g,\n \"fps\": %g, \"depth_unit_m\": %.9g\n}\n",
            n & 1 ? other : side, n & 1 ? side : other, (double)K.fx, (double)K.fy, (double)K.cx,
            (double)K.cy, fps, unit_m);
    if (fclose(f) || fclose(w->poses) || fclose(w->true_poses))
        fail("the folder cannot be written");
}

/* ------------------------------------------------------------------------- what is written */

static void draw(const struct options *o, struct place *p)
{
    const int width = o->wide ? 2 * W : W, height = o->wide ? 3 * H / 2 : H;
    const float focal = FOCAL * (float)width / W;
    struct writer w = {.o = o,
                       .w = width,
                       .h = height,
                       .K = {focal, focal, 0.5f * (float)(width - 1), 0.5f * (float)(height - 1)}};
    struct rigid last = rigid_identity(), guessed = last;
    int errs = o->length > 0 || o->degrees > 0;

    if (o->lens) {
        w.K.fx = w.K.fy = WIDE_FOCAL;
        open_lens(&w, width, height);
    }
    w.rgb = malloc((size_t)3 * (size_t)width * (size_t)height);
    w.depth = malloc(sizeof *w.depth * (size_t)width * (size_t)height);
    if (!w.rgb || !w.depth || place_light(p))
        fail("no memory");
    open_folder(&w);
    for (int i = 0; i < o->frames; i++) {
        struct rigid T = pose_at(p, i, o->frames, o->seed);

        guessed = i && errs ? guess(o, &guessed, &last, &T, i) : T;
        place_draw(w.rgb, w.depth, p, &T, w.K, width, height, o->seed + (uint32_t)i);
        put_frame(&w, &guessed, &T);
        last = T;
    }
    close_folder(&w, FPS, 0.001, "+y");
    free(w.rgb);
    free(w.depth);
    free(w.bent_rgb);
    free(w.bent_depth);
    place_light_free(p);
}

static void copy_frame(struct writer *w, struct client_sequence *s, int i, double unit_m,
                       struct jpeg_decoder *jpeg)
{
    const struct jpeg_limits limits = {FRAME_SIDE_MAX, FRAME_SIDE_MAX, 100, FRAME_PAYLOAD_MAX,
                                       10000};
    struct frame f = {.T_wc = rigid_identity()};
    struct err err;
    float *depth = NULL;
    int dw = 0, dh = 0;

    if (client_sequence_read(s, i, &f, &err) ||
        jpeg_decode(jpeg, w->rgb, w->w, w->h, f.payload, f.payload_len, &limits, &err))
        fail_err(&err);
    if (client_sequence_depth(s, i, &depth, &dw, &dh, &err) && err.code != ERR_NOT_FOUND)
        fail_err(&err);
    if (depth && (dw != w->w || dh != w->h))
        fail("depth of another size than the pictures");
    for (size_t k = 0; k < (size_t)w->w * (size_t)w->h; k++)
        w->depth[k] = depth ? (uint16_t)(depth[k] / (float)unit_m + 0.5f) : 0;
    free(depth);
    put_frame(w, &f.T_wc, &f.T_wc);
}

static void copy(const struct options *o)
{
    struct client_sequence *s = NULL;
    struct client_sequence_info info;
    struct jpeg_decoder *jpeg = NULL;
    struct writer w = {.o = o};
    struct err err;

    if (client_sequence_open(&s, o->source, NULL, &err) || jpeg_decoder_new(&jpeg, &err))
        fail_err(&err);
    client_sequence_get_info(s, &info);
    if (!info.has_camera || info.width <= 0)
        fail("sequence.json says no size or no camera");
    w.w = info.width;
    w.h = info.height;
    w.K = info.K;
    w.rgb = malloc((size_t)3 * (size_t)w.w * (size_t)w.h);
    w.depth = malloc(sizeof *w.depth * (size_t)w.w * (size_t)w.h);
    if (!w.rgb || !w.depth)
        fail("no memory");
    if (o->lens)
        open_lens(&w, w.w, w.h);
    open_folder(&w);
    for (int i = 0; i < info.n_frames && i < o->frames; i++)
        copy_frame(&w, s, i, (double)info.depth_unit_m, jpeg);
    close_folder(&w, info.fps, (double)info.depth_unit_m, client_sequence_up(s));
    free(w.rgb);
    free(w.depth);
    free(w.bent_rgb);
    free(w.bent_depth);
    jpeg_decoder_free(&jpeg);
    client_sequence_close(&s);
}

static void take_option(struct options *o, const char *arg)
{
    double v;
    char name[16], rest;

    if (sscanf(arg, "%15[a-z]=%lf%c", name, &v, &rest) != 2)
        fail("an option is NAME=NUMBER");
    if (strcmp(name, "frames") == 0 && v >= 1 && v <= 100000)
        o->frames = (int)v;
    else if (strcmp(name, "seed") == 0 && v >= 0 && v < 4e9)
        o->seed = (uint32_t)v;
    else if (strcmp(name, "turn") == 0 && (v == 0 || v == 90 || v == 180 || v == 270))
        o->turn = (int)v;
    else if (strcmp(name, "length") == 0 && v >= 0 && v <= 1)
        o->length = v;
    else if (strcmp(name, "degrees") == 0 && v >= 0 && v <= 10)
        o->degrees = v;
    else if (strcmp(name, "window") == 0 && v >= 1 && v <= 100000)
        o->window = (int)v;
    else if (strcmp(name, "lens") == 0 && v >= 0 && v < LENS_MODELS)
        o->lens = (int)v;
    else if (strcmp(name, "wide") == 0 && (v == 0 || v == 1))
        o->wide = (int)v;
    else
        fail("options are frames, seed, turn (0, 90, 180, 270), length, degrees, window, "
             "lens and wide");
}

int main(int argc, char **argv)
{
    static struct place place;
    struct options o = {.frames = 0, .seed = 1, .window = 20};

    if (argc < 3)
        fail("places room|corridor|desk|FOLDER OUT [NAME=NUMBER ...]");
    o.source = argv[1];
    o.out = argv[2];
    for (int i = 3; i < argc; i++)
        take_option(&o, argv[i]);
    if ((o.lens && o.turn) || (o.lens && o.wide))
        fail("lens goes together with neither turn nor wide");
    if (place_list_make(&place, o.source) == 0) {
        o.frames = o.frames ? o.frames : 120;
        draw(&o, &place);
    } else {
        o.frames = o.frames ? o.frames : INT_MAX;
        copy(&o);
    }
    return 0;
}
