/* A server's clients: their connections, and their requests, answered in the order in which
 * they came. A read, which the server answers alone, waits for earlier writes, which go through
 * the log. Watches end with the connection.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ha/sim/client.h"
#include "ha/sim/zk_server.h"

static void answer(struct sim_conn *conn, struct fake_message *m)
{
    if (conn->client)
        sim_client_answer(conn->client, m);
    else
        fake_message_free(m);
}

static struct fake_message *message_to(const struct sim_conn *conn, enum fake_kind kind)
{
    return fake_message_new(kind, conn->connection);
}

/* ---- watches ---- */

static void on_watch_fired(void *owner, const char *path)
{
    struct sim_conn *conn = owner;
    struct fake_message *m = message_to(conn, FAKE_CHANGED);

    m->path = must(strdup(path));
    answer(conn, m);
}

void sim_zk_tree_init(struct sim_server *s)
{
    fake_tree_init(&s->tree, on_watch_fired);
}

/* ---- begin and end ---- */

static void on_request(struct fake_wire *w, struct fake_message *m);

void sim_conn_open(struct sim_client *client, struct sim_server *s, unsigned connection)
{
    struct sim_conn *conn = must(calloc(1, sizeof(*conn)));

    *conn = (struct sim_conn){.id = ++sim_zk.next_conn,
                              .server = s,
                              .client = client,
                              .from = client,
                              .connection = connection};
    list_init(&conn->waiting);
    fake_wire_init(&conn->up, &s->timers, on_request);
    list_append(&s->conns, &conn->link);
    client->conn = conn;
}

/* Requests that the client has sent may still arrive. */
void sim_conn_release(struct sim_conn *conn)
{
    if (conn->client)
        conn->client->conn = NULL;
    conn->client = NULL;
}

static void conn_free(struct sim_conn *conn)
{
    struct list *link;

    sim_conn_release(conn);
    fake_tree_unwatch(&conn->server->tree, conn);
    while ((link = list_pop(&conn->waiting)))
        fake_message_free(CONTAINER_OF(link, struct fake_message, link));
    fake_wire_fini(&conn->up);
    list_remove(&conn->link);
    free(conn);
}

static void conn_close(struct sim_conn *conn)
{
    answer(conn, message_to(conn, FAKE_CLOSED));
    conn_free(conn);
}

static struct sim_conn *conn_find(struct sim_server *s, unsigned id)
{
    LIST_EACH (link, &s->conns) {
        struct sim_conn *conn = CONTAINER_OF(link, struct sim_conn, link);

        if (conn->id == id)
            return conn;
    }
    return NULL;
}

void sim_zk_close_conns(struct sim_server *s)
{
    struct list *link;

    while ((link = list_first(&s->conns)))
        conn_close(CONTAINER_OF(link, struct sim_conn, link));
}

/* ---- answers of the server alone ---- */

static void serve(struct sim_conn *conn, const struct fake_message *m)
{
    struct sim_server *s = conn->server;

    answer(conn, fake_tree_answer(&s->tree, conn, m));
}

static struct fake_message *first_waiting(struct sim_conn *conn)
{
    struct list *link = list_first(&conn->waiting);

    return link ? CONTAINER_OF(link, struct fake_message, link) : NULL;
}

static void serve_waiting(struct sim_conn *conn)
{
    struct fake_message *m;

    while ((m = first_waiting(conn)) && m->kind != FAKE_WRITE) {
        list_remove(&m->link);
        serve(conn, m);
        fake_message_free(m);
    }
}

/* ---- writes ---- */

static void write_znodes(struct sim_conn *conn, struct fake_message *m)
{
    struct sim_entry *e = sim_zk_entry(SIM_WRITE);
    struct fake_message *mark = message_to(conn, FAKE_WRITE);

    mark->call = m->call;
    list_append(&conn->waiting, &mark->link);
    e->write = m;
    e->who = m->who;
    e->conn = conn->id;
    sim_zk_submit(conn->server, e);
}

static void answer_write(struct sim_conn *conn, enum coord_status status, unsigned failed)
{
    struct fake_message *mark = first_waiting(conn), *reply;

    assert(mark && mark->kind == FAKE_WRITE);
    if (status == COORD_EXPIRED) {
        conn_close(conn);
        return;
    }
    list_remove(&mark->link);
    reply = message_to(conn, FAKE_ANSWER);
    reply->call = mark->call;
    reply->status = status;
    reply->failed = failed;
    answer(conn, reply);
    fake_message_free(mark);
    serve_waiting(conn);
}

/* ---- sessions ---- */

static void submit_end(struct sim_server *s, const struct coord_credentials *who)
{
    struct sim_entry *e = sim_zk_entry(SIM_END_SESSION);

    e->who = *who;
    sim_zk_submit(s, e);
}

static void connect_client(struct sim_conn *conn, const struct fake_message *m)
{
    struct sim_entry *e;

    if (m->who.session) {
        sim_zk_revalidate(conn->server, m->who.session, conn->id);
        return;
    }
    e = sim_zk_entry(SIM_BEGIN_SESSION);
    e->conn = conn->id;
    e->timeout_ms = m->timeout_ms;
    e->who.session = sim_zk.next_session++;
    memset(e->who.password, 1 + (int)(e->who.session % 255), sizeof(e->who.password));
    sim_zk_submit(conn->server, e);
}

static void welcome(struct sim_conn *conn, const struct sim_session *s)
{
    struct fake_message *m = message_to(conn, FAKE_CONNECTED);

    conn->session = s->who.session;
    m->who = s->who;
    m->timeout_ms = s->timeout_ms;
    answer(conn, m);
}

void sim_zk_on_valid(struct sim_server *s, int64_t session, unsigned conn_id, bool is_valid)
{
    struct sim_conn *conn = conn_find(s, conn_id);
    struct sim_session *found = sim_zk_session(s, session);

    if (!conn)
        return;
    if (!is_valid)
        answer(conn, message_to(conn, FAKE_EXPIRED));
    else if (found)
        welcome(conn, found);
    else
        conn_close(conn); /* this server lags behind: the client tries again */
}

void sim_zk_on_moved(unsigned conn_id)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        struct sim_conn *conn = conn_find(&sim_zk.servers[i], conn_id);

        if (conn && !conn->server->is_frozen)
            conn_close(conn);
    }
}

/* ---- requests, and their outcomes ---- */

static void on_request(struct fake_wire *w, struct fake_message *m)
{
    struct sim_conn *conn = CONTAINER_OF(w, struct sim_conn, up);
    struct sim_server *s = conn->server;

    if (conn->session)
        sim_zk_touch(s, conn->session);
    if (m->kind == FAKE_WRITE) {
        write_znodes(conn, m); /* keeps the message */
        return;
    }
    if (m->kind == FAKE_CONNECT) {
        connect_client(conn, m);
    } else if (m->kind == FAKE_BYE || m->kind == FAKE_END_SESSION) {
        submit_end(s, &m->who);
    } else if (list_is_empty(&conn->waiting)) {
        serve(conn, m);
    } else {
        list_append(&conn->waiting, &m->link);
        return;
    }
    fake_message_free(m);
}

void sim_zk_on_applied(struct sim_server *s, struct sim_entry *e, enum coord_status status,
                       unsigned failed)
{
    struct sim_conn *conn = e->conn ? conn_find(s, e->conn) : NULL;

    if (e->kind == SIM_END_SESSION) {
        LIST_EACH_SAFE (link, &s->conns) {
            conn = CONTAINER_OF(link, struct sim_conn, link);
            if (conn->session == e->who.session)
                conn_close(conn);
        }
    } else if (conn && e->kind == SIM_BEGIN_SESSION) {
        welcome(conn, sim_zk_session(s, e->who.session));
    } else if (conn) {
        answer_write(conn, status, failed);
    }
}
