/* Tests for a real Redis only: data that contradicts itself, memory that is full, and a clock
 * that goes by microseconds.
 *
 * The promise under test: a script that ends in an error has changed no job. For every script
 * and every key it uses, that key is made to be of a type which no script expects; then the
 * operation must be refused, and all other keys must be what they were. (Only the counter may
 * have grown.)
 */
#include "node/store/contract/redis/redis.h"
#include "node/store/contract/locks.h"
#include "node/store/contract/whole.h"

#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/wire/scripts.h"

static struct redis_fixture *redis;
static const char *prefix;

void contract_redis_begin(struct redis_fixture *fixture, const char *key_prefix)
{
    redis = fixture;
    prefix = key_prefix;
}

struct redis_fixture *contract_redis_fixture(void)
{
    return redis;
}

void contract_fill(void)
{
    redis_fixture_command(redis, "CONFIG SET maxmemory 1");
}

void contract_make_room(void)
{
    redis_fixture_command(redis, "CONFIG SET maxmemory 0");
}

void contract_redis_end(void)
{
    contract_make_room();
    redis_fixture_command(redis, "CONFIG SET min-replicas-to-write 0");
    redis_fixture_command(redis, "ACL SETUSER default allchannels");
}

static const char *key(char letter)
{
    static char names[8][64];
    static unsigned turn;
    char *name = names[turn++ % 8];
    bool is_bucket = strchr("tnoachf", letter);

    snprintf(name, sizeof(names[0]), "%s:{%u}:%c%s%.*s", prefix, bucket_of(TOPIC), letter,
             is_bucket ? "" : ":", is_bucket ? 0 : (int)TOPIC.len, TOPIC.at);
    return name;
}

const char *contract_key(char letter)
{
    return key(letter);
}

/* ---- a key of the wrong type ---- */

/* Jobs in every place, big and small ones, and the leases on those that are reserved. */
struct scene {
    struct job small, big, done;
};

static struct op push_scene(const char *id, size_t body_bytes, int64_t delay_ms, int64_t ttr_ms)
{
    static char body[4096];
    struct op op = push_op(TOPIC, id);

    op.in.push.body = bytes_of(body, body_bytes);
    op.in.push.delay_ms = delay_ms;
    op.in.push.ttr_ms = ttr_ms;
    op = run(op);
    assert_status(op, OK);
    return op;
}

struct job contract_pop_owned(void)
{
    struct op op = run(
        (struct op){.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 1, .id_only = true}});

    assert_status(op, OK);
    return op.out.pop.jobs[0];
}

static struct scene set_the_scene(void)
{
    struct scene scene;

    push_scene("small", 100, 0, TTR_MS);
    push_scene("big", 4000, 0, TTR_MS);
    push_scene("done", 4000, 0, 0);
    scene.small = contract_pop_owned();
    scene.big = contract_pop_owned();
    scene.done = contract_pop_owned();
    push_scene("ready", 4000, 0, TTR_MS);
    push_scene("later", 100, FAR_MS, TTR_MS);
    wait_until(push_scene("due", 4000, 1, TTR_MS).out.push.due_ms);
    return scene;
}

void contract_digests(char except, char digests[CONTRACT_DIGESTS])
{
    size_t used = 0;

    for (const char *letter = "jpdrqvxeltoac"; *letter; letter++) {
        redisReply *reply;

        if (*letter == except)
            continue;
        reply = redisCommand(redis->control, "DEBUG DIGEST-VALUE %s", key(*letter));
        assert_non_null(reply);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        used += (size_t)snprintf(digests + used, CONTRACT_DIGESTS - used, "%c %s\n", *letter,
                                 reply->element[0]->str);
        freeReplyObject(reply);
    }
}

static void command(const char *format, const char *name)
{
    redis_fixture_command(redis, format, name);
}

static void assert_changes_nothing(const struct op *op, char letter)
{
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "";
    struct op done;

    redis_fixture_command(redis, "COPY %s saved", key(letter));
    command("DEL %s", key(letter));
    command(strchr("nf", letter) ? "LPUSH %s wrong" : "SET %s wrong", key(letter));
    contract_digests(letter, before);
    done = run(*op);
    contract_digests(letter, after);
    if (done.status != STATUS_STORE_ERROR || strcmp(before, after) != 0)
        fail_msg("%s with a wrong %c ended as %s\nbefore\n%safter\n%s", op_word(op->verb),
                 letter, status_word(done.status), before, after);
    command("DEL %s", key(letter));
    redis_fixture_command(redis, "COPY saved %s", key(letter));
    command("DEL %s", "saved");
}

void contract_all_or_nothing(struct op op, const char *letters)
{
    for (; *letters; letters++)
        assert_changes_nothing(&op, *letters);
}

/* Drops a key's line from the digests: a scan also writes its next event, and the locks. */
static void forget_line(char *digests, char letter)
{
    char *line = strchr(digests, letter);

    while (line && line > digests && line[-1] != '\n')
        line = strchr(line + 1, letter);
    if (line)
        memset(line, '-', strcspn(line, "\n"));
}

static void assert_stops_its_topic(struct op op, char letter, unsigned moved)
{
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "", wrong[128];
    struct op other = push_op(OTHER, "");

    other.in.push.delay_ms = 1;
    if (moved > 0)
        wait_until(run(other).out.push.due_ms);
    redis_fixture_command(redis, "COPY %s saved", key(letter));
    command("DEL %s", key(letter));
    command("SET %s wrong", key(letter));
    redis_fixture_command(redis, "ZADD %s 1 %b", key('t'), TOPIC.at, TOPIC.len);
    contract_digests(letter, before);
    op = run(op);
    contract_digests(letter, after);
    for (const char *scan = "tl"; *scan; scan++) {
        forget_line(before, *scan);
        forget_line(after, *scan);
    }
    assert_string_equal(before, after);
    assert_status(op, OK);
    assert_int_equal(op.out.scan.stuck, 1);
    assert_int_equal(op.out.scan.moved, moved);
    snprintf(wrong, sizeof(wrong), "%s is a string", key(letter));
    assert_in_range(op.out.scan.wrong.len, strlen(wrong), 1000);
    assert_memory_equal(op.out.scan.wrong.at, wrong, strlen(wrong));
    assert_in_range(op.out.scan.next_ms, 1, 1000);
    command("DEL %s", key(letter));
    redis_fixture_command(redis, "COPY saved %s", key(letter));
    command("DEL %s", "saved");
    redis_fixture_command(redis, "ZADD %s 1 %b", key('t'), TOPIC.at, TOPIC.len);
}

void contract_stops_its_topic(struct op scan, const char *letters, unsigned moved)
{
    for (; *letters; letters++)
        assert_stops_its_topic(scan, *letters, moved);
}

static void no_push_changes_a_job_when_a_key_is_wrong(void **state)
{
    static char body[4096];
    struct op op = push_op(TOPIC, "new");

    set_the_scene();
    op.in.push.body = bytes_of(body, sizeof(body));
    contract_all_or_nothing(op, "jprn");
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

    set_the_scene();
    contract_all_or_nothing(op, "jprvtno");
}

static void no_delivery_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct scene scene = set_the_scene();
    struct lease leases[] = {{.id = scene.small.id, .stamp = scene.small.stamp},
                             {.id = scene.big.id, .stamp = scene.big.stamp},
                             {.id = scene.done.id, .stamp = scene.done.stamp}};
    struct op op = {.verb = OP_DELIVERED, .topic = TOPIC, .in.leases = {leases, 3}};

    contract_all_or_nothing(op, "jpvto");
    op.verb = OP_KEEP;
    contract_all_or_nothing(op, "jvt");
    op.verb = OP_RETURN;
    contract_all_or_nothing(op, "jrvn");
}

static void no_verb_of_a_lease_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct scene scene = set_the_scene();
    struct op op = lease_op(OP_ACK, &scene.big);

    contract_all_or_nothing(op, "jpvo");
    op.verb = OP_TOUCH;
    contract_all_or_nothing(op, "jvt");
    op.verb = OP_RELEASE;
    contract_all_or_nothing(op, "jrvno");
    op.in.lease.delay_ms = 10;
    contract_all_or_nothing(op, "jdvto");
}

static void no_cancel_changes_a_job_when_a_key_is_wrong(void **state)
{
    set_the_scene();
    contract_all_or_nothing(id_op(OP_CANCEL, "big"), "jpvo");
    contract_all_or_nothing(id_op(OP_CANCEL, "due"), "jpd");
    contract_all_or_nothing(id_op(OP_CANCEL, "ready"), "jp");
}

/* Where the topic itself comes or goes. */
static void no_topic_begins_or_ends_when_a_key_is_wrong(void **state)
{
    struct op scan_op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000};
    struct job job;

    contract_all_or_nothing(push_op(TOPIC, "new"), "ra");
    push_delayed("a", FAR_MS);
    contract_all_or_nothing(id_op(OP_CANCEL, "a"), "jdta");
    assert_status(cancel("a"), OK);
    job = hold("b", 1);
    assert_status(ack(&job), OK);
    wait_until(store_now() + 2);
    contract_all_or_nothing(scan_op, "t");
    contract_stops_its_topic(scan_op, "a", 0);
}

static void no_look_succeeds_when_a_key_is_wrong(void **state)
{
    set_the_scene();
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
        set_the_scene();
        command("DEL %s", key(*letter));
        command("SET %s wrong", key(*letter));
        op = run_well(op);
        assert_int_equal(op.out.topics.count, 2); /* by their names: OTHER is the first */
        assert_int_equal(op.out.topics.rows[0].stats.ready, 1);
        assert_bytes(op.out.topics.rows[1].topic, TOPIC);
        assert_int_equal(op.out.topics.rows[1].stats.ready, 0);
        assert_int_equal(op.out.topics.rows[1].stats.reserved, 0);
        for (const char *each = "jdrvxqpe"; *each; each++)
            command("DEL %s", key(*each));
    }
}

static void plant_absurd_score(char letter, const char *id, const char *score)
{
    redis_fixture_command(redis, "ZADD %s %s %s", key(letter), score, id);
}

/* Scores that no clock shows: the scan goes on with due jobs, and knows its next event.
 */
static void an_absurd_score_delays_nobody(void **state)
{
    static const char *const scores[] = {"1e300", "+inf", "9223372036854775807", "-1e300",
                                         "-inf"};
    struct job job;

    for (unsigned i = 0; i < sizeof(scores) / sizeof(*scores); i++) {
        struct op op, due = push_op(OTHER, "");

        push_delayed("later", FAR_MS);
        job = hold("held", FAR_MS);
        push_mortal("mortal", 0, FAR_MS);
        plant_absurd_score('d', "later", scores[i]);
        plant_absurd_score('v', "held", scores[i]);
        plant_absurd_score('e', "mortal", scores[i]);
        redis_fixture_command(redis, "ZADD %s 1 %b", key('t'), TOPIC.at, TOPIC.len);
        due.in.push.delay_ms = 1;
        op = scan_at(run(due).out.push.due_ms);
        assert_true(op.out.scan.moved >= 1);
        assert_true(scan(1000).out.scan.next_ms != 0);
        assert_counts(OTHER, 0, (int)i + 1, 0);
        run_well((struct op){.verb = OP_STATS, .topic = TOPIC});
        look("held");
        if (get("held").state == JOB_RESERVED)
            ack(&job);
        for (const char *id = "later\0held\0mortal\0"; *id; id += strlen(id) + 1)
            cancel(id);
        redis_fixture_command(redis, "DEL %s", key('d'));
        redis_fixture_command(redis, "DEL %s", key('v'));
        redis_fixture_command(redis, "DEL %s", key('e'));
        redis_fixture_command(redis, "ZADD %s %s %b", key('t'), scores[i], TOPIC.at, TOPIC.len);
        assert_true(scan(1000).out.scan.next_ms != 0);
        redis_fixture_command(redis, "ZREM %s %b", key('t'), TOPIC.at, TOPIC.len);
    }
}

static void no_scan_changes_a_job_when_a_key_is_wrong(void **state)
{
    struct scene scene = set_the_scene();
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000};

    assert_status(touch(&scene.small, 1), OK);
    wait_until(store_now() + 2);
    contract_all_or_nothing(op, "tn");
}

static void a_key_of_a_wrong_type_stops_its_topic_alone(void **state)
{
    struct scene scene = set_the_scene();
    struct op mortal = push_mortal("mortal", 0, 1), ranked = push_op(TOPIC, "ranked");
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000};

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
    struct script_keys keys = {.prefix = prefix, .buckets = CONTRACT_BUCKETS};
    redisReply *reply;

    script_encode(&call, &keys, op, NULL);
    reply = redisCommandArgv(redis->control, call.argc, call.argv, call.lens);
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
    struct op due = push_op(OTHER, "");
    struct job job;

    for (unsigned i = 0; i < 2; i++) {
        push("");
        job = contract_pop_owned();
        assert_status(bury(&job), OK);
    }
    configure(settings, settings.set);
    push_delayed("due", 1);
    due.in.push.delay_ms = 1;
    wait_until(run_well(due).out.push.due_ms);
    redis_fixture_command(redis, "ZADD %s 1 over", key('t'));
    redis_fixture_command(redis, "ZADD %s 0 over", key('a'));
}

static void forget_the_bucket(void)
{
    static const char *const script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                                      "redis.call('DEL', key) end return 1";
    char pattern[64];

    snprintf(pattern, sizeof(pattern), "%s:{%u}:*", prefix, bucket_of(TOPIC));
    redis_fixture_command(redis, "EVAL %s 0 %s", script, pattern);
}

static void assert_another_bucket_goes_on(struct op scan_op)
{
    struct op due = push_op(ELSEWHERE, "");

    due.in.push.delay_ms = 1;
    wait_until(run_well(due).out.push.due_ms);
    scan_op.bucket = bucket_of(ELSEWHERE);
    assert_int_equal(run_well(scan_op).out.scan.moved, 1);
}

static void an_audit_names_the_key_of_a_wrong_type(void **state)
{
    struct op op = {.verb = OP_AUDIT, .bucket = bucket_of(TOPIC), .topic = TOPIC};
    char expected[128];

    for (const char *letter = "jpdqvxerta"; *letter; letter++) {
        push_delayed("due", ROOM_MS);
        assert_string_equal(error_of(&op), "");
        command("DEL %s", key(*letter));
        command("SET %s wrong", key(*letter));
        snprintf(expected, sizeof(expected), "DUEQ %s is a string, not a ", key(*letter));
        if (!strstr(error_of(&op), expected))
            fail_msg("'%s' is not '%s'", error_of(&op), expected);
        forget_the_bucket();
    }
}

/* What a scan does with a bucket's key of a wrong type: `moved` of the 3 that it would, or
 * none, for it ends in an error. */
static void damage(struct op scan_op, char letter, bool is_error, unsigned moved,
                   unsigned stuck)
{
    char name[64], expected[128], *wrong = NULL;
    struct op op;

    let_a_bucket_have_work();
    snprintf(name, sizeof(name), "%s", key(letter));
    redis_fixture_command(redis, "COPY %s saved", name);
    command("DEL %s", name);
    command(strchr("nf", letter) ? "LPUSH %s wrong" : "SET %s wrong", name);
    snprintf(expected, sizeof(expected), "%s is a %s, not a ", name,
             strchr("nf", letter) ? "list" : "string");
    op = run(scan_op);
    if (is_error) {
        assert_status(op, STORE_ERROR);
        wrong = strstr(error_of(&scan_op), expected);
    } else {
        assert_status(op, OK);
        assert_int_equal(op.out.scan.moved, moved);
        assert_int_equal(op.out.scan.stuck, stuck);
        wrong = memmem(op.out.scan.wrong.at, op.out.scan.wrong.len, expected, strlen(expected));
    }
    if (!wrong)
        fail_msg("nobody says '%s'", expected);
    assert_another_bucket_goes_on(scan_op);
    command("DEL %s", name);
    redis_fixture_command(redis, "COPY saved %s", name);
    command("DEL %s", "saved");
    if (letter == 'o')
        redis_fixture_command(redis, "ZADD %s 1 %b", key('t'), TOPIC.at, TOPIC.len);
    op = run_well(scan_op);
    assert_int_equal(op.out.scan.stuck, 0);
    assert_int_equal(op.out.scan.moved, 3 - moved);
    forget_the_bucket();
}

static void a_key_of_the_bucket_stops_only_what_needs_it(void **state)
{
    static struct sharer all;
    struct op ops[2] = {{.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000}};

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

/* ---- a place that names a job which is not there ---- */

static void a_scan_says_what_is_wrong_and_moves_no_job_of_that_topic(void **state)
{
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000};
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "", wrong[256];

    push_delayed("a", 1);
    wait_until(push_delayed("b", 1).out.push.due_ms);
    redis_fixture_command(redis, "HDEL %s b", key('j'));
    contract_digests('t', before);
    op = run(op);
    contract_digests('t', after);
    assert_string_equal(before, after);
    snprintf(wrong, sizeof(wrong), "job b is in %s, but missing in %s", key('d'), key('j'));
    assert_bytes(op.out.scan.wrong, bytes_of_text(wrong));
}

static void a_missing_body_stops_the_pop_before_anything_is_taken(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop.count = 2};
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "";

    push("a");
    push_scene("b", 4000, 0, TTR_MS);
    redis_fixture_command(redis, "HDEL %s b", key('p'));
    contract_digests('n', before);
    assert_status(run(op), STORE_ERROR);
    assert_status(run(id_op(OP_GET, "b")), STORE_ERROR);
    contract_digests('n', after);
    assert_string_equal(before, after);
}

/* Values too short to hold the due, or the rules. */
static void a_value_that_is_too_short_stops_its_topic_alone(void **state)
{
    static const char values[][25] = {{0x01}, {0x41}, {0x02}, {0x03}, {0x43}};
    static const size_t lens[] = {1, 24, 23, 1, 24};
    struct op scan_op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000};

    for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
        char place = values[i][0] % 8 == JOB_DELAYED ? 'd'
                     : values[i][0] % 8 == JOB_READY ? 'e'
                                                     : 'v';
        struct op other = push_op(OTHER, ""), op;

        push_delayed("sound", 1);
        other.in.push.delay_ms = 1;
        redis_fixture_command(redis, "HSET %s short %b", key('j'), values[i], lens[i]);
        redis_fixture_command(redis, "ZADD %s 1 short", key(place));
        redis_fixture_command(redis, "ZADD %s 1 %b", key('t'), TOPIC.at, TOPIC.len);
        wait_until(run(other).out.push.due_ms);
        op = run(scan_op);
        assert_status(op, OK);
        assert_int_equal(op.out.scan.stuck, 1);
        assert_int_equal(op.out.scan.moved, 1);
        redis_fixture_command(redis, "ZREM %s short", key(place));
        redis_fixture_command(redis, "HDEL %s short", key('j'));
        assert_status(cancel("sound"), OK);
    }
}

/* ---- no rights on the channel ---- */

void contract_refused_unheard(struct op op)
{
    char before[CONTRACT_DIGESTS] = "", after[CONTRACT_DIGESTS] = "";

    redis_fixture_command(redis, "ACL SETUSER default resetchannels");
    contract_digests('n', before);
    op = run(op);
    contract_digests('n', after);
    redis_fixture_command(redis, "ACL SETUSER default allchannels");
    if (op.status != STATUS_STORE_ERROR || strcmp(before, after) != 0)
        fail_msg("%s ended as %s\nbefore\n%safter\n%s", op_word(op.verb),
                 status_word(op.status), before, after);
}

/* An operation that wakes others is refused as a whole, or not at all. */
static void nothing_happens_that_cannot_be_announced(void **state)
{
    struct job first = (push("first"), pop_one()), second = hold("second", TTR_MS);
    struct lease lease = {.id = first.id, .stamp = first.stamp};
    struct op due = push_delayed("due", 1);

    contract_refused_unheard(push_op(TOPIC, "new"));
    contract_refused_unheard(push_op(TOPIC, ""));
    contract_refused_unheard(lease_op(OP_RELEASE, &second));
    contract_refused_unheard(
        (struct op){.verb = OP_RETURN, .topic = TOPIC, .in.leases = {&lease, 1}});
    wait_until(due.out.push.due_ms);
    contract_refused_unheard(
        (struct op){.verb = OP_SCAN, .bucket = bucket_of(TOPIC), .in.scan.limit = 1000});
}

/* ---- what is not seen from outside ---- */

static void nothing_of_a_job_stays_when_it_is_gone(void **state)
{
    struct scene scene = set_the_scene();
    struct job due;

    assert_int_equal(delivered(&scene.done, 1).out.leases.stale, 0);
    assert_status(release(&scene.small, 0), OK);
    assert_status(ack(&scene.big), OK);
    scan_at(store_now());
    assert_status(cancel("ready"), OK);
    assert_status(cancel("later"), OK);
    assert_status(cancel("small"), OK);
    due = contract_pop_owned();
    assert_bytes(due.id, BYTES("due"));
    assert_status(cancel("due"), OK);
    assert_int_equal(pop(1).out.pop.count, 0);
    for (const char *letter = "jpdrqvxetoac"; *letter; letter++)
        assert_int_equal(redis_fixture_command(redis, "EXISTS %s", key(*letter)), 0);
}

/* One that had a large body, and an owner when its last try ended. */
static void let_die(const char *id)
{
    static char body[4096];
    struct op op = push_op(TOPIC, id);
    struct job job;

    op.in.push.body = bytes_of(body, sizeof(body));
    op.in.push.rules.max_tries = 1;
    run_well(op);
    job = contract_pop_owned();
    op = touch(&job, 1);
    assert_status(op, OK);
    scan_at(after(&op, 1));
    assert_dead(id, DEATH_TRIES);
}

static void nothing_of_a_job_stays_when_a_scan_deletes_it(void **state)
{
    let_die("old");
    let_die("new");
    set_dead_max(1);
    scan_at(store_now());
    assert_gone("old");
    for (const char *letter = "jpxo"; *letter; letter++)
        assert_int_equal(
            redis_fixture_command(redis, *letter == 'x' ? "ZCARD %s" : "HLEN %s", key(*letter)),
            1);
    assert_int_equal(get("new").body.len, 4096);
}

static void a_new_id_skips_exactly_those_that_live(void **state)
{
    long long n = INT64_C(1) << 46;
    unsigned bucket = bucket_of(TOPIC);
    char ids[4][32];

    redis_fixture_command(redis, "SET %s %lld", key('n'), n);
    for (unsigned i = 0; i < 4; i++)
        snprintf(ids[i], sizeof(ids[i]), "%lld", (n + 1 + i) * CONTRACT_BUCKETS + bucket);
    for (unsigned i = 0; i < 3; i++)
        push_delayed(ids[i], FAR_MS);
    assert_bytes(push_delayed("", FAR_MS).out.push.id, bytes_of_text(ids[3]));
}

static void tries_stay_at_the_most_that_the_header_can_hold(void **state)
{
    struct job job = (push("a"), pop_one());
    char value[JOB_HEADER_BYTES];

    for (unsigned i = 0; i < 2; i++) {
        job.tries = JOB_TRIES_MAX - 1 + i;
        job_pack_header(&job, value);
        redis_fixture_command(redis, "HSET %s a %b", key('j'), value, sizeof(value));
        assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
        assert_int_equal(get("a").tries, JOB_TRIES_MAX);
        assert_int_equal(get("a").ttr_ms, TTR_MS);
    }
}

/* ---- tombstones ---- */

static void replace_x(void)
{
    struct op op = push_op(TOPIC, "x");

    op.in.push.mode = PUSH_REPLACE;
    run_well(op);
}

static void cancel_y(void)
{
    push("y");
    assert_status(cancel("y"), OK);
}

static void put_off_and_bring_back_x(void)
{
    assert_status(move("x", FAR_MS, FROM(READY)), OK);
    assert_status(move("x", 0, FROM(DELAYED)), OK);
}

/* So many leave the list at once. */
static void let_thirty_expire(void)
{
    struct op op;

    for (unsigned i = 0; i < 30; i++)
        op = push_mortal("", 0, 1);
    assert_int_equal(scan_at(after(&op, 1)).out.scan.died[DEATH_EXPIRED], 30);
    assert_int_equal(purge(JOB_DEAD, 30).out.chunk.count, 30);
}

static void tombstones_are_bounded_whatever_leaves_them(void **state)
{
    static const struct {
        void (*leave)(void);
        unsigned count;
    } ways[] = {{replace_x, 2500},
                {cancel_y, 2500},
                {put_off_and_bring_back_x, 2500},
                {let_thirty_expire, 100}};

    push("first");
    push("second");
    push("x");
    for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        for (unsigned k = 0; k < ways[i].count; k++)
            ways[i].leave();
        assert_in_range(redis_fixture_command(redis, "LLEN %s", key('r')), 3, 2000);
    }
    ASSERT_READY("first", "second", "x");
}

static const char *numbered(unsigned i)
{
    static char id[16];

    snprintf(id, sizeof(id), "%u", i);
    return id;
}

/* Tombstones behind so many live entries that only those at the end are met. The live ones
 * between them stay, in their order, also where one of them is the last of all. */
static void tombstones_at_the_end_of_a_long_list_are_bounded(void **state)
{
    enum { BEFORE = 1100, BETWEEN = 90, EACH = 50 };

    for (unsigned i = 0; i < BEFORE; i++)
        push(numbered(i));
    for (unsigned i = 0; i < BETWEEN; i++) {
        for (unsigned k = 0; k < EACH; k++)
            push(numbered(BEFORE + BETWEEN + k));
        push(numbered(BEFORE + i));
        for (unsigned k = 0; k < EACH; k++)
            assert_status(cancel(numbered(BEFORE + BETWEEN + k)), OK);
    }
    assert_in_range(redis_fixture_command(redis, "LLEN %s", key('r')), BEFORE + BETWEEN, 4000);
    for (unsigned i = 0; i < BEFORE + BETWEEN; i++)
        assert_bytes(pop_one().id, bytes_of_text(numbered(i)));
    assert_int_equal(pop(1).out.pop.count, 0);
}

/* Many behind the live ones, and enough before them that a scan cuts these off by itself. All
 * the same, so that what is left of them goes at once. */
static void surround_by_tombstones(void)
{
    static const char *const script =
        "local ghost = string.rep('\\0', 6) .. 'ghost' redis.call('LREM', KEYS[1], 0, ghost) "
        "for i = 1, 120 do redis.call('LPUSH', KEYS[1], ghost) end "
        "for i = 1, 1300 do redis.call('RPUSH', KEYS[1], ghost) end return 1";

    redis_fixture_command(redis, "EVAL %s 1 %s", script, key('r'));
}

/* A scan that clears the list does not also cut its head off, in the one ms of 17 in which it
 * would. The expired jobs make the scan clear; the due jobs make it write the list. */
static void a_scan_cuts_tombstones_off_once(void **state)
{
    enum { CUT_EVERY = 17, TURNS_MAX = 2000 };
    unsigned cuts = 0;

    push("first");
    push("second");
    for (unsigned i = 0; cuts < 2 && i < TURNS_MAX; i++) {
        struct op due = push_delayed("due", 1), mortal = push_mortal("mortal", 0, 1), op;
        long long length;

        surround_by_tombstones();
        wait_until(after(&mortal, 1));
        length = redis_fixture_command(redis, "LLEN %s", key('r'));
        op = scan_at(due.out.push.due_ms);
        assert_int_equal(op.out.scan.moved, 2);
        assert_in_range(redis_fixture_command(redis, "LLEN %s", key('r')), 2, length - 250);
        cuts += op.now_ms % CUT_EVERY == 0;
        assert_status(cancel("mortal"), OK);
        assert_status(cancel("due"), OK);
    }
    assert_int_equal(cuts, 2);
    ASSERT_READY("first", "second");
}

static void push_all_numbered(unsigned from, unsigned to)
{
    enum { AT_ONCE = 1000 };
    static struct op ops[AT_ONCE];
    static char ids[AT_ONCE][16];

    for (unsigned done = from; done < to; done += AT_ONCE) {
        unsigned count = to - done < AT_ONCE ? to - done : AT_ONCE;

        for (unsigned i = 0; i < count; i++) {
            snprintf(ids[i], sizeof(ids[i]), "%u", done + i);
            ops[i] = push_op(TOPIC, ids[i]);
        }
        run_all(ops, count);
    }
}

/* More live ones stand at both ends than are looked at there, and some between them. They stay,
 * in their order. */
static void tombstones_in_the_middle_of_a_long_list_are_bounded(void **state)
{
    enum { END = 1100, BETWEEN = 7000, LIVES = 97, ALL = 2 * END + BETWEEN };
    unsigned live = 0;

    push_all_numbered(0, ALL);
    for (unsigned i = 0; i < ALL; i++) {
        if (i < END || i >= ALL - END || i % LIVES == 0)
            live++;
        else
            assert_status(cancel(numbered(i)), OK);
    }
    assert_in_range(redis_fixture_command(redis, "LLEN %s", key('r')), live, 2 * live + 1500);
    for (unsigned i = 0; i < ALL; i++)
        if (i < END || i >= ALL - END || i % LIVES == 0)
            assert_bytes(pop_one().id, bytes_of_text(numbered(i)));
    assert_int_equal(pop(1).out.pop.count, 0);
}

/* The last of the list lives, and stands where it is cut off. */
static void who_stands_last_stays_when_tombstones_go(void **state)
{
    static const char *const ids[] = {"y0", "y1"};
    char id[16];

    for (unsigned i = 0; i < 1100; i++) {
        snprintf(id, sizeof(id), "%u", i);
        push(id);
    }
    push(ids[1]);
    for (unsigned i = 0; i < 3000; i++) {
        push(ids[i % 2]);
        assert_status(cancel(ids[(i + 1) % 2]), OK);
        assert_int_equal(
            redis_fixture_command(redis, "EVAL %s 1 %s %s",
                                  "return redis.call('LINDEX', KEYS[1], -1):sub(7) == ARGV[1]",
                                  key('r'), ids[i % 2]),
            1);
    }
    assert_in_range(redis_fixture_command(redis, "LLEN %s", key('r')), 1101, 4000);
}

/* ---- nothing before its time, by a clock that is finer than the store's ---- */

static int64_t redis_us(void)
{
    redisReply *reply;
    int64_t now_us;

    redis_fixture_command(redis, "PING"); /* makes the connection */
    reply = redisCommand(redis->control, "TIME");
    assert_non_null(reply);
    now_us = atoll(reply->element[0]->str) * 1000000 + atoll(reply->element[1]->str);
    freeReplyObject(reply);
    return now_us;
}

/* A duration of 1 s that began after `began_us` is over then. */
static void assert_lasts(int64_t began_us, int64_t end_ms)
{
    assert_in_range(end_ms * 1000, began_us + 1000000, INT64_MAX);
}

static void nothing_ends_before_its_time(void **state)
{
    struct op pause = {.verb = OP_CONFIGURE, .topic = OTHER};
    struct job job;

    pause.in.configure.has_pause = true;
    pause.in.configure.pause_ms = 1000;
    for (unsigned i = 0; i < 20; i++) {
        int64_t began_us = redis_us();

        assert_lasts(began_us, push_delayed("a", 1000).out.push.due_ms);
        began_us = redis_us();
        assert_lasts(began_us, move("a", 1000, FROM(DELAYED)).out.change.due_ms);
        assert_status(cancel("a"), OK);
        began_us = redis_us();
        push_mortal("a", 0, 1000);
        assert_lasts(began_us, get("a").rules.expires_ms);
        assert_status(cancel("a"), OK);
        push_ttr("a", 1000);
        job = pop_one();
        began_us = redis_us();
        delivered(&job, 1);
        assert_lasts(began_us, look("a").place_ms);
        began_us = redis_us();
        assert_lasts(began_us, touch(&job, 1000).out.change.deadline_ms);
        began_us = redis_us();
        assert_lasts(began_us, release(&job, 1000).out.change.due_ms);
        assert_status(cancel("a"), OK);
        began_us = redis_us();
        assert_lasts(began_us, run_well(pause).out.settings.rows[0].settings.paused_until_ms);
    }
}

/* ---- no memory left ---- */

static void a_full_redis_takes_no_job_but_lets_all_go(void **state)
{
    struct job jobs[4];
    struct op op;

    for (unsigned i = 0; i < 4; i++)
        push("");
    op = push_delayed("delayed", 1);
    contract_fill();
    assert_status(run(push_op(TOPIC, "refused")), STORE_ERROR);
    memcpy(jobs, pop(4).out.pop.jobs, sizeof(jobs));
    assert_int_equal(kept(jobs, 4).out.leases.stale, 0);
    assert_int_equal(delivered(jobs, 3).out.leases.stale, 0);
    assert_int_equal(returned(&jobs[3], 1).out.leases.stale, 0);
    assert_status(touch(&jobs[0], 0), OK);
    assert_status(release(&jobs[0], 0), OK);
    assert_status(release(&jobs[1], FAR_MS), OK);
    assert_status(ack(&jobs[2]), OK);
    assert_int_equal(scan_at(op.out.push.due_ms).out.scan.moved, 1);
    assert_counts(TOPIC, 1, 3, 0);
    assert_gone("refused");
}

#define TEST(name) cmocka_unit_test(name)
static const struct CMUnitTest tests[] = {
    TEST(no_push_changes_a_job_when_a_key_is_wrong),
    TEST(no_pop_changes_a_job_when_a_key_is_wrong),
    TEST(no_delivery_changes_a_job_when_a_key_is_wrong),
    TEST(no_verb_of_a_lease_changes_a_job_when_a_key_is_wrong),
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
    TEST(nothing_happens_that_cannot_be_announced),
    TEST(nothing_of_a_job_stays_when_it_is_gone),
    TEST(nothing_of_a_job_stays_when_a_scan_deletes_it),
    TEST(a_new_id_skips_exactly_those_that_live),
    TEST(tries_stay_at_the_most_that_the_header_can_hold),
    TEST(tombstones_are_bounded_whatever_leaves_them),
    TEST(tombstones_at_the_end_of_a_long_list_are_bounded),
    TEST(tombstones_in_the_middle_of_a_long_list_are_bounded),
    TEST(a_scan_cuts_tombstones_off_once),
    TEST(who_stands_last_stays_when_tombstones_go),
    TEST(nothing_ends_before_its_time),
    TEST(a_full_redis_takes_no_job_but_lets_all_go),
};

const struct contract_part contract_redis = {tests, sizeof(tests) / sizeof(*tests)};
