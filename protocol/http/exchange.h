/* One request and its reply: what a handler gets, and how it answers. Private to http/.
 *
 * A handler answers exactly once, at once or later, with one of the exchange_reply calls; the
 * exchange is not the handler's any more then. A client may leave before: the reply then goes
 * nowhere, and the rules for the handler stay the same.
 *
 *   new -> replied -> sent, freed
 *    \        \---- the client leaves: freed
 *     \-- the client leaves: kept without a request until the handler replies, then freed
 */
#ifndef DUEQ_PROTOCOL_HTTP_EXCHANGE_H
#define DUEQ_PROTOCOL_HTTP_EXCHANGE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/list.h"

struct evhttp_request;
struct http;

#define REQUEST_ID_MAX 64

struct exchange {
    struct http *http;
    struct evhttp_request *request; /* evhttp's; NULL: the client has left */
    struct list link;               /* among those of its server */
    bool is_replied;
    char id[REQUEST_ID_MAX + 1]; /* X-Request-Id: the client's, or ours */
};

/* Takes part in the server's list, and calls http_exchange_ended() last. */
struct exchange *exchange_new(struct http *h, struct evhttp_request *request);

void exchange_reply(struct exchange *x, int code, const char *content_type, struct bytes body);

/* {"status": word} */
void exchange_reply_status(struct exchange *x, int code, const char *word);

/* {"error": {"code": code_word, "message": text}} */
void exchange_reply_error(struct exchange *x, int code, const char *code_word,
                          const char *text);

/* May be called before a reply only. `value` is copied. */
void exchange_add_header(struct exchange *x, const char *name, const char *value);

#endif
