/* Preloaded into redis-server: every fsync and fdatasync takes DUEQ_SLOWSYNC_MS longer.
 *
 * On a quick disk a crash hardly ever falls between a write and its sync; behind this it
 * falls there all the time, so that what is lost without waiting for the disk becomes visible.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int fsync(int fd);
int fdatasync(int fd);

static void sleep_for_a_slow_disk(void)
{
    const char *text = getenv("DUEQ_SLOWSYNC_MS");
    long ms = text ? strtol(text, NULL, 10) : 0;
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0)
        ;
}

static int sync_slowly(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);

    sleep_for_a_slow_disk();
    return real(fd);
}

int fsync(int fd)
{
    return sync_slowly("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_slowly("fdatasync", fd);
}
