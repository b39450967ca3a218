/* Does Redis's clock run on, or was it set? Each answer of a script brings its time, which lies
 * between the moment the request was sent and the moment the answer was read. So each answer
 * gives a range, as long as the round trip, of how far Redis's clock is ahead of this host's
 * monotonic one. Two ranges further apart than REDIS_CLOCK_JUMP_MS prove a jump: the clock was
 * set, another Redis with another clock has taken over, or this host was asleep. Slow drift is
 * followed from answer to answer; hours without any may end in a jump.
 *
 * Pure. Due times, leases and locks go by Redis's clock alone, so nothing is decided here:
 * people have to be told.
 */
#ifndef DUEQ_NODE_STORE_REDIS_CLOCK_H
#define DUEQ_NODE_STORE_REDIS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define REDIS_CLOCK_JUMP_MS 1000
#define REDIS_CLOCK_WIDE_MS 500 /* a longer round trip is compared, but changes no range */

/* All zero: nothing was read yet. */
struct redis_clock {
    bool is_known;
    int64_t least_ms, most_ms; /* by which Redis's clock is ahead of ours */
    /* The owner's: lines of the log in this second, and when it began. */
    unsigned said;
    int64_t said_from_mono_ms;
};

/* An answer's time, when its request was sent, and when the answer was read, both by our
 * monotonic clock. Returns by how many ms the clock has jumped at least; below 0: back; 0: no
 * certain jump. */
int64_t redis_clock_read(struct redis_clock *c, int64_t theirs_ms, int64_t sent_mono_ms,
                         int64_t read_mono_ms);

#endif
