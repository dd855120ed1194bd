/* Whole files, whole buffers: short reads and writes of a pipe, limits, memory that is kept. */
#include "api/file.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE (1u << 20)

struct writer {
    int fd, rc;
    uint8_t *data;
};

static void *write_it(void *arg)
{
    struct writer *w = arg;

    w->rc = file_write(w->fd, w->data, LARGE);
    close(w->fd);
    return NULL;
}

/* A pipe holds 64 KiB, so that both ends need many calls. */
TEST(a_pipe_takes_many_calls)
{
    uint8_t *sent = malloc(LARGE), *got = malloc(LARGE + 1);
    struct writer w = {.data = sent};
    pthread_t thread;
    size_t len = 0;
    int ends[2];

    for (size_t i = 0; i < LARGE; i++)
        sent[i] = (uint8_t)(i * 2654435761u >> 13);
    assert_int_equal(pipe(ends), 0);
    w.fd = ends[1];
    assert_int_equal(pthread_create(&thread, NULL, write_it, &w), 0);
    assert_int_equal(file_read(ends[0], got, LARGE + 1, &len), 0);
    pthread_join(thread, NULL);
    assert_int_equal(w.rc, 0);
    assert_int_equal(len, LARGE);
    assert_memory_equal(sent, got, LARGE);
    close(ends[0]);
    free(sent);
    free(got);
}

TEST(refusals)
{
    size_t len = 7;
    char byte;

    assert_int_equal(file_read(-1, &byte, 1, &len), ERR_IO);
    assert_int_equal(len, 0);
    assert_int_equal(file_write(-1, "x", 1), ERR_IO);
}

TEST(loading_keeps_memory)
{
    struct file_content c = {0};
    char path[] = "/tmp/client_file_XXXXXX";
    int fd = mkstemp(path);
    struct err err = {0};
    uint8_t *was;

    assert_true(fd >= 0);
    assert_int_equal(file_load(&c, path, "it", 10, &err), 0);
    assert_int_equal(c.len, 0);
    assert_int_equal(c.data[0], 0);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(file_write(fd, "0123456789", 10), 0);
    assert_int_equal(file_load(&c, path, "it", 1000000, &err), 0);
    assert_int_equal(c.len, 1000000);
    assert_int_equal(strlen((const char *)c.data), 1000000);
    was = c.data;
    assert_int_equal(file_load(&c, path, "it", 1000000, &err), 0);
    assert_ptr_equal(c.data, was);
    assert_int_equal(file_load(&c, path, "it", 999999, &err), ERR_LIMIT);
    assert_string_equal(err.where, "it");
    assert_string_equal(err.text, "is larger than 999999 bytes");
    close(fd);
    unlink(path);
    assert_int_equal(file_load(&c, path, "it", 10, &err), ERR_NOT_FOUND);
    assert_int_equal(file_load(&c, "/tmp", "it", 10, &err), ERR_INPUT);
    free(c.data);
}
