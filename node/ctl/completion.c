/* completion: a script for a shell, and the words that the scripts ask this program for.
 *
 * A script calls "dueqctl __complete WORD...", with the words behind the program's name up to
 * the one that is being completed, which may be empty. The answer has a line for each word that
 * fits: the whole word, and behind a tab a text for people. The last line begins with ':' and
 * says what else the shell does: ":files" (it completes names of files), ":nospace" (no blank
 * behind the word), or nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "node/ctl/commands.h"

/* ---- the words so far ---- */

struct typed {
    const struct command *command; /* NULL: none so far */
    const char *choice;            /* the first word behind the command; NULL: none so far */
    int word_count;                /* of words behind the command */
    const struct option_row *value_of; /* the next word is its value; NULL: of no option */
    bool is_unknown;                   /* there is no such command */
    bool is_over;                      /* "--" was there: what follows is no option */
};

/* The options that may stand here, from 0 on; NULL: there are no more. */
static const struct option_row *option_at(const struct typed *t, unsigned i)
{
    const struct option_row *own = t->command ? t->command->options : options_front;

    for (; own && own->name; own++) {
        if (i-- == 0)
            return own;
    }
    return i < COMMON_COUNT ? &options_common[i] : NULL;
}

/* `name` ends with its text or with a '='. It may be cut short. */
static const struct option_row *find_long(const struct typed *t, const char *name)
{
    size_t len = strcspn(name, "=");
    const struct option_row *row, *found = NULL;

    for (unsigned i = 0; len && (row = option_at(t, i)); i++) {
        if (strncmp(row->name, name, len) != 0)
            continue;
        if (!row->name[len])
            return row;
        found = row;
    }
    return found;
}

static const struct option_row *find_letter(const struct typed *t, char letter)
{
    const struct option_row *row;

    for (unsigned i = 0; (row = option_at(t, i)); i++) {
        if (row->letter == letter)
            return row;
    }
    return NULL;
}

/* The option in the word that takes a value, and the value where it is in the word, too; NULL:
 * the value is the next word. */
static const struct option_row *find_valued(const struct typed *t, const char *word,
                                            const char **value)
{
    const struct option_row *row;

    if (word[1] == '-') {
        const char *equals = strchr(word, '=');

        *value = equals ? equals + 1 : NULL;
        row = find_long(t, word + 2);
        return row && row->value ? row : NULL;
    }
    for (const char *letter = word + 1; *letter; letter++) {
        row = find_letter(t, *letter);
        *value = letter[1] ? letter + 1 : NULL;
        if (row && row->value)
            return row;
    }
    return NULL;
}

static void take_option(struct typed *t, const char *word)
{
    const char *value = NULL;
    const struct option_row *row = find_valued(t, word, &value);

    t->is_over = !strcmp(word, "--");
    t->value_of = value ? NULL : row;
}

static void take(struct typed *t, const char *word)
{
    if (t->value_of) {
        t->value_of = NULL;
    } else if (!t->is_over && word[0] == '-' && word[1]) {
        take_option(t, word);
    } else if (!t->command) {
        t->command = command_find(word);
        t->is_unknown |= !t->command;
        t->is_over = false;
    } else if (t->word_count++ == 0) {
        t->choice = word;
    }
}

/* ---- the words that fit ---- */

/* Where the word that is being completed is cut: what stays, and what is to be completed. */
struct cut {
    struct bytes before;
    const char *part;
};

static struct cut cut_at(const char *word, const char *part)
{
    return (struct cut){bytes_of(word, (size_t)(part - word)), part};
}

/* `text` may be NULL. */
static void offer(struct cut cut, const char *front, const char *name, const char *end,
                  const char *text)
{
    char word[80];

    snprintf(word, sizeof(word), "%s%s%s", front, name, end);
    if (!strncmp(word, cut.part, strlen(cut.part)))
        printf("%.*s%s%s%s\n", BYTES_ARG(cut.before), word, text ? "\t" : "", text ? text : "");
}

static void offer_commands(struct cut cut)
{
    for (const struct command *const *at = commands; *at; at++)
        offer(cut, "", (*at)->name, "", (*at)->summary);
}

static void offer_options(const struct typed *t, struct cut cut)
{
    const struct option_row *row;

    for (unsigned i = 0; (row = option_at(t, i)); i++)
        offer(cut, "--", row->name, "", row->text);
}

/* Is `word` among the words before `end`, each with a comma behind it? */
static bool is_listed(const char *list, const char *end, const char *word)
{
    while (list < end) {
        size_t len = strcspn(list, ",");

        if (bytes_equal(bytes_of(list, len), bytes_of_text(word)))
            return true;
        list += len + 1;
    }
    return false;
}

/* Of several words with commas between, the last is to be completed. */
static const char *offer_values(const struct option_row *row, const char *word,
                                const char *value)
{
    const char *comma = row->kind == OPTION_CHOICES ? strrchr(value, ',') : NULL;
    const char *part = comma ? comma + 1 : value;

    for (size_t i = 0; row->choices && row->choices[i]; i++) {
        if (!is_listed(value, part, row->choices[i]))
            offer(cut_at(word, part), "", row->choices[i], "", NULL);
    }
    return row->kind == OPTION_FILE ? "files" : "";
}

/* Behind "topic set mail", "topic unset mail". */
static const char *offer_settings(const struct typed *t, struct cut cut)
{
    bool is_set = !strcmp(t->choice, "set");

    if ((!is_set && strcmp(t->choice, "unset") != 0) || strchr(cut.part, '='))
        return "";
    for (const struct option_row *row = t->command->settings; row->name; row++)
        offer(cut, "", row->name, is_set ? "=" : "", row->text);
    return is_set ? "nospace" : "";
}

static const char *offer_words(const struct typed *t, struct cut cut)
{
    const struct command *command = t->command;

    if (!command || (command == &help_command && t->word_count == 0))
        offer_commands(cut);
    for (size_t i = 0; command && command->choices && t->word_count == 0 && command->choices[i];
         i++)
        offer(cut, "", command->choices[i], "", NULL);
    return command && command->settings && t->word_count > 1 ? offer_settings(t, cut) : "";
}

/* Returns what else the shell does. */
static const char *complete(const struct typed *t, const char *word)
{
    const struct option_row *row;
    const char *value = NULL;

    if (t->is_unknown)
        return "";
    if (t->value_of)
        return offer_values(t->value_of, word, word);
    if (t->is_over || *word != '-')
        return offer_words(t, cut_at(word, word));
    row = find_valued(t, word, &value);
    if (row && value)
        return offer_values(row, word, value);
    offer_options(t, cut_at(word, word));
    return "";
}

enum ctl_exit completion_answer(int count, char **words)
{
    struct typed t = {0};

    for (int i = 0; i < count - 1; i++)
        take(&t, words[i]);
    printf(":%s\n", complete(&t, count ? words[count - 1] : ""));
    return CTL_DONE;
}

/* ---- the scripts ---- */

/* bash cuts words at ':' and '=' as well: where the line has no blank between two parts they
 * are one word, and behind a '=' bash wants the rest alone. File names are left to bash itself,
 * which quotes what it inserts. */
static const char bash[] =
    "# bash completion of dueqctl: source it, or install it as\n"
    "# /usr/share/bash-completion/completions/dueqctl\n"
    "_dueqctl() {\n"
    "    local rest=$COMP_LINE part word program line i\n"
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
    "    word=${all[${#all[@]}-1]} program=${all[0]/#\\~/$HOME}\n"
    "    type -P \"$program\" >/dev/null || program=dueqctl\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "            :files) compopt -o default ;;\n"
    "            :nospace) compopt -o nospace ;;\n"
    "            :*) ;;\n"
    "            *)\n"
    "                line=${line%%$'\\t'*}\n"
    "                [[ $word != --*=* ]] || line=${line#*=}\n"
    "                COMPREPLY+=(\"$line\")\n"
    "                ;;\n"
    "        esac\n"
    "    done < <(command \"$program\" __complete \"${all[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _dueqctl dueqctl";

static const char zsh[] =
    "#compdef dueqctl\n"
    "# zsh completion of dueqctl: install it as _dueqctl in a directory of $fpath\n"
    "local line\n"
    "local -a lines found end\n"
    "lines=(\"${(@f)$(command ${~words[1]} __complete \"${(@Q)words[2,CURRENT-1]}\" \\\n"
    "    \"${(Q)PREFIX}\" 2>/dev/null)}\")\n"
    "for line in $lines; do\n"
    "    case $line in\n"
    "        :files) compset -P '--*=' || compset -P '-[^-]'; _files; return ;;\n"
    "        :nospace) end=(-S '') ;;\n"
    "        :*) ;;\n"
    "        *) found+=(\"${line/$'\\t'/:}\") ;;\n"
    "    esac\n"
    "done\n"
    "_describe word found \"${end[@]}\"";

/* Behind a '=' fish puts no blank by itself. File names are left to fish, which knows quotes
 * and
 * '~'. */
static const char fish[] =
    "# fish completion of dueqctl: install it as\n"
    "# /usr/share/fish/vendor_completions.d/dueqctl.fish\n"
    "function __dueqctl_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l word (commandline -ct)\n"
    "    set -l program (string replace -r '^~' ~ -- $words[1])\n"
    "    set -e words[1]\n"
    "    command $program __complete $words \"$word\" 2>/dev/null | string match -v ':*'\n"
    "end\n"
    "complete -c dueqctl -f -a '(__dueqctl_complete)'\n"
    "complete -c dueqctl -n '__fish_seen_subcommand_from push' -s f -l file -r -F";

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    static const char *const scripts[] = {bash, zsh, fish};

    (void)ctl;
    for (size_t i = 0; shells[i]; i++) {
        if (!strcmp(shells[i], arguments->words[0])) {
            puts(scripts[i]);
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
