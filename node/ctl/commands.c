#include "node/ctl/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/build.h"
#include "node/ctl/output.h"

/* clang-format off */
const struct command *const commands[] = {
    &push_command,
    &pop_command, &ack_command, &release_command, &touch_command, &bury_command, &tail_command,
    &cancel_command, &run_command, &reschedule_command, &get_command, &trace_command,
    &list_command,
    &kick_command, &purge_command,
    &topics_command, &stats_command, &topic_command, &pause_command, &resume_command,
    &status_command, &nodes_command, &check_command, &history_command,
    &events_command,
    &switchover_command, &failover_command, &cluster_command, &fence_command, &forget_command,
    &token_command,
    &help_command, &completion_command, &version_command,
    NULL,
};
/* clang-format on */

const struct command *command_find(const char *name)
{
    for (const struct command *const *at = commands; *at; at++) {
        if (!strcmp((*at)->name, name))
            return *at;
    }
    return NULL;
}

/* help, and --help anywhere: the tables in words. And version. */

/* The widest is "    --timeout DURATION"; texts have 54 columns then, on a terminal of 80. */
#define OPTION_WIDTH  23
#define COMMAND_WIDTH 12

static void print_options(const struct option_row *rows)
{
    for (; rows && rows->name; rows++) {
        char text[64];

        snprintf(text, sizeof(text), rows->letter ? "-%c, --%s%s%s" : "%c   --%s%s%s",
                 rows->letter ? rows->letter : ' ', rows->name, rows->value ? " " : "",
                 rows->value ? rows->value : "");
        printf("  %-*s %s\n", OPTION_WIDTH, text, rows->text);
    }
}

static void print_settings(const struct option_row *rows)
{
    fputs("\nSettings:\n", stdout);
    for (; rows->name; rows++) {
        char text[64];

        snprintf(text, sizeof(text), "%s=%s", rows->name, rows->value);
        printf("  %-*s %s\n", OPTION_WIDTH, text, rows->text);
    }
}

static const char exit_status[] =
    "\n"
    "Exit status:\n"
    "  0  done\n"
    "  1  refused by the node: it did not happen; or an answer that cannot be "
    "printed\n"
    "  2  wrong usage\n"
    "  3  no node, or no answer to a question\n"
    "  4  it may have happened: no answer to a change, or none that can be "
    "printed\n"
    "  5  nothing there: no such job or node, or none to pop\n";

void help_print(void)
{
    fputs("Usage: dueqctl [OPTION]... COMMAND [OPTION]... [WORD]...\n"
          "Jobs and nodes of dueq, the delayed-job queue, from a shell.\n"
          "\n"
          "Commands:\n",
          stdout);
    for (const struct command *const *at = commands; *at; at++)
        printf("  %-*s %s\n", COMMAND_WIDTH, (*at)->name, (*at)->summary);
    fputs("\nOptions, in front of a command or behind it:\n", stdout);
    print_options(options_common);
    fputs("\nOptions instead of a command:\n", stdout);
    print_options(options_front);
    fputs("\n"
          "Durations are 500ms, 30s, 10m, 1h30m, 2d.\n"
          "What comes behind '--' is no option: dueqctl push -- topic -text.\n",
          stdout);
    fputs(exit_status, stdout);
    fputs("\n'dueqctl help COMMAND' tells more about a command.\n", stdout);
}

void help_print_command(const struct command *command)
{
    printf("Usage: dueqctl %s [OPTION]...%s%s\n", command->name, *command->usage ? " " : "",
           command->usage);
    printf("%c%s.\n", command->summary[0] - 'a' + 'A', command->summary + 1);
    if (command->text)
        printf("\n%s", command->text);
    if (command->choices) {
        fputs("\nChoices:", stdout);
        for (size_t i = 0; command->choices[i]; i++)
            printf(" %s", command->choices[i]);
        putchar('\n');
    }
    if (command->settings)
        print_settings(command->settings);
    fputs("\nOptions:\n", stdout);
    print_options(command->options);
    print_options(options_common);
    fputs(exit_status, stdout);
}

static enum ctl_exit run_help(struct ctl *ctl, const struct arguments *arguments)
{
    const struct command *command;

    (void)ctl;
    if (arguments->word_count == 0) {
        help_print();
        return CTL_DONE;
    }
    command = command_find(arguments->words[0]);
    if (!command)
        return ctl_misused("there is no command '%s'", arguments->words[0]);
    help_print_command(command);
    return CTL_DONE;
}

static enum ctl_exit run_version(struct ctl *ctl, const struct arguments *arguments)
{
    (void)arguments;
    if (ctl->is_json)
        output_json_and_free(
            json_pack("{s:s, s:s}", "name", "dueqctl", "version", build_info()->full));
    else
        printf("dueqctl %s\n", build_info()->full);
    return CTL_DONE;
}

const struct command help_command = {
    .name = "help",
    .usage = "[COMMAND]",
    .summary = "explain this program, or one of its commands",
    .words_max = 1,
    .is_local = true,
    .run = run_help,
};

const struct command version_command = {
    .name = "version",
    .usage = "",
    .summary = "print the version of this program",
    .text = "That of the node is in 'dueqctl status'.\n",
    .is_local = true,
    .run = run_version,
};
