/* The head of a request: its first line and its headers. Pure.
 *
 * Strict where two readers of the same bytes could disagree about where a request ends: lines
 * end with CR LF, a header's name is a token with the colon right behind it, no header goes on
 * in a second line, and there is one host and one length of the body. Headers that nobody here
 * asks for are checked for their form and left alone.
 *
 * To read one more header: a field of struct head, and a line in the table of head.c.
 */
#ifndef DUEQ_PROTOCOL_HTTP_HEAD_H
#define DUEQ_PROTOCOL_HTTP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "protocol/http/errors.h"

#define HEAD_MAX_BYTES  16384
#define HEAD_MAX_FIELDS 100
#define REQUEST_ID_MAX  64

/* Borrows from the bytes it was parsed from. */
struct head {
    struct bytes method;
    struct bytes path;  /* from its first '/', as it was sent: not unescaped; never empty */
    struct bytes query; /* behind the '?' */
    struct bytes
        request_id;      /* 1 to REQUEST_ID_MAX of [A-Za-z0-9-_.:]; empty: none, or not so */
    uint64_t body_bytes; /* 0 also when chunked */
    bool has_length;
    bool is_chunked;
    struct bytes host; /* with its port, never empty; `at` is NULL: HTTP/1.0 without one */
    struct bytes fetch_site; /* Sec-Fetch-Site: whose page asks, as the browser knows it */
    bool has_origin;         /* a page asks, and not by a link */
    bool is_old;             /* HTTP/1.0 */
    bool is_kept_alive;      /* the client may send another request */
    bool wants_close;        /* it has said that it will not */
    bool expects_continue;   /* it waits for "100 Continue" before it sends the body */
};

/* Looks for the end of the head: `*len` is its length with the empty line, 0: not there yet.
 * `*seen`, zero at first, remembers between calls what was looked at already. */
enum http_error head_find_end(struct bytes input, size_t *seen, size_t *len);

/* `bytes` are exactly a head as found above. `out` is untouched on failure. */
enum http_error head_parse(struct bytes bytes, struct head *out);

/* Does a web page of somebody else ask, through its visitor's browser? Browsers say so in
 * Sec-Fetch-Site; towards plain http on other machines they send only an Origin, which proves
 * nothing even when it equals Host (DNS rebinding), so with it alone a page is foreign. */
bool head_is_foreign(const struct head *h);

#endif
