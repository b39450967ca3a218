#include "node/queue/core.h"
#include "node/queue/deliveries.h"
#include "node/queue/owners.h"
#include "node/queue/waiting.h"

#define GRACE_MS 100
#define LATE_MS  500 /* wait for an answer in flight when a consumer's time is over */

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

void consumer_tell_over(struct later *later, struct list *link)
{
    struct waiters *w = CONTAINER_OF(later, struct waiters, over);
    struct pop *pop = CONTAINER_OF(link, struct pop, link);

    call_back(w, pop, pop->status);
    core_note_end(w->core);
}

bool consumer_is_finished(const struct pop *pop)
{
    if (pop->is_patient)
        return false;
    for (unsigned i = 0; i < pop->entry_count; i++) {
        if (!pop->entries[i].was_tried && !pop->may_wait)
            return false;
    }
    return true;
}

void consumer_finish_empty(struct pop *pop)
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
        consumer_finish_empty(pop);
    else /* the answer of the pop in flight decides, if the store is there */
        timer_arm(pop->waiters->core->timers, &pop->timer, LATE_MS);
}

void consumer_give_grace(struct pop *pop)
{
    if (pop->is_patient || !pop->may_wait)
        return;
    pop->is_patient = true;
    timer_arm(pop->waiters->core->timers, &pop->timer, GRACE_MS);
}

void consumer_finish_with(struct pop *pop, struct bytes topic, const struct op *op,
                          const struct job *jobs, unsigned count)
{
    struct waiters *w = pop->waiters;

    pop->topic = topic;
    pop->jobs = jobs;
    pop->job_count = count;
    pop->delivery = delivery_new(w->deliveries, op, jobs, count, pop);
    if (pop->id_only)
        owners_add(w->owners, pop->holder, topic, jobs, count);
    consumer_leave(pop);
    call_back(w, pop, STATUS_OK);
}
