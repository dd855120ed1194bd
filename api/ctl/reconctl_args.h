/*
 * reconctl_args.h - commands, their options, and the words of a command line that are read by them
 *
 * A command is one row: its name, its operands, its options and a function. The table of options
 * is read by the parser, by --help, by the shell completions and by the test that holds
 * docs/reconctl.1 against the program. Every command's options are a struct whose first member is
 * struct reconctl_common.
 */
#ifndef RECOND_API_RECONCTL_ARGS_H
#define RECOND_API_RECONCTL_ARGS_H

#include "api/ctl/reconctl.h"
#include "api/session_options.h"

#define RECONCTL_LIST_MAX 32

struct reconctl_list {
    const char *at[RECONCTL_LIST_MAX];
    int n;
};

enum reconctl_kind {
    RECONCTL_FLAG,   /* bool */
    RECONCTL_INT,    /* int in [min, max] */
    RECONCTL_REAL,   /* double in [min, max] */
    RECONCTL_TEXT,   /* const char * */
    RECONCTL_OUTPUT, /* const char *, a file to be written; it is tried at once */
    RECONCTL_LIST,   /* struct reconctl_list of KEY=VALUE; may be given several times */
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

struct reconctl_command {
    const char *name;     /* "push", "session list" */
    const char *operands; /* words; [WORD] may be left out; WORD... may be given several times */
    const char *summary;
    int (*run)(void *arguments); /* returns enum reconctl_exit */
    size_t size;                 /* size of the options' struct */
    const struct reconctl_option *options;
    size_t asked; /* offset of the struct session_options that its flags fill, or 0 */
    void (*defaults)(void *arguments); /* sets defaults other than zero, or NULL */
};

/* Defines a command in the file of its family; the members follow in their order. */
#define RECONCTL_COMMAND(id, ...) \
    const struct reconctl_command reconctl_##id##_command = {__VA_ARGS__}
extern const struct reconctl_command reconctl_push_command, reconctl_pull_command,
    reconctl_session_create_command, reconctl_session_list_command, reconctl_session_get_command,
    reconctl_session_close_command, reconctl_session_refine_command, reconctl_session_kick_command,
    reconctl_session_rotate_command, reconctl_session_submap_command,
    reconctl_session_delete_command, reconctl_export_command, reconctl_objects_add_command,
    reconctl_objects_list_command, reconctl_objects_rm_command, reconctl_objects_match_command,
    reconctl_render_command, reconctl_top_command, reconctl_doctor_command,
    reconctl_token_new_command, reconctl_token_list_command, reconctl_token_revoke_command,
    reconctl_calibrate_command, reconctl_completion_command;

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

#define RECONCTL_ALIKE 3 /* words that differ by less count as typing errors */
/* Counts the letters that must be changed, inserted, deleted or swapped with the next to make b of
 * a. */
int reconctl_args_distance(const char *a, const char *b);

#endif
