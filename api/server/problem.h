/*
 * problem.h - problem documents (RFC 9457): what every refused request is answered with
 *
 * `type` is urn:recond:problem:<name> with a name of the table in problem.c; names are never reused
 * for something else. The title and status belong to the name, detail and errors to the request.
 */
#ifndef RECOND_API_PROBLEM_H
#define RECOND_API_PROBLEM_H

#include "proto/json.h"

#define PROBLEM_MAX 8192 /* bytes; a longer document leaves `errors` out */

enum problem_kind {
    PROBLEM_MALFORMED,
    PROBLEM_UNAUTHORIZED,
    PROBLEM_FORBIDDEN,
    PROBLEM_FOREIGN_ORIGIN,
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD,
    PROBLEM_NOT_ACCEPTABLE,
    PROBLEM_CONFLICT,
    PROBLEM_TOO_LARGE,
    PROBLEM_URI_TOO_LONG,
    PROBLEM_MEDIA_TYPE,
    PROBLEM_MISDIRECTED,
    PROBLEM_FIELDS,
    PROBLEM_UPGRADE,
    PROBLEM_INTERNAL,
    PROBLEM_UNSUPPORTED,
    PROBLEM_BUSY,
    PROBLEM_UNAVAILABLE,
    PROBLEM_KINDS
};

int problem_status(enum problem_kind kind);
const char *problem_title(enum problem_kind kind);
/* The problem for an error of the core. */
enum problem_kind problem_of(int err_code);

/*
 * problem_write - the document
 *
 * In:      detail: a sentence or ""; issues: wrong fields of the body, or NULL; parameter: name of
 *          a wrong query parameter, or NULL (detail says what is wrong with it)
 * Out:     buf [cap >= PROBLEM_MAX]
 * Returns: its length
 */
size_t problem_write(char *buf, size_t cap, enum problem_kind kind, const char *detail,
                     const struct json_issues *issues, const char *parameter);

#endif
