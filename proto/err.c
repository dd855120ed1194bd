#include "proto/err.h"

#include <stdarg.h>
#include <stdio.h>

static int set(struct err *err, int code, const char *where, const char *fmt, va_list args)
{
    if (err) {
        err->code = code;
        snprintf(err->where, sizeof err->where, "%s", where);
        vsnprintf(err->text, sizeof err->text, fmt, args);
    }
    return code;
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set(err, code, "", fmt, args);
    va_end(args);
    return code;
}

int err_at(struct err *err, int code, const char *where, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set(err, code, where, fmt, args);
    va_end(args);
    return code;
}

const char *err_name(int code)
{
    switch (code) {
    case 0:
        return "ok";
    case ERR_INPUT:
        return "input";
    case ERR_LIMIT:
        return "limit";
    case ERR_BUSY:
        return "busy";
    case ERR_STATE:
        return "state";
    case ERR_NOT_FOUND:
        return "not_found";
    case ERR_DENIED:
        return "denied";
    case ERR_UNSUPPORTED:
        return "unsupported";
    case ERR_MEMORY:
        return "memory";
    case ERR_IO:
        return "io";
    case ERR_DEVICE:
        return "device";
    case ERR_END:
        return "end";
    }
    return "unknown";
}
