#include "node/queue/waiters.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "node/queue/deliveries.h"
#include "node/queue/hash.h"
#include "node/queue/owners.h"
#include "node/queue/queue.h"
#include "node/queue/topic.h"

/* An address that has places; freed with the last of them. */
struct account {
    UT_hash_handle hh;
    unsigned used[PLACE_KINDS];    /* topics */
    struct list pops[PLACE_KINDS]; /* first come first */
    unsigned len;
    char address[];
};

static struct account *find(const struct places *ps, struct bytes address)
{
    const char *at = address.len ? address.at : ""; /* an unknown address counts as one, too */
    struct account *a;

    HASH_FIND(hh, ps->accounts, at, address.len, a);
    return a;
}

static struct account *get(struct places *ps, struct bytes address)
{
    struct account *a = find(ps, address);

    if (a)
        return a;
    a = calloc(1, sizeof(*a) + address.len);
    if (!a)
        abort();
    for (unsigned i = 0; i < PLACE_KINDS; i++)
        list_init(&a->pops[i]);
    a->len = (unsigned)address.len;
    if (address.len)
        memcpy(a->address, address.at, address.len);
    HASH_ADD(hh, ps->accounts, address, a->len, a);
    return a;
}

/* The limit may have changed meanwhile: `max`, the one of now, counts. */
static struct account *find_largest_holder(const struct places *ps, enum place_kind kind,
                                           unsigned max)
{
    struct account *largest = ps->largest[kind];

    return largest && largest->used[kind] > max / 2 ? largest : NULL;
}

static unsigned free_of(const struct places *ps, enum place_kind kind, unsigned max)
{
    return ps->used[kind] < max ? max - ps->used[kind] : 0;
}

/* Could the pop have its places out of `max`, if others gave way? */
static bool places_can_be_had(struct places *ps, const struct pop *pop, enum place_kind kind,
                              unsigned max)
{
    const struct account *largest = find_largest_holder(ps, kind, max),
                         *own = find(ps, pop->address);
    unsigned wanted = pop->topic_count, left = free_of(ps, kind, max);

    if (wanted <= left)
        return true;
    if (!largest || (own ? own->used[kind] : 0) + wanted > max / 2)
        return false;
    return wanted + ps->used[kind] <= max + largest->used[kind] - max / 2;
}

/* The next pop to give way; NULL: there is room. Only if places_can_be_had(). */
static struct pop *places_next_victim(struct places *ps, const struct pop *pop,
                                      enum place_kind kind, unsigned max)
{
    struct account *largest = find_largest_holder(ps, kind, max);

    if (pop->topic_count <= free_of(ps, kind, max) || !largest)
        return NULL;
    return CONTAINER_OF(list_first(&largest->pops[kind]), struct pop, place);
}

/* places_take and places_leave; the latter is harmless for a pop without places. */
static void places_take(struct places *ps, struct pop *pop, enum place_kind kind, unsigned max)
{
    struct account *a = get(ps, pop->address);

    pop->account = a;
    pop->place_kind = kind;
    list_append(&a->pops[kind], &pop->place);
    a->used[kind] += pop->topic_count;
    ps->used[kind] += pop->topic_count;
    if (a->used[kind] > max / 2)
        ps->largest[kind] = a;
}

static void free_if_unused(struct places *ps, struct account *a)
{
    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        if (a->used[i])
            return;
    }
    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        if (ps->largest[i] == a)
            ps->largest[i] = NULL;
    }
    HASH_DEL(ps->accounts, a);
    free(a);
}

static void places_leave(struct places *ps, struct pop *pop)
{
    struct account *a = pop->account;

    if (!a)
        return;
    list_remove(&pop->place);
    a->used[pop->place_kind] -= pop->topic_count;
    ps->used[pop->place_kind] -= pop->topic_count;
    pop->account = NULL;
    free_if_unused(ps, a);
}

/* ---- waiters ---- */

#define TRUST_MS 1000
#define GRACE_MS 100
#define LATE_MS  500 /* wait for an answer in flight when a consumer's time is over */

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
    topic_free_if_unused(t);
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
    w->core->on_end(w->core);
}

/* For a consumer nobody pops for now. */
bool waiter_is_finished(const struct pop *pop)
{
    if (pop->is_patient)
        return false;
    for (unsigned i = 0; i < pop->entry_count; i++) {
        if (!pop->entries[i].was_tried && !pop->may_wait)
            return false;
    }
    return true;
}

void waiter_finish_empty(struct pop *pop)
{
    enum status empty =
        pop->wait_ms > 0 && !pop->may_wait ? STATUS_TOO_MANY_WAITERS : STATUS_NOT_FOUND;

    remove_entries(pop);
    end_later(pop->waiters, pop, pop->trouble != STATUS_OK ? pop->trouble : empty);
}

static void on_time_over(struct timer *timer)
{
    struct pop *pop = CONTAINER_OF(timer, struct pop, timer);

    bool is_over = !pop->is_claimed || !pop->is_patient;

    pop->is_patient = false;
    if (is_over)
        waiter_finish_empty(pop);
    else /* the answer of the pop in flight decides, if the store is there */
        timer_arm(pop->waiters->core->timers, &pop->timer, LATE_MS);
}

void waiter_give_grace(struct pop *pop)
{
    if (pop->is_patient || !pop->may_wait)
        return;
    pop->is_patient = true;
    timer_arm(pop->waiters->core->timers, &pop->timer, GRACE_MS);
}

void waiter_finish_with(struct pop *pop, struct bytes topic, const struct op *op,
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

/* A topic that blocks the consumer at one topic does so at all lesser ones. */
void waiter_serve(struct pop *pop)
{
    for (unsigned i = 0; i < pop->entry_count && topic_serve_entry(&pop->entries[i]); i++)
        ;
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
    return !pop->may_wait || t->is_popping || pop->since_mono_ms >= t->asked_mono_ms + TRUST_MS;
}

static void add_entries(struct waiters *w, struct pop *pop)
{
    pop->entries = calloc(pop->topic_count, sizeof(*pop->entries));
    if (!pop->entries)
        abort();
    pop->entry_count = 0;
    for (unsigned i = 0; i < pop->topic_count; i++) {
        struct topic *t = topic_get(w, pop->topics[i]);
        struct entry *entry = &pop->entries[pop->entry_count];

        if (has_entry_at(pop, t)) /* it named the topic twice */
            continue;
        *entry = (struct entry){.topic = t, .pop = pop, .name = pop->topics[i]};
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
    pop->account = NULL;
    pop->may_wait = false;
    pop->is_claimed = false;
    pop->is_patient = false;
    pop->trouble = STATUS_OK;
    pop->since_mono_ms = timers_now(w->core->timers);
    timer_init(&pop->timer, on_time_over);
    w->count++;
    w->core->stats.waiting++;
}

/* ---- places ---- */

static unsigned most_of(const struct waiters *w, enum place_kind kind)
{
    return kind == PLACE_WAITING ? w->core->options.waiting_max : QUEUE_ASKING_MAX;
}

/* A pop that gives way is like one that has left: a job on its way to it goes back. */
static bool find_places(struct waiters *w, struct pop *pop, enum place_kind kind)
{
    unsigned most = most_of(w, kind);
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
    waiter_serve(pop);
}

void waiters_refuse(struct waiters *w, struct pop *pop, enum status status)
{
    take_in(w, pop);
    end_later(w, pop, status);
}

void waiters_cancel(struct waiters *w, struct pop *pop)
{
    if (pop->entries) {
        remove_entries(pop);
        end_later(w, pop, STATUS_CANCELLED);
    } else { /* on its way out already */
        pop->status = STATUS_CANCELLED;
    }
}

void waiters_cancel_all(struct waiters *w)
{
    struct list *link;

    while ((link = list_first(&w->waiting)))
        waiters_cancel(w, CONTAINER_OF(link, struct pop, link));
}

void waiters_wake(struct waiters *w, struct bytes topic)
{
    struct topic *t = topic_find(w, topic);

    if (!t)
        return;
    t->is_dirty = true;
    topic_serve(t);
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
                  struct owners *owners)
{
    *w = (struct waiters){.core = core, .deliveries = deliveries, .owners = owners};
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
}
