/* One request and its reply: what a handler gets, and how it answers. Private to http/.
 *
 * A handler answers exactly once, at once or later, with one of the exchange_reply calls; the
 * exchange is not the handler's any more then. A client may leave before: the reply then goes
 * nowhere, and the rules for the handler stay the same.
 */
#ifndef DUEQ_PROTOCOL_HTTP_EXCHANGE_H
#define DUEQ_PROTOCOL_HTTP_EXCHANGE_H

#include "base/buf.h"
#include "protocol/http/head.h"

struct http;

struct exchange {
    struct http *http;
    struct head head;            /* lives as long as the exchange */
    struct buf fields;           /* the reply's, so far */
    char id[REQUEST_ID_MAX + 1]; /* X-Request-Id: the client's, or ours */
};

void exchange_reply(struct exchange *x, int code, const char *content_type, struct bytes body);

/* {"status": word} */
void exchange_reply_status(struct exchange *x, int code, const char *word);

/* {"error": {"code": code_word, "message": text}}; a 503 says when to try again. */
void exchange_reply_error(struct exchange *x, int code, const char *code_word,
                          const char *text);

/* May be called before a reply only. */
void exchange_add_header(struct exchange *x, const char *name, const char *value);

#endif
