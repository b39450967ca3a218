/* A host's cable that is slow and loses some: a relay between two TAP devices, one in the host,
 * one a port of the bridge. The kernel here has no netem.
 *
 *     slowlink HOST_FD BRIDGE_FD SEED
 *
 * What the host sends is lost by chance, or goes on so long after it came, in its order; what
 * it is sent passes at once. With such a cable at every host, each frame between two of them is
 * late once and may be lost once. TAP devices offload nothing, so every frame here is complete
 * and no larger than the MTU.
 *
 * Standard input: lines of `DELAY_US LOST_IN_A_MILLION`, at first 0 0. Each is answered by one
 * of `SENT LOST SPILLED`, frames of the host so far; spilled is what nobody took, or what found
 * no room. It ends with its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define FRAME_BYTES   65536
#define FRAMES_A_TURN 64     /* then the other way has its turn */
#define FRAMES_KEPT   100000 /* about 100 MB of the largest */
#define MILLION       1000000
#define SLACK_NS      1000 /* timers are 50 us late by default */

struct frame {
    struct frame *next;
    int64_t due_ns;
    size_t bytes;
    char data[];
};

static struct {
    int host_fd, bridge_fd;
    struct frame *oldest, **end;
    uint64_t kept; /* frames in that list */
    int64_t delay_ns;
    uint64_t lost_in_a_million;
    uint64_t dice;
    uint64_t sent, lost, spilled;
} cable;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MILLION + t.tv_nsec;
}

/* Marsaglia's xorshift64: any seed but 0. */
static uint64_t roll(void)
{
    cable.dice ^= cable.dice << 13;
    cable.dice ^= cable.dice >> 7;
    cable.dice ^= cable.dice << 17;
    return cable.dice;
}

/* A device that is down takes nothing: such a frame is gone, as it would be. */
static void pass(int fd, const char *data, size_t bytes)
{
    if (write(fd, data, bytes) != (ssize_t)bytes)
        cable.spilled++;
}

static void keep(const char *data, size_t bytes)
{
    struct frame *f = malloc(sizeof(*f) + bytes);

    if (!f)
        die("memory");
    *f = (struct frame){.due_ns = now_ns() + cable.delay_ns, .bytes = bytes};
    memcpy(f->data, data, bytes);
    *cable.end = f;
    cable.end = &f->next;
    cable.kept++;
}

static void on_sent(const char *data, size_t bytes)
{
    cable.sent++;
    if (roll() % MILLION < cable.lost_in_a_million)
        cable.lost++;
    else if (cable.kept == FRAMES_KEPT)
        cable.spilled++;
    else if (cable.delay_ns == 0 && cable.kept == 0)
        pass(cable.bridge_fd, data, bytes);
    else
        keep(data, bytes);
}

static void on_received(const char *data, size_t bytes)
{
    pass(cable.host_fd, data, bytes);
}

static void read_frames(int fd, void (*on_frame)(const char *data, size_t bytes))
{
    static char data[FRAME_BYTES];

    for (unsigned i = 0; i < FRAMES_A_TURN; i++) {
        ssize_t bytes = read(fd, data, sizeof(data));

        if (bytes < 0)
            return;
        on_frame(data, (size_t)bytes);
    }
}

/* Passes on what is due. */
static void pass_kept(void)
{
    while (cable.oldest && cable.oldest->due_ns <= now_ns()) {
        struct frame *f = cable.oldest;

        cable.oldest = f->next;
        if (!cable.oldest)
            cable.end = &cable.oldest;
        cable.kept--;
        pass(cable.bridge_fd, f->data, f->bytes);
        free(f);
    }
}

/* False at the end of the input. */
static bool obey(void)
{
    uint64_t delay_us;
    char line[64];

    if (!fgets(line, sizeof(line), stdin))
        return false;
    if (sscanf(line, "%" SCNu64 " %" SCNu64, &delay_us, &cable.lost_in_a_million) != 2)
        die(line);
    cable.delay_ns = (int64_t)delay_us * 1000;
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", cable.sent, cable.lost, cable.spilled);
    fflush(stdout);
    return true;
}

/* Until a frame comes, or one is due, or there is a word to obey. */
static void wait_for(struct pollfd *fds, nfds_t count)
{
    int64_t left_ns = cable.oldest ? cable.oldest->due_ns - now_ns() : 0;
    struct timespec left;

    left_ns = left_ns > 0 ? left_ns : 0;
    left = (struct timespec){left_ns / (1000 * MILLION), left_ns % (1000 * MILLION)};
    if (ppoll(fds, count, cable.oldest ? &left : NULL, NULL) < 0 && errno != EINTR)
        die("poll");
}

int main(int argc, char **argv)
{
    if (argc != 4 || (cable.dice = strtoull(argv[3], NULL, 10)) == 0) {
        fputs("usage: slowlink HOST_FD BRIDGE_FD SEED\n", stderr);
        return 64;
    }
    cable.host_fd = atoi(argv[1]);
    cable.bridge_fd = atoi(argv[2]);
    cable.end = &cable.oldest;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    setvbuf(stdin, NULL, _IONBF, 0); /* poll sees what stdio has read already no more */
    if (fcntl(cable.host_fd, F_SETFL, O_NONBLOCK) ||
        fcntl(cable.bridge_fd, F_SETFL, O_NONBLOCK))
        die("devices");
    for (;;) {
        struct pollfd fds[] = {{cable.host_fd, POLLIN, 0},
                               {cable.bridge_fd, POLLIN, 0},
                               {STDIN_FILENO, POLLIN, 0}};

        wait_for(fds, sizeof(fds) / sizeof(fds[0]));
        pass_kept();
        read_frames(cable.host_fd, on_sent);
        read_frames(cable.bridge_fd, on_received);
        if (fds[2].revents && !obey())
            return 0;
    }
}
