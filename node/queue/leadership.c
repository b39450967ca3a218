#include "node/queue/leadership.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/engine.h"
#include "node/queue/scanner.h"

enum led_state { LED_SHUT, LED_ASSERTING, LED_OPEN };
enum led_answer { LED_NONE, LED_TAKES, LED_REFUSES };

struct led_bucket {
    struct leadership *leadership;
    enum led_state state;
    enum led_answer answer; /* the last one, in tries after a fence */
    struct op op;
    bool is_in_flight;
    bool is_outdated; /* what is in flight: it began anew since */
};

static struct timers *timers_of(const struct leadership *d)
{
    return d->core->timers;
}

static unsigned number_of(const struct led_bucket *b)
{
    return (unsigned)(b - b->leadership->buckets);
}

static void ask_again_in(struct leadership *d, int64_t wait_ms)
{
    if (!timer_is_armed(&d->again))
        timer_arm(timers_of(d), &d->again, wait_ms);
}

/* ---- a bucket ---- */

/* Calls out, where it opens or is not open any more. */
static void enter(struct led_bucket *b, enum led_state state)
{
    struct leadership *d = b->leadership;
    enum led_state before = b->state;

    d->asserting -= before == LED_ASSERTING;
    d->asserting += state == LED_ASSERTING;
    b->state = state;
    if (state == LED_OPEN)
        d->on_open(d, number_of(b));
    else if (before == LED_OPEN)
        d->on_shut(d, number_of(b));
}

static void on_asserted(struct op *op);

static void assert_token(struct leadership *d, struct led_bucket *b)
{
    b->is_in_flight = true;
    b->is_outdated = false;
    b->op = (struct op){.verb = OP_FENCE,
                        .bucket = number_of(b),
                        .token = d->core->token,
                        .on_done = on_asserted};
    core_send(d->core, &b->op);
}

static bool has_refused(const struct led_bucket *b)
{
    return b->leadership->is_retry && b->answer == LED_REFUSES;
}

/* Those that refused it are asked when the others have answered, or a moment later where one of
 * these does not: the first refusal ends the try, and what is due in the others is to be moved
 * before. */
static bool are_refusers_asked(const struct leadership *d)
{
    if (timers_now(timers_of(d)) >= d->refusers_from_mono_ms)
        return true;
    for (unsigned i = 0; i < d->core->store->buckets; i++)
        if (d->buckets[i].state == LED_ASSERTING && !has_refused(&d->buckets[i]))
            return false;
    return true;
}

/* In those that have not taken it, and are not being asked. */
static void assert_tokens(struct leadership *d)
{
    bool all = are_refusers_asked(d);

    for (unsigned i = 0; i < d->core->store->buckets && d->asserting > 0; i++) {
        struct led_bucket *b = &d->buckets[i];

        if (b->state != LED_ASSERTING || b->is_in_flight)
            continue;
        if (!all && has_refused(b)) {
            ask_again_in(d, LED_RETRY_MS);
            continue;
        }
        if (!core_may_act(d->core)) {
            ask_again_in(d, LED_RETRY_MS);
            return;
        }
        assert_token(d, b);
    }
}

static void on_again(struct timer *timer)
{
    assert_tokens(CONTAINER_OF(timer, struct leadership, again));
}

static void forget_fence(struct leadership *d)
{
    d->seen_len = 0;
    d->is_retry = false;
}

static void on_asserted(struct op *op)
{
    struct led_bucket *b = CONTAINER_OF(op, struct led_bucket, op);
    struct leadership *d = b->leadership;

    b->is_in_flight = false;
    if (b->state != LED_ASSERTING)
        return;
    if (op->status != STATUS_OK || b->is_outdated) {
        ask_again_in(d, b->is_outdated ? 0 : LED_RETRY_MS);
        return;
    }
    if (d->asserting == 1)
        forget_fence(d);
    enter(b, LED_OPEN);
    if (d->is_retry)
        assert_tokens(d);
}

static bool is_reached(const struct leadership *d, unsigned bucket)
{
    return (d->is_store_up || d->core->token.len == 0) && !core_is_away(d->core, bucket);
}

/* From the beginning, whatever it was. */
static void begin_bucket(struct leadership *d, unsigned bucket)
{
    struct led_bucket *b = &d->buckets[bucket];

    b->is_outdated = b->is_in_flight;
    if (!is_reached(d, bucket))
        enter(b, LED_SHUT);
    else
        enter(b, d->core->token.len ? LED_ASSERTING : LED_OPEN);
}

static void begin_all(struct leadership *d)
{
    d->refusers_from_mono_ms = timers_now(timers_of(d)) + LED_RETRY_MS;
    for (unsigned i = 0; i < d->core->store->buckets; i++)
        begin_bucket(d, i);
    assert_tokens(d);
}

static void turn_off(struct leadership *d)
{
    if (d->is_on)
        LOG_DEBUG("queue", "leadership: ON -> OFF");
    d->is_on = false;
    timer_disarm(timers_of(d), &d->again);
    for (unsigned i = 0; i < d->core->store->buckets; i++)
        enter(&d->buckets[i], LED_SHUT);
    d->on_end(d);
}

/* ---- what the leader is told ---- */

static void tell_soon(struct leadership *d)
{
    timer_arm(timers_of(d), &d->news, 0);
}

static void on_news(struct timer *timer)
{
    struct leadership *d = CONTAINER_OF(timer, struct leadership, news);
    struct queue_leader leader = d->leader;
    bool is_drained = d->is_draining && d->core->leading == 0;

    if (d->is_fenced && !d->is_fenced_told) {
        d->is_fenced_told = true;
        if (is_drained)
            tell_soon(d);
        if (leader.on_fenced)
            leader.on_fenced(leader.arg, bytes_of(d->seen, d->seen_len));
    } else if (is_drained) {
        d->is_draining = false;
        if (leader.on_drained)
            leader.on_drained(leader.arg);
    }
}

/* An answer to what was sent in an earlier lead of this node says nothing of this one. */
static bool is_of_this_lead(const struct leadership *d, struct bytes seen)
{
    struct bytes mine = d->core->token;

    return !bytes_equal(op_token_ensemble(mine), op_token_ensemble(seen)) ||
           bytes_compare(seen, mine) > 0;
}

static void be_fenced(struct leadership *d, struct bytes seen)
{
    assert(seen.len <= sizeof(d->seen));
    if (d->is_fenced || !is_of_this_lead(d, seen))
        return;
    /* A leader that tries again, every few seconds, has said so. */
    LOG_AT(bytes_equal(seen, bytes_of(d->seen, d->seen_len)) ? LEVEL_DEBUG : LEVEL_ERROR,
           "queue", "this node is fenced: the store has seen the token %.*s%s", BYTES_ARG(seen),
           d->core->token.len ? "" : ", and this node has none");
    d->is_fenced = true;
    memcpy(d->seen, seen.at, seen.len);
    d->seen_len = seen.len;
    turn_off(d);
    d->on_fenced(d);
    tell_soon(d);
}

/* ---- divided buckets ---- */

static unsigned count_answers(const struct leadership *d, enum led_answer answer)
{
    unsigned count = 0;

    for (unsigned i = 0; i < d->core->store->buckets; i++)
        count += d->buckets[i].answer == answer;
    return count;
}

/* The answers of later tries take the place of those of the first. */
static void begin_retry(struct leadership *d)
{
    for (unsigned i = 0; i < d->core->store->buckets && !d->is_retry; i++)
        d->buckets[i].answer = LED_NONE;
    d->is_retry = d->seen_len > 0;
}

static void note_answer(struct leadership *d, const struct op *op)
{
    struct led_bucket *b = &d->buckets[op->bucket];

    if (!d->is_retry)
        return;
    if (op->status == STATUS_OK)
        b->answer = LED_TAKES;
    else if (op->status == STATUS_FENCED)
        b->answer = LED_REFUSES;
    if (d->is_on && count_answers(d, LED_TAKES) == d->core->store->buckets)
        forget_fence(d);
}

unsigned leadership_divided(const struct leadership *d, struct bytes *seen)
{
    unsigned refusing = d->is_retry ? count_answers(d, LED_REFUSES) : 0;

    *seen = bytes_of(d->seen, d->seen_len);
    return count_answers(d, LED_TAKES) > 0 ? refusing : 0;
}

void leadership_after(struct leadership *d, const struct op *op)
{
    if (!op_leads(op))
        return;
    note_answer(d, op);
    if (op->status == STATUS_FENCED && (d->is_on || d->is_draining))
        be_fenced(d, op->out.fenced.seen);
    if (op->status == STATUS_OK && d->is_on)
        d->has_led = true;
    if (d->is_draining && d->core->leading == 0)
        tell_soon(d);
}

/* ---- its begin and its end ---- */

static void leadership_begin(struct leadership *d, const struct queue_leader *leader)
{
    assert(!d->is_on && leader->token.len <= sizeof(d->token));
    d->leader = *leader;
    if (leader->token.len)
        memcpy(d->token, leader->token.at, leader->token.len);
    d->core->token = bytes_of(d->token, leader->token.len);
    d->core->may_act = leader->may_act;
    d->core->may_act_arg = leader->arg;
    d->is_draining = d->is_fenced = d->is_fenced_told = d->has_led = false;
    timer_disarm(timers_of(d), &d->news);
    begin_retry(d);
    d->is_on = true;
    LOG_DEBUG("queue", "leadership: OFF -> ON");
    begin_all(d);
}

static void leadership_end(struct leadership *d)
{
    turn_off(d);
    d->is_draining = true;
    if (d->core->leading == 0)
        tell_soon(d);
}

static void leadership_close(struct leadership *d)
{
    leadership_end(d);
    d->is_draining = false;
    d->is_fenced = d->is_fenced_told = true;
    timer_disarm(timers_of(d), &d->news);
}

/* Without a token there is nothing to be asserted, but all has to be looked at. */
void leadership_set_store(struct leadership *d, bool is_up)
{
    d->is_store_up = is_up;
    if (!d->is_on || (d->core->token.len == 0 && !is_up))
        return;
    if (d->core->token.len > 0)
        d->on_end(d);
    begin_all(d);
}

void leadership_set_bucket(struct leadership *d, unsigned bucket)
{
    if (!d->is_on)
        return;
    begin_bucket(d, bucket);
    assert_tokens(d);
}

void leadership_init(struct leadership *d, struct core *core)
{
    *d = (struct leadership){.core = core};
    d->buckets = calloc(core->store->buckets, sizeof(*d->buckets));
    if (!d->buckets)
        abort();
    for (unsigned i = 0; i < core->store->buckets; i++)
        d->buckets[i].leadership = d;
    timer_init(&d->again, on_again);
    timer_init(&d->news, on_news);
}

void leadership_fini(struct leadership *d)
{
    timer_disarm(timers_of(d), &d->again);
    timer_disarm(timers_of(d), &d->news);
    free(d->buckets);
}

/* ---- lifecycle ---- */

static void enter_lifecycle(struct queue *q, enum lifecycle_state state)
{
    static const char *const words[LIFECYCLE_STATE_COUNT] = {
        [LIFECYCLE_STANDBY] = "STANDBY",
        [LIFECYCLE_ACTIVE] = "ACTIVE",
        [LIFECYCLE_STOPPING] = "STOPPING",
        [LIFECYCLE_STOPPED] = "STOPPED",
    };

    LOG_DEBUG("queue", "%s -> %s", words[q->life.state], words[state]);
    q->life.state = state;
}

/* ---- the leadership of one node at a time ---- */

static struct queue *queue_of(struct leadership *d)
{
    return CONTAINER_OF(d, struct queue, leadership);
}

static bool is_sharing(const struct queue *q)
{
    return q->scanner.sharing != NULL;
}

/* Also of one that is open: after the store was away all is looked at. */
void lifecycle_open_bucket(struct leadership *d, unsigned bucket)
{
    struct queue *q = queue_of(d);

    if (!is_sharing(q))
        scanner_begin(&q->scanner, bucket);
    if (!q->reconciler.is_active)
        reconciler_set_active(&q->reconciler, true);
}

void lifecycle_shut_bucket(struct leadership *d, unsigned bucket)
{
    struct queue *q = queue_of(d);

    if (!is_sharing(q))
        scanner_end(&q->scanner, bucket);
}

void lifecycle_end_leadership(struct leadership *d)
{
    reconciler_set_active(&queue_of(d)->reconciler, false);
}

void lifecycle_fenced(struct leadership *d)
{
    struct queue *q = queue_of(d);

    if (q->life.state == LIFECYCLE_ACTIVE)
        enter_lifecycle(q, LIFECYCLE_STANDBY);
}

void queue_activate(struct queue *q)
{
    static const struct queue_leader alone = {.token = {"", 0}};

    queue_lead(q, &alone);
}

void queue_lead(struct queue *q, const struct queue_leader *leader)
{
    if (q->life.state != LIFECYCLE_STANDBY)
        return;
    enter_lifecycle(q, LIFECYCLE_ACTIVE);
    if (!is_sharing(q))
        LOG_AT(q->leadership.seen_len ? LEVEL_DEBUG : LEVEL_INFO, "queue",
               "moving what is due, in %u buckets", q->core.store->buckets);
    leadership_begin(&q->leadership, leader);
}

unsigned queue_divided(const struct queue *q, struct bytes *seen)
{
    return leadership_divided(&q->leadership, seen);
}

bool queue_has_led(const struct queue *q)
{
    return q->leadership.is_on && q->leadership.has_led;
}

void queue_deactivate(struct queue *q)
{
    if (lifecycle_is_over(q))
        return;
    if (q->life.state == LIFECYCLE_ACTIVE)
        enter_lifecycle(q, LIFECYCLE_STANDBY);
    leadership_end(&q->leadership);
}

/* ---- all nodes scan ---- */

static void scan_if_reached(struct queue *q, unsigned bucket)
{
    if (core_is_away(&q->core, bucket))
        scanner_end(&q->scanner, bucket);
    else
        scanner_begin(&q->scanner, bucket);
}

static void scan_all_reached(struct queue *q)
{
    for (unsigned i = 0; i < q->core.store->buckets; i++)
        scan_if_reached(q, i);
}

void queue_share(struct queue *q, const struct shares_view *view)
{
    bool is_first = !is_sharing(q);

    if (lifecycle_is_over(q))
        return;
    LOG_INFO("queue", "view %" PRIu64 ": %u nodes scan", view->number, view->count);
    hints_share(&q->hints);
    scanner_share(&q->scanner, view);
    if (is_first)
        scan_all_reached(q);
}

struct shares *queue_shares(struct queue *q)
{
    return is_sharing(q) ? q->scanner.sharing->shares : NULL;
}

/* Also while it is down it may answer, and only have no wake-ups for this node. */
void lifecycle_on_up(struct queue *q)
{
    if (is_sharing(q) && !lifecycle_is_over(q))
        scan_all_reached(q);
}

void lifecycle_on_bucket(struct queue *q, unsigned bucket)
{
    if (is_sharing(q) && !lifecycle_is_over(q))
        scan_if_reached(q, bucket);
}

/* ---- the stop ---- */

bool lifecycle_is_over(const struct queue *q)
{
    return q->life.state >= LIFECYCLE_STOPPING;
}

static void take_nothing_new(struct queue *q)
{
    leadership_close(&q->leadership);
    scanner_end_all(&q->scanner);
    waiters_cancel_all(&q->waiters);
    feed_cancel_all(&q->feed);
    censuses_close(&q->censuses);
    sweeps_cancel_all(&q->sweeps);
    traces_cancel_all(&q->traces);
    reconciler_close(&q->reconciler);
    settings_reader_close(&q->settings_reader);
    deliveries_close(&q->deliveries);
}

static bool is_idle(const struct queue *q)
{
    return core_is_idle(&q->core) && q->waiters.count == 0 && q->feed.count == 0 &&
           q->censuses.count == 0 && sweeps_are_idle(&q->sweeps) &&
           traces_are_idle(&q->traces) && deliveries_are_idle(&q->deliveries);
}

void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg)
{
    assert(!lifecycle_is_over(q));
    enter_lifecycle(q, LIFECYCLE_STOPPING);
    q->life.on_stopped = on_stopped;
    q->life.stopped_arg = arg;
    take_nothing_new(q);
    lifecycle_check_stopped(q);
}

void lifecycle_check_stopped(struct queue *q)
{
    if (q->life.state != LIFECYCLE_STOPPING || timer_is_armed(&q->life.stopped))
        return;
    if (q->deliveries.pending_count > 0)
        deliveries_flush(&q->deliveries);
    history_flush(&q->history);
    if (is_idle(q))
        timer_arm(q->core.timers, &q->life.stopped, 0);
}

static void on_idle(struct timer *timer)
{
    struct queue *q = CONTAINER_OF(timer, struct queue, life.stopped);

    enter_lifecycle(q, LIFECYCLE_STOPPED);
    if (q->life.on_stopped)
        q->life.on_stopped(q->life.stopped_arg);
}

void lifecycle_init(struct queue *q)
{
    q->life = (struct lifecycle){.state = LIFECYCLE_STANDBY};
    timer_init(&q->life.stopped, on_idle);
}

void lifecycle_fini(struct queue *q)
{
    timer_disarm(q->core.timers, &q->life.stopped);
}
