/* A server and its clients: connections, requests in order, watches. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ha/fake_answer.h"
#include "ha/sim_zk.h"

struct watch {
    struct list link;
    struct sim_conn *conn;
    char *path;
    bool is_list;
};

/* ---- to the client ---- */

static struct sim_client *client_of(const struct fake_client *c)
{
    return CONTAINER_OF(CONTAINER_OF(c, struct fake_coordinator, client), struct sim_client,
                        zk);
}

static void answer(struct sim_conn *conn, struct fake_message *m)
{
    if (!conn->client) {
        fake_message_free(m);
        return;
    }
    fake_wire_send(&conn->client->down, m,
                   sim_now + sim_delay() + client_of(conn->client)->slow_ms);
}

static struct fake_message *message(const struct sim_conn *conn, enum fake_kind kind)
{
    return fake_message_new(kind, conn->connection);
}

/* ---- connections ---- */

static struct sim_conn *find_conn(struct sim_server *s, unsigned id)
{
    LIST_EACH (link, &s->conns) {
        struct sim_conn *conn = CONTAINER_OF(link, struct sim_conn, link);

        if (conn->id == id)
            return conn;
    }
    return NULL;
}

static void drop_watches(struct sim_conn *conn)
{
    LIST_EACH_SAFE (link, &conn->server->watches) {
        struct watch *w = CONTAINER_OF(link, struct watch, link);

        if (w->conn != conn)
            continue;
        list_remove(link);
        free(w->path);
        free(w);
    }
}

/* The client has closed it, or is gone. What it has sent may still arrive. */
static void let_go(struct sim_conn *conn)
{
    if (conn->client)
        client_of(conn->client)->conn = NULL;
    conn->client = NULL;
}

static void conn_free(struct sim_conn *conn)
{
    struct list *link;

    let_go(conn);
    drop_watches(conn);
    while ((link = list_pop(&conn->waiting)))
        fake_message_free(CONTAINER_OF(link, struct fake_message, link));
    fake_wire_fini(&conn->up);
    list_remove(&conn->link);
    free(conn);
}

static void close_conn(struct sim_conn *conn)
{
    answer(conn, message(conn, FAKE_CLOSED));
    conn_free(conn);
}

void sim_zk_close_conns(struct sim_server *s)
{
    struct list *link;

    while ((link = list_first(&s->conns)))
        close_conn(CONTAINER_OF(link, struct sim_conn, link));
}

/* Its session is at another server now. */
void sim_zk_on_moved(unsigned conn_id)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        struct sim_conn *conn = find_conn(&sim_zk.servers[i], conn_id);

        if (conn && !conn->server->is_frozen)
            close_conn(conn);
    }
}

/* ---- watches ---- */

static void watch(struct sim_conn *conn, const char *path, bool is_list)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (!w || !(w->path = strdup(path)))
        abort();
    w->conn = conn;
    w->is_list = is_list;
    list_append(&conn->server->watches, &w->link);
}

static void on_tree_change(struct fake_tree *tree, const char *path, bool came_or_went)
{
    struct sim_server *s = CONTAINER_OF(tree, struct sim_server, tree);

    LIST_EACH_SAFE (link, &s->watches) {
        struct watch *w = CONTAINER_OF(link, struct watch, link);
        struct fake_message *m;

        if (w->is_list ? !came_or_went || !fake_tree_name_under(w->path, path)
                       : strcmp(w->path, path) != 0)
            continue;
        list_remove(link);
        m = message(w->conn, FAKE_CHANGED);
        m->path = w->path;
        answer(w->conn, m);
        free(w);
    }
}

void sim_zk_watches_init(struct sim_server *s)
{
    list_init(&s->watches);
    s->tree.on_change = on_tree_change;
}

/* ---- requests ---- */

static void read_znode(struct sim_conn *conn, const struct fake_message *m,
                       struct fake_message *reply)
{
    if (m->watches)
        watch(conn, m->path, false);
    fake_answer_read(&conn->server->tree, m->path, reply);
}

static void list_znodes(struct sim_conn *conn, const struct fake_message *m,
                        struct fake_message *reply)
{
    if (fake_answer_list(&conn->server->tree, m->path, reply) && m->watches)
        watch(conn, m->path, true);
}

/* What the server answers alone. */
static void serve(struct sim_conn *conn, const struct fake_message *m)
{
    struct fake_message *reply = message(conn, m->kind == FAKE_PING ? FAKE_PONG : FAKE_ANSWER);

    reply->call = m->call;
    if (m->kind == FAKE_READ)
        read_znode(conn, m, reply);
    else if (m->kind == FAKE_LIST)
        list_znodes(conn, m, reply);
    answer(conn, reply);
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

static void write_znodes(struct sim_conn *conn, struct fake_message *m)
{
    struct sim_entry *e = sim_zk_entry(SIM_WRITE);
    struct fake_message *mark = message(conn, FAKE_WRITE);

    mark->call = m->call;
    list_append(&conn->waiting, &mark->link);
    e->write = m;
    e->who = m->who;
    e->conn = conn->id;
    sim_zk_submit(conn->server, e);
}

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
    struct fake_message *m = message(conn, FAKE_CONNECTED);

    conn->session = s->who.session;
    m->who = s->who;
    m->timeout_ms = s->timeout_ms;
    answer(conn, m);
}

void sim_zk_on_valid(struct sim_server *s, int64_t session, unsigned conn_id, bool is_valid)
{
    struct sim_conn *conn = find_conn(s, conn_id);
    struct sim_session *found = sim_zk_session(s, session);

    if (!conn)
        return;
    if (!is_valid)
        answer(conn, message(conn, FAKE_EXPIRED));
    else if (found)
        welcome(conn, found);
    else
        close_conn(conn); /* this server is behind: try again */
}

static void answer_write(struct sim_conn *conn, enum coord_status status, unsigned failed)
{
    struct fake_message *mark = first_waiting(conn), *reply;

    assert(mark && mark->kind == FAKE_WRITE);
    if (status == COORD_EXPIRED) {
        close_conn(conn);
        return;
    }
    list_remove(&mark->link);
    reply = message(conn, FAKE_ANSWER);
    reply->call = mark->call;
    reply->status = status;
    reply->failed = failed;
    answer(conn, reply);
    fake_message_free(mark);
    serve_waiting(conn);
}

void sim_zk_on_applied(struct sim_server *s, struct sim_entry *e, enum coord_status status,
                       unsigned failed)
{
    struct sim_conn *conn = e->conn ? find_conn(s, e->conn) : NULL;

    if (e->kind == SIM_END_SESSION) {
        LIST_EACH_SAFE (link, &s->conns) {
            conn = CONTAINER_OF(link, struct sim_conn, link);
            if (conn->session == e->who.session)
                close_conn(conn);
        }
    } else if (conn && e->kind == SIM_BEGIN_SESSION) {
        welcome(conn, sim_zk_session(s, e->who.session));
    } else if (conn) {
        answer_write(conn, status, failed);
    }
}

static void on_request(struct fake_wire *w, struct fake_message *m)
{
    struct sim_conn *conn = CONTAINER_OF(w, struct sim_conn, up);
    struct sim_server *s = conn->server;

    if (conn->session)
        sim_zk_touch(s, conn->session);
    if (m->kind == FAKE_WRITE) {
        write_znodes(conn, m); /* keeps it */
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

/* ---- the client's end ---- */

static bool can_connect(const struct fake_client *c)
{
    struct sim_client *client = client_of(c);

    client->picked = sim_below(SIM_SERVERS);
    return sim_zk.servers[client->picked].is_up &&
           sim_zk.servers[client->picked].role != SIM_LOOKING;
}

static void open_conn(struct sim_client *client, unsigned connection)
{
    struct sim_server *s = &sim_zk.servers[client->picked];
    struct sim_conn *conn = calloc(1, sizeof(*conn));

    if (!conn)
        abort();
    *conn = (struct sim_conn){.id = ++sim_zk.next_conn,
                              .server = s,
                              .client = &client->zk.client,
                              .from = client,
                              .connection = connection};
    list_init(&conn->waiting);
    fake_wire_init(&conn->up, &s->timers, on_request);
    list_append(&s->conns, &conn->link);
    client->conn = conn;
}

/* To connect takes both ways, once more before the first request: who is slower than the
 * client's patience never gets that far, and no server hears of it. */
static bool reaches(const struct sim_client *client)
{
    return !client->out_held && !client->in_held && 2 * client->slow_ms < SIM_T / 3;
}

static void client_send(struct fake_client *c, struct fake_message *m)
{
    struct sim_client *client = client_of(c);
    int64_t way_ms = client->slow_ms;

    if (m->kind == FAKE_CONNECT) {
        if (client->conn)
            let_go(client->conn);
        if (c->state == FAKE_LINK_UP && reaches(client))
            open_conn(client, m->connection);
        way_ms *= 3;
    }
    if (c->state != FAKE_LINK_UP || !client->conn || client->conn->connection != m->connection)
        fake_message_free(m);
    else
        fake_wire_send(&client->conn->up, m, sim_now + sim_delay() + way_ms);
}

static void client_release(struct fake_client *c)
{
    struct sim_client *client = client_of(c);

    if (!client->conn)
        return;
    fake_wire_hold(&client->conn->up, false);
    let_go(client->conn);
}

static const struct fake_service service = {
    .can_connect = can_connect, .send = client_send, .release = client_release};

void sim_client_init(struct sim_client *c, struct timers *timers, int64_t session_ms)
{
    *c = (struct sim_client){.conn = NULL};
    fake_coordinator_init_on(&c->zk, &service, timers, session_ms);
}

void sim_client_hold(struct sim_client *c, bool out, bool in)
{
    c->out_held = out;
    c->in_held = in;
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        LIST_EACH (link, &sim_zk.servers[i].conns) {
            struct sim_conn *conn = CONTAINER_OF(link, struct sim_conn, link);

            if (conn->from == c) /* also what was sent on those that were given up */
                fake_wire_hold(&conn->up, out);
        }
    }
    fake_wire_hold(&c->zk.client.down, in);
}

void sim_client_break(struct sim_client *c, bool requests_arrive)
{
    if (c->conn && !requests_arrive)
        fake_wire_drop(&c->conn->up);
    if (c->conn)
        let_go(c->conn);
    fake_coordinator_cut(&c->zk, true);
}

int sim_client_server(const struct sim_client *c)
{
    return c->conn ? (int)c->conn->server->number : -1;
}
