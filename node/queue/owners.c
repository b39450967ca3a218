#include "node/queue/owners.h"

#include "node/queue/core.h"
#include "node/queue/hash.h"
#include "node/queue/queue.h"

#define OWNINGS_MAX 65536

/* One id, with all its deliveries that are remembered. */
struct owned_id {
    UT_hash_handle hh;
    struct list ownings; /* oldest first */
    struct bytes id;
    char text[];
};

/* One delivery. */
struct owning {
    struct list link; /* in its id */
    struct list age;  /* in owners.oldest */
    struct owned_id *of;
    uint64_t holder, group;
    int64_t stamp;
    struct bytes topic;
    char text[];
};

/* ---- the memory ---- */

static struct owned_id *find_id(struct owners *o, struct bytes id)
{
    struct owned_id *owned;

    HASH_FIND(hh, o->by_id, id.at, id.len, owned);
    return owned;
}

static struct owned_id *get_id(struct owners *o, struct bytes id)
{
    struct owned_id *owned = find_id(o, id);

    if (owned)
        return owned;
    owned = must(malloc(sizeof(*owned) + id.len));
    memcpy(owned->text, id.at, id.len);
    owned->id = bytes_of(owned->text, id.len);
    list_init(&owned->ownings);
    HASH_ADD_KEYPTR(hh, o->by_id, owned->id.at, owned->id.len, owned);
    return owned;
}

static void forget(struct owners *o, struct owning *owning)
{
    struct owned_id *of = owning->of;

    list_remove(&owning->link);
    list_remove(&owning->age);
    free(owning);
    o->count--;
    if (list_is_empty(&of->ownings)) {
        HASH_DEL(o->by_id, of); /* NOLINT(clang-analyzer-core.NullDereference): it is in it */
        free(of);
    }
}

static void forget_oldest(struct owners *o)
{
    forget(o, CONTAINER_OF(list_first(&o->oldest), struct owning, age));
}

static void add(struct owners *o, const struct pop *pop, struct bytes topic,
                const struct job *job)
{
    struct owning *owning = must(malloc(sizeof(*owning) + topic.len));

    owning->of = get_id(o, job->id);
    owning->holder = pop->holder;
    owning->group = pop->group;
    owning->stamp = job->stamp;
    memcpy(owning->text, topic.at, topic.len);
    owning->topic = bytes_of(owning->text, topic.len);
    list_append(&owning->of->ownings, &owning->link);
    list_append(&o->oldest, &owning->age);
    if (++o->count > OWNINGS_MAX)
        forget_oldest(o);
}

void owners_add(struct owners *o, const struct pop *pop, struct bytes topic,
                const struct job *jobs, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        add(o, pop, topic, &jobs[i]);
}

static bool is_for(const struct id_ack *ack, struct bytes topic)
{
    return !ack->is_for || ack->is_for(ack, topic);
}

static bool is_of_group(const struct owning *owning, const struct id_ack *ack)
{
    return ack->group && owning->group == ack->group;
}

/* The holder's newest, else its group's, else anybody's newest; NULL when the id is not
 * remembered. */
static struct owning *find(struct owners *o, const struct id_ack *ack)
{
    struct owned_id *owned = find_id(o, ack->id);
    struct owning *newest = NULL, *own = NULL, *near = NULL;

    if (!owned)
        return NULL;
    LIST_EACH (link, &owned->ownings) {
        struct owning *owning = CONTAINER_OF(link, struct owning, link);

        if (!is_for(ack, owning->topic))
            continue;
        newest = owning;
        if (owning->holder == ack->holder)
            own = owning;
        if (is_of_group(owning, ack))
            near = owning;
    }
    if (!own)
        own = near;
    return own ? own : newest;
}

/* Stamps are unique in a bucket only. */
static void forget_op(struct owners *o, const struct op *op)
{
    struct owned_id *owned = find_id(o, op->id);

    if (!owned)
        return;
    LIST_EACH (link, &owned->ownings) {
        struct owning *owning = CONTAINER_OF(link, struct owning, link);

        if (owning->stamp == op->in.lease.stamp && bytes_equal(owning->topic, op->topic)) {
            forget(o, owning);
            return;
        }
    }
}

/* ---- acknowledging ---- */

struct question {
    struct op op;
    struct id_search *search;
};

/* Where a lease was found. */
enum id_source { FROM_HOLDER, FROM_NODE, FROM_BUCKETS };

/* The way from an id to its lease. Buckets out of reach are asked when no other knows the id,
 * because the store holds such questions until the buckets are back. */
struct id_search {
    struct id_ack *ack;
    enum id_source source;
    unsigned unanswered; /* questions */
    bool is_asked_of_all;
    enum status status; /* OK: found; NOT_FOUND; or what went wrong */
    int64_t stamp;
    size_t topic_len;
    char topic[NAME_MAX_BYTES];
    struct question questions[]; /* one a bucket, or none */
};

static struct id_search *search_begin(struct id_ack *ack, enum id_source source,
                                      unsigned questions)
{
    struct id_search *search =
        must(calloc(1, sizeof(*search) + questions * sizeof(*search->questions)));

    search->ack = ack;
    search->source = source;
    search->status = STATUS_NOT_FOUND;
    free(ack->search);
    ack->search = search;
    return search;
}

static void found(struct id_search *search, struct bytes topic, int64_t stamp)
{
    if (topic.len > sizeof(search->topic) || !is_for(search->ack, topic))
        return; /* not written by dueq; or nothing that the client may know of */
    memcpy(search->topic, topic.at, topic.len);
    search->topic_len = topic.len;
    search->stamp = stamp;
    search->status = STATUS_OK;
}

static void end(struct id_ack *ack, enum status status)
{
    free(ack->search);
    ack->search = NULL;
    ack->status = status;
    ack->on_done(ack);
}

static void ask_all_buckets(struct id_ack *ack);

/* A refused lease is remembered all the same: its holder may ask again, and must not get the
 * next holder's lease then. */
static void on_acked(struct op *op)
{
    struct id_ack *ack = CONTAINER_OF(op, struct id_ack, op);
    enum id_source source = ack->search->source;

    if (op->status == STATUS_OK || op->status == STATUS_NOT_FOUND)
        forget_op(ack->owners, op);
    if (source == FROM_NODE &&
        (op->status == STATUS_NOT_OWNER || op->status == STATUS_NOT_RESERVED))
        ask_all_buckets(ack); /* somebody else's old lease: another node may have the new one */
    else if (op->status == STATUS_NOT_RESERVED)
        end(ack, STATUS_NOT_OWNER); /* it was reserved, and its time is over */
    else
        end(ack, op->status);
}

static void send_ack(struct id_ack *ack)
{
    struct id_search *search = ack->search;

    ack->op = (struct op){
        .verb = OP_ACK,
        .client = ack->client,
        .on_done = on_acked,
        .is_alone = ack->is_alone,
        .topic = bytes_of(search->topic, search->topic_len),
        .id = ack->id,
        .in.lease.stamp = search->stamp,
    };
    ack->op.bucket = core_bucket_of(ack->owners->core, ack->op.topic);
    core_send(ack->owners->core, &ack->op);
}

static void ask_rest(struct id_search *search);

static void on_owner(struct op *op)
{
    struct id_search *search = CONTAINER_OF(op, struct question, op)->search;

    if (op->status == STATUS_OK)
        found(search, op->out.owner.topic, op->out.owner.stamp);
    else if (op->status != STATUS_NOT_FOUND && search->status != STATUS_OK)
        search->status = op->status;
    if (--search->unanswered > 0)
        return;
    if (search->status == STATUS_NOT_FOUND && !search->is_asked_of_all)
        ask_rest(search);
    else if (search->status == STATUS_OK)
        send_ack(search->ack);
    else
        end(search->ack, search->status);
}

static void ask(struct id_search *search, unsigned bucket)
{
    struct question *question = &search->questions[bucket];

    question->search = search;
    question->op.verb = OP_OWNER;
    question->op.on_done = on_owner;
    question->op.bucket = bucket;
    question->op.id = search->ack->id;
    search->unanswered++;
    core_send(search->ack->owners->core, &question->op);
}

static void ask_rest(struct id_search *search)
{
    search->is_asked_of_all = true;
    for (unsigned b = 0; b < search->ack->owners->core->store->buckets; b++) {
        if (!search->questions[b].search)
            ask(search, b);
    }
}

static void ask_all_buckets(struct id_ack *ack)
{
    const struct core *core = ack->owners->core;
    struct id_search *search = search_begin(ack, FROM_BUCKETS, core->store->buckets);

    for (unsigned b = 0; b < core->store->buckets; b++) {
        if (!core_is_away(core, b))
            ask(search, b);
    }
    search->is_asked_of_all = search->unanswered == core->store->buckets;
    if (search->unanswered == 0)
        ask_rest(search);
}

void owners_ack(struct owners *o, struct id_ack *ack)
{
    struct owning *owning = find(o, ack);
    bool is_own;

    ack->owners = o;
    ack->search = NULL;
    if (!owning) {
        ask_all_buckets(ack);
        return;
    }
    is_own = owning->holder == ack->holder || is_of_group(owning, ack);
    search_begin(ack, is_own ? FROM_HOLDER : FROM_NODE, 0);
    found(ack->search, owning->topic, owning->stamp);
    send_ack(ack);
}

static void on_refused(struct op *op)
{
    end(CONTAINER_OF(op, struct id_ack, op), op->status);
}

void owners_refuse(struct owners *o, struct id_ack *ack, enum status status)
{
    ack->owners = o;
    ack->search = NULL;
    ack->op = (struct op){.verb = OP_ACK, .on_done = on_refused};
    core_refuse(o->core, &ack->op, status);
}

/* ---- finding ---- */

void owners_refuse_find(struct owners *o, struct id_find *find, enum status status)
{
    find->owners = o;
    find->search = NULL;
    find->status = status;
    later_add(&o->told, &find->link);
}

static void tell_found(struct later *later, struct list *link)
{
    struct owners *o = CONTAINER_OF(later, struct owners, told);
    struct id_find *find = CONTAINER_OF(link, struct id_find, link);

    find->on_done(find);
    core_note_end(o->core);
}

/* ---- life ---- */

void owners_init(struct owners *o, struct core *core)
{
    *o = (struct owners){.core = core};
    list_init(&o->oldest);
    later_init(&o->told, core->timers, tell_found);
}

bool owners_are_idle(const struct owners *o)
{
    return later_is_idle(&o->told);
}

void owners_fini(struct owners *o)
{
    later_fini(&o->told);
    while (o->count)
        forget_oldest(o);
}
