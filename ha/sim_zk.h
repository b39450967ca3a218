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
 * server is moved there, and touched; requests of the old connection are refused from then on.
 *
 * A frozen server's timers stand still, and so does all that was sent to it. A link that is
 * held keeps what is sent on it until it is let go, as TCP does; who gave up meanwhile does not
 * listen any more.
 */
#ifndef DUEQ_HA_SIM_ZK_H
#define DUEQ_HA_SIM_ZK_H

#include "ha/fake_coordinator.h"
#include "ha/fake_tree.h"
#include "ha/sim_base.h"

#define SIM_SERVERS    3
#define SIM_SYNC_TICKS 5

enum sim_entry_kind { SIM_WRITE, SIM_BEGIN_SESSION, SIM_END_SESSION };

/* A line of the log. Lives as long as the ensemble. */
struct sim_entry {
    struct list link;
    enum sim_entry_kind kind;
    unsigned epoch;             /* of ZooKeeper's leader that took it up */
    struct fake_message *write; /* WRITE */
    struct coord_credentials who;
    int64_t timeout_ms;
    unsigned conn; /* whose request; 0: nobody's */
};

/* A session as a server has it from the log. */
struct sim_session {
    struct list link;
    struct coord_credentials who;
    int64_t timeout_ms;
    bool is_touched; /* since the last ping; followers only */

    /* ZooKeeper's leader only. */
    int64_t end_ms;
    bool is_ending;
    unsigned owner; /* the connection it was seen on last; 0: not since this one leads */
};

enum sim_server_role { SIM_LOOKING, SIM_FOLLOWING, SIM_LEADING };

struct sim_follower {
    unsigned link; /* 0: none */
    int64_t heard_ms;
    unsigned acked;
};

struct sim_server {
    unsigned number;
    struct timers timers;
    bool is_up, is_frozen;
    enum sim_server_role role;
    int64_t looking_since_ms;
    struct fake_tree tree;
    struct list sessions;
    struct sim_entry **log;
    unsigned logged, applied, log_room;
    struct list conns;
    struct list watches;
    struct fake_wire from[SIM_SERVERS];

    /* SIM_LEADING */
    unsigned epoch;
    struct sim_follower followers[SIM_SERVERS];
    struct timer expiry;

    /* SIM_FOLLOWING */
    struct sim_server *leader;
    unsigned link;
    int64_t heard_ms;

    struct timer tick; /* half of one: pings, and a look at who is silent */
};

/* A client's connection to a server. */
struct sim_conn {
    struct list link;
    unsigned id;
    struct sim_server *server;
    struct fake_client *client; /* NULL: closed at its end */
    const void *from;           /* that one, to compare */
    unsigned connection;        /* the client's number of it */
    int64_t session;            /* 0: not yet */
    struct fake_wire up;
    struct list waiting; /* requests, to be answered in order */
};

/* A node's client, and its way to all servers. */
struct sim_client {
    struct fake_coordinator zk;
    struct sim_conn *conn;  /* the newest; NULL: none */
    bool out_held, in_held; /* what is sent waits */
    int64_t slow_ms;        /* added to each way */
    unsigned picked;        /* the server that is tried */
};

struct sim_zk {
    struct timers timers; /* of those who look for a leader */
    struct timer election;
    struct sim_server servers[SIM_SERVERS];
    struct list entries;
    unsigned next_link, next_conn, next_epoch;
    int64_t next_session;
    int64_t patience_ms;
    unsigned leaders; /* elected so far */
};

extern struct sim_zk sim_zk;

void sim_zk_init(void);
void sim_zk_fini(void); /* after its clients */

/* ---- faults ---- */

void sim_zk_freeze(unsigned server, bool is_frozen);
void sim_zk_kill(unsigned server); /* its log stays */
void sim_zk_restart(unsigned server);
void sim_zk_hold(unsigned from, unsigned to, bool is_held);
int sim_zk_leader(void);    /* one that leads and is not frozen; -1 */
bool sim_zk_is_whole(void); /* one leads, and both others follow it */

void sim_client_init(struct sim_client *c, struct timers *timers, int64_t session_ms);
void sim_client_hold(struct sim_client *c, bool out, bool in);
/* The connection breaks: what was sent still arrives, or not. */
void sim_client_break(struct sim_client *c, bool requests_arrive);
int sim_client_server(const struct sim_client *c); /* it is connected to; -1 */

/* A warden ends a session: some server that it reaches is told. */
void sim_zk_end_session(const struct coord_credentials *who);

/* ---- between its files ---- */

void sim_zk_append(struct sim_server *leader, struct sim_entry *e);
struct sim_entry *sim_zk_entry(enum sim_entry_kind kind);
void sim_zk_submit(struct sim_server *s, struct sim_entry *e); /* to its leader */
void sim_zk_touch(struct sim_server *s, int64_t session);
struct sim_session *sim_zk_session(struct sim_server *s, int64_t session);
void sim_zk_revalidate(struct sim_server *s, int64_t session, unsigned conn);
bool sim_zk_is_owner(struct sim_server *leader, int64_t session, unsigned conn);

/* sim_zk_log.c: also those above. */
bool sim_zk_is_follower(const struct sim_server *leader, unsigned f);
void sim_zk_to_follower(struct sim_server *leader, unsigned f, struct sim_note *n);
void sim_zk_to_leader(struct sim_server *s, struct sim_note *n);
void sim_zk_prolong(struct sim_server *leader, struct sim_session *s);
void sim_zk_end(struct sim_server *leader, struct sim_session *s); /* proposes it */
void sim_zk_arm_expiry(struct sim_server *leader);
void sim_zk_on_expiry(struct timer *timer);
void sim_zk_log(struct sim_server *s, struct sim_entry *e);
void sim_zk_apply(struct sim_server *s);       /* the next of its log */
void sim_zk_commit(struct sim_server *leader); /* all that a quorum has logged */
void sim_zk_take(struct sim_server *leader, struct sim_entry *e);
bool sim_zk_prove(struct sim_server *leader, int64_t session, unsigned conn);

/* sim_zk_client.c */
void sim_zk_on_applied(struct sim_server *s, struct sim_entry *e, enum coord_status status,
                       unsigned failed);
void sim_zk_on_valid(struct sim_server *s, int64_t session, unsigned conn_id, bool is_valid);
void sim_zk_on_moved(unsigned conn_id);
void sim_zk_close_conns(struct sim_server *s);
void sim_zk_watches_init(struct sim_server *s);

#endif
