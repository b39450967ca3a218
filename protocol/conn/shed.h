/* What all connections of a kind keep in memory together, and who has to go when it is too
 * much: whoever has made no progress for longest. Private to a connection's files.
 *
 * The kind's lists `kept` and `unread` are in the order of progress. Closing a connection takes
 * it out of both, and its bytes out of the gauges.
 */
#ifndef DUEQ_PROTOCOL_CONN_SHED_H
#define DUEQ_PROTOCOL_CONN_SHED_H

#include "protocol/conn/connection.h"

/* A connection made progress with `s`, or has nothing in it any more: `link` goes to the end
 * of `all`, or out of it. */
void shed_note_progress(struct list *all, struct list *link, const struct stream *s);

/* Closes connections until the unused input of all is within kept_max_bytes; it may be the one
 * whose input was added last. */
void shed_bound_kept(struct connection_kind *kind);

/* The same for unread output; but `newest` stays whatever it has, or a large reply could never
 * be given to anybody. */
void shed_bound_unread(struct connection_kind *kind, const struct connection *newest);

#endif
