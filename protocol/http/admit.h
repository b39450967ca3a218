/* Whom a request acts as, and whether that one may. Decided with the head, before the body is
 * read. Private to http/.
 *
 * The identity of a request, its roles and its topics are those of protocol/access/; the roles
 * that a path is for are in the app's table.
 */
#ifndef DUEQ_PROTOCOL_HTTP_ADMIT_H
#define DUEQ_PROTOCOL_HTTP_ADMIT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "protocol/http/errors.h"

struct http_client;
struct http_request;

/* NONE: it may; its identity is in the exchange. UNAUTHORIZED, ATTEMPTS: it has no valid token.
 * IDENTITIES: that may yet come. FORBIDDEN: its identity is not for this, and is in the
 * exchange. IDENTITY_...: it is over a limit of its identity. For a request with a route. */
enum http_error admit(struct http_request *r);

/* Before a request begins with this complete head: is its identity on its way? Then the client
 * is held, and the head is offered again; nothing is counted. */
bool admit_holds(struct http_client *client, struct bytes head);

/* It brings a token, right or wrong, by which alone it will be judged. */
bool admit_is_by_token(const struct http_request *r);

/* Answers with FORBIDDEN, and says what is missing; nothing about what exists. */
void admit_reply_forbidden(struct http_request *r);

#endif
