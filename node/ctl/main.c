/* dueqctl: the command line, from left to right. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/ctl/client.h"
#include "node/ctl/commands.h"
#include "node/ctl/input.h"
#include "node/ctl/output.h"
#include "node/ctl/text.h"

#define DEFAULT_URL        "http://127.0.0.1:8000"
#define DEFAULT_TIMEOUT_MS 15000

static enum ctl_exit check_words(const struct command *command,
                                 const struct arguments *arguments)
{
    if (arguments->word_count < command->words_min)
        return ctl_misused("%s: something is missing: %s", command->name, command->usage);
    if (arguments->word_count > command->words_max)
        return ctl_misused("%s: there is a word too many: '%s'", command->name,
                           arguments->words[command->words_max]);
    return CTL_DONE;
}

/* Names are UTF-8, as JSON needs, and not empty. */
static enum ctl_exit check_name(const struct command *command, const char *name)
{
    if (!*name)
        return ctl_misused("%s: a topic, an id, a lease or the name of a node is empty",
                           command->name);
    return text_is_plain(bytes_of_text(name))
               ? CTL_DONE
               : ctl_misused("%s: a topic, an id, a lease or the name of a node is no UTF-8",
                             command->name);
}

static enum ctl_exit check_names(const struct command *command,
                                 const struct arguments *arguments)
{
    const struct option_row *rows = command->options;
    int names = command->names ? command->names : arguments->word_count;
    enum ctl_exit end = CTL_DONE;

    for (int i = 0; end == CTL_DONE && i < names && i < arguments->word_count; i++)
        end = check_name(command, arguments->words[i]);
    for (int i = 0; end == CTL_DONE && rows && rows[i].name; i++) {
        if (rows[i].kind == OPTION_TEXT && arguments->own[i].is_given)
            end = check_name(command, arguments->own[i].text);
    }
    return end;
}

/* The option, or the variable; NULL: neither is given. */
static const char *option_or(const struct option_value *option, const char *variable)
{
    const char *from_environment = getenv(variable);

    if (option->is_given)
        return option->text;
    return from_environment && *from_environment ? from_environment : NULL;
}

/* Where a node has its socket when nobody says otherwise: one that was started here, in a
 * container, and under systemd. */
#define HERE "dueq-data"

static const char *const urls[] = {"unix:" HERE "/admin.sock", "unix:/var/lib/dueq/admin.sock",
                                   "unix:/var/lib/dueq/" HERE "/admin.sock", DEFAULT_URL, NULL};

/* Somebody else's directory of that name could have a socket that waits for our token. */
static bool is_ours(const char *directory)
{
    struct stat about;

    return !lstat(directory, &about) && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           !(about.st_mode & (S_IWGRP | S_IWOTH));
}

/* The node of this machine: its socket, where we may use one; else its HTTP. */
static struct client *nearest_node(void)
{
    return client_new_nearest(is_ours(HERE) ? urls : urls + 1);
}

/* A malformed URL is not shown: it may hold a password all the same. */
static enum ctl_exit find_node(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *option = &arguments->common[COMMON_URL];
    const char *url = option_or(option, "DUEQ_URL");

    ctl->tls = (struct ctl_tls){.ca = option_or(&arguments->common[COMMON_CA], "DUEQ_CA"),
                                .cert = option_or(&arguments->common[COMMON_CERT], "DUEQ_CERT"),
                                .key = option_or(&arguments->common[COMMON_KEY], "DUEQ_KEY")};
    ctl->client = url ? client_new(url) : nearest_node();
    return ctl->client ? CTL_DONE
                       : ctl_misused("the address in %s is no http URL such as " DEFAULT_URL
                                     ", and not unix: with the path of a node's socket",
                                     option->is_given ? "--url" : "$DUEQ_URL");
}

/* It is read with the first request. */
static void find_token(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *option = &arguments->common[COMMON_TOKEN_FILE];

    ctl->token_file = option->is_given ? option->text : getenv("DUEQ_TOKEN_FILE");
}

static enum ctl_exit run(struct ctl *ctl, const struct command *command,
                         const struct arguments *arguments)
{
    const struct option_value *timeout = &arguments->common[COMMON_TIMEOUT];
    enum ctl_exit end = CTL_DONE;

    ctl->timeout_ms = timeout->is_given ? timeout->number : DEFAULT_TIMEOUT_MS;
    ctl->is_json = arguments->common[COMMON_JSON].is_given;
    find_token(ctl, arguments);
    if (!command->is_local)
        end = find_node(ctl, arguments);
    if (end == CTL_DONE)
        end = command->run(ctl, arguments);
    client_free(ctl->client);
    return end;
}

static enum ctl_exit run_named(struct ctl *ctl, const char *name, int argc, char **argv,
                               struct arguments *arguments)
{
    const struct command *command = command_find(name);
    enum ctl_exit end;

    if (!command)
        return ctl_misused("there is no command '%s'", name);
    if (command != &help_command)
        ctl_name_command(name);
    end = options_parse(command->options, name, false, argc, argv, arguments);
    if (end != CTL_DONE)
        return end;
    if (arguments->common[COMMON_HELP].is_given) {
        help_print_command(command);
        return CTL_DONE;
    }
    arguments->command = command;
    end = check_words(command, arguments);
    if (end == CTL_DONE)
        end = check_names(command, arguments);
    return end == CTL_DONE ? run(ctl, command, arguments) : end;
}

static enum ctl_exit run_line(struct ctl *ctl, int argc, char **argv)
{
    struct arguments arguments = {0};
    enum ctl_exit end = options_parse(options_front, "", true, argc, argv, &arguments);
    bool wants_version = arguments.own[0].is_given;
    char **words = arguments.words;

    if (end != CTL_DONE)
        return end;
    arguments.own[0] = (struct option_value){0};
    if (wants_version)
        return run_named(ctl, "version", 1, argv, &arguments);
    if (arguments.common[COMMON_HELP].is_given) {
        help_print();
        return CTL_DONE;
    }
    if (arguments.word_count == 0)
        return ctl_misused("a command is missing");
    return run_named(ctl, words[0], arguments.word_count, words, &arguments);
}

/* A socket that lands on a standard descriptor that the shell has closed would be used in its
 * place: jobs printed into the connection. The files opened here can be used in the wrong
 * direction only, so that missing input and lost output show. */
static void occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
}

int main(int argc, char **argv)
{
    struct ctl ctl = {0};
    enum ctl_exit end;

    occupy_standard_descriptors();
    ctl.is_terminal = isatty(STDOUT_FILENO);
    end = argc > 1 && !strcmp(argv[1], "__complete") ? completion_answer(argc - 2, argv + 2)
                                                     : run_line(&ctl, argc, argv);
    if (!output_flush()) {
        ctl_say("the output cannot be written%s",
                ctl.has_changed ? ", but what it tells of has happened" : "");
        end = ctl_worse(end, ctl.has_changed ? CTL_UNKNOWN : CTL_REFUSED);
    }
    interrupt_end();
    return end;
}
