/* What was asked for by a request that has a line in the audit log, as it came: its handler may
 * change its parts, and its client may leave before the answer. Private to http/.
 */
#ifndef DUEQ_PROTOCOL_HTTP_ASKED_H
#define DUEQ_PROTOCOL_HTTP_ASKED_H

#include <stdbool.h>

struct asked;
struct http_request;

/* There is an audit log, and its route is for operators. */
bool asked_is_audited(const struct http_request *r);

/* Notes it, where it is audited; before the handler has it. In r->asked, which is freed with
 * the request. */
void asked_note(struct http_request *r);

/* Writes the line, where it is noted; before the answer is sent. ATTEMPTS has none. */
void asked_tell(struct http_request *r);

#endif
