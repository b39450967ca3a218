/* Errors of Redis: what a reply means for the connection it came on, the last one of a link,
 * and what the log is told of them: each once, then how many there were.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ERROR_H
#define DUEQ_NODE_STORE_REDIS_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/timer.h"
#include "node/store/op.h"
#include "node/store/redis/rollback.h"
#include "node/store/redis/store.h"

/* Will it be the same until somebody changes Redis or our configuration? So it is with a
 * wrong password, a missing right, a command that does not exist, keys that are not ours.
 * Everything else (no room for one more client, a busy script, a full disk, data being
 * loaded) passes by itself. */
bool redis_error_is_lasting(const char *error);

/* Does it say of Redis that it refuses all writes, or those that need memory? */
bool redis_error_refuses_writes(const char *error);

/* Is it true of all commands on this connection, while a new one may find a better Redis? */
bool redis_error_is_of_the_connection(const char *error);

/* Why a link is not what it should be: the last reason, for the log and for people.
 *
 * Most attempts to connect end like one before them: a reason is logged when it is new, and
 * once a minute. A link whose reasons change all the time (a name with many addresses) logs no
 * more than REDIS_WHY_LINES of them a minute; how many more were new is said with the next one.
 */

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

/* What the log is told of Redis's answers. Errors come by the thousand: the first is said, then
 * only how many there were. What is wrong in the data of a bucket is found again with every
 * scan: it is said once, and again where it is still there an hour later.
 */

/* What the log is told of the store's state.
 *
 * "up, but hears no wake-ups" is passed through with each loss and each new connection, because
 * one of the two links is always the first: it is said only when it lasts. What has been said
 * already is not said again.
 */

struct redis_state_log {
    struct timers *timers;
    struct timer timer;
    const char *where; /* the Redis that is, or was, up; borrowed */
    enum redis_store_state state, said;
    enum log_level level;
};

void redis_state_log_init(struct redis_state_log *l, struct timers *timers, const char *where);
void redis_state_log_fini(struct redis_state_log *l);
void redis_state_log_turned(struct redis_state_log *l, enum redis_store_state state,
                            enum log_level level);

/* What was said of a bucket last. */
struct redis_complaint {
    char wrong[112]; /* its beginning; "": nothing yet */
    int64_t said_mono_ms;
};

/* All zero at first. */
struct redis_complaints {
    int64_t quiet_until_mono_ms;
    unsigned unsaid; /* errors since the last line */
    struct redis_complaint buckets[REDIS_MARKS_BUCKETS_MAX];
    struct redis_complaint topics[REDIS_MARKS_BUCKETS_MAX]; /* the last topic of each bucket */
};

/* `op` was answered with this error. Where it is the leader's and names what is wrong in the
 * bucket, so does the line, with what to do. */
void redis_complain_error(struct redis_complaints *c, int64_t now_mono_ms, const struct op *op,
                          const char *error);

/* Of a scan that was answered well; perhaps it left topics alone. */
void redis_complain_scanned(struct redis_complaints *c, int64_t now_mono_ms,
                            const struct op *scan);

#endif
