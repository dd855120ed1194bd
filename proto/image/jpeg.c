/* The only file that sees jpeglib.h. */
#include "proto/image/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>
#include <jerror.h>

#define EIGHTHS 8     /* libjpeg-turbo's DCT scales by eighths; see jpeg_scaled_size() */
#define PIXEL_NS 2    /* cost of upsampling and colour conversion per pixel, see jpeg_probe.c */
#define CLOCK_CALLS 8 /* rows of blocks between two reads of the clock */

struct jpeg_decoder {
    struct jpeg_error_mgr
        errors; /* first member: the library's pointer to it is a pointer to the decoder */
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct in;
    jmp_buf failed;
    char text[JMSG_LENGTH_MAX];
    int code;            /* reason of the error that set `failed` */
    int64_t deadline_ns; /* limit of this thread's processor time */
    unsigned rows;       /* blocks walked in all scans */
    int max_scans;
    int has_in;
};

void jpeg_scaled_size(const struct jpeg_info *info, int min_w, int min_h, int *w, int *h)
{
    for (int k = 1; k <= EIGHTHS; k *= 2) {
        *w = (info->width * k + EIGHTHS - 1) / EIGHTHS;
        *h = (info->height * k + EIGHTHS - 1) / EIGHTHS;
        if (*w >= min_w && *h >= min_h)
            return;
    }
}

/* ------------------------------------------------------------------------- errors, time, bytes */

static int64_t now_ns(void)
{
    struct timespec t;

    /* The thread's own processor time, so that a picture is not charged for other threads. */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(j_common_ptr info)
{
    struct jpeg_decoder *d = (struct jpeg_decoder *)info->err;

    info->err->format_message(info, d->text);
    d->code = info->err->msg_code == JERR_OUT_OF_MEMORY ? ERR_MEMORY : ERR_INPUT;
    longjmp(d->failed, 1);
}

/* A warning reports damage that the library would hide, so the picture is refused. */
static void on_message(j_common_ptr info, int level)
{
    if (level < 0)
        fail(info);
}

static void on_output(j_common_ptr info)
{
    (void)info;
}

/* The library calls this for every row of blocks of every scan. */
static void on_progress(j_common_ptr info)
{
    struct jpeg_decoder *d = (struct jpeg_decoder *)info->err;

    if (((j_decompress_ptr)info)->input_scan_number > d->max_scans) {
        d->code = ERR_LIMIT;
        snprintf(d->text, sizeof d->text, "more than %d scans", d->max_scans);
        longjmp(d->failed, 1);
    }
    if (d->rows++ % CLOCK_CALLS == 0 && now_ns() > d->deadline_ns) {
        d->code = ERR_BUSY;
        snprintf(d->text, sizeof d->text, "decoding was stopped, it took too long");
        longjmp(d->failed, 1);
    }
}

/* ------------------------------------------------------------------------- lifetime */

int jpeg_decoder_new(struct jpeg_decoder **decoder, struct err *err)
{
    struct jpeg_decoder *d = calloc(1, sizeof *d);

    *decoder = NULL;
    if (!d)
        return err_set(err, ERR_MEMORY, "no memory for a JPEG decoder");
    jpeg_std_error(&d->errors);
    d->errors.error_exit = fail;
    d->errors.emit_message = on_message;
    d->errors.output_message = on_output;
    d->progress.progress_monitor = on_progress;
    d->in.err = &d->errors;
    if (setjmp(d->failed)) {
        /* memory is short, or the library does not match the headers */
        int rc = err_set(err, ERR_MEMORY, "cannot make a JPEG decoder: %s", d->text);
        jpeg_decoder_free(&d);
        return rc;
    }
    jpeg_create_decompress(&d->in);
    d->has_in = 1;
    d->in.progress = &d->progress;
    *decoder = d;
    return 0;
}

void jpeg_decoder_free(struct jpeg_decoder **decoder)
{
    struct jpeg_decoder *d = *decoder;

    if (!d)
        return;
    if (d->has_in)
        jpeg_destroy_decompress(&d->in);
    free(d);
    *decoder = NULL;
}

/* ------------------------------------------------------------------------- decode */

/* Returns the eighths by which the picture becomes w x h, or 0. */
static unsigned scale_of(const struct jpeg_info *info, int w, int h)
{
    for (int k = 1; k <= EIGHTHS; k *= 2)
        if ((info->width * k + EIGHTHS - 1) / EIGHTHS == w &&
            (info->height * k + EIGHTHS - 1) / EIGHTHS == h)
            return (unsigned)k;
    return 0;
}

static int decode_rows(struct jpeg_decoder *d, uint8_t *rgb, int w, int h, unsigned scale,
                       const uint8_t *data, size_t len)
{
    struct jpeg_decompress_struct *in = &d->in;

    if (setjmp(d->failed)) {
        jpeg_abort_decompress(in);
        return d->code;
    }
    jpeg_mem_src(in, data, len);
    jpeg_read_header(in, TRUE);
    in->scale_num = scale;
    in->scale_denom = EIGHTHS;
    in->out_color_space = JCS_RGB;
    in->dct_method = JDCT_ISLOW; /* gives the same bits on every machine */
    in->do_block_smoothing = FALSE;
    jpeg_start_decompress(in);
    if (in->output_width != (JDIMENSION)w || in->output_height != (JDIMENSION)h) {
        d->code = ERR_INPUT;
        snprintf(d->text, sizeof d->text, "decodes to %u x %u, not %d x %d", in->output_width,
                 in->output_height, w, h);
        longjmp(d->failed, 1);
    }
    while (in->output_scanline < in->output_height) {
        JSAMPROW row = rgb + (size_t)in->output_scanline * (size_t)w * 3;

        jpeg_read_scanlines(in, &row, 1);
    }
    jpeg_finish_decompress(in);
    return 0;
}

static int check_cost(const struct jpeg_info *info, int w, int h, int deadline_ms, struct err *err)
{
    uint64_t ns = info->cost_ns + (uint64_t)w * (uint64_t)h * PIXEL_NS;

    if (ns / 1000000 < (uint64_t)deadline_ms)
        return 0;
    return err_set(err, ERR_LIMIT,
                   "decoding would take longer than allowed: about %u ms, at most %d",
                   (unsigned)(ns / 1000000), deadline_ms);
}

int jpeg_decode(struct jpeg_decoder *d, uint8_t *rgb, int w, int h, const uint8_t *data, size_t len,
                const struct jpeg_limits *limits, struct err *err)
{
    struct jpeg_info info;
    unsigned scale;
    int rc = jpeg_probe(&info, data, len, limits, err);

    if (rc)
        return rc;
    scale = scale_of(&info, w, h);
    if (!scale)
        return err_set(err, ERR_INPUT, "a picture of %d x %d does not decode to %d x %d",
                       info.width, info.height, w, h);
    rc = check_cost(&info, w, h, limits->deadline_ms, err);
    if (rc)
        return rc;
    d->code = 0;
    d->rows = 0;
    d->max_scans = limits->max_scans;
    d->deadline_ns = now_ns() + (int64_t)limits->deadline_ms * 1000000 * JPEG_PATIENCE;
    rc = decode_rows(d, rgb, w, h, scale, data, len);
    return rc ? err_set(err, rc, "JPEG: %s", d->text) : 0;
}

/* ------------------------------------------------------------------------- encode */

struct encoder {
    struct jpeg_error_mgr errors; /* first: see struct jpeg_decoder */
    struct jpeg_compress_struct out;
    jmp_buf failed;
    unsigned char *data;
    unsigned long len;
};

static void on_encode_error(j_common_ptr info)
{
    longjmp(((struct encoder *)info->err)->failed, 1);
}

static int encode_rows(struct encoder *e, const uint8_t *rgb, int w, int h, int quality)
{
    struct jpeg_compress_struct *out = &e->out;

    if (setjmp(e->failed))
        return ERR_MEMORY;
    jpeg_create_compress(out);
    jpeg_mem_dest(out, &e->data, &e->len);
    out->image_width = (JDIMENSION)w;
    out->image_height = (JDIMENSION)h;
    out->input_components = 3;
    out->in_color_space = JCS_RGB;
    jpeg_set_defaults(out);
    jpeg_set_quality(out, quality, TRUE);
    jpeg_start_compress(out, TRUE);
    while (out->next_scanline < out->image_height) {
        JSAMPROW row = (JSAMPROW)(rgb + (size_t)out->next_scanline * (size_t)w * 3);

        jpeg_write_scanlines(out, &row, 1);
    }
    jpeg_finish_compress(out);
    return 0;
}

int jpeg_encode(uint8_t **data, size_t *len, const uint8_t *rgb, int w, int h, int quality,
                struct err *err)
{
    struct encoder e = {0};
    int rc;

    *data = NULL;
    *len = 0;
    if (w < 1 || h < 1 || w > JPEG_MAX_DIMENSION || h > JPEG_MAX_DIMENSION || quality < 1 ||
        quality > 100)
        return err_set(err, ERR_INPUT, "no JPEG of %d x %d pixels with quality %d", w, h, quality);
    e.out.err = jpeg_std_error(&e.errors);
    e.errors.error_exit = on_encode_error;
    rc = encode_rows(&e, rgb, w, h, quality);
    jpeg_destroy_compress(&e.out);
    if (rc) {
        free(e.data);
        return err_set(err, rc, "no memory for a JPEG of %d x %d pixels", w, h);
    }
    *data = e.data;
    *len = e.len;
    return 0;
}
