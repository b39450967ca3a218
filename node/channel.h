/* The worker's messages to the warden: small, one after another, over a socketpair.
 *
 * The worker beats from its event loop, so a loop that hangs stops beating. Sending never
 * blocks; a message that finds no room is dropped, because a warden that does not read is
 * stopped itself, and judges the worker only after it has read all messages.
 *
 * Both ends are the same program in memory, so messages are structs as they are.
 */
#ifndef DUEQ_NODE_CHANNEL_H
#define DUEQ_NODE_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "ha/coord/coordinator.h"

enum channel_kind {
    CHANNEL_BEAT = 1,
    CHANNEL_STORE_UP, /* this worker reached its store and, in a cluster, has joined; once */
    CHANNEL_SESSION,  /* `session`: to be ended when the worker is dead; number 0: none now */
    CHANNEL_ADDRESS,  /* `until_boot_ms`: the virtual address may be here until then; 0: not */
    CHANNEL_NO_SUCCESSOR, /* `has_no_successor`: it leads, and knows of nobody who would lead
                             next */
    CHANNEL_PROGRAM,      /* `group`: to be killed when the worker is dead; 0: none now */
};

struct channel_message {
    enum channel_kind kind;
    struct coord_credentials session; /* secret: never in a log */
    int64_t until_boot_ms;
    bool has_no_successor;
    pid_t group; /* of processes */
};

/* Two connected, close-on-exec, non-blocking descriptors; the caller closes them. */
enum status channel_open(int *warden_fd, int *worker_fd) MUST_CHECK;

/* BEAT or STORE_UP. */
void channel_send(int fd, enum channel_kind kind);

/* What the warden has been told of the rest. Only news is sent; what finds no room is news
 * again at the next call. */
struct channel_reported {
    int fd;          /* the worker's */
    int64_t session; /* its number */
    int64_t until_boot_ms;
    bool has_no_successor;
    pid_t group;
};

/* True: that was news, and was sent. */
bool channel_report_session(struct channel_reported *t,
                            const struct coord_credentials *session);
bool channel_report_address(struct channel_reported *t, int64_t until_boot_ms);
bool channel_report_no_successor(struct channel_reported *t, bool has_no_successor);
bool channel_report_program(struct channel_reported *t, pid_t group);

/* The next message; false when there is none now. */
bool channel_receive(int fd, struct channel_message *message);

#endif
