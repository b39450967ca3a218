#include "node/ctl/commands.h"

#include <stddef.h>
#include <string.h>

const struct command *const commands[] = {
    &push_command,     &pop_command,
    &ack_command,      &release_command,
    &touch_command,    &bury_command,
    &cancel_command,   &kick_command,
    &run_command,      &reschedule_command,
    &get_command,      &list_command,
    &purge_command,    &topics_command,
    &stats_command,    &topic_command,
    &pause_command,    &resume_command,
    &trace_command,    &tail_command,
    &status_command,   &nodes_command,
    &events_command,   &history_command,
    &check_command,    &switchover_command,
    &failover_command, &cluster_command,
    &fence_command,    &forget_command,
    &help_command,     &completion_command,
    &version_command,  NULL,
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++) {
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    }
    return NULL;
}
