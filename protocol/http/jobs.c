#include "protocol/http/jobs.h"

#include <assert.h>
#include <string.h>

/* ---- an operation ---- */

/* A client that has ended its side and still reads is told that nothing happened. A stopping
 * node finishes the operations that it has taken. */
static void abandon(struct exchange *x)
{
    struct http_call *call = x->handler;

    if (!exchange_is_stopping(x))
        queue_abandon(exchange_queue(x), &call->op);
}

/* Memory of a handler with a copy of `op`, its id and its attributes behind the `size` bytes.
 */
static void *keep(struct exchange *x, size_t size, const struct op *op, struct op *own)
{
    bool is_push = op->verb == OP_PUSH;
    size_t more = op->id.len + (is_push ? op->in.push.attributes.len : 0);
    char *memory = exchange_keep(x, size + more), *room = memory + size;

    *own = *op;
    own->id = text_put(&room, op->id);
    if (is_push)
        own->in.push.attributes = text_put(&room, op->in.push.attributes);
    return memory;
}

void http_submit(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                 void (*add)(struct buf *out, const struct op *op))
{
    struct op own;
    struct http_call *call = keep(x, sizeof(*call), op, &own);

    *call = (struct http_call){.op = own, .x = x, .add = add};
    call->op.client = exchange_client(x);
    call->op.on_done = on_done;
    call->op.is_alone = true; /* a connection has one request in work */
    x->on_cancel_wait = abandon;
    queue_submit(exchange_queue(x), &call->op);
}

/* ---- by an id alone ---- */

struct by_id {
    struct http_call call; /* first: abandon() finds it */
    struct id_find find;
    struct op rival;                    /* of http_push_over(): the job of another topic */
    void (*on_pushed)(struct op *push); /* of http_push_over(): the caller's */
    char topic[NAME_MAX_BYTES];         /* that was found */
};

static struct by_id *by_id_of(const struct id_find *find)
{
    return CONTAINER_OF(find, struct by_id, find);
}

static bool is_clients(const struct id_find *find, struct bytes topic)
{
    return exchange_has_topic(by_id_of(find)->call.x, topic);
}

/* False: there is none, or why that could not be told, or the identity has gone meanwhile; then
 * the call's status says so. */
static bool take_topic(struct by_id *by, struct bytes *topic)
{
    by->call.op.status = exchange_may_go_on(by->call.x) ? by->find.status : STATUS_FORBIDDEN;
    if (by->call.op.status)
        return false;
    assert(by->find.topic.len <= sizeof(by->topic));
    memcpy(by->topic, by->find.topic.at, by->find.topic.len);
    *topic = bytes_of(by->topic, by->find.topic.len);
    return true;
}

static void submit(struct by_id *by)
{
    by->call.x->on_cancel_wait = abandon;
    queue_submit(exchange_queue(by->call.x), &by->call.op);
}

static void begin(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                  void (*add)(struct buf *out, const struct op *op), const struct id_find *find)
{
    struct op own;
    struct by_id *by = keep(x, sizeof(*by), op, &own);

    *by = (struct by_id){
        .call = {.op = own, .x = x, .add = add}, .find = *find, .on_pushed = on_done};
    by->find.id = own.id;
    by->call.op.client = exchange_client(x);
    by->call.op.on_done = on_done;
    by->call.op.is_alone = true;
    x->on_cancel_wait = NULL; /* nothing is sent yet */
    queue_find(exchange_queue(x), &by->find);
}

static void on_found(struct id_find *find)
{
    struct by_id *by = by_id_of(find);

    if (take_topic(by, &by->call.op.topic))
        submit(by);
    else
        by->call.op.on_done(&by->call.op);
}

void http_submit_by_id(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                       void (*add)(struct buf *out, const struct op *op))
{
    static const struct id_find find = {.is_for = is_clients, .on_done = on_found};

    begin(x, op, on_done, add, &find);
}

/* ---- a push that replaces a job of another topic ---- */

/* Its own topic's job needs no search: the push replaces it. */
static bool is_rival(const struct id_find *find, struct bytes topic)
{
    return is_clients(find, topic) && !bytes_equal(topic, by_id_of(find)->call.op.topic);
}

static void end_push(struct by_id *by, enum status status)
{
    by->call.op.status = status;
    by->on_pushed(&by->call.op);
}

/* What has become of the cancel is known, or it is not: the push has happened. */
static void on_cancelled(struct op *op)
{
    struct by_id *by = CONTAINER_OF(op, struct by_id, rival);
    bool is_gone = op->status == STATUS_OK || op->status == STATUS_NOT_FOUND;

    by->call.left_rival = !is_gone && op->status != STATUS_NOT_REPLICATED;
    if (by->call.left_rival)
        end_push(by, STATUS_UNKNOWN);
    else
        end_push(by, is_gone ? STATUS_OK : op->status);
}

/* The cancel needs neither the client nor its identity any more: the push was allowed, and the
 * rival was the client's. */
static void on_pushed_beside(struct op *op)
{
    struct by_id *by = CONTAINER_OF(op, struct by_id, call.op);

    if (op->status != STATUS_OK) {
        end_push(by, op->status);
        return;
    }
    by->call.x->on_cancel_wait = NULL;
    by->rival.on_done = on_cancelled;
    queue_submit(exchange_queue(by->call.x), &by->rival);
}

static void prepare_cancel(struct by_id *by)
{
    const struct job *seen = &by->rival.out.row.job;
    int64_t created_ms = seen->extra.is_there ? seen->extra.created_ms : 0;
    struct op cancel = {.verb = OP_CANCEL,
                        .topic = by->rival.topic,
                        .id = by->call.op.id,
                        .client = by->call.op.client,
                        .is_alone = true,
                        .in.cancel = {.is_as_seen = true,
                                      .due_ms = seen->due_ms,
                                      .delay_ms = seen->delay_ms,
                                      .created_ms = created_ms}};

    by->rival = cancel;
}

static void on_rival_seen(struct op *op)
{
    struct by_id *by = CONTAINER_OF(op, struct by_id, rival);

    if (op->status == STATUS_OK) {
        prepare_cancel(by);
        by->call.op.on_done = on_pushed_beside;
    }
    if (op->status == STATUS_OK || op->status == STATUS_NOT_FOUND)
        submit(by);
    else
        end_push(by, op->status);
}

static void on_rival_found(struct id_find *find)
{
    struct by_id *by = by_id_of(find);
    struct bytes topic;

    if (take_topic(by, &topic)) {
        by->rival = (struct op){.verb = OP_GET,
                                .topic = topic,
                                .id = by->call.op.id,
                                .client = by->call.op.client,
                                .on_done = on_rival_seen,
                                .is_alone = true};
        queue_submit(exchange_queue(by->call.x), &by->rival);
    } else if (by->call.op.status == STATUS_NOT_FOUND) {
        submit(by);
    } else {
        by->call.op.on_done(&by->call.op);
    }
}

void http_push_over(struct exchange *x, const struct op *op, void (*on_done)(struct op *op),
                    void (*add)(struct buf *out, const struct op *op))
{
    static const struct id_find find = {.is_for = is_rival, .on_done = on_rival_found};
    struct op own = *op;

    own.in.push.mode = PUSH_REPLACE;
    own.in.push.is_indexed = true;
    begin(x, &own, on_done, add, &find);
}

/* ---- an acknowledgement by an id alone ---- */

struct acking {
    struct exchange *x;
    struct id_ack ack;
};

static bool is_ack_clients(const struct id_ack *ack, struct bytes topic)
{
    const struct exchange *x = CONTAINER_OF(ack, struct acking, ack)->x;

    return exchange_may_go_on(x) && exchange_has_topic(x, topic);
}

/* It goes on without its client: the work is done. */
void http_ack_by_id(struct exchange *x, struct bytes id, void (*on_done)(struct id_ack *ack))
{
    struct acking *a = exchange_keep(x, sizeof(*a));

    *a = (struct acking){.x = x,
                         .ack = {.id = id,
                                 .holder = exchange_holder(x),
                                 .group = exchange_group(x),
                                 .is_alone = true,
                                 .client = exchange_client(x),
                                 .is_for = is_ack_clients,
                                 .on_done = on_done}};
    x->on_cancel_wait = NULL;
    queue_ack_by_id(exchange_queue(x), &a->ack);
}

struct exchange *http_ack_exchange(struct id_ack *ack)
{
    return CONTAINER_OF(ack, struct acking, ack)->x;
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

/* One reply has jobs of one topic. */
static void keep_topic(struct http_popping *p, struct bytes topic)
{
    for (unsigned i = 0; i < p->pop.topic_count; i++)
        if (bytes_equal(p->topics[i], topic))
            p->topics[0] = p->topics[i];
    p->pop.topic_count = 1;
}

void http_pop_more(struct pop *pop, unsigned count)
{
    struct http_popping *p = http_popping_of(pop);

    keep_topic(p, pop->topic);
    pop->count = count;
    pop->wait_ms = 0;
    pop->address = exchange_address(p->x);
    ask(p);
}
