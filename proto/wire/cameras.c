#include "proto/wire/cameras.h"

#include "proto/geom/pose.h"
#include "proto/wire/frame.h"

static void get_rig(const struct json_at *at, struct rigid *T)
{
    uint8_t bytes[POSE_BYTES];
    struct bytes_writer w = bytes_writer(bytes, sizeof bytes);
    struct bytes_reader r = bytes_reader(bytes, sizeof bytes);
    float v[7];

    if (!json_get_f32s(at, "rig", v, 7, 1e3))
        return;
    for (int i = 0; i < 7; i++)
        bytes_put_f32(&w, v[i]);
    if (pose_get(&r, T, CAMERAS_RIG_MAX_M, NULL))
        json_note(at, "rig", "must be a unit quaternion x y z w and a position within %g m",
                  (double)CAMERAS_RIG_MAX_M);
}

/* Parameters are fx fy cx cy, then the model's own numbers; a sphere has none. */
static void get_params(const struct json_at *at, enum lens_model model, struct cameras_entry *e)
{
    const double limit = 64.0 * FRAME_SIDE_MAX;
    float v[4 + LENS_PARAMS_MAX] = {0};
    struct err why = {0};
    size_t n = model == LENS_SPHERE ? 0 : 4 + (size_t)lens_n_params(model);

    if (!json_get_f32s(at, "params", v, n, limit))
        return;
    e->K = (struct intrinsics){v[0], v[1], v[2], v[3]};
    if (model == LENS_SPHERE)
        e->K = lens_sphere_intrinsics(e->width, e->height);
    else if (!(v[0] >= FRAME_FOCAL_MIN_PX && v[1] >= FRAME_FOCAL_MIN_PX))
        json_note(at, "params", "a focal length is at least %g pixels", (double)FRAME_FOCAL_MIN_PX);
    if (at->issues->n == 0 && lens_make(&e->lens, model, v + 4, e->K, e->width, e->height, &why))
        json_note(at, "params", "%s", why.text);
}

void cameras_parse(const struct json_at *at, struct cameras_entry *e)
{
    int id = 0, model = LENS_PINHOLE;

    *e = (struct cameras_entry){.T_rc = rigid_identity()};
    json_require(at, "id");
    json_require(at, "model");
    json_require(at, "width");
    json_require(at, "height");
    json_require(at, "params");
    json_get_int(at, "id", &id, 1, UINT16_MAX);
    json_get_int(at, "width", &e->width, FRAME_SIDE_MIN, FRAME_SIDE_MAX);
    json_get_int(at, "height", &e->height, FRAME_SIDE_MIN, FRAME_SIDE_MAX);
    if (json_get_choice(at, "model", &model, lens_names))
        get_params(at, (enum lens_model)model, e);
    get_rig(at, &e->T_rc);
    e->id = (unsigned)id;
}

void cameras_write(struct json_writer *w, const struct cameras_entry *e)
{
    const float K[4] = {e->K.fx, e->K.fy, e->K.cx, e->K.cy};
    uint8_t bytes[POSE_BYTES];
    struct bytes_writer out = bytes_writer(bytes, sizeof bytes);
    struct bytes_reader in = bytes_reader(bytes, sizeof bytes);

    json_put_u64(w, "id", e->id);
    json_put_text(w, "model", lens_names[e->lens.model]);
    json_put_i64(w, "width", e->width);
    json_put_i64(w, "height", e->height);
    json_open_list(w, "params");
    for (int i = 0; i < 4 && e->lens.model != LENS_SPHERE; i++)
        json_put_f32(w, NULL, K[i]);
    for (int i = 0; i < lens_n_params((enum lens_model)e->lens.model); i++)
        json_put_f32(w, NULL, e->lens.k[i]);
    json_close(w);
    pose_put(&out, &e->T_rc);
    json_open_list(w, "rig");
    for (int i = 0; i < 7; i++)
        json_put_f32(w, NULL, bytes_get_f32(&in));
    json_close(w);
}

int cameras_put(struct cameras *c, const struct cameras_entry *e, struct err *err)
{
    int i = 0;

    while (i < c->n && c->list[i].id != e->id)
        i++;
    if (i == CAMERAS_MAX)
        return err_at(err, ERR_LIMIT, "/id", "%d cameras are declared already", CAMERAS_MAX);
    c->n += i == c->n;
    c->list[i] = *e;
    return 0;
}

const struct cameras_entry *cameras_find(const struct cameras *c, unsigned id)
{
    for (int i = 0; i < c->n; i++)
        if (c->list[i].id == id)
            return &c->list[i];
    return NULL;
}
