/* Inside the three servers: the state of each, and the functions that the files of zk.h's list
 * share. No other file includes this.
 */
#ifndef DUEQ_HA_SIM_ZK_SERVER_H
#define DUEQ_HA_SIM_ZK_SERVER_H

#include "ha/fake/tree.h"
#include "ha/sim/zk.h"

struct sim_client;

enum sim_entry_kind { SIM_WRITE, SIM_BEGIN_SESSION, SIM_END_SESSION };

/* A line of the log. Lives as long as the ensemble. */
struct sim_entry {
    struct list link;
    enum sim_entry_kind kind;
    unsigned epoch;             /* of the ZooKeeper leader that took the entry up */
    struct fake_message *write; /* WRITE */
    struct coord_credentials who;
    int64_t timeout_ms;
    unsigned conn; /* the connection of the request; 0: none */
};

/* A session at one server, built from the log. */
struct sim_session {
    struct list link;
    struct coord_credentials who;
    int64_t timeout_ms;
    bool is_touched; /* since the last ping; followers only */

    /* ZooKeeper's leader only. */
    int64_t end_ms;
    bool is_ending;
    unsigned owner; /* the connection it was last seen on; 0: none under this leader */
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
    struct fake_tree tree; /* watched by conns */
    struct list sessions;
    struct sim_entry **log;
    unsigned logged, applied, log_room;
    struct list conns;
    struct fake_wire from[SIM_SERVERS];

    /* SIM_LEADING */
    unsigned epoch;
    struct sim_follower followers[SIM_SERVERS];
    struct timer expiry;

    /* SIM_FOLLOWING */
    struct sim_server *leader;
    unsigned link;
    int64_t heard_ms;

    struct timer tick; /* each half tick: pings, and a check for silent servers */
};

/* A client's connection to a server. */
struct sim_conn {
    struct list link;
    unsigned id;
    struct sim_server *server;
    struct sim_client *client; /* NULL: closed at its end */
    const void *from;          /* the client, also after its end, to compare */
    unsigned connection;       /* the client's number of this connection */
    int64_t session;           /* 0: not yet */
    struct fake_wire up;
    struct list waiting; /* requests, to be answered in order */
};

struct sim_zk {
    struct timers timers; /* of the election */
    struct timer election;
    struct sim_server servers[SIM_SERVERS];
    struct list entries;
    unsigned next_link, next_conn, next_epoch;
    int64_t next_session;
    int64_t patience_ms;
    unsigned leaders; /* elected so far */
};

extern struct sim_zk sim_zk;

/* ---- zk.c ---- */

void sim_zk_give_up(struct sim_server *s, const char *why); /* to lead, or to follow */
bool sim_zk_has_quorum(const struct sim_server *leader);

/* ---- zk_log.c ---- */

bool sim_zk_is_follower(const struct sim_server *leader, unsigned f);
void sim_zk_to_leader(struct sim_server *s, struct sim_note *n);
void sim_zk_on_note(struct fake_wire *w, struct fake_message *m);
void sim_zk_on_tick(struct timer *timer);

struct sim_entry *sim_zk_entry(enum sim_entry_kind kind);
void sim_zk_submit(struct sim_server *s, struct sim_entry *e); /* to its leader */
void sim_zk_append(struct sim_server *leader, struct sim_entry *e);
void sim_zk_log(struct sim_server *s, struct sim_entry *e);
void sim_zk_apply(struct sim_server *s);       /* the next entry of its log */
void sim_zk_commit(struct sim_server *leader); /* all entries that a quorum has logged */

/* ---- zk_session.c ---- */

struct sim_session *sim_zk_session(struct sim_server *s, int64_t session);
void sim_zk_session_begin(struct sim_server *s, const struct sim_entry *e);
void sim_zk_session_forget(struct sim_server *s, int64_t session);
void sim_zk_touch(struct sim_server *s, int64_t session);

void sim_zk_prolong_all(struct sim_server *leader); /* when it begins to lead */
bool sim_zk_is_owner(struct sim_server *leader, int64_t session, unsigned conn);
void sim_zk_end(struct sim_server *leader, struct sim_session *s); /* proposes it */
void sim_zk_arm_expiry(struct sim_server *leader);
void sim_zk_on_expiry(struct timer *timer);

/* A session has come to another server: the leader says whether it lives, and it is moved. */
void sim_zk_revalidate(struct sim_server *s, int64_t session, unsigned conn);
bool sim_zk_prove(struct sim_server *leader, int64_t session, unsigned conn);

/* A follower reports the sessions it has heard; its leader touches them. */
void sim_zk_report(struct sim_server *s);
void sim_zk_take_report(struct sim_server *leader, const struct sim_note *n);

/* ---- zk_conn.c ---- */

void sim_conn_open(struct sim_client *client, struct sim_server *s, unsigned connection);
void sim_conn_release(struct sim_conn *conn); /* the client has closed it, or is gone */

void sim_zk_tree_init(struct sim_server *s);
void sim_zk_close_conns(struct sim_server *s);
void sim_zk_on_applied(struct sim_server *s, struct sim_entry *e, enum coord_status status,
                       unsigned failed);
void sim_zk_on_valid(struct sim_server *s, int64_t session, unsigned conn_id, bool is_valid);
void sim_zk_on_moved(unsigned conn_id); /* the connection's session is at another server now */

#endif
