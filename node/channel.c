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

bool channel_report_session(struct channel_reported *t, const struct coord_credentials *session)
{
    struct channel_message message = {.kind = CHANNEL_SESSION, .session = *session};

    if (session->session == t->session || !put(t->fd, &message))
        return false;
    t->session = session->session;
    return true;
}

bool channel_report_address(struct channel_reported *t, int64_t until_boot_ms)
{
    struct channel_message message = {.kind = CHANNEL_ADDRESS, .until_boot_ms = until_boot_ms};

    if (until_boot_ms == t->until_boot_ms || !put(t->fd, &message))
        return false;
    t->until_boot_ms = until_boot_ms;
    return true;
}

bool channel_report_no_successor(struct channel_reported *t, bool has_no_successor)
{
    struct channel_message message = {.kind = CHANNEL_NO_SUCCESSOR,
                                      .has_no_successor = has_no_successor};

    if (has_no_successor == t->has_no_successor || !put(t->fd, &message))
        return false;
    t->has_no_successor = has_no_successor;
    return true;
}

bool channel_report_program(struct channel_reported *t, pid_t group)
{
    struct channel_message message = {.kind = CHANNEL_PROGRAM, .group = group};

    if (group == t->group || !put(t->fd, &message))
        return false;
    t->group = group;
    return true;
}

bool channel_receive(int fd, struct channel_message *message)
{
    return recv(fd, message, sizeof(*message), 0) == sizeof(*message);
}
