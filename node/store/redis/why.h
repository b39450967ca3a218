/* Why a link is not what it should be: the last reason, for the log and for people.
 *
 * Most attempts to connect end like one before them: a reason is logged when it is new, and
 * once a minute. A link whose reasons change all the time (a name with many addresses) logs no
 * more than REDIS_WHY_LINES of them a minute; how many more were new is said with the next one.
 */
#ifndef DUEQ_NODE_STORE_REDIS_WHY_H
#define DUEQ_NODE_STORE_REDIS_WHY_H

#include <stdint.h>

#include "base/log.h"

#define REDIS_WHY_CHARS 320 /* an address and a reason; what is longer is cut */
#define REDIS_WHY_LINES 8

/* All zero at first. */
struct redis_why {
    char text[REDIS_WHY_CHARS]; /* printable ASCII; "": there is no reason */
    unsigned reason_at;         /* in the text, behind where it was */

    struct redis_why_line {
        char text[REDIS_WHY_CHARS]; /* "": it may be said again */
        int64_t until_mono_ms;      /* it stands for a line of this minute until then */
    } said[REDIS_WHY_LINES];
    unsigned unsaid; /* reasons that were new since the last line */
};

/* `where` is the address that was tried, "" for none; it is left out where `name` ends with it.
 * `reason` may be a stranger's: what is not printable becomes "?". */
void redis_why_set(struct redis_why *w, enum log_level level, const char *name,
                   const char *where, const char *reason, int64_t now_mono_ms);

/* All is well: there is no reason, and the next one is new, whatever it is. */
void redis_why_clear(struct redis_why *w);

/* Without the address. */
const char *redis_why_reason(const struct redis_why *w);

#endif
