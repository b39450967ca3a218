#include "node/queue/waiters.h"

#include <assert.h>

#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/hash.h"
#include "node/queue/waiting.h"

#define TRUST_MS 1000 /* how long a topic that was found empty is not asked again */

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
        struct topic *t = topic_get(w, pop->topics[i]);
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
            topic_serve(pop->entries[i].topic);
    }
}

static void take_in(struct waiters *w, struct pop *pop)
{
    pop->waiters = w;
    pop->entries = NULL;
    pop->entry_count = 0;
    pop->account = NULL;
    pop->taking = NULL;
    pop->may_wait = false;
    pop->is_claimed = false;
    pop->is_patient = false;
    pop->last_error = STATUS_OK;
    pop->since_mono_ms = timers_now(w->core->timers);
    timer_init(&pop->timer, consumer_on_time_over);
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
        consumer_leave(victim);
        consumer_end_later(
            w, victim, kind == PLACE_WAITING ? STATUS_TOO_MANY_WAITERS : STATUS_TOO_MANY_POPS);
    }
    places_take(&w->places, pop, kind, most);
    return true;
}

/* ---- one job by its id ---- */

/* The names are copied: the consumer may leave before the answer comes. */
struct taking {
    struct op op;
    struct waiters *waiters;
    struct pop *pop; /* NULL: it has left */
    char text[];
};

static void on_taken(struct op *op)
{
    struct taking *taking = CONTAINER_OF(op, struct taking, op);
    struct waiters *w = taking->waiters;
    struct pop *pop = taking->pop;

    if (pop) {
        pop->taking = NULL;
        list_remove(&pop->link);
    }
    if (op->status == STATUS_OK && pop)
        consumer_finish(pop, pop->topics[0], op, op->out.pop.jobs, 1);
    else if (op->status == STATUS_OK)
        deliveries_return(w->deliveries,
                          delivery_new(w->deliveries, op, op->out.pop.jobs, 1, NULL));
    else if (pop)
        consumer_end_later(w, pop, op->status);
    free(taking);
}

static void take(struct waiters *w, struct pop *pop)
{
    struct bytes topic = pop->topics[0], id = pop->take_id;
    struct taking *taking = must(calloc(1, sizeof(*taking) + topic.len + id.len));
    char *text = taking->text;

    taking->waiters = w;
    taking->pop = pop;
    taking->op = (struct op){.verb = OP_TAKE,
                             .on_done = on_taken,
                             .is_alone = pop->is_alone,
                             .topic = text_put(&text, topic),
                             .id = text_put(&text, id)};
    taking->op.bucket = core_bucket_of(w->core, taking->op.topic);
    taking->op.in.pop.count = 1;
    taking->op.in.pop.id_only = pop->id_only;
    taking->op.in.pop.is_owned = pop->is_owned;
    pop->taking = taking;
    list_append(&w->waiting, &pop->link);
    core_send(w->core, &taking->op);
}

void waiters_add(struct waiters *w, struct pop *pop)
{
    take_in(w, pop);
    if (pop->take_id.len) {
        take(w, pop);
        return;
    }
    pop->may_wait = pop->wait_ms > 0 && find_places(w, pop, PLACE_WAITING);
    if (!pop->may_wait && !find_places(w, pop, PLACE_ASKING)) {
        consumer_end_later(w, pop, STATUS_TOO_MANY_POPS);
        return;
    }
    list_append(&w->waiting, &pop->link);
    add_entries(w, pop);
    if (pop->may_wait) {
        pop->is_patient = true;
        timer_arm(w->core->timers, &pop->timer, pop->wait_ms);
    }
    spread_news(pop);
    consumer_serve(pop);
}

void waiters_refuse(struct waiters *w, struct pop *pop, enum status status)
{
    take_in(w, pop);
    consumer_end_later(w, pop, status);
}

void queue_pop_cancel(struct pop *pop)
{
    if (pop->taking) {
        pop->taking->pop = NULL;
        core_abandon(pop->waiters->core, &pop->taking->op);
        pop->taking = NULL;
        list_remove(&pop->link);
        consumer_end_later(pop->waiters, pop, STATUS_CANCELLED);
    } else if (pop->entries) {
        consumer_leave(pop);
        consumer_end_later(pop->waiters, pop, STATUS_CANCELLED);
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
    struct topic *t = topic_find(w, topic);

    if (!t)
        return;
    t->is_dirty = true;
    topic_serve(t);
}

static bool is_of_others(const struct topic *t, const char *marks)
{
    return marks && marks[share_of(t->name)] == SHARE_OTHERS;
}

unsigned waiters_carry(struct waiters *w, unsigned bucket, const char *marks, struct op **pops)
{
    unsigned count = 0, left = OP_ITEMS_MAX;

    if (w->by_bucket[bucket].count > OP_SCAN_POPS_MAX)
        return 0;
    LIST_EACH (link, &w->by_bucket[bucket].topics) {
        struct topic *t = CONTAINER_OF(link, struct topic, of_bucket);
        struct op *pop = is_of_others(t, marks) ? NULL : topic_carry(t, left);

        if (!pop)
            continue;
        pops[count++] = pop;
        left -= pop->in.pop.count;
        if (left == 0)
            break;
    }
    return count;
}

void waiters_wake_all(struct waiters *w)
{
    struct topic *t, *next;

    HASH_ITER (hh, w->topics, t, next)
        t->is_dirty = true;
    HASH_ITER (hh, w->topics, t, next)
        topic_serve(t);
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
            topic_go_without(t);
        else
            topic_serve(t);
    }
}

static void on_retry(struct timer *timer)
{
    struct waiters *w = CONTAINER_OF(timer, struct waiters, retry_timer);
    struct topic *t, *next;

    HASH_ITER (hh, w->topics, t, next)
        topic_serve(t);
}

void waiters_init(struct waiters *w, struct core *core, struct deliveries *deliveries,
                  struct ids *ids)
{
    *w = (struct waiters){.core = core, .deliveries = deliveries, .ids = ids};
    w->by_bucket = must(calloc(core->store->buckets, sizeof(*w->by_bucket)));
    for (unsigned i = 0; i < core->store->buckets; i++)
        list_init(&w->by_bucket[i].topics);
    list_init(&w->waiting);
    list_init(&w->released);
    later_init(&w->over, core->timers, consumer_on_end);
    timer_init(&w->retry_timer, on_retry);
}

void waiters_fini(struct waiters *w)
{
    assert(!w->topics && !w->places.accounts);
    later_fini(&w->over);
    timer_disarm(w->core->timers, &w->retry_timer);
    free(w->by_bucket);
}
