/* Scripts that teach a shell the commands and options, made of the tables, on stdout. */
#include <stdio.h>
#include <string.h>

#include "node/ctl/commands.h"

static void completion_zsh(void);
static void completion_fish(void);
static void command_names(void);
static void completion_words(const char *const *words);
static void completion_settings(const struct option_row *rows, const char *end);
static void completion_choices(const struct command *command);

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
        if (!rows->value || rows->choices || (rows->kind == OPTION_FILE) != of_files)
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

/* Completes `value`, a word of the script's, by the row's choices: one of them, or several. */
static void bash_choices(const struct option_row *row, const char *value)
{
    if (row->kind == OPTION_CHOICES)
        printf("_dueqctl_some \"%s\" ", value);
    else
        fputs("COMPREPLY=($(compgen -W \"", stdout);
    completion_words(row->choices);
    if (row->kind != OPTION_CHOICES)
        printf("\" -- \"%s\"))", value);
}

/* Options whose value is a word out of a few: "--mode|-m)" in the branch for the word before,
 * and
 * "--mode=". bash has cut the word at "=", and inserts what comes behind it. */
static void bash_choice_branches(int indent, const struct option_row *rows)
{
    for (; rows && rows->name; rows++) {
        if (!rows->choices)
            continue;
        printf("%*s--%s", indent, "", rows->name);
        if (rows->letter)
            printf("|-%c", rows->letter);
        fputs(") ", stdout);
        bash_choices(rows, "$word");
        puts("; return ;;");
    }
}

static void bash_choice_values(const struct option_row *rows)
{
    for (; rows && rows->name; rows++) {
        if (!rows->choices)
            continue;
        printf("            [[ $word != --%s=* ]] || { ", rows->name);
        bash_choices(rows, "${word#*=}");
        puts("; return; }");
    }
}

/* Behind "topic set mail"; the script has the place of the command in i. */
static void bash_settings(const struct command *command)
{
    if (!command->settings)
        return;
    puts("            if ((${#all[@]} > i + 3)); then\n"
         "                case ${all[i+1]} in");
    fputs("                set) compopt -o nospace; words=\"", stdout);
    completion_settings(command->settings, "=");
    fputs("\" ;;\n                unset) words=\"", stdout);
    completion_settings(command->settings, "");
    puts("\" ;;\n                esac\n            fi");
}

static bool has_files(const struct option_row *rows)
{
    while (rows && rows->name && rows->kind != OPTION_FILE)
        rows++;
    return rows && rows->name;
}

static void bash_command(const struct command *command)
{
    printf("        %s)\n            case $before in\n", command->name);
    bash_branch(16, command->options, false, "return");
    if (has_files(command->options))
        bash_branch(16, command->options, true, "compopt -o default; return");
    bash_choice_branches(16, command->options);
    puts("            esac");
    bash_file_values(command->options);
    bash_choice_values(command->options);
    fputs("            words=\"", stdout);
    bash_words(command->options);
    bash_words(options_common);
    completion_choices(command);
    puts("\"");
    bash_settings(command);
    puts("            ;;");
}

static void bash_front(void)
{
    puts("        '')\n            case $before in");
    bash_branch(16, NULL, false, "return");
    fputs("            esac\n            words=\"", stdout);
    bash_words(options_front);
    bash_words(options_common);
    command_names();
    puts("\"\n            ;;");
}

/* bash cuts words at ':' and '=' as well: where the line has no blank between two parts they
 * are one word. File names are left to bash itself, which quotes what it inserts. */
static const char bash_begin[] =
    "# bash completion of dueqctl: source it, or install it as\n"
    "# /usr/share/bash-completion/completions/dueqctl\n"
    "# Some words with commas between: those that are not in VALUE so far.\n"
    "_dueqctl_some() {\n"
    "    local last=${1##*,} one\n"
    "    local before=${1%\"$last\"}\n"
    "    for one in \"${@:2}\"; do\n"
    "        [[ ,$before == *,$one,* || $one != \"$last\"* ]] || COMPREPLY+=(\"$before$one\")\n"
    "    done\n"
    "}\n"
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

static void completion_bash(void)
{
    fputs(bash_begin, stdout);
    bash_branch(12, NULL, false, "((i++))");
    puts("            -*) ;;\n"
         "            *) command=${all[i]}; break ;;\n"
         "        esac\n"
         "    done\n"
         "    case $command in");
    bash_front();
    for (unsigned i = 0; command_at(i); i++)
        bash_command(command_at(i));
    puts("    esac\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -F _dueqctl dueqctl");
}

/* ---- completion_zsh ---- */

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

static void completion_zsh(void)
{
    puts("#compdef dueqctl\n"
         "# zsh completion of dueqctl: install it as _dueqctl in a directory of $fpath\n"
         "_dueqctl_commands() {\n"
         "    local -a commands=(");
    for (unsigned i = 0; command_at(i); i++) {
        printf("        '%s:", command_at(i)->name);
        zsh_text(command_at(i)->summary);
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
    for (unsigned i = 0; command_at(i); i++)
        zsh_command(command_at(i));
    puts("    esac\n"
         "}\n"
         "_dueqctl \"$@\"");
}

/* ---- completion_fish ---- */

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

static void completion_fish(void)
{
    puts("# fish completion of dueqctl: install it as\n"
         "# /usr/share/fish/vendor_completions.d/dueqctl.fish");
    fish_words();
    puts(fish_some);
    puts("complete -c dueqctl -f");
    fish_options(options_front, "__dueqctl_in \"\"");
    fish_options(options_common, NULL);
    for (unsigned i = 0; command_at(i); i++)
        fish_command(command_at(i));
}

/* completion: prints a script for a shell. Each shell's is in a file of its own. */

/* Each behind a blank. */
static void command_names(void)
{
    for (unsigned i = 0; command_at(i); i++)
        printf(" %s", command_at(i)->name);
}

/* The words with a blank between them; NULL behind the last. */
static void completion_words(const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        printf("%s%s", i ? " " : "", words[i]);
}

/* The names with `end` behind each, and a blank in front. */
static void completion_settings(const struct option_row *rows, const char *end)
{
    for (; rows->name; rows++)
        printf(" %s%s", rows->name, end);
}

/* The choices for a command's word, each behind a blank. */
static void completion_choices(const struct command *command)
{
    if (command == &help_command)
        command_names();
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
