#include "api/ctl/reconctl_help.h"

#include <stdio.h>
#include <string.h>

#define WORD 32

const struct reconctl_command *const *reconctl_commands;

static const struct {
    const char *name, *summary;
} families[] = {
    {"session", "Sessions of a server"},
    {"objects", "What a server recognises"},
    {"token", "Tokens of a token file"},
};

static size_t first_length(int i)
{
    return strcspn(reconctl_commands[i]->name, " ");
}

/* Tells whether a command begins with this word. */
static bool is_of(int i, const char *word)
{
    return strlen(word) == first_length(i) &&
           strncmp(reconctl_commands[i]->name, word, first_length(i)) == 0;
}

/* Tells whether the word begins commands of two words. */
static bool is_family(const char *word)
{
    for (int i = 0; reconctl_commands[i]; i++)
        if (is_of(i, word) && strchr(reconctl_commands[i]->name, ' '))
            return true;
    return false;
}

bool reconctl_help_is_first(int i)
{
    for (int k = 0; k < i; k++)
        if (first_length(k) == first_length(i) &&
            strncmp(reconctl_commands[k]->name, reconctl_commands[i]->name, first_length(i)) == 0)
            return false;
    return true;
}

const char *reconctl_help_summary(int i)
{
    for (size_t k = 0; k < sizeof families / sizeof *families; k++)
        if (strchr(reconctl_commands[i]->name, ' ') && is_of(i, families[k].name))
            return families[k].summary;
    return reconctl_commands[i]->summary;
}

/* Joins the first one or two words. */
static const char *words_join(char both[2 * WORD], char **word, int n)
{
    snprintf(both, 2 * WORD, "%.30s%s%.30s", word[0], n > 1 ? " " : "", n > 1 ? word[1] : "");
    return both;
}

const struct reconctl_command *reconctl_help_find(int n, char **word, int *used)
{
    char both[2 * WORD];

    for (*used = n < 2 ? n : 2; *used >= 1; (*used)--)
        for (int i = 0; reconctl_commands[i]; i++)
            if (strcmp(reconctl_commands[i]->name, words_join(both, word, *used)) == 0)
                return reconctl_commands[i];
    return NULL;
}

/* Lists the commands of a family, or all for "": as help, wrapped to the terminal, or in an error
 * message. */
static void usage(FILE *out, const char *family)
{
    const char *blank = *family ? " " : "";

    fprintf(out, "usage: reconctl %s%sCOMMAND [options]\n\n", family, blank);
    for (int i = 0; reconctl_commands[i]; i++) {
        const struct reconctl_command *c = reconctl_commands[i];

        if (*family && !is_of(i, family))
            continue;
        if (out == stdout)
            reconctl_put_text(20, "  %-17s %s", c->name, c->summary);
        else
            fprintf(out, "  %-17s %s\n", c->name, c->summary);
    }
    if (out == stdout) {
        printf("\n");
        reconctl_put_text(
            0, "`reconctl %s%sCOMMAND --help` explains a command, reconctl(1) all of them.", family,
            blank);
    } else {
        fprintf(out,
                "\n`reconctl %s%sCOMMAND --help` explains a command, reconctl(1) all of them.\n",
                family, blank);
    }
}

int reconctl_help(int n, char **word)
{
    int used;
    const struct reconctl_command *command = reconctl_help_find(n, word, &used);

    if (command)
        reconctl_args_help(command);
    else if (n == 0 || is_family(word[0]))
        usage(stdout, n ? word[0] : "");
    else
        return reconctl_help_unknown(n, word);
    return RECONCTL_OK;
}

/* Finds the command or family whose name is nearest to the typed words; "" if none is near. */
static void command_guess(char found[2 * WORD], int n, char **word)
{
    char both[2 * WORD], family[WORD];
    int best = RECONCTL_ALIKE;

    found[0] = '\0';
    for (int i = 0; reconctl_commands[i]; i++) {
        const char *name = reconctl_commands[i]->name;
        int d =
            reconctl_args_distance(strchr(name, ' ') ? words_join(both, word, n) : word[0], name);

        if (d < best)
            snprintf(found, 2 * WORD, "%s", name);
        best = d < best ? d : best;
        snprintf(family, sizeof family, "%.*s", (int)first_length(i), name);
        /* two words are more specific than one */
        d = reconctl_args_distance(word[0], family) + (n > 1);
        if (d > (n > 1) && d < best)
            snprintf(found, 2 * WORD, "%s", family);
        best = d > (n > 1) && d < best ? d : best;
    }
}

int reconctl_help_unknown(int n, char **word)
{
    char found[2 * WORD], shown[RECONCTL_SHOWN];
    bool family = n && is_family(word[0]);

    if (n == 0 || (n == 1 && family)) {
        usage(stderr, n ? word[0] : "");
        return RECONCTL_USAGE;
    }
    if (strcmp(word[0], "eval") == 0) {
        fprintf(stderr, "reconctl: eval has moved to recond-eval(1)\n");
        return RECONCTL_USAGE;
    }
    command_guess(found, n, word);
    fprintf(stderr, "reconctl: '%s' is no command%s%s",
            reconctl_shown(shown, word[family ? 1 : 0], 60), family ? " of " : "",
            family ? word[0] : "");
    if (*found)
        fprintf(stderr, "; did you mean `reconctl %s`?\n", found);
    else
        fprintf(stderr, ": `reconctl help%s%s` lists them\n", family ? " " : "",
                family ? word[0] : "");
    return RECONCTL_USAGE;
}
