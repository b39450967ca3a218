/* Does Redis's clock run on, or was it set? Each answer of a script brings its time, which lies
 * between the moment the request was sent and the moment the answer was read. So how far it is
 * ahead of this host's monotonic clock is known within the length of the round trip, and two
 * answers whose ranges are further apart than REDIS_CLOCK_JUMP_MS prove a jump: the clock was
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
#define REDIS_CLOCK_WIDE_MS 500 /* a longer round trip is compared, and not gone by */

/* All zero: nothing was read yet. */
struct redis_clock {
    bool is_known;
    int64_t least_ms, most_ms; /* by which it is ahead of ours */
    /* The owner's: lines of the log in this second, and when it began. */
    unsigned said;
    int64_t said_from_mono_ms;
};

/* An answer's time, and when it was sent and read on our monotonic clock. By how many ms the
 * clock has jumped at least, below 0: back; 0: not for certain. */
int64_t redis_clock_read(struct redis_clock *c, int64_t theirs_ms, int64_t sent_mono_ms,
                         int64_t read_mono_ms);

#endif
