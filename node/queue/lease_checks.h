/* The checks of leases. A client holds a lease as number and check: the number is the one that
 * the store gave to the reservation, and counts up, so that anybody who has seen one could
 * guess the next. The check is a MAC of topic, id and number by the store's key, which all of
 * its nodes have. It shows that a lease was handed out, to somebody, for this job. The store
 * keeps the number alone, and judges whether it still counts.
 *
 * A wrong check makes the lease nobody's (stamp 0), and the operation goes to the store all the
 * same: its answer is that of a stale lease, and says nothing of the number. So does a number
 * without a check where none can be out.
 *
 *   lease_check  handed out                  a number without a check
 *   off          number                      as before: the store judges it
 *   require      number and check            nobody's
 *   auto         number and check, unless    nobody's, unless such leases may be out, or a
 *                a node cannot read it       node of the cluster cannot read checks
 *
 * They may be out where an older version has begun the store, and since a node had `off`, or
 * saw one of an older version: a lease that is used, or a look of the store, finds that out,
 * and the store keeps it.
 *
 * A lease that the node itself holds for a client (in.lease.is_nodes) has never been told to
 * anybody, and needs no check.
 *
 * In auto, where nobody knows yet what the other nodes can read, a store where numbers alone
 * may be out is in the middle of an upgrade: they are handed out. In any other store they are
 * not.
 */
#ifndef DUEQ_NODE_QUEUE_LEASE_CHECKS_H
#define DUEQ_NODE_QUEUE_LEASE_CHECKS_H

#include "base/buf.h"
#include "node/queue/core.h"

/* ---- the check itself. Pure ---- */

struct evp_mac_ctx_st;

/* All zero: without a key. */
struct lease_mac {
    struct evp_mac_ctx_st *keyed; /* NULL: it has no key */
    unsigned char key[STORE_LEASE_KEY_BYTES];
    struct buf message; /* the one that is being checked */
};

/* Harmless with the key that it has. */
void lease_mac_set_key(struct lease_mac *m, const unsigned char key[STORE_LEASE_KEY_BYTES]);
void lease_mac_fini(struct lease_mac *m);

/* The first 64 bits of HMAC-SHA256 over number, topic and id, each text with its length in
 * front. Only with a key. */
uint64_t lease_mac_check(struct lease_mac *m, struct bytes topic, struct bytes id,
                         int64_t stamp);

/* ---- the rules ---- */

struct lease_checks {
    struct core *core;
    enum lease_readers (*read_readers)(void *arg); /* NULL: all can */
    void *readers_arg;
    struct lease_mac mac;
};

void lease_checks_init(struct lease_checks *c, struct core *core);
void lease_checks_fini(struct lease_checks *c);

/* See queue_lease_checks(). */
bool lease_checks_make(struct lease_checks *c, const struct pop *pop, uint64_t *checks);

/* Does it count what has no check? Also the answer to store_events.has_bare. */
bool lease_checks_takes_bare(const struct lease_checks *c);

/* Judges the lease (in.lease) of an operation, and sends it. Where the store's key is not known
 * yet, a read goes ahead: with its answer the key is there. */
void lease_checks_send(struct lease_checks *c, struct op *op);

#endif
