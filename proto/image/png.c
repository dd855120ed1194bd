/* The only file that includes libpng. */
#include "proto/image/png.h"

#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_MEMORY (8u << 20) /* bytes of one ancillary chunk */
#define CHUNKS_MAX 64
#define WRITE_LEVEL 6

/* Everything that must be freed after a longjmp out of libpng. */
struct job {
    FILE *f;
    png_structp png;
    png_infop info;
    png_bytep *rows;
    uint8_t *pixels;
    int code, bits;
    char text[160];
};

static void on_error(png_structp png, png_const_charp text)
{
    struct job *j = png_get_error_ptr(png);

    snprintf(j->text, sizeof j->text, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static int fail(struct job *j, int code, const char *text)
{
    j->code = code;
    snprintf(j->text, sizeof j->text, "%s", text);
    return code;
}

/* Reads and checks the header, and asks libpng for pixels of 16 bits. */
static int start_reading(struct job *j, int max_side, int *w, int *h)
{
    int type, bits;

    png_init_io(j->png, j->f);
    /* our own message follows, with a reason */
    png_set_user_limits(j->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(j->png, CHUNK_MEMORY);
    png_set_chunk_cache_max(j->png, CHUNKS_MAX);
    png_read_info(j->png, j->info);
    *w = (int)png_get_image_width(j->png, j->info);
    *h = (int)png_get_image_height(j->png, j->info);
    type = png_get_color_type(j->png, j->info);
    j->bits = bits = png_get_bit_depth(j->png, j->info);
    if (*w > max_side || *h > max_side)
        return fail(j, ERR_LIMIT, "a side is longer than allowed");
    if (type != PNG_COLOR_TYPE_GRAY || bits < 8)
        return fail(j, ERR_UNSUPPORTED, "not a gray picture of 8 or 16 bits");
    if (bits == 8)
        png_set_expand_16(j->png);
    else
        /* converts to little-endian, the order of every machine that we run on */
        png_set_swap(j->png);
    png_set_interlace_handling(j->png);
    png_read_update_info(j->png, j->info);
    return 0;
}

static int read_pixels(struct job *j, int max_side, int *w, int *h)
{
    size_t stride;
    int rc;

    if (setjmp(png_jmpbuf(j->png)))
        return j->code ? j->code : ERR_INPUT;
    rc = start_reading(j, max_side, w, h);
    if (rc)
        return rc;
    stride = (size_t)*w * 2;
    if (png_get_rowbytes(j->png, j->info) != stride)
        return fail(j, ERR_UNSUPPORTED, "pixels of an unknown layout");
    j->pixels = malloc(stride * (size_t)*h);
    j->rows = malloc((size_t)*h * sizeof *j->rows);
    if (!j->pixels || !j->rows)
        return fail(j, ERR_MEMORY, "no memory for its pixels");
    for (int y = 0; y < *h; y++)
        j->rows[y] = j->pixels + (size_t)y * stride;
    png_read_image(j->png, j->rows);
    png_read_end(j->png, NULL);
    return 0;
}

/* libpng widened each eight-bit grey value v to 257 v; this restores v. */
static void narrow(uint16_t *gray, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gray[i] &= 0xff;
}

int png_read_gray16(const char *path, uint16_t **gray, int *w, int *h, int max_side,
                    struct err *err)
{
    struct job j = {.f = fopen(path, "rbe")};
    int rc;

    *gray = NULL;
    *w = *h = 0;
    if (!j.f)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    j.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning);
    j.info = j.png ? png_create_info_struct(j.png) : NULL;
    rc = j.info ? read_pixels(&j, max_side, w, h) : fail(&j, ERR_MEMORY, "no memory to read it");
    if (rc) {
        rc = err_set(err, rc, "%s: %s", path, j.text);
        free(j.pixels);
        *w = *h = 0;
    } else {
        *gray = (uint16_t *)j.pixels;
        if (j.bits == 8)
            narrow(*gray, (size_t)*w * (size_t)*h);
    }
    png_destroy_read_struct(&j.png, &j.info, NULL);
    free(j.rows);
    fclose(j.f);
    return rc;
}

/* ------------------------------------------------------------------------- reading from memory */

/* The rest of a file in memory. */
struct left {
    const uint8_t *at;
    size_t len;
};

static void read_left(png_structp png, png_bytep out, size_t n)
{
    struct left *l = png_get_io_ptr(png);

    if (n > l->len)
        png_error(png, "it ends too early");
    memcpy(out, l->at, n);
    l->at += n;
    l->len -= n;
}

static int decode_rows(struct job *j, struct left *left, uint8_t *gray, int w, int h)
{
    size_t stride = (size_t)w * (size_t)j->bits / 8;

    if (setjmp(png_jmpbuf(j->png)))
        return j->code ? j->code : ERR_INPUT;
    png_set_read_fn(j->png, left, read_left);
    png_set_user_limits(j->png, (png_uint_32)w, (png_uint_32)h);
    png_set_chunk_malloc_max(j->png, CHUNK_MEMORY);
    png_set_chunk_cache_max(j->png, CHUNKS_MAX);
    png_read_info(j->png, j->info);
    if ((int)png_get_image_width(j->png, j->info) != w ||
        (int)png_get_image_height(j->png, j->info) != h)
        return fail(j, ERR_INPUT, "another size than was said");
    if (png_get_color_type(j->png, j->info) != PNG_COLOR_TYPE_GRAY ||
        png_get_bit_depth(j->png, j->info) != j->bits ||
        png_get_interlace_type(j->png, j->info) != PNG_INTERLACE_NONE ||
        png_get_rowbytes(j->png, j->info) != stride)
        return fail(j, ERR_INPUT, "not a gray picture of these bits, or interlaced");
    if (j->bits == 16)
        png_set_swap(j->png);
    png_read_update_info(j->png, j->info);
    for (int y = 0; y < h; y++)
        png_read_row(j->png, gray + (size_t)y * stride, NULL);
    png_read_end(j->png, NULL);
    return 0;
}

int png_decode_gray(void *gray, const uint8_t *png, size_t len, int bits, int w, int h,
                    struct err *err)
{
    struct job j = {.bits = bits};
    struct left left = {png, len};
    int rc;

    j.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning);
    j.info = j.png ? png_create_info_struct(j.png) : NULL;
    rc = j.info ? decode_rows(&j, &left, gray, w, h) : fail(&j, ERR_MEMORY, "no memory to read it");
    png_destroy_read_struct(&j.png, &j.info, NULL);
    return rc ? err_set(err, rc, "a PNG of %d x %d: %s", w, h, j.text) : 0;
}

int png_read_rgb(const char *path, uint8_t **rgb, int *w, int *h, int max_side, struct err *err)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    int rc = 0;

    *rgb = NULL;
    *w = *h = 0;
    if (access(path, R_OK))
        return err_set(err, ERR_NOT_FOUND, "cannot be read: %m");
    if (!png_image_begin_read_from_file(&image, path))
        return err_set(err, ERR_INPUT, "no PNG: %s", image.message);
    if (image.width > (unsigned)max_side || image.height > (unsigned)max_side) {
        rc = err_set(err, ERR_LIMIT, "a side is longer than %d", max_side);
        goto out;
    }
    image.format = PNG_FORMAT_RGB;
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    *rgb = calloc(1, PNG_IMAGE_SIZE(image));
    if (!*rgb) {
        rc = err_set(err, ERR_MEMORY, "no memory for a PNG");
        goto out;
    }
    if (!png_image_finish_read(&image, NULL, *rgb, 0, NULL)) {
        rc = err_set(err, ERR_INPUT, "a damaged PNG: %s", image.message);
        free(*rgb);
        *rgb = NULL;
        goto out;
    }
    *w = (int)image.width;
    *h = (int)image.height;
out:
    png_image_free(&image);
    return rc;
}

/* ------------------------------------------------------------------------- write */

/* Writes packed RGB of 8 bits, or gray of 16. */
static int write_pixels(struct job *j, const void *pixels, int w, int h, int gray16)
{
    size_t row_bytes = (size_t)w * (gray16 ? 2 : 3);

    if (setjmp(png_jmpbuf(j->png)))
        return ERR_IO;
    png_init_io(j->png, j->f);
    png_set_compression_level(j->png, WRITE_LEVEL);
    png_set_IHDR(j->png, j->info, (png_uint_32)w, (png_uint_32)h, gray16 ? 16 : 8,
                 gray16 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(j->png, j->info);
    if (gray16)
        png_set_swap(j->png); /* files are big-endian */
    for (int y = 0; y < h; y++)
        png_write_row(j->png, (const uint8_t *)pixels + (size_t)y * row_bytes);
    png_write_end(j->png, NULL);
    return 0;
}

int png_encode_gray16(uint8_t **out, size_t *len, const uint16_t *gray, int w, int h,
                      struct err *err)
{
    struct job j = {0};
    char *text = NULL;
    int rc = 0;

    *out = NULL;
    *len = 0;
    if (w < 1 || h < 1)
        return err_set(err, ERR_INPUT, "no picture of %d x %d pixels", w, h);
    j.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning);
    j.info = j.png ? png_create_info_struct(j.png) : NULL;
    j.f = j.info ? open_memstream(&text, len) : NULL;
    if (!j.f || write_pixels(&j, gray, w, h, 1))
        rc = err_set(err, ERR_MEMORY, "no memory to write a PNG of %d x %d", w, h);
    png_destroy_write_struct(&j.png, &j.info);
    if (j.f && fclose(j.f) && !rc)
        rc = err_set(err, ERR_MEMORY, "no memory to write a PNG of %d x %d", w, h);
    if (rc)
        free(text);
    else
        *out = (uint8_t *)text;
    return rc;
}

int png_write(FILE *f, const uint8_t *rgb, int w, int h, struct err *err)
{
    struct job j = {.f = f};
    int rc = 0;

    if (w < 1 || h < 1)
        return err_set(err, ERR_INPUT, "no picture of %d x %d pixels", w, h);
    j.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning);
    j.info = j.png ? png_create_info_struct(j.png) : NULL;
    if (!j.info)
        rc = err_set(err, ERR_MEMORY, "no memory to write a picture");
    else if (write_pixels(&j, rgb, w, h, 0) || fflush(f))
        rc = err_set(err, ERR_IO, "%s", j.text[0] ? j.text : strerror(errno));
    png_destroy_write_struct(&j.png, &j.info);
    return rc;
}

int png_write_file(const char *path, const uint8_t *rgb, int w, int h, struct err *err)
{
    struct err why = {.text = ""};
    char *beside = NULL;
    FILE *f = NULL;
    int rc = 0, fd = -1;

    if (asprintf(&beside, "%s.XXXXXX", path) < 0)
        return err_set(err, ERR_MEMORY, "no memory to write %s", path);
    fd = mkostemp(beside, O_CLOEXEC);
    f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (f)
        rc = png_write(f, rgb, w, h, &why);
    if (!f || (rc == 0 && (fchmod(fd, 0644) || rename(beside, path))))
        rc = err_set(&why, ERR_IO, "%s", strerror(errno));
    if (rc && fd >= 0)
        unlink(beside);
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    free(beside);
    return rc ? err_set(err, rc, "%s: %s", path, why.text) : 0;
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

int png_probe(const uint8_t *png, size_t len, int *w, int *h, struct err *err)
{
    static const uint8_t head[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
                                   0,    0,   0,   13,  'I',  'H',  'D',  'R'};
    uint32_t sides[2];

    if (len < sizeof head + 8 || memcmp(png, head, sizeof head) != 0)
        return err_set(err, ERR_INPUT, "the picture is no PNG");
    sides[0] = big_endian(png + sizeof head);
    sides[1] = big_endian(png + sizeof head + 4);
    if (sides[0] < 1 || sides[1] < 1 || sides[0] > INT32_MAX || sides[1] > INT32_MAX)
        return err_set(err, ERR_INPUT, "the PNG has no sides");
    *w = (int)sides[0];
    *h = (int)sides[1];
    return 0;
}
