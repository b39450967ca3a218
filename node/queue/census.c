#include "node/queue/census.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/tally.h"

#define FRESH_MS 5000
#define LOOK_MAX 20000
#define PAGE     25

#define NAMES_PER_ROW 4

/* ---- answering ---- */

static void answer(struct census_call *call, enum status status)
{
    struct censuses *cs = call->censuses;
    struct core *core = cs->core;

    list_remove(&call->link);
    timer_disarm(core->timers, &call->timer);
    call->status = status;
    call->last = NULL;
    if (cs->last) {
        cs->last->sum.age_ms = timers_now(core->timers) - cs->last_mono_ms;
        call->last = &cs->last->sum;
    }
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

/* ---- the walk ---- */

static unsigned minimum(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void finish(struct censuses *cs)
{
    cs->tally->sum.is_whole = list_is_empty(&cs->unfinished);
    tally_finish(cs->tally);
    tally_free(cs->last);
    cs->last = cs->tally;
    cs->tally = NULL;
    cs->last_mono_ms = timers_now(cs->core->timers);
    end_all_later(cs, STATUS_OK);
}

static void give_up(struct censuses *cs)
{
    LOG_DEBUG("queue", "the census failed: %s", status_text(cs->failure));
    tally_free(cs->tally);
    cs->tally = NULL;
    end_all_later(cs, cs->failure);
}

/* Takes an equal part for each bucket that is still to begin; of the last bit one at least. */
static struct census_budget take_share(struct censuses *cs)
{
    struct census_budget share = {.rows = cs->left.rows / cs->to_begin,
                                  .names = cs->left.names / cs->to_begin};

    share.rows += share.rows == 0;
    share.names += share.names == 0;
    cs->left.rows -= share.rows;
    cs->left.names -= share.names;
    return share;
}

static void on_page(struct op *op);

static void ask_for_page(struct census_lane *lane)
{
    struct census_bucket *bucket = lane->bucket;

    lane->op = (struct op){.verb = OP_TOPICS, .on_done = on_page, .bucket = bucket->number};
    lane->op.in.topics.after = bytes_of(bucket->after, bucket->after_len);
    lane->op.in.topics.limit = minimum(lane->left.names, PAGE);
    core_send(lane->censuses->core, &lane->op);
}

static void begin_bucket(struct census_lane *lane)
{
    struct censuses *cs = lane->censuses;

    lane->bucket = CONTAINER_OF(list_pop(&cs->unfinished), struct census_bucket, link);
    lane->left = take_share(cs);
    cs->to_begin--;
    ask_for_page(lane);
}

static bool can_begin(const struct censuses *cs)
{
    return cs->to_begin > 0 && cs->left.rows > 0 && cs->left.names > 0;
}

static void begin_round(struct censuses *cs)
{
    cs->to_begin = 0;
    LIST_EACH (link, &cs->unfinished)
        cs->to_begin++;
    for (cs->walking = 0; cs->walking < CENSUS_LANES && can_begin(cs); cs->walking++)
        begin_bucket(&cs->lanes[cs->walking]);
}

/* The last one home sees whether some buckets are cut off, and others have left something. */
static void come_home(struct censuses *cs)
{
    if (--cs->walking > 0)
        return;
    if (cs->failure != STATUS_OK) {
        give_up(cs);
        return;
    }
    begin_round(cs);
    if (cs->walking == 0)
        finish(cs);
}

static bool has_good_names(const struct op *op)
{
    for (unsigned i = 0; i < op->out.topics.count; i++) {
        if (op->out.topics.rows[i].topic.len > NAME_MAX_BYTES)
            return false;
    }
    return op->out.topics.next.len <= NAME_MAX_BYTES;
}

static enum status check_page(const struct censuses *cs, const struct op *op)
{
    if (cs->is_closing)
        return STATUS_CANCELLED;
    if (op->status == STATUS_OK && !has_good_names(op))
        return STATUS_STORE_ERROR;
    return op->status;
}

/* Counts as many topics as the share allows; the rest of the page will be asked for again, if
 * at all. Returns the last name that was looked at; "" at the end. */
static struct bytes count_page(struct census_lane *lane)
{
    const struct op *op = &lane->op;
    const struct topic_count *rows = op->out.topics.rows;
    struct tally *tally = lane->censuses->tally;
    unsigned told = op->out.topics.count, count = minimum(told, lane->left.rows);
    bool is_full = op->out.topics.next.len > 0 && count == told;

    if (op->in.topics.after.len == 0)
        tally->sum.topics += (uint64_t)op->out.topics.total;
    for (unsigned i = 0; i < count; i++)
        tally_add(tally, &rows[i]);
    lane->left.rows -= count;
    lane->left.names -= is_full ? op->in.topics.limit : count;
    return count < told ? rows[count - 1].topic : op->out.topics.next;
}

/* Its share is used up, or all its topics were looked at. */
static void leave_bucket(struct census_lane *lane)
{
    struct censuses *cs = lane->censuses;

    cs->left.rows += lane->left.rows;
    cs->left.names += lane->left.names;
    if (lane->bucket->after_len)
        list_append(&cs->unfinished, &lane->bucket->link);
}

static void go_on(struct census_lane *lane, struct bytes next)
{
    struct census_bucket *bucket = lane->bucket;

    bucket->after_len = next.len;
    if (next.len)
        memcpy(bucket->after, next.at, next.len);
    if (next.len && lane->left.rows && lane->left.names) {
        ask_for_page(lane);
        return;
    }
    leave_bucket(lane);
    if (can_begin(lane->censuses))
        begin_bucket(lane);
    else
        come_home(lane->censuses);
}

static void on_page(struct op *op)
{
    struct census_lane *lane = CONTAINER_OF(op, struct census_lane, op);
    struct censuses *cs = lane->censuses;

    if (cs->failure == STATUS_OK)
        cs->failure = check_page(cs, op);
    if (cs->failure != STATUS_OK) {
        come_home(cs);
        return;
    }
    go_on(lane, count_page(lane));
}

/* At least one topic of each bucket. */
static unsigned how_many_to_look_at(const struct core *core)
{
    unsigned wanted = core->options.census_topics;

    if (wanted == 0)
        wanted = LOOK_MAX;
    return wanted > core->store->buckets ? wanted : core->store->buckets;
}

static void begin(struct censuses *cs)
{
    cs->core->stats.census_walks++;
    cs->tally = tally_new();
    cs->left.rows = how_many_to_look_at(cs->core);
    cs->left.names = cs->left.rows * NAMES_PER_ROW;
    cs->failure = STATUS_OK;
    list_init(&cs->unfinished);
    for (unsigned i = 0; i < cs->core->store->buckets; i++) {
        cs->buckets[i].number = i;
        cs->buckets[i].after_len = 0;
        list_append(&cs->unfinished, &cs->buckets[i].link);
    }
    begin_round(cs);
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
    return cs->last && timers_now(cs->core->timers) - cs->last_mono_ms <= FRESH_MS;
}

void censuses_ask(struct censuses *cs, struct census_call *call)
{
    take_in(cs, call);
    if (is_fresh(cs)) {
        end_later(call, STATUS_OK);
        return;
    }
    if (!cs->is_store_up) {
        end_later(call, STATUS_UNAVAILABLE);
        return;
    }
    list_append(&cs->waiting, &call->link);
    timer_arm(cs->core->timers, &call->timer, call->wait_ms);
    if (!cs->tally)
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

void censuses_close(struct censuses *cs)
{
    cs->is_closing = true;
    end_all_later(cs, STATUS_CANCELLED);
}

void censuses_init(struct censuses *cs, struct core *core)
{
    *cs = (struct censuses){.core = core};
    cs->buckets = calloc(core->store->buckets, sizeof(*cs->buckets));
    if (!cs->buckets)
        abort();
    list_init(&cs->waiting);
    later_init(&cs->over, core->timers, tell_over);
    for (unsigned i = 0; i < CENSUS_LANES; i++)
        cs->lanes[i].censuses = cs;
}

void censuses_fini(struct censuses *cs)
{
    later_fini(&cs->over);
    tally_free(cs->last);
    tally_free(cs->tally);
    free(cs->buckets);
}
