/* Why a link is not what it should be: the last reason, for the log and for people.
 *
 * Most attempts to connect end like the one before them: a reason is logged when it is new, and
 * once a minute.
 */
#ifndef DUEQ_NODE_STORE_REDIS_WHY_H
#define DUEQ_NODE_STORE_REDIS_WHY_H

#include <stdint.h>

#include "base/log.h"

/* All zero at first. */
struct redis_why {
    char text[256];       /* printable ASCII; "": there is no reason */
    int64_t said_mono_ms; /* when it was last logged */
};

/* `text` may be a stranger's: what is not printable becomes "?", and what is too long is cut.
 */
void redis_why_set(struct redis_why *w, enum log_level level, const char *name,
                   const char *text, int64_t now_mono_ms);

#endif
