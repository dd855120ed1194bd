/* fuzz_proto_depth - a depth map of a stranger: unpacked, and what was accepted survives a round
 * trip */
#include "proto/wire/depth.h"
#include "tests/support/fuzz_case.h"

/* Values are written again as the depths that they stand for. */
static void check_map(struct depth_decoder *decoder, const struct depth_map *map)
{
    size_t n = (size_t)map->w * (size_t)map->h, len = depth_message_bytes(map->w, map->h);
    uint16_t *values = malloc(n * sizeof *values);
    uint8_t *msg = malloc(len);
    float *z = malloc(n * sizeof *z);
    struct depth_map again;

    check(values && msg && z);
    memcpy(values, map->values, n * sizeof *values);
    for (size_t i = 0; i < n; i++)
        z[i] = depth_value_m(map->unit, values[i]);
    depth_encode(msg, map, z, 0, 1e9f);
    check(depth_decode(decoder, &again, msg, len, NULL) == 0);
    check(again.seq == map->seq && again.w == map->w && again.has_pose == map->has_pose);
    check(memcmp(again.values, values, n * sizeof *values) == 0);
    free(values);
    free(msg);
    free(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct depth_decoder *decoder;
    struct depth_map map;
    struct err err = {0};

    if (depth_decoder_new(&decoder, NULL))
        return 0;
    if (depth_decode(decoder, &map, data, size, &err) == 0)
        check_map(decoder, &map);
    else
        check(err.text[0] != 0);
    depth_decoder_free(&decoder);
    return 0;
}
