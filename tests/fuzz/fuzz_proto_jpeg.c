/* fuzz_proto_jpeg - a picture of a stranger: probed, and decoded at full size and at an eighth */
#include "proto/image/jpeg.h"
#include "tests/support/fuzz_case.h"

#define SIDE_MAX 512
#define GUARD 64

static const struct jpeg_limits limits = {SIDE_MAX, SIDE_MAX, 12, 1u << 16, 2000};

static void decode(struct jpeg_decoder *d, int w, int h, const uint8_t *data, size_t size)
{
    size_t n = (size_t)w * (size_t)h * 3;
    uint8_t *rgb = malloc(n + GUARD);
    struct err err = {0};
    int rc;

    check(rgb != NULL);
    memset(rgb, 0xa5, n + GUARD);
    rc = jpeg_decode(d, rgb, w, h, data, size, &limits, &err);
    check(rc == 0 || ((rc == ERR_INPUT || rc == ERR_LIMIT) && err.text[0]));
    for (size_t i = n; i < n + GUARD; i++)
        check(rgb[i] == 0xa5);
    free(rgb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct jpeg_decoder *d; /* one for all inputs: damage must not outlive its picture */
    struct jpeg_info info;
    int w, h;

    if (!d)
        check(jpeg_decoder_new(&d, NULL) == 0);
    if (jpeg_probe(&info, data, size, &limits, NULL))
        return 0;
    check(info.width >= 1 && info.width <= SIDE_MAX && info.height >= 1 && info.height <= SIDE_MAX);
    check(info.components == 1 || info.components == 3);
    decode(d, info.width, info.height, data, size);
    jpeg_scaled_size(&info, 1, 1, &w, &h);
    decode(d, w, h, data, size);
    return 0;
}
