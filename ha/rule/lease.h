/* Until when a leader may act. Pure arithmetic; the proof is in doc/model.
 *
 * A ping proves no lease: a ZooKeeper follower that is cut off from its leader goes on
 * answering pings. A write is acknowledged by a quorum and carries a check of the epoch. But a
 * write that a follower forwards does not prolong the session, which can end soon after. An
 * older request bounds the session's end, if its touch of the session is known to have arrived:
 *
 *     u sent, acked  -- T/4 or more -->  w1 sent, acked  -- T/12 or more -->  w2 sent, acked
 *
 *     until = u + 0.95 T
 *
 *     T       the session timeout that the servers granted
 *     w2      the newest acknowledged quorum write under this lead's epoch; the election itself
 *             is the first
 *     w1      the newest quorum write acknowledged T/12 or more before w2 was sent. A follower
 *             reports touches on the stream on which it forwards writes, so w2 proves that the
 *             touches before w1 have arrived. A ZooKeeper leader that was frozen between w1 and
 *             w2 has looked for ended sessions by then
 *     u       the newest request of any kind acknowledged T/4 or more before w1 was sent:
 *             followers report touches every half tick
 *
 * w2 and u are the times of sending. The session lasts until u + T at least, which the model
 * proves; the last T/20 is in reserve, for clocks that run apart. u is T/3 or more before w2,
 * so the lease ends before w2 + 2T/3, and a wait of 2T/3 outlasts it.
 *
 * With a beat each T/6 and fast answers the lease ends at w2 + 0.45 T. Much less would be too
 * little: a leader with less than T/4 left takes the quorum for lost (lead/failsafe.c), and the
 * next beat is due with 0.28 T left. A standby beats each T/6 as well, so that it may act as
 * soon as it is elected. All times are milliseconds of CLOCK_BOOTTIME, which goes on while the
 * machine sleeps; `sent` is read before the request goes to the library, `acked` after its
 * answer came.
 */
#ifndef DUEQ_HA_RULE_LEASE_H
#define DUEQ_HA_RULE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#define WRITE_LEASE_KEPT 16

struct write_lease_proof {
    int64_t sent_ms, acked_ms;
};

/* The newest requests by the time of sending, not closer together than T/24. */
struct write_lease_ring {
    struct write_lease_proof kept[WRITE_LEASE_KEPT];
    unsigned count;
};

struct write_lease {
    int64_t session_ms; /* T; 0: no session */
    struct write_lease_ring touches;
    struct write_lease_ring writes;
    struct write_lease_ring led; /* writes of this lead: since the last void */
    int64_t until_ms;            /* the latest end proven since the last void */
};

/* A new session: proofs of an older session do not count. */
void write_lease_begin(struct write_lease *l, int64_t session_ms);

/* Notes an acknowledged request: of any kind; a quorum write; a write that checked, or set, the
 * epoch of this node's lead. Each kind includes those before it. Any order of calls is fine. */
void write_lease_touched(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms);
void write_lease_written(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms);
void write_lease_led(struct write_lease *l, int64_t sent_boot_ms, int64_t acked_boot_ms);

/* The epoch is no longer this node's: writes under it count no more. The caller must not note
 * answers that are still on their way either. */
void write_lease_void(struct write_lease *l);

/* The first millisecond in which the leader may not act; INT64_MIN: no lease is proven. */
int64_t write_lease_until(const struct write_lease *l);

/* Would an election prove a lease at once, if it were sent now and answered in time? */
bool write_lease_would_be_proven(const struct write_lease *l, int64_t now_boot_ms);

/* When the next beat is to be sent: T/6 after the newest was sent, or T/12 if less than T/4 is
 * left of the lease; but at least T/12 after the newest was acknowledged. */
int64_t write_lease_next_beat_ms(const struct write_lease *l, int64_t sent_boot_ms,
                                 int64_t acked_boot_ms);

/* 2T/3: how long a leader may count on a member's promise, and how long a successor by force
 * has to wait. */
int64_t write_lease_promise_ms(int64_t session_ms);

#endif
