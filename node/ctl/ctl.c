#include "node/ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "node/ctl/text.h"

enum ctl_exit ctl_worse(enum ctl_exit a, enum ctl_exit b)
{
    static const int weight[] = {[CTL_DONE] = 0,  [CTL_NOTHING] = 1,     [CTL_REFUSED] = 2,
                                 [CTL_USAGE] = 3, [CTL_UNREACHABLE] = 4, [CTL_UNKNOWN] = 5};

    return weight[a] > weight[b] ? a : b;
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args)
{
    struct buf escaped = BUF_INIT;
    char *text;

    if (vasprintf(&text, format, args) < 0)
        abort();
    text_escape(&escaped, bytes_of_text(text));
    fflush(stdout);
    fprintf(stderr, "dueqctl: %s\n", buf_text(&escaped));
    buf_fini(&escaped);
    free(text);
}

void ctl_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

static const char *command_name; /* ctl_misused() names its help */

void ctl_name_command(const char *name)
{
    command_name = name;
}

enum ctl_exit ctl_misused(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    if (command_name)
        fprintf(stderr, "Try 'dueqctl %s --help'.\n", command_name);
    else
        fputs("Try 'dueqctl --help'.\n", stderr);
    return CTL_USAGE;
}

bool ctl_confirm(const char *question)
{
    char answer[8] = "";

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return true;
    fprintf(stderr, "%s [y/N] ", question);
    return fgets(answer, sizeof(answer), stdin) &&
           (!strcasecmp(answer, "y\n") || !strcasecmp(answer, "yes\n"));
}
