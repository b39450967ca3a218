/* Chooses the twins' next step; and checks that no consumer waits for a job that is there
 * already. */
#include "node/store/contract/redis/redis.h"
#include "node/store/contract/redis/steps.h"
#include "node/store/contract/whole.h"

static struct {
    bool is_waited_for; /* the last pop of TOPIC has found too little */
    unsigned announced; /* how often TOPIC had been, then */
} waiting;

static void step_pop(enum op_verb verb, struct bytes topic)
{
    struct op op = twins_run((struct op){
        .verb = verb,
        .topic = topic,
        .in.pop = {.count = 1 + twins_below(4),
                   .id_only = twins_below(2),
                   .is_owned = twins_below(2)},
    });

    for (unsigned i = 0; i < op.out.pop.count; i++)
        remember_lease(&op.out.pop.jobs[i]);
    if (bytes_equal(topic, TOPIC)) {
        waiting.is_waited_for = !op.out.pop.has_more;
        waiting.announced = twins_announced(TOPIC);
    }
}

static long long event_of_topic_ms(void)
{
    return redis_fixture_command(contract_redis_fixture(), "EVAL %s 1 %s %b",
                                 "return tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)",
                                 contract_key('t'), TOPIC.at, TOPIC.len);
}

/* A consumer that waits while jobs are there has been told of them, or will be at the end of a
 * pause. */
static void assert_nobody_waits_in_vain(void)
{
    struct op stats = {.verb = OP_STATS, .topic = TOPIC};
    int64_t until_ms;

    if (!waiting.is_waited_for || waiting.announced != twins_announced(TOPIC))
        return;
    if (!run_well(stats).out.stats.ready)
        return;
    until_ms = settings_of(TOPIC).paused_until_ms;
    assert_int_not_equal(until_ms, 0);
    if (until_ms != SETTINGS_FOREVER)
        assert_in_range(event_of_topic_ms(), 1, until_ms);
}

void twins_begin(void)
{
    struct op later = id_op(OP_MOVE, "a");

    if (twins_below(4))
        return;
    later.in.move.states = FROM_ANYWHERE;
    later.in.move.delay_ms = FAR_MS;
    twins_run(pause_op(TOPIC, 0, 30));
    twins_run(push_op(TOPIC, "a"));
    twins_run(later);
    step_pop(OP_POP, TOPIC);
    twins_run(push_op(TOPIC, "b"));
    assert_nobody_waits_in_vain();
}

/* How often of all, and by which step. */
static const struct choice {
    enum op_verb verb;
    unsigned weight;
    void (*step)(enum op_verb verb, struct bytes topic);
} choices[] = {
    {OP_PUSH, 9, step_push},
    {OP_PUSH, 3, step_together},
    {OP_ACK, 2, step_together},
    {OP_RELEASE, 2, step_together},
    {OP_POP, 8, step_pop},
    {OP_DELIVERED, 2, step_leases},
    {OP_KEEP, 1, step_leases},
    {OP_RETURN, 1, step_leases},
    {OP_ACK, 1, step_lease},
    {OP_TOUCH, 2, step_lease},
    {OP_RELEASE, 2, step_lease},
    {OP_BURY, 2, step_lease},
    {OP_CANCEL, 1, step_id},
    {OP_MOVE, 2, step_id},
    {OP_GET, 2, step_id},
    {OP_OWNER, 1, step_id},
    {OP_TAKE, 2, step_take},
    {OP_NOTES, 2, step_notes},
    {OP_KICK, 1, step_chunk},
    {OP_PURGE, 1, step_chunk},
    {OP_LIST, 4, step_list},
    {OP_STATS, 1, step_topic},
    {OP_TOPICS, 1, step_topics},
    {OP_CONFIGURE, 1, step_configure},
    {OP_SETTINGS, 1, step_topic},
    {OP_SCAN, 4, step_scan},
    {OP_RECORD, 1, step_record},
    {OP_TRACE, 2, step_trace},
    {OP_IDENTIFY, 3, step_identify},
    {OP_IDENTITIES, 2, step_identities},
};

#define CHOICES (sizeof(choices) / sizeof(*choices))

static const struct choice *any_choice(void)
{
    unsigned all = 0, left;
    size_t i = 0;

    for (size_t k = 0; k < CHOICES; k++)
        all += choices[k].weight;
    for (left = twins_below(all); left >= choices[i].weight; i++)
        left -= choices[i].weight;
    return &choices[i];
}

void twins_step(void)
{
    const struct choice *choice = any_choice();

    choice->step(choice->verb, any_topic());
    assert_nobody_waits_in_vain();
}

/* ---- the end of a life ---- */

static void empty(struct bytes topic)
{
    struct op plain = pause_op(topic, 0, 0);

    cancel_all(topic);
    plain.in.configure.mask = SETTINGS_ALL;
    twins_run(plain);
    assert_int_equal(
        twins_run((struct op){.verb = OP_POP, .topic = topic, .in.pop.count = BATCH_MAX})
            .out.pop.count,
        0);
    twins_run((struct op){.verb = OP_STATS, .topic = topic});
}

void twins_empty(void)
{
    empty(TOPIC);
    empty(OTHER);
    step_topics(OP_TOPICS, TOPIC);
    forget_jobs();
    forget_list();
    memset(&waiting, 0, sizeof(waiting));
}
