/* Names of other machines, looked up without ever blocking the loop.
 *
 * libevent asks the name servers of /etc/resolv.conf, after /etc/hosts; other sources of
 * nsswitch.conf are not looked into. Both files are read anew each time. Addresses cost
 * nothing. What a slow name server owes is not waited for when other names are known: on_done
 * comes early with those, and again when all are answered.
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
    /* Never from inside resolve_start(). Once; or twice, if RESOLVE_PATIENCE_MS after the
     * start, or a multiple of it, only some names were known. */
    void (*on_done)(struct resolve *r);

    /* As of the last on_done: "address:port,...", IPv6 in brackets; a name may have several. */
    struct buf servers;
    /* What is wrong with the first name that gave no address, or ""; also while none is known.
     */
    char unknown[160];

    /* Its own. */
    struct timer timer;
    struct resolve_lookup *lookup; /* under way, or NULL */
};

#define RESOLVE_PATIENCE_MS    500
#define RESOLVE_FAREWELL_TURNS 2

void resolve_init(struct resolve *r, struct loop *loop, void (*on_done)(struct resolve *r));
/* At any time. What was under way is freed in the next RESOLVE_FAREWELL_TURNS of the loop. */
void resolve_fini(struct resolve *r);

/* "name:port,address:port,[address]:port". What is under way is left to finish, and nothing
 * else begins: its answer is as fresh. Bounded by the resolver's own patience, 5 s three times
 * unless resolv.conf says otherwise. */
void resolve_start(struct resolve *r, const char *servers);

/* No on_done any more; what was under way is freed as in resolve_fini(). False: there was
 * nothing.
 */
bool resolve_cancel(struct resolve *r);

#endif
