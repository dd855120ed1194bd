#include "api/ctl/reconctl_help.h"
#include "api/ctl/reconctl_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const struct reconctl_command *const commands[] = {
    &reconctl_push_command, &reconctl_pull_command, &reconctl_session_create_command,
    &reconctl_session_list_command, &reconctl_session_get_command, &reconctl_session_close_command,
    &reconctl_session_refine_command, &reconctl_session_kick_command,
    &reconctl_session_rotate_command, &reconctl_session_submap_command,
    &reconctl_session_delete_command, &reconctl_export_command, &reconctl_objects_add_command,
    &reconctl_objects_list_command, &reconctl_objects_rm_command, &reconctl_objects_match_command,
    &reconctl_render_command, &reconctl_top_command, &reconctl_doctor_command,
    &reconctl_token_new_command, &reconctl_token_list_command, &reconctl_token_revoke_command,
    &reconctl_calibrate_command, &reconctl_completion_command, NULL};
/* clang-format on */

/* Runs inside a signal handler. */
static void end_now(void)
{
    reconctl_server_abandon();
    _exit(RECONCTL_INTERRUPTED);
}

static int run_command(const struct reconctl_command *command, int argc, char **argv)
{
    struct reconctl_common *arguments = calloc(1, command->size);
    struct err err;
    int code = RECONCTL_USAGE;

    if (!arguments)
        return RECONCTL_FAILURE;
    if (command->defaults)
        command->defaults(arguments);
    if (reconctl_args_parse(command, arguments, argc, argv, &err)) {
        code = reconctl_fail(arguments, &err);
        if (err.code == ERR_FILE)
            goto out;
        code = RECONCTL_USAGE;
        fprintf(stderr, "reconctl: `reconctl %s --help` explains it\n", command->name);
    } else if (arguments->help) {
        reconctl_args_help(command);
        code = RECONCTL_OK;
    } else {
        code = command->run(arguments);
    }
out:
    free(arguments);
    return code;
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int main(int argc, char **argv)
{
    const struct reconctl_command *command;
    int words, code;

    reconctl_commands = commands;
    reconctl_stop_begin(end_now);
    signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0)) {
        printf("reconctl %s\n", RECOND_VERSION);
        return RECONCTL_OK;
    }
    if (argc >= 2 && is_help(argv[1]))
        return reconctl_help(argc - 2, argv + 2);
    command = reconctl_help_find(argc - 1, argv + 1, &words);
    if (!command && argc == 3 && is_help(argv[2]))
        return reconctl_help(1, argv + 1);
    if (!command)
        return reconctl_help_unknown(argc - 1, argv + 1);
    code = run_command(command, argc - words, argv + words);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (!reconctl_reader_left())
            fprintf(stderr, "reconctl: standard output cannot be written: %s\n", strerror(errno));
        code = code ? code : RECONCTL_FAILURE;
    }
    return code;
}
