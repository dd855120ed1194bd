/*
 * reconctl.h - what the files of the command-line client share
 *
 * A command is one row: its name, its operands, its options and a function. The table of options
 * is read by the parser, by --help, by the shell completions and by the test that holds
 * docs/reconctl.1 against the program. Every command's options are a struct whose first member is
 * struct reconctl_common.
 *
 * Output:  stdout carries the result: text for people on a terminal, else JSON Lines (--json and
 *          --text choose). stderr carries progress and errors.
 */
#ifndef RECOND_API_RECONCTL_H
#define RECOND_API_RECONCTL_H

#include "api/client/client.h"
#include "api/session_options.h"
#include "proto/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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
#define RECONCTL_LIST_MAX 32
#define RECONCTL_OPERANDS_MAX 16

struct reconctl_list {
    const char *at[RECONCTL_LIST_MAX];
    int n;
};

enum reconctl_kind {
    RECONCTL_FLAG,   /* bool */
    RECONCTL_INT,    /* int in [min, max] */
    RECONCTL_REAL,   /* double in [min, max] */
    RECONCTL_TEXT,   /* const char * */
    RECONCTL_OUTPUT, /* const char *, a file to be written, which is tried at once */
    RECONCTL_SVG,    /* the same, a diagram */
    RECONCTL_LIST,   /* struct reconctl_list of KEY=VALUE: may be given several times */
    RECONCTL_SIZE,   /* struct reconctl_size: WxH */
    RECONCTL_ROW     /* field of struct session_options, as its row says */
};

struct reconctl_size {
    int w, h;
};

struct reconctl_option {
    const char *name; /* long name, NULL ends a table */
    char letter;      /* or 0 */
    const char *arg;  /* what --help calls the value; NULL for flags */
    enum reconctl_kind kind;
    size_t offset;
    double min, max;
    const char *help;
    const struct session_option *row; /* RECONCTL_ROW */
};

struct reconctl_common {
    const char *url, *token_file, *ca_file;
    bool json, text, help;
    int timeout_s;
    const char *operands[RECONCTL_OPERANDS_MAX];
    int n_operands;
};

struct reconctl_command {
    const char *name;     /* "push", "session list" */
    const char *operands; /* words; [WORD]: may be left out; WORD...: may be there several times */
    const char *summary;
    const struct reconctl_option *options;
    size_t asked; /* offset of a struct session_options that flags of its table fill, or 0 */
    size_t size;  /* of the options' struct */
    void (*defaults)(void *arguments); /* sets what is not zero, or NULL */
    int (*run)(void *arguments);       /* returns enum reconctl_exit */
};

extern const struct reconctl_command *const reconctl_commands[]; /* NULL-terminated */

/* Each command stands in the file of its family. */
extern const struct reconctl_command reconctl_push_command, reconctl_pull_command,
    reconctl_session_create_command, reconctl_session_list_command, reconctl_session_get_command,
    reconctl_session_close_command, reconctl_session_refine_command, reconctl_session_kick_command,
    reconctl_session_rotate_command, reconctl_session_submap_command,
    reconctl_session_delete_command, reconctl_export_command, reconctl_objects_add_command,
    reconctl_objects_list_command, reconctl_objects_rm_command, reconctl_objects_match_command,
    reconctl_render_command, reconctl_top_command, reconctl_doctor_command,
    reconctl_token_new_command, reconctl_token_list_command, reconctl_token_revoke_command,
    reconctl_eval_depth_command, reconctl_eval_trajectory_command, reconctl_eval_cloud_command,
    reconctl_eval_scene_command, reconctl_calibrate_command, reconctl_completion_command;

/* ------------------------------------------------------------------------- arguments */

/*
 * reconctl_args_parse - options and operands of one command
 *
 * In:      argv[0] is the command's own name
 * Out:     arguments [command->size], zeroed by the caller or set to defaults
 * Returns: 0; ERR_INPUT with a sentence for the user; ERR_FILE: a file to be written cannot be
 */
MUST_CHECK int reconctl_args_parse(const struct reconctl_command *command, void *arguments,
                                   int argc, char **argv, struct err *err);
void reconctl_args_help(const struct reconctl_command *command);
/* Finds the i-th option of a command: its own first, then those of the session that it creates,
 * then those common ones whose name it does not use otherwise; false past the end. */
bool reconctl_option_at(const struct reconctl_command *c, int i, struct reconctl_option *o);
#define RECONCTL_NO_OUTPUT "only `export` and `render` take - for standard output"

/* ------------------------------------------------------------------------- commands by name */

/* Finds the command that the words begin with, and how many of them are its name; NULL: none. */
const struct reconctl_command *reconctl_help_find(int n, char **word, int *used);
/* Is command i the first of those that share its first word? */
bool reconctl_help_is_first(int i);
/* One sentence about command i, or about its family where that has several. */
const char *reconctl_help_summary(int i);
/* Explains what the words name: all, a family ("session") or a command. Returns the exit code. */
int reconctl_help(int n, char **word);
/* Says that the words name no command, and which are like them. Returns RECONCTL_USAGE. */
int reconctl_help_unknown(int n, char **word);

#define RECONCTL_ALIKE 3 /* words that differ by less are taken for slips */
/* How many letters must be changed, put, left out or swapped with the next to make b of a. */
int reconctl_help_distance(const char *a, const char *b);

/* ------------------------------------------------------------------------- surroundings */

/* How often Ctrl-C was pressed (or SIGTERM sent); the second time the process ends by itself. */
int reconctl_stopped(void);
bool reconctl_json(const struct reconctl_common *common); /* JSON Lines on stdout? */
double reconctl_now_s(void);                              /* monotonic */
/* Sleeps in short pieces, until reconctl_stopped(). */
void reconctl_sleep_ms(int ms);

/* Waits for ms. Returns false where reconctl_stopped(), or the reader of standard output has
 * gone. */
bool reconctl_wait_output(int ms);

/* Has the reader of standard output gone? One that has seen enough wants no complaint. */
bool reconctl_reader_left(void);

#define RECONCTL_SHOWN 256
/* A text from elsewhere as a terminal may show it: control characters and those that turn the
 * direction of writing as \\x1b or \\u202e, at most `most` characters. Returns out. */
const char *reconctl_shown(char out[RECONCTL_SHOWN], const char *text, int most);
/* The same of a member of a map. */
const char *reconctl_member(char out[RECONCTL_SHOWN], const struct json *map, const char *key);

/* What is left of the terminal that standard output is; elsewhere there is no end of it. */
struct reconctl_screen {
    int columns, rows;
};
struct reconctl_screen reconctl_screen(void);
/* Prints one row of a table, cut at the last column. */
void reconctl_put_row(struct reconctl_screen *screen, const char *fmt, ...) ERR_PRINTF(2, 3);
/* Prints a text that goes on in the next line where the terminal ends: broken at blanks, the lines
 * behind the first one `indent` columns in. A word that is wider than a line is left to the
 * terminal. */
void reconctl_put_text(int indent, const char *fmt, ...) ERR_PRINTF(2, 3);
/* Characters of an id in a row: where room is short, enough of them to name the session. */
int reconctl_id_width(const struct reconctl_screen *screen);

/* Prints an error to stderr, with --json as JSON too, and returns the exit code of its class. */
int reconctl_fail(const struct reconctl_common *common, const struct err *err);
/* The same for reconctl_link_open(): ERR_IO says that there is no server. */
int reconctl_fail_link(const struct reconctl_common *common, const struct err *err);
/* The same for an error that the server answered: all but a lost connection, and a file that cannot
 * be written, count as a refusal. */
int reconctl_fail_server(const struct reconctl_common *common, const struct err *err);
/* Prints what is wrong with the arguments. Returns RECONCTL_USAGE. */
int reconctl_usage(const struct reconctl_common *common, const char *fmt, ...) ERR_PRINTF(2, 3);

/* ------------------------------------------------------------------------- connections */

struct reconctl_server { /* a recond that was started for one command */
    pid_t pid;
    char url[64], folder[64];
};

struct reconctl_link {
    struct client *client;
    struct client_config config;
    char token[257];
    struct reconctl_server server;
};

/*
 * reconctl_link_open - REST connection as --url, --token-file and the environment say
 *
 * In:      may_start: where no URL is given and nothing answers at the default one, start a recond
 *          that stands beside this program or in PATH, on free ports, and say so on stderr
 */
MUST_CHECK int reconctl_link_open(struct reconctl_link *link, const struct reconctl_common *common,
                                  bool may_start, struct err *err);
/* Deletes a session that this program made, by the session's own token: an ingest token of the
 * token file may not. */
MUST_CHECK int reconctl_delete_session(const struct client_config *config,
                                       const struct client_session *s, struct err *err);
/* Stops the server that was started for this command, if one was. */
void reconctl_link_close(struct reconctl_link *link);

MUST_CHECK int reconctl_server_start(struct reconctl_server *server, struct err *err);
void reconctl_server_stop(struct reconctl_server *server);
/* Forgets a server, which goes on, with its files. */
void reconctl_server_leave(struct reconctl_server *server);
/* For a signal handler: the process is about to end, and its server must not outlive it. */
void reconctl_server_abandon(void);
/* Tells whether there is a recond that could be started, and where; path [cap]. */
bool reconctl_server_find(char *path, size_t cap);
/* Tells whether a program stands in PATH, and where; path [cap]. */
bool reconctl_server_in_path(const char *name, char *path, size_t cap);

/* Gets a path as a JSON document; json_free() it. */
MUST_CHECK int reconctl_get(struct client *client, const char *path, struct json **doc,
                            struct err *err);
/*
 * reconctl_find_session - the session that a user means
 *
 * In:      text: an id, the beginning of one that no other has, or a name that no other has
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT: several; as client_request(), asked for all but a whole id
 */
MUST_CHECK int reconctl_find_session(char id[CONTROL_ID_CAP], struct client *client,
                                     const char *text, struct err *err);
uint64_t reconctl_hex(const char *text); /* hash as JSON has it */
/* Closes an object and prints it as one line. */
void reconctl_print(struct json_writer *w);
/* Prints an object as it came from the server, with its type in front. */
void reconctl_print_json(const char *type, const char *body);
/* Says that a file was written. */
void reconctl_print_file(const struct reconctl_common *common, const char *type, const char *file);
/* Does the name of a file stand for standard output? */
bool reconctl_is_output(const char *file);

#endif
