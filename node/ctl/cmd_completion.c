/* completion: scripts that teach a shell the commands and options, made of the tables. */
#include <stdio.h>
#include <string.h>

#include "node/ctl/commands.h"

/* ---- bash ---- */

static void bash_words(const struct option_row *rows)
{
    for (; rows && rows->name; rows++)
        printf(" --%s", rows->name);
}

/* "--url|-u|--timeout", behind what `separator` stands for; returns the next one. */
static const char *bash_names(const struct option_row *rows, bool of_files,
                              const char *separator)
{
    for (; rows && rows->name; rows++) {
        if (!rows->value || (rows->kind == OPTION_FILE) != of_files)
            continue;
        printf("%s--%s", separator, rows->name);
        if (rows->letter)
            printf("|-%c", rows->letter);
        separator = "|";
    }
    return separator;
}

/* A branch of a `case`, for options whose next word is a value: "--url|-u|--timeout) does". */
static void bash_branch(int indent, const struct option_row *own, bool of_files,
                        const char *does)
{
    const char *separator = "";

    printf("%*s", indent, "");
    separator = bash_names(own, of_files, separator);
    bash_names(options_common, of_files, separator);
    printf(") %s ;;\n", does);
}

/* The value behind "--file=". */
static void bash_file_values(const struct option_row *rows)
{
    for (; rows && rows->name; rows++) {
        if (rows->kind == OPTION_FILE)
            printf("            [[ $word != --%s=* ]] || { compopt -o default; return; }\n",
                   rows->name);
    }
}

static bool has_files(const struct option_row *rows)
{
    while (rows && rows->name && rows->kind != OPTION_FILE)
        rows++;
    return rows && rows->name;
}

static void print_choices(const struct command *command)
{
    if (command == &help_command) {
        for (size_t i = 0; commands[i]; i++)
            printf(" %s", commands[i]->name);
    }
    for (size_t i = 0; command->choices && command->choices[i]; i++)
        printf(" %s", command->choices[i]);
}

static void bash_command(const struct command *command)
{
    printf("        %s)\n            case $before in\n", command->name);
    bash_branch(16, command->options, false, "return");
    if (has_files(command->options))
        bash_branch(16, command->options, true, "compopt -o default; return");
    puts("            esac");
    bash_file_values(command->options);
    fputs("            words=\"", stdout);
    bash_words(command->options);
    bash_words(options_common);
    print_choices(command);
    puts("\"\n            ;;");
}

static void bash_front(void)
{
    puts("        '')\n            case $before in");
    bash_branch(16, NULL, false, "return");
    fputs("            esac\n            words=\"", stdout);
    bash_words(options_front);
    bash_words(options_common);
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
    puts("\"\n            ;;");
}

/* bash cuts words at ':' and '=' as well: where the line has no blank between two parts they
 * are one word. File names are left to bash itself, which quotes what it inserts. */
static const char bash_begin[] =
    "# bash completion of dueqctl: source it, or install it as\n"
    "# /usr/share/bash-completion/completions/dueqctl\n"
    "_dueqctl() {\n"
    "    local rest=$COMP_LINE word= before= command= words= part i\n"
    "    local -a all=()\n"
    "    COMPREPLY=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        part=${COMP_WORDS[i]}\n"
    "        if ((i == 0)) || [[ $rest == [[:blank:]]* ]]; then\n"
    "            all+=(\"$part\")\n"
    "        else\n"
    "            all[${#all[@]}-1]+=$part\n"
    "        fi\n"
    "        rest=${rest#*\"$part\"}\n"
    "    done\n"
    "    word=${all[${#all[@]}-1]}\n"
    "    ((${#all[@]} < 2)) || before=${all[${#all[@]}-2]}\n"
    "    for ((i = 1; i < ${#all[@]} - 1; i++)); do\n"
    "        case ${all[i]} in\n";

static void print_bash(void)
{
    fputs(bash_begin, stdout);
    bash_branch(12, NULL, false, "((i++))");
    puts("            -*) ;;\n"
         "            *) command=${all[i]}; break ;;\n"
         "        esac\n"
         "    done\n"
         "    case $command in");
    bash_front();
    for (size_t i = 0; commands[i]; i++)
        bash_command(commands[i]);
    puts("    esac\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -F _dueqctl dueqctl");
}

/* ---- zsh ---- */

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
        printf(":%s:%s", row->value, row->kind == OPTION_FILE ? "_files" : " ");
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
        for (size_t i = 0; command->choices[i]; i++)
            printf("%s%s", i ? " " : "", command->choices[i]);
        fputs(")'", stdout);
    }
    /* Without it, options behind a word are not completed. */
    fputs(" \\\n            '*:word:()'", stdout);
    puts(" ;;");
}

static void print_zsh(void)
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
          "\n"
          "_dueqctl() {\n"
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

/* ---- fish ---- */

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
        fputs(" -d ", stdout);
        fish_text(rows->text);
        putchar('\n');
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
    printf("complete -c dueqctl -n '%s' -a '", when);
    print_choices(command);
    puts("'");
}

/* fish's own condition takes the value of an option for the command. */
static void fish_condition(void)
{
    fputs("# Is this the command so far? '': there is none.\n"
          "function __dueqctl_in\n"
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
         "                test \"$word\" = \"$argv[1]\"\n"
         "                return\n"
         "        end\n"
         "    end\n"
         "    test -z \"$argv[1]\"\n"
         "end");
}

static void print_fish(void)
{
    puts("# fish completion of dueqctl: install it as\n"
         "# /usr/share/fish/vendor_completions.d/dueqctl.fish");
    fish_condition();
    puts("complete -c dueqctl -f");
    fish_options(options_front, "__dueqctl_in \"\"");
    fish_options(options_common, NULL);
    for (size_t i = 0; commands[i]; i++)
        fish_command(commands[i]);
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    static void (*const printers[])(void) = {print_bash, print_zsh, print_fish};

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
