/* The texts of --help, made of the tables. */
#ifndef DUEQ_NODE_CTL_HELP_H
#define DUEQ_NODE_CTL_HELP_H

#include "node/ctl/commands.h"

/* Of the program, and of one command; on stdout. */
void help_print(void);
void help_print_command(const struct command *command);

#endif
