#include "node/queue/census.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"

#define LOSSES_PATIENCE_MS 60000 /* longest wait for a census */

static const struct census *censuses_last(struct censuses *cs);
static void censuses_outdate(struct censuses *cs);

static int64_t live(const struct topic_stats *s)
{
    return s->delayed + s->ready + s->reserved + s->dead;
}

/* The most jobs first; by name where they have as many, so that the order stays. */
static int compare(const void *left, const void *right)
{
    const struct topic_count *a = left, *b = right;
    int64_t more = live(&b->stats) - live(&a->stats);

    if (more)
        return more > 0 ? 1 : -1;
    return bytes_compare(a->topic, b->topic);
}

static void keep_largest(struct tally *t)
{
    qsort(t->rows, t->count, sizeof(*t->rows), compare);
    while (t->count > QUEUE_CENSUS_TOP_MAX)
        free((char *)t->rows[--t->count].topic.at);
}

static void add_stats(struct topic_stats *sum, const struct topic_stats *s)
{
    sum->delayed += s->delayed;
    sum->ready += s->ready;
    sum->reserved += s->reserved;
    sum->dead += s->dead;
    if (s->oldest_ready_ms > sum->oldest_ready_ms)
        sum->oldest_ready_ms = s->oldest_ready_ms;
    if (s->next_due_ms >= 0 && (sum->next_due_ms < 0 || s->next_due_ms < sum->next_due_ms))
        sum->next_due_ms = s->next_due_ms;
}

/* Copies the row's name. */
static void tally_add(struct tally *t, const struct topic_count *row)
{
    char *name = malloc(row->topic.len + 1);

    if (!name)
        abort();
    memcpy(name, row->topic.at, row->topic.len);
    if (t->count == TALLY_ROWS_MAX)
        keep_largest(t);
    t->rows[t->count] = *row;
    t->rows[t->count++].topic = bytes_of(name, row->topic.len);
    add_stats(&t->sum.total, &row->stats);
    t->sum.looked_at++;
}

/* Sorts the largest. Nothing is added after that. */
static void tally_finish(struct tally *t)
{
    keep_largest(t);
    t->sum.top = t->rows;
    t->sum.top_count = t->count;
}

static struct tally *tally_new(void)
{
    struct tally *t = malloc(sizeof(*t));

    if (!t)
        abort();
    t->count = 0;
    t->sum = (struct census){.total = {.oldest_ready_ms = -1, .next_due_ms = -1}};
    return t;
}

static void tally_free(struct tally *t)
{
    if (!t)
        return;
    while (t->count > 0)
        free((char *)t->rows[--t->count].topic.at);
    free(t);
}

/* ---- losses ---- */

static uint64_t jobs_of(const struct census *census)
{
    const struct topic_stats *total = &census->total;

    return (uint64_t)(total->delayed + total->ready + total->reserved + total->dead);
}

static const char *bound(const struct census *census)
{
    return census->is_whole ? "" : "at least ";
}

static void on_counted(struct census_call *call)
{
    struct losses *l = CONTAINER_OF(call, struct losses, call);

    if (l->has_fallen_again && call->status == STATUS_OK) {
        l->has_fallen_again = false;
        censuses_ask(l->censuses, call); /* no walk where this one began after the last fall */
        return;
    }
    l->is_counting = false;
    if (call->status != STATUS_OK)
        LOG_WARN("queue", "the jobs that are left could not be counted: %s",
                 status_text(call->status));
    else if (l->before_age_ms < 0)
        LOG_WARN("queue", "%s%llu jobs are left; before, they were never counted",
                 bound(call->last), (unsigned long long)jobs_of(call->last));
    else
        LOG_WARN("queue",
                 "%s%llu jobs are left; there were %llu when they were last counted, %lld s "
                 "before",
                 bound(call->last), (unsigned long long)jobs_of(call->last),
                 (unsigned long long)l->before, (long long)(l->before_age_ms / 1000));
}

void losses_init(struct losses *l, struct censuses *censuses)
{
    *l = (struct losses){.censuses = censuses};
    l->call.on_done = on_counted;
    l->call.wait_ms = LOSSES_PATIENCE_MS;
}

void losses_count(struct losses *l)
{
    const struct census *last;

    censuses_outdate(l->censuses);
    l->has_fallen_again = l->is_counting;
    if (l->is_counting)
        return;
    last = censuses_last(l->censuses);
    l->is_counting = true;
    l->before = last ? jobs_of(last) : 0;
    l->before_age_ms = last ? last->age_ms : -1;
    censuses_ask(l->censuses, &l->call);
}

/* ---- the walk ---- */

#define LOOK_MAX      20000
#define PAGE          25
#define NAMES_PER_ROW 4

static unsigned minimum(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Takes an equal part for each bucket that is still to begin; of the last bit one at least. */
static struct census_budget take_share(struct census_walk *w)
{
    struct census_budget share = {.rows = w->left.rows / w->to_begin,
                                  .names = w->left.names / w->to_begin};

    share.rows += share.rows == 0;
    share.names += share.names == 0;
    w->left.rows -= share.rows;
    w->left.names -= share.names;
    return share;
}

static void on_page(struct op *op);

static void ask_for_page(struct census_lane *lane)
{
    struct census_bucket *bucket = lane->bucket;

    lane->op = (struct op){.verb = OP_TOPICS, .on_done = on_page, .bucket = bucket->number};
    lane->op.in.topics.after = bytes_of(bucket->after, bucket->after_len);
    lane->op.in.topics.limit = minimum(lane->left.names, PAGE);
    lane->is_asking = true;
    core_send(lane->walk->core, &lane->op);
}

static void begin_bucket(struct census_lane *lane)
{
    struct census_walk *w = lane->walk;

    lane->bucket = CONTAINER_OF(list_pop(&w->unfinished), struct census_bucket, link);
    lane->left = take_share(w);
    w->to_begin--;
    ask_for_page(lane);
}

static bool can_begin(const struct census_walk *w)
{
    return w->to_begin > 0 && w->left.rows > 0 && w->left.names > 0;
}

static void begin_round(struct census_walk *w)
{
    w->to_begin = 0;
    LIST_EACH (link, &w->unfinished)
        w->to_begin++;
    for (w->walking = 0; w->walking < CENSUS_LANES && can_begin(w); w->walking++)
        begin_bucket(&w->lanes[w->walking]);
}

/* Calls out last. */
static void end(struct census_walk *w)
{
    struct tally *tally = w->tally;

    w->tally = NULL;
    if (w->failure == STATUS_OK) {
        tally->sum.is_whole = list_is_empty(&w->unfinished) && !w->is_partial;
        tally_finish(tally);
    } else {
        LOG_DEBUG("queue", "the census failed: %s", status_text(w->failure));
        tally_free(tally);
        tally = NULL;
    }
    w->on_end(w, w->failure, tally);
}

/* The last lane home sees whether some buckets were cut off, and others have left budget. */
static void come_home(struct census_walk *w)
{
    if (--w->walking > 0)
        return;
    if (w->failure == STATUS_OK)
        begin_round(w);
    if (w->walking == 0)
        end(w);
}

static bool has_good_names(const struct op *op)
{
    for (unsigned i = 0; i < op->out.topics.count; i++) {
        if (op->out.topics.rows[i].topic.len > NAME_MAX_BYTES)
            return false;
    }
    return op->out.topics.next.len <= NAME_MAX_BYTES;
}

static enum status check_page(const struct census_walk *w, const struct op *op)
{
    if (w->is_closing)
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
    struct tally *tally = lane->walk->tally;
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
    struct census_walk *w = lane->walk;

    w->left.rows += lane->left.rows;
    w->left.names += lane->left.names;
    if (lane->bucket->after_len)
        list_append(&w->unfinished, &lane->bucket->link);
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
    if (can_begin(lane->walk))
        begin_bucket(lane);
    else
        come_home(lane->walk);
}

static void on_page(struct op *op)
{
    struct census_lane *lane = CONTAINER_OF(op, struct census_lane, op);
    struct census_walk *w = lane->walk;

    lane->is_asking = false;
    if (w->failure == STATUS_OK)
        w->failure = check_page(w, op);
    if (w->failure != STATUS_OK) {
        come_home(w);
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

/* All buckets but those out of reach. */
static void list_buckets(struct census_walk *w)
{
    w->is_partial = false;
    list_init(&w->unfinished);
    for (unsigned i = 0; i < w->core->store->buckets; i++) {
        struct census_bucket *bucket = &w->buckets[i];

        w->is_partial |= core_is_away(w->core, i);
        bucket->number = i;
        bucket->after_len = 0;
        if (!core_is_away(w->core, i))
            list_append(&w->unfinished, &bucket->link);
    }
}

/* While nobody walks, and a bucket is within reach. on_end comes later, once. */
static void census_walk_begin(struct census_walk *w)
{
    w->core->stats.census_walks++;
    w->tally = tally_new();
    w->left.rows = how_many_to_look_at(w->core);
    w->left.names = w->left.rows * NAMES_PER_ROW;
    w->failure = STATUS_OK;
    list_buckets(w);
    begin_round(w);
}

/* core_is_away() has changed: a page that the store would hold until the bucket is back is
 * abandoned. */
static void census_walk_set_bucket(struct census_walk *w, unsigned bucket)
{
    for (unsigned i = 0; i < CENSUS_LANES; i++) {
        struct census_lane *lane = &w->lanes[i];

        if (lane->is_asking && lane->op.bucket == bucket && core_is_away(w->core, bucket))
            core_abandon(w->core, &lane->op);
    }
}

static bool census_walk_is_under_way(const struct census_walk *w)
{
    return w->tally != NULL;
}

/* It ends with the pages under way, CANCELLED. */
static void census_walk_close(struct census_walk *w)
{
    w->is_closing = true;
}

static void census_walk_init(struct census_walk *w, struct core *core,
                             void (*on_end)(struct census_walk *w, enum status status,
                                            struct tally *tally))
{
    *w = (struct census_walk){.core = core, .on_end = on_end};
    w->buckets = calloc(core->store->buckets, sizeof(*w->buckets));
    if (!w->buckets)
        abort();
    for (unsigned i = 0; i < CENSUS_LANES; i++)
        w->lanes[i].walk = w;
}

static void census_walk_fini(struct census_walk *w)
{
    tally_free(w->tally);
    free(w->buckets);
}

/* ---- census ---- */

#define FRESH_MS 5000

/* The last one that was finished; NULL: none yet. */
static const struct census *censuses_last(struct censuses *cs)
{
    if (!cs->last)
        return NULL;
    cs->last->sum.age_ms = timers_now(cs->core->timers) - cs->last_mono_ms;
    return &cs->last->sum;
}

/* The last census is outdated, however young, and so is the one being counted.
 */
static void censuses_outdate(struct censuses *cs)
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

/* The walk may have counted some buckets before the rollback. Waiting calls get the next
 * one. */
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
