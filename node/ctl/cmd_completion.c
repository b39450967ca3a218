/* completion: prints a script for a shell. Each shell's is in a file of its own. */
#include <stdio.h>
#include <string.h>

#include "node/ctl/commands.h"
#include "node/ctl/completion.h"

void completion_words(const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        printf("%s%s", i ? " " : "", words[i]);
}

void completion_settings(const struct option_row *rows, const char *end)
{
    for (; rows->name; rows++)
        printf(" %s%s", rows->name, end);
}

void completion_choices(const struct command *command)
{
    if (command == &help_command) {
        for (size_t i = 0; commands[i]; i++)
            printf(" %s", commands[i]->name);
    }
    for (size_t i = 0; command->choices && command->choices[i]; i++)
        printf(" %s", command->choices[i]);
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    static void (*const printers[])(void) = {completion_bash, completion_zsh, completion_fish};

    (void)ctl;
    for (size_t i = 0; shells[i]; i++) {
        if (!strcmp(shells[i], arguments->words[0])) {
            printers[i]();
            return CTL_DONE;
        }
    }
    return ctl_misused("completion: there are bash, zsh and fish, not '%s'",
                       arguments->words[0]);
}

const struct command completion_command = {
    .name = "completion",
    .usage = "SHELL",
    .summary = "print a completion script for a shell",
    .text = "For bash, in ~/.bashrc: source <(dueqctl completion bash)\n",
    .choices = shells,
    .words_min = 1,
    .words_max = 1,
    .is_local = true,
    .run = run,
};
