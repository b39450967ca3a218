/* The capabilities that a virtual address takes: CAP_NET_ADMIN to put it, CAP_NET_RAW to
 * announce it. As file capabilities they are permitted only (`setcap
 * cap_net_admin,cap_net_raw=p`), and made effective here: effective ones in the file would keep
 * the program from starting at all where a container has not been given them, with an error
 * that says nothing.
 *
 * The kernel makes such a process undumpable, because it has more capabilities than its parent:
 * no core dumps, no debugger, its files in /proc are root's. The process is made dumpable again
 * here: only the node's own user can read its core dump or attach a debugger, and the kernel
 * refuses a debugger with fewer capabilities.
 *
 * A worker dies with its warden by PDEATHSIG. Neither raising nor giving up clears that signal:
 * only new permitted capabilities do, and those come with an exec.
 */
#ifndef DUEQ_NODE_CAPABILITIES_H
#define DUEQ_NODE_CAPABILITIES_H

#include <stdbool.h>

#include "base/status.h"

/* Makes both effective for this process and its forks; programs that it starts get none, unless
 * it runs as root. WRONG_STATE: the process does not have them; the log says what to do, naming
 * `key`. */
enum status capabilities_raise(const char *key) MUST_CHECK;

/* Drops both where they are not needed: those from a service manager (AmbientCapabilities)
 * would reach every program that the node runs. Root keeps its own: a program that it starts
 * would get them back, and lose its PDEATHSIG with that. Root's children give them up, see
 * below. */
void capabilities_drop(void);

/* For good, in a child of a warden that runs as root: keeps only the capabilities to read and
 * write other users' files (configuration, log), and with `with_network` the two above.
 * Programs that the child starts get no more, not even setuid ones (no_new_privs); so not for a
 * child that runs an operator's hook. Another user's child keeps what it has. */
void capabilities_confine(bool with_network);

/* For a child that needs no capabilities: it has none and gets none, as root, too. */
void capabilities_give_up_all(void);

/* For the worker, once its packet sockets are made: gives up CAP_NET_RAW for good. The worker
 * needs CAP_NET_ADMIN as long as it lives. */
void capabilities_give_up_net_raw(void);

#endif
