/*
 * reconctl_token.c - the token file from the operator's side: new, list, revoke
 *
 * The file is replaced as a whole (written beside it, fsync, rename), keeps its owner and comments,
 * and is held by a lock on its folder meanwhile: recond reads the old one or the new one, and two
 * operators at once lose nothing.
 */
#include "api/ctl/reconctl_args.h"
#include "api/file.h"
#include "api/token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_S 86400
#define DAYS_MAX 36500

struct token_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *scope, *expires, *quotas, *file;
};

#define AT(field) offsetof(struct token_options, field)

/* clang-format off */
static const struct reconctl_option new_options[] = {
    {"scope", 's', "SCOPE", RECONCTL_TEXT, AT(scope), 0, 0,
     "What it permits: view, ingest (and view), admin (everything)"},
    {"expires", 'e', "WHEN", RECONCTL_TEXT, AT(expires), 0, 0,
     "2027-01-31, 2027-01-31T12:00:00Z or 30d from now; default: never"},
    {"quotas", 'q', "LIST", RECONCTL_TEXT, AT(quotas), 0, 0,
     "What its sessions may hold, as sessions=4,disk_bytes=10G; default: as configured"},
    {"file", 'f', "FILE", RECONCTL_TEXT, AT(file), 0, 0,
     "Token file to add it to; without it its line is printed"},
    {0},
};
static const struct reconctl_option revoke_options[] = {
    {"file", 'f', "FILE", RECONCTL_TEXT, AT(file), 0, 0, "Token file to take it out of"},
    {0},
};
/* clang-format on */

/* ------------------------------------------------------------------------------- the file */

struct table {
    char path[PATH_MAX]; /* path behind all links */
    char text[TOKEN_FILE_BYTES];
    int folder; /* descriptor, open and locked; -1 = not */
    bool exists;
    struct stat st;
};

/* Opens and locks the folder of the file; t->path becomes the file's real path. */
static int lock_folder(struct table *t, const char *file, struct err *err)
{
    char folder[PATH_MAX], *slash;

    t->folder = -1;
    if (!realpath(file, t->path)) {
        if (errno != ENOENT || strlen(file) >= sizeof t->path)
            return err_at(err, ERR_IO, file, "cannot be found: %s", strerror(errno));
        strcpy(t->path, file);
    }
    strcpy(folder, t->path);
    slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    t->folder = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->folder < 0 || flock(t->folder, LOCK_EX) != 0)
        return err_at(err, ERR_IO, file, "its folder cannot be opened: %s", strerror(errno));
    return 0;
}

/* Finds the line of a name in the text and reads it; NULL if there is none. Every line is checked,
 * because recond would refuse a file with a wrong one. */
static int find_line(struct table *t, const char *name, char **at, int *n, struct err *err)
{
    char *copy = strdup(t->text), *cursor = copy;
    struct token_line line;
    int number = 0, rc;

    *at = NULL;
    *n = 0;
    if (!copy)
        return err_set(err, ERR_MEMORY, "out of memory");
    for (;;) {
        rc = token_file_next(&cursor, &number, t->path, &line, err);
        if (rc <= 0)
            break;
        ++*n;
        if (*at || strcmp(line.name, name) != 0)
            continue;
        *at = t->text;
        for (int i = 1; i < number; i++)
            *at = strchr(*at, '\n') + 1;
    }
    free(copy);
    return rc;
}

static int open_table(struct table **out, const char *file, struct err *err)
{
    struct table *t = calloc(1, sizeof *t);
    int rc;

    *out = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "out of memory");
    rc = lock_folder(t, file, err);
    if (rc)
        return rc;
    t->exists = stat(t->path, &t->st) == 0;
    if (!t->exists && errno != ENOENT)
        return err_at(err, ERR_IO, file, "cannot be looked at: %s", strerror(errno));
    return t->exists ? token_file_read(t->path, t->text, err) : 0;
}

static void close_table(struct table **t)
{
    if (*t && (*t)->folder >= 0)
        close((*t)->folder);
    free(*t);
    *t = NULL;
}

static int replace(struct table *t, struct err *err)
{
    char part[PATH_MAX + 8];
    bool done = false;
    int fd;

    snprintf(part, sizeof part, "%s.XXXXXX", t->path);
    fd = mkostemp(part, O_CLOEXEC); /* 0600 */
    if (fd < 0)
        return err_at(err, ERR_IO, t->path, "nothing can be written beside it: %s",
                      strerror(errno));
    /* if root adds a token, the user of the service must still be able to read the file */
    if ((!t->exists || fchown(fd, t->st.st_uid, t->st.st_gid) == 0) &&
        file_write(fd, t->text, strlen(t->text)) == 0 && fsync(fd) == 0)
        done = rename(part, t->path) == 0;
    if (!done) {
        err_at(err, ERR_IO, t->path, "cannot be replaced: %s", strerror(errno));
        unlink(part);
    } else if (fsync(t->folder) != 0) {
        done = false;
        err_at(err, ERR_IO, t->path, "was replaced, but its folder is not on disk: %s",
               strerror(errno));
    }
    close(fd);
    return done ? 0 : ERR_IO;
}

static void say_reload(const char *what, const char *name, const char *file)
{
    fprintf(stderr, "reconctl: %s %s %s; recond reads it at SIGHUP: systemctl reload recond\n",
            name, what, file);
}

/* ------------------------------------------------------------------------------- new */

static int parse_expires(const char *text, time_t *expires, struct err *err)
{
    char *end;
    long days;

    *expires = 0;
    if (!text)
        return 0;
    days = strtol(text, &end, 10);
    if (end != text && strcmp(end, "d") == 0 && days >= 1 && days <= DAYS_MAX)
        *expires = time(NULL) + (time_t)days * DAY_S;
    else if (!token_expiry(text, expires))
        return err_set(err, ERR_INPUT,
                       "--expires takes 2027-01-31, 2027-01-31T12:00:00Z or 30d, not '%.40s'",
                       text);
    if (*expires <= time(NULL))
        return err_set(err, ERR_INPUT, "--expires '%.40s' is over already", text);
    return 0;
}

static int token_describe(const struct token_options *o, struct token_line *t, struct err *err)
{
    const char *name = o->common.operands[0];
    struct quota quota = quota_none;

    memset(t, 0, sizeof *t);
    if (!token_name_ok(name))
        return err_set(err, ERR_INPUT, "a name is 1 to %d letters, digits, '.', '_' or '-'",
                       TOKEN_NAME_CAP - 1);
    strcpy(t->name, name);
    t->scope = o->scope ? token_scope(o->scope) : -1;
    if (t->scope < 0)
        return err_set(err, ERR_INPUT, "--scope takes view, ingest or admin");
    if (o->quotas && quota_read(&quota, o->quotas, err))
        return ERR_INPUT;
    snprintf(t->quotas, sizeof t->quotas, "%s", o->quotas ? o->quotas : "");
    return parse_expires(o->expires, &t->expires, err);
}

static int token_append(const char *file, const struct token_line *t, struct err *err)
{
    struct table *table;
    char line[TOKEN_LINE_CAP], *at;
    size_t used, len = token_line_write(line, t);
    int n = 0, rc = open_table(&table, file, err);

    if (rc == 0)
        rc = find_line(table, t->name, &at, &n, err);
    if (rc)
        goto out;
    used = strlen(table->text);
    if (at)
        rc = err_at(err, ERR_STATE, file, "names a token '%s' already; revoke that one first",
                    t->name);
    else if (n == TOKEN_LINES_MAX || used + len + 3 > sizeof table->text)
        rc = err_at(err, ERR_LIMIT, file, "is full: %d tokens, %d bytes", TOKEN_LINES_MAX,
                    TOKEN_FILE_BYTES);
    if (rc)
        goto out;
    snprintf(table->text + used, sizeof table->text - used, "%s%s\n",
             used > 0 && table->text[used - 1] != '\n' ? "\n" : "", line);
    rc = replace(table, err);
out:
    close_table(&table);
    return rc;
}

static void print_new(const struct token_options *o, const struct token_line *t, const char *token)
{
    char line[TOKEN_LINE_CAP], buf[512];
    struct json_writer w = json_writer(buf, sizeof buf);

    token_line_write(line, t);
    if (!o->common.json) {
        printf("%s\n", token);
        if (!o->file)
            printf("%s\n", line);
        return;
    }
    json_open_map(&w, NULL);
    json_put_text(&w, "type", "token");
    json_put_text(&w, "name", t->name);
    json_put_text(&w, "scope", token_scope_name(t->scope));
    json_put_text(&w, "token", token);
    json_put_text(&w, "line", line);
    reconctl_print(&w);
    explicit_bzero(buf, sizeof buf);
}

static int run_new(void *arguments)
{
    const struct token_options *o = arguments;
    struct token_line t;
    char token[TOKEN_CAP] = "";
    struct err err = {0};
    int code = RECONCTL_OK;

    if (token_describe(o, &t, &err)) {
        reconctl_fail(&o->common, &err);
        return RECONCTL_USAGE;
    }
    if (token_make(token, &err) == 0 && !token_hash(token, strlen(token), t.sha256))
        err_set(&err, ERR_DEVICE, "SHA-256 failed");
    if (err.code == 0 && o->file && token_append(o->file, &t, &err) == 0)
        say_reload("was added to", t.name, o->file);
    if (err.code) {
        reconctl_fail(&o->common, &err);
        code = RECONCTL_FAILURE;
    } else {
        print_new(o, &t, token); /* the token is printed after it is in the file */
    }
    explicit_bzero(token, sizeof token);
    return code;
}

/* ------------------------------------------------------------------------------- list, revoke */

static void print_line(const struct token_line *t, bool json)
{
    char when[32] = "never", buf[512];
    struct json_writer w = json_writer(buf, sizeof buf);
    bool over = t->expires && t->expires <= time(NULL);
    struct tm tm;

    if (t->expires && gmtime_r(&t->expires, &tm))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (!json) {
        printf("%-24s %-7s %s%s%s%s\n", t->name, token_scope_name(t->scope), when,
               over ? " (expired)" : "", t->quotas[0] ? "  " : "", t->quotas);
        return;
    }
    json_open_map(&w, NULL);
    json_put_text(&w, "type", "token");
    json_put_text(&w, "name", t->name);
    json_put_text(&w, "scope", token_scope_name(t->scope));
    if (t->expires)
        json_put_text(&w, "expires", when);
    json_put_bool(&w, "expired", over);
    if (t->quotas[0])
        json_put_text(&w, "quotas", t->quotas);
    reconctl_print(&w);
}

static int run_list(void *arguments)
{
    const struct token_options *o = arguments;
    const char *file = o->common.operands[0];
    char *text = calloc(1, TOKEN_FILE_BYTES), *cursor = text;
    struct token_line t;
    struct err err = {0};
    int number = 0, rc;

    if (!text)
        return RECONCTL_FAILURE;
    rc = token_file_read(file, text, &err);
    while (rc == 0 && token_file_next(&cursor, &number, file, &t, &err) > 0)
        print_line(&t, reconctl_json(&o->common));
    if (err.code)
        reconctl_fail(&o->common, &err);
    free(text);
    return err.code ? RECONCTL_FAILURE : RECONCTL_OK;
}

static int run_revoke(void *arguments)
{
    const struct token_options *o = arguments;
    const char *name = o->common.operands[0];
    struct table *t = NULL;
    struct err err = {0};
    char *at, *rest;
    int n, rc;

    if (!o->file)
        return reconctl_usage(&o->common, "--file must name the token file");
    rc = open_table(&t, o->file, &err);
    if (rc == 0)
        rc = find_line(t, name, &at, &n, &err);
    if (rc == 0 && !at)
        rc = err_at(&err, ERR_NOT_FOUND, o->file, "names no token '%.63s'", name);
    if (rc == 0) {
        rest = strchr(at, '\n');
        rest = rest ? rest + 1 : at + strlen(at);
        memmove(at, rest, strlen(rest) + 1);
        rc = replace(t, &err);
    }
    close_table(&t);
    if (rc) {
        reconctl_fail(&o->common, &err);
        return RECONCTL_FAILURE;
    }
    say_reload("was taken out of", name, o->file);
    return RECONCTL_OK;
}

/* ------------------------------------------------------------------------------- commands */

const struct reconctl_command reconctl_token_new_command = {
    "token new",
    "NAME",
    "Make a token for a token file; it is shown once",
    run_new,
    sizeof(struct token_options),
    new_options};

RECONCTL_COMMAND(token_list, "token list", "FILE",
                 "List the tokens of a file: names, scopes, expiry, quotas", run_list,
                 sizeof(struct token_options));

RECONCTL_COMMAND(token_revoke, "token revoke", "NAME", "Take a token out of a file", run_revoke,
                 sizeof(struct token_options), revoke_options);
