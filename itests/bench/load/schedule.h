/* When operations are due in an open loop: number n at begin + n / rate, whatever the server
 * does and however long the earlier ones take.
 *
 * This is what avoids coordinated omission. A closed loop asks nothing while the server
 * stands still, so a second of silence shows as one slow request out of thousands. Here the
 * requests of that second are due all the same; they wait in the client, and their latency
 * counts from the moment they were due, not from the moment they could be sent. The backlog
 * needs no queue: it is the difference between the clock and the count of those taken.
 *
 * Pure: the clock is the caller's. Microseconds.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_SCHEDULE_H
#define DUEQ_ITESTS_BENCH_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule {
    int64_t begin_us;
    int64_t rate;  /* a second, above 0 */
    int64_t total; /* how many there are */
    int64_t taken; /* how many were taken: the number of the next one */
};

/* All that is due from `begin_us` on and before `end_us`. */
void schedule_init(struct schedule *s, int64_t begin_us, int64_t end_us, int64_t rate);

/* When number n is due. */
int64_t schedule_at_us(const struct schedule *s, int64_t n);

bool schedule_is_over(const struct schedule *s);

/* Takes the next one if it is due by now, and says when it was. */
bool schedule_take(struct schedule *s, int64_t now_us, int64_t *at_us);

/* Until the next one is due: 0 when it is already, INT64_MAX when there is none. */
int64_t schedule_wait_us(const struct schedule *s, int64_t now_us);

#endif
