/* Reservations that end with their owner's process: this node says that it is there, and the
 * leader releases what silent processes have left.
 *
 * The store notes a reservation that is owned under the process that made it (op.h,
 * OP_NOTES_MAX). From its first such pop on, a node says every OWNED_BEAT_MS that it is there
 * (BEAT), until it stops: then it leaves. The leader asks with the same operation who is
 * silent, and releases all that is noted under a process (NOTES, RELEASE) which is dead by this
 * rule:
 *
 *   the leader has watched it: at the first look, and at each one since, the process had not
 * been there since the same moment; and between the first answer and the sending of the last
 *   question OWNED_SILENCE_MS have passed on the leader's own clock. A look that fails, or is
 *   answered late, the store or bucket 0 out of reach, a new leadership: the watch begins anew.
 *
 * So nothing depends on Redis's clock, which may jump; an outage of the store, however long,
 * ends nobody's reservations, because the watch begins when the store is back, and processes
 * that live say so within a second; and a leader that was frozen looks again before it acts.
 *
 * A process that was thought dead, and lives (it was frozen, or cut off), finds its leases
 * over. What it reserves then is safe: a note younger than OWNED_SILENCE_MS is left for the
 * next round. Releasing twice, also by two leaders, does no harm: a lease is valid
 * once. What the store did not take is released in the next round; a process is forgotten when
 * a round through all buckets has found nothing more.
 *
 * A node without owned reservations says nothing; a leader asks once a second.
 */
#ifndef DUEQ_NODE_QUEUE_OWNED_H
#define DUEQ_NODE_QUEUE_OWNED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "node/store/op.h"

#define OWNED_BEAT_MS 1000
#define OWNED_LATE_MS \
    2000 /* an answer that took longer; and who is silent for less is not told */
#define OWNED_SILENCE_MS 5000

struct core;
struct owned_round;

/* A process that may be dead. */
struct owned_suspect {
    struct worker_beat beat;
    int64_t since_mono_ms; /* when the answer came that told it first */
    bool is_told;          /* by the last look, too */
};

struct owned {
    struct core *core;
    struct timer timer;
    struct op beat;
    bool is_asking; /* the beat is on its way */
    bool owns;      /* this node has made an owned reservation */
    bool leads;
    bool is_closing;
    bool has_left;
    bool is_store_up;
    struct owned_suspect suspects[OP_BEATS_MAX];
    unsigned suspect_count;
    struct worker_beat
        done; /* its reservations are released: to be forgotten; worker 0: none */
    struct owned_round *round; /* NULL: none goes on */
};

void owned_init(struct owned *o, struct core *core);
void owned_fini(struct owned *o);

/* An operation is about to be sent: perhaps the first pop for an owner. */
void owned_before(struct owned *o, const struct op *op);

/* This node leads, or does not any more. */
void owned_set_leading(struct owned *o, bool leads);
void owned_set_store(struct owned *o, bool is_up);
void owned_set_bucket(struct owned *o, unsigned bucket); /* core_is_away() has changed */

/* The engine stops: no more looks; when the consumers' leases are ended, owned_leave(). */
void owned_close(struct owned *o);

/* This node owns nothing any more, and says so, once. True: there is nothing left to say. */
bool owned_leave(struct owned *o);

#endif
