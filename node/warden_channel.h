/* What the worker tells the warden: one small message after another over a socketpair.
 *
 * The worker beats from its event loop, so a loop that hangs stops beating. Sending never
 * blocks; a message that finds no room is dropped, because a warden that does not read is
 * stopped itself and judges nobody until it has read what is there.
 */
#ifndef DUEQ_NODE_WARDEN_CHANNEL_H
#define DUEQ_NODE_WARDEN_CHANNEL_H

#include <stdbool.h>

#include "base/status.h"

enum channel_message {
    CHANNEL_BEAT = 1,
    CHANNEL_STORE_UP, /* for the first time of this worker */
};

/* Two connected, close-on-exec, non-blocking descriptors; the caller closes them. */
enum status channel_open(int *warden_fd, int *worker_fd) MUST_CHECK;

void channel_send(int fd, enum channel_message message);

/* The next message; false when there is none now. */
bool channel_receive(int fd, enum channel_message *message);

#endif
