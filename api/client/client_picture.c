#include "api/client/client_picture.h"

#include "proto/image/jpeg.h"
#include "proto/image/png.h"
#include "proto/wire/frame.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILE_MAX (64u << 20)
#define SENT_MAX ((2u << 20) - FRAME_HEAD_BYTES) /* default of limits.max_frame_bytes */
#define SMALL_W 1280
#define SMALL_H 960
#define DECODE_MS 60000

bool client_picture_is(const char *name, bool png)
{
    const char *dot = name[0] == '.' ? NULL : strrchr(name, '.');

    if (!dot)
        return false;
    return png ? strcasecmp(dot, ".png") == 0
               : strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0;
}

static int picture_encode(struct file_content *jpeg, const uint8_t *rgb, int w, int h, int quality,
                          struct err *err)
{
    uint8_t *data;
    size_t len;
    int rc = jpeg_encode(&data, &len, rgb, w, h, quality, err);

    if (rc)
        return rc;
    free(jpeg->data);
    jpeg->data = data;
    jpeg->len = jpeg->cap = len;
    return 0;
}

static int load_png(struct file_content *jpeg, const char *path, int quality, struct err *err)
{
    uint8_t *rgb;
    int w, h, rc = png_read_rgb(path, &rgb, &w, &h, FRAME_SIDE_MAX, err);

    if (rc == 0)
        rc = picture_encode(jpeg, rgb, w, h, quality, err);
    free(rgb);
    return rc;
}

/* Encodes the JPEG `data` again at the smallest size that covers min_w x min_h; `jpeg` may hold
 * it. */
static int recode(struct file_content *jpeg, const uint8_t *data, size_t len, int min_w, int min_h,
                  int quality, struct err *err)
{
    static const struct jpeg_limits limits = {.max_width = 65500,
                                              .max_height = 65500,
                                              .max_scans = 500,
                                              .max_bytes = FILE_MAX,
                                              .deadline_ms = DECODE_MS};
    struct jpeg_decoder *decoder = NULL;
    struct jpeg_info info;
    uint8_t *rgb = NULL;
    int w, h, rc = jpeg_probe(&info, data, len, &limits, err);

    if (rc)
        return rc;
    jpeg_scaled_size(&info, min_w, min_h, &w, &h);
    rgb = malloc(3 * (size_t)w * (size_t)h);
    rc = rgb ? jpeg_decoder_new(&decoder, err) : err_set(err, ERR_MEMORY, "no memory");
    if (rc == 0)
        rc = jpeg_decode(decoder, rgb, w, h, data, len, &limits, err);
    if (rc == 0)
        rc = picture_encode(jpeg, rgb, w, h, quality, err);
    jpeg_decoder_free(&decoder);
    free(rgb);
    return rc;
}

int client_picture_lower(struct file_content *jpeg, const uint8_t *data, size_t len, int quality,
                         struct err *err)
{
    int rc = recode(jpeg, data, len, FRAME_SIDE_MAX, FRAME_SIDE_MAX, quality, err);

    if (rc == 0 && jpeg->len >= len)
        rc = err_set(err, ERR_LIMIT, "a picture of %zu bytes does not become smaller", len);
    return rc;
}

int client_picture_load(struct file_content *jpeg, const char *path, const char *name, int quality,
                        struct err *err)
{
    struct err why = {0};
    int rc;

    if (client_picture_is(name, true)) {
        rc = load_png(jpeg, path, quality, &why);
        if (rc)
            return err_at(err, rc, name, "%s", why.text);
    } else {
        rc = file_load(jpeg, path, name, FILE_MAX, err);
        if (rc)
            return rc;
    }
    if (jpeg->len == 0)
        return err_at(err, ERR_INPUT, name, "is empty");
    if (jpeg->len > SENT_MAX &&
        recode(jpeg, jpeg->data, jpeg->len, SMALL_W, SMALL_H, quality, &why))
        return err_at(err, ERR_LIMIT, name,
                      "is too large to be sent and cannot be made smaller here (%.80s): ffmpeg -i "
                      "IN -vf scale=1920:-2 OUT does",
                      why.text);
    return 0;
}
