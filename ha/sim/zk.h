/* Three ZooKeeper servers in virtual time, with all that the plain fake ensemble leaves out.
 *
 * One leads, the others follow; each has its own log, its own tree as far as it has applied the
 * log, and its own clients. As in the real thing:
 *
 *   - a write goes to the leader, is logged by a quorum, and is answered by the client's server
 *     when that server applies it. Reads and pings are answered from the server's own tree,
 *     however old, after the connection's earlier requests;
 *   - only the leader knows when a session ends. A follower notes which sessions were heard and
 *     reports them in its answer to the leader's ping, each half tick; forwarded writes report
 *     nothing;
 *   - the leader looks for ended sessions in whole ticks, rounded up. Threads have no order:
 *     after a freeze the leader looks somewhat later than it serves queued requests, and a
 *     server reads messages of servers somewhat later than those of its clients;
 *   - a server that does not hear the other side for syncLimit ticks gives up, closes its
 *     clients' connections and looks for a leader anew; until then it goes on answering;
 *   - a new leader gives all sessions a fresh timeout. A session that shows up at another
 *     server is moved there, and touched; requests of the old connection are refused from then
 *     on.
 *
 * A frozen server's timers stand still, and so do the messages to it. A held link keeps
 * messages until it is released, as TCP does; a server that gave up meanwhile ignores them.
 *
 *   zk.c            the three servers: their faults, and which of them leads
 *   zk_log.c        a leader and its followers: the log, messages, patience
 *   zk_session.c    sessions: which were heard, and which end
 *   zk_conn.c       the clients' connections, and requests, answered in order
 *   client.c        the other end of a connection, at a node
 */
#ifndef DUEQ_HA_SIM_ZK_H
#define DUEQ_HA_SIM_ZK_H

#include "ha/sim/base.h"

#define SIM_SERVERS    3
#define SIM_SYNC_TICKS 5

void sim_zk_init(void);
void sim_zk_fini(void); /* after its clients */

struct timers *sim_zk_timers(void);                   /* shared by all servers */
struct timers *sim_zk_server_timers(unsigned server); /* NULL: it is dead, or frozen */

int sim_zk_leader(void);       /* a server that leads and is not frozen, or -1 */
unsigned sim_zk_leaders(void); /* number of leaders elected so far */
bool sim_zk_is_whole(void);    /* one leads, and both others follow it */

/* ---- faults ---- */

void sim_zk_freeze(unsigned server, bool is_frozen);
bool sim_zk_is_frozen(unsigned server);
void sim_zk_kill(unsigned server); /* its log stays */
void sim_zk_restart(unsigned server);
void sim_zk_hold(unsigned from, unsigned to, bool is_held);

/* A warden ends a session, at any server that it reaches. */
void sim_zk_end_session(const struct coord_credentials *who);

#endif
