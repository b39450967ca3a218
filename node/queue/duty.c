#include "node/queue/duty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"

#define ENSEMBLE_LEN 33 /* of a token: its digits, and what is behind them */

struct duty_bucket {
    struct duty *duty;
    struct op op;
    bool is_in_flight;
    bool is_done; /* in this round */
    unsigned round;
};

static void enter(struct duty *d, enum duty_state state)
{
    static const char *const words[] = {"OFF", "ASSERTING", "ON"};

    if (d->state != state)
        LOG_DEBUG("queue", "duty: %s -> %s", words[d->state], words[state]);
    d->state = state;
}

static struct timers *timers_of(struct duty *d)
{
    return d->core->timers;
}

/* ---- the token on all buckets ---- */

static void on_asserted(struct op *op);

static void assert_token(struct duty *d, struct duty_bucket *b)
{
    b->is_in_flight = true;
    b->round = d->round;
    b->op = (struct op){.verb = OP_FENCE,
                        .bucket = (unsigned)(b - d->buckets),
                        .token = d->core->token,
                        .on_done = on_asserted};
    core_send(d->core, &b->op);
}

/* Those that have not answered, and are not being asked. */
static void assert_tokens(struct duty *d)
{
    for (unsigned i = 0; d->is_store_up && i < d->core->store->buckets; i++) {
        struct duty_bucket *b = &d->buckets[i];

        if (b->is_done || b->is_in_flight)
            continue;
        if (!core_may_act(d->core)) {
            timer_arm(timers_of(d), &d->again, DUTY_AGAIN_MS);
            return;
        }
        assert_token(d, b);
    }
}

static void on_again(struct timer *timer)
{
    struct duty *d = CONTAINER_OF(timer, struct duty, again);

    if (d->state == DUTY_ASSERTING)
        assert_tokens(d);
}

static void begin_round(struct duty *d)
{
    enter(d, DUTY_ASSERTING);
    d->round++;
    d->left = d->core->store->buckets;
    for (unsigned i = 0; i < d->left; i++)
        d->buckets[i].is_done = false;
    assert_tokens(d);
}

static void on_asserted(struct op *op)
{
    struct duty_bucket *b = CONTAINER_OF(op, struct duty_bucket, op);
    struct duty *d = b->duty;

    b->is_in_flight = false;
    if (d->state != DUTY_ASSERTING)
        return;
    if (op->status != STATUS_OK || b->round != d->round) {
        if (!timer_is_armed(&d->again))
            timer_arm(timers_of(d), &d->again, b->round != d->round ? 0 : DUTY_AGAIN_MS);
        return;
    }
    b->is_done = true;
    if (--d->left > 0)
        return;
    d->seen_len = 0;
    enter(d, DUTY_ON);
    d->on_begin(d);
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
    timer_disarm(timers_of(d), &d->again);
    enter(d, DUTY_OFF);
    d->on_end(d);
    d->on_fenced(d);
    tell_soon(d);
}

void duty_after(struct duty *d, const struct op *op)
{
    if (!op_is_fenced(op->verb))
        return;
    if (op->status == STATUS_FENCED && (d->state != DUTY_OFF || d->is_draining))
        be_fenced(d, op->out.fenced.seen);
    if (d->is_draining && d->core->leading == 0)
        tell_soon(d);
}

/* ---- its begin and its end ---- */

void duty_begin(struct duty *d, const struct queue_leader *leader)
{
    assert(d->state == DUTY_OFF && leader->token.len <= sizeof(d->token));
    d->leader = *leader;
    if (leader->token.len)
        memcpy(d->token, leader->token.at, leader->token.len);
    d->core->token = bytes_of(d->token, leader->token.len);
    d->core->may_act = leader->may_act;
    d->core->may_act_arg = leader->arg;
    d->is_draining = d->is_fenced = d->is_fenced_told = false;
    timer_disarm(timers_of(d), &d->news);
    if (leader->token.len) {
        begin_round(d);
        return;
    }
    enter(d, DUTY_ON);
    d->on_begin(d);
}

void duty_end(struct duty *d)
{
    timer_disarm(timers_of(d), &d->again);
    enter(d, DUTY_OFF);
    d->on_end(d);
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
    if (d->state == DUTY_OFF)
        return;
    if (d->core->token.len == 0) {
        if (is_up)
            d->on_begin(d);
        return;
    }
    d->on_end(d);
    begin_round(d);
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
