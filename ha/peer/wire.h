/* The protocol of the peer link: lines of text, to bytes and back. Pure.
 *
 *   dialer                                   listener
 *   hello dueq-peer/1 NODE INCARNATION CHALLENGE
 *                                            hello dueq-peer/1 NODE INCARNATION CHALLENGE
 *   proof MAC
 *                                            proof MAC, or: refused REASON
 *   -- from here on both are authenticated --
 *                                            session ID PASSWORD   (now, and when it changes)
 *                                            bye                   (a graceful stop comes)
 *   ask TOKEN SEQ TIMEOUT_MS                 promise SEQ
 *   beat                                     beat
 *
 * Every pair of nodes has two such connections, one dialed by each: the dialer watches and
 * asks, the listener tells and promises. conn.h says what MAC proves. The dialer proves first,
 * so that a stranger who dials gets nothing to guess the secret from.
 *
 * Numbers are lower-case hexadecimal of fixed width; SEQ and TIMEOUT_MS are decimal. One space
 * separates words, one line feed ends a line. A line is refused when it is longer than
 * PEER_LINE_MAX, or not exactly what peer_wire_print() would have written.
 *
 * The lines are encrypted where both nodes have TLS (tls.h). Without it a connection is
 * authenticated at its beginning only: anyone on the way sees the credentials of sessions, as
 * in ZooKeeper's own protocol.
 */
#ifndef DUEQ_HA_PEER_WIRE_H
#define DUEQ_HA_PEER_WIRE_H

#include "base/buf.h"
#include "base/status.h"
#include "ha/peer/peers.h"

#define PEER_LINE_MAX        256 /* with its line feed */
#define PEER_CHALLENGE_BYTES 32
#define PEER_MAC_BYTES       32

/*    name        word         fields */
#define PEER_MESSAGE_LIST(X)               \
    X(HELLO, "hello", "dueq-peer/1 n i c") \
    X(PROOF, "proof", "m")                 \
    X(REFUSED, "refused", "r")             \
    X(SESSION, "session", "s p")           \
    X(ASK, "ask", "t q d")                 \
    X(PROMISE, "promise", "q")             \
    X(BEAT, "beat", "")                    \
    X(BYE, "bye", "")

enum peer_message_kind {
#define X(name, word, fields) PEER_##name,
    PEER_MESSAGE_LIST(X)
#undef X
        PEER_MESSAGE_COUNT
};

/*    name       word       advice to the refused node's operator */
#define PEER_REFUSAL_LIST(X)                                                                  \
    X(SECRET, "secret", "the secrets differ: check that ha.secret is the same on both nodes") \
    X(NAME, "name", "both have the same name: give each node its own node.id")                \
    X(TOO_MANY, "too_many", "it has as many connections as it takes")

enum peer_refusal {
#define X(name, word, text) PEER_REFUSED_##name,
    PEER_REFUSAL_LIST(X)
#undef X
        PEER_REFUSAL_COUNT
};

/* Which fields count depends on the kind; the others are zero. */
struct peer_message {
    enum peer_message_kind kind;
    char node[PEER_NAME_MAX + 1];
    uint64_t incarnation; /* of a process: random, never 0 */
    unsigned char challenge[PEER_CHALLENGE_BYTES];
    unsigned char mac[PEER_MAC_BYTES];
    enum peer_refusal refusal;
    struct coord_credentials session; /* number 0: no session */
    struct token token;
    uint64_t seq;
    int64_t session_ms; /* T: 1 s to 60 s */
};

/* Adds the line, with its line feed. */
void peer_wire_print(const struct peer_message *m, struct buf *to);

/* `line` comes without its line feed. BAD_REQUEST: it is no message. */
enum status peer_wire_parse(struct peer_message *m, struct bytes line) MUST_CHECK;

/* Can a node have this name? 1 to PEER_NAME_MAX of [A-Za-z0-9_.:-]. */
bool peer_wire_is_name(struct bytes name);

const char *peer_refusal_text(enum peer_refusal refusal);

#endif
