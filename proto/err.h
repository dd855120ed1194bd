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
    /* the peer or the operator sent something wrong: the answer says what, and nothing changes */
    ERR_INPUT = -1,
    ERR_LIMIT = -2,       /* right in form, over a bound */
    ERR_BUSY = -3,        /* no room at the moment: the same call may succeed later */
    ERR_STATE = -4,       /* not in this state of the session */
    ERR_NOT_FOUND = -5,   /* no such session, model, file */
    ERR_DENIED = -6,      /* no, wrong or insufficient token */
    ERR_UNSUPPORTED = -7, /* known, but not by this build, device or model */
    /* an allocation or a byte budget failed: the job fails, the session stays */
    ERR_MEMORY = -8,
    ERR_IO = -9,      /* the system refused: errno is in the text */
    ERR_DEVICE = -10, /* the device context is lost: the process must end */
    ERR_END = -11,    /* no more: end of a stream, of a list, of input */
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

/* Fill *err (may be NULL) and return code, so that a caller writes `return err_at(err, ERR_INPUT,
 * ...)`. where is a JSON pointer ("/camera/fx"), "recond.conf:12", a graph node. */
int err_at(struct err *err, int code, const char *where, const char *fmt, ...) ERR_PRINTF(4, 5);
/* The same where no place is to be named. */
#define err_set(err, code, ...) err_at(err, code, "", __VA_ARGS__)

/* "input", "limit", ... : the stable name used in metrics, logs and problem documents. */
const char *err_name(int code);

#ifdef __cplusplus
}
#endif
#endif
