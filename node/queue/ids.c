#include "node/queue/ids.h"

#include "node/queue/core.h"
#include "node/queue/hash.h"
#include "node/queue/queue.h"

#define HOLDINGS_MAX 65536

/* One id, with all its deliveries that are remembered. */
struct known_id {
    UT_hash_handle hh;
    struct list holdings; /* oldest first */
    struct bytes id;
    char text[];
};

/* One delivery. */
struct holding {
    struct list link; /* in its id */
    struct list age;  /* in ids.oldest */
    struct known_id *of;
    uint64_t holder, group;
    int64_t stamp;
    struct bytes topic;
    char text[];
};

/* ---- the memory ---- */

static struct known_id *find_id(struct ids *ids, struct bytes id)
{
    struct known_id *known;

    HASH_FIND(hh, ids->by_id, id.at, id.len, known);
    return known;
}

static struct known_id *get_id(struct ids *ids, struct bytes id)
{
    struct known_id *known = find_id(ids, id);

    if (known)
        return known;
    known = must(malloc(sizeof(*known) + id.len));
    memcpy(known->text, id.at, id.len);
    known->id = bytes_of(known->text, id.len);
    list_init(&known->holdings);
    HASH_ADD_KEYPTR(hh, ids->by_id, known->id.at, known->id.len, known);
    return known;
}

static void forget(struct ids *ids, struct holding *holding)
{
    struct known_id *of = holding->of;

    list_remove(&holding->link);
    list_remove(&holding->age);
    free(holding);
    ids->count--;
    if (list_is_empty(&of->holdings)) {
        HASH_DEL(ids->by_id, of); /* NOLINT(clang-analyzer-core.NullDereference): it is in it */
        free(of);
    }
}

static void forget_oldest(struct ids *ids)
{
    forget(ids, CONTAINER_OF(list_first(&ids->oldest), struct holding, age));
}

static void add(struct ids *ids, const struct pop *pop, struct bytes topic,
                const struct job *job)
{
    struct holding *holding = must(malloc(sizeof(*holding) + topic.len));

    holding->of = get_id(ids, job->id);
    holding->holder = pop->holder;
    holding->group = pop->group;
    holding->stamp = job->stamp;
    memcpy(holding->text, topic.at, topic.len);
    holding->topic = bytes_of(holding->text, topic.len);
    list_append(&holding->of->holdings, &holding->link);
    list_append(&ids->oldest, &holding->age);
    if (++ids->count > HOLDINGS_MAX)
        forget_oldest(ids);
}

void ids_add(struct ids *ids, const struct pop *pop, struct bytes topic, const struct job *jobs,
             unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        add(ids, pop, topic, &jobs[i]);
}

static bool is_for(const struct id_ack *ack, struct bytes topic)
{
    return !ack->is_for || ack->is_for(ack, topic);
}

static bool is_of_group(const struct holding *holding, const struct id_ack *ack)
{
    return ack->group && holding->group == ack->group;
}

/* The holder's newest, else its group's, else anybody's newest; NULL when the id is not
 * remembered. */
static struct holding *recall(struct ids *ids, const struct id_ack *ack)
{
    struct known_id *known = find_id(ids, ack->id);
    struct holding *newest = NULL, *own = NULL, *near = NULL;

    if (!known)
        return NULL;
    LIST_EACH (link, &known->holdings) {
        struct holding *holding = CONTAINER_OF(link, struct holding, link);

        if (!is_for(ack, holding->topic))
            continue;
        newest = holding;
        if (holding->holder == ack->holder)
            own = holding;
        if (is_of_group(holding, ack))
            near = holding;
    }
    if (!own)
        own = near;
    return own ? own : newest;
}

/* Stamps are unique in a bucket only. */
static void forget_op(struct ids *ids, const struct op *op)
{
    struct known_id *known = find_id(ids, op->id);

    if (!known)
        return;
    LIST_EACH (link, &known->holdings) {
        struct holding *holding = CONTAINER_OF(link, struct holding, link);

        if (holding->stamp == op->in.lease.stamp && bytes_equal(holding->topic, op->topic)) {
            forget(ids, holding);
            return;
        }
    }
}

/* ---- finding ---- */

struct question {
    struct op op;
    struct id_search *search;
};

/* Buckets are asked in stages, each only where the one before it did not know the id: the
 * bucket that the id's number names, if it was made by a store; all others; and at last those
 * that are out of reach, because the store holds such questions until the buckets are back. */
struct id_search {
    struct id_find *find;
    enum { ASKS_ITS_BUCKET, ASKS_REACHED, ASKS_AWAY } stage;
    unsigned unanswered; /* questions */
    enum status status;  /* OK: found; NOT_FOUND; or what went wrong */
    size_t topic_len;
    char topic[NAME_MAX_BYTES];
    struct question questions[]; /* one a bucket */
};

/* The one that has the id, if a store has made it: such an id is n * buckets + bucket in
 * decimal. False: none has. */
static bool read_bucket(struct bytes id, unsigned buckets, unsigned *bucket)
{
    uint64_t number = 0;

    if (id.len == 0 || id.len > 19 || id.at[0] == '0')
        return false;
    for (size_t i = 0; i < id.len; i++) {
        if (id.at[i] < '0' || id.at[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(id.at[i] - '0');
    }
    *bucket = (unsigned)(number % buckets);
    return true;
}

static void found(struct id_search *search, struct bytes topic)
{
    const struct id_find *find = search->find;

    if (topic.len > sizeof(search->topic) || (find->is_for && !find->is_for(find, topic)))
        return; /* not written by dueq; or nothing that the client may know of */
    memcpy(search->topic, topic.at, topic.len);
    search->topic_len = topic.len;
    search->status = STATUS_OK;
}

static void end_search(struct id_search *search)
{
    struct id_find *find = search->find;

    find->search = NULL;
    find->status = search->status;
    find->topic = bytes_of(search->topic, search->topic_len);
    find->on_done(find);
    free(search);
}

static void ask_next_stage(struct id_search *search);

static void on_owner(struct op *op)
{
    struct id_search *search = CONTAINER_OF(op, struct question, op)->search;

    if (op->status == STATUS_OK)
        found(search, op->out.owner.topic);
    else if (op->status != STATUS_NOT_FOUND && search->status != STATUS_OK)
        search->status = op->status;
    if (--search->unanswered > 0)
        return;
    if (search->status == STATUS_NOT_FOUND && search->stage != ASKS_AWAY)
        ask_next_stage(search);
    else
        end_search(search);
}

static void ask(struct id_search *search, unsigned bucket)
{
    struct question *question = &search->questions[bucket];

    question->search = search;
    question->op.verb = OP_OWNER;
    question->op.on_done = on_owner;
    question->op.bucket = bucket;
    question->op.id = search->find->id;
    search->unanswered++;
    core_send(search->find->ids->core, &question->op);
}

/* Ends the search where there is nobody left to ask. */
static void ask_next_stage(struct id_search *search)
{
    const struct core *core = search->find->ids->core;

    while (search->unanswered == 0 && search->stage != ASKS_AWAY) {
        search->stage++;
        for (unsigned b = 0; b < core->store->buckets; b++) {
            if (!search->questions[b].search &&
                (search->stage == ASKS_AWAY || !core_is_away(core, b)))
                ask(search, b);
        }
    }
    if (search->unanswered == 0)
        end_search(search);
}

void ids_find(struct ids *ids, struct id_find *find)
{
    unsigned buckets = ids->core->store->buckets, bucket = 0;
    bool has_bucket = read_bucket(find->id, buckets, &bucket);
    struct id_search *search;

    if (find->is_of_store && !has_bucket) {
        ids_refuse_find(ids, find, STATUS_NOT_FOUND);
        return;
    }
    search = must(calloc(1, sizeof(*search) + buckets * sizeof(*search->questions)));
    search->find = find;
    search->status = STATUS_NOT_FOUND;
    search->stage = find->is_of_store ? ASKS_AWAY : ASKS_ITS_BUCKET;
    find->ids = ids;
    find->search = search;
    if (has_bucket && (find->is_of_store || !core_is_away(ids->core, bucket)))
        ask(search, bucket);
    else
        ask_next_stage(search);
}

void ids_refuse_find(struct ids *ids, struct id_find *find, enum status status)
{
    find->ids = ids;
    find->search = NULL;
    find->status = status;
    find->topic = BYTES("");
    later_add(&ids->told, &find->link);
}

static void tell_refused(struct later *later, struct list *link)
{
    struct ids *ids = CONTAINER_OF(later, struct ids, told);
    struct id_find *find = CONTAINER_OF(link, struct id_find, link);

    find->on_done(find);
    core_note_end(ids->core);
}

/* ---- acknowledging ---- */

static void end(struct id_ack *ack, enum status status)
{
    ack->status = status;
    ack->on_done(ack);
}

static void set_topic(struct id_ack *ack, struct bytes topic)
{
    memcpy(ack->topic_text, topic.at, topic.len);
    ack->topic = bytes_of(ack->topic_text, topic.len);
}

static void find_lease(struct id_ack *ack);

/* A refused lease is remembered all the same: its holder may ask again, and must not get the
 * next holder's lease then. */
static void on_acked(struct op *op)
{
    struct id_ack *ack = CONTAINER_OF(op, struct id_ack, op);
    bool is_over = op->status == STATUS_NOT_OWNER || op->status == STATUS_NOT_RESERVED;

    if (op->status == STATUS_OK || op->status == STATUS_NOT_FOUND)
        forget_op(ack->ids, op);
    if (is_over && ack->is_of_node)
        find_lease(ack); /* somebody else's old lease: another node may have the new one */
    else
        end(ack, is_over ? STATUS_NOT_OWNER : op->status);
}

static void prepare(struct id_ack *ack, enum op_verb verb, void (*on_done)(struct op *op))
{
    ack->op = (struct op){.verb = verb,
                          .client = ack->client,
                          .on_done = on_done,
                          .is_alone = ack->is_alone,
                          .topic = ack->topic,
                          .id = ack->id};
    ack->op.bucket = core_bucket_of(ack->ids->core, ack->topic);
}

static void send_ack(struct id_ack *ack, int64_t stamp)
{
    prepare(ack, OP_ACK, on_acked);
    ack->op.in.lease.stamp = stamp;
    core_send(ack->ids->core, &ack->op);
}

/* A job that nobody has reserved was reserved before, and the time is over. */
static void on_lease(struct op *op)
{
    struct id_ack *ack = CONTAINER_OF(op, struct id_ack, op);

    if (op->status != STATUS_OK)
        end(ack, op->status);
    else if (op->out.owner.stamp == 0)
        end(ack, STATUS_NOT_OWNER);
    else
        send_ack(ack, op->out.owner.stamp);
}

static void on_found(struct id_find *find)
{
    struct id_ack *ack = CONTAINER_OF(find, struct id_ack, find);

    if (find->status != STATUS_OK) {
        end(ack, find->status);
        return;
    }
    set_topic(ack, find->topic);
    prepare(ack, OP_OWNER, on_lease);
    core_send(ack->ids->core, &ack->op);
}

static bool is_for_ack(const struct id_find *find, struct bytes topic)
{
    return is_for(CONTAINER_OF(find, struct id_ack, find), topic);
}

static void find_lease(struct id_ack *ack)
{
    ack->is_of_node = false;
    ack->find = (struct id_find){.id = ack->id, .is_for = is_for_ack, .on_done = on_found};
    ids_find(ack->ids, &ack->find);
}

void ids_ack(struct ids *ids, struct id_ack *ack)
{
    struct holding *holding = recall(ids, ack);

    ack->ids = ids;
    if (!holding) {
        find_lease(ack);
        return;
    }
    ack->is_of_node = holding->holder != ack->holder && !is_of_group(holding, ack);
    set_topic(ack, holding->topic);
    send_ack(ack, holding->stamp);
}

static void on_refused(struct op *op)
{
    end(CONTAINER_OF(op, struct id_ack, op), op->status);
}

void ids_refuse(struct ids *ids, struct id_ack *ack, enum status status)
{
    ack->ids = ids;
    ack->op = (struct op){.verb = OP_ACK, .on_done = on_refused};
    core_refuse(ids->core, &ack->op, status);
}

/* ---- life ---- */

void ids_init(struct ids *ids, struct core *core)
{
    *ids = (struct ids){.core = core};
    list_init(&ids->oldest);
    later_init(&ids->told, core->timers, tell_refused);
}

bool ids_are_idle(const struct ids *ids)
{
    return later_is_idle(&ids->told);
}

void ids_fini(struct ids *ids)
{
    later_fini(&ids->told);
    while (ids->count)
        forget_oldest(ids);
}
