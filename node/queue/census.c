#include "node/queue/census.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"

#define FRESH_MS           5000
#define LOSSES_PATIENCE_MS 60000 /* longest wait for a census */
#define LOOK_MAX           20000
#define NAMES_PER_ROW      4

/* ---- the sum of many topics, and the largest of them ---- */

/* Twice as many rows as are wanted in the end: when they are full the lesser half goes, so
 * that a row costs little on the average and the loop never stands still for long. */
#define TALLY_ROWS_MAX (2 * QUEUE_CENSUS_TOP_MAX)

struct tally {
    struct census sum; /* `top` is set by tally_finish */
    unsigned count;
    struct topic_count rows[TALLY_ROWS_MAX]; /* with names of their own */
};

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
    char *name = must(malloc(row->topic.len + 1));

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
    struct tally *t = must(malloc(sizeof(*t)));

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

/* ---- its answers ---- */

/* The last census that was finished; NULL: none yet. */
static const struct census *find_last(struct censuses *cs)
{
    if (!cs->last)
        return NULL;
    cs->last->sum.age_ms = timers_now(cs->core->timers) - cs->last_mono_ms;
    return &cs->last->sum;
}

static void answer(struct census_call *call, enum status status)
{
    struct censuses *cs = call->censuses;
    struct core *core = cs->core;

    list_remove(&call->link);
    timer_disarm(core->timers, &call->timer);
    call->status = status;
    call->last = find_last(cs);
    cs->count--;
    call->on_done(call);
    core_note_end(core);
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

/* ---- the walk, page by page ---- */

static unsigned minimum(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* An equal part for each turn that is left in this round; of the last bit one at least. */
static unsigned share_of_left(const struct censuses *cs, unsigned left)
{
    unsigned share = left / cs->to_come;

    return share ? share : 1;
}

static void on_page(struct op *op);

static void ask_for_page(struct censuses *cs, const struct census_bucket *bucket)
{
    cs->page = (struct op){
        .verb = OP_TOPICS, .on_done = on_page, .bucket = (unsigned)(bucket - cs->buckets)};
    cs->page.in.topics.after = bytes_of(bucket->after, bucket->after_len);
    cs->page.in.topics.limit = minimum(share_of_left(cs, cs->names_left), OP_TOPICS_MAX);
    core_send(cs->core, &cs->page);
}

static bool is_away(const struct censuses *cs, const struct census_bucket *bucket)
{
    return core_is_away(cs->core, (unsigned)(bucket - cs->buckets));
}

/* A bucket that is out of reach has no turn. */
static void begin_round(struct censuses *cs)
{
    LIST_EACH_SAFE (link, &cs->unfinished) {
        if (is_away(cs, CONTAINER_OF(link, struct census_bucket, link))) {
            list_remove(link);
            cs->is_partial = true;
        } else {
            cs->to_come++;
        }
    }
}

/* The bucket whose turn it is. NULL: none is left. */
static struct census_bucket *take_next(struct censuses *cs)
{
    for (;;) {
        struct census_bucket *bucket;
        struct list *link;

        if (cs->to_come == 0)
            begin_round(cs);
        link = list_pop(&cs->unfinished);
        if (!link)
            return NULL;
        bucket = CONTAINER_OF(link, struct census_bucket, link);
        if (!is_away(cs, bucket))
            return bucket;
        cs->is_partial = true; /* it has gone since the round began */
        cs->to_come--;
    }
}

static void end_walk(struct censuses *cs, enum status status);

static void go_on(struct censuses *cs)
{
    struct census_bucket *bucket = NULL;

    if (cs->rows_left > 0 && cs->names_left > 0)
        bucket = take_next(cs);
    if (bucket)
        ask_for_page(cs, bucket);
    else
        end_walk(cs, cs->is_refused && !cs->has_page ? STATUS_STORE_ERROR : STATUS_OK);
}

/* At least one topic of each bucket. */
static unsigned how_many_to_look_at(const struct core *core)
{
    unsigned wanted = core->options.census_topics;

    if (wanted == 0)
        wanted = LOOK_MAX;
    return wanted > core->store->buckets ? wanted : core->store->buckets;
}

/* While none is under way, and a bucket is within reach. */
static void begin_walk(struct censuses *cs)
{
    cs->core->stats.census_walks++;
    cs->tally = tally_new();
    cs->rows_left = how_many_to_look_at(cs->core);
    cs->names_left = cs->rows_left * NAMES_PER_ROW;
    cs->to_come = 0;
    cs->is_partial = cs->is_refused = cs->has_page = cs->is_walk_outdated = false;
    list_init(&cs->unfinished);
    for (unsigned i = 0; i < cs->core->store->buckets; i++) {
        cs->buckets[i].after_len = 0;
        list_append(&cs->unfinished, &cs->buckets[i].link);
    }
    go_on(cs);
}

static bool can_count(const struct censuses *cs)
{
    unsigned away = 0, buckets = cs->core->store->buckets;

    for (unsigned i = 0; i < buckets; i++)
        away += core_is_away(cs->core, i);
    return cs->is_store_up && away < buckets;
}

static void keep(struct censuses *cs, struct tally *tally)
{
    tally->sum.is_whole = list_is_empty(&cs->unfinished) && !cs->is_partial;
    tally_finish(tally);
    tally_free(cs->last);
    cs->last = tally;
    cs->last_mono_ms = timers_now(cs->core->timers);
    cs->is_outdated = false;
}

/* An outdated walk may have counted some buckets before the rollback. Calls that wait get the
 * next one. */
static void end_walk(struct censuses *cs, enum status status)
{
    struct tally *tally = cs->tally;
    bool is_ok = status == STATUS_OK;

    cs->tally = NULL;
    if (is_ok && !cs->is_walk_outdated) {
        keep(cs, tally);
        end_all_later(cs, STATUS_OK);
        return;
    }
    tally_free(tally);
    if (!is_ok)
        LOG_DEBUG("queue", "the census failed: %s", status_text(status));
    if (is_ok && can_count(cs) && !list_is_empty(&cs->waiting))
        begin_walk(cs);
    else
        end_all_later(cs, is_ok ? STATUS_UNAVAILABLE : status);
}

static bool has_good_names(const struct op *op)
{
    for (unsigned i = 0; i < op->out.topics.count; i++) {
        if (op->out.topics.rows[i].topic.len > NAME_MAX_BYTES)
            return false;
    }
    return op->out.topics.next.len <= NAME_MAX_BYTES;
}

static enum status check_page(const struct censuses *cs)
{
    if (cs->is_closing)
        return STATUS_CANCELLED;
    if (cs->page.status == STATUS_OK && !has_good_names(&cs->page))
        return STATUS_STORE_ERROR;
    return cs->page.status;
}

/* Counts as many topics as the bucket's share allows; the rest of the page will be asked for
 * again, if at all. Returns the last name that was looked at; "" at the end. */
static struct bytes count_page(struct censuses *cs)
{
    const struct op *op = &cs->page;
    const struct topic_count *rows = op->out.topics.rows;
    unsigned told = op->out.topics.count;
    unsigned count = minimum(told, share_of_left(cs, cs->rows_left));
    bool is_full = op->out.topics.next.len > 0 && count == told;

    if (op->in.topics.after.len == 0)
        cs->tally->sum.topics += (uint64_t)op->out.topics.total;
    for (unsigned i = 0; i < count; i++)
        tally_add(cs->tally, &rows[i]);
    cs->rows_left -= count;
    cs->names_left -= is_full ? op->in.topics.limit : count;
    cs->to_come--;
    return count < told ? rows[count - 1].topic : op->out.topics.next;
}

/* The bucket whose page was refused, for a damaged key of its own, say: the others are counted.
 */
static void leave_out(struct censuses *cs)
{
    cs->is_partial = cs->is_refused = true;
    cs->to_come--;
    go_on(cs);
}

static void on_page(struct op *op)
{
    struct censuses *cs = CONTAINER_OF(op, struct censuses, page);
    struct census_bucket *bucket = &cs->buckets[op->bucket];
    enum status status = check_page(cs);
    struct bytes next;

    if (status == STATUS_STORE_ERROR) {
        leave_out(cs);
        return;
    }
    if (status != STATUS_OK) {
        end_walk(cs, status);
        return;
    }
    cs->has_page = true;
    next = count_page(cs);
    bucket->after_len = next.len;
    if (next.len) {
        memcpy(bucket->after, next.at, next.len);
        list_append(&cs->unfinished, &bucket->link);
    }
    go_on(cs);
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
    if (!cs->tally)
        begin_walk(cs);
}

void censuses_refuse(struct censuses *cs, struct census_call *call, enum status status)
{
    take_in(cs, call);
    end_later(call, status);
}

void queue_census_cancel(struct census_call *call)
{
    end_later(call, STATUS_CANCELLED);
}

void censuses_set_store(struct censuses *cs, bool is_up)
{
    cs->is_store_up = is_up;
}

/* The store would hold the page until the bucket is back. */
void censuses_set_bucket(struct censuses *cs, unsigned bucket)
{
    if (cs->tally && cs->page.bucket == bucket && core_is_away(cs->core, bucket))
        core_abandon(cs->core, &cs->page);
}

void censuses_close(struct censuses *cs)
{
    cs->is_closing = true;
    end_all_later(cs, STATUS_CANCELLED);
}

void censuses_init(struct censuses *cs, struct core *core)
{
    *cs = (struct censuses){.core = core};
    cs->buckets = must(calloc(core->store->buckets, sizeof(*cs->buckets)));
    list_init(&cs->waiting);
    later_init(&cs->over, core->timers, tell_over);
}

void censuses_fini(struct censuses *cs)
{
    later_fini(&cs->over);
    tally_free(cs->last);
    tally_free(cs->tally);
    free(cs->buckets);
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

    l->censuses->is_outdated = l->censuses->is_walk_outdated = true;
    l->has_fallen_again = l->is_counting;
    if (l->is_counting)
        return;
    last = find_last(l->censuses);
    l->is_counting = true;
    l->before = last ? jobs_of(last) : 0;
    l->before_age_ms = last ? last->age_ms : -1;
    censuses_ask(l->censuses, &l->call);
}
