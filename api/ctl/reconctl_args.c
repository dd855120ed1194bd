#include "api/ctl/reconctl_args.h"

#include "api/file.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 64
#define COMMON(field) offsetof(struct reconctl_common, field)
#define HELP_CAP 512
#define WORD_MAX 64
#define HELP_INDENT 32

/* clang-format off */
static const struct reconctl_option common_options[] = {
    {"url", 'u', "URL", RECONCTL_TEXT, COMMON(url), 0, 0,
     "Server; default $RECOND_URL, else " RECONCTL_DEFAULT_URL},
    {"token-file", 0, "FILE", RECONCTL_TEXT, COMMON(token_file), 0, 0,
     "File with the bearer token; default $RECOND_TOKEN_FILE"},
    {"ca", 0, "FILE", RECONCTL_TEXT, COMMON(ca_file), 0, 0,
     "PEM file of the authorities to trust; default $RECOND_CA_FILE, else the system's"},
    {"timeout", 0, "SECONDS", RECONCTL_INT, COMMON(timeout_s), 1, 3600,
     "Give up on a silent server after this long (10)"},
    {"json", 'j', NULL, RECONCTL_FLAG, COMMON(json), 0, 0,
     "JSON Lines on standard output, also on a terminal"},
    {"text", 0, NULL, RECONCTL_FLAG, COMMON(text), 0, 0,
     "Text for people on standard output, also off a terminal"},
    {"help", 'h', NULL, RECONCTL_FLAG, COMMON(help), 0, 0, "Explain this command"},
    {0},
};
/* clang-format on */

static bool has_own(const struct reconctl_command *c, const char *name)
{
    for (const struct reconctl_option *o = c->options; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

bool reconctl_option_at(const struct reconctl_command *c, int i, struct reconctl_option *o)
{
    for (const struct reconctl_option *own = c->options; own && own->name; own++)
        if (i-- == 0) {
            *o = *own;
            return true;
        }
    for (int k = 0; c->asked && k < session_options_n; k++) {
        const struct session_option *row = &session_options_table[k];
        if (row->flag && i-- == 0) {
            *o = (struct reconctl_option){
                row->flag, 0,        row->arg,  RECONCTL_ROW, c->asked + row->offset,
                row->min,  row->max, row->help, row};
            return true;
        }
    }
    for (const struct reconctl_option *common = common_options; common->name; common++)
        if (!has_own(c, common->name) && i-- == 0) {
            *o = *common;
            return true;
        }
    return false;
}

static int get_number(const struct reconctl_option *o, double *v, const char *text, struct err *err)
{
    bool whole = o->row ? o->row->type != SESSION_OPTION_REAL : o->kind == RECONCTL_INT;
    char *end;

    *v = strtod(text, &end);
    if (end == text || *end || !isfinite(*v) || *v < o->min || *v > o->max ||
        (whole && *v != floor(*v)))
        return err_set(err, ERR_INPUT, "--%s takes %s in %g...%g, not '%.60s'", o->name,
                       whole ? "a whole number" : "a number", o->min, o->max, text);
    return 0;
}

static int set_word(const struct reconctl_option *o, int *to, const char *text, struct err *err)
{
    char list[96] = "";

    for (int i = 0; o->row->words[i]; i++) {
        size_t n = strlen(list);
        if (strcmp(o->row->words[i], text) == 0) {
            *to = i + 1;
            return 0;
        }
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", o->row->words[i]);
    }
    return err_set(err, ERR_INPUT, "--%s takes one of %s, not '%.30s'", o->name, list, text);
}

/* Sets names of objects, separated by commas. */
static int set_names(const struct reconctl_option *o, char *to, const char *text, struct err *err)
{
    char name[API_NAME_CAP];
    int n = 0;

    snprintf(to, o->row->size, "%s", text);
    while (session_options_name_at(text, n, name) && session_options_name_valid(name))
        n++;
    if (n > 0 && n <= SESSION_OBJECTS_MAX && !session_options_name_at(text, n, name) &&
        strlen(text) < o->row->size && text[strlen(text) - 1] != ',')
        return 0;
    return err_set(err, ERR_INPUT, "--%s takes 1 to %d names with a comma between two, not '%.60s'",
                   o->name, SESSION_OBJECTS_MAX, text);
}

/* Sets an option of the session. It refuses words that the server would refuse only after the
 * source was opened. */
static int set_row(const struct reconctl_option *o, void *to, const char *text, struct err *err)
{
    double v;
    int rc;

    if (o->row->type == SESSION_OPTION_WORD)
        return set_word(o, to, text, err);
    if (o->row->type == SESSION_OPTION_TEXT) {
        if ((size_t)snprintf(to, o->row->size, "%s", text) >= o->row->size)
            return err_set(err, ERR_INPUT, "--%s takes at most %zu bytes, not %zu", o->name,
                           o->row->size - 1, strlen(text));
        return 0;
    }
    if (o->row->type == SESSION_OPTION_NAMES)
        return set_names(o, to, text, err);
    rc = get_number(o, &v, text, err);
    if (rc == 0 && o->row->type == SESSION_OPTION_REAL)
        *(float *)to = (float)v;
    else if (rc == 0)
        *(int *)to = (int)v;
    return rc;
}

static int set_size(const struct reconctl_option *o, struct reconctl_size *to, const char *text,
                    struct err *err)
{
    char rest;

    if (sscanf(text, "%5dx%5d%c", &to->w, &to->h, &rest) != 2 || to->w < o->min || to->w > o->max ||
        to->h < o->min || to->h > o->max)
        return err_set(err, ERR_INPUT, "--%s takes WIDTHxHEIGHT, each in %g...%g, not '%.60s'",
                       o->name, o->min, o->max, text);
    return 0;
}

static int option_set(const struct reconctl_option *o, void *arguments, const char *text,
                      struct err *err)
{
    void *to = (char *)arguments + o->offset;
    struct reconctl_list *list = to;
    double v = 0;
    int rc;

    switch (o->kind) {
    case RECONCTL_FLAG:
        *(bool *)to = true;
        return 0;
    case RECONCTL_INT:
        rc = get_number(o, &v, text, err);
        if (rc == 0)
            *(int *)to = (int)v;
        return rc;
    case RECONCTL_REAL:
        return get_number(o, to, text, err);
    case RECONCTL_ROW:
        return set_row(o, to, text, err);
    case RECONCTL_SIZE:
        return set_size(o, to, text, err);
    case RECONCTL_TEXT:
    case RECONCTL_OUTPUT:
        if (o->kind != RECONCTL_TEXT && reconctl_is_output(text))
            return err_set(err, ERR_INPUT, "--%s names a file; " RECONCTL_NO_OUTPUT, o->name);
        if (!*text)
            return err_set(err, ERR_INPUT, "--%s takes a value that is not empty", o->name);
        *(const char **)to = text;
        return o->kind == RECONCTL_TEXT ? 0 : file_try(text, err);
    case RECONCTL_LIST:
        if (strcspn(text, "=.") == 0 || !strchr(text, '='))
            return err_set(err, ERR_INPUT, "--%s takes %s, not '%.60s'", o->name, o->arg, text);
        if (list->n == RECONCTL_LIST_MAX)
            return err_set(err, ERR_LIMIT, "--%s can be given %d times", o->name,
                           RECONCTL_LIST_MAX);
        list->at[list->n++] = text;
        return 0;
    }
    return 0;
}

static void count_operands(const char *words, int *least, int *most)
{
    *least = *most = 0;
    for (; *words; words += strspn(words, " ")) {
        *least += *words != '[';
        *most += 1;
        words += strcspn(words, " ");
        if (words[-1] == '.')
            *most = RECONCTL_OPERANDS_MAX;
    }
}

static int option_unknown(const struct reconctl_command *command, const char *text, struct err *err)
{
    char typed[32], guess[64] = "";
    struct reconctl_option o;
    int best = RECONCTL_ALIKE;

    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(text, "="), text);
    for (int i = 0; typed[0] && typed[1] == '-' && reconctl_option_at(command, i, &o); i++)
        if (reconctl_args_distance(typed + 2, o.name) < best) {
            best = reconctl_args_distance(typed + 2, o.name);
            snprintf(guess, sizeof guess, "; did you mean --%.40s?", o.name);
        }
    return err_set(err, ERR_INPUT, "'%.60s' is no option of %s%s", text, command->name, guess);
}

int reconctl_args_parse(const struct reconctl_command *command, void *arguments, int argc,
                        char **argv, struct err *err)
{
    struct option longs[OPTIONS_MAX + 1] = {0};
    struct reconctl_common *common = arguments;
    char shorts[3 * OPTIONS_MAX + 2] = ":";
    struct reconctl_option o;
    size_t s = 1;
    int n = 0, which, c, least, most, rc = 0;

    for (; n < OPTIONS_MAX && reconctl_option_at(command, n, &o); n++) {
        longs[n] = (struct option){.name = o.name, .has_arg = o.arg ? 1 : 0, .val = 256 + n};
        if (o.letter) {
            shorts[s++] = o.letter;
            if (o.arg)
                shorts[s++] = ':';
        }
    }
    optind = 0; /* makes glibc start anew */
    while (rc == 0 && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        which = c - 256;
        for (int i = 0; c < 256 && i < n; i++)
            if (reconctl_option_at(command, i, &o) && o.letter == c)
                which = i;
        if (c == '?')
            rc = option_unknown(command, argv[optind - 1], err);
        else if (c == ':')
            rc = err_set(err, ERR_INPUT, "'%.60s' needs a value", argv[optind - 1]);
        else if (reconctl_option_at(command, which, &o))
            rc = option_set(&o, arguments, optarg, err);
    }
    if (rc || common->help)
        return rc;
    n = argc - optind;
    count_operands(command->operands, &least, &most);
    if (n < least || n > most)
        return err_set(err, ERR_INPUT, "usage: reconctl %s %s", command->name, command->operands);
    for (int i = 0; i < n; i++)
        common->operands[common->n_operands++] = argv[optind + i];
    return 0;
}

/* Writes the help of a session option, with its allowed values. */
static const char *help_row(char text[HELP_CAP], const struct session_option *row)
{
    size_t n = (size_t)snprintf(text, HELP_CAP, "%s", row->help);

    if (row->max > row->min)
        n += (size_t)snprintf(text + n, HELP_CAP - n, " (%.10g...%.10g)", row->min, row->max);
    for (int k = 0; row->words && row->words[k]; k++)
        n += (size_t)snprintf(text + n, HELP_CAP - n, "%s%s%s", k ? ", " : " (", row->words[k],
                              row->words[k + 1] ? "" : ")");
    return text;
}

void reconctl_args_help(const struct reconctl_command *command)
{
    struct reconctl_option o;
    char left[64], text[HELP_CAP];

    reconctl_put_text(7, "usage: reconctl %s [options]%s%s", command->name,
                      *command->operands ? " " : "", command->operands);
    printf("\n");
    reconctl_put_text(0, "%s.", command->summary);
    printf("\noptions:\n");
    for (int i = 0; reconctl_option_at(command, i, &o); i++) {
        snprintf(left, sizeof left, "%s--%s%s%s",
                 o.letter ? (char[]){'-', o.letter, ',', ' ', 0} : "    ", o.name, o.arg ? " " : "",
                 o.arg ? o.arg : "");
        reconctl_put_text(HELP_INDENT, "  %-28s  %s", left, o.row ? help_row(text, o.row) : o.help);
    }
    if (command->asked)
        printf("\noptions of the session (-o KEY=VALUE):\n");
    for (int i = 0; command->asked && i < session_options_n; i++) {
        const struct session_option *row = &session_options_table[i];

        snprintf(left, sizeof left, "%s%s%s", row->group ? row->group : "", row->group ? "." : "",
                 row->name);
        reconctl_put_text(HELP_INDENT, "  %-28s  %s", left, help_row(text, row));
    }
}

int reconctl_args_distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b), d[WORD_MAX][WORD_MAX], least;

    if (n >= WORD_MAX || m >= WORD_MAX)
        return WORD_MAX;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            d[i][j] = i + j;
            if (i == 0 || j == 0)
                continue;
            least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
            least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < least)
                least = d[i - 2][j - 2] + 1;
            d[i][j] = least;
        }
    return d[n][m];
}
