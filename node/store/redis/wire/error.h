/* Errors of Redis: what a reply means for the connection it came on, and the last error of a
 * link.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ERROR_H
#define DUEQ_NODE_STORE_REDIS_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

/* Does the error last until somebody changes Redis or our configuration? True for a wrong
 * certificate or password, a missing right, a command that does not exist, keys that are not
 * ours. Every other error (no room for one more client, a busy script, a full disk, data being
 * loaded) passes by itself. */
bool redis_error_is_lasting(const char *error);

/* Does the error say that Redis refuses all writes, or those that need memory? */
bool redis_error_refuses_writes(const char *error);

/* Does the error hold for all commands on this connection, while a new one may find a better
 * Redis? */
bool redis_error_is_of_the_connection(const char *error);

/* Why a link is not what it should be: the last reason, for the log and for people.
 *
 * Most attempts to connect end like one before them: a reason is logged when it is new, and
 * once a minute. A link whose reasons change all the time (a name with many addresses) logs no
 * more than REDIS_ERROR_LINES of them a minute; how many more were new is said with the next
 * one.
 */

#define REDIS_ERROR_CHARS 320 /* an address and a reason; what is longer is cut */
#define REDIS_ERROR_LINES 8

/* All zero at first. */
struct redis_last_error {
    char text[REDIS_ERROR_CHARS]; /* printable ASCII; "": there is no reason */
    unsigned reason_at;           /* offset of the reason in `text`, behind the address */

    struct redis_last_error_line {
        char text[REDIS_ERROR_CHARS]; /* "": it may be said again */
        int64_t until_mono_ms;        /* until then it counts as a line of this minute */
    } said[REDIS_ERROR_LINES];
    unsigned unsaid; /* reasons that were new since the last line */
};

/* `where` is the address that was tried, "" for none; it is left out where `name` ends with it.
 * `reason` may be a stranger's: what is not printable becomes "?". */
void redis_last_error_set(struct redis_last_error *e, enum log_level level, const char *name,
                          const char *where, const char *reason, int64_t now_mono_ms);

/* All is well: there is no reason, and the next one is new, whatever it is. */
void redis_last_error_clear(struct redis_last_error *e);

/* Without the address. */
const char *redis_last_error_reason(const struct redis_last_error *e);

#endif
