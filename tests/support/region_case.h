/*
 * region_case.h - a shape on a table, scanned by a session with a sensor's depth and enrolled as a
 * box of its world
 */
#ifndef RECOND_TESTS_REGION_CASE_H
#define RECOND_TESTS_REGION_CASE_H

#include "tests/support/core_rig.h"
#include "tests/support/shape_case.h"

#define REGION_CASE_W 256
#define REGION_CASE_H 192
#define REGION_CASE_OVER_M 0.009f /* the box begins so far above the table */
#define REGION_CASE_SIDE_M 0.32f

/* How high the shapes' middles are when they stand. */
static const float region_case_height[SHAPES] = {0.075f, 0.053f, 0.06f, 0.105f,
                                                 0.1f,   0.121f, 0.069f};

struct region_case {
    struct rig_client client;
    float *depth;
    uint16_t *mm;
    uint8_t *planes;
    uint64_t seq;
    char id[API_ID_CAP];
};

/* Where it stands in the world. */
static inline struct rigid region_case_place(enum shape shape)
{
    return shape_put(40, 0.05f, -0.1f, region_case_height[shape]);
}

static inline void region_case_open(struct region_case *c)
{
    static const struct core_backend processor = {gpu_open, gpu_cuda_count};
    size_t pixels = REGION_CASE_W * REGION_CASE_H;
    struct config config;
    struct err err = {0};

    memset(c, 0, sizeof(*c));
    rig_prepare(&config);
    snprintf(config.device.use, sizeof(config.device.use), "cpu");
    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    rig_picture(REGION_CASE_W, REGION_CASE_H, 40);
    if (core_open(&rig.core, &config, &processor, &err))
        fail_msg("%s: %s", err.where, err.text);
    core_set_ready(rig.core);
    c->depth = malloc(pixels * sizeof(*c->depth));
    c->mm = malloc(pixels * sizeof(*c->mm));
    c->planes = malloc(2 * pixels);
    assert_true(c->depth && c->mm && c->planes);
}

static inline void region_case_close(struct region_case *c)
{
    rig_close();
    free(c->depth);
    free(c->mm);
    free(c->planes);
}

/* A session whose world has z up; fusion: 0 = the default. */
static inline void region_case_session(struct region_case *c, int fusion)
{
    struct session_options o = rig_options();

    o.mode = SESSION_LOSSLESS;
    o.K = shape_camera_of(REGION_CASE_W, REGION_CASE_H);
    o.camera_w = o.net_w = REGION_CASE_W;
    o.camera_h = o.net_h = REGION_CASE_H;
    o.depth_source = SESSION_DEPTH_SOURCE_SENSOR;
    o.up = SESSION_UP_Z;
    o.max_points = 100000;
    o.fusion = (enum session_fusion)fusion;
    rig_session(&o, c->id);
    rig_connect(&c->client, c->id, CONTROL_INGEST);
    c->seq = 0;
}

static inline void region_case_end(struct region_case *c)
{
    rig_disconnect(&c->client);
    assert_int_equal(core_ops.session_delete(rig.core, c->id, NULL), 0);
}

/* One frame of a camera, with noise of its own. */
static inline void region_case_frame(struct region_case *c, enum shape shape,
                                     const struct rigid *T_wc)
{
    const struct shape_place place[2] = {{SHAPE_TABLE, rigid_identity()},
                                         {shape, region_case_place(shape)}};
    const size_t pixels = REGION_CASE_W * REGION_CASE_H;
    struct frame f = rig_frame(++c->seq);
    struct err err = {0};
    int had = c->client.n_acks;

    shape_draw(c->depth, NULL, REGION_CASE_W, REGION_CASE_H,
               shape_camera_of(REGION_CASE_W, REGION_CASE_H), T_wc, place, 2);
    shape_noise(c->depth, (int)pixels, (uint32_t)c->seq);
    for (size_t k = 0; k < pixels; k++)
        c->mm[k] = (uint16_t)lroundf(1000 * fminf(c->depth[k], 60));
    depth_split_planes(c->planes, c->mm, REGION_CASE_W, pixels);
    f.T_wc = *T_wc;
    f.width = REGION_CASE_W;
    f.height = REGION_CASE_H;
    f.n_parts = 1;
    f.parts[0] =
        (struct frame_part){FRAME_DEPTH, FRAME_RAW, 0,         REGION_CASE_W,         REGION_CASE_H,
                            0,           0,         c->planes, (uint32_t)(2 * pixels)};
    if (rig_send_frame(&c->client, &f, &err))
        fail_msg("%s: %s", err.where, err.text);
    rig_wait_acks(&c->client, had + 1);
    assert_int_equal(c->client.acks[had % RIG_ACKS].status, CONTROL_USED);
}

/* `times` frames each from `views` sides, 35 degrees above the table. */
static inline void region_case_scan(struct region_case *c, enum shape shape, int views, int times)
{
    for (int v = 0; v < views; v++)
        for (int i = 0; i < times; i++) {
            struct rigid T =
                shape_around(vec3_make(0.05f, -0.1f, 0.06f),
                             360.0f / (float)views * (float)v + 2 * (float)i, 35, 0.75f);
            region_case_frame(c, shape, &T);
        }
}

/* The box around the shape; its frame differs from the shape's by a height. */
static inline struct api_region region_case_box(const struct region_case *c, enum shape shape)
{
    struct rigid T = region_case_place(shape);
    float high = 2 * region_case_height[shape] + 0.1f;
    struct api_region r = {.centre = {T.t[0], T.t[1], REGION_CASE_OVER_M + 0.5f * high},
                           .size = {REGION_CASE_SIDE_M, REGION_CASE_SIDE_M, high},
                           .turn_deg = 40};

    snprintf(r.session, sizeof(r.session), "%s", c->id);
    return r;
}

/* The shape's frame by that of the box, with the table's world in between. */
static inline struct rigid region_case_truth(const struct api_region *r, enum shape shape)
{
    struct rigid T_wb = shape_put(r->turn_deg, r->centre[0], r->centre[1], r->centre[2]);
    struct rigid T_bw = rigid_inverse(&T_wb), T_ws = region_case_place(shape);

    return rigid_mul(&T_bw, &T_ws);
}

static inline int region_case_enrol(const char *name, const struct api_region *r,
                                    struct api_object *object, struct err *err)
{
    const struct api_shape shape = {.region = r};

    return core_ops.object_add(rig.core, "", name, "", &shape, object, err);
}

#endif
