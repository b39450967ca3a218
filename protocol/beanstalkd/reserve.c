/* The reserve commands.
 *
 * beanstalkd serves the jobs of all watched tubes in one order, by priority and then by age. A
 * topic has that order by itself (by_id). Of several watched tubes a reserve looks at the first
 * ready job of each, and asks for one in the order in which these are; so the order is exact as
 * long as nothing changes between the look and the pop. Jobs put into different tubes within
 * one millisecond are of one age, but for the numbers of their ids.
 *
 * A reserve that finds nothing waits for all its tubes at once.
 */
#include "protocol/beanstalkd/server.h"

#include <stdlib.h>

#include "protocol/conn/peer.h"

#define FOR_EVER_MS (INT64_C(3650) * 86400000)

/* The first ready job of a tube. */
struct look {
    struct op op;
    struct reserve *reserve;
    bool has_job;
    uint32_t priority;
    int64_t created_ms;
    uint64_t number;
    unsigned order; /* of the tube, among the watched */
};

struct reserve {
    struct request *request;
    struct pop pop;
    struct bytes topics[WATCH_MAX];
    unsigned count;
    bool is_popping;
    bool is_cancelled;
    enum reserve_end why;
    unsigned looking; /* looks that are on their way */
    struct look *looks;
};

static struct beanstalkd *server_of(const struct reserve *reserve)
{
    return reserve->request->client->server;
}

static void count_waiting(struct reserve *reserve, bool begins)
{
    struct beanstalkd_client *client = reserve->request->client;
    struct watch *watch = &client->watch;

    if (begins)
        client->server->counters.waiting++;
    else
        client->server->counters.waiting--;
    for (unsigned i = 0; i < watch->count; i++) {
        if (begins)
            watch->at[i]->waiting++;
        else
            watch->at[i]->waiting--;
    }
}

/* By asking for any job, or by getting the one that it asks for. */
static void make_worker(struct beanstalkd_client *client)
{
    client->server->counters.workers += !client->is_worker;
    client->is_worker = true;
}

static struct reserve *begin(struct request *r)
{
    struct reserve *reserve = must(calloc(1, sizeof(*reserve)));

    reserve->request = r;
    r->reserve = reserve;
    count_waiting(reserve, true);
    return reserve;
}

/* The request goes on without. */
static struct request *end(struct reserve *reserve)
{
    struct request *r = reserve->request;

    count_waiting(reserve, false);
    r->reserve = NULL;
    free(reserve->looks);
    free(reserve);
    return r;
}

static void end_cancelled(struct reserve *reserve)
{
    static const char *const words[] = {[RESERVE_TIMED_OUT] = "TIMED_OUT",
                                        [RESERVE_DEADLINE_SOON] = "DEADLINE_SOON",
                                        [RESERVE_FORBIDDEN] = "FORBIDDEN",
                                        [RESERVE_LOST] = NULL};
    const char *word = words[reserve->why];

    if (word)
        command_answer(end(reserve), word);
    else
        command_lose(end(reserve), "its reserve can wait no longer");
}

/* ---- the job ---- */

static void hand_over(struct reserve *reserve)
{
    struct beanstalkd *s = server_of(reserve);
    struct beanstalkd_client *client = reserve->request->client;
    const struct pop *pop = &reserve->pop;
    const struct job *job = &pop->jobs[0];
    struct delivery *delivery = pop->delivery;
    uint64_t number = numbers_of(&s->numbers, pop->topic, job->id);

    make_worker(client);
    held_add(&client->holder, number, pop->topic, job, peer_name(&client->base.connection));
    beanstalkd_reply_job(&s->reply, "RESERVED", number, job->body);
    command_hand_over(end(reserve), delivery);
}

static void on_pop_done(struct pop *pop)
{
    struct reserve *reserve = CONTAINER_OF(pop, struct reserve, pop);
    struct holder *holder = &reserve->request->client->holder;

    if (!reserve->is_cancelled && !command_may_go_on(reserve->request)) {
        reserve->is_cancelled = true;
        reserve->why = RESERVE_FORBIDDEN;
    }
    if (reserve->is_cancelled) {
        if (pop->status == STATUS_OK) /* it goes to others at once */
            queue_returned(server_of(reserve)->port.queue, pop->delivery);
        end_cancelled(reserve);
    } else if (pop->status == STATUS_OK) {
        hand_over(reserve);
    } else if (pop->status == STATUS_NOT_FOUND && !pop->take_id.len) {
        command_answer(end(reserve), holder->soon ? "DEADLINE_SOON" : "TIMED_OUT");
    } else {
        command_fail(end(reserve), pop->status);
    }
}

static void ask(struct reserve *reserve, const struct bytes *topics, unsigned count,
                int64_t wait_ms)
{
    struct beanstalkd_client *client = reserve->request->client;
    struct pop *pop = &reserve->pop;

    pop->topics = topics;
    pop->topic_count = count;
    pop->count = 1;
    pop->wait_ms = wait_ms;
    pop->is_owned = true;
    pop->holder = client->base.connection.number;
    pop->client = peer_name(&client->base.connection);
    pop->address = peer_address(client->base.peer);
    pop->on_done = on_pop_done;
    reserve->is_popping = true;
    queue_pop(client->server->port.queue, pop);
}

/* With a reservation that ends within a second the client is not made to wait. */
static int64_t wait_ms(const struct request *r)
{
    if (r->client->holder.soon || r->client->has_ended)
        return 0;
    return r->command.wait_s < 0 ? FOR_EVER_MS : r->command.wait_s * 1000;
}

static void pop(struct reserve *reserve)
{
    if (reserve->is_cancelled)
        end_cancelled(reserve);
    else
        ask(reserve, reserve->topics, reserve->count, wait_ms(reserve->request));
}

/* ---- the look at several tubes ---- */

/* Jobs of other dialects may not say when they were made. */
static int64_t created_ms(const struct job *job)
{
    return job->extra.is_there ? job->extra.created_ms : job->due_ms - job->delay_ms;
}

static void note(struct look *look)
{
    const struct job *job = &look->op.out.list.rows[0].job;

    look->has_job = true;
    look->priority = job->rules.priority;
    look->created_ms = created_ms(job);
    look->number = numbers_of(&server_of(look->reserve)->numbers, look->op.topic, job->id);
}

/* Tubes without a job keep their order, behind the others. */
static int compare(const void *a, const void *b)
{
    const struct look *x = a, *y = b;

    if (x->has_job != y->has_job)
        return x->has_job ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->created_ms != y->created_ms)
        return x->created_ms < y->created_ms ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* A look that failed is as good as one that found nothing: the pop tells what is wrong. */
static void on_looked(struct op *op)
{
    struct look *look = CONTAINER_OF(op, struct look, op);
    struct reserve *reserve = look->reserve;

    if (op->status == STATUS_OK && op->out.list.count)
        note(look);
    if (--reserve->looking)
        return;
    qsort(reserve->looks, reserve->count, sizeof(*reserve->looks), compare);
    for (unsigned i = 0; i < reserve->count; i++)
        reserve->topics[i] = reserve->looks[i].op.topic;
    pop(reserve);
}

static void look_at(struct reserve *reserve, unsigned i)
{
    struct look *look = &reserve->looks[i];

    look->reserve = reserve;
    look->order = i;
    look->op.verb = OP_LIST;
    look->op.on_done = on_looked;
    look->op.topic = reserve->topics[i];
    look->op.in.list.state = JOB_READY;
    look->op.in.list.limit = 1;
    queue_submit(server_of(reserve)->port.queue, &look->op);
}

static void look(struct reserve *reserve)
{
    reserve->looks = must(calloc(reserve->count, sizeof(*reserve->looks)));
    reserve->looking = reserve->count;
    for (unsigned i = 0; i < reserve->count; i++)
        look_at(reserve, i);
}

/* ---- the commands ---- */

/* Of the watched tubes, those that the identity has: a client that may not have "default"
 * watches that, too, unless it says otherwise. */
static void choose_topics(struct reserve *reserve)
{
    const struct watch *watch = &reserve->request->client->watch;

    for (unsigned i = 0; i < watch->count; i++)
        if (command_has_topic(reserve->request, watch->at[i]->name))
            reserve->topics[reserve->count++] = watch->at[i]->name;
}

void reserve_begin(struct request *r)
{
    struct reserve *reserve = begin(r);

    make_worker(r->client);
    if (r->command.verb == BEANSTALKD_RESERVE)
        r->command.wait_s = -1;
    choose_topics(reserve);
    if (r->client->base.port->is_stopping)
        command_lose(end(reserve), "the node is stopping");
    else if (reserve->count == 0)
        command_fail(end(reserve), STATUS_FORBIDDEN);
    else if (reserve->count == 1)
        pop(reserve);
    else
        look(reserve);
}

static void take(struct request *r)
{
    struct reserve *reserve = begin(r);

    reserve->pop.take_id = r->id;
    ask(reserve, &r->topic, 1, 0);
}

void reserve_job_begin(struct request *r)
{
    command_find(r, take);
}

/* A pop that does not wait is near its answer. */
void reserve_cancel(struct request *r, enum reserve_end why)
{
    struct reserve *reserve = r->reserve;

    if (reserve->is_cancelled)
        return;
    if (why == RESERVE_DEADLINE_SOON && (!reserve->is_popping || reserve->pop.wait_ms == 0))
        return;
    reserve->is_cancelled = true;
    reserve->why = why;
    if (reserve->is_popping && reserve->pop.wait_ms)
        queue_pop_cancel(&reserve->pop);
}
