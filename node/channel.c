#include "node/channel.h"

#include <sys/socket.h>

enum status channel_open(int *warden_fd, int *worker_fd)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
        return STATUS_IO_ERROR;
    *warden_fd = fds[0];
    *worker_fd = fds[1];
    return STATUS_OK;
}

static bool put(int fd, const struct channel_message *message)
{
    return send(fd, message, sizeof(*message), MSG_NOSIGNAL) == sizeof(*message);
}

void channel_send(int fd, enum channel_kind kind)
{
    struct channel_message message = {.kind = kind};

    if (!put(fd, &message)) {
        /* Dropped: see the header. */
    }
}

bool channel_send_session(int fd, const struct coord_credentials *session)
{
    struct channel_message message = {.kind = CHANNEL_SESSION, .session = *session};

    return put(fd, &message);
}

bool channel_send_address(int fd, int64_t until_boot_ms)
{
    struct channel_message message = {.kind = CHANNEL_ADDRESS, .until_boot_ms = until_boot_ms};

    return put(fd, &message);
}

bool channel_send_alone(int fd, bool is_alone)
{
    struct channel_message message = {.kind = CHANNEL_ALONE, .is_alone = is_alone};

    return put(fd, &message);
}

bool channel_send_program(int fd, pid_t group)
{
    struct channel_message message = {.kind = CHANNEL_PROGRAM, .group = group};

    return put(fd, &message);
}

bool channel_receive(int fd, struct channel_message *message)
{
    return recv(fd, message, sizeof(*message), 0) == sizeof(*message);
}
