/* ${NAME} and ${NAME:-default} in a value of the file.
 *
 * A variable that is not set is an error, because the alternative is a node that quietly runs
 * with an empty host or no password; with a default, unset and empty both take the default.
 * `$${` stands for `${`; any other dollar sign for itself. Defaults do not nest: a default
 * ends at the first `}`.
 */
#ifndef DUEQ_CONF_ENV_H
#define DUEQ_CONF_ENV_H

#include "base/buf.h"
#include "base/status.h"

#define ENV_TEXT_MAX 65536 /* bytes of an expanded value */

/* Appends the expanded text to `to`. BAD_CONFIG: `why` is a sentence for the operator, and
 * `to` is as it was. */
enum status env_expand(const char *text, const char *(*get_env)(const char *name),
                       struct buf *to, struct buf *why) MUST_CHECK;

#endif
