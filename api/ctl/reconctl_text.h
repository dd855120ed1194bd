/*
 * reconctl_text.h - words in pictures: small letters, digits and . , - : of 10 x 16 pixels
 */
#ifndef RECOND_API_RECONCTL_TEXT_H
#define RECOND_API_RECONCTL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define RECONCTL_TEXT_HIGH 16

/* Pixels that a text takes. */
int reconctl_text_width(const char *text);
/* Draws a text whose upper left corner is (x, y) into rgb [h][w][3]; other letters are blanks. */
void reconctl_text_draw(uint8_t *rgb, int w, int h, int x, int y, const char *text);

#endif
