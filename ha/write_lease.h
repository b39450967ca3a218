/* Until when a leader may act. Pure arithmetic; the proof is in doc/model.
 *
 * A ping of ZooKeeper is no lease: a follower that is cut off from its leader goes on answering
 * pings. A write is acknowledged by a quorum, and carries a check of the leader's epoch; but a
 * write that a follower forwards does not prolong the session, so a session can end soon after
 * one. Only both together bound the time in which nobody else can be elected:
 *
 *     until = min(w + 2T/3, u + 0.95 T)
 *
 *     T  the session timeout that the servers granted
 *     w  when the newest acknowledged quorum write was sent
 *     u  when the newest acknowledged request of any kind was sent that was sent T/4 or more
 *        before w
 *
 * All times are milliseconds of CLOCK_BOOTTIME, taken before the request was handed to the
 * library: it goes on while the machine sleeps.
 */
#ifndef DUEQ_HA_WRITE_LEASE_H
#define DUEQ_HA_WRITE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#define WRITE_LEASE_TOUCHES 16

struct write_lease {
    int64_t session_ms;                      /* T */
    bool has_write;                          /* in this session */
    int64_t written_ms;                      /* w */
    int64_t touched_ms[WRITE_LEASE_TOUCHES]; /* when acknowledged requests were sent; a ring */
    unsigned touched_count;                  /* ever */
};

/* A new session: what was proven in an older one does not count. */
void write_lease_begin(struct write_lease *l, int64_t session_ms);

/* A request, or a quorum write, that was sent then has been acknowledged. In any order. A write
 * is a request, too. */
void write_lease_touched(struct write_lease *l, int64_t sent_boot_ms);
void write_lease_written(struct write_lease *l, int64_t sent_boot_ms);

/* The epoch is no longer this node's: no write counts any more. */
void write_lease_void(struct write_lease *l);

/* The first millisecond in which the leader may not act; INT64_MIN where nothing is proven. */
int64_t write_lease_until(const struct write_lease *l);

/* How often to send something, so that the lease never runs out of its own. */
int64_t write_lease_beat_ms(const struct write_lease *l); /* T/6 */

/* How long after a promise to it a leader may count on it, and how long a successor by force
 * has to wait: 2T/3. */
int64_t write_lease_promise_ms(int64_t session_ms);

#endif
