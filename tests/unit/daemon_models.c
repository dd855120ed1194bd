/* Networks and options: sidecars, directories, defaults, the size of the input, what a session may
 * ask. */
#include "daemon/models.h"
#include "daemon/session/options.h"
#include "tests/support/tiny_model.h"
#include "tests/support/unit.h"

static char dir[64];

TEST(size_follows_the_cameras_shape)
{
    static const int cases[][4] = {
        {640, 480, 256, 192},  {1242, 375, 416, 128}, {480, 640, 192, 256}, {1280, 720, 288, 160},
        {720, 1280, 160, 288}, {100, 100, 224, 224},  {8192, 32, 1664, 32}, {32, 8192, 32, 1664},
    };
    int w, h;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        models_net_size(cases[i][0], cases[i][1], 32, &w, &h);
        if (w != cases[i][2] || h != cases[i][3])
            fail_msg("%d x %d: %d x %d", cases[i][0], cases[i][1], w, h);
    }
    for (int cw = 33; cw < 4000; cw += 371)
        for (int ch = 33; ch < 4000; ch += 411) {
            models_net_size(cw, ch, 64, &w, &h);
            assert_true(w >= 64 && h >= 64 && w % 64 == 0 && h % 64 == 0 &&
                        w * h <= MODELS_NET_AREA);
        }
}

TEST(a_sidecar_says_what_onnx_does_not)
{
    static const char text[] =
        "[model]\nkind = depth\nfile = a.onnx\ninput = rgb\noutput_name = out\n"
        "mean = 0.485 0.456, 0.406\nstd = 0.229 0.224 0.225\noutput = disparity\n"
        "disparity_range = 0.1 100\nfocal_px = 250.5\nmin_depth_m = 0.2\n"
        "max_depth_m = 80\nmultiple = 64\nlicence = CC0\n";
    struct gpu_model_info info;
    struct err err = {0};

    if (models_parse(&info, "x.ini", text, sizeof(text) - 1, &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(info.kind, GPU_MODEL_DEPTH);
    assert_string_equal(info.path, "a.onnx");
    assert_string_equal(info.input, "rgb");
    assert_string_equal(info.output_name, "out");
    assert_float_equal(info.mean[2], 0.406, 1e-6);
    assert_float_equal(info.std[0], 0.229, 1e-6);
    assert_int_equal(info.output, GPU_OUTPUT_DISPARITY);
    assert_float_equal(info.disparity_range_m[1], 100, 1e-6);
    assert_float_equal(info.focal_px, 250.5, 1e-6);
    assert_float_equal(info.max_depth_m, 80, 1e-6);
    assert_int_equal(info.multiple, 64);
    assert_string_equal(info.licence, "CC0");
}

TEST(wrong_sidecars_say_where_and_what)
{
    static const struct {
        const char *text, *where, *says;
    } cases[] = {
        {"[model]\nkind = lidar\n", "x.ini:2", "allowed are depth, motion"},
        {"[model]\nmean = 1 2\n", "x.ini:2", "3 numbers"},
        {"[model]\nmean = 1 2 3 4\n", "x.ini:2", "more than 3"},
        {"[model]\nstd = 0 1 1\n", "x.ini:2", "3 numbers from 1e-06"},
        {"[model]\nfocal_px = inf\n", "x.ini:2", "1 numbers"},
        {"[model]\nmultiple = 0\n", "x.ini:2", "whole number from 1 to 256"},
        {"[model]\ncolour = red\n", "x.ini:2", "unknown key 'colour'"},
        {"[net]\nkind = depth\n", "x.ini:2", "neither [model] nor a stage's"},
        {"[views]\nsweep_pike = 1\n", "x.ini:2", "[views] has no number 'sweep_pike'"},
        {"[views]\nsweep_peak = 8193\n", "x.ini:2",
         "sweep_peak = '8193': a whole number from 0 to"},
        {"[views]\nsweep_peak = 0.5\n", "x.ini:2", "a whole number from 0 to 8192 is allowed"},
        {"[views]\nagree_rel = nan\n", "x.ini:2", "a number from 0.0001 to 1 is allowed"},
        {"[model]\nmin_depth_m = 9\nmax_depth_m = 8\n", "x.ini", "below max_depth_m"},
        {"[model]\nfile = ../../etc/passwd\n", "x.ini", "without a folder"},
        {"[model]\noutput = metres\n", "x.ini:2", "allowed are depth"},
    };
    struct gpu_model_info info;
    struct err err;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&err, 0, sizeof(err));
        if (models_parse(&info, "x.ini", cases[i].text, strlen(cases[i].text), &err) != ERR_INPUT ||
            strcmp(err.where, cases[i].where) != 0 || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s: %s", i, err.where, err.text);
    }
}

TEST(directories_are_searched)
{
    const struct gpu_model_info *depth;
    struct api_model list[8];
    struct models *m;
    struct err err = {0};
    char path[200];

    snprintf(path, sizeof(path), "/nonexistent:%s:%s", dir, dir);
    if (models_open(&m, path, "", "", &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(models_list(m, list, 8), 2); /* the second mention adds none */
    assert_string_equal(list[0].name, "flat");
    assert_string_equal(list[0].kind, "depth");
    assert_int_equal(list[0].weights, 4);
    assert_true(list[0].is_default && list[1].is_default);
    assert_int_equal(models_list(m, list, 1), 2);
    depth = models_find(m, GPU_MODEL_DEPTH, "");
    assert_ptr_equal(depth, models_find(m, GPU_MODEL_DEPTH, "flat"));
    assert_null(models_find(m, GPU_MODEL_MOTION, "flat"));
    assert_null(models_find(m, GPU_MODEL_DEPTH, "nothing"));
    models_close(&m);
    snprintf(path, sizeof(path), "$ORIGIN/%s%s", "../../../../../../../../../../../../../../..",
             dir);
    if (models_open(&m, path, "", "", &err)) /* from where this program is */
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(models_list(m, list, 8), 2);
    models_close(&m);
    assert_int_equal(models_open(&m, dir, "nothing", "", &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "no depth network named nothing"));
    assert_int_equal(models_open(&m, "/nonexistent", "", "", &err), ERR_NOT_FOUND);
    tiny_write(dir, "broken.ini", "[model]\n", 8);
    tiny_write(dir, "broken.onnx", "this is no network", 18);
    assert_int_not_equal(models_open(&m, dir, "", "", &err), 0);
    assert_null(m);
    snprintf(path, sizeof(path), "%s/broken.ini", dir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/broken.onnx", dir);
    unlink(path);
}

/* What is shipped beside them for things that move has no sidecar, and is not offered. */
TEST(the_shipped_networks_are_two)
{
    struct api_model list[8];
    struct models *m;
    struct err err = {0};

    if (models_open(&m, "gpu/models", "", "", &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(models_list(m, list, 8), 2);
    assert_string_equal(list[0].name, "depth");
    assert_string_equal(list[1].name, "motion");
    assert_string_equal(list[1].kind, "motion");
    assert_true(list[0].is_default && list[1].is_default);
    assert_null(models_find(m, GPU_MODEL_MOTION, "objmotion"));
    models_close(&m);
}

/* What a session asks for, what the server is configured with, and what comes of them. */
static const struct session_options fine = {
    .has_camera = true, .K = {300, 300, 160, 120}, .camera_w = 640, .camera_h = 480};
static const struct gpu_model_info *depth, *motion;
static struct session_options o;
static struct config config;
static struct models *m;
static struct err err;
static int multiple;

static void begin(const char *flag)
{
    char *argv[] = {(char *)"recond", (char *)"--config=/dev/null", (char *)flag, NULL};
    enum config_action action;

    assert_int_equal(config_load(&config, &action, flag ? 3 : 2, argv, NULL, NULL), 0);
    o = fine;
}

static int resolve(bool journals)
{
    return options_resolve(&o, &gpu_line_mono, &depth, &motion, &multiple, &config, m, journals,
                           &err);
}

TEST(options_are_completed_and_checked)
{
    begin(NULL);
    assert_int_equal(resolve(false), 0);
    assert_float_equal(o.step_m, 0.001, 1e-9);
    assert_int_equal(o.keyframes, 5);
    assert_int_equal(o.retention_s, 3600);
    assert_int_equal(o.max_points, 1000000);
    assert_true(o.net_w == 256 && o.net_h == 192 && multiple == 32);
    assert_string_equal(o.depth_model, "flat");
    assert_null(motion);
    assert_int_equal(o.up, SESSION_UP_Y); /* a phone's world */
    assert_int_equal(o.views, SESSION_VIEWS_REFINED);
    o = fine;
    o.pose_source = SESSION_POSE_LEARNED;
    assert_int_equal(resolve(false), 0);
    assert_string_equal(o.motion_model, "still");
    assert_int_equal(o.up, SESSION_UP_MINUS_Y); /* the first camera's */
    assert_non_null(motion);
    assert_int_equal(o.views, SESSION_VIEWS_OFF); /* unless it is asked for */
    o = fine;
    o.pose_source = SESSION_POSE_LEARNED;
    o.views = SESSION_VIEWS_REFINED;
    assert_int_equal(resolve(false), 0);
    assert_int_equal(o.views, SESSION_VIEWS_REFINED);
    o = (struct session_options){0}; /* the first picture decides */
    assert_int_equal(resolve(false), 0);
    assert_true(o.net_w == 0 && o.net_h == 0);
    assert_int_equal(o.journal, SESSION_JOURNAL_OFF); /* the server keeps none */
    assert_int_equal(o.mode, SESSION_LIVE);
    assert_float_equal(o.fps, 30, 0);
}

TEST(wrong_options_say_where)
{
    begin(NULL);
#define WRONG(change, code, pointer)        \
    o = fine;                               \
    change;                                 \
    assert_int_equal(resolve(false), code); \
    assert_string_equal(err.where, pointer)
    WRONG(o.step_m = 0.5f, ERR_INPUT, "/step_m");
    WRONG(o.step_m = NAN, ERR_INPUT, "/step_m");
    WRONG(o.max_points = 10, ERR_INPUT, "/max_points");
    WRONG(o.max_points = 8000001, ERR_INPUT, "/max_points");
    WRONG(o.keyframes = 10, ERR_INPUT, "/keyframes");
    WRONG(o.min_depth_m = 40, ERR_INPUT, "/max_depth_m");
    WRONG(o.retention_s = -2, ERR_INPUT, "/retention_s");
    WRONG(o.camera_w = 9000, ERR_INPUT, "/camera/width");
    WRONG(o.K.fx = -1, ERR_INPUT, "/camera/fx");
    WRONG(o.K.fy = NAN, ERR_INPUT, "/camera/fy");
    WRONG(o.K.cx = INFINITY, ERR_INPUT, "/camera/cx");
    WRONG(o.net_w = 100; o.net_h = 96, ERR_INPUT, "/net/width");
    WRONG(o.net_w = 96; o.net_h = 4096, ERR_INPUT, "/net/height");
    WRONG(o.net_w = 96, ERR_INPUT, "/net");
    WRONG(o.fps = 1001, ERR_INPUT, "/fps");
    WRONG(o.fps = -1, ERR_INPUT, "/fps");
    WRONG(o.fps = NAN, ERR_INPUT, "/fps");
    WRONG(o.journal = SESSION_JOURNAL_ASYNC, ERR_INPUT, "/journal");
    WRONG(o.record = true, ERR_INPUT, "/record");
    WRONG(strcpy(o.depth_model, "deep"), ERR_NOT_FOUND, "/depth_model");
    WRONG(strcpy(o.motion_model, "flat"), ERR_NOT_FOUND, "/motion_model");
#undef WRONG
}

/* What sessions keep where the server keeps journals: as asked, else as configured. */
TEST(journal_and_mode_are_chosen)
{
    static const struct {
        const char *flag;
        struct session_options asked;
        enum session_journal journal;
        enum session_mode mode;
    } cases[] = {
        {.journal = SESSION_JOURNAL_SYNC, .mode = SESSION_LIVE},
        {.flag = "--session.journal=async", .journal = SESSION_JOURNAL_ASYNC, .mode = SESSION_LIVE},
        {.flag = "--session.journal=off", .journal = SESSION_JOURNAL_OFF, .mode = SESSION_LIVE},
        {.flag = "--session.mode=lossless",
         .journal = SESSION_JOURNAL_SYNC,
         .mode = SESSION_LOSSLESS},
        {.flag = "--session.mode=lossless",
         .asked = {.mode = SESSION_LIVE},
         .journal = SESSION_JOURNAL_SYNC,
         .mode = SESSION_LIVE},
        {.flag = "--session.journal=off",
         .asked = {.journal = SESSION_JOURNAL_ASYNC, .record = true},
         .journal = SESSION_JOURNAL_ASYNC,
         .mode = SESSION_LIVE},
        {.asked = {.journal = SESSION_JOURNAL_OFF},
         .journal = SESSION_JOURNAL_OFF,
         .mode = SESSION_LIVE},
        {.asked = {.mode = SESSION_LOSSLESS},
         .journal = SESSION_JOURNAL_SYNC,
         .mode = SESSION_LOSSLESS},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin(cases[i].flag);
        o = cases[i].asked;
        assert_int_equal(resolve(true), 0);
        assert_int_equal(o.journal, cases[i].journal);
        assert_int_equal(o.mode, cases[i].mode);
    }
    o = (struct session_options){.journal = SESSION_JOURNAL_OFF, .record = true};
    assert_int_equal(resolve(true), ERR_INPUT);
    assert_string_equal(err.where, "/record");
}

static int make_models(void **state)
{
    (void)state;
    tiny_models(dir);
    return models_open(&m, dir, "", "", NULL);
}

static int remove_models(void **state)
{
    (void)state;
    models_close(&m);
    tiny_models_remove(dir);
    return 0;
}

TEST_GROUP(make_models, remove_models)
