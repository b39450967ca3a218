#include "protocol/gmq/server.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/queue.h"
#include "protocol/access/access.h"
#include "protocol/access/role.h"
#include "protocol/conn/peer.h"
#include "protocol/gmq/codec.h"
#include "protocol/gmq/reply.h"
#include "protocol/json/read.h"

/* A byte of a body takes up to six in JSON (\u0001); the rest is for topic, id and spaces. */
#define FRAME_BYTES(body_bytes) (6 * (body_bytes) + 65536)

static struct gmq_client *client_of(struct connection *c)
{
    return CONTAINER_OF(c, struct gmq_client, base.connection);
}

static struct gmq_client *client_at(struct port_client *c)
{
    return CONTAINER_OF(c, struct gmq_client, base);
}

/* ---- clients ---- */

static void free_if_done(struct gmq_client *client)
{
    if (!client->is_closed || client->base.connection.in_work)
        return;
    port_leave(&client->base);
    free(client);
}

static void wind_up_if_closing(struct gmq_client *client)
{
    if (client->gmq->port.is_closing && client->base.connection.in_work == 0)
        connection_wind_up(&client->base.connection, "the node is stopping");
}

/* ---- requests ----
 *
 * A request lives from its frame to its reply; a job in that reply is then followed by
 * port_send(). */

struct request {
    struct gmq_call call;
    struct gmq_client *client;
    struct identity *who; /* as whom it acts; NULL where everybody may do everything */
    bool is_ports;        /* that is gmq.as */
    size_t bytes;         /* of its frame */
    struct list link;     /* in the client's waiting or pushes, or not */
    union {
        struct op push;
        struct pop pop;
        struct id_ack ack;
    } asked;
    char text[]; /* what the call borrows from */
};

/* Takes the call over, with a copy of what it needs from its frame. */
static struct request *request_new(struct gmq_client *client, struct gmq_call *call,
                                   struct identity *who)
{
    struct request *r = must(malloc(sizeof(*r) + gmq_call_bytes(call)));

    r->call = *call;
    gmq_call_move(&r->call, r->text);
    r->client = client;
    r->who = identity_use(who);
    list_init(&r->link);
    return r;
}

static void request_free(struct request *r)
{
    list_remove(&r->link);
    gmq_call_fini(&r->call);
    identity_drop(r->who);
    free(r);
}

/* The last step of a request, which is freed. */
static void finish_request(struct request *r)
{
    struct gmq_client *client = r->client;

    port_turn_release(&client->turn, r->who, r->bytes);
    request_free(r);
    connection_done(&client->base.connection);
    wind_up_if_closing(client);
    free_if_done(client);
}

/* ---- answers ---- */

static void send_reply(struct gmq_client *client)
{
    connection_send(&client->base.connection, buf_bytes(&client->gmq->reply));
    buf_reuse(&client->gmq->reply);
}

/* The answer to all but a Pop that brought a job. */
static void finish(struct request *r, enum status status)
{
    struct gmq_client *client = r->client;
    struct gmq *g = client->gmq;

    if (status == STATUS_OK)
        gmq_reply_done(&g->reply, r->call.id, r->call.method);
    else
        gmq_reply_status(&g->reply, &r->call, status, g->options.strict);
    send_reply(client);
    finish_request(r);
}

static void hand_over(struct request *r)
{
    struct gmq_client *client = r->client;
    struct gmq *g = client->gmq;
    struct pop *pop = &r->asked.pop;

    gmq_reply_job(&g->reply, r->call.id, pop->topic, &pop->jobs[0], g->options.strict);
    port_send(&client->base, buf_bytes(&g->reply), pop->delivery);
    buf_reuse(&g->reply);
    finish_request(r);
}

static void on_push_done(struct op *op)
{
    finish(CONTAINER_OF(op, struct request, asked.push), op->status);
}

static void on_ack_done(struct id_ack *ack)
{
    finish(CONTAINER_OF(ack, struct request, asked.ack), ack->status);
}

static bool may_go_on(const struct request *r)
{
    return port_identity_holds(&r->client->gmq->port, r->who, r->is_ports);
}

static void on_pop_done(struct pop *pop)
{
    struct request *r = CONTAINER_OF(pop, struct request, asked.pop);

    list_remove(&r->link);
    if (pop->status != STATUS_OK) {
        finish(r, pop->status);
    } else if (may_go_on(r)) {
        hand_over(r);
    } else { /* the job goes to others at once; the client is told by its next request */
        queue_returned(r->client->gmq->port.queue, pop->delivery);
        finish(r, STATUS_CANCELLED);
    }
}

/* ---- who asks ---- */

static const unsigned roles_for[] = {
    [GMQ_PUSH] = ACCESS_PRODUCE, [GMQ_POP] = ACCESS_CONSUME, [GMQ_ACK] = ACCESS_CONSUME};

static bool has_topics(const struct identity *who, const struct gmq_call *call)
{
    if (call->method == GMQ_PUSH)
        return identity_has_topic(who, call->topic);
    for (unsigned i = 0; call->method == GMQ_POP && i < call->topic_count; i++)
        if (!identity_has_topic(who, call->topics[i]))
            return false;
    return true; /* the topic of an Ack is found first: is_ack_for() */
}

static bool is_allowed(const struct gmq *g, const struct gmq_call *call,
                       const struct identity *who)
{
    if (!port_access_is_on(&g->port))
        return true;
    return who && (who->roles & roles_for[call->method]) && has_topics(who, call);
}

/* Its client may have gone, and with it the certificate. */
static bool is_ack_for(const struct id_ack *ack, struct bytes topic)
{
    const struct identity *who = CONTAINER_OF(ack, struct request, asked.ack)->who;

    return !who || identity_has_topic(who, topic);
}

/* ---- to the queue ---- */

static int64_t stored_ttr_ms(const struct gmq *g, int64_t ttr_ms)
{
    if (!g->options.strict || ttr_ms == 0)
        return ttr_ms;
    return ttr_ms < QUEUE_TTR_MAX_MS - GMQ_STRICT_TTR_MS ? ttr_ms + GMQ_STRICT_TTR_MS
                                                         : QUEUE_TTR_MAX_MS;
}

/* Has the client no other request in work? */
static bool is_alone(const struct request *r)
{
    return r->client->base.connection.in_work == 1;
}

static void submit_push(struct gmq *g, struct request *r)
{
    r->asked.push = (struct op){
        .verb = OP_PUSH,
        .on_done = on_push_done,
        .topic = r->call.topic,
        .is_alone = is_alone(r),
        .client = peer_name(&r->client->base.connection),
        .id = r->call.job_id,
        .in.push = {.body = r->call.body,
                    .delay_ms = r->call.delay_ms,
                    .ttr_ms = stored_ttr_ms(g, r->call.ttr_ms),
                    .given = SETTING_BIT(TTR)},
    };
    list_append(&r->client->pushes, &r->link);
    queue_submit(g->port.queue, &r->asked.push);
}

static void submit_pop(struct gmq *g, struct request *r)
{
    r->asked.pop = (struct pop){
        .topics = r->call.topics,
        .topic_count = r->call.topic_count,
        .count = 1,
        .wait_ms = g->options.pop_wait_ms,
        .id_only = true,
        .is_alone = is_alone(r),
        .holder = r->client->base.connection.number,
        .client = peer_name(&r->client->base.connection),
        .address = peer_address(r->client->base.peer),
        .on_done = on_pop_done,
    };
    list_append(&r->client->waiting, &r->link);
    queue_pop(g->port.queue, &r->asked.pop);
}

static void submit_ack(struct gmq *g, struct request *r)
{
    r->asked.ack = (struct id_ack){
        .id = r->call.job_id,
        .is_alone = is_alone(r),
        .holder = r->client->base.connection.number,
        .client = peer_name(&r->client->base.connection),
        .is_for = is_ack_for,
        .on_done = on_ack_done,
    };
    queue_ack_by_id(g->port.queue, &r->asked.ack);
}

static void submit(struct gmq *g, struct request *r)
{
    if (r->call.method == GMQ_PUSH)
        submit_push(g, r);
    else if (r->call.method == GMQ_POP)
        submit_pop(g, r);
    else
        submit_ack(g, r);
}

/* ---- the client's requests ---- */

static void refuse(struct gmq_client *client, const struct gmq_call *call, enum status status)
{
    struct gmq *g = client->gmq;

    g->port.stats.refused++;
    if (call->refusal)
        gmq_reply_refusal(&g->reply, call, g->options.strict);
    else
        gmq_reply_status(&g->reply, call, status, g->options.strict);
    send_reply(client);
}

static enum status judge(const struct gmq *g, const struct gmq_call *call,
                         const struct identity *who)
{
    if (call->refusal)
        return STATUS_BAD_REQUEST; /* in its own words */
    if (g->port.is_stopping)
        return STATUS_SHUTTING_DOWN;
    return is_allowed(g, call, who) ? STATUS_OK : STATUS_FORBIDDEN;
}

#define IDENTITY_NOT_KNOWN                                                                  \
    "unavailable: this node has not read the identities from Redis yet (access.in_redis), " \
    "and knows none of this client; nothing happened: look at Redis, or try again later"

#define CERTIFICATE_MAY_NOT \
    "forbidden: the identity of this client's certificate may not do that (cert=)"

/* Ends the connection: where the next request begins is unknown. */
static void lose(struct gmq_client *client)
{
    client->gmq->port.stats.refused++;
    connection_wind_up(&client->base.connection, "it sent what is not JSON");
}

/* For a request that was not read to its end. */
static void refuse_unread(struct gmq_client *client, const char *error)
{
    struct gmq *g = client->gmq;

    g->port.stats.requests++;
    g->port.stats.refused++;
    gmq_reply_error(&g->reply, BYTES("null"), error);
    send_reply(client);
}

/* It may still read. */
static void lose_held(struct port_client *c)
{
    struct gmq_client *client = client_at(c);

    refuse_unread(client, "too_many: the request had no turn within 5 seconds "
                          "(limits.requests_per_address, limits.bytes_per_address, or the "
                          "identity's rate or bytes); nothing was done");
    connection_wind_up(&client->base.connection, "it has ended, and its request had no turn");
}

/* An identity has as many connections as it may. */
static void refuse_connection(struct gmq_client *client)
{
    refuse_unread(client,
                  "too_many: too many connections of one identity (its connections); try "
                  "again later");
    connection_wind_up(&client->base.connection, "its identity has too many connections");
}

static void take_request(struct gmq_client *client, struct bytes frame)
{
    struct gmq *g = client->gmq;
    bool is_json, is_ports;
    struct identity *who = port_identity_of(&client->base, &is_ports);
    struct gmq_call call;
    enum status status;

    if (who && !port_act_as(&client->base, who)) {
        refuse_connection(client);
        return;
    }
    g->port.stats.requests++;
    g->port.stats.tokenless += is_ports;
    buf_add_bytes(&g->frame, frame);
    is_json = gmq_call_parse(&call, g->frame.at, g->frame.len);
    status = is_json ? judge(g, &call, who) : STATUS_BAD_REQUEST;
    if (status == STATUS_FORBIDDEN && !who && port_identity_may_come(&client->base))
        call.refusal = IDENTITY_NOT_KNOWN;
    if (status == STATUS_FORBIDDEN && who && !is_ports)
        call.refusal = CERTIFICATE_MAY_NOT;
    if (status == STATUS_OK) {
        struct request *r = request_new(client, &call, who);

        r->is_ports = is_ports;
        r->bytes = frame.len;
        port_turn_charge(&client->turn, who, frame.len);
        connection_begin(&client->base.connection);
        submit(g, r);
    } else {
        if (is_json)
            refuse(client, &call, status);
        else
            lose(client);
        gmq_call_fini(&call);
    }
    buf_reuse(&g->frame);
}

/* The input holds no request. */
static void lose_request(struct gmq_client *client)
{
    client->gmq->port.stats.requests++;
    lose(client);
}

static void cancel_pops(struct gmq_client *client)
{
    struct list *link;

    while ((link = list_pop(&client->waiting)))
        queue_pop_cancel(&CONTAINER_OF(link, struct request, link)->asked.pop);
}

/* Requests that wait for the store to come back are dropped, and answered, for the client may
 * still read. An Ack goes on in any case: see queue_abandon(). */
static void abandon_pushes(struct gmq_client *client)
{
    LIST_EACH (link, &client->pushes)
        queue_abandon(client->gmq->port.queue,
                      &CONTAINER_OF(link, struct request, link)->asked.push);
}

/* ---- input ---- */

static bool has_room(const struct connection *c)
{
    return c->state == CONNECTION_OPEN && !c->is_held && c->in_work < c->kind->in_work_max;
}

/* White space is no request. */
static bool is_at_request(const struct gmq_client *client, struct bytes input)
{
    size_t i = 0;

    while (i < input.len && json_is_space(input.at[i]))
        i++;
    return !gmq_scan_is_inside(&client->scan) && i < input.len;
}

static void time_out(struct port_client *c)
{
    refuse_unread(client_at(c), "request_timeout: the request took too long to arrive "
                                "(limits.request_time)");
    connection_wind_up(&c->connection, "its request took too long to arrive");
}

static size_t on_input(struct connection *c, struct bytes input)
{
    struct gmq_client *client = client_of(c);
    size_t frame_max_bytes = FRAME_BYTES(client->gmq->options.limits.body_max_bytes);
    enum gmq_scan_result result = GMQ_SCAN_FRAME;
    bool has_ended = false;
    size_t used = 0;

    while (used < input.len && has_room(c) && result != GMQ_SCAN_MORE) {
        struct bytes rest = bytes_of(input.at + used, input.len - used), frame;
        size_t n;

        if (is_at_request(client, rest) && !port_turn_begin(&client->turn))
            break;
        result = gmq_scan_next(&client->scan, rest, frame_max_bytes, &frame, &n);
        used += n;
        has_ended |= result != GMQ_SCAN_MORE;
        if (result != GMQ_SCAN_MORE)
            port_turn_over(&client->turn);
        if (result == GMQ_SCAN_OVERSIZE)
            refuse_unread(client, "too_large: the request is too large (limits.body_bytes); it "
                                  "was skipped");
        else if (result == GMQ_SCAN_NOT_JSON)
            lose_request(client);
        else if (result == GMQ_SCAN_FRAME)
            take_request(client, frame);
    }
    port_turn_watch(&client->turn, has_ended,
                    result == GMQ_SCAN_MORE && gmq_scan_is_inside(&client->scan) &&
                        c->state == CONNECTION_OPEN);
    return used;
}

static void give_up_waiting(struct gmq_client *client)
{
    cancel_pops(client);
    abandon_pushes(client);
}

static void on_end(struct connection *c)
{
    port_turn_ended(&client_of(c)->turn);
    give_up_waiting(client_of(c));
    port_hold_no_more(&client_of(c)->base);
}

static void on_closed(struct connection *c)
{
    struct gmq_client *client = client_of(c);

    port_turn_leave(&client->turn);
    give_up_waiting(client);
    port_settle(&client->base);
    client->is_closed = true;
    free_if_done(client);
}

/* ---- accepting ---- */

/* What tells a client that it speaks plain: as gmq_reply_error() would print it. */
#define SPEAK_TLS \
    "{\"id\":null,\"result\":null,\"error\":\"tls_required: this port speaks TLS only\"}\n"

static void reject(struct gmq *g, int fd, struct peer *peer, enum port_admission admission)
{
    static const char *const why[] = {
        [PORT_IS_FULL] = "too_many: too many connections (limits.connections); try again later",
        [PORT_IS_FULL_FOR_ADDRESS] = "too_many: too many connections from one address "
                                     "(limits.connections_per_address); try again later",
    };

    gmq_reply_error(&g->reply, BYTES("null"), why[admission]);
    port_reject(&g->port, fd, peer, buf_bytes(&g->reply));
    buf_clear(&g->reply);
}

static const struct port_turn_ops turn_ops = {.lose = lose_held, .time_out = time_out};

static void on_client(struct port *p, int fd, struct peer *peer, enum port_admission admission)
{
    struct gmq *g = CONTAINER_OF(p, struct gmq, port);
    struct gmq_client *client;

    if (admission != PORT_ADMITS) {
        reject(g, fd, peer, admission);
        return;
    }
    client = must(calloc(1, sizeof(*client)));
    client->gmq = g;
    port_turn_init(&client->turn, &client->base, &turn_ops);
    list_init(&client->waiting);
    list_init(&client->pushes);
    port_join(p, &client->base, fd, peer, true);
    LOG_DEBUG("gmq", "connection %llu: accepted",
              (unsigned long long)client->base.connection.number);
}

/* ---- starting and stopping ---- */

static void cancel_waits(struct port_client *c)
{
    cancel_pops(client_at(c));
}

static void recheck(struct port_client *c)
{
    struct gmq_client *client = client_at(c);

    port_turn_look_again(&client->turn);
    LIST_EACH_SAFE (link, &client->waiting) {
        struct request *r = CONTAINER_OF(link, struct request, link);

        if (may_go_on(r))
            continue;
        list_remove(&r->link);
        queue_pop_cancel(&r->asked.pop);
    }
}

static void wind_up(struct port_client *c)
{
    wind_up_if_closing(client_at(c));
}

static void free_gmq(struct port *p)
{
    struct gmq *g = CONTAINER_OF(p, struct gmq, port);

    port_fini(p);
    buf_fini(&g->frame);
    buf_fini(&g->reply);
    free(g);
}

static const struct port_ops ops = {
    .name = "gmq",
    .on_client = on_client,
    .cancel_waits = cancel_waits,
    .recheck = recheck,
    .wind_up = wind_up,
    .set_limits = port_set_limits,
    .free = free_gmq,
};

struct port *gmq_new(const struct gmq_options *options, struct loop *loop, struct queue *queue,
                     int listen_fd)
{
    struct gmq *g = must(calloc(1, sizeof(*g)));

    g->port.kind = (struct connection_kind){
        .on_input = on_input,
        .on_end = on_end,
        .on_closed = on_closed,
        .tls.plain_refusal = BYTES(SPEAK_TLS),
    };
    port_init(&g->port, &ops, loop, queue);
    gmq_reload(&g->port, options);
    port_open(&g->port, listen_fd);
    return &g->port;
}

void gmq_reload(struct port *p, const struct gmq_options *options)
{
    CONTAINER_OF(p, struct gmq, port)->options = *options;
    port_set_access(p, options->access, options->as);
    port_limit(p, &options->limits, FRAME_BYTES(options->limits.body_max_bytes));
    LIST_EACH (link, &p->clients)
        port_turn_look_again(&client_at(CONTAINER_OF(link, struct port_client, link))->turn);
}
