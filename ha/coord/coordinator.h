/* The coordinator as the rest of ha/ sees it: one session, three calls, and notices of changes.
 *
 * A port, so that the same election runs on ZooKeeper (zk_client.c) and, in virtual time, on a
 * fake ensemble (ha/fake/coordinator.c); one contract test runs on both. The port has only the
 * calls that an election needs: read a znode, list the names under a znode, and write. A write
 * is always a list of changes of which all happen or none.
 *
 *             coordinator_open                    a server answers
 *      CLOSED -----------------> CONNECTING ------------------------> CONNECTED
 *        ^  ^                     |   |  ^                             |   |
 *        |  |                     |   |  +---- connection lost --------+   |
 *        |  +-- coordinator_close-|---|------------------------------------+
 *        |                        |   |   a server says that the session is over
 *        +-- coordinator_close -- | - +----------------------------------> EXPIRED
 *                                 +--- the credentials are refused ------> DENIED
 *
 * The same session goes through CONNECTING and CONNECTED any number of times; only a server
 * ends it. After EXPIRED or DENIED, coordinator_close() and coordinator_open() begin a new one.
 *
 * Rules of every call here:
 *   - on_done comes exactly once, never from inside the submitting call; closing and expiry
 *     end all calls in flight;
 *   - inputs are borrowed until on_done; outputs are valid only while on_done runs;
 *   - calls are answered in the order in which they were made;
 *   - a call that is made while not CONNECTED ends UNAVAILABLE.
 */
#ifndef DUEQ_HA_COORD_COORDINATOR_H
#define DUEQ_HA_COORD_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"

/*    name         word            */
#define COORD_STATUS_LIST(X)                                                                 \
    X(OK, "ok")                                                                              \
    X(NO_NODE, "no_node")         /* it, or its parent, is not there                      */ \
    X(EXISTS, "exists")           /* CREATE                                               */ \
    X(BAD_VERSION, "bad_version") /* CHECK, SET, DELETE: it has changed                   */ \
    X(DENIED, "denied")           /* by its access list                                   */ \
    X(UNAVAILABLE, "unavailable") /* surely did not happen                                */ \
    X(UNKNOWN, "unknown")         /* the connection was lost: it may have happened        */ \
    X(EXPIRED, "expired")         /* so was the session; may have happened before that    */ \
    X(ERROR, "error")             /* anything else; did not happen                        */

enum coord_status {
#define X(name, word) COORD_##name,
    COORD_STATUS_LIST(X)
#undef X
        COORD_STATUS_COUNT
};

/*    name         word */
#define COORD_SESSION_LIST(X)   \
    X(CLOSED, "closed")         \
    X(CONNECTING, "connecting") \
    X(CONNECTED, "connected")   \
    X(EXPIRED, "expired")       \
    X(DENIED, "denied")

enum coord_session {
#define X(name, word) COORD_SESSION_##name,
    COORD_SESSION_LIST(X)
#undef X
        COORD_SESSION_COUNT
};

/* A session timeout is at least so many of the servers' ticks. The lease is proven for three
 * ticks (doc/model); the fourth is for short stalls. */
#define COORD_TICKS_MIN 4

/* Session timeouts that dueq can be set to. */
#define COORD_TIMEOUT_MIN_MS 1000
#define COORD_TIMEOUT_MAX_MS 60000

#define COORD_PASSWORD_BYTES 16
#define COORD_CHANGES_MAX    8
#define COORD_DATA_MAX       (64 * 1024) /* bytes of a znode */

/* Secret: with these anybody can take the session over, or close it. */
struct coord_credentials {
    int64_t session; /* 0: none */
    unsigned char password[COORD_PASSWORD_BYTES];
};

enum coord_change_kind {
    COORD_CHECK,            /* version */
    COORD_CREATE,           /* data */
    COORD_CREATE_EPHEMERAL, /* data; gone with the session */
    COORD_SET,              /* data, version */
    COORD_DELETE,           /* version */
};

struct coord_change {
    enum coord_change_kind kind;
    const char *path;
    struct bytes data;
    int32_t version; /* the version that the znode must have; -1: any */
};

/* A call. The caller embeds it. */
struct coord_call {
    const char *path; /* read and list */
    /* Read and list: on_change comes with the next change. A read that ends NO_NODE watches,
     * too; a list that ends NO_NODE does not. */
    bool watches;
    const struct coord_change *changes; /* write */
    unsigned change_count;              /* 1 to COORD_CHANGES_MAX */
    void (*on_done)(struct coord_call *call);

    /* Outputs. */
    enum coord_status status;
    unsigned failed;          /* write: which change was refused */
    struct bytes data;        /* read */
    int32_t version;          /* read */
    int64_t owner;            /* read: the session of an ephemeral znode; 0: not ephemeral */
    const char *const *names; /* list: last components of paths, in no order */
    unsigned name_count;
    int64_t list_number; /* list: grows with each change of the names (ZooKeeper's pzxid) */

    /* The coordinator's own. */
    struct list link;
    void *private;
};

struct coordinator;

struct coordinator_ops {
    void (*open)(struct coordinator *c);
    void (*close)(struct coordinator *c);
    void (*read)(struct coordinator *c, struct coord_call *call);
    void (*list)(struct coordinator *c, struct coord_call *call);
    void (*write)(struct coordinator *c, struct coord_call *call);
    void (*end_session)(struct coordinator *c, const struct coord_credentials *whose);
};

struct coordinator {
    const struct coordinator_ops *ops;

    /* Read-only for users. */
    enum coord_session session;
    int64_t granted_ms; /* the session timeout; 0: not connected yet */
    /* tickTime of the server where the session began, or of the first later server that tells;
     * 0: not told. */
    int64_t tick_ms;
    struct coord_credentials credentials; /* of the session; valid from CONNECTED on */
    struct coord_credentials left;        /* closed, but no server has confirmed it yet */
    int64_t leaving; /* the session that is being closed at a server; 0: none */
    char server[64]; /* connected to, for people; "" */
    char why[160];   /* of CONNECTING and DENIED, for people; "" */

    /* Set by the user before coordinator_open(). */
    void (*on_session)(struct coordinator *c); /* `session` has changed */
    /* A watched znode, or the list under it, has changed or may have: read it again. The watch
     * is used up. "": all watches (after a lost connection, to be safe). */
    void (*on_change)(struct coordinator *c, const char *path);
    void *user;
};

void coordinator_open(struct coordinator *c);

/* Sets CLOSED before it returns, without on_session. A CONNECTED session is closed at once,
 * with its ephemeral znodes, and stays in `left` until a server has confirmed that; any other
 * session is left to expire. Call it only after acting has ended, and from a timer: never from
 * inside a callback of the coordinator or of a call. */
void coordinator_close(struct coordinator *c);

void coordinator_read(struct coordinator *c, struct coord_call *call);
void coordinator_list(struct coordinator *c, struct coord_call *call);
void coordinator_write(struct coordinator *c, struct coord_call *call);

/* Ends another process's session, with its ephemeral znodes. Only for a process that is proven
 * dead: a living process would lose its lease. Best effort, without an answer. */
void coordinator_end_session(struct coordinator *c, const struct coord_credentials *whose);

const char *coord_status_word(enum coord_status status);
const char *coord_session_word(enum coord_session session);

#endif
