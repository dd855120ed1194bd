#include "api/ctl/reconctl_check.h"

#include "proto/crc32c.h"
#include "proto/image/jpeg.h"

#include <stdlib.h>

#define RUN 10
#define BLACK_MAX 32 /* of 255, at an eighth of the size, which removes noise */
#define DECODE_MS 50

static bool is_black(struct reconctl_check *l, const struct frame *f)
{
    static const struct jpeg_limits limits = {.max_width = FRAME_SIDE_MAX,
                                              .max_height = FRAME_SIDE_MAX,
                                              .max_scans = 100,
                                              .max_bytes = FRAME_PAYLOAD_MAX,
                                              .deadline_ms = DECODE_MS};
    struct jpeg_info info;
    uint8_t *rgb = NULL;
    bool black = false;
    int w, h;

    /* A picture with content takes more than 0.1 bytes a pixel. */
    if (jpeg_probe(&info, f->payload, f->payload_len, &limits, NULL) ||
        10.0 * f->payload_len > 1e4 + (double)info.width * info.height ||
        (!l->decoder && jpeg_decoder_new(&l->decoder, NULL)))
        return false;
    jpeg_scaled_size(&info, 1, 1, &w, &h);
    rgb = malloc(3 * (size_t)w * (size_t)h);
    if (rgb && jpeg_decode(l->decoder, rgb, w, h, f->payload, f->payload_len, &limits, NULL) == 0) {
        black = true;
        for (size_t i = 0; i < 3 * (size_t)w * (size_t)h; i++)
            black = black && rgb[i] <= BLACK_MAX;
    }
    free(rgb);
    return black;
}

static void run_count(struct reconctl_check_run *run, bool more)
{
    run->now = more ? run->now + 1 : 0;
    if (run->now > run->longest)
        run->longest = run->now;
}

void reconctl_check_picture(struct reconctl_check *l, const struct frame *f)
{
    uint32_t crc = crc32c(0, f->payload, f->payload_len);
    bool same = l->n && f->payload_len == l->len && crc == l->crc, black;

    black = same ? l->black.now > 0 : is_black(l, f);
    if (same && !black && l->same.now == 0)
        l->same.now = 1; /* the picture before belongs to the run */
    run_count(&l->black, black);
    run_count(&l->same, same && !black);
    l->crc = crc;
    l->len = f->payload_len;
    l->n++;
}

bool reconctl_check_tells(const struct reconctl_check *l, const struct reconctl_check_run *run)
{
    return run->longest >= RUN || (run->longest > 1 && run->longest == l->n);
}

void reconctl_check_end(struct reconctl_check *l)
{
    jpeg_decoder_free(&l->decoder);
}
