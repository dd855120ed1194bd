/*
 * file_case.h - one file in a folder of its own, for tests of what reads and writes files
 */
#ifndef RECOND_TESTS_SUPPORT_FILE_CASE_H
#define RECOND_TESTS_SUPPORT_FILE_CASE_H

#include "tests/support/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char file_case_folder[128], file_case_path[160];

static inline void file_case_write(const void *data, size_t n)
{
    FILE *f = fopen(file_case_path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static inline size_t file_case_read(uint8_t *data, size_t cap)
{
    FILE *f = fopen(file_case_path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(data, 1, cap, f);
    fclose(f);
    return n;
}

/* Thousands of damaged files go to memory: file_case_path names it until the next test. */
static inline void file_case_in_memory(void)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(fd >= 0);
    unlink(file_case_path);
    snprintf(file_case_path, sizeof file_case_path, "/proc/self/fd/%d", fd);
}

static inline int file_case_count(void)
{
    DIR *d = opendir(file_case_folder);
    int n = 0;

    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

FIXTURE(file_case_open)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(file_case_folder, sizeof file_case_folder, "%s/recond-files.XXXXXX",
             tmp ? tmp : "/tmp");
    if (!mkdtemp(file_case_folder))
        return -1;
    snprintf(file_case_path, sizeof file_case_path, "%s/file", file_case_folder);
    return 0;
}

FIXTURE(file_case_close)
{
    unlink(file_case_path);
    return rmdir(file_case_folder);
}

#define FILE_TEST(name) TEST_WITH(name, file_case_open, file_case_close)

#endif
