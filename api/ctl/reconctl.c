#include "api/ctl/reconctl.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool reconctl_json(const struct reconctl_common *common)
{
    return common->json || (!common->text && !isatty(STDOUT_FILENO));
}

int reconctl_fail(const struct reconctl_common *common, const struct err *err)
{
    char buf[1024], where[RECONCTL_SHOWN], text[RECONCTL_SHOWN];
    struct json_writer w = json_writer(buf, sizeof buf);

    fflush(stdout);
    fprintf(stderr, "reconctl: %s%s%s\n", reconctl_shown(where, err->where, RECONCTL_SHOWN),
            err->where[0] ? ": " : "", reconctl_shown(text, err->text, RECONCTL_SHOWN));
    if (common->json) {
        json_open_map(&w, NULL);
        json_put_text(&w, "type", "error");
        json_put_text(&w, "code", err_name(err->code));
        json_put_text(&w, "where", err->where);
        json_put_text(&w, "text", err->text);
        reconctl_print(&w);
    }
    switch (err->code) {
    case ERR_DENIED:
    case ERR_BUSY:
    case ERR_STATE:
    case ERR_DEVICE:
        return RECONCTL_REFUSED;
    default:
        return RECONCTL_FAILURE;
    }
}

int reconctl_fail_link(const struct reconctl_common *common, const struct err *err)
{
    int code = reconctl_fail(common, err);

    return err->code == ERR_IO ? RECONCTL_UNREACHABLE : code;
}

int reconctl_fail_server(const struct reconctl_common *common, const struct err *err)
{
    int code = reconctl_fail_link(common, err);

    return code == RECONCTL_UNREACHABLE || err->code == ERR_FILE ? code : RECONCTL_REFUSED;
}

int reconctl_usage(const struct reconctl_common *common, const char *fmt, ...)
{
    struct err err = {.code = ERR_INPUT};
    va_list args;

    va_start(args, fmt);
    vsnprintf(err.text, sizeof err.text, fmt, args);
    va_end(args);
    reconctl_fail(common, &err);
    return RECONCTL_USAGE;
}

void reconctl_print(struct json_writer *w)
{
    json_close(w);
    if (json_finish(w))
        printf("%s\n", w->buf);
}

void reconctl_print_json(const char *type, const char *body)
{
    size_t n = strlen(body);

    if (*body == '{')
        printf("{\"type\":\"%s\"%s", type, body[1] == '}' ? "" : ",");
    printf("%s%s", body + (*body == '{'), n && body[n - 1] == '\n' ? "" : "\n");
}

void reconctl_print_file(const struct reconctl_common *common, const char *type, const char *file)
{
    char buf[PATH_MAX + 128];
    struct json_writer w = json_writer(buf, sizeof buf);

    if (!reconctl_json(common)) {
        printf("%s\n", file);
        return;
    }
    json_open_map(&w, NULL);
    json_put_text(&w, "type", type);
    json_put_text(&w, "file", file);
    reconctl_print(&w);
}

bool reconctl_is_output(const char *file)
{
    return strcmp(file, "-") == 0;
}

uint64_t reconctl_hex(const char *text)
{
    return strtoull(text, NULL, 16);
}
