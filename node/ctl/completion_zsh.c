#include "node/ctl/completion.h"

#include <stdio.h>
#include <string.h>

#include "node/ctl/commands.h"

/* In single quotes, with what _arguments would take for itself behind a backslash. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_option(const struct option_row *row, const char *form)
{
    printf(" \\\n            '%s[", form);
    zsh_text(row->text);
    putchar(']');
    if (row->value)
        printf(":%s:%s", row->value,
               row->kind == OPTION_CHOICES ? "_values -s , state "
               : row->choices              ? "("
               : row->kind == OPTION_FILE  ? "_files"
                                           : " ");
    if (row->choices) {
        completion_words(row->choices);
        if (row->kind != OPTION_CHOICES)
            putchar(')');
    }
    putchar('\'');
}

static void zsh_options(const struct option_row *rows)
{
    for (; rows && rows->name; rows++) {
        char form[64];

        snprintf(form, sizeof(form), rows->value ? "--%s=" : "--%s", rows->name);
        zsh_option(rows, form);
        if (!rows->letter)
            continue;
        snprintf(form, sizeof(form), rows->value ? "-%c+" : "-%c", rows->letter);
        zsh_option(rows, form);
    }
}

static void zsh_command(const struct command *command)
{
    printf("        %s) _arguments", command->name);
    zsh_options(command->options);
    zsh_options(options_common);
    if (command == &help_command)
        fputs(" \\\n            '1:command:_dueqctl_commands'", stdout);
    if (command->choices) {
        fputs(" \\\n            '1:choice:(", stdout);
        completion_words(command->choices);
        fputs(")'", stdout);
    }
    if (command->settings) {
        fputs(" \\\n            '2:topic:()' '*:setting:_dueqctl_settings'", stdout);
        puts(" ;;");
        return;
    }
    /* Without it, options behind a word are not completed. */
    fputs(" \\\n            '*:word:()'", stdout);
    puts(" ;;");
}

static void zsh_settings(const struct option_row *rows)
{
    fputs("_dueqctl_settings() {\n"
          "    case $words[2] in\n"
          "        set) compadd -S '' --",
          stdout);
    completion_settings(rows, "=");
    fputs(" ;;\n        unset) compadd --", stdout);
    completion_settings(rows, "");
    puts(" ;;\n    esac\n}\n");
}

void completion_zsh(void)
{
    puts("#compdef dueqctl\n"
         "# zsh completion of dueqctl: install it as _dueqctl in a directory of $fpath\n"
         "_dueqctl_commands() {\n"
         "    local -a commands=(");
    for (size_t i = 0; commands[i]; i++) {
        printf("        '%s:", commands[i]->name);
        zsh_text(commands[i]->summary);
        puts("'");
    }
    fputs("    )\n"
          "    _describe command commands\n"
          "}\n"
          "\n",
          stdout);
    zsh_settings(topic_command.settings);
    fputs("_dueqctl() {\n"
          "    local line state\n"
          "    _arguments -C",
          stdout);
    zsh_options(options_front);
    zsh_options(options_common);
    puts(" \\\n            '1:command:_dueqctl_commands' '*::word:->words'\n"
         "    [[ $state == words ]] || return\n"
         "    case $line[1] in");
    for (size_t i = 0; commands[i]; i++)
        zsh_command(commands[i]);
    puts("    esac\n"
         "}\n"
         "_dueqctl \"$@\"");
}
