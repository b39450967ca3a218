/* One request: parsed, handed to the queue, answered. The request lives from the scanner's
 * frame to its reply; a job in that reply is then followed by port.h's deliveries. */
#include <stdlib.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/gmq/codec.h"
#include "protocol/gmq/server.h"
#include "protocol/conn/peer.h"

#define SCRATCH_BYTES 65536 /* kept from one request to the next */

struct request {
    struct gmq_call call;
    struct gmq_client *client;
    struct list link; /* in the client's waiting or pushes, or not */
    union {
        struct op push;
        struct pop pop;
        struct id_ack ack;
    } asked;
    char text[]; /* what the call borrows from */
};

/* Takes the call over, with a copy of what it needs from its frame. */
static struct request *request_new(struct gmq_client *client, struct gmq_call *call)
{
    struct request *r = malloc(sizeof(*r) + gmq_call_bytes(call));

    if (!r)
        abort();
    r->call = *call;
    gmq_call_move(&r->call, r->text);
    r->client = client;
    list_init(&r->link);
    return r;
}

static void request_free(struct request *r)
{
    list_remove(&r->link);
    gmq_call_fini(&r->call);
    free(r);
}

/* A large buffer is rare: its memory goes back. */
static void reuse(struct buf *scratch)
{
    if (scratch->room > SCRATCH_BYTES)
        buf_fini(scratch);
    else
        buf_clear(scratch);
}

/* ---- answers ---- */

static void send_reply(struct gmq_client *client)
{
    connection_send(&client->base.connection, buf_bytes(&client->gmq->reply));
    reuse(&client->gmq->reply);
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
    request_free(r);
    gmq_client_done(client);
}

static void hand_over(struct request *r)
{
    struct gmq_client *client = r->client;
    struct gmq *g = client->gmq;
    struct pop *pop = &r->asked.pop;

    gmq_reply_job(&g->reply, r->call.id, pop->topic, &pop->jobs[0], g->options.strict);
    unacked_send(&client->base.unacked, buf_bytes(&g->reply), pop->delivery);
    reuse(&g->reply);
    request_free(r);
    gmq_client_done(client);
}

static void on_push_done(struct op *op)
{
    finish(CONTAINER_OF(op, struct request, asked.push), op->status);
}

static void on_ack_done(struct id_ack *ack)
{
    finish(CONTAINER_OF(ack, struct request, asked.ack), ack->status);
}

static void on_pop_done(struct pop *pop)
{
    struct request *r = CONTAINER_OF(pop, struct request, asked.pop);

    list_remove(&r->link);
    if (pop->status == STATUS_OK)
        hand_over(r);
    else
        finish(r, pop->status);
}

/* ---- to the queue ---- */

static int64_t stored_ttr_ms(const struct gmq *g, int64_t ttr_ms)
{
    if (!g->options.strict || ttr_ms == 0)
        return ttr_ms;
    return ttr_ms < QUEUE_TTR_MAX_MS - GMQ_STRICT_TTR_MS ? ttr_ms + GMQ_STRICT_TTR_MS
                                                         : QUEUE_TTR_MAX_MS;
}

static void submit_push(struct gmq *g, struct request *r)
{
    r->asked.push = (struct op){
        .verb = OP_PUSH,
        .on_done = on_push_done,
        .topic = r->call.topic,
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
        .holder = r->client->base.connection.number,
        .client = peer_name(&r->client->base.connection),
        .on_done = on_ack_done,
    };
    queue_ack_by_id(g->port.queue, &r->asked.ack);
}

static void (*const submit[GMQ_METHOD_COUNT])(struct gmq *g, struct request *r) = {
    [GMQ_PUSH] = submit_push,
    [GMQ_POP] = submit_pop,
    [GMQ_ACK] = submit_ack,
};

/* ---- the client's requests ---- */

static void refuse(struct gmq_client *client, const struct gmq_call *call)
{
    struct gmq *g = client->gmq;

    g->port.stats.refused++;
    if (call->refusal)
        gmq_reply_refusal(&g->reply, call, g->options.strict);
    else
        gmq_reply_status(&g->reply, call, STATUS_SHUTTING_DOWN, g->options.strict);
    send_reply(client);
}

/* Ends the connection: where the next request begins is unknown. */
static void lose(struct gmq_client *client)
{
    client->gmq->port.stats.refused++;
    connection_wind_up(&client->base.connection, "it sent what is not JSON");
}

void gmq_request_take(struct gmq_client *client, struct bytes frame)
{
    struct gmq *g = client->gmq;
    struct gmq_call call;
    bool is_json;

    g->port.stats.requests++;
    buf_add_bytes(&g->frame, frame);
    is_json = gmq_call_parse(&call, g->frame.at, g->frame.len);
    if (is_json && !call.refusal && !g->port.is_stopping) {
        connection_begin(&client->base.connection);
        submit[call.method](g, request_new(client, &call));
    } else {
        if (is_json)
            refuse(client, &call);
        else
            lose(client);
        gmq_call_fini(&call);
    }
    reuse(&g->frame);
}

void gmq_request_lose(struct gmq_client *client)
{
    client->gmq->port.stats.requests++;
    lose(client);
}

void gmq_request_skip(struct gmq_client *client)
{
    struct gmq *g = client->gmq;

    g->port.stats.requests++;
    g->port.stats.refused++;
    gmq_reply_error(&g->reply, BYTES("null"),
                    "too_large: the request is too large (limits.body_bytes); it was skipped");
    send_reply(client);
}

void gmq_request_give_up(struct gmq_client *client)
{
    struct gmq *g = client->gmq;

    g->port.stats.requests++;
    g->port.stats.refused++;
    gmq_reply_error(&g->reply, BYTES("null"),
                    "request_timeout: the request took too long to arrive "
                    "(limits.request_time)");
    send_reply(client);
    connection_wind_up(&client->base.connection, "its request took too long to arrive");
}

void gmq_requests_cancel_waits(struct gmq_client *client)
{
    struct list *link;

    while ((link = list_pop(&client->waiting)))
        queue_pop_cancel(client->gmq->port.queue,
                         &CONTAINER_OF(link, struct request, link)->asked.pop);
}

/* An Ack goes on in any case: see queue_abandon(). */
void gmq_requests_abandon(struct gmq_client *client)
{
    LIST_EACH (link, &client->pushes)
        queue_abandon(client->gmq->port.queue,
                      &CONTAINER_OF(link, struct request, link)->asked.push);
}
