/* As wrong.c, for whole topics: what kick, purge, list, configure, audit, repair and a scan
 * with deaths leave behind when they are refused.
 */
#include "node/store/contract/redis/plant.h"

/* ---- a key of the wrong type ---- */

/* A job with a ttl, by an id of the store's; small or big, of priority 1 or the common one. */
static struct op wide_op(bool is_big, bool is_urgent)
{
    static char body[4096];
    struct op op = push_op(TOPIC, "");

    op.in.push.body = bytes_of(body, is_big ? sizeof(body) : 10);
    op.in.push.ttl_ms = 2 * FAR_MS;
    op.in.push.bytes_max = CONTRACT_BYTES_MAX;
    if (is_urgent)
        op.in.push.rules.priority = 1;
    return op;
}

/* Four of these are dead, four ready, and two delayed; no more than one may be dead. */
static void set_a_wide_scene(void)
{
    for (unsigned i = 0; i < 4; i++) {
        struct job job = (run_well(wide_op(i & 1, i & 2)), contract_pop_indexed());

        assert_status(bury(&job), OK);
    }
    for (unsigned i = 0; i < 4; i++) {
        struct op op = wide_op(i & 1, i & 2);

        run_well(op);
        op.in.push.delay_ms = FAR_MS;
        if (i & 2)
            run_well(op);
    }
    set_dead_max(1);
}

static void no_sweep_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct op op = {.verb = OP_KICK, .topic = TOPIC, .in.chunk.limit = 10};

    set_a_wide_scene();
    contract_all_or_nothing(op, "jrxnq");
    op.in.chunk.ttl_ms = 1;
    contract_all_or_nothing(op, "jrxnqet");
    op.in.chunk.state = JOB_DELAYED;
    contract_all_or_nothing(op, "jdnq");
    op.verb = OP_PURGE;
    op.in.chunk.state = JOB_DEAD;
    contract_all_or_nothing(op, "jpxw");
    op.in.chunk.state = JOB_READY;
    contract_all_or_nothing(op, "jprqew");
    op.in.chunk.state = JOB_DELAYED;
    contract_all_or_nothing(op, "jpdew");
    pop_one();
    op.in.chunk.state = JOB_RESERVED;
    contract_all_or_nothing(op, "jvw");
}

static void no_setting_changes_when_a_key_is_wrong(void **state)
{
    struct op op = {.verb = OP_CONFIGURE, .topic = TOPIC, .in.configure.has_pause = true};
    struct op pause = pause_op(OTHER, 0, 1);

    set_a_wide_scene();
    pause_for(FAR_MS);
    contract_all_or_nothing(op, "ctar");
    op.verb = OP_SETTINGS;
    contract_all_or_nothing(op, "c");
    wait_until(run_well(pause).now_ms + 2);
    contract_all_or_nothing((struct op){.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)}, "ca");
}

static void no_repair_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct op calling = id_op(OP_REPAIR, "");

    set_a_wide_scene();
    push("lost");
    plant("DEL", 'r', "");
    contract_all_or_nothing(id_op(OP_REPAIR, "lost"), "jpdqvxern");
    contract_all_or_nothing(id_op(OP_REPAIR, ""), "jdvetaw");
    calling.in.repair.calls_scan = true;
    contract_all_or_nothing(calling, "jdveta");
    contract_all_or_nothing((struct op){.verb = OP_AUDIT, .topic = TOPIC}, "jpdqvxertaw");
}

/* Jobs that expire and jobs that are used up in the scene, and a dead job too many. */
static void no_wide_scan_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct op op = scan_op();
    struct topic_settings history = {.set = SETTING_BIT(HISTORY), .history = true};
    struct job job;

    set_a_wide_scene();
    configure(history, SETTING_BIT(HISTORY));
    push_limited("used", 1);
    job = pop_one();
    assert_status(touch(&job, 1), OK);
    push_mortal("mortal", 0, 1);
    push_delayed("due", 1);
    wait_until(store_now() + 2);
    op.in.scan.history_bytes = 100000;
    contract_all_or_nothing(op, "tcn");
    contract_stops_its_topic(op, "jdvexpw", 0);
}

/* ---- a place that names a job which is not there ---- */

static void no_orphan_is_passed_over(void **state)
{
    struct op sweep = {.verb = OP_KICK, .topic = TOPIC, .in.chunk.limit = 10};
    struct op list = {.verb = OP_LIST, .topic = TOPIC, .in.list.limit = 10};
    static const struct {
        char letter;
        enum job_state state;
    } places[] = {{'d', JOB_DELAYED}, {'v', JOB_RESERVED}, {'x', JOB_DEAD}};

    push("alive");
    for (unsigned i = 0; i < 3; i++) {
        plant_score(places[i].letter, "ghost", 1);
        list.in.list.state = places[i].state;
        contract_refused(list, 'n');
        sweep.verb = OP_PURGE;
        sweep.in.chunk.state = places[i].state;
        contract_refused(sweep, 'n');
    }
    sweep.verb = OP_KICK;
    contract_refused(sweep, 'n');
}

static void a_ttl_without_a_job_stops_its_topic_and_no_other(void **state)
{
    struct op op;

    push_mortal("lost", 0, 1);
    push_delayed("a", 1);
    plant("HDEL", 'j', "lost");
    wait_until(push_delayed_in(OTHER, "b", 1).out.push.due_ms + 1);
    op = run_well(scan_op());
    assert_int_equal(op.out.scan.stuck, 1);
    assert_int_equal(op.out.scan.moved, 1);
    assert_true(op.out.scan.wrong.len > 0);
    assert_counts(OTHER, 0, 1, 0);
    assert_int_equal(mend("lost"), DAMAGE_NO_JOB);
    assert_int_equal(run_well(scan_op()).out.scan.moved, 1);
}

/* Jobs that never expire, expire later, or are dead already: e is not believed. */
static void nobody_expires_before_the_time(void **state)
{
    static const char *const ids[] = {"never", "later", "dead"};
    struct op mortal = push_mortal("dead", 0, 1);

    scan_at(after(&mortal, 1));
    push("never");
    push_mortal("later", 0, FAR_MS);
    for (unsigned i = 0; i < 3; i++) {
        struct op op;

        plant_score('e', ids[i], 1);
        redis_fixture_command(contract_redis_fixture(), "ZADD %s 1 %b", contract_key('t'),
                              TOPIC.at, TOPIC.len);
        op = run_well(scan_op());
        assert_int_equal(op.out.scan.stuck, 1);
        assert_int_equal(op.out.scan.moved, 0);
        assert_int_not_equal(mend(ids[i]), DAMAGE_NONE);
        run_well(scan_op());
    }
    assert_state("never", JOB_READY);
    assert_state("later", JOB_READY);
    assert_dead("dead", DEATH_EXPIRED);
}

/* It has had tries before; this one was none, so it neither rests nor dies. */
static void who_never_had_a_job_uses_no_try_of_it(void **state)
{
    struct job_rules rules = {.priority = RULES_PRIORITY_DEFAULT, .max_tries = 1};
    static const char *const one_try =
        "local old = redis.call('HGET', KEYS[1], 'a') return redis.call('HSET', KEYS[1], 'a', "
        "string.sub(old, 1, 1) .. '\\0\\1' .. string.sub(old, 4))";

    rules.backoff = (struct backoff){.kind = BACKOFF_FIXED, .base_ms = FAR_MS};
    push_ruled("a", rules);
    pop_one();
    redis_fixture_command(contract_redis_fixture(), "EVAL %s 1 %s", one_try, contract_key('j'));
    assert_int_equal(get("a").tries, 1);
    plant_score('v', "a", 1);
    contract_call_scan();
    assert_int_equal(run_well(scan_op()).out.scan.expired, 1);
    assert_state("a", JOB_READY);
}

static void a_dead_job_that_is_lost_stops_the_limits_of_its_topic(void **state)
{
    static const char *const ids[] = {"lost", "a"};
    int64_t died_ms[2];

    make_dead_apart(2, ids, died_ms);
    plant("HDEL", 'j', "lost");
    set_dead_max(1);
    assert_int_equal(run_well(scan_op()).out.scan.stuck, 1);
    assert_int_equal(mend("lost"), DAMAGE_NO_JOB);
    assert_int_equal(run_well(scan_op()).out.scan.stuck, 0);
    assert_dead("a", DEATH_BURIED);
}

/* ---- a value that dueq never wrote ---- */

static void a_holder_that_is_too_long_is_cut_in_the_history(void **state)
{
    struct topic_settings history = {.set = SETTING_BIT(HISTORY), .history = true};
    struct job job = hold("a", 1);
    char value[JOB_HEADER_BYTES + 1 + JOB_HOLDER_MAX + 1];
    struct op op = scan_op(), trace = id_op(OP_TRACE, "a");

    memset(value, 'x', sizeof(value));
    job_pack_header(&job, value);
    value[0] |= (char)JOB_FLAG_HOLDER;
    value[JOB_HEADER_BYTES] = JOB_HOLDER_MAX + 1;
    configure(history, history.set);
    plant_value("a", value, sizeof(value));
    op.in.scan.history_bytes = 100000;
    wait_until(store_now() + 2);
    assert_int_equal(run_well(op).out.scan.expired, 1);
    trace.in.trace.limit = 9;
    trace = run_well(trace);
    assert_int_equal(trace.out.trace.count, 1);
    assert_int_equal(trace.out.trace.items[0].client.len, JOB_HOLDER_MAX);
}

/* ---- no rights on the channel, no memory ---- */

static void no_sweep_happens_that_cannot_be_announced(void **state)
{
    make_dead("dead");
    contract_refused_unheard((struct op){.verb = OP_KICK, .topic = TOPIC, .in.chunk.limit = 9});
    contract_refused_unheard((struct op){.verb = OP_CONFIGURE, .topic = TOPIC});
    push("lost");
    plant("DEL", 'r', "");
    contract_refused_unheard(id_op(OP_REPAIR, "lost"));
    wait_until(pause_for(1).now_ms + 2);
    contract_refused_unheard(scan_op());
}

static void a_full_redis_lets_all_that_ends_jobs_go_on(void **state)
{
    struct history_item item = {.topic = TOPIC, .id = BYTES("a")};
    struct op record = {.verb = OP_RECORD, .bucket = bucket_of(TOPIC)}, op;

    make_dead("dead");
    push_delayed("lost", FAR_MS);
    push_mortal("mortal", 0, 1);
    plant("ZREM", 'd', "lost");
    set_dead_max(9);
    record.in.record.items = &item;
    record.in.record.count = 1;
    wait_until(store_now() + 2);
    contract_fill();
    assert_status(run(push_op(TOPIC, "refused")), STORE_ERROR);
    assert_status(run(record), STORE_ERROR);
    op = run_well(scan_op());
    assert_int_equal(op.out.scan.died[DEATH_EXPIRED], 1);
    assert_int_equal(kick(1).out.chunk.count, 1);
    assert_int_equal(mend("lost"), DAMAGE_NO_PLACE);
    set_dead_max(1);
    assert_int_equal(purge(JOB_READY, 10).out.chunk.count, 1);
    assert_int_equal(purge(JOB_DELAYED, 10).out.chunk.count, 1);
    assert_int_equal(purge(JOB_DEAD, 10).out.chunk.count, 1);
}

/* Else anybody could fill Redis further, with invented topics. */
static void a_full_redis_takes_no_settings_of_one_more_topic(void **state)
{
    struct topic_settings limit = {.set = SETTING_BIT(DEAD_MAX), .dead_max = 9};

    run_well(push_op(OTHER, "a"));
    set_dead_max(1);
    contract_fill();
    assert_status(run(pause_op(OTHER, 0, FAR_MS)), STORE_ERROR);
    assert_status(run(pause_op(BYTES("made up"), 0, FAR_MS)), STORE_ERROR);
    assert_int_equal(plant("HLEN", 'c', ""), 1);
    run_well(pause_op(OTHER, 0, 0));
    run_well(pause_op(TOPIC, 0, FAR_MS));
    configure(limit, limit.set);
    run_well(pause_op(TOPIC, 0, 0));
    configure((struct topic_settings){0}, SETTINGS_ALL);
    assert_int_equal(plant("HLEN", 'c', ""), 0);
    assert_status(run(pause_op(TOPIC, 0, FAR_MS)), STORE_ERROR);
    contract_make_room();
    run_well(pause_op(OTHER, 0, FAR_MS));
}

static void settings_are_told_by_a_redis_that_refuses_to_write(void **state)
{
    struct redis_fixture *redis = contract_redis_fixture();
    struct op page = {.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)}, told, refused;

    set_dead_max(7);
    wait_until(run_well(pause_op(OTHER, 0, 1)).now_ms + 2);
    redis_fixture_command(redis, "CONFIG SET min-replicas-to-write 1");
    refused = run(push_op(TOPIC, "refused"));
    told = run(page);
    redis_fixture_command(redis, "CONFIG SET min-replicas-to-write 0");
    assert_status(refused, STORE_ERROR);
    assert_status(told, OK);
    assert_int_equal(told.out.settings.count, 1);
    assert_int_equal(told.out.settings.rows[0].settings.dead_max, 7);
    assert_int_equal(plant("HLEN", 'c', ""), 2);
    run_well(page);
    assert_int_equal(plant("HLEN", 'c', ""), 1);
}

static void nothing_stays_of_jobs_that_are_swept_away(void **state)
{
    set_a_wide_scene();
    set_dead_max(0);
    configure((struct topic_settings){0}, SETTINGS_ALL);
    for (enum job_state place = JOB_DELAYED; place <= JOB_DEAD; place++)
        while (purge(place, 1).out.chunk.has_more)
            ;
    assert_nothing_stays();
}

static const struct CMUnitTest tests[] = {
    TEST(no_sweep_changes_a_job_when_a_key_is_wrong),
    TEST(no_setting_changes_when_a_key_is_wrong),
    TEST(no_repair_changes_a_job_when_a_key_is_wrong),
    TEST(no_wide_scan_changes_a_job_when_a_key_is_wrong),
    TEST(no_orphan_is_passed_over),
    TEST(a_ttl_without_a_job_stops_its_topic_and_no_other),
    TEST(nobody_expires_before_the_time),
    TEST(who_never_had_a_job_uses_no_try_of_it),
    TEST(a_dead_job_that_is_lost_stops_the_limits_of_its_topic),
    TEST(a_holder_that_is_too_long_is_cut_in_the_history),
    TEST(no_sweep_happens_that_cannot_be_announced),
    TEST(a_full_redis_lets_all_that_ends_jobs_go_on),
    TEST(a_full_redis_takes_no_settings_of_one_more_topic),
    TEST(settings_are_told_by_a_redis_that_refuses_to_write),
    TEST(nothing_stays_of_jobs_that_are_swept_away),
};

const struct contract_part contract_wide = {tests, sizeof(tests) / sizeof(*tests)};
