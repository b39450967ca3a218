#include "ha/sim/client.h"

#include "ha/sim/zk_server.h"

static struct sim_client *client_of(const struct fake_client *c)
{
    return CONTAINER_OF(CONTAINER_OF(c, struct fake_coordinator, client), struct sim_client,
                        zk);
}

static bool can_connect(const struct fake_client *c)
{
    struct sim_client *client = client_of(c);

    client->picked = sim_below(SIM_SERVERS);
    return sim_zk.servers[client->picked].is_up &&
           sim_zk.servers[client->picked].role != SIM_LOOKING;
}

/* Connecting takes a round trip before the first request. A link slower than the client's
 * patience never gets that far, and no server hears of it. */
static bool reaches(const struct sim_client *client)
{
    return !client->out_held && !client->in_held && 2 * client->slow_ms < SIM_T / 3;
}

static void send_request(struct fake_client *c, struct fake_message *m)
{
    struct sim_client *client = client_of(c);
    int64_t way_ms = client->slow_ms;

    if (m->kind == FAKE_CONNECT) {
        if (client->conn)
            sim_conn_release(client->conn);
        if (c->state == FAKE_LINK_UP && reaches(client))
            sim_conn_open(client, &sim_zk.servers[client->picked], m->connection);
        way_ms *= 3;
    }
    if (c->state != FAKE_LINK_UP || !client->conn || client->conn->connection != m->connection)
        fake_message_free(m);
    else
        fake_wire_send(&client->conn->up, m, sim_now + sim_delay() + way_ms);
}

static void release(struct fake_client *c)
{
    struct sim_client *client = client_of(c);

    if (!client->conn)
        return;
    fake_wire_hold(&client->conn->up, false);
    sim_conn_release(client->conn);
}

static const struct fake_service service = {
    .can_connect = can_connect, .send = send_request, .release = release};

void sim_client_answer(struct sim_client *c, struct fake_message *m)
{
    fake_wire_send(&c->zk.client.down, m, sim_now + sim_delay() + c->slow_ms);
}

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

            if (conn->from == c) /* requests on given-up connections, too */
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
        sim_conn_release(c->conn);
    fake_coordinator_cut(&c->zk, true);
}

int sim_client_server(const struct sim_client *c)
{
    return c->conn ? (int)c->conn->server->number : -1;
}
