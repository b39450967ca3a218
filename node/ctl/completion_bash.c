#include "node/ctl/completion.h"

#include <stdio.h>

#include "node/ctl/commands.h"

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
    for (size_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
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

void completion_bash(void)
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
