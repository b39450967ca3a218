#include "node/queue/leadership.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"

enum led_state { LED_SHUT, LED_ASSERTING, LED_OPEN };
enum led_answer { LED_NONE, LED_TAKES, LED_REFUSES };

struct led_bucket {
    struct leadership *leadership;
    enum led_state state;
    enum led_answer answer; /* the last one, in tries after a fence */
    struct op op;
    bool is_in_flight;
    bool is_outdated; /* the op in flight: the bucket began anew since */
};

static struct timers *timers_of(const struct leadership *l)
{
    return l->core->timers;
}

static unsigned number_of(const struct led_bucket *b)
{
    return (unsigned)(b - b->leadership->buckets);
}

static void ask_again_in(struct leadership *l, int64_t wait_ms)
{
    if (!timer_is_armed(&l->again))
        timer_arm(timers_of(l), &l->again, wait_ms);
}

/* ---- a bucket ---- */

/* Calls out where the bucket opens, or is open no more. */
static void enter(struct led_bucket *b, enum led_state state)
{
    struct leadership *l = b->leadership;
    enum led_state before = b->state;

    l->asserting -= before == LED_ASSERTING;
    l->asserting += state == LED_ASSERTING;
    b->state = state;
    if (state == LED_OPEN)
        l->on_open(l, number_of(b));
    else if (before == LED_OPEN)
        l->on_shut(l, number_of(b));
}

static void on_asserted(struct op *op);

static void assert_token(struct leadership *l, struct led_bucket *b)
{
    b->is_in_flight = true;
    b->is_outdated = false;
    b->op = (struct op){.verb = OP_FENCE,
                        .bucket = number_of(b),
                        .token = l->core->token,
                        .on_done = on_asserted};
    core_send(l->core, &b->op);
}

static bool has_refused(const struct led_bucket *b)
{
    return b->leadership->is_retry && b->answer == LED_REFUSES;
}

/* Buckets that refused the token are asked when the others have answered, or a moment later
 * where one of the others does not: the first refusal ends the try, and due jobs of the others
 * are to be moved before. */
static bool are_refusers_asked(const struct leadership *l)
{
    if (timers_now(timers_of(l)) >= l->refusers_from_mono_ms)
        return true;
    for (unsigned i = 0; i < l->core->store->buckets; i++)
        if (l->buckets[i].state == LED_ASSERTING && !has_refused(&l->buckets[i]))
            return false;
    return true;
}

/* In buckets that have not taken the token, and are not being asked. */
static void assert_tokens(struct leadership *l)
{
    bool all = are_refusers_asked(l);

    for (unsigned i = 0; i < l->core->store->buckets && l->asserting > 0; i++) {
        struct led_bucket *b = &l->buckets[i];

        if (b->state != LED_ASSERTING || b->is_in_flight)
            continue;
        if (!all && has_refused(b)) {
            ask_again_in(l, LED_RETRY_MS);
            continue;
        }
        if (!core_may_act(l->core)) {
            ask_again_in(l, LED_RETRY_MS);
            return;
        }
        assert_token(l, b);
    }
}

static void on_again(struct timer *timer)
{
    assert_tokens(CONTAINER_OF(timer, struct leadership, again));
}

static void forget_fence(struct leadership *l)
{
    l->seen_len = 0;
    l->is_retry = false;
}

static void on_asserted(struct op *op)
{
    struct led_bucket *b = CONTAINER_OF(op, struct led_bucket, op);
    struct leadership *l = b->leadership;

    b->is_in_flight = false;
    if (b->state != LED_ASSERTING)
        return;
    if (op->status != STATUS_OK || b->is_outdated) {
        ask_again_in(l, b->is_outdated ? 0 : LED_RETRY_MS);
        return;
    }
    if (l->asserting == 1)
        forget_fence(l);
    enter(b, LED_OPEN);
    if (l->is_retry)
        assert_tokens(l);
}

/* From the beginning, whatever its state was. */
static void begin_bucket(struct leadership *l, unsigned bucket)
{
    struct led_bucket *b = &l->buckets[bucket];

    b->is_outdated = b->is_in_flight;
    if ((l->core->token.len && !l->is_store_up) || core_is_away(l->core, bucket))
        enter(b, LED_SHUT);
    else
        enter(b, l->core->token.len ? LED_ASSERTING : LED_OPEN);
}

static void begin_all(struct leadership *l)
{
    l->refusers_from_mono_ms = timers_now(timers_of(l)) + LED_RETRY_MS;
    for (unsigned i = 0; i < l->core->store->buckets; i++)
        begin_bucket(l, i);
    assert_tokens(l);
}

static void turn_off(struct leadership *l)
{
    if (l->is_on)
        LOG_DEBUG("queue", "leadership: ON -> OFF");
    l->is_on = false;
    timer_disarm(timers_of(l), &l->again);
    for (unsigned i = 0; i < l->core->store->buckets; i++)
        enter(&l->buckets[i], LED_SHUT);
    l->on_end(l);
}

/* ---- what the leader is told ---- */

static void tell_soon(struct leadership *l)
{
    timer_arm(timers_of(l), &l->news, 0);
}

static void on_news(struct timer *timer)
{
    struct leadership *l = CONTAINER_OF(timer, struct leadership, news);
    struct queue_leader leader = l->leader;
    bool is_drained = l->is_draining && l->core->leading == 0;

    if (l->is_fenced && !l->is_fenced_told) {
        l->is_fenced_told = true;
        if (is_drained)
            tell_soon(l);
        if (leader.on_fenced)
            leader.on_fenced(leader.arg, bytes_of(l->seen, l->seen_len));
    } else if (is_drained) {
        l->is_draining = false;
        if (leader.on_drained)
            leader.on_drained(leader.arg);
    }
}

/* An answer to an operation of this node's earlier lead says nothing of this lead. */
static bool is_of_this_lead(const struct leadership *l, struct bytes seen)
{
    struct bytes mine = l->core->token;

    return !bytes_equal(op_token_ensemble(mine), op_token_ensemble(seen)) ||
           bytes_compare(seen, mine) > 0;
}

static void be_fenced(struct leadership *l, struct bytes seen)
{
    assert(seen.len <= sizeof(l->seen));
    if (l->is_fenced || !is_of_this_lead(l, seen))
        return;
    /* A leader that tries again every few seconds has logged this before. */
    LOG_AT(bytes_equal(seen, bytes_of(l->seen, l->seen_len)) ? LEVEL_DEBUG : LEVEL_ERROR,
           "queue", "this node is fenced: the store has seen the token %.*s%s", BYTES_ARG(seen),
           l->core->token.len ? "" : ", and this node has none");
    l->is_fenced = true;
    memcpy(l->seen, seen.at, seen.len);
    l->seen_len = seen.len;
    turn_off(l);
    l->on_fenced(l);
    tell_soon(l);
}

/* ---- divided buckets ---- */

static unsigned count_answers(const struct leadership *l, enum led_answer answer)
{
    unsigned count = 0;

    for (unsigned i = 0; i < l->core->store->buckets; i++)
        count += l->buckets[i].answer == answer;
    return count;
}

/* The answers of later tries take the place of those of the first. */
static void begin_retry(struct leadership *l)
{
    for (unsigned i = 0; i < l->core->store->buckets && !l->is_retry; i++)
        l->buckets[i].answer = LED_NONE;
    l->is_retry = l->seen_len > 0;
}

static void note_answer(struct leadership *l, const struct op *op)
{
    struct led_bucket *b = &l->buckets[op->bucket];

    if (!l->is_retry)
        return;
    if (op->status == STATUS_OK)
        b->answer = LED_TAKES;
    else if (op->status == STATUS_FENCED)
        b->answer = LED_REFUSES;
    if (l->is_on && count_answers(l, LED_TAKES) == l->core->store->buckets)
        forget_fence(l);
}

unsigned leadership_divided(const struct leadership *l, struct bytes *seen)
{
    unsigned refusing = l->is_retry ? count_answers(l, LED_REFUSES) : 0;

    *seen = bytes_of(l->seen, l->seen_len);
    return count_answers(l, LED_TAKES) > 0 ? refusing : 0;
}

void leadership_after(struct leadership *l, const struct op *op)
{
    if (!op_leads(op))
        return;
    note_answer(l, op);
    if (op->status == STATUS_FENCED && (l->is_on || l->is_draining))
        be_fenced(l, op->out.fenced.seen);
    if (op->status == STATUS_OK && l->is_on)
        l->has_led = true;
    if (l->is_draining && l->core->leading == 0)
        tell_soon(l);
}

/* ---- its begin and its end ---- */

void leadership_begin(struct leadership *l, const struct queue_leader *leader)
{
    assert(!l->is_on && leader->token.len <= sizeof(l->token));
    l->leader = *leader;
    if (leader->token.len)
        memcpy(l->token, leader->token.at, leader->token.len);
    l->core->token = bytes_of(l->token, leader->token.len);
    l->core->may_act = leader->may_act;
    l->core->may_act_arg = leader->arg;
    l->is_draining = l->is_fenced = l->is_fenced_told = l->has_led = false;
    timer_disarm(timers_of(l), &l->news);
    begin_retry(l);
    l->is_on = true;
    LOG_DEBUG("queue", "leadership: OFF -> ON");
    begin_all(l);
}

void leadership_end(struct leadership *l)
{
    turn_off(l);
    l->is_draining = true;
    if (l->core->leading == 0)
        tell_soon(l);
}

void leadership_close(struct leadership *l)
{
    leadership_end(l);
    l->is_draining = false;
    l->is_fenced = l->is_fenced_told = true;
    timer_disarm(timers_of(l), &l->news);
}

/* Without a token nothing is asserted, but all buckets are looked at. */
void leadership_set_store(struct leadership *l, bool is_up)
{
    l->is_store_up = is_up;
    if (!l->is_on || (l->core->token.len == 0 && !is_up))
        return;
    if (l->core->token.len > 0)
        l->on_end(l);
    begin_all(l);
}

void leadership_set_bucket(struct leadership *l, unsigned bucket)
{
    if (!l->is_on)
        return;
    begin_bucket(l, bucket);
    assert_tokens(l);
}

void leadership_init(struct leadership *l, struct core *core)
{
    *l = (struct leadership){.core = core};
    l->buckets = must(calloc(core->store->buckets, sizeof(*l->buckets)));
    for (unsigned i = 0; i < core->store->buckets; i++)
        l->buckets[i].leadership = l;
    timer_init(&l->again, on_again);
    timer_init(&l->news, on_news);
}

void leadership_fini(struct leadership *l)
{
    timer_disarm(timers_of(l), &l->again);
    timer_disarm(timers_of(l), &l->news);
    free(l->buckets);
}
