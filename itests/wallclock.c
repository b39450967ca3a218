/* Preloaded into a program of a drill: its wall clock, and nothing else, goes wrong.
 *
 * The file that DUEQ_WALLCLOCK names holds seconds, as text, by which the program's wall clock
 * is ahead; it may change at any time, and is read at every look at the clock. Monotonic clocks
 * and timers stay as they are: on a real machine nobody's hand can set those. (Debian's
 * faketime moves absolute timerfds of the monotonic clock too, and does not start beside
 * Redis's malloc.)
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int file_fd = -1;

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("DUEQ_WALLCLOCK");

    file_fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static long ahead_s(void)
{
    char text[32] = "";

    if (file_fd < 0 || pread(file_fd, text, sizeof text - 1, 0) <= 0)
        return 0;
    return strtol(text, NULL, 10);
}

/* The library's own names of parameters are reserved ones.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

int clock_gettime(clockid_t id, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, id, now);

    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += ahead_s();
    return (int)rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec at;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *where)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    if (where)
        *where = at.tv_sec;
    return at.tv_sec;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
