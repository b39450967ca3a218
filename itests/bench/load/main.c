/* dueq-load: makes load and measures it, in several protocols or straight on Redis.
 *
 * Beside the node's own figures stand those of the same scripts without a node, so that what
 * the node costs can be told from what Redis costs. bench.py runs it; it can be run by hand.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "itests/bench/load/modes.h"

static const struct {
    const char *name;
    int64_t delay_s, rate;
    const char *text;
    void (*run)(const struct options *o);
} modes[] = {
#define X(name, delay, rate, text) {#name, delay, rate, text, mode_##name},
    MODE_LIST(X)
#undef X
};

#define MODE_COUNT (sizeof(modes) / sizeof(*modes))

static int usage(void)
{
    fprintf(stderr, "usage: dueq-load MODE [--OPTION VALUE]...\n\nModes:\n");
    for (size_t i = 0; i < MODE_COUNT; i++)
        fprintf(stderr, "  %-14s %s\n", modes[i].name, modes[i].text);
    fprintf(stderr, "\nOptions, with their defaults:\n");
    options_print();
    return 2;
}

int main(int argc, char **argv)
{
    struct options options;

    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1); /* nanoseconds: a schedule is kept to the microsecond */
    if (argc < 2)
        return usage();
    for (size_t i = 0; i < MODE_COUNT; i++) {
        if (strcmp(modes[i].name, argv[1]) != 0)
            continue;
        if (!options_parse(&options, argc - 2, argv + 2))
            return usage();
        if (options.delay_s < 0)
            options.delay_s = modes[i].delay_s;
        if (options.rate < 0)
            options.rate = modes[i].rate;
        modes[i].run(&options);
        return 0;
    }
    return usage();
}
