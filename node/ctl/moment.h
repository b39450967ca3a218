/* Points in time as people write and read them: milliseconds since 1970 (UTC) inside.
 *
 * Written: "2026-12-01 09:00", with seconds and a fraction if wanted, "T" for the blank, and
 * behind it "Z" or "+02:00" for a zone other than the local one (RFC 3339); or the
 * milliseconds themselves. Shown in local time, "2026-12-01 09:00:00.000".
 */
#ifndef DUEQ_NODE_CTL_MOMENT_H
#define DUEQ_NODE_CTL_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* False, and *ms as it was, when the text is no time, or one that the calendar or the local
 * clock does not have. Milliseconds before 2001 are refused: they are seconds, most likely. */
bool moment_parse(const char *text, int64_t *ms);

/* Is it refused because it looks like seconds since 1970? */
bool moment_is_in_seconds(const char *text);

void moment_print(struct buf *to, int64_t ms);

#endif
