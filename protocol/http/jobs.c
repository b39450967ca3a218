#include "protocol/http/jobs.h"

/* ---- an operation ---- */

/* A client that has ended its side and still reads is told that nothing happened. A stopping
 * node finishes the operations that it has taken. */
static void abandon(struct exchange *x)
{
    struct http_call *call = x->handler;

    if (!exchange_is_stopping(x))
        queue_abandon(exchange_queue(x), &call->op);
}

void http_submit(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                 void (*add)(struct buf *out, const struct op *op))
{
    struct http_call *call = exchange_keep(x, sizeof(*call));

    *call = (struct http_call){.op = *op, .x = x, .add = add};
    call->op.client = exchange_client(x);
    call->op.on_done = on_done;
    call->op.is_alone = true; /* a connection has one request in work */
    x->on_cancel_wait = abandon;
    queue_submit(exchange_queue(x), &call->op);
}

/* ---- a pop ---- */

/* Its identity has gone while it waited, or has changed: the jobs go to others at once. It is
 * told by its next request, for it may be known by another token. */
static void give_back_if_gone(const struct exchange *x, struct pop *pop)
{
    if (pop->status != STATUS_OK || exchange_may_go_on(x))
        return;
    queue_returned(exchange_queue(x), pop->delivery);
    pop->status = STATUS_CANCELLED;
}

static void on_popped(struct pop *pop)
{
    struct http_popping *p = http_popping_of(pop);

    give_back_if_gone(p->x, pop);
    if (pop->status == STATUS_OK) {
        exchange_carry(p->x, pop->delivery);
        p->answered += pop->job_count;
    }
    p->on_done(p->x, pop);
}

static void cancel_pop(struct exchange *x)
{
    struct http_popping *p = x->handler;

    queue_pop_cancel(&p->pop);
}

static unsigned count_topics(struct bytes topics)
{
    unsigned count = 1;

    for (size_t i = 0; i < topics.len; i++)
        count += topics.at[i] == ',';
    return count;
}

static void ask(struct http_popping *p)
{
    p->x->on_cancel_wait = cancel_pop;
    queue_pop(exchange_queue(p->x), &p->pop);
}

enum status http_pop(struct exchange *x, struct bytes topics, const struct pop *ask_for,
                     void (*on_done)(struct exchange *x, struct pop *pop))
{
    unsigned count = count_topics(topics);
    struct http_popping *p;
    char *copy;

    if (count > QUEUE_TOPICS_PER_POP_MAX)
        return STATUS_OUT_OF_RANGE;
    p = exchange_keep(x, sizeof(*p) + count * sizeof(p->topics[0]) + topics.len);
    *p = (struct http_popping){.x = x, .on_done = on_done, .pop = *ask_for};
    copy = (char *)&p->topics[count];
    topics = text_put(&copy, topics);
    for (unsigned i = 0; i < count; i++)
        p->topics[i] = bytes_cut(&topics, ',');
    p->pop.topics = p->topics;
    p->pop.topic_count = count;
    p->pop.is_alone = true;
    p->pop.holder = exchange_holder(x);
    p->pop.group = exchange_group(x);
    p->pop.client = exchange_client(x);
    p->pop.address = exchange_address(x);
    p->pop.on_done = on_popped;
    ask(p);
    return STATUS_OK;
}

void http_pop_more(struct pop *pop, unsigned count)
{
    struct http_popping *p = http_popping_of(pop);

    pop->count = count;
    pop->wait_ms = 0;
    pop->address = exchange_address(p->x);
    ask(p);
}
