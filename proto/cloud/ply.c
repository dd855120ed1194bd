#include "proto/cloud/ply.h"

#include "proto/bytes.h"

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

int ply_header(char *buf, uint64_t n_points, const struct ply_frame *frame, uint64_t hash)
{
    return snprintf(buf, PLY_HEADER_MAX,
                    "ply\nformat binary_little_endian 1.0\n"
                    "comment recond step %.9g m\n" HASH_COMMENT "%016" PRIx64 "\n"
                    "comment recond frame: the world of the session's poses, right-handed, metres\n"
                    "%s%s%s"
                    "element vertex %" PRIu64 "\n"
                    "property float x\nproperty float y\nproperty float z\n"
                    "property uchar red\nproperty uchar green\nproperty uchar blue\n"
                    "property uchar confidence\nend_header\n",
                    (double)frame->step_m, hash, *frame->up ? UP_COMMENT : "", frame->up,
                    *frame->up ? "\n" : "", n_points);
}

void ply_points(uint8_t *out, const struct cloud_block *block, uint32_t first, uint32_t n,
                float step_m)
{
    struct bytes_writer w = bytes_writer(out, (size_t)n * PLY_POINT_BYTES);

    for (uint32_t i = first; i < first + n; i++) {
        int32_t p[3];

        key_position(block->name, block->keys[i], p);
        for (int k = 0; k < 3; k++)
            bytes_put_f32(&w, (float)((double)p[k] * (double)step_m));
        bytes_put_u8(&w, (uint8_t)(block->keys[i] >> 24));
        bytes_put_u8(&w, (uint8_t)(block->keys[i] >> 16));
        bytes_put_u8(&w, (uint8_t)(block->keys[i] >> 8));
        bytes_put_u8(&w, (uint8_t)block->keys[i]);
    }
}

static int write_all(FILE *f, const struct cloud *c, const struct ply_frame *frame, uint8_t *chunk)
{
    char header[PLY_HEADER_MAX];
    int n = ply_header(header, cloud_points(c), frame, cloud_hash(c));

    if (fwrite(header, 1, (size_t)n, f) != (size_t)n)
        return -1;
    for (uint32_t i = 0; i < cloud_blocks(c); i++) {
        struct cloud_block b = cloud_block(c, i);

        for (uint32_t at = 0; at < b.n;) {
            uint32_t m = b.n - at < CHUNK ? b.n - at : CHUNK;

            ply_points(chunk, &b, at, m, frame->step_m);
            if (fwrite(chunk, PLY_POINT_BYTES, m, f) != m)
                return -1;
            at += m;
        }
    }
    return 0;
}

/* Make the rename itself durable; a file system that cannot is not an error of the file. */
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
                   struct err *err)
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
    if (!f || write_all(f, c, frame, chunk) || fflush(f) || fchmod(fd, 0644) || fsync(fd) ||
        rename(beside, path)) {
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
