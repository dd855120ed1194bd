#include "api/ctl/reconctl.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct reconctl_command *const reconctl_commands[] = {
    &reconctl_push_command,
    &reconctl_pull_command,
    &reconctl_session_create_command,
    &reconctl_session_list_command,
    &reconctl_session_get_command,
    &reconctl_session_close_command,
    &reconctl_session_refine_command,
    &reconctl_session_kick_command,
    &reconctl_session_rotate_command,
    &reconctl_session_submap_command,
    &reconctl_session_delete_command,
    &reconctl_export_command,
    &reconctl_objects_add_command,
    &reconctl_objects_list_command,
    &reconctl_objects_rm_command,
    &reconctl_objects_match_command,
    &reconctl_render_command,
    &reconctl_top_command,
    &reconctl_doctor_command,
    &reconctl_token_new_command,
    &reconctl_token_list_command,
    &reconctl_token_revoke_command,
    &reconctl_eval_depth_command,
    &reconctl_eval_trajectory_command,
    &reconctl_eval_cloud_command,
    &reconctl_eval_scene_command,
    &reconctl_calibrate_command,
    &reconctl_completion_command,
    NULL,
};

static volatile sig_atomic_t stops;

/* The first signal asks the command to finish, the second ends the process. */
static void on_signal(int number)
{
    (void)number;
    if (++stops > 1) {
        reconctl_server_abandon();
        _exit(RECONCTL_INTERRUPTED);
    }
}

int reconctl_stopped(void)
{
    return stops;
}

bool reconctl_json(const struct reconctl_common *common)
{
    return common->json || (!common->text && !isatty(STDOUT_FILENO));
}

double reconctl_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void reconctl_sleep_ms(int ms)
{
    struct timespec t = {.tv_nsec = 10000000};

    for (; ms > 0 && !stops; ms -= 10)
        nanosleep(&t, NULL);
}

int reconctl_fail(const struct reconctl_common *common, const struct err *err)
{
    char buf[1024], where[RECONCTL_SHOWN], text[RECONCTL_SHOWN];
    struct json_writer w = json_writer(buf, sizeof buf);

    fflush(stdout);
    fprintf(stderr, "reconctl: %s%s%s\n", reconctl_shown(where, err->where, RECONCTL_SHOWN),
            err->where[0] ? ": " : "", reconctl_shown(text, err->text, RECONCTL_SHOWN));
    if (common->json) {
        json_open_map(&w, NULL);
        json_put_text(&w, "type", "error");
        json_put_text(&w, "code", err_name(err->code));
        json_put_text(&w, "where", err->where);
        json_put_text(&w, "text", err->text);
        reconctl_print(&w);
    }
    switch (err->code) {
    case ERR_DENIED:
    case ERR_BUSY:
    case ERR_STATE:
    case ERR_DEVICE:
        return RECONCTL_REFUSED;
    default:
        return RECONCTL_FAILURE;
    }
}

int reconctl_fail_link(const struct reconctl_common *common, const struct err *err)
{
    int code = reconctl_fail(common, err);

    return err->code == ERR_IO ? RECONCTL_UNREACHABLE : code;
}

int reconctl_fail_server(const struct reconctl_common *common, const struct err *err)
{
    int code = reconctl_fail_link(common, err);

    return code == RECONCTL_UNREACHABLE || err->code == ERR_FILE ? code : RECONCTL_REFUSED;
}

int reconctl_usage(const struct reconctl_common *common, const char *fmt, ...)
{
    struct err err = {.code = ERR_INPUT};
    va_list args;

    va_start(args, fmt);
    vsnprintf(err.text, sizeof err.text, fmt, args);
    va_end(args);
    reconctl_fail(common, &err);
    return RECONCTL_USAGE;
}

void reconctl_print(struct json_writer *w)
{
    json_close(w);
    if (json_finish(w))
        printf("%s\n", w->buf);
}

void reconctl_print_json(const char *type, const char *body)
{
    size_t n = strlen(body);

    if (*body == '{')
        printf("{\"type\":\"%s\"%s", type, body[1] == '}' ? "" : ",");
    printf("%s%s", body + (*body == '{'), n && body[n - 1] == '\n' ? "" : "\n");
}

void reconctl_print_file(const struct reconctl_common *common, const char *type, const char *file)
{
    char buf[PATH_MAX + 128];
    struct json_writer w = json_writer(buf, sizeof buf);

    if (!reconctl_json(common)) {
        printf("%s\n", file);
        return;
    }
    json_open_map(&w, NULL);
    json_put_text(&w, "type", type);
    json_put_text(&w, "file", file);
    reconctl_print(&w);
}

bool reconctl_is_output(const char *file)
{
    return strcmp(file, "-") == 0;
}

uint64_t reconctl_hex(const char *text)
{
    return strtoull(text, NULL, 16);
}

int reconctl_get(struct client *client, const char *path, struct json **doc, struct err *err)
{
    char *body = NULL;
    size_t len = 0;
    int rc = client_request(client, "GET", path, NULL, &body, &len, NULL, err);

    *doc = NULL;
    if (rc == 0)
        rc = json_parse(doc, body, len, 16, err);
    free(body);
    return rc;
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
    struct sigaction sa = {.sa_handler = on_signal};
    const struct reconctl_command *command;
    int words, code;

    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL);
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
