#include "proto/cloud/ply.h"

#include "proto/geom/octa.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 4096u /* points written at once */
#define HASH_COMMENT "comment recond hash "
#define UP_COMMENT "comment recond up "
#define FRAME_WORLD "the world of the frames' poses, right-handed, metres"
#define FRAME_GUESSED "the first frame's camera (x right, y down, z forward), metres by guess"

int ply_header(char *buf, uint64_t n_points, const struct ply_frame *frame, uint64_t hash)
{
    return snprintf(buf, PLY_HEADER_MAX,
                    "ply\nformat binary_little_endian 1.0\n"
                    "comment recond step %.9g m\n" HASH_COMMENT "%016" PRIx64 "\n"
                    "comment recond frame: %s\n"
                    "%s%s%s"
                    "element vertex %" PRIu64 "\n"
                    "property float x\nproperty float y\nproperty float z\n"
                    "property float nx\nproperty float ny\nproperty float nz\n"
                    "property uchar red\nproperty uchar green\nproperty uchar blue\n"
                    "property uchar confidence\nend_header\n",
                    (double)frame->step_m, hash, frame->guessed ? FRAME_GUESSED : FRAME_WORLD,
                    *frame->up ? UP_COMMENT : "", frame->up, *frame->up ? "\n" : "", n_points);
}

/* Writes a point as three floats. They are the rounded products of step and grid unless the point
 * is moved. */
static struct vec3 place_point(const int32_t p[3], float step_m, const struct rigid *T)
{
    double step = (double)step_m;
    struct vec3 v = vec3_make((float)((double)p[0] * step), (float)((double)p[1] * step),
                              (float)((double)p[2] * step));

    return T ? rigid_apply(T, v) : v;
}

static struct vec3 ply_turn(struct vec3 normal, const struct rigid *T)
{
    struct rigid turned;

    if (!T)
        return normal;
    turned = *T;
    memset(turned.t, 0, sizeof turned.t);
    return rigid_apply(&turned, normal);
}

static void put_vec3(struct bytes_writer *w, struct vec3 v)
{
    bytes_put_f32(w, v.x);
    bytes_put_f32(w, v.y);
    bytes_put_f32(w, v.z);
}

void ply_points(uint8_t *out, const struct cloud_block *block, uint32_t first, uint32_t n,
                float step_m, const struct rigid *T)
{
    struct bytes_writer w = bytes_writer(out, (size_t)n * PLY_POINT_BYTES);

    for (uint32_t i = first; i < first + n; i++) {
        struct key_look look = key_look(block->keys[i]);
        int32_t p[3];

        key_position(block->name, block->keys[i], p);
        put_vec3(&w, place_point(p, step_m, T));
        put_vec3(&w, ply_turn(octa_decode(look.normal), T));
        for (int k = 0; k < 3; k++)
            bytes_put_u8(&w, look.rgb[k]);
        bytes_put_u8(&w, look.confidence);
    }
}

static int points_write(FILE *f, const struct cloud *c, const struct ply_frame *frame, bool unplaced,
                     uint8_t *chunk)
{
    char header[PLY_HEADER_MAX];
    int n = ply_header(header, cloud_points(c) - (unplaced ? 0 : cloud_unplaced(c)), frame,
                       cloud_hash(c));

    if (fwrite(header, 1, (size_t)n, f) != (size_t)n)
        return -1;
    for (uint32_t i = 0; i < cloud_blocks(c); i++) {
        struct cloud_block b = cloud_block(c, i);
        const struct rigid *T;

        if (!cloud_place(c, b.name.submap, &T) && !unplaced)
            continue;
        for (uint32_t at = 0; at < b.n;) {
            uint32_t m = b.n - at < CHUNK ? b.n - at : CHUNK;

            ply_points(chunk, &b, at, m, frame->step_m, T);
            if (fwrite(chunk, PLY_POINT_BYTES, m, f) != m)
                return -1;
            at += m;
        }
    }
    return 0;
}

/* Makes the rename itself durable. A file system that cannot sync a folder does not fail the
 * export. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(folder);
}

int ply_write_file(const char *path, const struct cloud *c, const struct ply_frame *frame,
                   bool unplaced, struct err *err)
{
    uint8_t *chunk = malloc((size_t)CHUNK * PLY_POINT_BYTES);
    char *beside = NULL;
    FILE *f = NULL;
    int rc = 0, fd = -1;

    if (!chunk || asprintf(&beside, "%s.XXXXXX", path) < 0) {
        beside = NULL;
        rc = err_set(err, ERR_MEMORY, "no memory to write %s", path);
        goto out;
    }
    fd = mkostemp(beside, O_CLOEXEC);
    f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f || points_write(f, c, frame, unplaced, chunk) || fflush(f) || fchmod(fd, 0644) ||
        fsync(fd) || rename(beside, path)) {
        rc = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            unlink(beside);
    } else {
        sync_folder(path);
    }
out:
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    free(beside);
    free(chunk);
    return rc;
}
