/* Three ZooKeeper servers in virtual time: what the plain fake ensemble leaves out.
 *
 * One leads, the others follow; each has its own log, its own tree as far as it has applied the
 * log, and its own clients. As in the real thing:
 *
 *   - a write goes to the leader, is logged by a quorum, and is answered by the server whose
 *     client asked, when that one applies it; reads and pings are answered from the server's
 *     own tree, however old, behind the connection's earlier requests;
 *   - only the leader knows when a session ends. A follower notes who was heard and tells so in
 *     its answer to the leader's ping, each half tick; a write that it forwards tells nothing;
 *   - the leader looks for sessions that ended in whole ticks, rounded up; after a freeze it
 *     looks somewhat later than it serves what has queued up, and a server reads what others
 *     sent somewhat later than what its clients did: threads have no order;
 *   - who does not hear the other for syncLimit ticks gives up, closes its clients' connections
 *     and looks for a leader anew; until then it goes on answering;
 *   - a new leader gives all sessions a fresh timeout; a session that shows up at another
 *     server is moved there, and touched; requests of the old connection are refused from then
 *     on.
 *
 * A frozen server's timers stand still, and so does all that was sent to it. A link that is
 * held keeps what is sent on it until it is let go, as TCP does; who gave up meanwhile does not
 * listen any more.
 *
 *   zk.c            the three of them, and what happens to one: frozen, killed, cut off
 *   zk_election.c   which one leads
 *   zk_link.c       a leader and its followers: pings, patience, what they tell each other
 *   zk_log.c        the log: logged, decided, applied
 *   zk_session.c    sessions: who was heard, and which end
 *   zk_conn.c       the clients' connections
 *   zk_request.c    what comes on them, and is answered in order
 *   client.c        the other end of a connection, at a node
 */
#ifndef DUEQ_HA_SIM_ZK_H
#define DUEQ_HA_SIM_ZK_H

#include "ha/sim/base.h"

#define SIM_SERVERS    3
#define SIM_SYNC_TICKS 5

void sim_zk_init(void);
void sim_zk_fini(void); /* after its clients */

struct timers *sim_zk_timers(void);                   /* of what all of them share */
struct timers *sim_zk_server_timers(unsigned server); /* NULL: it is dead, or frozen */

int sim_zk_leader(void);       /* one that leads and is not frozen; -1 */
unsigned sim_zk_leaders(void); /* elected so far */
bool sim_zk_is_whole(void);    /* one leads, and both others follow it */

/* ---- faults ---- */

void sim_zk_freeze(unsigned server, bool is_frozen);
bool sim_zk_is_frozen(unsigned server);
void sim_zk_kill(unsigned server); /* its log stays */
void sim_zk_restart(unsigned server);
void sim_zk_hold(unsigned from, unsigned to, bool is_held);

/* A warden ends a session: some server that it reaches is told. */
void sim_zk_end_session(const struct coord_credentials *who);

#endif
