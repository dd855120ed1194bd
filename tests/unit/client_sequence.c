/* Folders of pictures: what is read, and the place of what is wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/client/client_sequence.h"
#include "proto/image/jpeg.h"
#include "proto/image/png.h"
#include "tests/support/unit.h"

static char folder[64];

static void put(const char *rest, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, rest);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

FIXTURE(set_up)
{
    char path[96];

    strcpy(folder, "/tmp/recond-sequence-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/frames", folder);
    if (mkdir(path, 0700))
        return -1;
    put("sequence.json",
        "{\"name\":\"x\",\"width\":64,\"height\":48,\"fx\":50.5,\"fy\":51,\"cx\":31,"
        "\"cy\":23.5,\"fps\":12.5,\"depth_unit_m\":0.001}");
    put("frames/000002.jpg", "two");
    put("frames/000000.jpg", "zero");
    put("frames/000010.jpg", "ten");
    put("frames/notes.txt", "no picture");
    put("poses.txt", "# frame tx ty tz qx qy qz qw\n"
                     "000010 1 2 3 0 0 0 2\n\n"
                     "000000 -1 0 0.5 0 0 0.70710678 0.70710678\n");
    return 0;
}

FIXTURE(tear_down)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

TEST_WITH(a_folder_is_read, set_up, tear_down)
{
    struct client_sequence *s;
    struct client_sequence_info info;
    struct frame f = {.T_wc = rigid_identity()};
    struct err err = {0};

    assert_int_equal(client_sequence_open(&s, folder, NULL, &err), 0);
    client_sequence_get_info(s, &info);
    assert_int_equal(info.n_frames, 3);
    assert_int_equal(info.n_poses, 2);
    assert_int_equal(info.width, 64);
    assert_int_equal(info.height, 48);
    assert_true(info.has_camera);
    assert_true(info.K.fx == 50.5f && info.K.fy == 51 && info.K.cx == 31 && info.K.cy == 23.5f);
    assert_true(info.fps == 12.5);

    assert_int_equal(client_sequence_read(s, 0, &f, &err), 0);
    assert_int_equal(f.payload_len, 4);
    assert_memory_equal(f.payload, "zero", 4);
    assert_int_equal(f.flags, FRAME_HAS_POSE | FRAME_TRACKING_NORMAL << 2);
    assert_true(f.T_wc.t[0] == -1 && f.T_wc.t[2] == 0.5f);
    /* 90 degrees about z: x goes to y */
    assert_true(fabsf(f.T_wc.r[0]) < 1e-6f && fabsf(f.T_wc.r[3] - 1) < 1e-6f);
    assert_true(fabsf(f.T_wc.r[1] + 1) < 1e-6f && f.T_wc.r[8] == 1);

    assert_int_equal(client_sequence_read(s, 1, &f, &err), 0);
    assert_memory_equal(f.payload, "two", 3);
    assert_int_equal(f.flags, 0); /* it has no pose */

    assert_int_equal(client_sequence_read(s, 2, &f, &err), 0);
    assert_memory_equal(f.payload, "ten", 3);
    assert_true(f.T_wc.r[0] == 1 && f.T_wc.t[1] == 2); /* the quaternion was normalised */
    client_sequence_close(&s);
    assert_null(s);

    assert_int_equal(client_sequence_open(&s, folder, "none", &err), 0);
    client_sequence_get_info(s, &info);
    assert_int_equal(info.n_poses, 0);
    client_sequence_close(&s);
}

/* Up is the axis nearest to the cameras' up, if one is near. */
TEST_WITH(poses_say_what_is_up, set_up, tear_down)
{
    static const struct {
        const char *poses, *up;
    } cases[] = {
        {"0 0 0 0 0 0 0 1\n", "-y"},                    /* the world is the camera's */
        {"0 0 0 0 1 0 0 0\n1 0 0 0 1 0 0 0.1\n", "+y"}, /* turned over about x */
        {"0 0 0 0 -0.6 0 0 0.8\n", "+z"},               /* 74 degrees about x */
        {"0 0 0 0 0.6 0 0 0.8\n", "-z"},
        {"0 0 0 0 0 0 0.7 0.7\n", "+x"},
        {"0 0 0 0 0 0 0 1\n1 0 0 0 1 0 0 0\n", ""}, /* they cancel out */
        {"# none\n", ""},
    };
    struct client_sequence *s;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("poses.txt", cases[i].poses);
        assert_int_equal(client_sequence_open(&s, folder, NULL, NULL), 0);
        assert_string_equal(client_sequence_up(s), cases[i].up);
        client_sequence_close(&s);
    }
    put("sequence.json", "{\"up\": \"+x\"}"); /* cameras may lie on their sides */
    put("poses.txt", cases[0].poses);
    assert_int_equal(client_sequence_open(&s, folder, NULL, NULL), 0);
    assert_string_equal(client_sequence_up(s), "+x");
    client_sequence_close(&s);
}

static void refuse(const char *poses, int code, const char *where)
{
    struct client_sequence *s;
    struct err err = {0};

    assert_int_equal(client_sequence_open(&s, folder, poses, &err), code);
    assert_null(s);
    if (where && !strstr(err.where, where))
        fail_msg("error at '%s', expected at '%s': %s", err.where, where, err.text);
    assert_true(err.text[0] != '\0');
}

TEST_WITH(what_is_wrong_is_named, set_up, tear_down)
{
    char path[96];

    put("poses.txt", "000000 0 0 0 0 0 0 1\n000001 0 0 zero 0 0 0 1\n");
    refuse(NULL, ERR_INPUT, "poses.txt:2");
    put("poses.txt", "000000 0 0 0 0 0 0 1 9\n");
    refuse(NULL, ERR_INPUT, "poses.txt:1");
    put("poses.txt", "000000 0 0 nan 0 0 0 1\n");
    refuse(NULL, ERR_INPUT, "poses.txt:1");
    put("poses.txt", "\n000000 0 0 0 0 0 0 0\n");
    refuse(NULL, ERR_INPUT, "poses.txt:2");
    put("poses.txt", "first 0 0 0 0 0 0 1\n");
    refuse(NULL, ERR_INPUT, "poses.txt:1");
    refuse("/nonexistent/poses", ERR_NOT_FOUND, "/nonexistent/poses");
    put("sequence.json", "{\"fx\":-5}");
    refuse("none", ERR_INPUT, "/fx");
    put("sequence.json", "[1]");
    refuse("none", ERR_INPUT, "sequence.json");
    snprintf(path, sizeof path, "rm %s/frames/*.jpg", folder);
    assert_int_equal(system(path), 0);
    refuse("none", ERR_NOT_FOUND, folder);
    snprintf(path, sizeof path, "rm -r %s/frames", folder);
    assert_int_equal(system(path), 0);
    refuse("none", ERR_NOT_FOUND, folder);
}

TEST_WITH(an_empty_picture_is_an_error, set_up, tear_down)
{
    struct client_sequence *s;
    struct frame f = {0};
    struct err err = {0};

    put("frames/000000.jpg", "");
    assert_int_equal(client_sequence_open(&s, folder, NULL, &err), 0);
    assert_int_equal(client_sequence_read(s, 0, &f, &err), ERR_INPUT);
    assert_string_equal(err.where, "frames/000000.jpg");
    assert_int_equal(client_sequence_read(s, 1, &f, &err), 0);
    client_sequence_close(&s);
}

/* Names of all kinds, in the order that people give them; a number in them is a pose's. */
TEST_WITH(other_names_and_places, set_up, tear_down)
{
    static const char *const names[] = {"IMG_9.jpg", "IMG_10.JPEG", "IMG_100.jpg"};
    struct client_sequence *s;
    struct client_sequence_info info;
    struct frame f = {0};
    char path[192], name[81];

    snprintf(path, sizeof path, "rm -r %s/frames; mkdir %s/images", folder, folder);
    assert_int_equal(system(path), 0);
    put("poses.txt", "10 1 2 3 0 0 0 1\n");
    put("cover.png", "not looked at");
    for (int where = 0; where < 2; where++) {
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "%s%s", where ? "images/" : "", names[i]);
            put(path, where ? "in images" : "here");
        }
        put(where ? "images/.IMG_1.jpg" : ".IMG_1.jpg", "what a Mac leaves");
        assert_int_equal(client_sequence_open(&s, folder, NULL, NULL), 0);
        client_sequence_get_info(s, &info);
        assert_int_equal(info.n_frames, 3);
        client_sequence_name(s, 0, name);
        assert_string_equal(name, "IMG_9");
        assert_int_equal(client_sequence_read(s, 1, &f, NULL), 0);
        assert_int_equal(f.payload_len, where ? 9 : 4);
        assert_true(f.flags & FRAME_HAS_POSE && f.T_wc.t[1] == 2);
        assert_int_equal(client_sequence_read(s, 2, &f, NULL), 0);
        assert_false(f.flags & FRAME_HAS_POSE);
        client_sequence_close(&s);
    }
}

/* Decodes a picture of a sequence; returns its first pixel's red. */
static int red_of(const struct frame *f, int *w, int *h)
{
    static const struct jpeg_limits limits = {4096, 4096, 10, 8u << 20, 10000};
    struct jpeg_decoder *d;
    struct jpeg_info info;
    uint8_t *rgb;
    int red;

    assert_int_equal(jpeg_probe(&info, f->payload, f->payload_len, &limits, NULL), 0);
    assert_int_equal(jpeg_decoder_new(&d, NULL), 0);
    rgb = malloc((size_t)info.width * (size_t)info.height * 3);
    assert_int_equal(
        jpeg_decode(d, rgb, info.width, info.height, f->payload, f->payload_len, &limits, NULL), 0);
    red = rgb[0];
    *w = info.width;
    *h = info.height;
    free(rgb);
    jpeg_decoder_free(&d);
    return red;
}

TEST_WITH(pictures_become_what_servers_take, set_up, tear_down)
{
    uint8_t *rgb = malloc(2600 * 2000 * 3), *data;
    struct client_sequence *s;
    struct frame f = {0};
    struct err err = {0};
    char path[128];
    size_t len;
    FILE *out;
    int w, h;

    snprintf(path, sizeof path, "rm %s/frames/*", folder);
    assert_int_equal(system(path), 0);
    memset(rgb, 200, 64 * 48 * 3);
    snprintf(path, sizeof path, "%s/frames/a1.png", folder);
    assert_int_equal(png_write_file(path, rgb, 64, 48, NULL), 0);
    put("frames/a2.png", "no PNG");
    assert_int_equal(client_sequence_open(&s, folder, NULL, &err), 0);
    assert_int_equal(client_sequence_read(s, 0, &f, &err), 0);
    assert_in_range(red_of(&f, &w, &h), 197, 203);
    assert_int_equal(w, 64);
    assert_int_equal(h, 48);
    assert_int_equal(client_sequence_read(s, 1, &f, &err), ERR_INPUT);
    assert_string_equal(err.where, "frames/a2.png");
    client_sequence_close(&s);

    for (uint32_t i = 0; i < 2600 * 2000 * 3; i++)
        rgb[i] = (uint8_t)(160 + (i * 2654435761u >> 26)); /* noise, which makes it large */
    assert_int_equal(jpeg_encode(&data, &len, rgb, 2600, 2000, 95, NULL), 0);
    assert_true(len > 2u << 20);
    snprintf(path, sizeof path, "%s/frames/a1.jpg", folder);
    out = fopen(path, "w");
    assert_int_equal(fwrite(data, 1, len, out), len);
    assert_int_equal(fclose(out), 0);
    free(data);
    free(rgb);
    assert_int_equal(client_sequence_open(&s, folder, NULL, &err), 0);
    assert_int_equal(client_sequence_read(s, 0, &f, &err), 0);
    assert_true(f.payload_len < 2u << 20);
    assert_in_range(red_of(&f, &w, &h), 160, 224);
    assert_int_equal(w, 1300);
    assert_int_equal(h, 1000);
    client_sequence_close(&s);
}

/* A PNG of 2 x 1 with 1000 and 65535 in it; the unit is that of sequence.json. */
TEST_WITH(true_depth_is_metres, set_up, tear_down)
{
    static const uint16_t gray[2] = {1000, 65535};
    struct client_sequence *s;
    struct err err = {0};
    char path[128], name[81];
    uint8_t *png;
    float *depth;
    size_t len;
    FILE *f;
    int w, h;

    snprintf(path, sizeof path, "%s/depth", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/depth/000002.png", folder);
    assert_int_equal(png_encode_gray16(&png, &len, gray, 2, 1, NULL), 0);
    f = fopen(path, "wb");
    assert_int_equal(fwrite(png, 1, len, f), len);
    fclose(f);
    free(png);
    put("depth/000010.png", "no PNG");
    assert_int_equal(client_sequence_open(&s, folder, NULL, NULL), 0);
    client_sequence_name(s, 1, name);
    assert_string_equal(name, "000002");
    assert_int_equal(client_sequence_depth(s, 0, &depth, &w, &h, &err), ERR_NOT_FOUND);
    assert_int_equal(client_sequence_depth(s, 1, &depth, &w, &h, &err), 0);
    assert_true(w == 2 && h == 1 && depth[0] == 1000 * 0.001f && depth[1] == 65535 * 0.001f);
    free(depth);
    assert_int_equal(client_sequence_depth(s, 2, &depth, &w, &h, &err), ERR_INPUT);
    assert_string_equal(err.where, "depth/000010.png");
    assert_null(depth);
    client_sequence_close(&s);
    put("sequence.json", "{\"width\":64,\"height\":48}");
    assert_int_equal(client_sequence_open(&s, folder, NULL, NULL), 0);
    assert_int_equal(client_sequence_depth(s, 1, &depth, &w, &h, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "depth_unit_m"));
    client_sequence_close(&s);
}

/* Opens the folder with this description; what it says of the camera, or what is wrong with it. */
static int describe(struct client_sequence_info *info, const char *text, struct err *err)
{
    struct client_sequence *s;
    int rc;

    put("sequence.json", text);
    *err = (struct err){0};
    rc = client_sequence_open(&s, folder, NULL, err);
    if (rc == 0)
        client_sequence_get_info(s, info);
    client_sequence_close(&s);
    return rc;
}

#define SIZE "{\"width\":640,\"height\":480,"
#define CAMERA "\"fx\":500,\"fy\":501,\"cx\":320,\"cy\":240,"

TEST_WITH(models_of_cameras_are_read, set_up, tear_down)
{
    struct client_sequence_info info;
    struct err err;

    assert_int_equal(describe(&info,
                              SIZE CAMERA "\"model\":\"radial-tangential\","
                                          "\"distortion\":[-0.25,0.0625,0.001,0,0]}",
                              &err),
                     0);
    assert_int_equal(info.lens.model, LENS_RADIAL);
    assert_true(info.lens.k[0] == -0.25f && info.lens.k[1] == 0.0625f && info.K.fy == 501);
    assert_int_equal(
        describe(&info, SIZE CAMERA "\"model\":\"fisheye\",\"distortion\":[0.1,0,0,0]}", &err), 0);
    assert_int_equal(info.lens.model, LENS_FISHEYE);
    assert_int_equal(describe(&info, "{\"width\":640,\"height\":320,\"model\":\"sphere\"}", &err),
                     0);
    assert_true(info.has_camera && info.lens.model == LENS_SPHERE);
    assert_int_equal(describe(&info, SIZE CAMERA "\"model\":\"pinhole\"}", &err), 0);
    assert_int_equal(info.lens.model, LENS_PINHOLE);
    assert_int_equal(describe(&info, SIZE "\"model\":\"sphere\"}", &err), ERR_INPUT);
    assert_string_equal(err.where, "/model");
    assert_int_equal(
        describe(&info, SIZE CAMERA "\"model\":\"fisheye\",\"distortion\":[0.1,0,0]}", &err),
        ERR_INPUT);
    assert_string_equal(err.where, "/distortion");
    assert_int_equal(describe(&info, SIZE CAMERA "\"model\":\"fisheye\"}", &err), ERR_INPUT);
    assert_int_equal(
        describe(&info, SIZE "\"model\":\"fisheye\",\"distortion\":[0.1,0,0,0]}", &err), ERR_INPUT);
    assert_int_equal(
        describe(&info, "{" CAMERA "\"model\":\"fisheye\",\"distortion\":[0.1,0,0,0]}", &err),
        ERR_INPUT);
    assert_int_equal(describe(&info,
                              SIZE CAMERA "\"model\":\"radial-tangential\","
                                          "\"distortion\":[-0.9,0,0,0,0]}",
                              &err),
                     ERR_INPUT);
    assert_non_null(strstr(err.text, "folds"));
}
