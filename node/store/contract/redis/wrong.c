/* Data that contradicts itself: a script that ends in an error has changed no job.
 *
 * For every script and every key it uses, that key is made to be of a type which no script
 * expects; then the operation must be refused, and all other keys must be what they were. (Only
 * the counter may have grown.)
 */
#include "node/store/contract/locks.h"
#include "node/store/contract/redis/plant.h"

#include <stdio.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/wire/encode.h"

static void no_push_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct op op = large_op("new");

    contract_set_the_scene();
    contract_all_or_nothing(op, "jprn");
    op.in.push.is_indexed = true;
    contract_all_or_nothing(op, "jprno");
    op.in.push.delay_ms = 100;
    contract_all_or_nothing(op, "jpdt");
    op.id = BYTES("");
    contract_all_or_nothing(op, "jpdtn");
    op.in.push.delay_ms = 0;
    contract_all_or_nothing(op, "jprn");
}

static void no_pop_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 9, .id_only = true}};

    contract_set_the_scene();
    contract_all_or_nothing(op, "jprvtno");
    op.in.pop.is_owned = true;
    contract_all_or_nothing(op, "jprvtnoz");
}

static void no_delivery_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct contract_scene scene = contract_set_the_scene();
    struct lease leases[] = {{.id = scene.small.id, .stamp = scene.small.stamp},
                             {.id = scene.big.id, .stamp = scene.big.stamp},
                             {.id = scene.done.id, .stamp = scene.done.stamp}};
    struct op op = {
        .verb = OP_DELIVERED, .topic = TOPIC, .in.leases = {.items = leases, .count = 3}};

    contract_all_or_nothing(op, "jpvtow");
    op.in.leases.is_owned = true;
    contract_all_or_nothing(op, "jpvtowz");
    op.in.leases.is_owned = false;
    op.verb = OP_KEEP;
    contract_all_or_nothing(op, "jvt");
    op.verb = OP_RETURN;
    contract_all_or_nothing(op, "jrvn");
    op.in.leases.is_owned = true;
    contract_all_or_nothing(op, "jrvnz");
}

static void no_verb_of_a_lease_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct contract_scene scene = contract_set_the_scene();
    struct op op = lease_op(OP_ACK, &scene.big);

    contract_all_or_nothing(op, "jpvow");
    op.verb = OP_TOUCH;
    contract_all_or_nothing(op, "jvt");
    op.verb = OP_RELEASE;
    contract_all_or_nothing(op, "jrvn");
    op.in.lease.delay_ms = 10;
    contract_all_or_nothing(op, "jdvt");
}

static void no_verb_of_an_owned_lease_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct contract_scene scene = contract_set_the_scene();
    struct op ops[] = {lease_op(OP_ACK, &scene.big), lease_op(OP_ACK, &scene.small)};

    ops[0].in.lease.is_owned = ops[1].in.lease.is_owned = true;
    contract_all_or_nothing(ops[0], "jpvowz");
    contract_all_or_nothing_together(ops, 2, "jpvowz");
    ops[0].verb = ops[1].verb = OP_RELEASE;
    contract_all_or_nothing(ops[0], "jrvnz");
    contract_all_or_nothing_together(ops, 2, "jrvnz");
    ops[0].verb = OP_BURY;
    contract_all_or_nothing(ops[0], "jvtxz");
    ops[0].in.lease.stamp = 1; /* over: nothing but the note would change */
    contract_all_or_nothing(ops[0], "z");
    ops[0].verb = OP_ACK;
    contract_all_or_nothing(ops[0], "z");
}

static void no_beat_counts_when_the_key_is_wrong(void **state)
{
    struct op op = {.verb = OP_BEAT, .bucket = bucket_of(TOPIC), .in.beat.is_there = true};
    struct op notes = {.verb = OP_NOTES, .bucket = bucket_of(TOPIC)};

    contract_all_or_nothing(op, "m");
    op.in.beat.age_ms = 1;
    contract_all_or_nothing(op, "m");
    notes.in.notes.worker = own_worker();
    notes.in.notes.limit = 1;
    contract_all_or_nothing(notes, "z");
}

static void no_verb_of_two_leases_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct contract_scene scene = contract_set_the_scene();
    struct op ops[] = {lease_op(OP_ACK, &scene.big), lease_op(OP_ACK, &scene.small)};

    contract_all_or_nothing_together(ops, 2, "jpvow");
    ops[0].verb = ops[1].verb = OP_RELEASE;
    contract_all_or_nothing_together(ops, 2, "jrvn");
    ops[1].in.lease.delay_ms = 10;
    contract_all_or_nothing_together(ops, 2, "jrdvn");
    ops[0].in.lease.delay_ms = 20;
    contract_all_or_nothing_together(ops, 2, "jdvt");
}

static void no_two_pushes_add_a_job_when_a_key_is_wrong(void **state)
{
    struct op ops[] = {large_op("a"), push_op(TOPIC, "")};

    ops[0].in.push.bytes_max = ops[1].in.push.bytes_max = CONTRACT_BYTES_MAX;
    contract_all_or_nothing_together(ops, 2, "ra"); /* the topic begins */
    contract_set_the_scene();
    contract_all_or_nothing_together(ops, 2, "jprnw");
    ops[0].in.push.delay_ms = 1;
    contract_all_or_nothing_together(ops, 2, "jpdrtnw");
    ops[0].in.push.is_indexed = ops[1].in.push.is_indexed = true;
    contract_all_or_nothing_together(ops, 2, "jpdrtnwo");
}

static void no_cancel_changes_a_job_when_a_key_is_wrong(void **state)
{
    contract_set_the_scene();
    contract_all_or_nothing(id_op(OP_CANCEL, "big"), "jpvow");
    contract_all_or_nothing(id_op(OP_CANCEL, "due"), "jpdw");
    contract_all_or_nothing(id_op(OP_CANCEL, "ready"), "jpw");
}

/* Where the topic itself comes or goes. */
static void no_topic_begins_or_ends_when_a_key_is_wrong(void **state)
{
    struct job job;

    contract_all_or_nothing(push_op(TOPIC, "new"), "ra");
    push_delayed("a", FAR_MS);
    contract_all_or_nothing(id_op(OP_CANCEL, "a"), "jdta");
    assert_status(cancel("a"), OK);
    job = hold("b", 1);
    assert_status(ack(&job), OK);
    wait_until(store_now() + 2);
    contract_all_or_nothing(scan_op(), "t");
    contract_stops_its_topic(scan_op(), "a", 0);
}

static void no_look_succeeds_when_a_key_is_wrong(void **state)
{
    contract_set_the_scene();
    contract_all_or_nothing(id_op(OP_GET, "big"), "jp");
    contract_all_or_nothing(id_op(OP_STATS, ""), "jdrvxq");
    contract_all_or_nothing((struct op){.verb = OP_TOPICS,
                                        .bucket = bucket_of(TOPIC),
                                        .in.topics.limit = OP_TOPICS_MAX},
                            "a");
}

static void a_key_of_a_wrong_type_hides_no_other_topic(void **state)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC)};

    op.in.topics.limit = OP_TOPICS_MAX;
    run_well(push_op(OTHER, "a"));
    for (const char *letter = "jdrvxq"; *letter; letter++) {
        contract_set_the_scene();
        plant("DEL", *letter, "");
        plant("SET", *letter, "wrong");
        op = run_well(op);
        assert_int_equal(op.out.topics.count, 2); /* by their names: OTHER is the first */
        assert_int_equal(op.out.topics.rows[0].stats.ready, 1);
        assert_bytes(op.out.topics.rows[1].topic, TOPIC);
        assert_int_equal(op.out.topics.rows[1].stats.ready, 0);
        assert_int_equal(op.out.topics.rows[1].stats.reserved, 0);
        for (const char *each = "jdrvxqpe"; *each; each++)
            redis_fixture_command(contract_redis_fixture(), "DEL %s", contract_key(*each));
    }
}

static void plant_absurd_score(char letter, const char *id, const char *score)
{
    redis_fixture_command(contract_redis_fixture(), "ZADD %s %s %s", contract_key(letter),
                          score, id);
}

/* Scores that no clock shows: the scan goes on with due jobs, and knows its next event.
 */
static void an_absurd_score_delays_nobody(void **state)
{
    static const char *const scores[] = {"1e300", "+inf", "9223372036854775807", "-1e300",
                                         "-inf"};
    struct job job;

    for (unsigned i = 0; i < sizeof(scores) / sizeof(*scores); i++) {
        struct op op;

        push_delayed("later", FAR_MS);
        job = hold("held", FAR_MS);
        push_mortal("mortal", 0, FAR_MS);
        plant_absurd_score('d', "later", scores[i]);
        plant_absurd_score('v', "held", scores[i]);
        plant_absurd_score('e', "mortal", scores[i]);
        contract_call_scan();
        op = scan_at(push_delayed_in(OTHER, "", 1).out.push.due_ms);
        assert_true(op.out.scan.moved >= 1);
        assert_true(scan(1000).out.scan.next_ms != 0);
        assert_counts(OTHER, 0, (int)i + 1, 0);
        run_well((struct op){.verb = OP_STATS, .topic = TOPIC});
        look("held");
        if (get("held").state == JOB_RESERVED)
            ack(&job);
        for (const char *id = "later\0held\0mortal\0"; *id; id += strlen(id) + 1)
            cancel(id);
        plant("DEL", 'd', "");
        plant("DEL", 'v', "");
        plant("DEL", 'e', "");
        redis_fixture_command(contract_redis_fixture(), "ZADD %s %s %b", contract_key('t'),
                              scores[i], TOPIC.at, TOPIC.len);
        assert_true(scan(1000).out.scan.next_ms != 0);
        redis_fixture_command(contract_redis_fixture(), "ZREM %s %b", contract_key('t'),
                              TOPIC.at, TOPIC.len);
    }
}

static void no_scan_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct contract_scene scene = contract_set_the_scene();
    struct op op = scan_op();

    assert_status(touch(&scene.small, 1), OK);
    wait_until(store_now() + 2);
    contract_all_or_nothing(op, "tn");
}

static void a_key_of_a_wrong_type_stops_its_topic_alone(void **state)
{
    struct contract_scene scene = contract_set_the_scene();
    struct op mortal = push_mortal("mortal", 0, 1), ranked = push_op(TOPIC, "ranked");
    struct op op = scan_op();

    assert_status(touch(&scene.small, 1), OK);
    ranked.in.push.delay_ms = 1;
    ranked.in.push.rules.priority = 1;
    wait_until(run(ranked).out.push.due_ms);
    wait_until(mortal.now_ms + 3);
    contract_stops_its_topic(op, "jdrqvxe", 1);
}

/* ---- the bucket's own keys ---- */

/* The text of the operation's error; "": answered well. Valid until the next call. */
static const char *error_of(const struct op *op)
{
    static struct script_call call;
    static char text[256];
    struct script_keys keys = {.prefix = contract_prefix(), .buckets = CONTRACT_BUCKETS};
    redisReply *reply;

    script_encode(&call, &keys, op, NULL);
    reply =
        redisCommandArgv(contract_redis_fixture()->control, call.argc, call.argv, call.lens);
    assert_non_null(reply);
    snprintf(text, sizeof(text), "%s", reply->type == REDIS_REPLY_ERROR ? reply->str : "");
    freeReplyObject(reply);
    return text;
}

/* TOPIC has a job that is due, and a dead one too many; OTHER one that is due; a third topic is
 * over. */
static void let_a_bucket_have_work(void)
{
    struct topic_settings settings = {
        .set = SETTING_BIT(HISTORY) | SETTING_BIT(DEAD_MAX), .history = true, .dead_max = 1};
    struct job job;

    for (unsigned i = 0; i < 2; i++) {
        push("");
        job = contract_pop_indexed();
        assert_status(bury(&job), OK);
    }
    configure(settings, settings.set);
    push_delayed("due", 1);
    wait_until(push_delayed_in(OTHER, "", 1).out.push.due_ms);
    plant("ZADD", 't', "1 over");
    plant("ZADD", 'a', "0 over");
}

static void forget_the_bucket(void)
{
    static const char *const script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                                      "redis.call('DEL', key) end return 1";
    char pattern[64];

    snprintf(pattern, sizeof(pattern), "%s:{%u}:*", contract_prefix(), bucket_of(TOPIC));
    redis_fixture_command(contract_redis_fixture(), "EVAL %s 0 %s", script, pattern);
}

static void assert_another_bucket_goes_on(struct op scan)
{
    wait_until(push_delayed_in(ELSEWHERE, "", 1).out.push.due_ms);
    scan.bucket = bucket_of(ELSEWHERE);
    assert_int_equal(run_well(scan).out.scan.moved, 1);
}

static void an_audit_names_the_key_of_a_wrong_type(void **state)
{
    struct op op = {.verb = OP_AUDIT, .bucket = bucket_of(TOPIC), .topic = TOPIC};
    char expected[128];

    for (const char *letter = "jpdqvxerta"; *letter; letter++) {
        push_delayed("due", ROOM_MS);
        assert_string_equal(error_of(&op), "");
        plant("DEL", *letter, "");
        plant("SET", *letter, "wrong");
        snprintf(expected, sizeof(expected), "DUEQ %s is a string, not a ",
                 contract_key(*letter));
        if (!strstr(error_of(&op), expected))
            fail_msg("'%s' is not '%s'", error_of(&op), expected);
        forget_the_bucket();
    }
}

/* What a scan does with a bucket's key of a wrong type: `moved` of the 3 that it would, or
 * none, for it ends in an error. */
static void damage(struct op scan, char letter, bool is_error, unsigned moved, unsigned stuck)
{
    char expected[128], *wrong = NULL;
    struct op op;

    let_a_bucket_have_work();
    snprintf(expected, sizeof(expected), "%s is a %s, not a ", contract_key(letter),
             contract_spoil(letter));
    op = run(scan);
    if (is_error) {
        assert_status(op, STORE_ERROR);
        wrong = strstr(error_of(&scan), expected);
    } else {
        assert_status(op, OK);
        assert_int_equal(op.out.scan.moved, moved);
        assert_int_equal(op.out.scan.stuck, stuck);
        wrong = memmem(op.out.scan.wrong.at, op.out.scan.wrong.len, expected, strlen(expected));
    }
    if (!wrong)
        fail_msg("nobody says '%s'", expected);
    assert_another_bucket_goes_on(scan);
    contract_restore(letter);
    if (letter == 'o')
        contract_call_scan();
    op = run_well(scan);
    assert_int_equal(op.out.scan.stuck, 0);
    assert_int_equal(op.out.scan.moved, 3 - moved);
    forget_the_bucket();
}

static void a_key_of_the_bucket_stops_only_what_needs_it(void **state)
{
    static struct sharer all;
    struct op ops[2] = {scan_op()};

    sharer_init(&all, "node-a", "00000000000000aa", SHARE_OWN, 0x1c);
    ops[1] = sharer_scan_op(&all);
    for (unsigned i = 0; i < 2; i++) {
        ops[i].in.scan.history_bytes = 100000;
        damage(ops[i], 't', true, 0, 0);
        damage(ops[i], 'n', true, 0, 0);
        damage(ops[i], 'c', true, 0, 0);
        damage(ops[i], 'a', false, 3, 1);
        damage(ops[i], 'h', false, 3, 0);
        damage(ops[i], 'o', false, 1, 1);
    }
    damage(ops[0], 'f', true, 0, 0);
}

/* It cannot say who has them: the jobs are moved, and announced. */
static void a_pop_that_a_scan_brings_fails_alone(void **state)
{
    struct op pop = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 2, .id_only = true}};
    struct op scan = scan_op(), *pops[] = {&pop};
    unsigned before = wake_ups(TOPIC);

    wait_until(push_delayed("a", 1).out.push.due_ms);
    contract_spoil('o');
    scan.in.scan.pops = pops;
    scan.in.scan.pop_count = 1;
    scan = run_well(scan);
    assert_int_equal(scan.out.scan.moved, 1);
    assert_int_equal(scan.out.scan.stuck, 0);
    assert_int_equal(pop.out.pop.count, 0);
    assert_true(pop.out.pop.has_more);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    contract_restore('o');
    ASSERT_READY("a");
}

/* ---- a place that names a job which is not there ---- */

static void a_scan_says_what_is_wrong_and_moves_no_job_of_that_topic(void **state)
{
    struct op op = scan_op();
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "", wrong[256];

    push_delayed("a", 1);
    wait_until(push_delayed("b", 1).out.push.due_ms);
    plant("HDEL", 'j', "b");
    contract_digests('t', before);
    op = run(op);
    contract_digests('t', after);
    assert_string_equal(before, after);
    snprintf(wrong, sizeof(wrong), "job b is in %s, but missing in %s", contract_key('d'),
             contract_key('j'));
    assert_bytes(op.out.scan.wrong, bytes_of_text(wrong));
}

static void a_missing_body_stops_the_pop_before_anything_is_taken(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop.count = 2};

    push("a");
    contract_push_sized("b", 4000, 0, TTR_MS);
    plant("HDEL", 'p', "b");
    contract_refused(op, 'n');
    contract_refused(id_op(OP_GET, "b"), 'n');
}

/* Values too short to hold the due, the rules, or what else they say that they have. */
static void a_value_that_is_too_short_stops_its_topic_alone(void **state)
{
    static const char values[][JOB_HEADER_BYTES + RULES_BYTES + EXTRA_BYTES] = {
        {0x01},
        {0x41},
        {0x02},
        {0x03},
        {0x43},
        {0x41, [30] = (char)RULES_EXTRA},
        {0x43, [30] = (char)RULES_EXTRA}};
    static const size_t lens[] = {1, 24, 23, 1, 24, 69, 46};

    for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
        char place = values[i][0] % 8 == JOB_DELAYED ? 'd'
                     : values[i][0] % 8 == JOB_READY ? 'e'
                                                     : 'v';
        struct op op;

        push_delayed("sound", 1);
        redis_fixture_command(contract_redis_fixture(), "HSET %s short %b", contract_key('j'),
                              values[i], lens[i]);
        plant("ZADD", place, "1 short");
        contract_call_scan();
        wait_until(push_delayed_in(OTHER, "", 1).out.push.due_ms);
        op = run_well(scan_op());
        assert_int_equal(op.out.scan.stuck, 1);
        assert_int_equal(op.out.scan.moved, 1);
        plant("ZREM", place, "short");
        plant("HDEL", 'j', "short");
        assert_status(cancel("sound"), OK);
    }
}

/* An operation that wakes others is refused as a whole, or not at all. */
static void nothing_happens_that_cannot_be_announced(void **state)
{
    struct job first = (push("first"), pop_one()), second = hold("second", TTR_MS);
    struct lease lease = {.id = first.id, .stamp = first.stamp};
    struct op two[] = {lease_op(OP_RELEASE, &first), lease_op(OP_RELEASE, &second)};
    struct op due = push_delayed("due", 1);

    contract_refused_unheard(push_op(TOPIC, "new"));
    contract_refused_unheard(push_op(TOPIC, ""));
    contract_refused_unheard(lease_op(OP_RELEASE, &second));
    contract_refused_unheard_together(two, 2);
    contract_refused_unheard((struct op){
        .verb = OP_RETURN, .topic = TOPIC, .in.leases = {.items = &lease, .count = 1}});
    wait_until(due.out.push.due_ms);
    contract_refused_unheard(scan_op());
}

static const struct CMUnitTest tests[] = {
    TEST(no_push_changes_a_job_when_a_key_is_wrong),
    TEST(no_pop_changes_a_job_when_a_key_is_wrong),
    TEST(no_delivery_changes_a_job_when_a_key_is_wrong),
    TEST(no_verb_of_a_lease_changes_a_job_when_a_key_is_wrong),
    TEST(no_verb_of_an_owned_lease_changes_a_job_when_a_key_is_wrong),
    TEST(no_beat_counts_when_the_key_is_wrong),
    TEST(no_verb_of_two_leases_changes_a_job_when_a_key_is_wrong),
    TEST(no_two_pushes_add_a_job_when_a_key_is_wrong),
    TEST(no_cancel_changes_a_job_when_a_key_is_wrong),
    TEST(no_topic_begins_or_ends_when_a_key_is_wrong),
    TEST(no_look_succeeds_when_a_key_is_wrong),
    TEST(a_key_of_a_wrong_type_hides_no_other_topic),
    TEST(no_scan_changes_a_job_when_a_key_is_wrong),
    TEST(a_key_of_a_wrong_type_stops_its_topic_alone),
    TEST(an_absurd_score_delays_nobody),
    TEST(a_key_of_the_bucket_stops_only_what_needs_it),
    TEST(an_audit_names_the_key_of_a_wrong_type),
    TEST(a_scan_says_what_is_wrong_and_moves_no_job_of_that_topic),
    TEST(a_value_that_is_too_short_stops_its_topic_alone),
    TEST(a_missing_body_stops_the_pop_before_anything_is_taken),
    TEST(a_pop_that_a_scan_brings_fails_alone),
    TEST(nothing_happens_that_cannot_be_announced),
};

const struct contract_part contract_wrong = {tests, sizeof(tests) / sizeof(*tests)};
