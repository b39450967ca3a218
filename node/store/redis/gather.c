/* What waits together travels together: requests of one topic and verb that meet in one turn of
 * the loop go to Redis in one call, whose script writes each key once.
 *
 *   request_gather() ---> gathered, by topic and verb ---> the end of the turn, or before: one
 * call
 *
 * A gathered request counts as in flight, and waits for nothing: what is sent in a turn is
 * written at its end in any case. One that finds no company goes as it always did.
 *
 * Order: the operations of one sender on a topic go to Redis in the order in which they came.
 * So what is gathered of a topic goes before anything else of it does, unless that is alone on
 * its sender's way (struct op). Within a call the order is that of coming.
 */
#include "node/store/redis/requests.h"

#include <assert.h>

#include "base/crc16.h"

/* Where a verb has its place in a row; GATHER_VERBS: its requests go alone. */
static unsigned place_of(enum op_verb verb)
{
    switch (verb) {
    case OP_PUSH:
        return 0;
    case OP_ACK:
        return 1;
    case OP_RELEASE:
        return 2;
    default:
        return GATHER_VERBS;
    }
}

/* What is gathered of the topic, by verb. Topics may share a row: then the call that is there
 * goes early. */
static struct request **row_of(const struct request *r)
{
    return r->queue->gathered.rows[crc16(r->op->topic) % GATHER_ROWS];
}

/* ---- going ---- */

/* Its connection may be lost by now, and the next one not be proved yet. */
static void send_gathered(struct request *first)
{
    list_remove(&first->link);
    row_of(first)[place_of(first->op->verb)] = NULL;
    if (redis_lane_is_connected(first->lane))
        request_send_call(first);
    else
        requests_on_unsent(first);
}

static void send_all(struct gathered *g)
{
    struct list *link;

    while ((link = list_first(&g->calls)))
        send_gathered(CONTAINER_OF(link, struct request, link));
}

static void on_end_of_turn(struct turn_end *end)
{
    send_all(CONTAINER_OF(end, struct gathered, end));
}

/* All of the row, but for the verb of this place. */
static void send_row(struct request **row, unsigned but)
{
    for (unsigned i = 0; i < GATHER_VERBS; i++)
        if (i != but && row[i])
            send_gathered(row[i]);
}

void request_send_gathered_before(const struct request *r)
{
    struct gathered *g = &r->queue->gathered;

    if (r->op->is_alone || list_is_empty(&g->calls))
        return;
    if (r->op->topic.len == 0)
        send_all(g);
    else
        send_row(row_of(r), GATHER_VERBS);
}

/* ---- coming ---- */

static bool is_plain_push(const struct op *op)
{
    return op->in.push.mode == PUSH_REJECT && op->in.push.ttl_ms == 0 &&
           op->in.push.attributes.len == 0; /* a call has no room for many of them */
}

/* A call brings the limits of its topic once, and whether its pushes are indexed. Limits change
 * while a turn's pushes come only where settings are read between two of them. */
static bool has_limits_of(const struct op *op, const struct op *other)
{
    return op->verb != OP_PUSH || (op->in.push.jobs_max == other->in.push.jobs_max &&
                                   op->in.push.bytes_max == other->in.push.bytes_max &&
                                   op->in.push.is_indexed == other->in.push.is_indexed);
}

bool request_may_share(const struct request *r)
{
    const struct op *op = r->op;

    if (r->may_have_run || r->needs_text || r->bytes > GATHER_BYTES_MAX)
        return false;
    return place_of(op->verb) < GATHER_VERBS && (op->verb != OP_PUSH || is_plain_push(op));
}

/* A call names the notes of one process, or none. */
static bool has_notes_of(const struct op *op, const struct op *other)
{
    return op->verb == OP_PUSH || (op->in.lease.is_owned == other->in.lease.is_owned &&
                                   op->in.lease.worker == other->in.lease.worker);
}

static bool may_join(const struct request *first, const struct request *r)
{
    return first->op->verb == r->op->verb && first->lane == r->lane &&
           first->count < SCRIPT_MANY_MAX &&
           first->bytes_of_all + r->bytes <= GATHER_BYTES_MAX &&
           bytes_equal(first->op->topic, r->op->topic) && has_limits_of(r->op, first->op) &&
           has_notes_of(r->op, first->op);
}

static void join(struct request *first, struct request *r)
{
    first->last->next = r;
    first->last = r;
    first->count++;
    first->bytes_of_all += r->bytes;
}

void request_gather(struct request *r)
{
    struct gathered *g = &r->queue->gathered;
    struct request **row = row_of(r);
    unsigned own = place_of(r->op->verb);

    if (!r->op->is_alone)
        send_row(row, own);
    if (row[own] && may_join(row[own], r)) {
        join(row[own], r);
        return;
    }
    if (row[own])
        send_gathered(row[own]);
    row[own] = r;
    list_append(&g->calls, &r->link);
    turn_end_ask(&g->end, g->loop);
}

void request_gather_init(struct gathered *g, struct loop *loop)
{
    *g = (struct gathered){.loop = loop};
    turn_end_init(&g->end, TURN_SEND, on_end_of_turn);
    list_init(&g->calls);
}

void request_gather_fini(struct gathered *g)
{
    assert(list_is_empty(&g->calls));
    turn_end_cancel(&g->end);
}
