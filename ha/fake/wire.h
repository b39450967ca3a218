/* One direction of a connection between a client and the fake ensemble: messages that arrive in
 * order, each at its time, on the receiver's timers. A receiver whose timers are not run (a
 * frozen process) gets the messages when it is back.
 */
#ifndef DUEQ_HA_FAKE_WIRE_H
#define DUEQ_HA_FAKE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/timer.h"
#include "ha/coord/coordinator.h"

enum fake_kind {
    /* To the ensemble. */
    FAKE_CONNECT, /* who (session 0: a new one), timeout_ms */
    FAKE_PING,
    FAKE_READ,
    FAKE_LIST,
    FAKE_WRITE,
    FAKE_BYE,         /* ends the own session */
    FAKE_END_SESSION, /* ends `who` */

    /* From it. */
    FAKE_CONNECTED, /* who, timeout_ms */
    FAKE_EXPIRED,
    FAKE_DENIED,
    FAKE_PONG,
    FAKE_ANSWER,
    FAKE_CHANGED, /* path */
    FAKE_CLOSED,  /* the server has closed the connection */
};

/* A message owns all that it points to, except `call`. */
struct fake_message {
    struct list link;
    enum fake_kind kind;
    int64_t at_ms;
    unsigned connection;     /* of the client; a newer connection makes this message void */
    struct coord_call *call; /* of the request or answer; the ensemble does not look into it */
    struct coord_credentials who;
    int64_t timeout_ms;
    char *path;
    bool watches;
    struct coord_change changes[COORD_CHANGES_MAX];
    unsigned change_count;

    enum coord_status status;
    unsigned failed;
    struct buf data; /* read: the data; list: the names, each with its NUL */
    int32_t version;
    int64_t owner;
    unsigned name_count;
    int64_t list_number;
};

struct fake_message *fake_message_new(enum fake_kind kind, unsigned connection);
void fake_message_free(struct fake_message *m);

/* Copies paths and data. */
void fake_message_set_changes(struct fake_message *m, const struct coord_change *changes,
                              unsigned count);

struct fake_wire {
    struct timers *timers; /* the receiver's */
    struct timer timer;
    struct list messages;
    bool is_held; /* no message arrives while held */
    /* Takes the message. */
    void (*on_message)(struct fake_wire *w, struct fake_message *m);
};

void fake_wire_init(struct fake_wire *w, struct timers *timers,
                    void (*on_message)(struct fake_wire *w, struct fake_message *m));
void fake_wire_fini(struct fake_wire *w);

/* Takes the message, which arrives at `at_ms`, but not before messages sent earlier. */
void fake_wire_send(struct fake_wire *w, struct fake_message *m, int64_t at_ms);
void fake_wire_hold(struct fake_wire *w, bool is_held);
void fake_wire_drop(struct fake_wire *w); /* all that is under way */

#endif
