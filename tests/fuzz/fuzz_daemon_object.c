/*
 * fuzz_daemon_object - the file of an object, of a stranger
 *
 * The bytes are read as they are, and once more with the head that they should have, so that what
 * lies behind the checksum is reached. What is taken is packed as the same object again.
 */
#include "daemon/objects_file.h"
#include "proto/bytes.h"
#include "proto/crc32c.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void one(const uint8_t *data, size_t size)
{
    struct enrolled e = {0}, again = {0};
    struct err err = {0};
    uint8_t *bytes;
    size_t n;

    if (objects_file_unpack(&e, data, size, &err)) {
        check(err.text[0] != 0 && e.object.tensor == NULL);
        return;
    }
    n = (size_t)objects_file_bytes(&e);
    bytes = malloc(n);
    check(bytes != NULL);
    objects_file_pack(bytes, &e);
    check(objects_file_unpack(&again, bytes, n, &err) == 0);
    check(strcmp(again.owner, e.owner) == 0 && strcmp(again.class_name, e.class_name) == 0);
    check(again.object.n_tensors == e.object.n_tensors);
    object_free(&again.object);
    object_free(&e.object);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *own = malloc(size + 1);
    struct bytes_writer w;

    check(own != NULL);
    one(data, size);
    if (size >= HEAD_BYTES) {
        memcpy(own, data, size);
        w = bytes_writer(own, HEAD_BYTES);
        bytes_put_u32(&w, OBJECTS_MAGIC);
        bytes_put_u32(&w, OBJECTS_VERSION);
        bytes_put_u32(&w, crc32c(0, own + HEAD_BYTES, size - HEAD_BYTES));
        bytes_put_u32(&w, 0);
        one(own, size);
    }
    free(own);
    return 0;
}
