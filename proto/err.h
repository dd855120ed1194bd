/*
 * err.h - how every function in recond reports failure
 *
 * A function that can fail returns 0 or a negative enum err_code and, if its last argument is not
 * NULL, leaves one sentence in it. The class of the code decides what the caller does
 * (docs/ARCHITECTURE.md,
 * "Errors"): answer the client, answer and count, fail the job, or end the process.
 */
#ifndef RECOND_PROTO_ERR_H
#define RECOND_PROTO_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

enum err_code {
    /* the peer or the operator sent something wrong: the answer names it, and nothing changes */
    ERR_INPUT = -1,
    ERR_LIMIT = -2,       /* right in form, but over a bound */
    ERR_BUSY = -3,        /* no room at the moment: the same call may succeed later */
    ERR_STATE = -4,       /* not allowed in this state of the session */
    ERR_NOT_FOUND = -5,   /* there is no such session, model or file */
    ERR_DENIED = -6,      /* the token is missing, wrong or insufficient */
    ERR_UNSUPPORTED = -7, /* known, but not supported by this build, device or model */
    /* an allocation or a byte budget failed: the job fails, the session stays */
    ERR_MEMORY = -8,
    ERR_IO = -9,      /* the system call failed: errno is in the text */
    ERR_DEVICE = -10, /* the device context is lost: the process must end */
    ERR_END = -11,    /* the end of a stream, a list or the input */
    ERR_FILE = -12    /* a client's own file cannot be written */
};

#define ERR_TEXT_CAP 240
#define ERR_WHERE_CAP 80

struct err {
    int code; /* enum err_code, 0 = none */
    /* JSON pointer of a field, file:line of a config, node of a graph; or "" */
    char where[ERR_WHERE_CAP];
    char text[ERR_TEXT_CAP]; /* one sentence for a person, without a full stop */
};

#define ERR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK __attribute__((warn_unused_result))

/* Fills *err (may be NULL) and returns code, so that a caller writes `return err_at(err, ERR_INPUT,
 * ...)`. where is a JSON pointer ("/camera/fx"), "recond.conf:12" or a graph node. */
int err_at(struct err *err, int code, const char *where, const char *fmt, ...) ERR_PRINTF(4, 5);
/* The same without a place. */
#define err_set(err, code, ...) err_at(err, code, "", __VA_ARGS__)

/* The stable name of a code ("input", "limit", ...) in metrics, logs and problem documents. */
const char *err_name(int code);

#ifdef __cplusplus
}
#endif
#endif
