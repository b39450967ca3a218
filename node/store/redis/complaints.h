/* What the log is told of Redis's answers. Errors come by the thousand, and a contradiction in
 * the data is found again with every scan: the first is said, then only how many there were.
 */
#ifndef DUEQ_NODE_STORE_REDIS_COMPLAINTS_H
#define DUEQ_NODE_STORE_REDIS_COMPLAINTS_H

#include <stdint.h>

#include "node/store/op.h"

/* All zero at first. */
struct redis_complaints {
    int64_t quiet_until_mono_ms;
    unsigned unsaid; /* errors since the last line */
    int64_t stuck_quiet_until_mono_ms;
};

void redis_complain_error(struct redis_complaints *c, int64_t now_mono_ms, enum op_verb verb,
                          const char *error);

/* Of a scan that was answered well; perhaps it left topics alone. */
void redis_complain_stuck(struct redis_complaints *c, int64_t now_mono_ms,
                          const struct op *scan);

#endif
