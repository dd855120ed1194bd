/*
 * reconctl.h - what all files of the command-line client share: exit codes, errors, results
 *
 * Output:  stdout carries the result: text for people on a terminal, else JSON Lines (--json and
 *          --text choose). stderr carries progress and errors.
 */
#ifndef RECOND_API_RECONCTL_H
#define RECOND_API_RECONCTL_H

#include "api/ctl/reconctl_show.h"
#include "api/ctl/reconctl_stop.h"

enum reconctl_exit {
    RECONCTL_OK = 0,
    RECONCTL_FAILURE = 1,
    RECONCTL_USAGE = 2,
    RECONCTL_UNREACHABLE = 3,
    RECONCTL_REFUSED = 4,
    RECONCTL_HASH = 5,
    RECONCTL_UNUSED = 6,
    RECONCTL_INTERRUPTED = 130
};

#define RECONCTL_DEFAULT_URL "http://127.0.0.1:8700"
#define RECONCTL_OPERANDS_MAX 16

/* The options that all commands have. */
struct reconctl_common {
    const char *url, *token_file, *ca_file;
    bool json, text, help;
    int timeout_s;
    const char *operands[RECONCTL_OPERANDS_MAX];
    int n_operands;
};

/* Tells whether standard output is JSON Lines. */
bool reconctl_json(const struct reconctl_common *common);

/* Prints an error to stderr, with --json as JSON too, and returns the exit code of its class. */
int reconctl_fail(const struct reconctl_common *common, const struct err *err);
/* The same for reconctl_link_open(): ERR_IO means that there is no server. */
int reconctl_fail_link(const struct reconctl_common *common, const struct err *err);
/* The same for an error that the server answered. Every error counts as a refusal, except a lost
 * connection and a file that cannot be written. */
int reconctl_fail_server(const struct reconctl_common *common, const struct err *err);
/* Prints what is wrong with the arguments. Returns RECONCTL_USAGE. */
int reconctl_usage(const struct reconctl_common *common, const char *fmt, ...) ERR_PRINTF(2, 3);

uint64_t reconctl_hex(const char *text); /* Reads a hash as JSON has it. */
/* Closes an object and prints it as one line. */
void reconctl_print(struct json_writer *w);
/* Prints an object as it came from the server, with its type in front. */
void reconctl_print_json(const char *type, const char *body);
/* Says that a file was written. */
void reconctl_print_file(const struct reconctl_common *common, const char *type, const char *file);
/* Tells whether the name of a file stands for standard output. */
bool reconctl_is_output(const char *file);

#endif
