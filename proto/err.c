#include "proto/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_at(struct err *err, int code, const char *where, const char *fmt, ...)
{
    va_list args;

    if (err) {
        err->code = code;
        snprintf(err->where, sizeof err->where, "%s", where);
        va_start(args, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
    }
    return code;
}

const char *err_name(int code)
{
    static const char *const names[] = {"ok",        "input",  "limit",       "busy",   "state",
                                        "not_found", "denied", "unsupported", "memory", "io",
                                        "device",    "end",    "file"};

    return code <= 0 && code >= ERR_FILE ? names[-code] : "unknown";
}
