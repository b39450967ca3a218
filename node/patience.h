/* How long a stopping node goes on using its store. The time has three equal parts. In the
 * first the store may do anything. After that a silent store is given up; a store that answers
 * is used until the middle of the third part, so that deliveries to clients that read their
 * last replies slowly are confirmed, too. When the store is given up, unanswered operations get
 * up to another part.
 *
 * Pure. Times are of the monotonic clock.
 */
#ifndef DUEQ_NODE_PATIENCE_H
#define DUEQ_NODE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_LOOK_MS   100
#define PATIENCE_SILENT_MS 500 /* or a quarter of a part; a busy disk takes less */

struct patience {
    int64_t part_ms;
    int64_t end_mono_ms;
    uint64_t answers;             /* at the last look */
    int64_t silent_since_mono_ms; /* something is asked, and nothing was answered; 0: not so */
};

void patience_init(struct patience *p, int64_t now_mono_ms, int64_t stop_timeout_ms);

/* Call at the beginning, and from the end of the first part on every PATIENCE_LOOK_MS.
 * `pending`: operations not answered; `answers`: answers so far. True: the store is to be used
 * no longer. */
bool patience_is_over(struct patience *p, int64_t now_mono_ms, uint64_t pending,
                      uint64_t answers);

/* How long to wait for the last answers from then on. `kept_ms` of the end are left to others.
 */
int64_t patience_for_answers_ms(const struct patience *p, int64_t now_mono_ms, int64_t kept_ms);

#endif
