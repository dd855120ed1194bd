/*
 * reconctl_push_depth.c - a push of kind depth: maps become a folder of 16-bit PNG
 *
 *     NNNNNN.png     the map of frame NNNNNN, values as they came
 *     sequence.json  width height fx fy cx cy of the maps; depth_unit_m where a value times it is
 *                    metres, else depth_unit "inverse" and inverse_unit: metres = that / value
 */
#include "api/ctl/reconctl_push.h"

#include "api/file.h"
#include "proto/image/png.h"
#include "proto/wire/depth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct taken {
    struct depth_decoder *decoder;
    struct depth_map last;
};

static int write_file(const char *path, const void *data, size_t len, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = fd < 0 ? ERR_IO : file_write(fd, data, len);

    if (fd >= 0 && close(fd))
        rc = ERR_IO;
    return rc ? err_at(err, ERR_FILE, path, "cannot be written: %m") : 0;
}

static int write_map(const struct reconctl_push_options *o, const struct depth_map *map,
                     struct err *err)
{
    char path[4096];
    uint8_t *png;
    size_t len;
    int rc = png_encode_gray16(&png, &len, map->values, map->w, map->h, err);

    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s/%06llu.png", o->output, (unsigned long long)map->seq);
    rc = write_file(path, png, len, err);
    free(png);
    return rc;
}

/* Makes the folder for the maps. */
static int check(const char *folder, struct err *err)
{
    char path[4096];

    if (mkdir(folder, 0777) && errno != EEXIST)
        return err_at(err, ERR_FILE, folder, "cannot be made: %m");
    snprintf(path, sizeof path, "%s/sequence.json", folder);
    return file_try(path, err);
}

static int start(struct reconctl_push_job *j, struct err *err)
{
    struct taken *t = calloc(1, sizeof *t);

    j->taken = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for depth maps");
    return depth_decoder_new(&t->decoder, err);
}

static int take(struct reconctl_push_job *j, const uint8_t *msg, size_t len, struct err *err)
{
    struct taken *t;
    int rc = j->taken ? 0 : start(j, err);

    if (rc)
        return rc;
    t = j->taken;
    rc = depth_decode(t->decoder, &t->last, msg, len, err);
    if (rc == 0 && j->index == 0 && j->options->output)
        rc = write_map(j->options, &t->last, err);
    return rc;
}

static int write_sequence(struct reconctl_push_job *j, struct err *err)
{
    const struct taken *t = j->taken;
    char text[512], path[4096];
    struct json_writer w = json_writer(text, sizeof text);
    size_t len;

    if (!t)
        return err_set(err, ERR_STATE, "no depth map came");
    json_open_map(&w, NULL);
    json_put_i64(&w, "width", t->last.w);
    json_put_i64(&w, "height", t->last.h);
    json_put_f32(&w, "fx", t->last.K.fx);
    json_put_f32(&w, "fy", t->last.K.fy);
    json_put_f32(&w, "cx", t->last.K.cx);
    json_put_f32(&w, "cy", t->last.K.cy);
    if (t->last.unit == DEPTH_MILLIMETRES) {
        json_put_f32(&w, "depth_unit_m", 0.001f);
    } else {
        json_put_text(&w, "depth_unit", "inverse");
        json_put_f32(&w, "inverse_unit", depth_value_m(DEPTH_INVERSE, 1));
    }
    json_close(&w);
    len = json_finish(&w);
    snprintf(path, sizeof path, "%s/sequence.json", j->options->output);
    return write_file(path, text, len, err);
}

static void free_taken(struct reconctl_push_job *j)
{
    struct taken *t = j->taken;

    if (t)
        depth_decoder_free(&t->decoder);
    free(t);
    j->taken = NULL;
}

const struct reconctl_push_kind reconctl_push_depth = {.noun = "map",
                                                       .output = "maps",
                                                       .check = check,
                                                       .take = take,
                                                       .write = write_sequence,
                                                       .free = free_taken};
