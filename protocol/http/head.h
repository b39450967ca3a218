/* The head of a request: its first line and its headers. Pure.
 *
 * Strict where two readers of the same bytes could disagree about where a request ends: lines
 * end with CR LF, a header's name is a token with the colon right behind it, no header goes on
 * in a second line, and a body has one length. Headers that nobody here asks for are checked
 * for their form and left alone.
 *
 * To read one more header: a field of struct head, and a line in the table of head.c.
 */
#ifndef DUEQ_PROTOCOL_HTTP_HEAD_H
#define DUEQ_PROTOCOL_HTTP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "protocol/http/fault.h"

#define HEAD_MAX_BYTES  16384
#define HEAD_MAX_FIELDS 100
#define REQUEST_ID_MAX  64

/* Borrows from the bytes it was parsed from. */
struct head {
    struct bytes method;
    struct bytes path;  /* from its first '/', as it was sent: not unescaped */
    struct bytes query; /* behind the '?' */
    struct bytes
        request_id;      /* 1 to REQUEST_ID_MAX of [A-Za-z0-9-_.:]; empty: none, or not so */
    uint64_t body_bytes; /* 0 also when chunked */
    bool has_length;
    bool is_chunked;
    bool is_old;           /* HTTP/1.0 */
    bool is_kept_alive;    /* the client may send another request */
    bool wants_close;      /* it has said that it will not */
    bool expects_continue; /* it waits for "100 Continue" before it sends the body */
};

/* Looks for the end of the head: `*len` is its length with the empty line, 0: not there yet.
 * `*seen`, zero at first, remembers between calls what was looked at already. */
enum http_fault head_find_end(struct bytes input, size_t *seen, size_t *len);

/* `bytes` are exactly a head as found above. `out` is untouched on failure. */
enum http_fault head_parse(struct bytes bytes, struct head *out);

#endif
