/*
 * reconctl_text.h - words in pictures: small letters, digits and . , - : of 10 x 16 pixels
 */
#ifndef RECOND_API_RECONCTL_TEXT_H
#define RECOND_API_RECONCTL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define RECONCTL_TEXT_HIGH 16

/* Size of a text in pixels. */
int reconctl_text_width(const char *text);
/* Draws a text into rgb [h][w][3] with its upper left corner at (x, y); unknown letters are
 * blanks. */
void reconctl_text_draw(uint8_t *rgb, int w, int h, int x, int y, const char *text);

#endif
