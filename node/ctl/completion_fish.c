#include "node/ctl/completion.h"

#include <stdio.h>
#include <string.h>

#include "node/ctl/commands.h"

static void fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        printf(strchr("'\\", *text) ? "\\%c" : "%c", *text);
    putchar('\'');
}

/* Options that are for `when`, a condition of fish's; NULL: always. */
static void fish_options(const struct option_row *rows, const char *when)
{
    for (; rows && rows->name; rows++) {
        fputs("complete -c dueqctl", stdout);
        if (when)
            printf(" -n '%s'", when);
        printf(" -l %s", rows->name);
        if (rows->letter)
            printf(" -s %c", rows->letter);
        if (rows->value)
            fputs(rows->kind == OPTION_FILE ? " -r -F" : " -x", stdout);
        if (rows->choices) {
            fputs(rows->kind == OPTION_CHOICES ? " -a '(__dueqctl_some " : " -a '", stdout);
            completion_words(rows->choices);
            fputs(rows->kind == OPTION_CHOICES ? ")'" : "'", stdout);
        }
        fputs(" -d ", stdout);
        fish_text(rows->text);
        putchar('\n');
    }
}

/* Behind "topic set mail". */
static void fish_settings(const struct command *command)
{
    static const char *const choices[] = {"set", "unset"};

    for (size_t i = 0; i < 2; i++) {
        printf("complete -c dueqctl -n 'set -l words (__dueqctl_words); "
               "and test (count $words) -ge 3 -a \"$words[1..2]\" = \"%s %s\"' -a '",
               command->name, choices[i]);
        completion_settings(command->settings, i ? "" : "=");
        puts("'");
    }
}

static void fish_command(const struct command *command)
{
    char when[64];

    printf("complete -c dueqctl -n '__dueqctl_in \"\"' -a %s -d ", command->name);
    fish_text(command->summary);
    putchar('\n');
    snprintf(when, sizeof(when), "__dueqctl_in %s", command->name);
    fish_options(command->options, when);
    if (command != &help_command && !command->choices)
        return;
    printf("complete -c dueqctl -n '%s; and test (count (__dueqctl_words)) -eq 1' -a '", when);
    completion_choices(command);
    puts("'");
    if (command->settings)
        fish_settings(command);
}

/* Options may stand before, between and behind the words. (fish's own condition for subcommands
 * takes the value of an option for the command.) */
static void fish_words(void)
{
    fputs("# The words so far, the command first, without options and their values.\n"
          "function __dueqctl_words\n"
          "    set -l skips yes\n"
          "    for word in (commandline -opc)\n"
          "        if test -n \"$skips\"\n"
          "            set skips ''\n"
          "            continue\n"
          "        end\n"
          "        switch $word\n"
          "            case",
          stdout);
    for (const struct option_row *row = options_common; row->name; row++) {
        if (row->value)
            printf(" --%s", row->name);
        if (row->value && row->letter)
            printf(" -%c", row->letter);
    }
    puts("\n                set skips yes\n"
         "            case '-*'\n"
         "            case '*'\n"
         "                echo $word\n"
         "        end\n"
         "    end\n"
         "end\n"
         "# Is this the command so far? '': there is none.\n"
         "function __dueqctl_in\n"
         "    set -l words (__dueqctl_words)\n"
         "    test \"$words[1]\" = \"$argv[1]\"\n"
         "end");
}

/* Some words with commas between: behind those that are there, each that is not. */
static const char fish_some[] =
    "function __dueqctl_some\n"
    "    set -l before (string replace -rf '^(?:-\\w|--\\w+=)?(.*,).*' '$1' -- (commandline "
    "-ct))\n"
    "    for word in $argv\n"
    "        string match -q -- \"*,$word,*\" \",$before\"; or echo \"$before$word\"\n"
    "    end\n"
    "end";

void completion_fish(void)
{
    puts("# fish completion of dueqctl: install it as\n"
         "# /usr/share/fish/vendor_completions.d/dueqctl.fish");
    fish_words();
    puts(fish_some);
    puts("complete -c dueqctl -f");
    fish_options(options_front, "__dueqctl_in \"\"");
    fish_options(options_common, NULL);
    for (size_t i = 0; commands[i]; i++)
        fish_command(commands[i]);
}
