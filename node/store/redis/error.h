/* What an error reply of Redis means for the connection it came on.
 */
#ifndef DUEQ_NODE_STORE_REDIS_ERROR_H
#define DUEQ_NODE_STORE_REDIS_ERROR_H

#include <stdbool.h>

/* Will it be the same until somebody changes Redis or our configuration? So it is with a
 * wrong password, a missing right, a command that does not exist, keys that are not ours.
 * Everything else (no room for one more client, a busy script, a full disk, data being
 * loaded) passes by itself. */
bool redis_error_is_lasting(const char *error);

/* Does it say of Redis that it refuses all writes, or those that need memory? */
bool redis_error_refuses_writes(const char *error);

/* Is it true of all commands on this connection, while a new one may find a better Redis? */
bool redis_error_is_of_the_connection(const char *error);

#endif
