/* A node's link to a memory_db: answers and events on their way, and the faults they may meet.
 *
 * Both wait in lists until the next turn of the timers. A turn hands out what was there when
 * it began: answers first, then events.
 */
#include "node/store/memory/store.h"

#include <assert.h>
#include <stdlib.h>

#include "base/crc16.h"
#include "node/store/memory/db.h"

struct answer {
    struct list link;
    struct op *op;
    struct room room;
};

enum news_kind {
    NEWS_READY,
    NEWS_SETTINGS,
    NEWS_IDENTITIES,
    NEWS_HINT,
    NEWS_UP,
    NEWS_DOWN,
    NEWS_BUCKET
};

struct news {
    struct list link;
    enum news_kind kind;
    struct bytes topic;     /* the db's */
    unsigned bucket, share; /* HINT; BUCKET */
    bool is_reached;        /* BUCKET */
    int64_t wait_ms;
};

struct memory_store {
    struct store store; /* first */
    struct memory_db *db;
    struct memory_listener listener;
    struct timers *timers;
    struct timer turn;
    int64_t offset_us; /* Redis's clock - timers_now */
    bool is_up;
    bool *is_away; /* of each bucket */

    struct list answers, held, news;
    struct list waiting; /* for it, or their bucket, to be up: not run yet */
    bool is_holding;
    bool lets_wait;
    unsigned in_flight;

    unsigned failures; /* how many operations are still to fail */
    enum status failure;
    enum memory_effect effect;

    unsigned long counts[OP_COUNT];
    unsigned long dropped;
};

static struct memory_store *of_store(struct store *store)
{
    return CONTAINER_OF(store, struct memory_store, store);
}

static void wake(struct memory_store *ms)
{
    if (!timer_is_armed(&ms->turn))
        timer_arm(ms->timers, &ms->turn, 0);
}

/* ---- operations ---- */

/* Ends the op with `status`; but a read is never UNKNOWN, because it changes nothing. */
static void fail(struct op *op, enum status status)
{
    bool is_lost_read = op_has(op->verb, TRAIT_READS) && status_is_unknown(status);

    memset(&op->out, 0, sizeof(op->out));
    op->status = is_lost_read ? STATUS_UNAVAILABLE : status;
    op->now_ms = 0;
    op->wait_ms = -1;
}

static int64_t now_us(const struct memory_store *ms)
{
    return timers_now(ms->timers) * 1000 + ms->offset_us;
}

/* PLACES is of no bucket. */
static bool reaches(const struct memory_store *ms, const struct op *op)
{
    return ms->is_up && (op->verb == OP_PLACES || !ms->is_away[op->bucket]);
}

/* Runs the op where it reaches the jobs; else, or with a fault planned, it fails. */
static void run(struct memory_store *ms, struct op *op, struct room *room)
{
    bool is_reached = reaches(ms, op), fails = is_reached && ms->failures > 0;

    if (fails)
        ms->failures--;
    if (is_reached && (!fails || ms->effect == MEMORY_DONE))
        memory_db_run(ms->db, op, ms->store.worker, now_us(ms), room);
    if (!is_reached)
        fail(op, STATUS_UNAVAILABLE);
    else if (fails)
        fail(op, ms->failure);
}

static void run_and_answer(struct memory_store *ms, struct answer *answer)
{
    run(ms, answer->op, &answer->room);
    list_append(ms->is_holding ? &ms->held : &ms->answers, &answer->link);
    wake(ms);
}

static void submit(struct store *store, struct op *op)
{
    struct memory_store *ms = of_store(store);
    struct answer *answer = must(calloc(1, sizeof(*answer)));

    assert(op->verb < OP_COUNT && op->on_done);
    ms->counts[op->verb]++;
    ms->in_flight++;
    answer->op = op;
    if (reaches(ms, op) || !ms->lets_wait || op_has(op->verb, TRAIT_FENCED)) {
        run_and_answer(ms, answer);
        return;
    }
    op->waits = answer;
    list_append(&ms->waiting, &answer->link);
}

static void abandon(struct store *store, struct op *op)
{
    struct memory_store *ms = of_store(store);
    struct answer *answer = op->waits;

    if (!answer)
        return;
    op->waits = NULL;
    ms->dropped++;
    list_remove(&answer->link);
    run_and_answer(ms, answer); /* it is down */
}

static void run_waiting(struct memory_store *ms)
{
    LIST_EACH_SAFE (link, &ms->waiting) {
        struct answer *answer = CONTAINER_OF(link, struct answer, link);

        if (!reaches(ms, answer->op))
            continue;
        answer->op->waits = NULL;
        list_remove(link);
        run_and_answer(ms, answer);
    }
}

static void hand_out(struct memory_store *ms, struct answer *answer)
{
    struct op *op = answer->op;
    struct room room = answer->room;

    free(answer);
    ms->in_flight--;
    op->on_done(op);
    room_fini(&room);
}

/* ---- events ---- */

static void add_news(struct memory_store *ms, enum news_kind kind, struct bytes topic)
{
    struct news *news = must(calloc(1, sizeof(*news)));

    news->kind = kind;
    news->topic = topic;
    list_append(&ms->news, &news->link);
    wake(ms);
}

static void on_ready(struct memory_listener *listener, struct bytes topic)
{
    struct memory_store *ms = CONTAINER_OF(listener, struct memory_store, listener);

    if (ms->is_up && !ms->is_away[crc16(topic) % ms->store.buckets])
        add_news(ms, NEWS_READY, topic);
}

static void on_settings(struct memory_listener *listener, struct bytes topic)
{
    struct memory_store *ms = CONTAINER_OF(listener, struct memory_store, listener);

    if (ms->is_up)
        add_news(ms, NEWS_SETTINGS, topic);
}

static void on_identities(struct memory_listener *listener)
{
    struct memory_store *ms = CONTAINER_OF(listener, struct memory_store, listener);

    if (ms->is_up && !ms->is_away[0])
        add_news(ms, NEWS_IDENTITIES, bytes_of("", 0));
}

static void on_hint(struct memory_listener *listener, unsigned bucket, unsigned share,
                    int64_t wait_ms)
{
    struct memory_store *ms = CONTAINER_OF(listener, struct memory_store, listener);
    struct news *news;

    if (!ms->is_up)
        return;
    add_news(ms, NEWS_HINT, bytes_of("", 0));
    news = CONTAINER_OF(ms->news.prev, struct news, link);
    news->bucket = bucket;
    news->share = share;
    news->wait_ms = wait_ms;
}

static void hint(struct store *store, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct memory_store *ms = of_store(store);

    if (ms->is_up)
        memory_db_hint(ms->db, bucket, share, wait_ms);
}

static void add_news_of_bucket(struct memory_store *ms, unsigned bucket, bool is_reached)
{
    struct news *news;

    add_news(ms, NEWS_BUCKET, bytes_of("", 0));
    news = CONTAINER_OF(ms->news.prev, struct news, link);
    news->bucket = bucket;
    news->is_reached = is_reached;
}

static void tell(struct memory_store *ms, struct news *news)
{
    const struct store_events *events = &ms->store.events;
    struct news it = *news;

    free(news);
    if (it.kind == NEWS_READY && events->on_ready)
        events->on_ready(events->arg, it.topic);
    if (it.kind == NEWS_SETTINGS && events->on_settings)
        events->on_settings(events->arg, it.topic);
    if (it.kind == NEWS_IDENTITIES && events->on_identities)
        events->on_identities(events->arg);
    if (it.kind == NEWS_HINT && events->on_hint)
        events->on_hint(events->arg, it.bucket, it.share, it.wait_ms);
    if (it.kind == NEWS_UP && events->on_up)
        events->on_up(events->arg);
    if (it.kind == NEWS_DOWN && events->on_down)
        events->on_down(events->arg);
    if (it.kind == NEWS_BUCKET && events->on_bucket)
        events->on_bucket(events->arg, it.bucket, it.is_reached);
}

static void on_turn(struct timer *timer)
{
    struct memory_store *ms = CONTAINER_OF(timer, struct memory_store, turn);
    struct list answers, news, *link;

    list_init(&answers);
    list_init(&news);
    list_append_all(&answers, &ms->answers);
    list_append_all(&news, &ms->news);
    while ((link = list_pop(&answers)))
        hand_out(ms, CONTAINER_OF(link, struct answer, link));
    while ((link = list_pop(&news)))
        tell(ms, CONTAINER_OF(link, struct news, link));
}

/* ---- life ---- */

static struct memory_store *new_on(struct memory_db *db, struct timers *timers)
{
    static const struct store_ops ops = {.submit = submit, .abandon = abandon, .hint = hint};
    struct memory_store *ms = must(calloc(1, sizeof(*ms)));

    ms->store.ops = &ops;
    ms->store.worker = memory_db_new_worker(db);
    ms->store.buckets = memory_db_buckets(db);
    ms->is_away = must(calloc(ms->store.buckets, sizeof(*ms->is_away)));
    ms->db = db;
    ms->timers = timers;
    ms->offset_us = MEMORY_STORE_EPOCH_MS * 1000;
    ms->listener.on_ready = on_ready;
    ms->listener.on_settings = on_settings;
    ms->listener.on_identities = on_identities;
    ms->listener.on_hint = on_hint;
    list_init(&ms->answers);
    list_init(&ms->held);
    list_init(&ms->waiting);
    list_init(&ms->news);
    timer_init(&ms->turn, on_turn);
    memory_db_join(db, &ms->listener);
    memory_store_bring_up(ms);
    return ms;
}

struct memory_store *memory_store_new(struct timers *timers, unsigned buckets)
{
    return new_on(memory_db_new(buckets), timers);
}

struct memory_store *memory_store_join(struct memory_store *other, struct timers *timers)
{
    struct memory_store *ms = new_on(other->db, timers);

    ms->offset_us = other->offset_us;
    return ms;
}

static void forget_news(struct memory_store *ms)
{
    struct list *link;

    while ((link = list_pop(&ms->news)))
        free(CONTAINER_OF(link, struct news, link));
}

static void forget_wake_ups(struct memory_store *ms)
{
    LIST_EACH_SAFE (link, &ms->news) {
        struct news *news = CONTAINER_OF(link, struct news, link);

        if (news->kind == NEWS_UP || news->kind == NEWS_DOWN)
            continue;
        list_remove(&news->link);
        free(news);
    }
}

void memory_store_free(struct memory_store *ms)
{
    if (!ms)
        return;
    assert(ms->in_flight == 0);
    forget_news(ms);
    timer_disarm(ms->timers, &ms->turn);
    memory_db_leave(ms->db, &ms->listener);
    free(ms->is_away);
    free(ms);
}

struct store *memory_store_port(struct memory_store *ms)
{
    return &ms->store;
}

/* ---- the clock ---- */

int64_t memory_store_now(const struct memory_store *ms)
{
    return now_us(ms) / 1000;
}

void memory_store_set_now(struct memory_store *ms, int64_t now_ms)
{
    memory_store_set_now_us(ms, now_ms * 1000);
}

void memory_store_set_now_us(struct memory_store *ms, int64_t now_us)
{
    ms->offset_us = now_us - timers_now(ms->timers) * 1000;
}

/* ---- faults ---- */

void memory_store_fail(struct memory_store *ms, unsigned count, enum status status,
                       enum memory_effect effect)
{
    assert(status != STATUS_OK && (effect == MEMORY_UNDONE || status_is_unknown(status)));
    ms->failures = count;
    ms->failure = status;
    ms->effect = effect;
}

void memory_store_hold(struct memory_store *ms)
{
    ms->is_holding = true;
}

void memory_store_release(struct memory_store *ms, unsigned count)
{
    struct list *link;

    while (count-- > 0 && (link = list_pop(&ms->held)))
        list_append(&ms->answers, link);
    wake(ms);
}

void memory_store_unhold(struct memory_store *ms)
{
    ms->is_holding = false;
    list_append_all(&ms->answers, &ms->held);
    wake(ms);
}

/* Fails operations in flight; with `bucket` only those of that bucket. */
static void lose(struct list *answers, const unsigned *bucket)
{
    LIST_EACH (link, answers) {
        struct op *op = CONTAINER_OF(link, struct answer, link)->op;

        if (!bucket || (op->bucket == *bucket && op->verb != OP_PLACES))
            fail(op, STATUS_UNKNOWN);
    }
}

void memory_store_take_down(struct memory_store *ms)
{
    if (!ms->is_up)
        return;
    ms->is_up = false;
    list_append_all(&ms->answers, &ms->held);
    lose(&ms->answers, NULL);
    forget_wake_ups(ms);
    add_news(ms, NEWS_DOWN, bytes_of("", 0));
}

void memory_store_bring_up(struct memory_store *ms)
{
    if (ms->is_up)
        return;
    ms->is_up = true;
    ms->store.lease_key = *memory_db_lease_key(ms->db);
    run_waiting(ms);
    add_news(ms, NEWS_UP, bytes_of("", 0));
    for (unsigned i = 0; i < ms->store.buckets; i++) {
        if (ms->is_away[i])
            add_news_of_bucket(ms, i, false);
    }
}

void memory_store_take_away(struct memory_store *ms, unsigned bucket)
{
    if (ms->is_away[bucket])
        return;
    ms->is_away[bucket] = true;
    lose(&ms->answers, &bucket);
    lose(&ms->held, &bucket);
    if (ms->is_up)
        add_news_of_bucket(ms, bucket, false);
}

void memory_store_give_back(struct memory_store *ms, unsigned bucket)
{
    if (!ms->is_away[bucket])
        return;
    ms->is_away[bucket] = false;
    if (!ms->is_up)
        return;
    run_waiting(ms);
    add_news_of_bucket(ms, bucket, true);
}

void memory_store_let_wait(struct memory_store *ms)
{
    ms->lets_wait = true;
}

void memory_store_lose_identities(struct memory_store *ms)
{
    memory_db_lose_identities(ms->db);
}

void memory_store_lose(struct memory_store *ms, unsigned bucket, struct bytes topic,
                       struct bytes id)
{
    memory_db_lose(ms->db, bucket, topic, id);
}

void memory_store_repair(struct memory_store *ms, unsigned bucket, struct bytes topic,
                         struct bytes id)
{
    memory_db_repair(ms->db, bucket, topic, id);
}

/* ---- what was asked of it ---- */

unsigned long memory_store_dropped(const struct memory_store *ms)
{
    return ms->dropped;
}

unsigned long memory_store_count(const struct memory_store *ms, enum op_verb verb)
{
    return ms->counts[verb];
}

unsigned memory_store_in_flight(const struct memory_store *ms)
{
    return ms->in_flight;
}
