#include "node/queue/census_walk.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/tally.h"

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

/* The last one home sees whether some buckets are cut off, and others have left something. */
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

void census_walk_begin(struct census_walk *w)
{
    w->core->stats.census_walks++;
    w->tally = tally_new();
    w->left.rows = how_many_to_look_at(w->core);
    w->left.names = w->left.rows * NAMES_PER_ROW;
    w->failure = STATUS_OK;
    list_buckets(w);
    begin_round(w);
}

void census_walk_set_bucket(struct census_walk *w, unsigned bucket)
{
    for (unsigned i = 0; i < CENSUS_LANES; i++) {
        struct census_lane *lane = &w->lanes[i];

        if (lane->is_asking && lane->op.bucket == bucket && core_is_away(w->core, bucket))
            core_abandon(w->core, &lane->op);
    }
}

bool census_walk_is_under_way(const struct census_walk *w)
{
    return w->tally != NULL;
}

void census_walk_close(struct census_walk *w)
{
    w->is_closing = true;
}

void census_walk_init(struct census_walk *w, struct core *core,
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

void census_walk_fini(struct census_walk *w)
{
    tally_free(w->tally);
    free(w->buckets);
}
