/* The connections of a server's clients: their beginning, their end, and the messages to
 * clients. Watches end with the connection.
 */
#include <stdlib.h>
#include <string.h>

#include "ha/sim/client.h"
#include "ha/sim/zk_server.h"

void sim_conn_answer(struct sim_conn *conn, struct fake_message *m)
{
    if (conn->client)
        sim_client_answer(conn->client, m);
    else
        fake_message_free(m);
}

struct fake_message *sim_conn_message(const struct sim_conn *conn, enum fake_kind kind)
{
    return fake_message_new(kind, conn->connection);
}

/* ---- watches ---- */

static void on_watch_fired(void *owner, const char *path)
{
    struct sim_conn *conn = owner;
    struct fake_message *m = sim_conn_message(conn, FAKE_CHANGED);

    m->path = strdup(path);
    sim_conn_answer(conn, m);
}

static void on_tree_change(struct fake_tree *tree, const char *path, bool came_or_went)
{
    struct sim_server *s = CONTAINER_OF(tree, struct sim_server, tree);

    fake_watches_changed(&s->watches, path, came_or_went);
}

void sim_zk_watches_init(struct sim_server *s)
{
    fake_watches_init(&s->watches, on_watch_fired);
    s->tree.on_change = on_tree_change;
}

/* ---- begin and end ---- */

void sim_conn_open(struct sim_client *client, struct sim_server *s, unsigned connection)
{
    struct sim_conn *conn = calloc(1, sizeof(*conn));

    if (!conn)
        abort();
    *conn = (struct sim_conn){.id = ++sim_zk.next_conn,
                              .server = s,
                              .client = client,
                              .from = client,
                              .connection = connection};
    list_init(&conn->waiting);
    fake_wire_init(&conn->up, &s->timers, sim_zk_on_request);
    list_append(&s->conns, &conn->link);
    client->conn = conn;
}

/* Requests that the client has sent may still arrive. */
void sim_conn_let_go(struct sim_conn *conn)
{
    if (conn->client)
        conn->client->conn = NULL;
    conn->client = NULL;
}

static void conn_free(struct sim_conn *conn)
{
    struct list *link;

    sim_conn_let_go(conn);
    fake_watches_drop(&conn->server->watches, conn);
    while ((link = list_pop(&conn->waiting)))
        fake_message_free(CONTAINER_OF(link, struct fake_message, link));
    fake_wire_fini(&conn->up);
    list_remove(&conn->link);
    free(conn);
}

void sim_conn_close(struct sim_conn *conn)
{
    sim_conn_answer(conn, sim_conn_message(conn, FAKE_CLOSED));
    conn_free(conn);
}

/* ---- a server's ---- */

struct sim_conn *sim_conn_find(struct sim_server *s, unsigned id)
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
        sim_conn_close(CONTAINER_OF(link, struct sim_conn, link));
}
