/* Connections from proxies, until their PROXY header has said whose each of them is.
 *
 * The header comes first, before TLS, within PROXIED_MS; what a proxy sends without one is
 * closed, as the protocol asks: a client that could leave the header out could also send one of
 * its own. No byte behind the header is taken from the kernel.
 */
#ifndef DUEQ_PROTOCOL_CONN_PROXIED_H
#define DUEQ_PROTOCOL_CONN_PROXIED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "base/network.h"
#include "protocol/conn/peer.h"

#define PROXIED_MS 5000 /* a packet that was lost comes again within 3 s */

struct proxied {
    const char *name; /* of the port, in the log */
    struct loop *loop;
    struct networks proxies;
    unsigned count;  /* of connections without a header so far */
    uint64_t *wrong; /* counts those whose header was malformed, missing or late; the owner's */
    /* The header has come: `fd` is the callee's now. Also from within proxied_hear(). */
    void (*on_known)(struct proxied *p, int fd, const struct peer_end *client);

    /* proxied.c's own */
    struct list arriving;
    int64_t next_warning_mono_ms;
};

/* `p` is zeroed but for what the owner sets: `name`, `loop`, `wrong` and `on_known`. There are
 * no proxies at first. */
void proxied_init(struct proxied *p);

/* The proxies from now on, as networks_read() takes them; a text that it does not take means
 * none. */
void proxied_set(struct proxied *p, struct bytes proxies);

/* Is it the end of a proxy? */
bool proxied_is_from(const struct proxied *p, const struct peer_end *end);

/* Takes `fd` over, a connection of `proxy`. What comes with the connection is heard at once, so
 * that a client that has asked already is there when its address moves. */
void proxied_hear(struct proxied *p, int fd, const struct peer_end *proxy);

/* Closes those without a header, without a word. */
void proxied_forget(struct proxied *p);

#endif
