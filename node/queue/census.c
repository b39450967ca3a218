#include "node/queue/census.h"

#include "node/queue/core.h"
#include "node/queue/tally.h"

#define FRESH_MS 5000

const struct census *censuses_last(struct censuses *cs)
{
    if (!cs->last)
        return NULL;
    cs->last->sum.age_ms = timers_now(cs->core->timers) - cs->last_mono_ms;
    return &cs->last->sum;
}

void censuses_outdate(struct censuses *cs)
{
    cs->is_outdated = true;
    cs->is_walk_outdated = census_walk_is_under_way(&cs->walk);
}

/* ---- answering ---- */

static void answer(struct census_call *call, enum status status)
{
    struct censuses *cs = call->censuses;
    struct core *core = cs->core;

    list_remove(&call->link);
    timer_disarm(core->timers, &call->timer);
    call->status = status;
    call->last = censuses_last(cs);
    cs->count--;
    call->on_done(call);
    core->on_end(core);
}

static void on_time_over(struct timer *timer)
{
    answer(CONTAINER_OF(timer, struct census_call, timer), STATUS_UNAVAILABLE);
}

static void tell_over(struct later *later, struct list *link)
{
    struct census_call *call = CONTAINER_OF(link, struct census_call, link);

    answer(call, call->status);
}

static void end_later(struct census_call *call, enum status status)
{
    struct censuses *cs = call->censuses;

    list_remove(&call->link);
    timer_disarm(cs->core->timers, &call->timer);
    call->status = status;
    later_add(&cs->over, &call->link);
}

static void end_all_later(struct censuses *cs, enum status status)
{
    struct list *link;

    while ((link = list_first(&cs->waiting)))
        end_later(CONTAINER_OF(link, struct census_call, link), status);
}

static void begin(struct censuses *cs)
{
    cs->is_walk_outdated = false;
    census_walk_begin(&cs->walk);
}

static bool can_count(const struct censuses *cs)
{
    unsigned away = 0, buckets = cs->core->store->buckets;

    for (unsigned i = 0; i < buckets; i++)
        away += core_is_away(cs->core, i);
    return cs->is_store_up && away < buckets;
}

/* Some buckets it may have counted before the store fell back. Those who wait get the next. */
static void walk_again(struct censuses *cs, struct tally *tally)
{
    tally_free(tally);
    if (!can_count(cs))
        end_all_later(cs, STATUS_UNAVAILABLE);
    else if (!list_is_empty(&cs->waiting))
        begin(cs);
}

static void on_walk_end(struct census_walk *w, enum status status, struct tally *tally)
{
    struct censuses *cs = CONTAINER_OF(w, struct censuses, walk);

    if (tally && cs->is_walk_outdated) {
        walk_again(cs, tally);
        return;
    }
    if (tally) {
        tally_free(cs->last);
        cs->last = tally;
        cs->last_mono_ms = timers_now(cs->core->timers);
        cs->is_outdated = false;
    }
    end_all_later(cs, status);
}

/* ---- what the queue calls ---- */

static void take_in(struct censuses *cs, struct census_call *call)
{
    call->censuses = cs;
    list_init(&call->link);
    timer_init(&call->timer, on_time_over);
    cs->count++;
}

static bool is_fresh(const struct censuses *cs)
{
    return cs->last && !cs->is_outdated &&
           timers_now(cs->core->timers) - cs->last_mono_ms <= FRESH_MS;
}

void censuses_ask(struct censuses *cs, struct census_call *call)
{
    take_in(cs, call);
    if (is_fresh(cs)) {
        end_later(call, STATUS_OK);
        return;
    }
    if (!can_count(cs)) {
        end_later(call, STATUS_UNAVAILABLE);
        return;
    }
    list_append(&cs->waiting, &call->link);
    timer_arm(cs->core->timers, &call->timer, call->wait_ms);
    if (!census_walk_is_under_way(&cs->walk))
        begin(cs);
}

void censuses_refuse(struct censuses *cs, struct census_call *call, enum status status)
{
    take_in(cs, call);
    end_later(call, status);
}

void censuses_cancel(struct censuses *cs, struct census_call *call)
{
    end_later(call, STATUS_CANCELLED);
}

void censuses_set_store(struct censuses *cs, bool is_up)
{
    cs->is_store_up = is_up;
}

void censuses_set_bucket(struct censuses *cs, unsigned bucket)
{
    census_walk_set_bucket(&cs->walk, bucket);
}

void censuses_close(struct censuses *cs)
{
    census_walk_close(&cs->walk);
    end_all_later(cs, STATUS_CANCELLED);
}

void censuses_init(struct censuses *cs, struct core *core)
{
    *cs = (struct censuses){.core = core};
    list_init(&cs->waiting);
    later_init(&cs->over, core->timers, tell_over);
    census_walk_init(&cs->walk, core, on_walk_end);
}

void censuses_fini(struct censuses *cs)
{
    later_fini(&cs->over);
    tally_free(cs->last);
    census_walk_fini(&cs->walk);
}
