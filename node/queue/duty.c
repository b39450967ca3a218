#include "node/queue/duty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"

#define ENSEMBLE_LEN 33 /* of a token: its digits, and what is behind them */

struct duty_bucket {
    struct duty *duty;
    enum duty_state state;
    struct op op;
    bool is_in_flight;
    bool is_outdated; /* what is in flight: it began anew since */
};

static struct timers *timers_of(struct duty *d)
{
    return d->core->timers;
}

static unsigned number_of(const struct duty_bucket *b)
{
    return (unsigned)(b - b->duty->buckets);
}

static void ask_again_in(struct duty *d, int64_t wait_ms)
{
    if (!timer_is_armed(&d->again))
        timer_arm(timers_of(d), &d->again, wait_ms);
}

/* ---- a bucket ---- */

/* Calls out, where it opens or is not open any more. */
static void enter(struct duty_bucket *b, enum duty_state state)
{
    struct duty *d = b->duty;
    enum duty_state before = b->state;

    d->asserting -= before == DUTY_ASSERTING;
    d->asserting += state == DUTY_ASSERTING;
    b->state = state;
    if (state == DUTY_OPEN)
        d->on_open(d, number_of(b));
    else if (before == DUTY_OPEN)
        d->on_shut(d, number_of(b));
}

static void on_asserted(struct op *op);

static void assert_token(struct duty *d, struct duty_bucket *b)
{
    b->is_in_flight = true;
    b->is_outdated = false;
    b->op = (struct op){.verb = OP_FENCE,
                        .bucket = number_of(b),
                        .token = d->core->token,
                        .on_done = on_asserted};
    core_send(d->core, &b->op);
}

/* In those that have not taken it, and are not being asked. */
static void assert_tokens(struct duty *d)
{
    for (unsigned i = 0; i < d->core->store->buckets && d->asserting > 0; i++) {
        struct duty_bucket *b = &d->buckets[i];

        if (b->state != DUTY_ASSERTING || b->is_in_flight)
            continue;
        if (!core_may_act(d->core)) {
            ask_again_in(d, DUTY_AGAIN_MS);
            return;
        }
        assert_token(d, b);
    }
}

static void on_again(struct timer *timer)
{
    assert_tokens(CONTAINER_OF(timer, struct duty, again));
}

static void on_asserted(struct op *op)
{
    struct duty_bucket *b = CONTAINER_OF(op, struct duty_bucket, op);
    struct duty *d = b->duty;

    b->is_in_flight = false;
    if (b->state != DUTY_ASSERTING)
        return;
    if (op->status != STATUS_OK || b->is_outdated) {
        ask_again_in(d, b->is_outdated ? 0 : DUTY_AGAIN_MS);
        return;
    }
    if (d->asserting == 1)
        d->seen_len = 0;
    enter(b, DUTY_OPEN);
}

static bool is_reached(const struct duty *d, unsigned bucket)
{
    return (d->is_store_up || d->core->token.len == 0) && !core_is_away(d->core, bucket);
}

/* From the beginning, whatever it was. */
static void begin_bucket(struct duty *d, unsigned bucket)
{
    struct duty_bucket *b = &d->buckets[bucket];

    b->is_outdated = b->is_in_flight;
    if (!is_reached(d, bucket))
        enter(b, DUTY_SHUT);
    else
        enter(b, d->core->token.len ? DUTY_ASSERTING : DUTY_OPEN);
}

static void begin_all(struct duty *d)
{
    for (unsigned i = 0; i < d->core->store->buckets; i++)
        begin_bucket(d, i);
    assert_tokens(d);
}

static void turn_off(struct duty *d)
{
    if (d->is_on)
        LOG_DEBUG("queue", "duty: ON -> OFF");
    d->is_on = false;
    timer_disarm(timers_of(d), &d->again);
    for (unsigned i = 0; i < d->core->store->buckets; i++)
        enter(&d->buckets[i], DUTY_SHUT);
    d->on_end(d);
}

/* ---- what the leader is told ---- */

static void tell_soon(struct duty *d)
{
    timer_arm(timers_of(d), &d->news, 0);
}

static void on_news(struct timer *timer)
{
    struct duty *d = CONTAINER_OF(timer, struct duty, news);
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
static bool is_of_this_lead(const struct duty *d, struct bytes seen)
{
    struct bytes mine = d->core->token;

    return mine.len < ENSEMBLE_LEN || seen.len < ENSEMBLE_LEN ||
           memcmp(mine.at, seen.at, ENSEMBLE_LEN) != 0 || bytes_compare(seen, mine) > 0;
}

static void be_fenced(struct duty *d, struct bytes seen)
{
    assert(seen.len <= sizeof(d->seen));
    if (d->is_fenced || !is_of_this_lead(d, seen))
        return;
    /* Who tries again, every few seconds, has said so. */
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

void duty_after(struct duty *d, const struct op *op)
{
    if (!op_leads(op))
        return;
    if (op->status == STATUS_FENCED && (d->is_on || d->is_draining))
        be_fenced(d, op->out.fenced.seen);
    if (d->is_draining && d->core->leading == 0)
        tell_soon(d);
}

/* ---- its begin and its end ---- */

void duty_begin(struct duty *d, const struct queue_leader *leader)
{
    assert(!d->is_on && leader->token.len <= sizeof(d->token));
    d->leader = *leader;
    if (leader->token.len)
        memcpy(d->token, leader->token.at, leader->token.len);
    d->core->token = bytes_of(d->token, leader->token.len);
    d->core->may_act = leader->may_act;
    d->core->may_act_arg = leader->arg;
    d->is_draining = d->is_fenced = d->is_fenced_told = false;
    timer_disarm(timers_of(d), &d->news);
    d->is_on = true;
    LOG_DEBUG("queue", "duty: OFF -> ON");
    begin_all(d);
}

void duty_end(struct duty *d)
{
    turn_off(d);
    d->is_draining = true;
    if (d->core->leading == 0)
        tell_soon(d);
}

void duty_close(struct duty *d)
{
    duty_end(d);
    d->is_draining = false;
    d->is_fenced = d->is_fenced_told = true;
    timer_disarm(timers_of(d), &d->news);
}

/* Without a token there is nothing to be asserted, but all has to be looked at. */
void duty_set_store(struct duty *d, bool is_up)
{
    d->is_store_up = is_up;
    if (!d->is_on || (d->core->token.len == 0 && !is_up))
        return;
    if (d->core->token.len > 0)
        d->on_end(d);
    begin_all(d);
}

void duty_set_bucket(struct duty *d, unsigned bucket)
{
    if (!d->is_on)
        return;
    begin_bucket(d, bucket);
    assert_tokens(d);
}

void duty_init(struct duty *d, struct core *core)
{
    *d = (struct duty){.core = core};
    d->buckets = calloc(core->store->buckets, sizeof(*d->buckets));
    if (!d->buckets)
        abort();
    for (unsigned i = 0; i < core->store->buckets; i++)
        d->buckets[i].duty = d;
    timer_init(&d->again, on_again);
    timer_init(&d->news, on_news);
}

void duty_fini(struct duty *d)
{
    timer_disarm(timers_of(d), &d->again);
    timer_disarm(timers_of(d), &d->news);
    free(d->buckets);
}
