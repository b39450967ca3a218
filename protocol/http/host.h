/* Which names a request may call this node by. Pure.
 *
 * A web page can have its own name lead to this node for a moment (DNS rebinding); its browser
 * then takes the node for the page's own server and shows it what it reads. What the browser
 * still tells is the name. So an address and `localhost` are always fine: they are nobody's to
 * give away. doc/decisions/0006 has the rest.
 */
#ifndef DUEQ_PROTOCOL_HTTP_HOST_H
#define DUEQ_PROTOCOL_HTTP_HOST_H

#include <stdbool.h>

#include "base/bytes.h"

/* `host` is a Host header, with its port, or empty: there was none. `names` has commas between;
 * empty or NULL: any name will do. */
bool host_is_ours(struct bytes host, const char *names);

#endif
