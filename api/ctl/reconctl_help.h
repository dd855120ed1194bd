/*
 * reconctl_help.h - commands by their names, and what `reconctl help` says of them
 */
#ifndef RECOND_API_RECONCTL_HELP_H
#define RECOND_API_RECONCTL_HELP_H

#include "api/ctl/reconctl_args.h"

/* All commands, NULL-terminated; main() sets it before anything else. */
extern const struct reconctl_command *const *reconctl_commands;

/* Finds the command that the words begin with, and how many words its name has; NULL: none. */
const struct reconctl_command *reconctl_help_find(int n, char **word, int *used);
/* Tells whether command i is the first of those with its first word. */
bool reconctl_help_is_first(int i);
/* Returns one sentence about command i, or about its family if that has several. */
const char *reconctl_help_summary(int i);
/* Explains the words: all commands, a family ("session") or a command. Returns the exit code. */
int reconctl_help(int n, char **word);
/* Says that the words name no command, and which commands are similar. Returns RECONCTL_USAGE. */
int reconctl_help_unknown(int n, char **word);

#endif
