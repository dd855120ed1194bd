/*
 * fuzz_api_token - what stands in a token file, in an Authorization header, in a subprotocol
 *
 * Any bytes. A line that is accepted is within its bounds and reads the same when it is written;
 * one that is not has a reason, which never repeats what stood there.
 */
#include "api/server/auth.h"
#include "tests/support/fuzz_case.h"

#include <stdio.h>

static void same_again(const struct token_line *t)
{
    char line[TOKEN_LINE_CAP], *cursor = line;
    struct token_line again;
    struct err err = {0};
    int number = 0;

    check(token_line_write(line, t) == strlen(line) && strlen(line) < sizeof line);
    check(token_file_next(&cursor, &number, "again", &again, &err) == 1 && number == 1);
    check(strcmp(again.name, t->name) == 0 && again.scope == t->scope);
    check(token_equal(again.sha256, t->sha256) && again.expires == t->expires);
    check(strcmp(again.quotas, t->quotas) == 0);
}

/* A run of bytes of the text as long as a short token, in what is told of it? */
static bool repeats(const char *told, const char *text)
{
    for (size_t i = 0; i + 22 <= strlen(text); i++) {
        char piece[23];
        snprintf(piece, sizeof piece, "%s", text + i);
        if (strstr(told, piece))
            return true;
    }
    return false;
}

static void file(const char *text)
{
    char *copy = strdup(text), *cursor = copy;
    struct token_line t;
    struct err err = {0};
    int number = 0, rc;

    check(copy != NULL);
    while ((rc = token_file_next(&cursor, &number, "tokens", &t, &err)) > 0) {
        check(token_name_ok(t.name) && token_scope(token_scope_name(t.scope)) == t.scope);
        check(t.expires >= 0);
        same_again(&t);
    }
    if (rc) {
        check(rc == ERR_INPUT && err.text[0] && strncmp(err.where, "tokens:", 7) == 0);
        check(strstr(err.text, "must") || strstr(err.text, "name"));
        /* our own sentences are the exception, should a file hold them */
        check(!repeats(err.text, text) || strstr(text, "must") || strstr(text, "name"));
    }
    free(copy);
}

static void header(const char *text, size_t size)
{
    size_t len;
    const char *token = auth_bearer(text, &len);

    if (len == 0) {
        check(*token == 0);
        return;
    }
    check(token > text && (size_t)(token - text) + len <= size);
    check(!memchr(token, ' ', len) && !memchr(token, ',', len));
}

/* One spelling for one token: what is decoded is as long as its text says, and no other text is
 * decoded to it. */
static void subprotocol(const char *text, size_t size)
{
    char out[TOKEN_MAX];
    size_t n = token_base64url_decode(text, size, out, sizeof out);

    check(n <= sizeof out && (n == 0 || n == size * 6 / 8));
    check(token_base64url_decode(text, size, out, n ? n - 1 : 0) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0 || size > TOKEN_FILE_BYTES)
        return 0;
    text = calloc(1, size);
    check(text != NULL);
    memcpy(text, data + 1, size - 1);
    if (data[0] == 'h')
        header(text, size - 1);
    else if (data[0] == 's')
        subprotocol(text, size - 1);
    else
        file(text);
    free(text);
    return 0;
}
