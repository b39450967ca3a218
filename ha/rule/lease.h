/* Until when a leader may act. Pure arithmetic; the proof is in doc/model.
 *
 * A ping of ZooKeeper is no lease: a follower that is cut off from its leader goes on answering
 * pings. A write is acknowledged by a quorum, and carries a check of the leader's epoch; but a
 * write that a follower forwards does not prolong the session, so a session can end soon after
 * one. Only an older request, whose touch of the session is known to have arrived, bounds that:
 *
 *     u sent, acked  -- T/4 or more -->  w1 sent, acked  -- T/12 or more -->  w2 sent, acked
 *
 *     until = min(w2 + 2T/3, u + 0.95 T)
 *
 *     T       the session timeout that the servers granted
 *     w2      when the newest acknowledged quorum write under this lead's epoch was sent; the
 *             election itself is the first
 *     w1      the newest quorum write that was acknowledged T/12 or more before that. A
 *             follower tells of its touches on the stream on which it forwards, so w2 proves
 *             that those before w1 have arrived; and a ZooKeeper leader that was frozen between
 *             them has looked for sessions that ended
 *     u       when the newest request of any kind was sent that was acknowledged T/4 or more
 *             before w1 was sent: followers tell of their touches every half tick
 *
 * With a beat each T/6 and fast answers this is w2 + 0.45 T. So that a standby may act as soon
 * as it is elected, it writes a beat each T/6 as well. All times are milliseconds of
 * CLOCK_BOOTTIME, which goes on while the machine sleeps; `sent` is taken before the request
 * was handed to the library, `acked` after its answer came.
 */
#ifndef DUEQ_HA_RULE_LEASE_H
#define DUEQ_HA_RULE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#define WRITE_LEASE_KEPT 16

struct write_lease_proof {
    int64_t sent_ms, acked_ms;
};

/* The newest few, by the time of sending, and not closer together than T/24. */
struct write_lease_ring {
    struct write_lease_proof kept[WRITE_LEASE_KEPT];
    unsigned count;
};

struct write_lease {
    int64_t session_ms; /* T; 0: no session */
    struct write_lease_ring touches;
    struct write_lease_ring writes;
    struct write_lease_ring led; /* writes of this lead: since the last void */
    int64_t until_ms;            /* the latest that was proven since then */
};

/* A new session: what was proven in an older one does not count. */
void write_lease_begin(struct write_lease *l, int64_t session_ms);

/* A request that was sent then has been acknowledged then; a quorum write; one that checked, or
 * set, the epoch of this node's lead. In any order. Each is all that stands before it, too. */
void write_lease_touched(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms);
void write_lease_written(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms);
void write_lease_led(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms);

/* The epoch is no longer this node's: what was written under it counts no more. The caller sees
 * to it that answers still on their way are not counted either. */
void write_lease_void(struct write_lease *l);

/* The first millisecond in which the leader may not act; INT64_MIN where nothing is proven. */
int64_t write_lease_until(const struct write_lease *l);

/* Would an election prove a lease at once, if it were sent now and answered in time? */
bool write_lease_would_be_proven(const struct write_lease *l, int64_t now_boot_ms);

/* When the next beat is to be sent: T/6 after the newest was, or T/12 where less than T/4 is
 * left of the lease; and T/12 after the newest was acknowledged at least. */
int64_t write_lease_next_beat_ms(const struct write_lease *l, int64_t sent_boot_ms,
                                 int64_t acked_boot_ms);

/* How long after a promise to it a leader may count on it, and how long a successor by force
 * has to wait: 2T/3. */
int64_t write_lease_promise_ms(int64_t session_ms);

#endif
