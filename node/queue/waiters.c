#include "node/queue/waiters.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/hash.h"
#include "node/queue/owners.h"

#define RETRY_MS    1000 /* after a pop that failed */
#define TRUST_MS    1000 /* how long a topic that was found empty is not asked again */
#define GRACE_MS    100
#define LATE_MS     500 /* wait for an answer in flight when a consumer's time is over */
#define REACH_FIRST 2   /* consumers that are claimed for the first pop */

/* A topic that somebody waits for. It exists while it has an entry or a pop in flight. */
struct topic {
    UT_hash_handle hh;
    struct waiters *waiters;
    struct list free;      /* entries of consumers that no pop is for here */
    struct list claimed;   /* entries that the pop in flight is for, first come first */
    unsigned not_waiting;  /* entries of consumers that do not wait */
    struct list blocks;    /* entries here of consumers that it keeps from a lesser topic */
    unsigned reach;        /* consumers to claim at once: doubled while there is plenty */
    int64_t asked_mono_ms; /* when the last pop was made */
    unsigned pops;         /* that were made */
    bool is_dirty;
    bool has_failed; /* its last pop failed: it blocks nobody until the next try */
    bool is_popping;
    struct list of_bucket; /* in waiters.by_bucket */
    struct op op;          /* the pop in flight */
    unsigned bucket;
    struct bytes name;
    char text[];
};

/* One consumer at one topic. */
struct entry {
    struct list link;    /* in the topic's free or claimed */
    struct list blocked; /* in the topic's blocks, or in waiters.released */
    struct topic *topic;
    struct pop *pop;
    struct bytes name; /* the topic's, as the consumer gave it */
    bool was_tried;    /* a pop that was made for it brought it nothing */
    bool is_news;      /* the topic was thought to be empty before this one came */
    unsigned flight;   /* the pop that was in flight when it came, by topic.pops; 0: none was */
};

static void serve_topic(struct topic *t);
static void serve_consumer(struct pop *pop);

/* ---- topics ---- */

static struct topic *find_topic(struct waiters *w, struct bytes name)
{
    struct topic *t;

    HASH_FIND(hh, w->topics, name.at, name.len, t);
    return t;
}

static struct topic *get_topic(struct waiters *w, struct bytes name)
{
    struct topic *t = find_topic(w, name);

    if (t)
        return t;
    t = must(calloc(1, sizeof(*t) + name.len));
    t->waiters = w;
    t->is_dirty = true;
    t->reach = REACH_FIRST;
    list_init(&t->free);
    list_init(&t->claimed);
    list_init(&t->blocks);
    memcpy(t->text, name.at, name.len);
    t->name = bytes_of(t->text, name.len);
    t->bucket = core_bucket_of(w->core, t->name);
    list_append(&w->by_bucket[t->bucket].topics, &t->of_bucket);
    w->by_bucket[t->bucket].count++;
    HASH_ADD_KEYPTR(hh, w->topics, t->name.at, t->name.len, t);
    return t;
}

static void free_if_unused(struct topic *t)
{
    if (t->is_popping || !list_is_empty(&t->free) || !list_is_empty(&t->claimed))
        return;
    HASH_DEL(t->waiters->topics, t);
    list_remove(&t->of_bucket);
    t->waiters->by_bucket[t->bucket].count--;
    free(t);
}

/* ---- consumers leave ---- */

/* A pop that waits in the store, and has lost all its consumers, is abandoned. */
static void remove_entry(struct waiters *w, struct entry *entry)
{
    struct topic *t = entry->topic;

    list_remove(&entry->link);
    list_remove(&entry->blocked);
    t->not_waiting -= !entry->pop->may_wait;
    if (t->is_popping && list_is_empty(&t->claimed))
        core_abandon(w->core, &t->op);
    free_if_unused(t);
}

static void remove_entries(struct pop *pop)
{
    for (unsigned i = 0; i < pop->entry_count; i++)
        remove_entry(pop->waiters, &pop->entries[i]);
    free(pop->entries);
    pop->entries = NULL;
    places_leave(&pop->waiters->places, pop);
    list_remove(&pop->link);
    timer_disarm(pop->waiters->core->timers, &pop->timer);
}

static void call_back(struct waiters *w, struct pop *pop, enum status status)
{
    pop->status = status;
    w->count--;
    w->core->stats.waiting--;
    pop->on_done(pop);
}

static void end_later(struct waiters *w, struct pop *pop, enum status status)
{
    pop->status = status;
    later_add(&w->over, &pop->link);
}

static void tell_over(struct later *later, struct list *link)
{
    struct waiters *w = CONTAINER_OF(later, struct waiters, over);
    struct pop *pop = CONTAINER_OF(link, struct pop, link);

    call_back(w, pop, pop->status);
    core_note_end(w->core);
}

/* May the pop end without a job? Not while it has time, or a topic it has not tried. For a
 * consumer nobody pops for now. */
static bool is_finished(const struct pop *pop)
{
    if (pop->is_patient)
        return false;
    for (unsigned i = 0; i < pop->entry_count; i++) {
        if (!pop->entries[i].was_tried && !pop->may_wait)
            return false;
    }
    return true;
}

/* Called back in a later turn. */
static void finish_empty(struct pop *pop)
{
    enum status empty =
        pop->wait_ms > 0 && !pop->may_wait ? STATUS_TOO_MANY_WAITERS : STATUS_NOT_FOUND;

    remove_entries(pop);
    end_later(pop->waiters, pop, pop->last_error != STATUS_OK ? pop->last_error : empty);
}

static void on_time_over(struct timer *timer)
{
    struct pop *pop = CONTAINER_OF(timer, struct pop, timer);
    bool is_over = !pop->is_claimed || !pop->is_patient;

    pop->is_patient = false;
    if (is_over)
        finish_empty(pop);
    else /* the answer of the pop in flight decides, if the store is there */
        timer_arm(pop->waiters->core->timers, &pop->timer, LATE_MS);
}

/* The answer had no room for this consumer's job: a consumer whose time is over waits a moment
 * more. */
static void give_grace(struct pop *pop)
{
    if (pop->is_patient || !pop->may_wait)
        return;
    pop->is_patient = true;
    timer_arm(pop->waiters->core->timers, &pop->timer, GRACE_MS);
}

/* The jobs of the pop that has just been answered; calls back. */
static void finish_with(struct pop *pop, struct bytes topic, const struct op *op,
                        const struct job *jobs, unsigned count)
{
    struct waiters *w = pop->waiters;

    pop->topic = topic;
    pop->jobs = jobs;
    pop->job_count = count;
    pop->delivery = delivery_new(w->deliveries, op, jobs, count, pop);
    if (pop->id_only)
        owners_add(w->owners, pop->holder, topic, jobs, count);
    remove_entries(pop);
    call_back(w, pop, STATUS_OK);
}

/* ---- whom to pop for ---- */

/* The store holds pops for a bucket that is out of reach. Only consumers that do not wait are
 * sent there; one that can wait waits here, and is free for other topics. */
static bool is_out_of_reach(const struct topic *t, const struct pop *pop)
{
    return pop->may_wait && core_is_away(t->waiters->core, t->bucket);
}

/* Is it not known whether the topic has a job for the consumer? Nor is it while the pop is in
 * flight that was when it came. */
static bool is_unknown(const struct entry *entry)
{
    const struct topic *t = entry->topic;

    return t->is_dirty ? !t->has_failed : t->is_popping && entry->flight == t->pops;
}

/* A topic that the consumer prefers, and that may have a job for it: first that must be known.
 * A consumer that does not wait asks each topic once. */
static struct entry *find_better(const struct entry *entry)
{
    for (struct entry *better = entry->pop->entries; better < entry; better++) {
        if (is_unknown(better) && !is_out_of_reach(better->topic, entry->pop) &&
            (entry->pop->may_wait || !better->was_tried))
            return better;
    }
    return NULL;
}

static void block(struct entry *better)
{
    list_remove(&better->blocked);
    list_append(&better->topic->blocks, &better->blocked);
}

/* One loop instead of a recursion, where topics release each other's consumers. */
static void release_blocked(struct topic *t)
{
    struct waiters *w = t->waiters;
    struct list *link;

    list_append_all(&w->released, &t->blocks);
    if (w->is_releasing)
        return;
    w->is_releasing = true;
    while ((link = list_pop(&w->released)))
        serve_consumer(CONTAINER_OF(link, struct entry, blocked)->pop);
    w->is_releasing = false;
}

/* Does the pop go into one operation with those claimed so far, which want `wanted` jobs? */
static bool fits(const struct pop *pop, const struct op *op, unsigned wanted, unsigned most)
{
    return wanted + pop->count <= most && (wanted == 0 || pop->id_only == op->in.pop.id_only);
}

/* May a scan bring a pop for the consumer? Not where it prefers another topic of the bucket:
 * both may become due by that scan. Nor, with other topics, where a part of the store may hang
 * alone: the scan would keep the consumer from the others. */
static bool may_be_carried(const struct entry *entry)
{
    const struct topic *t = entry->topic;

    if (entry->pop->entry_count > 1 && t->waiters->core->store->has_parts)
        return false;
    for (struct entry *better = entry->pop->entries; better < entry; better++) {
        if (better->topic->bucket == t->bucket)
            return false;
    }
    return true;
}

static void take_entry(struct topic *t, struct entry *entry, bool is_first)
{
    t->op.in.pop.id_only = entry->pop->id_only;
    t->op.is_alone = entry->pop->is_alone && (t->op.is_alone || is_first);
    entry->pop->is_claimed = true;
    list_remove(&entry->link);
    list_append(&t->claimed, &entry->link);
}

/* Moves the entries to pop for to `claimed`; returns how many jobs they want together.
 * `carries`: for a scan, with `most` jobs. Then nobody is passed over who is free: with each
 * scan somebody else might get the only job. */
static unsigned claim(struct topic *t, unsigned most, bool carries)
{
    unsigned wanted = 0, claimed = 0;

    LIST_EACH_SAFE (link, &t->free) {
        struct entry *entry = CONTAINER_OF(link, struct entry, link);
        struct entry *better;
        bool does_fit = fits(entry->pop, &t->op, wanted, most);

        if (entry->pop->is_claimed || is_out_of_reach(t, entry->pop))
            continue;
        if (carries && !(does_fit && may_be_carried(entry)))
            break;
        better = does_fit ? find_better(entry) : NULL;
        if (better)
            block(better);
        if (better || !does_fit)
            continue;
        take_entry(t, entry, wanted == 0);
        wanted += entry->pop->count;
        if (wanted == most || ++claimed == t->reach)
            break;
    }
    return wanted;
}

/* ---- what comes back ---- */

/* Hands the jobs out in the order in which the consumers came. Each on_done may add and
 * cancel consumers; the topic itself stays, since it is still popping. Returns how many
 * jobs found a taker. */
static unsigned give_all(struct topic *t)
{
    const struct job *jobs = t->op.out.pop.jobs;
    unsigned count = t->op.out.pop.count, given = 0;
    struct list *link;

    while (given < count && (link = list_first(&t->claimed))) {
        struct entry *entry = CONTAINER_OF(link, struct entry, link);
        unsigned share = entry->pop->count < count - given ? entry->pop->count : count - given;

        given += share;
        finish_with(entry->pop, entry->name, &t->op, jobs + given - share, share);
    }
    return given;
}

static void return_rest(struct topic *t, unsigned given)
{
    struct deliveries *ds = t->waiters->deliveries;
    const struct op *op = &t->op;

    if (given == op->out.pop.count)
        return;
    deliveries_return(
        ds, delivery_new(ds, op, op->out.pop.jobs + given, op->out.pop.count - given, NULL));
}

/* Back to their old places in the line; returns how many. Where the answer had no room for more
 * jobs, consumers that got none were not tried: they are to be asked for again. */
static unsigned unclaim_all(struct topic *t, bool has_more, enum status status)
{
    unsigned count = 0;

    for (; !list_is_empty(&t->claimed); count++) {
        struct entry *entry = CONTAINER_OF(t->claimed.prev, struct entry, link);

        entry->was_tried |= !has_more;
        if (has_more)
            give_grace(entry->pop);
        entry->pop->is_claimed = false;
        entry->pop->last_error = status;
        list_remove(&entry->link);
        list_prepend(&t->free, &entry->link);
    }
    return count;
}

/* The first `count` consumers in the line got nothing: their other topics are served, or they
 * end. */
static void move_on(struct topic *t, unsigned count)
{
    struct list *link = t->free.next;

    for (; count > 0; count--) {
        struct pop *pop = CONTAINER_OF(link, struct entry, link)->pop;

        link = link->next;
        if (is_finished(pop)) {
            finish_empty(pop);
            continue;
        }
        serve_consumer(pop);
    }
}

/* The topic is known to be empty. Consumers that do not wait, and were busy elsewhere when
 * it was asked, need not ask again. */
static void dismiss_those_not_waiting(struct topic *t)
{
    LIST_EACH_SAFE (link, &t->free) {
        struct entry *entry = CONTAINER_OF(link, struct entry, link);

        if (entry->pop->may_wait)
            continue;
        entry->was_tried = true;
        if (!entry->pop->is_claimed && is_finished(entry->pop))
            finish_empty(entry->pop);
    }
}

static void note_failure(struct topic *t)
{
    struct waiters *w = t->waiters;

    LOG_DEBUG("waiters", "pop from %.*s: %s", BYTES_ARG(t->name), status_text(t->op.status));
    t->is_dirty = true;
    t->has_failed = true;
    if (!timer_is_armed(&w->retry_timer))
        timer_arm(w->core->timers, &w->retry_timer, RETRY_MS);
}

static void note_plenty(struct topic *t)
{
    bool was_enough = t->op.out.pop.count >= t->op.in.pop.count;

    t->is_dirty |= t->op.out.pop.has_more;
    if (!was_enough || !t->op.out.pop.has_more)
        t->reach = REACH_FIRST;
    else if (t->reach < OP_ITEMS_MAX)
        t->reach *= 2;
}

static void on_popped(struct op *op)
{
    struct topic *t = CONTAINER_OF(op, struct topic, op);
    bool is_ok = op->status == STATUS_OK;
    bool has_more = is_ok && op->out.pop.has_more;

    if (is_ok) {
        note_plenty(t);
        return_rest(t, give_all(t));
    } else {
        note_failure(t);
    }
    move_on(t, unclaim_all(t, has_more, op->status));
    if (!t->is_dirty && t->not_waiting)
        dismiss_those_not_waiting(t);
    t->is_popping = false;
    if (is_ok && t->is_dirty)
        serve_topic(t);
    else
        release_blocked(t);
    free_if_unused(t);
}

/* A scan that failed is not the topic's failure. Where it may have run it may have made jobs
 * ready, too, and the topic is asked. */
static void on_carried(struct op *op)
{
    if (op->status != STATUS_OK) {
        op->out.pop.jobs = NULL;
        op->out.pop.count = 0;
        op->out.pop.has_more = op->status != STATUS_UNAVAILABLE && op->status != STATUS_FENCED;
        op->status = STATUS_OK;
    }
    on_popped(op);
}

static bool wants_to_pop(const struct topic *t)
{
    return t->is_dirty && !t->is_popping;
}

static void begin_pop(struct topic *t, unsigned wanted, void (*on_done)(struct op *op))
{
    t->is_popping = true;
    t->pops++;
    t->op.verb = OP_POP;
    t->op.topic = t->name;
    t->op.bucket = t->bucket;
    t->op.in.pop.count = wanted;
    t->op.on_done = on_done;
}

/* The rule at the top of waiters.h: pops if the topic is dirty and a consumer is free, and
 * releases the consumers that it blocked. Calls nobody back. */
static void serve_topic(struct topic *t)
{
    unsigned wanted;

    if (!wants_to_pop(t))
        return;
    wanted = claim(t, OP_ITEMS_MAX, false);
    if (!wanted)
        return;
    t->asked_mono_ms = timers_now(t->waiters->core->timers);
    t->is_dirty = false;
    t->has_failed = false;
    begin_pop(t, wanted, on_popped);
    core_send(t->waiters->core, &t->op);
    release_blocked(t);
}

/* The same for a consumer that has just become free, at a topic whose other consumers have been
 * looked at since it turned dirty: looking at all of them for each of them would take the
 * square of their number. False: a topic that the consumer prefers blocks it. */
static bool serve_entry(struct entry *entry)
{
    struct entry *better;

    if (!wants_to_pop(entry->topic) || entry->pop->is_claimed)
        return true;
    better = find_better(entry);
    if (better)
        block(better);
    else
        serve_topic(entry->topic);
    return !better;
}

/* At all its topics. A topic that blocks the consumer at one does so at all lesser ones. */
static void serve_consumer(struct pop *pop)
{
    for (unsigned i = 0; i < pop->entry_count && serve_entry(&pop->entries[i]); i++)
        ;
}

static bool can_all_wait(const struct list *entries)
{
    LIST_EACH (link, entries) {
        if (!CONTAINER_OF(link, struct entry, link)->pop->may_wait)
            return false;
    }
    return true;
}

/* The topic's bucket is out of reach: the consumers it blocked are released, and a pop whose
 * consumers can all wait is abandoned, because the store would hold it until the bucket is
 * back. */
static void go_without(struct topic *t)
{
    if (t->is_popping && can_all_wait(&t->claimed))
        core_abandon(t->waiters->core, &t->op);
    release_blocked(t);
}

/* ---- what the queue calls ---- */

static bool has_entry_at(const struct pop *pop, const struct topic *t)
{
    for (unsigned i = 0; i < pop->entry_count; i++) {
        if (pop->entries[i].topic == t)
            return true;
    }
    return false;
}

/* A topic that was found empty is empty until its news are heard. But one question a second
 * costs nothing, and guards against lost news. */
static bool is_in_doubt(const struct topic *t, const struct pop *pop)
{
    return !pop->may_wait || pop->since_mono_ms >= t->asked_mono_ms + TRUST_MS;
}

static void add_entries(struct waiters *w, struct pop *pop)
{
    pop->entries = must(calloc(pop->topic_count, sizeof(*pop->entries)));
    pop->entry_count = 0;
    for (unsigned i = 0; i < pop->topic_count; i++) {
        struct topic *t = get_topic(w, pop->topics[i]);
        struct entry *entry = &pop->entries[pop->entry_count];

        if (has_entry_at(pop, t)) /* it named the topic twice */
            continue;
        *entry = (struct entry){.topic = t,
                                .pop = pop,
                                .name = pop->topics[i],
                                .flight = t->is_popping ? t->pops : 0};
        list_init(&entry->blocked);
        if (is_in_doubt(t, pop)) {
            entry->is_news = !t->is_dirty;
            t->is_dirty = true;
        }
        t->not_waiting += !pop->may_wait;
        list_append(&t->free, &entry->link);
        pop->entry_count++;
    }
}

/* News of a topic concern all its consumers. */
static void spread_news(struct pop *pop)
{
    for (unsigned i = 0; i < pop->entry_count; i++) {
        if (pop->entries[i].is_news)
            serve_topic(pop->entries[i].topic);
    }
}

static void take_in(struct waiters *w, struct pop *pop)
{
    pop->waiters = w;
    pop->entries = NULL;
    pop->account = NULL;
    pop->may_wait = false;
    pop->is_claimed = false;
    pop->is_patient = false;
    pop->last_error = STATUS_OK;
    pop->since_mono_ms = timers_now(w->core->timers);
    timer_init(&pop->timer, on_time_over);
    w->count++;
    w->core->stats.waiting++;
}

/* ---- places ---- */

/* A pop that gives way is like one that has left: a job on its way to it goes back. */
static bool find_places(struct waiters *w, struct pop *pop, enum place_kind kind)
{
    unsigned most = kind == PLACE_WAITING ? w->core->options.waiting_max : QUEUE_ASKING_MAX;
    struct pop *victim;

    if (!places_can_be_had(&w->places, pop, kind, most))
        return false;
    while ((victim = places_next_victim(&w->places, pop, kind, most))) {
        remove_entries(victim);
        end_later(w, victim,
                  kind == PLACE_WAITING ? STATUS_TOO_MANY_WAITERS : STATUS_TOO_MANY_POPS);
    }
    places_take(&w->places, pop, kind, most);
    return true;
}

void waiters_add(struct waiters *w, struct pop *pop)
{
    take_in(w, pop);
    pop->may_wait = pop->wait_ms > 0 && find_places(w, pop, PLACE_WAITING);
    if (!pop->may_wait && !find_places(w, pop, PLACE_ASKING)) {
        end_later(w, pop, STATUS_TOO_MANY_POPS);
        return;
    }
    list_append(&w->waiting, &pop->link);
    add_entries(w, pop);
    if (pop->may_wait) {
        pop->is_patient = true;
        timer_arm(w->core->timers, &pop->timer, pop->wait_ms);
    }
    spread_news(pop);
    serve_consumer(pop);
}

void waiters_refuse(struct waiters *w, struct pop *pop, enum status status)
{
    take_in(w, pop);
    end_later(w, pop, status);
}

void queue_pop_cancel(struct pop *pop)
{
    if (pop->entries) {
        remove_entries(pop);
        end_later(pop->waiters, pop, STATUS_CANCELLED);
    } else { /* on its way out already */
        pop->status = STATUS_CANCELLED;
    }
}

void waiters_cancel_all(struct waiters *w)
{
    struct list *link;

    while ((link = list_first(&w->waiting)))
        queue_pop_cancel(CONTAINER_OF(link, struct pop, link));
}

void waiters_wake(struct waiters *w, struct bytes topic)
{
    struct topic *t = find_topic(w, topic);

    if (!t)
        return;
    t->is_dirty = true;
    serve_topic(t);
}

static bool is_of_others(const struct topic *t, const char *marks)
{
    return marks && marks[share_of(t->name)] == SHARE_OTHERS;
}

/* A dirty topic is asked by itself, as soon as it can be. */
unsigned waiters_carry(struct waiters *w, unsigned bucket, const char *marks, struct op **pops)
{
    unsigned count = 0, left = OP_ITEMS_MAX;

    if (w->by_bucket[bucket].count > OP_SCAN_POPS_MAX)
        return 0;
    LIST_EACH (link, &w->by_bucket[bucket].topics) {
        struct topic *t = CONTAINER_OF(link, struct topic, of_bucket);
        unsigned wanted;

        if (t->is_dirty || t->is_popping || left == 0 || is_of_others(t, marks))
            continue;
        wanted = claim(t, left, true);
        if (!wanted)
            continue;
        left -= wanted;
        begin_pop(t, wanted, on_carried);
        pops[count++] = &t->op;
        core_carry(w->core, &t->op);
    }
    return count;
}

void waiters_wake_all(struct waiters *w)
{
    struct topic *t, *next;

    HASH_ITER (hh, w->topics, t, next)
        t->is_dirty = true;
    HASH_ITER (hh, w->topics, t, next)
        serve_topic(t);
}

void waiters_set_bucket(struct waiters *w, unsigned bucket)
{
    bool is_away = core_is_away(w->core, bucket);
    struct topic *t, *next;

    HASH_ITER (hh, w->topics, t, next) {
        if (t->bucket != bucket)
            continue;
        t->is_dirty = true;
        if (is_away)
            go_without(t);
        else
            serve_topic(t);
    }
}

static void on_retry(struct timer *timer)
{
    struct waiters *w = CONTAINER_OF(timer, struct waiters, retry_timer);
    struct topic *t, *next;

    HASH_ITER (hh, w->topics, t, next)
        serve_topic(t);
}

void waiters_init(struct waiters *w, struct core *core, struct deliveries *deliveries,
                  struct owners *owners)
{
    *w = (struct waiters){.core = core, .deliveries = deliveries, .owners = owners};
    w->by_bucket = must(calloc(core->store->buckets, sizeof(*w->by_bucket)));
    for (unsigned i = 0; i < core->store->buckets; i++)
        list_init(&w->by_bucket[i].topics);
    list_init(&w->waiting);
    list_init(&w->released);
    later_init(&w->over, core->timers, tell_over);
    timer_init(&w->retry_timer, on_retry);
}

void waiters_fini(struct waiters *w)
{
    assert(!w->topics && !w->places.accounts);
    later_fini(&w->over);
    timer_disarm(w->core->timers, &w->retry_timer);
    free(w->by_bucket);
}
