/* The PROXY protocol: what a proxy says in front of a connection about whose it is. Versions 1
 * (a line of text) and 2 (binary), as HAProxy's proxy-protocol.txt has them. Pure.
 *
 * Of version 2 the extensions (TLVs) are passed over, and more than PROXY_HEADER_MAX bytes are
 * refused; of those that are common none has a quarter of that.
 */
#ifndef DUEQ_PROTOCOL_CONN_PROXY_H
#define DUEQ_PROTOCOL_CONN_PROXY_H

#include <stddef.h>

#include "base/bytes.h"
#include "protocol/conn/peer.h"

#define PROXY_HEADER_MAX 4096

enum proxy_result {
    PROXY_MORE,   /* so far it may become one */
    PROXY_BAD,    /* it is none, or malformed */
    PROXY_CLIENT, /* `client` is the one that the proxy speaks for */
    PROXY_ITSELF, /* the proxy speaks for itself (a check), or does not say for whom */
};

/* Reads the header at the front of `input`, which has `used` bytes; both outputs are untouched
 * where there is none. */
enum proxy_result proxy_read(struct bytes input, struct peer_end *client, size_t *used);

#endif
