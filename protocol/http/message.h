/* An HTTP request as bytes. Pure.
 *
 *   url_    escapes and queries; form_: bodies of forms
 *   host_   the names by which a request may call this node
 *   head_   the first line and the headers
 *   body_   where the body ends, and what is content in it
 */
#ifndef DUEQ_PROTOCOL_HTTP_MESSAGE_H
#define DUEQ_PROTOCOL_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "protocol/http/errors.h"

/* ---- escapes and queries ---- */

/* Resolves the escapes in place: the bytes must be the caller's to change, and it is done only
 * once. A '+' stands for itself. False: a '%' without two hexadecimal digits; `text` is spoilt
 * then. */
bool url_unescape(struct bytes *text);

/* The next "name=value" of a query, false at the end; both still escaped. */
bool url_query_next(struct bytes *rest, struct bytes *name, struct bytes *value);

/* The next field of a form's body (application/x-www-form-urlencoded), both parts unescaped in
 * place, a '+' as a space. Returns 1; 0 at the end; -1: an escape is malformed, and the rest is
 * spoilt. */
int form_next(struct bytes *rest, struct bytes *name, struct bytes *value);

/* ---- the names by which a request may call this node ----
 *
 * A web page can point its own name at this node for a moment (DNS rebinding); the browser then
 * takes the node for the page's own server and lets the page read the replies. But Host still
 * carries the page's name. An address and `localhost` are always fine: no page can own them.
 * doc/decisions/0006 and 0027 have the rest.
 */

/* `host` is a Host header, with its port, or empty: there was none. `names` has commas between;
 * "*": any name will do. */
bool host_is_ours(struct bytes host, const char *names);

/* A name without a dot, or under an ending that nobody can register: of a container, a service,
 * a machine in the same network. So no page has it. */
bool host_is_private(struct bytes host);

/* ---- the head: the first line and the headers ----
 *
 * Strict where two readers of the same bytes could disagree about where a request ends: lines
 * end with CR LF, a header's name is a token with the colon right behind it, no header goes on
 * in a second line, and there is one host and one length of the body. Headers that nobody here
 * asks for are checked for their form and left alone.
 *
 * To read one more header: a field of struct head, and a line in the table of message.c.
 */

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
    struct bytes fields; /* all headers as they were sent, for head_next_field() */
    uint64_t body_bytes; /* 0 also when chunked */
    bool has_length;
    bool is_chunked;
    struct bytes host; /* with its port, never empty; `at` is NULL: HTTP/1.0 without one */
    struct bytes authorization; /* what it says; `at` is NULL: there is none */
    struct bytes fetch_site;    /* Sec-Fetch-Site: whose page asks, as the browser knows it */
    bool has_origin;            /* a page asks, and not by a link */
    bool is_old;                /* HTTP/1.0 */
    bool is_kept_alive;         /* the client may send another request */
    bool wants_close;           /* it has said that it will not */
    bool expects_continue;      /* it waits for "100 Continue" before it sends the body */
};

/* Looks for the end of the head: `*len` is its length with the empty line, 0: not there yet.
 * `*seen`, zero at first, remembers between calls what was looked at already. */
enum http_error head_find_end(struct bytes input, size_t *seen, size_t *len);

/* `bytes` are exactly a head as found above. `out` is untouched on failure. */
enum http_error head_parse(struct bytes bytes, struct head *out);

/* The next header, of any name, in the order in which they came; false at the end. `*rest` is
 * `fields` at first. */
bool head_next_field(struct bytes *rest, struct bytes *name, struct bytes *value);

/* The value of the first header of this name, in any case; `at` is NULL: there is none. */
struct bytes head_field(const struct head *h, const char *name);

/* Does a foreign web page ask, through its visitor's browser? Browsers say so in
 * Sec-Fetch-Site. Towards plain http on other machines they send only an Origin, which proves
 * nothing even when it equals Host (DNS rebinding): a request with an Origin alone counts as
 * foreign. */
bool head_is_foreign(const struct head *h);

/* ---- the body: by its length, or in chunks ----
 *
 *   SIZE --> DATA --> DATA_END --> SIZE    a chunk
 *   SIZE --> TRAILER --> DONE              the last one, and headers behind it (left alone)
 *   DATA --> DONE                          a body with a length
 *
 * All zero: DONE, no body. In DONE and LOST body_take() must not be called.
 */

enum body_state {
    BODY_DONE,
    BODY_DATA,
    BODY_SIZE,
    BODY_DATA_END,
    BODY_TRAILER,
    BODY_LOST /* set by the server where the head was unreadable: the end is unknown */
};

struct body {
    enum body_state state;
    bool is_chunked;
    uint64_t left; /* DATA: content bytes to come, of this chunk */
    uint64_t len;  /* content bytes so far, announced ones included */
    uint64_t max_bytes;
    size_t trailer_bytes;
};

/* TOO_LARGE where the announced length exceeds `max_bytes`; the body is then not DONE. */
enum http_error body_begin(struct body *b, const struct head *h, uint64_t max_bytes);

/* One step: `*used` of `input`'s bytes are taken (0: more are needed), and `content`, which
 * borrows from them, comes out; it is often empty. */
enum http_error body_take(struct body *b, struct bytes input, size_t *used,
                          struct bytes *content);

#endif
