#include "api/ctl/reconctl_help.h"

#include <stdio.h>
#include <string.h>

/* The command that a shell runs to learn the ids of sessions, of the server that RECOND_URL
 * names. */
#define IDS                                                   \
    "reconctl session list --json --timeout 2 2>/dev/null | " \
    "grep -o '\"id\":\"[a-z2-7]*\"' | cut -d '\"' -f 4"

static bool takes_session(const struct reconctl_command *c)
{
    return strncmp(c->operands, "SESSION", 7) == 0;
}

/* Prints the second words of a family for bash. */
static void complete_bash_second(int family)
{
    const char *name = reconctl_commands[family]->name;
    size_t n = strcspn(name, " ") + 1; /* with the blank */

    printf("    elif [[ $COMP_CWORD == 2 && ${COMP_WORDS[1]} == %.*s ]]; then\n"
           "        COMPREPLY=($(compgen -W \"",
           (int)n - 1, name);
    for (int i = family; reconctl_commands[i]; i++)
        if (strncmp(reconctl_commands[i]->name, name, n) == 0)
            printf("%s ", reconctl_commands[i]->name + n);
    printf("\" -- \"$cur\"))\n");
}

static void complete_bash(void)
{
    struct reconctl_option o;

    printf("# bash completion of reconctl: put it into "
           "/usr/share/bash-completion/completions/reconctl\n"
           "_reconctl() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} words opts=\"\" ids=\"\"\n"
           "    words=\"${COMP_WORDS[1]:-} ${COMP_WORDS[2]:-}\"\n"
           "    case $words in\n");
    for (int i = 0; reconctl_commands[i]; i++) {
        const struct reconctl_command *c = reconctl_commands[i];

        printf("    \"%s%s) opts=\"", c->name, strchr(c->name, ' ') ? "\"*" : " \"*");
        for (int k = 0; reconctl_option_at(c, k, &o); k++)
            printf("%s--%s", k ? " " : "", o.name);
        printf("\"%s ;;\n", takes_session(c) ? " ids=1" : "");
    }
    printf("    esac\n"
           "    if [[ $cur == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\"))\n"
           "    elif [[ $COMP_CWORD == 1 ]]; then\n"
           "        COMPREPLY=($(compgen -W \"");
    for (int i = 0; reconctl_commands[i]; i++)
        if (reconctl_help_is_first(i))
            printf("%.*s ", (int)strcspn(reconctl_commands[i]->name, " "),
                   reconctl_commands[i]->name);
    printf("help\" -- \"$cur\"))\n");
    for (int i = 0; reconctl_commands[i]; i++)
        if (reconctl_help_is_first(i) && strchr(reconctl_commands[i]->name, ' '))
            complete_bash_second(i);
    printf("    elif [[ $ids ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$(" IDS ")\" -- \"$cur\"))\n"
           "    else\n"
           "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -F _reconctl reconctl\n");
}

/* Prints a help text inside single quotes, with colons and brackets escaped for zsh. */
static void print_zsh(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\'");
        else if (strchr(":[]\\", *text))
            putchar('\\');
        putchar(*text);
    }
}

/* Prints the second words of a family for zsh. */
static void complete_zsh_second(int family)
{
    const char *name = reconctl_commands[family]->name;
    size_t n = strcspn(name, " ") + 1; /* with the blank */

    printf("    \"%.*s\"*) compadd --", (int)n, name);
    for (int i = family; reconctl_commands[i]; i++)
        if (strncmp(reconctl_commands[i]->name, name, n) == 0)
            printf(" %s", reconctl_commands[i]->name + n);
    printf(" ;;\n");
}

static void complete_zsh(void)
{
    struct reconctl_option o;

    printf("#compdef reconctl\n"
           "_reconctl_ids() { compadd -- $(" IDS "); }\n"
           "_reconctl() {\n    case \"$words[2] $words[3]\" in\n");
    for (int i = 0; reconctl_commands[i]; i++) {
        const struct reconctl_command *c = reconctl_commands[i];

        printf("    \"%s%s) _arguments", c->name, strchr(c->name, ' ') ? "\"*" : " \"*");
        for (int k = 0; reconctl_option_at(c, k, &o); k++) {
            printf(" \\\n        '%s--%s%s[", o.kind == RECONCTL_LIST ? "*" : "", o.name,
                   o.arg ? "=" : "");
            print_zsh(o.help);
            printf("]%s%s%s'", o.arg ? ":" : "", o.arg ? o.arg : "", o.arg ? ":_files" : "");
        }
        printf(" '*:%s' ;;\n", takes_session(c) ? "session:_reconctl_ids" : "file:_files");
    }
    for (int i = 0; reconctl_commands[i]; i++)
        if (reconctl_help_is_first(i) && strchr(reconctl_commands[i]->name, ' '))
            complete_zsh_second(i);
    printf("    *) compadd --");
    for (int i = 0; reconctl_commands[i]; i++)
        if (reconctl_help_is_first(i))
            printf(" %.*s", (int)strcspn(reconctl_commands[i]->name, " "),
                   reconctl_commands[i]->name);
    printf(" help ;;\n    esac\n}\n_reconctl \"$@\"\n");
}

/* Prints a text in single quotes for fish. Parentheses would be run inside double quotes. */
static void print_fish(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (strchr("'\\", *text))
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

/* Prints the beginning of a rule that holds once a command's words are typed. */
static void begin_fish(const struct reconctl_command *c)
{
    int first = (int)strcspn(c->name, " ");

    printf("complete -c reconctl -n '__fish_seen_subcommand_from %.*s", first, c->name);
    if (c->name[first])
        printf("; and __fish_seen_subcommand_from %s", c->name + first + 1);
    printf("'");
}

static void complete_fish(void)
{
    struct reconctl_option o;

    printf("function __reconctl_ids\n    " IDS "\nend\n");
    for (int i = 0; reconctl_commands[i]; i++) {
        const struct reconctl_command *c = reconctl_commands[i];
        int first = (int)strcspn(c->name, " ");

        if (reconctl_help_is_first(i)) {
            printf("complete -c reconctl -f -n __fish_use_subcommand -a %.*s -d ", first, c->name);
            print_fish(reconctl_help_summary(i));
            printf("\n");
        }
        if (c->name[first]) {
            printf("complete -c reconctl -f -n '__fish_seen_subcommand_from %.*s' -a %s -d ", first,
                   c->name, c->name + first + 1);
            print_fish(c->summary);
            printf("\n");
        }
        if (takes_session(c)) {
            begin_fish(c);
            printf(" -f -a '(__reconctl_ids)'\n");
        }
        for (int k = 0; reconctl_option_at(c, k, &o); k++) {
            begin_fish(c);
            printf(" -l %s%s -d ", o.name, o.arg ? " -r" : "");
            print_fish(o.help);
            printf("\n");
        }
    }
}

static int run_completion(void *arguments)
{
    const struct reconctl_common *common = arguments;
    const char *shell = common->operands[0];

    if (strcmp(shell, "bash") == 0)
        complete_bash();
    else if (strcmp(shell, "zsh") == 0)
        complete_zsh();
    else if (strcmp(shell, "fish") == 0)
        complete_fish();
    else
        return reconctl_usage(common, "'%.30s' is no shell that is known: bash, zsh, fish", shell);
    return RECONCTL_OK;
}

RECONCTL_COMMAND(completion, "completion", "bash|zsh|fish", "Print a completion script for a shell",
                 run_completion, sizeof(struct reconctl_common));
