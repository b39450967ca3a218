/* The table of commands. To add one: its functions and its struct in the cmd_*.c of commands
 * like it, and its line in the list at the end of that file; a section in doc/man/dueqctl.1, in
 * the same order; a test in itests/features/dueqctl/test_dueqctl_*.py. Help and completion are
 * made of the table: they complete commands, options, and those words that `choices` and
 * `settings` list. */
#ifndef DUEQ_NODE_CTL_COMMANDS_H
#define DUEQ_NODE_CTL_COMMANDS_H

#include "node/ctl/ctl.h"
#include "node/ctl/options.h"

#define WORDS_ANY 1000000

struct command {
    const char *name;
    const char *usage;                /* its words */
    const char *summary;              /* one line, begins small */
    const char *text;                 /* what else its help says: lines of 80; may be NULL */
    const struct option_row *options; /* its own; may be NULL */
    const char *const *choices;       /* what its word may be; NULL: anything */
    const struct option_row
        *settings;       /* behind a choice and a topic: NAME=VALUE; may be NULL */
    const char *expects; /* of a change to one job: as in struct request */
    const char *done;    /* what has been done to jobs: "cancelled" */
    int words_min, words_max;
    bool is_local; /* asks no node: ctl->client is NULL */
    int names;     /* so many words are names, the others may be any bytes; 0: all are names */
    enum ctl_exit (*run)(struct ctl *ctl, const struct arguments *arguments);
};

/* Those of a file; each list ends with NULL. */
extern const struct command *const push_commands[];
extern const struct command *const consume_commands[];
extern const struct command *const job_commands[];
extern const struct command *const list_commands[];
extern const struct command *const sweep_commands[];
extern const struct command *const topics_commands[];
extern const struct command *const nodes_commands[];
extern const struct command *const events_commands[];
extern const struct command *const cluster_commands[];
extern const struct command help_command, completion_command, topic_command;

/* In the order of the help, from 0 on; NULL: there are no more. */
const struct command *command_at(unsigned i);

/* NULL: there is none. */
const struct command *command_find(const char *name);

/* "dueqctl __complete WORD...": prints which words fit in place of the last; completion.c says
 * how. Asks no node. */
enum ctl_exit completion_answer(int count, char **words);

/* The texts of --help, made of the tables. */

/* Of the program, and of one command; on stdout. */
void help_print(void);
void help_print_command(const struct command *command);

#endif
