#include "node/queue/waiting.h"

#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/ids.h"

#define RETRY_MS    1000 /* after a pop that failed */
#define GRACE_MS    100
#define LATE_MS     500 /* wait for an answer in flight when a consumer's time is over */
#define REACH_FIRST 2   /* consumers that are claimed for the first pop */

/* ---- topics ---- */

struct topic *topic_find(struct waiters *w, struct bytes name)
{
    struct topic *t;

    HASH_FIND(hh, w->topics, name.at, name.len, t);
    return t;
}

struct topic *topic_get(struct waiters *w, struct bytes name)
{
    struct topic *t = topic_find(w, name);

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

void consumer_leave(struct pop *pop)
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

void consumer_end_later(struct waiters *w, struct pop *pop, enum status status)
{
    pop->status = status;
    later_add(&w->over, &pop->link);
}

void consumer_on_end(struct later *later, struct list *link)
{
    struct waiters *w = CONTAINER_OF(later, struct waiters, over);
    struct pop *pop = CONTAINER_OF(link, struct pop, link);

    call_back(w, pop, pop->status);
    core_note_end(w->core);
}

/* May it end without a job? Not while it has time, or a topic it has not tried. For a consumer
 * nobody pops for now. */
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

    consumer_leave(pop);
    consumer_end_later(pop->waiters, pop,
                       pop->last_error != STATUS_OK ? pop->last_error : empty);
}

void consumer_on_time_over(struct timer *timer)
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

void consumer_finish(struct pop *pop, struct bytes topic, const struct op *op,
                     const struct job *jobs, unsigned count)
{
    struct waiters *w = pop->waiters;

    pop->topic = topic;
    pop->jobs = jobs;
    pop->job_count = count;
    pop->now_ms = op->now_ms;
    pop->delivery = delivery_new(w->deliveries, op, jobs, count, pop);
    if (pop->id_only)
        ids_add(w->ids, pop, topic, jobs, count);
    consumer_leave(pop);
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
        consumer_serve(CONTAINER_OF(link, struct entry, blocked)->pop);
    w->is_releasing = false;
}

/* Does the pop go into one operation with those claimed so far, which want `wanted` jobs? */
static bool fits(const struct pop *pop, const struct op *op, unsigned wanted, unsigned most)
{
    return wanted + pop->count <= most &&
           (wanted == 0 ||
            (pop->id_only == op->in.pop.id_only && pop->is_owned == op->in.pop.is_owned));
}

/* May a scan bring a pop for the consumer? Not where it prefers another topic of the bucket:
 * both may become due by that scan. Nor for an owner: a scan writes no notes. Nor, with other
 * topics, where a part of the store may hang alone: the scan would keep the consumer from the
 * others. */
static bool may_be_carried(const struct entry *entry)
{
    const struct topic *t = entry->topic;

    if (entry->pop->is_owned)
        return false;
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
    t->op.in.pop.is_owned = entry->pop->is_owned;
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
        consumer_finish(entry->pop, entry->name, &t->op, jobs + given - share, share);
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
        consumer_serve(pop);
    }
}

/* The topic is known to be empty, or nobody can ask it. Consumers that do not wait, and were
 * busy elsewhere or further behind in the line when it was asked, need not ask again. */
static void dismiss_those_not_waiting(struct topic *t, enum status status)
{
    LIST_EACH_SAFE (link, &t->free) {
        struct entry *entry = CONTAINER_OF(link, struct entry, link);

        if (entry->pop->may_wait)
            continue;
        entry->was_tried = true;
        if (status != STATUS_OK)
            entry->pop->last_error = status;
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
    if (t->not_waiting && (!t->is_dirty || op->status == STATUS_UNAVAILABLE))
        dismiss_those_not_waiting(t, op->status);
    t->is_popping = false;
    if (is_ok && t->is_dirty)
        topic_serve(t);
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

void topic_serve(struct topic *t)
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

/* For a consumer that has just become free, at a topic whose other consumers have been
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
        topic_serve(entry->topic);
    return !better;
}

/* A topic that blocks the consumer at one does so at all lesser ones. */
void consumer_serve(struct pop *pop)
{
    for (unsigned i = 0; i < pop->entry_count && serve_entry(&pop->entries[i]); i++)
        ;
}

struct op *topic_carry(struct topic *t, unsigned most)
{
    unsigned wanted;

    if (t->is_dirty || t->is_popping)
        return NULL;
    wanted = claim(t, most, true);
    if (!wanted)
        return NULL;
    begin_pop(t, wanted, on_carried);
    core_carry(t->waiters->core, &t->op);
    return &t->op;
}

static bool can_all_wait(const struct list *entries)
{
    LIST_EACH (link, entries) {
        if (!CONTAINER_OF(link, struct entry, link)->pop->may_wait)
            return false;
    }
    return true;
}

void topic_go_without(struct topic *t)
{
    if (t->is_popping && can_all_wait(&t->claimed))
        core_abandon(t->waiters->core, &t->op);
    release_blocked(t);
}
