/* The capabilities that a virtual address takes: CAP_NET_ADMIN to put it, CAP_NET_RAW to
 * announce it. As file capabilities they are permitted only (`setcap
 * cap_net_admin,cap_net_raw=p`), and made effective here: effective ones in the file would keep
 * the program from starting at all where a container has not been given them, with an error
 * that says nothing.
 *
 * The kernel makes such a process undumpable, because it has more than who has started it: no
 * core dumps, no debugger, its files in /proc are root's. That is taken back here: who could
 * read a core dump or attach a debugger is the node's own user all the same, and the kernel
 * lets nobody attach who has fewer capabilities himself.
 *
 * Neither raising nor giving up touches what makes a worker die with its warden (PDEATHSIG):
 * that is lost with new permitted ones alone, and those come with the program.
 */
#ifndef DUEQ_NODE_CAPABILITIES_H
#define DUEQ_NODE_CAPABILITIES_H

#include <stdbool.h>

#include "base/status.h"

/* Makes them effective for this process and those it forks; programs that it starts get none,
 * unless it is root's. WRONG_STATE: it does not have them; the log says what to do, naming
 * `key`. */
enum status capabilities_raise(const char *key) MUST_CHECK;

/* The opposite, where they are not needed: what a service manager gave (AmbientCapabilities)
 * would reach all that the node runs. Root keeps its own: a program that it starts would get
 * them back, and lose its PDEATHSIG with that. Its children give them up, see below. */
void capabilities_drop(void);

/* For children of a warden that is root's, for good: of all of root's capabilities only those
 * to read and write files of other users (configuration, log) stay, and with `with_network` the
 * two above. Programs that the child starts get no more than that: setuid programs and root's
 * own rights count no longer (no_new_privs), so not for a child that runs an operator's hook.
 * Another user's child keeps what it has. */
void capabilities_confine(bool with_network);

/* For a child that needs none at all: it has none, and gets none, whoever its user is. */
void capabilities_give_up_all(void);

/* The worker's, when its packet sockets are made: gives up CAP_NET_RAW for good. CAP_NET_ADMIN
 * it needs for as long as it lives. */
void capabilities_give_up_net_raw(void);

#endif
