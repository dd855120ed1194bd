#include "api/ctl/reconctl_show.h"
#include "api/ctl/reconctl_stop.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NARROW 20 /* least columns of text beside an indent */
#define WIDE 110  /* terminal width from which tables show whole ids */

/* Returns the number of bytes of text's first UTF-8 character, and the character; 1 and the byte if
 * it is invalid. */
static int character(const char *text, unsigned *c)
{
    const unsigned char *p = (const unsigned char *)text;
    int n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

    *c = *p;
    if (n == 1 || strnlen(text, (size_t)n) < (size_t)n || !json_utf8(text, (size_t)n))
        return 1;
    *c &= 0x7fu >> n;
    for (int i = 1; i < n; i++)
        *c = *c << 6 | (p[i] & 0x3f);
    return n;
}

/* Tells whether a character moves the cursor, changes colours, or changes the direction of
 * writing. */
static bool is_unsafe(unsigned c, int bytes)
{
    return c < 0x20 || c == 0x7f || (bytes == 1 && c > 0x7f) || (c >= 0x80 && c < 0xa0) ||
           c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

const char *reconctl_shown(char out[RECONCTL_SHOWN], const char *text, int most)
{
    size_t at = 0;
    unsigned c;

    for (int i = 0; *text && i < most && at + 12 < RECONCTL_SHOWN; i++) {
        int n = character(text, &c);

        if (is_unsafe(c, n))
            at += (size_t)snprintf(out + at, RECONCTL_SHOWN - at, c > 0xff ? "\\u%04x" : "\\x%02x",
                                   c);
        else
            at += (size_t)snprintf(out + at, RECONCTL_SHOWN - at, "%.*s", n, text);
        text += n;
    }
    out[at] = '\0';
    return out;
}

const char *reconctl_member(char out[RECONCTL_SHOWN], const struct json *map, const char *key)
{
    return reconctl_shown(out, json_text(json_member(map, key)), 64);
}

struct reconctl_screen reconctl_screen(void)
{
    struct winsize size = {0};
    bool known = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;

    return (struct reconctl_screen){.columns = known && size.ws_col ? size.ws_col : INT_MAX,
                                    .rows = known && size.ws_row ? size.ws_row : INT_MAX};
}

void reconctl_put_row(struct reconctl_screen *screen, const char *fmt, ...)
{
    char row[512];
    va_list arguments;
    size_t end = 0, start;
    unsigned c;

    va_start(arguments, fmt);
    vsnprintf(row, sizeof row, fmt, arguments);
    va_end(arguments);
    for (int i = 0; i < screen->columns && row[end]; i++)
        end += (size_t)character(row + end, &c);
    /* A number is not cut, because half of it would be another number. */
    for (start = end; row[end] && start > 0 && row[start - 1] != ' ';)
        start--;
    if (row[end] && row[start] >= '0' && row[start] <= '9')
        end = start;
    printf("%.*s\n", (int)end, row);
    screen->rows--;
}

/* Columns of a word and of the blanks before it; *bytes: of both. */
static int next_word(const char *text, size_t *bytes)
{
    size_t end = strspn(text, " ");
    int columns = (int)end;
    unsigned c;

    for (; text[end] && text[end] != ' '; columns++)
        end += (size_t)character(text + end, &c);
    *bytes = end;
    return columns;
}

void reconctl_put_text(int indent, const char *fmt, ...)
{
    struct reconctl_screen screen = reconctl_screen();
    char text[1024];
    va_list arguments;
    int at = 0;
    size_t n;

    va_start(arguments, fmt);
    vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    if (screen.columns - indent < NARROW)
        indent = 4;
    for (const char *p = text; *p; p += n) {
        int columns = next_word(p, &n), blanks = (int)strspn(p, " ");

        if (at > indent && at + columns > screen.columns) {
            printf("\n%*s%.*s", indent, "", (int)n - blanks, p + blanks);
            at = indent + columns - blanks;
        } else {
            printf("%.*s", (int)n, p);
            at += columns;
        }
    }
    printf("\n");
}

int reconctl_id_width(const struct reconctl_screen *screen)
{
    return screen->columns < WIDE ? 8 : 26;
}

bool reconctl_reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) > 0;
}

bool reconctl_wait_output(int ms)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return !reconctl_stopped() && poll(&out, 1, ms) <= 0 && !reconctl_stopped();
}
