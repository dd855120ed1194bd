/*
 * fuzz_proto_delta - block messages of a stranger, applied to a mirror
 *
 * Input:   messages in a row, each behind its length as u16
 * What a mirror holds stays sorted and hashed right, a refused message changes nothing, and an
 * accepted one that is encoded again gives the same content.
 */
#include "proto/cloud/cloud.h"
#include "proto/wire/delta.h"
#include "tests/support/fuzz_case.h"

#define MESSAGES_MAX 32

static void check_mirror(const struct cloud *c)
{
    uint64_t points = 0;

    for (uint32_t i = 0; i < cloud_blocks(c); i++) {
        struct cloud_block b = cloud_block(c, i);

        for (uint32_t k = 1; k < b.n; k++)
            check(b.keys[k - 1] <= b.keys[k]);
        points += b.n;
    }
    check(points == cloud_points(c));
    check(points || cloud_hash(c) == 0);
}

static void check_round_trip(const uint8_t *msg, size_t len)
{
    struct delta_scratch *in, *out;
    struct delta d, e;
    const uint8_t *again;

    check(delta_scratch_new(&in, NULL) == 0 && delta_scratch_new(&out, NULL) == 0);
    if (delta_decode(in, &d, msg, len, NULL) == 0 && (d.op == DELTA_PUT || d.op == DELTA_PATCH)) {
        check(delta_encode(out, &d, &again, &len, NULL) == 0);
        check(delta_decode(out, &e, again, len, NULL) == 0);
        check(e.n_added == d.n_added && e.n_removed == d.n_removed && e.revision == d.revision);
        for (uint32_t i = 0; i < d.n_added; i++)
            check(d.added[i] == e.added[i]);
        for (uint32_t i = 0; i < d.n_removed; i++)
            check(d.removed[i] == e.removed[i]);
    }
    delta_scratch_free(&in);
    delta_scratch_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cloud_limits limits = {.max_blocks = 8, .max_points = 1u << 16};
    struct cloud *c;
    struct err err;

    check(cloud_new(&c, &limits, NULL) == 0);
    for (int i = 0; i < MESSAGES_MAX && size >= 2; i++) {
        size_t len = (size_t)data[0] | (size_t)data[1] << 8;
        uint64_t hash = cloud_hash(c), points = cloud_points(c);
        uint32_t blocks = cloud_blocks(c);

        data += 2;
        size -= 2;
        if (len > size)
            len = size;
        if (cloud_apply(c, data, len, &err)) {
            check(hash == cloud_hash(c) && points == cloud_points(c) && blocks == cloud_blocks(c));
            check(err.text[0] != 0);
        } else {
            check_round_trip(data, len);
        }
        check_mirror(c);
        data += len;
        size -= len;
    }
    cloud_free(&c);
    return 0;
}
