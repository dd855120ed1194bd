#include "api/ctl/reconctl_maps.h"

#include "api/file.h"
#include "proto/geom/pose.h"
#include "proto/image/png.h"
#include "proto/json.h"
#include "proto/wire/depth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct reconctl_maps {
    struct depth_decoder *decoder;
    struct depth_map last;
    FILE *poses;
};

static int write_file(const char *path, const void *data, size_t len, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = fd < 0 ? ERR_IO : file_write(fd, data, len);

    if (fd >= 0 && close(fd))
        rc = ERR_IO;
    return rc ? err_at(err, ERR_FILE, path, "cannot be written: %m") : 0;
}

static int write_map(const char *folder, const struct depth_map *map, struct err *err)
{
    char path[4096];
    uint8_t *png;
    size_t len;
    int rc = png_encode_gray16(&png, &len, map->values, map->w, map->h, err);

    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s/%06llu.png", folder, (unsigned long long)map->seq);
    rc = write_file(path, png, len, err);
    free(png);
    return rc;
}

static int write_pose(struct reconctl_maps *m, const char *folder, struct err *err)
{
    const struct depth_map *map = &m->last;
    char path[4096];
    uint8_t bytes[POSE_BYTES];
    struct bytes_writer w = bytes_writer(bytes, sizeof bytes);
    struct bytes_reader r = bytes_reader(bytes, sizeof bytes);
    double q[4];

    if (!map->has_pose)
        return 0;
    snprintf(path, sizeof path, "%s/poses.txt", folder);
    if (!m->poses)
        m->poses = fopen(path, "we");
    pose_put(&w, &map->T_wc);
    for (int i = 0; i < 4; i++)
        q[i] = (double)bytes_get_f32(&r);
    if (!m->poses ||
        fprintf(m->poses, "%06llu %.7g %.7g %.7g %.7g %.7g %.7g %.7g\n",
                (unsigned long long)map->seq, (double)map->T_wc.t[0], (double)map->T_wc.t[1],
                (double)map->T_wc.t[2], q[0], q[1], q[2], q[3]) < 0)
        return err_at(err, ERR_FILE, path, "cannot be written: %m");
    return 0;
}

int reconctl_maps_check(const char *folder, struct err *err)
{
    char path[4096];

    if (mkdir(folder, 0777) && errno != EEXIST)
        return err_at(err, ERR_FILE, folder, "cannot be made: %m");
    snprintf(path, sizeof path, "%s/sequence.json", folder);
    return file_try(path, err);
}

static int maps_start(struct reconctl_maps **m, struct err *err)
{
    *m = calloc(1, sizeof **m);
    if (!*m)
        return err_set(err, ERR_MEMORY, "no memory for depth maps");
    return depth_decoder_new(&(*m)->decoder, err);
}

int reconctl_maps_take(struct reconctl_maps **m, const char *folder, const uint8_t *msg, size_t len,
                       struct err *err)
{
    int rc = *m ? 0 : maps_start(m, err);

    if (rc || msg[0] != DEPTH_OP)
        return rc;
    rc = depth_decode((*m)->decoder, &(*m)->last, msg, len, err);
    if (rc || !folder)
        return rc;
    rc = write_map(folder, &(*m)->last, err);
    return rc ? rc : write_pose(*m, folder, err);
}

static int write_sequence(const struct depth_map *map, const char *folder, struct err *err)
{
    char text[512], path[4096];
    struct json_writer w = json_writer(text, sizeof text);
    size_t len;

    json_open_map(&w, NULL);
    json_put_i64(&w, "width", map->w);
    json_put_i64(&w, "height", map->h);
    json_put_f32(&w, "fx", map->K.fx);
    json_put_f32(&w, "fy", map->K.fy);
    json_put_f32(&w, "cx", map->K.cx);
    json_put_f32(&w, "cy", map->K.cy);
    if (map->unit == DEPTH_MILLIMETRES) {
        json_put_f32(&w, "depth_unit_m", 0.001f);
    } else {
        json_put_text(&w, "depth_unit", "inverse");
        json_put_f32(&w, "inverse_unit", depth_value_m(DEPTH_INVERSE, 1));
    }
    json_close(&w);
    len = json_finish(&w);
    snprintf(path, sizeof path, "%s/sequence.json", folder);
    return write_file(path, text, len, err);
}

int reconctl_maps_end(struct reconctl_maps *m, const char *folder, struct err *err)
{
    FILE *poses;

    if (!m || !m->last.w)
        return err_set(err, ERR_STATE, "no depth map came");
    poses = m->poses;
    m->poses = NULL;
    if (poses && fclose(poses))
        return err_at(err, ERR_FILE, folder, "poses.txt cannot be written: %m");
    return write_sequence(&m->last, folder, err);
}

void reconctl_maps_free(struct reconctl_maps **m)
{
    if (!*m)
        return;
    if ((*m)->poses)
        fclose((*m)->poses);
    depth_decoder_free(&(*m)->decoder);
    free(*m);
    *m = NULL;
}
