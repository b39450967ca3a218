/* The table of commands. To add one: its functions and its struct in a file cmd_*.c, of its own
 * or of commands like it (a new file is one more in CMakeLists.txt); its name below, and a line
 * in commands.c, where the help has it; a section in doc/man/dueqctl.1; a test in
 * itests/features/test_dueqctl_*.py. Help and completion are made of the table: they complete
 * commands, options, and those words that `choices` and `settings` list. */
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
        *settings; /* behind a choice and a topic: NAME=VALUE; may be NULL */
    int words_min, words_max;
    bool is_local; /* asks no node: ctl->client is NULL */
    int names;     /* so many of its words are names, the others may be any bytes; 0: all are */
    enum ctl_exit (*run)(struct ctl *ctl, const struct arguments *arguments);
};

/* In the order of the help; ends with NULL. */
extern const struct command *const commands[];

/* NULL: there is none. */
const struct command *command_find(const char *name);
extern const struct command push_command, pop_command, ack_command, release_command,
    touch_command, bury_command, cancel_command, kick_command, run_command, reschedule_command,
    get_command, list_command, purge_command, topics_command, stats_command, topic_command,
    pause_command, resume_command, trace_command, tail_command, status_command, help_command,
    completion_command, version_command, nodes_command, events_command, history_command,
    check_command, switchover_command, failover_command, cluster_command, fence_command,
    forget_command;

/* The texts of --help, made of the tables. */

/* Of the program, and of one command; on stdout. */
void help_print(void);
void help_print_command(const struct command *command);

#endif
