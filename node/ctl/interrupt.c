#include "node/ctl/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t caught; /* the signal's number */
static int ends[2] = {-1, -1};       /* a pipe: a signal that comes just before poll() shows */

static void note(int number)
{
    int before = errno;

    if (caught) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    caught = number;
    (void)!write(ends[1], "", 1); /* into an empty pipe: there is room */
    errno = before;
}

static void listen_to(int number)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    struct sigaction before;

    /* One after the other: the second must see the first. */
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(number, NULL, &before);
    if (before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void interrupt_catch(void)
{
    if (ends[0] >= 0)
        return;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        abort();
    listen_to(SIGINT);
    listen_to(SIGTERM);
}

bool interrupt_is_caught(void)
{
    return caught != 0;
}

int interrupt_fd(void)
{
    return ends[0];
}

void interrupt_end(void)
{
    if (!caught)
        return;
    signal(caught, SIG_DFL);
    raise(caught);
}
