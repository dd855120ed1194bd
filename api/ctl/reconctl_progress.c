#include "api/ctl/reconctl_progress.h"

#include "api/ctl/reconctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define QUIET_S 1.0
#define DRAW_S 0.2
#define LINE_S 5.0
#define WIDTH 80       /* columns of an unknown terminal */
#define LINE_BYTES 512 /* bytes of the longest line */

bool reconctl_progress_terminal(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

struct reconctl_progress reconctl_progress_start(void)
{
    return (struct reconctl_progress){.terminal = reconctl_progress_terminal(STDERR_FILENO),
                                      .began_s = reconctl_now_s()};
}

bool reconctl_progress_due(const struct reconctl_progress *p)
{
    double now = reconctl_now_s();

    if (p->shown_s == 0)
        return now - p->began_s >= (p->terminal ? QUIET_S : LINE_S);
    return now - p->shown_s >= (p->terminal ? DRAW_S : LINE_S);
}

static int width(void)
{
    struct winsize size = {0};

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH;
    return size.ws_col < LINE_BYTES ? size.ws_col : LINE_BYTES;
}

/* Writes a bar of n characters and its brackets. */
static int put_bar(char *line, int n, double done)
{
    line[0] = '[';
    for (int i = 0; i < n; i++)
        line[1 + i] = i < (int)(done * n + 1e-6) ? '#' : '.';
    memcpy(line + 1 + n, "] ", 3);
    return n + 3;
}

void reconctl_progress_show(struct reconctl_progress *p, double done)
{
    /* The last column stays free: some terminals begin a new line behind it. */
    int room = p->terminal ? width() - 1 : LINE_BYTES - 1, at = 0;
    char line[LINE_BYTES + 1] = "";
    bool first = true;
    int bar = room >= 99 ? 24 : room >= 71 ? 12 : 0;

    p->shown_s = reconctl_now_s();
    if (p->terminal && done >= 0 && bar)
        at = put_bar(line, bar, done > 1 ? 1 : done);
    for (int i = 0; i < RECONCTL_PROGRESS_PARTS; i++) {
        int n = (int)strlen(p->part[i]) + (first ? 0 : 2);

        if (!p->part[i][0] || (at + n > room && !first))
            continue;
        at += snprintf(line + at, sizeof line - (size_t)at, "%s%.*s", first ? "" : "  ", room - at,
                       p->part[i]);
        first = false;
    }
    fprintf(stderr, "%s%s%s", p->terminal ? "\r" : "", line, p->terminal ? "\033[K" : "\n");
    fflush(stderr);
}

void reconctl_progress_left(char part[RECONCTL_PROGRESS_PART], double done, double elapsed_s)
{
    double left = done > 0 ? elapsed_s * (1 - done) / done : 0;

    part[0] = '\0';
    if (!(done > 0.02 && done < 1) || elapsed_s < QUIET_S)
        return;
    if (left < 99.5)
        snprintf(part, RECONCTL_PROGRESS_PART, "%.0f s left", left);
    else if (left < 5970)
        snprintf(part, RECONCTL_PROGRESS_PART, "%.0f min left", left / 60);
    else
        snprintf(part, RECONCTL_PROGRESS_PART, "%.1f h left", left / 3600);
}

const char *reconctl_progress_clear(const struct reconctl_progress *p)
{
    return p->terminal && p->shown_s > 0 ? "\r\033[K" : "";
}

void reconctl_progress_end(struct reconctl_progress *p, bool stays)
{
    if (p->terminal && p->shown_s > 0)
        fputs(stays ? "\n" : "\r\033[K", stderr);
    fflush(stderr);
    p->shown_s = 0;
}

void reconctl_progress_step(struct reconctl_progress *p, const char *what, double done)
{
    if (!reconctl_progress_due(p))
        return;
    snprintf(p->part[0], sizeof p->part[0], "%s", what);
    p->part[1][0] = p->part[2][0] = '\0';
    if (done >= 0) {
        snprintf(p->part[1], sizeof p->part[1], "%.0f %%", 100 * done);
        reconctl_progress_left(p->part[2], done, reconctl_now_s() - p->began_s);
    }
    reconctl_progress_show(p, done);
}
