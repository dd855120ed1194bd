/*
 * fuzz_proto_ply - a stranger's PLY file
 *
 * Any bytes. What is accepted holds no more points than the file has bytes for, and the same points
 * written as plain text are read as the same ones; what is refused leaves nothing and says why.
 */
#include "proto/cloud/ply.h"
#include "tests/support/fuzz_case.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file in memory, made once; path names it. */
static int file(char path[64])
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("ply", MFD_CLOEXEC);
    check(fd >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void fill(int fd, const void *data, size_t size)
{
    check(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    check(size == 0 || write(fd, data, size) == (ssize_t)size);
}

static void check_as_text(const struct ply_cloud *p, const char *path, int fd)
{
    struct ply_cloud again;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    check(out != NULL);
    fprintf(out,
            "ply\nformat ascii 1.0\nelement vertex %zu\nproperty uchar blue\n"
            "property float x\nproperty float y\nproperty float z\nproperty uchar green\n"
            "property uchar red\nend_header\n",
            p->n);
    for (size_t i = 0; i < p->n; i++)
        fprintf(out, "%d %.9g %.9g %.9g %d %d\n", p->rgb[3 * i + 2], (double)p->xyz[3 * i],
                (double)p->xyz[3 * i + 1], (double)p->xyz[3 * i + 2], p->rgb[3 * i + 1],
                p->rgb[3 * i]);
    check(fclose(out) == 0);
    fill(fd, text, len);
    free(text);
    check(ply_read_file(path, &again, NULL) == 0 && again.n == p->n && again.has_colour);
    check(memcmp(again.rgb, p->rgb, 3 * p->n) == 0);
    for (size_t i = 0; i < 3 * p->n; i++)
        check(again.xyz[i] == p->xyz[i] || (isnan(again.xyz[i]) && isnan(p->xyz[i])));
    ply_cloud_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct ply_cloud p;
    char path[64];
    int fd = file(path);

    fill(fd, data, size);
    if (ply_read_file(path, &p, &err)) {
        check(!p.xyz && !p.rgb && p.n == 0 && err.code != 0 && err.text[0] != 0);
        return 0;
    }
    check(p.n <= size / 3);
    check_as_text(&p, path, fd);
    ply_cloud_free(&p);
    return 0;
}
