/* How long a node that stops goes on using its store. Its time has three parts: the first is
 * for whatever the store does; then a store that is silent is given up, while one that answers
 * is used until the middle of the third part, so that deliveries are confirmed also to clients
 * that read their last replies slowly. What the store has not answered when it is given up has
 * another part for it, as far as there is one.
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

/* At the beginning, and from the end of the first part on every PATIENCE_LOOK_MS: what the
 * store has not answered, and how many answers there have been. True: it is to be used no
 * longer. */
bool patience_is_over(struct patience *p, int64_t now_mono_ms, uint64_t pending,
                      uint64_t answers);

/* From then on: so long its last answers are waited for. `kept_ms`: of the end, for others. */
int64_t patience_for_answers_ms(const struct patience *p, int64_t now_mono_ms, int64_t kept_ms);

#endif
