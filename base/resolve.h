/* Names of other machines, looked up without ever blocking the loop.
 *
 * libevent looks into /etc/hosts, then asks the name servers of /etc/resolv.conf; other sources
 * of nsswitch.conf are ignored. Both files are read anew each time. An address needs no lookup.
 * When a name server is slow, on_done comes early with the names known so far, and again when
 * all are answered.
 */
#ifndef DUEQ_BASE_RESOLVE_H
#define DUEQ_BASE_RESOLVE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/loop.h"

struct resolve_lookup;

struct resolve {
    struct loop *loop;
    const char *conf; /* resolv.conf(5); tests have their own */
    /* From the loop, never from inside resolve_start(). Called once, or twice if only some
     * names were known at RESOLVE_PATIENCE_MS after the start or a multiple of that time. */
    void (*on_done)(struct resolve *r);

    /* As of the last on_done: "address:port,...", IPv6 in brackets; a name may have several
     * addresses. */
    struct buf servers;
    /* The first name without an address and what is wrong with it, or ""; valid before the
     * first on_done, too. */
    char unknown[160];

    /* Private. */
    struct timer timer;
    struct resolve_lookup *lookup; /* under way, or NULL */
};

#define RESOLVE_PATIENCE_MS 500
#define RESOLVE_DRAIN_TURNS 2

void resolve_init(struct resolve *r, struct loop *loop, void (*on_done)(struct resolve *r));
/* May be called at any time. A lookup under way is freed within the next RESOLVE_DRAIN_TURNS
 * turns of the loop. */
void resolve_fini(struct resolve *r);

/* Looks up "name:port,address:port,[address]:port". Does nothing while a lookup is under way,
 * whose answer will be as fresh. The resolver's timeout bounds a lookup: three times 5 s unless
 * resolv.conf says otherwise. */
void resolve_start(struct resolve *r, const char *servers);

/* Drops the lookup under way, without on_done; freed as in resolve_fini(). False: there was
 * none.
 */
bool resolve_cancel(struct resolve *r);

#endif
