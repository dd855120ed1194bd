#include "api/ctl/reconctl_boards.h"

#include "api/client/client_picture.h"
#include "api/ctl/reconctl.h"
#include "api/ctl/reconctl_mrgingham.h"
#include "proto/image/jpeg.h"
#include "proto/image/png.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (64u << 20)
#define SIDE_MAX 16384

struct boards_work { /* State while pictures are searched. */
    struct reconctl_boards *b;
    const char *folder[2];
    struct file_content file;
    double at[CALIBRATE_GRID_MAX * CALIBRATE_GRID_MAX][2];
    int grid;
    double square_m;
};

/* ------------------------------------------------------------------------- names */

static int is_picture(const struct dirent *entry)
{
    return client_picture_is(entry->d_name, false) || client_picture_is(entry->d_name, true);
}

/* Inserts a name in order, once. */
static int add_name(struct reconctl_boards *b, const char *name, struct err *err)
{
    int at = b->n_names;

    while (at > 0 && strverscmp(b->names[at - 1], name) > 0)
        at--;
    if (at > 0 && strcmp(b->names[at - 1], name) == 0)
        return 0;
    if (b->n_names == CALIBRATE_PICTURES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d pictures: 30 that differ are enough",
                       CALIBRATE_PICTURES_MAX);
    memmove(&b->names[at + 1], &b->names[at], (size_t)(b->n_names++ - at) * sizeof *b->names);
    b->names[at] = strdup(name);
    return b->names[at] ? 0 : err_set(err, ERR_MEMORY, "no memory for names");
}

static int names_list(struct reconctl_boards *b, const char *folder, struct err *err)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_picture, versionsort), rc = 0;

    if (n < 0)
        return err_at(err, ERR_NOT_FOUND, folder, "%m");
    if (n == 0)
        rc = err_at(err, ERR_NOT_FOUND, folder, "holds no pictures (.jpg, .png)");
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = add_name(b, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* ------------------------------------------------------------------------- pictures */

/* Reads the size of a picture, which all pictures of the camera must have. */
static int boards_measure(struct boards_work *w, const char *path, int camera, struct err *err)
{
    static const struct jpeg_limits limits = {
        .max_width = SIDE_MAX, .max_height = SIDE_MAX, .max_scans = 500, .max_bytes = FILE_MAX};
    int *size = w->b->size_px[camera], width, height;
    struct jpeg_info info = {0};
    struct err why;
    int rc = file_load(&w->file, path, path, FILE_MAX, err);

    if (rc)
        return rc;
    if (client_picture_is(strrchr(path, '/') + 1, true)) {
        rc = png_probe(w->file.data, w->file.len, &width, &height, &why);
    } else {
        rc = jpeg_probe(&info, w->file.data, w->file.len, &limits, &why);
        width = info.width;
        height = info.height;
    }
    if (rc)
        return err_at(err, rc, path, "%s", why.text);
    if (info.turn)
        return err_at(err, ERR_INPUT, path,
                      "is to be shown turned, as its Exif says: take that away from all pictures");
    if (width > SIDE_MAX || height > SIDE_MAX)
        return err_at(err, ERR_LIMIT, path, "is larger than %d pixels", SIDE_MAX);
    if (size[0] && (size[0] != width || size[1] != height))
        return err_at(err, ERR_INPUT, path,
                      "is %d x %d, pictures of this camera before it are %d x %d", width, height,
                      size[0], size[1]);
    size[0] = width;
    size[1] = height;
    return 0;
}

static int boards_keep(struct boards_work *w, int picture, int camera, struct err *err)
{
    struct reconctl_boards *b = w->b;

    if (b->n + (size_t)(w->grid * w->grid) > CALIBRATE_CORNERS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d corners: fewer pictures will do",
                       CALIBRATE_CORNERS_MAX);
    for (int i = 0; i < w->grid * w->grid; i++)
        b->corners[b->n++] = (struct calibrate_corner){.picture = picture,
                                                       .camera = camera,
                                                       .x_m = i % w->grid * w->square_m,
                                                       .y_m = i / w->grid * w->square_m,
                                                       .u = w->at[i][0],
                                                       .v = w->at[i][1]};
    return 0;
}

static int boards_search(struct boards_work *w, int picture, int camera, struct err *err)
{
    char path[PATH_MAX], shown[RECONCTL_SHOWN];
    int rc;

    if (snprintf(path, sizeof path, "%s/%s", w->folder[camera], w->b->names[picture]) >=
        (int)sizeof path)
        return err_at(err, ERR_LIMIT, w->folder[camera], "is too long a path");
    if (access(path, F_OK) != 0) /* the picture exists for the other camera only */
        return 0;
    rc = boards_measure(w, path, camera, err);
    if (rc == 0)
        rc = reconctl_mrgingham_find(w->at, w->grid, path, err);
    if (rc == 0)
        return boards_keep(w, picture, camera, err);
    if (rc != ERR_NOT_FOUND)
        return rc;
    w->b->no_board[camera][picture] = true;
    fprintf(stderr, "reconctl: %s: no board of %d x %d corners is found in it, it is passed over\n",
            reconctl_shown(shown, path, RECONCTL_SHOWN - 1), w->grid, w->grid);
    return 0;
}

int reconctl_boards_find(struct reconctl_boards *b, const char *folder, const char *second,
                         int grid, double square_m, struct err *err)
{
    struct boards_work *w = calloc(1, sizeof *w);
    char beside[PATH_MAX];
    int rc;

    b->corners = malloc(CALIBRATE_CORNERS_MAX * sizeof *b->corners);
    if (!w || !b->corners) {
        rc = err_set(err, ERR_MEMORY, "no memory for corners");
        goto out;
    }
    snprintf(beside, sizeof beside, "%s/second", folder);
    if (!second && access(beside, F_OK) == 0)
        second = beside;
    *w = (struct boards_work){
        .b = b, .folder = {folder, second}, .grid = grid, .square_m = square_m};
    b->n_cameras = second ? 2 : 1;
    rc = names_list(b, folder, err);
    if (rc == 0 && second)
        rc = names_list(b, second, err);
    for (int i = 0; rc == 0 && i < b->n_names * b->n_cameras; i++)
        rc = reconctl_stopped() ? err_set(err, ERR_STATE, "interrupted")
                                : boards_search(w, i / b->n_cameras, i % b->n_cameras, err);
out:
    if (w)
        free(w->file.data);
    free(w);
    return rc;
}

void reconctl_boards_free(struct reconctl_boards *b)
{
    for (int i = 0; i < b->n_names; i++)
        free(b->names[i]);
    free(b->corners);
    *b = (struct reconctl_boards){0};
}
