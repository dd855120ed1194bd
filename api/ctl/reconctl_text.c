#include "api/ctl/reconctl_text.h"

#include <string.h>

#define SCALE 2
#define COLUMNS 5
#define ROWS 8

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.,-:";
/* Each letter has eight rows of five pixels; the upper left one is bit 39. */
static const uint64_t shapes[] = {
    0x001c17c5e0, 0x843d18c7c0, 0x001f0841e0, 0x085f18c5e0, 0x001d1fc1e0, 0x3238842100,
    0x001f18bc2e, 0x843d18c620, 0x20184211c0, 0x100c210a4c, 0x84254c5240, 0x61084211c0,
    0x00355ad6a0, 0x003d18c620, 0x001d18c5c0, 0x003d18fa10, 0x001f18bc21, 0x002d984200,
    0x001f0707c0, 0x423c8424c0, 0x002318cda0, 0x002318a880, 0x00235ad540, 0x0022a22a20,
    0x002318bc2e, 0x003e2223e0, 0x74675cc5c0, 0x23084211c0, 0x74426443e0, 0x744260c5c0,
    0x11952f8840, 0xfc3c10c5c0, 0x3221e8c5c0, 0xf844442100, 0x7462e8c5c0, 0x7462f08980,
    0x0000003180, 0x0000001888, 0x0000e00000, 0x0318063000,
};

static void text_dot(uint8_t *rgb, int w, int h, int x, int y)
{
    for (int i = 0; i < SCALE * SCALE; i++) {
        int px = x + i % SCALE, py = y + i / SCALE;

        if (px >= 0 && py >= 0 && px < w && py < h)
            memset(rgb + 3 * ((size_t)py * (size_t)w + (size_t)px), 225, 3);
    }
}

int reconctl_text_width(const char *text)
{
    return (int)strlen(text) * (COLUMNS + 1) * SCALE;
}

void reconctl_text_draw(uint8_t *rgb, int w, int h, int x, int y, const char *text)
{
    for (; *text; text++, x += (COLUMNS + 1) * SCALE) {
        const char *at = strchr(letters, *text);

        for (int i = 0; at && i < COLUMNS * ROWS; i++)
            if (shapes[at - letters] >> (COLUMNS * ROWS - 1 - i) & 1)
                text_dot(rgb, w, h, x + i % COLUMNS * SCALE, y + i / COLUMNS * SCALE);
    }
}
