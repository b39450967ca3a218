/* What the twins do: operations at random, on few ids, so that they meet. */
#include "node/store/contract_redis.h"
#include "node/store/contract_twins.h"
#include "node/store/contract_whole.h"

#define LEASES_MAX  16 /* remembered, valid or not */
#define OWN_IDS_MAX 80
#define IDS         6

static const char *const ids[IDS] = {"a", "b", "c", "d", "e", "f"};

static struct {
    struct lease leases[LEASES_MAX]; /* ids are in `ids` or in `own` */
    unsigned lease_count;
    struct bytes own[OWN_IDS_MAX]; /* given by the store in this life */
    unsigned own_count;
    bool is_waited_for; /* the last pop of TOPIC has found too little */
    unsigned announced; /* how often TOPIC had been, then */
} known;

/* ---- what there is ---- */

static struct bytes any_topic(void)
{
    return twins_below(4) ? TOPIC : OTHER;
}

static struct bytes any_id(void)
{
    if (known.own_count && !twins_below(4))
        return known.own[twins_below(known.own_count)];
    return bytes_of_text(ids[twins_below(IDS)]);
}

static struct lease any_lease(void)
{
    if (!known.lease_count || !twins_below(8))
        return (struct lease){.id = any_id(), .stamp = 1 + twins_below(1000)};
    if (twins_below(3)) /* one of the last, which may be valid */
        return known.leases[known.lease_count - 1 - twins_below(known.lease_count) / 4];
    return known.leases[twins_below(known.lease_count)];
}

static void remember_lease(const struct job *job)
{
    if (known.lease_count == LEASES_MAX)
        memmove(known.leases, known.leases + 1, --known.lease_count * sizeof(struct lease));
    known.leases[known.lease_count++] = (struct lease){.id = job->id, .stamp = job->stamp};
}

/* At once, in some milliseconds, or in about an hour. */
static int64_t any_delay(void)
{
    return twins_below(2)   ? 0
           : twins_below(2) ? 1 + twins_below(3)
                            : FAR_MS - twins_below(1000);
}

static struct job_rules any_rules(void)
{
    static const uint32_t priorities[] = {0, 5, 5, 1023, 1024, 1025, 5000, RULES_PRIORITY_MAX};
    struct job_rules rules = rules_default;

    rules.priority = priorities[twins_below(8)];
    rules.max_tries = twins_below(2) ? 0 : 1 + twins_below(2);
    if (twins_below(2))
        rules.backoff =
            (struct backoff){.kind = twins_below(2) ? BACKOFF_FIXED : BACKOFF_EXPONENTIAL,
                             .jitter_percent = twins_below(101),
                             .base_ms = 1 + twins_below(3),
                             .cap_ms = twins_below(2) ? 0 : 3};
    return rules;
}

/* ---- one operation ---- */

static void step_push(struct bytes topic)
{
    static const int64_t ttrs_ms[] = {0, 1, 2, 800, 1500, TTR_MS};
    static char body[OP_POP_BYTES_MAX];
    struct op op = push_op(topic, "");

    if (twins_below(6))
        op.id = bytes_of_text(ids[twins_below(IDS)]);
    op.in.push.body = bytes_of(body, twins_below(3) ? twins_below(100) : twins_below(3000));
    if (!twins_below(5)) /* two of them are more than one answer holds */
        op.in.push.body = bytes_of(body, sizeof(body) / 2 + twins_below(sizeof(body) / 2));
    op.in.push.delay_ms = any_delay();
    op.in.push.ttr_ms = ttrs_ms[twins_below(6)];
    if (!twins_below(8))
        op.in.push.at_ms = 1 + twins_now() - 100 + twins_below(200);
    if (twins_below(2))
        op.in.push.rules = any_rules();
    if (!twins_below(4))
        op.in.push.ttl_ms = twins_below(2) ? 1 + twins_below(9) : FAR_MS + twins_below(1000);
    op.in.push.mode = (enum push_mode)twins_below(3);
    op = twins_run(op);
    if (op.status == STATUS_OK)
        if (op.out.push.id.len > 1 && known.own_count < OWN_IDS_MAX)
            known.own[known.own_count++] = op.out.push.id;
}

static void step_pop(struct bytes topic)
{
    struct op op = twins_run((struct op){
        .verb = OP_POP,
        .topic = topic,
        .in.pop = {.count = 1 + twins_below(4), .id_only = twins_below(2)},
    });

    for (unsigned i = 0; i < op.out.pop.count; i++)
        remember_lease(&op.out.pop.jobs[i]);
    if (bytes_equal(topic, TOPIC)) {
        known.is_waited_for = op.out.pop.count < op.in.pop.count && !op.out.pop.has_more;
        known.announced = twins_announced(TOPIC);
    }
}

/* No lease twice, callers do not do that. */
static void step_leases(struct bytes topic, enum op_verb verb)
{
    unsigned count = 0, first = twins_below(LEASES_MAX);
    bool are_neighbours = twins_below(2); /* often of one pop */
    struct lease leases[3];

    for (unsigned i = 0; i < 3; i++) {
        struct lease lease = any_lease();
        unsigned j = 0;

        if (are_neighbours && known.lease_count)
            lease = known.leases[(first + i) % known.lease_count];
        while (j < count && !bytes_equal(leases[j].id, lease.id))
            j++;
        if (j == count)
            leases[count++] = lease;
    }
    if (verb == OP_DELIVERED && !twins_below(3)) {
        leases[0].has_ttr = true;
        leases[0].ttr_ms = twins_below(2) ? 0 : 1 + twins_below(2000);
    }
    if (verb == OP_DELIVERED && twins_below(2))
        leases[0].holder = BYTES("somebody");
    twins_run((struct op){
        .verb = verb, .topic = topic, .in.leases = {.items = leases, .count = count}});
}

static void step_lease(struct bytes topic, enum op_verb verb)
{
    struct lease lease = any_lease();
    struct op op = {
        .verb = verb, .topic = topic, .id = lease.id, .in.lease.stamp = lease.stamp};

    if (verb == OP_RELEASE)
        op.in.lease.delay_ms = twins_below(3) ? any_delay() : -1;
    if (verb == OP_TOUCH)
        op.in.lease.ttr_ms = twins_below(2) ? 0 : 1 + twins_below(3);
    twins_run(op);
}

static void step_id(struct bytes topic, enum op_verb verb)
{
    struct op op = {.verb = verb, .topic = topic, .bucket = bucket_of(TOPIC), .id = any_id()};

    if (verb == OP_OWNER)
        op.topic = bytes_of("", 0);
    if (verb == OP_MOVE) {
        op.in.move.delay_ms = any_delay();
        op.in.move.states = FROM_ANYWHERE & (twins_below(2) ? ~0u : twins_below(32));
    }
    twins_run(op);
}

static void step_topics(void)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC)};

    op.in.topics.limit = 1 + twins_below(3);
    if (twins_below(2))
        op.in.topics.after = any_topic();
    twins_run(op);
}

static void step_list(struct bytes topic)
{
    struct op op = {.verb = OP_LIST, .topic = topic};

    op.in.list.state = (enum job_state)(JOB_DELAYED + twins_below(4));
    op.in.list.limit = 1 + twins_below(8);
    twins_run(op);
}

static void step_chunk(struct bytes topic, enum op_verb verb)
{
    struct op op = {.verb = verb, .topic = topic};

    op.in.chunk.state = (enum job_state)(JOB_DELAYED + twins_below(4));
    op.in.chunk.limit = 1 + twins_below(3);
    if (!twins_below(3) && (verb == OP_KICK || op.in.chunk.state == JOB_DEAD))
        op.in.chunk.before_ms = twins_now() - twins_below(3);
    twins_run(op);
}

static void step_configure(struct bytes topic)
{
    struct op op = {.verb = OP_CONFIGURE, .topic = topic};

    op.in.configure.mask = SETTING_BIT(DEAD_MAX) | SETTING_BIT(DEAD_AGE);
    op.in.configure.settings.set = twins_below(2) ? SETTING_BIT(DEAD_MAX) : 0;
    op.in.configure.settings.dead_max = twins_below(3);
    op.in.configure.has_pause = true;
    op.in.configure.pause_ms = twins_below(3) ? 0 : 1 + twins_below(5);
    twins_run(op);
}

static void step_scan(void)
{
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC)};

    op.in.scan.limit = twins_below(3) ? 1000 : 1 + twins_below(3);
    twins_run(op);
}

static long long event_of_topic_ms(void)
{
    return redis_fixture_command(contract_redis_fixture(), "EVAL %s 1 %s %b",
                                 "return tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)",
                                 contract_key('t'), TOPIC.at, TOPIC.len);
}

/* Who waits for jobs that are there has been told, or is at the end of a pause. */
static void assert_nobody_waits_in_vain(void)
{
    struct op stats = {.verb = OP_STATS, .topic = TOPIC};
    int64_t until_ms;

    if (!known.is_waited_for || known.announced != twins_announced(TOPIC))
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
    struct op pause = {.verb = OP_CONFIGURE, .topic = TOPIC}, later = id_op(OP_MOVE, "a");

    if (twins_below(4))
        return;
    pause.in.configure.has_pause = true;
    pause.in.configure.pause_ms = 30;
    later.in.move.states = FROM_ANYWHERE;
    later.in.move.delay_ms = FAR_MS;
    twins_run(pause);
    twins_run(push_op(TOPIC, "a"));
    twins_run(later);
    step_pop(TOPIC);
    twins_run(push_op(TOPIC, "b"));
    assert_nobody_waits_in_vain();
}

void twins_step(void)
{
    static const enum op_verb verbs[] = {
        OP_PUSH,      OP_PUSH,      OP_PUSH,      OP_PUSH, OP_PUSH,   OP_PUSH,   OP_PUSH,
        OP_PUSH,      OP_POP,       OP_POP,       OP_POP,  OP_POP,    OP_POP,    OP_POP,
        OP_POP,       OP_DELIVERED, OP_DELIVERED, OP_KEEP, OP_RETURN, OP_ACK,    OP_TOUCH,
        OP_TOUCH,     OP_RELEASE,   OP_RELEASE,   OP_BURY, OP_BURY,   OP_CANCEL, OP_MOVE,
        OP_MOVE,      OP_KICK,      OP_PURGE,     OP_GET,  OP_GET,    OP_LIST,   OP_LIST,
        OP_STATS,     OP_OWNER,     OP_SCAN,      OP_SCAN, OP_SCAN,   OP_SCAN,   OP_TOPICS,
        OP_CONFIGURE,
    };
    enum op_verb verb = verbs[twins_below(sizeof(verbs) / sizeof(*verbs))];
    struct bytes topic = any_topic();

    if (verb == OP_PUSH)
        step_push(topic);
    else if (verb == OP_POP)
        step_pop(topic);
    else if (op_is_of_leases(verb))
        step_leases(topic, verb);
    else if (verb == OP_ACK || verb == OP_TOUCH || verb == OP_RELEASE || verb == OP_BURY)
        step_lease(topic, verb);
    else if (verb == OP_KICK || verb == OP_PURGE)
        step_chunk(topic, verb);
    else if (verb == OP_LIST)
        step_list(topic);
    else if (verb == OP_CONFIGURE)
        step_configure(topic);
    else if (verb == OP_TOPICS)
        step_topics();
    else if (verb == OP_SCAN)
        step_scan();
    else
        step_id(topic, verb);
    assert_nobody_waits_in_vain();
}

/* ---- the end of a life ---- */

static void empty(struct bytes topic)
{
    struct op plain = {.verb = OP_CONFIGURE, .topic = topic};

    for (unsigned i = 0; i < IDS; i++)
        twins_run((struct op){.verb = OP_CANCEL, .topic = topic, .id = bytes_of_text(ids[i])});
    for (unsigned i = 0; i < known.own_count; i++)
        twins_run((struct op){.verb = OP_CANCEL, .topic = topic, .id = known.own[i]});
    plain.in.configure.mask = SETTINGS_ALL;
    plain.in.configure.has_pause = true;
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
    step_topics();
    memset(&known, 0, sizeof(known));
}
