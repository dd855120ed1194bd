/*
 * reconctl_help.h - commands by their names, and what `reconctl help` says of them
 */
#ifndef RECOND_API_RECONCTL_HELP_H
#define RECOND_API_RECONCTL_HELP_H

#include "api/ctl/reconctl_args.h"

/* All commands, NULL-terminated; main() sets it before anything else. */
extern const struct reconctl_command *const *reconctl_commands;

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

#endif
