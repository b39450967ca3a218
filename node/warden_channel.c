#include "node/warden_channel.h"

#include <stdint.h>
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

void channel_send(int fd, enum channel_message message)
{
    uint8_t byte = (uint8_t)message;

    if (send(fd, &byte, sizeof(byte), MSG_NOSIGNAL) < 0) {
        /* Dropped: see the header. */
    }
}

bool channel_receive(int fd, enum channel_message *message)
{
    uint8_t byte;

    if (recv(fd, &byte, sizeof(byte), 0) != sizeof(byte))
        return false;
    *message = (enum channel_message)byte;
    return true;
}
