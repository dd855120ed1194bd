/*
 * jpeg_write.h - a baseline JPEG of packed RGB8, as libjpeg-turbo writes it
 *
 * The product reads JPEG only; pictures for it come from cameras, and in tests from here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* Returns the file's *len bytes, free() them. rgb [h][w][3]; a sample of colour has across x down
 * pixels: 1 x 1 is 4:4:4, 2 x 1 4:2:2, 2 x 2 4:2:0 */
static inline uint8_t *jpeg_write_as(const uint8_t *rgb, int w, int h, int quality, int across,
                                     int down, size_t *len)
{
    struct jpeg_compress_struct enc = {0};
    struct jpeg_error_mgr errors; /* ends the process on an error */
    unsigned char *data = NULL;
    unsigned long n = 0;

    enc.err = jpeg_std_error(&errors);
    jpeg_create_compress(&enc);
    jpeg_mem_dest(&enc, &data, &n);
    enc.image_width = (JDIMENSION)w;
    enc.image_height = (JDIMENSION)h;
    enc.input_components = 3;
    enc.in_color_space = JCS_RGB;
    jpeg_set_defaults(&enc);
    jpeg_set_quality(&enc, quality, TRUE);
    enc.comp_info[0].h_samp_factor = across;
    enc.comp_info[0].v_samp_factor = down;
    jpeg_start_compress(&enc, TRUE);
    while (enc.next_scanline < enc.image_height) {
        JSAMPROW row = (JSAMPROW)(rgb + (size_t)enc.next_scanline * (size_t)w * 3);

        jpeg_write_scanlines(&enc, &row, 1);
    }
    jpeg_finish_compress(&enc);
    jpeg_destroy_compress(&enc);
    *len = n;
    return data;
}

/* The same with colours at half size, as cameras mostly write them. */
static inline uint8_t *jpeg_write(const uint8_t *rgb, int w, int h, int quality, size_t *len)
{
    return jpeg_write_as(rgb, w, h, quality, 2, 2, len);
}
