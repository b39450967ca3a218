/* The capabilities that a virtual address takes: CAP_NET_ADMIN to put it, CAP_NET_RAW to announce
 * it. As file capabilities they are permitted only (`setcap cap_net_admin,cap_net_raw=p`), and made
 * effective here: effective ones in the file would fail to start where a container has not been
 * given them, and for a worker end what makes it die with its warden (PDEATHSIG).
 */
#ifndef DUEQ_NODE_CAPABILITIES_H
#define DUEQ_NODE_CAPABILITIES_H

#include "base/status.h"

/* Makes them effective for this process and those it forks; programs that it starts get none.
 * WRONG_STATE: it does not have them; the log says what to do, naming `key`. */
enum status capabilities_raise(const char *key) MUST_CHECK;

/* The worker's, after the sockets are open: all but CAP_NET_ADMIN are given up for good. */
void capabilities_keep_net_admin(void);

#endif
