/* The table of commands. To add one: its functions and its struct in the cmd_*.c of commands
 * like it, its name below and in commands.c; a section in doc/man/dueqctl.1, in the same order;
 * a test in itests/features/dueqctl/test_dueqctl_*.py. Help and completion are made of the
 * table: they complete commands, options, and those words that `choices` and `settings` list.
 */
#ifndef DUEQ_NODE_CTL_COMMANDS_H
#define DUEQ_NODE_CTL_COMMANDS_H

#include <jansson.h>

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

extern const struct command push_command, pop_command, ack_command, release_command,
    touch_command, bury_command, tail_command, cancel_command, run_command, reschedule_command,
    get_command, trace_command, list_command, kick_command, purge_command, topics_command,
    stats_command, topic_command, pause_command, resume_command, status_command, nodes_command,
    check_command, history_command, events_command, switchover_command, failover_command,
    cluster_command, fence_command, forget_command, token_command, help_command,
    completion_command, version_command;

/* All of them, in the order of the help; NULL ends them. */
extern const struct command *const commands[];

/* cmd_job.c: something done to jobs by their ids. The first word is the topic; the others are
 * ids, or '-' for ids in lines of stdin. DELETEs the jobs, or POSTs to the path that has the
 * command's name. `body` is taken over; with a body people are told the answer's due_ms. */
enum ctl_exit each_run(struct ctl *ctl, const struct arguments *arguments, const char *method,
                       json_t *body);

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
