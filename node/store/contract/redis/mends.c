/* Repair of bodies, values, ttls and topics; sound jobs stay as they are; and the pages of an
 * audit.
 */
#include <hiredis/hiredis.h>

#include "node/store/contract/redis/plant.h"

#include <stdio.h>
#include <string.h>

#include "node/store/packed.h"

/* ---- lost bodies and values ---- */

static void push_large(const char *id, int64_t delay_ms)
{
    struct op op = large_op(id);
    op.in.push.delay_ms = delay_ms;
    op.in.push.ttl_ms = 2 * FAR_MS;
    run_well(op);
}

static void a_job_whose_body_is_lost_dies_of_it(void **state)
{
    static const char *const ids[] = {"reserved", "ready", "delayed"};
    struct job job;

    push_large("reserved", 0);
    job = pop_one();
    push_large("ready", 0);
    push_large("delayed", FAR_MS);
    plant("DEL", 'p', "");
    audit();
    for (unsigned i = 0; i < 3; i++) {
        assert_suspect(ids[i], DAMAGE_NO_BODY);
        assert_int_equal(mend(ids[i]), DAMAGE_NO_BODY);
        assert_int_equal(mend(ids[i]), DAMAGE_NONE);
        assert_dead(ids[i], DEATH_DAMAGED);
        assert_int_equal(look(ids[i]).body_bytes, 0);
    }
    audit();
    assert_int_equal(found.count, 0);
    assert_status(ack(&job), NOT_RESERVED);
    assert_int_equal(pop(1).out.pop.count, 0);
    assert_all_counts(0, 0, 0, 3);
    assert_int_equal(kick(10).out.chunk.count, 3);
}

static void a_value_that_is_not_ours_goes_with_all_its_entries(void **state)
{
    static const char strange_state[24] = {7}, no_reason[24] = {JOB_DEAD};
    static const char short_rules[40] = {JOB_READY | JOB_FLAG_RULES};
    static const char no_holder[24] = {JOB_READY | (char)JOB_FLAG_HOLDER};
    static const struct bytes values[] = {
        {"", 0},         {"short", 5},      {strange_state, 24},
        {no_reason, 24}, {short_rules, 40}, {no_holder, 24},
    };

    push("alive");
    for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
        push_delayed("a", FAR_MS);
        plant("HSET", 'p', "a body");
        plant_value("a", values[i].at, values[i].len);
        assert_mended("a", DAMAGE_NO_VALUE);
        assert_gone("a");
    }
    assert_all_counts(0, 1, 0, 0);
}

/* A delayed job's value with an EXTRA block that says it has so many bytes; cut off after
 * `bytes`. */
static struct bytes extra_value(unsigned says, size_t bytes)
{
    static char value[200];
    struct job job = {.state = JOB_DELAYED, .due_ms = INT64_C(1) << 42};

    memset(value, 0, sizeof(value));
    job_pack_header(&job, value);
    value[0] = (char)(value[0] | JOB_FLAG_RULES);
    rules_pack(&rules_default, value + JOB_HEADER_BYTES);
    value[JOB_HEADER_BYTES + RULES_KIND_AT] = (char)RULES_EXTRA;
    packed_put(value + JOB_HEADER_BYTES + RULES_BYTES, 2, says);
    return bytes_of(value, bytes);
}

/* The scripts and the node judge alike. */
static void an_extra_block_that_cannot_be_makes_a_value_not_ours(void **state)
{
    enum { BLOCK_AT = JOB_HEADER_BYTES + RULES_BYTES };
    static const struct {
        unsigned says;
        size_t bytes;
    } values[] = {
        {EXTRA_BYTES, BLOCK_AT + EXTRA_BYTES},
        {EXTRA_BYTES, BLOCK_AT + EXTRA_BYTES - 1},
        {EXTRA_BYTES + 9, BLOCK_AT + EXTRA_BYTES + 9},
        {EXTRA_BYTES + 9, BLOCK_AT + EXTRA_BYTES + 8},
        {EXTRA_BYTES - 1, BLOCK_AT + EXTRA_BYTES + 20},
        {EXTRA_BYTES_MAX + 1, 200},
        {0, BLOCK_AT + EXTRA_BYTES},
        {EXTRA_BYTES, BLOCK_AT},
        {EXTRA_BYTES, BLOCK_AT + 1},
    };

    for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
        struct bytes value = extra_value(values[i].says, values[i].bytes);
        struct job job;
        bool is_ours = job_unpack(value, &job) == STATUS_OK;

        assert_int_equal(is_ours, i == 0 || i == 2);
        push_delayed("a", FAR_MS);
        plant_value("a", value.at, value.len);
        audit();
        assert_suspect("a", is_ours ? DAMAGE_WRONG_TIME : DAMAGE_NO_VALUE);
        assert_int_equal(mend("a"), is_ours ? DAMAGE_WRONG_TIME : DAMAGE_NO_VALUE);
        if (is_ours)
            assert_status(cancel("a"), OK);
        assert_gone("a");
    }
}

/* ---- ttl ---- */

static void a_ttl_is_watched_again(void **state)
{
    struct op op = push_mortal("a", 0, FAR_MS);
    int64_t expires_ms = after(&op, FAR_MS);

    plant("DEL", 'e', "");
    assert_mended("a", DAMAGE_NO_EXPIRY);
    assert_int_equal(next_event_ms(), expires_ms);
    plant_score('e', "a", expires_ms + 77);
    assert_mended("a", DAMAGE_NO_EXPIRY);
    assert_int_equal(next_event_ms(), expires_ms);
}

static void who_has_no_ttl_is_not_watched(void **state)
{
    push("a");
    plant_score('e', "a", store_now() + FAR_MS);
    mend("");
    assert_mended("a", DAMAGE_NO_EXPIRY);
    assert_status(cancel("a"), OK);
    make_dead("b");
    plant_score('e', "b", store_now() + FAR_MS);
    assert_mended("b", DAMAGE_NO_EXPIRY);
    assert_dead("b", DEATH_BURIED);
}

/* ---- the topic ---- */

static void a_topic_that_is_not_listed_is_listed_again(void **state)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC), .in.topics.limit = 10};

    push("a");
    plant("ZREM", 'a', "orders");
    assert_int_equal(run_well(op).out.topics.count, 0);
    assert_mended("", DAMAGE_NOT_LISTED);
    assert_int_equal(run_well(op).out.topics.count, 1);
}

/* The scan plans one for a second later, when it has met a contradiction. */
static void an_event_that_comes_soon_is_no_damage(void **state)
{
    wait_until(push_delayed("a", 1).out.push.due_ms);
    plant_score('t', "orders", store_now() + 1500);
    assert_int_equal(mend(""), DAMAGE_NONE);
    plant_score('t', "orders", store_now() + FAR_MS);
    assert_mended("", DAMAGE_NO_EVENT);
}

static void an_event_that_is_missing_or_late_is_planned(void **state)
{
    int64_t due_ms = push_delayed("a", FAR_MS).out.push.due_ms;
    struct op op;

    plant("ZREM", 't', "orders");
    assert_int_equal(scan(1000).out.scan.next_ms, -1);
    assert_mended("", DAMAGE_NO_EVENT);
    op = scan(1000);
    assert_int_equal(op.now_ms + op.out.scan.next_ms, due_ms);
    plant_score('t', "orders", due_ms + 1);
    assert_mended("", DAMAGE_NO_EVENT);
    op = scan(1000);
    assert_int_equal(op.now_ms + op.out.scan.next_ms, due_ms);
}

/* ---- bytes that count ---- */

static void plant_counter(const char *bytes)
{
    char rest[64];

    snprintf(rest, sizeof(rest), "orders %s", bytes);
    plant("HSET", 'w', rest);
}

static bool counter_is(const char *bytes)
{
    redisReply *reply =
        redisCommand(contract_redis_fixture()->control, "HGET %s orders", contract_key('w'));
    bool is_it = reply && reply->type == REDIS_REPLY_STRING && !strcmp(reply->str, bytes);

    freeReplyObject(reply);
    return is_it;
}

static void a_counter_of_bytes_that_is_wrong_is_counted_anew(void **state)
{
    push("uncounted");
    contract_push_sized("small", 100, 0, TTR_MS);
    contract_push_sized("big", 4000, FAR_MS, TTR_MS);
    assert_true(counter_is("4100"));
    audit();
    assert_int_equal(found.count, 0);
    plant_counter("5000");
    assert_mended("", DAMAGE_WRONG_BYTES);
    assert_true(counter_is("4100"));
    plant_counter("1");
    assert_mended("", DAMAGE_WRONG_BYTES);
    assert_true(counter_is("4100"));
    assert_status(cancel("small"), OK);
    assert_status(cancel("big"), OK);
    plant_counter("7"); /* no job counts */
    assert_mended("", DAMAGE_WRONG_BYTES);
    assert_int_equal(plant("EXISTS", 'w', ""), 0);
}

/* A script would take too long. The counter is right again when they have become fewer. */
static void the_bytes_of_many_jobs_are_not_counted_anew(void **state)
{
    contract_push_sized("small", 100, 0, TTR_MS);
    push_numbered(TOPIC, 0, 500, FAR_MS);
    plant_counter("101");
    audit();
    assert_int_equal(found.count, 0);
    assert_int_equal(mend(""), DAMAGE_NONE);
    assert_status(cancel("small"), OK);
    assert_true(counter_is("1"));
    assert_mended("", DAMAGE_WRONG_BYTES);
}

static void an_empty_topic_counts_no_bytes_whatever_its_counter_says(void **state)
{
    struct op ops[] = {push_op(TOPIC, "b"), push_op(TOPIC, "c")};

    plant_counter("999999");
    ops[0].in.push.bytes_max = ops[1].in.push.bytes_max = 100;
    assert_status(run(ops[0]), OK);
    assert_true(counter_is("4"));
    assert_status(cancel("b"), OK);
    plant_counter("999999");
    run_all(ops, 2);
    assert_status(ops[0], OK);
    assert_status(ops[1], OK);
    assert_true(counter_is("8"));
}

static void a_counter_never_falls_below_nothing(void **state)
{
    contract_push_sized("a", 100, 0, TTR_MS);
    contract_push_sized("b", 100, 0, TTR_MS);
    plant_counter("150");
    assert_status(cancel("a"), OK);
    assert_true(counter_is("50"));
    assert_status(cancel("b"), OK);
    assert_int_equal(plant("EXISTS", 'w', ""), 0);
}

/* What a repair throws away is found by the next audit. */
static void a_body_that_is_lost_counts_no_more(void **state)
{
    contract_push_sized("small", 100, FAR_MS, TTR_MS);
    contract_push_sized("big", 4000, FAR_MS, TTR_MS);
    plant("DEL", 'p', "");
    assert_int_equal(mend("big"), DAMAGE_NO_BODY);
    assert_mended("", DAMAGE_WRONG_BYTES);
    assert_true(counter_is("100"));
}

/* The pop is sent twice, because each looks at about a thousand entries. The first answer tells
 * of the event. */
static void a_pop_of_much_that_has_expired_tells_the_event_it_planned(void **state)
{
    struct op last, op;

    for (unsigned i = 0; i < 1200; i++)
        last = push_mortal("", 0, 1);
    wait_until(last.now_ms + 2);
    plant("ZREM", 't', "orders");
    op = pop(1);
    assert_int_equal(op.out.pop.count, 0);
    assert_int_equal(op.wait_ms, 1000);
    assert_all_counts(0, 0, 0, 1200);
}

/* ---- what is sound ---- */

static void sound_jobs_are_no_suspects(void **state)
{
    struct job back;

    hold("reserved", TTR_MS);
    push("back");
    back = pop_one();
    returned(&back, 1);
    push("gone");
    push_large("large", 0);
    push_large("large-later", FAR_MS);
    push_ranked("high", 1);
    push_ranked("low", UINT32_MAX);
    push_mortal("mortal", FAR_MS, 2 * FAR_MS);
    assert_status(cancel("gone"), OK);
    audit();
    assert_int_equal(found.count, 0);
}

/* The list is in no order, which no script would leave: halving fails, the exact look does
 * not. */
static void a_suspect_that_is_sound_stays_as_it_is(void **state)
{
    struct job job = (push_numbered(TOPIC, 0, 1200, 0), push("a"), get("a"));

    plant_entry("LREM %s 1 %b", 'r', &job);
    plant_entry("LPUSH %s %b", 'r', &job);
    assert_int_equal(mend("a"), DAMAGE_NONE);
    assert_bytes(pop_one().id, BYTES("a"));
}

static void a_repair_changes_nothing_that_is_sound(void **state)
{
    static const char *const ids[] = {"reserved", "ready", "ranked", "delayed",
                                      "dead",     "",      "none"};
    char before[CONTRACT_DIGESTS], after[CONTRACT_DIGESTS];

    make_dead("dead");
    hold("reserved", TTR_MS);
    push_large("ready", 0);
    push_ranked("ranked", 1);
    push_mortal("delayed", FAR_MS, 2 * FAR_MS);
    contract_digests('n', before);
    for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        assert_int_equal(mend(ids[i]), DAMAGE_NONE);
    contract_digests('n', after);
    assert_string_equal(before, after);
}

/* ---- page after page ---- */

static void every_job_of_many_is_looked_at(void **state)
{
    static struct op ops[3000];
    static char ids[3000][16];
    struct job job;

    for (unsigned i = 0; i < 3000; i++) {
        snprintf(ids[i], sizeof(ids[i]), "job%u", i);
        ops[i] = push_op(TOPIC, ids[i]);
        ops[i].in.push.delay_ms = i % 3 ? 0 : FAR_MS;
    }
    run_all(ops, 3000);
    job = get("job1000");
    plant_entry("LREM %s 1 %b", 'r', &job);
    plant("ZREM", 'd', "job1500");
    audit();
    assert_int_equal(found.count, 2);
    assert_suspect("job1000", DAMAGE_NO_PLACE);
    assert_suspect("job1500", DAMAGE_NO_PLACE);
    assert_in_range(found.looked_at, 3000 + 999 + 1, 10000);
    assert_true(found.pages > 5);
}

/* Repair looks at so many entries from both ends on. A stray entry in between is a
 * tombstone. */
static void a_stray_entry_in_the_middle_of_many_is_not_told(void **state)
{
    static struct op ops[1200];
    struct job alive, ghost = {.id = BYTES("ghost"), .stamp = JOB_KEY_MIDDLE};

    for (unsigned i = 0; i < 1200; i++) {
        ops[i] = push_op(TOPIC, "");
        ops[i].in.push.rules.priority = i < 600 ? 5 : 7;
    }
    run_all(ops, 1200);
    push_ranked("inside", 5);
    push_ranked("alive", 7);
    alive = get("alive");
    alive.stamp++;
    plant_entry("ZADD %s 6 %b", 'q', &alive);
    plant_entry("ZADD %s 6 %b", 'q', &ghost);
    audit();
    assert_int_equal(found.count, 0);
    assert_int_equal(mend("alive"), DAMAGE_NONE);
    assert_int_equal(mend("inside"), DAMAGE_NONE); /* a sound job there stays as it is */
    assert_int_equal(purge(JOB_READY, 601).out.chunk.count, 601);
    audit();
    assert_int_equal(found.count, 2);
    assert_suspect("alive", DAMAGE_TWO_PLACES);
    assert_int_equal(mend("alive"), DAMAGE_TWO_PLACES);
    assert_mended("ghost", DAMAGE_NO_JOB);
    plant_entry("ZADD %s 9 %b", 'q', &ghost);
    assert_mended("ghost", DAMAGE_NO_JOB);
}

static void what_has_no_room_in_an_answer_is_found_the_next_time(void **state)
{
    unsigned mended = 0;

    push_numbered(TOPIC, 0, 150, FAR_MS);
    plant("DEL", 'd', "");
    for (audit(); found.count; audit())
        for (unsigned i = 0; i < found.count; i++, mended++) {
            struct op op = {.verb = OP_REPAIR, .topic = TOPIC, .id = found.items[i].id};

            assert_int_equal(run_well(op).out.repair.damage, DAMAGE_NO_PLACE);
        }
    assert_int_equal(mended, 150);
    assert_all_counts(150, 0, 0, 0);
}

static void places_tell_every_topic_with_a_key(void **state)
{
    struct op op = {.verb = OP_PLACES};
    unsigned told[2] = {0};

    push("a");
    run_well(push_op(ELSEWHERE, "b"));
    plant("DEL", 'j', "");
    do {
        struct op page = run_well(op);

        for (unsigned i = 0; i < page.out.places.count; i++) {
            told[0] += bytes_equal(page.out.places.rows[i].topic, TOPIC);
            told[1] += bytes_equal(page.out.places.rows[i].topic, ELSEWHERE);
        }
        op.in.places.after = page.out.places.next;
    } while (op.in.places.after.len);
    assert_true(told[0] > 0 && told[1] > 0);
}

static void assert_counts_as_none(struct bytes row)
{
    struct topic_settings settings = {.set = SETTING_BIT(MAX_TRIES), .max_tries = 3};
    static const char *const command = "HSET %s %b %b";
    struct redis_fixture *redis = contract_redis_fixture();

    redis_fixture_command(redis, command, contract_key('c'), TOPIC.at, TOPIC.len, row.at,
                          row.len);
    run_well((struct op){.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)});
    make_dead("dead");
    scan_at(store_now());
    assert_state("dead", JOB_DEAD);
    assert_int_equal(settings_of(TOPIC).set, 0);
    push("a");
    assert_int_equal(pop(1).out.pop.count, 1);
    configure(settings, SETTING_BIT(MAX_TRIES));
    assert_int_equal(settings_of(TOPIC).max_tries, 3);
    assert_int_equal(settings_of(TOPIC).set, SETTING_BIT(MAX_TRIES));

    redis_fixture_command(redis, command, contract_key('c'), TOPIC.at, TOPIC.len, row.at,
                          row.len);
    pause_until(0);
    assert_int_equal(plant("EXISTS", 'c', ""), 0);
    cancel("a");
    cancel("dead");
}

/* Of dueq's length, or of another. */
static void settings_that_are_not_ours_count_as_none(void **state)
{
    char rows[3][SETTINGS_BYTES];

    memset(rows, 0xff, sizeof(rows[0]));
    memset(rows[1], 0, sizeof(rows) - sizeof(rows[0]));
    memset(rows[1], 0xff, 6); /* paused */
    rows[1][18] = 3;          /* a kind of backoff */
    memset(rows[2], 0xff, 6);
    memset(rows[2] + 16, 0xff, 2); /* max_tries */
    assert_counts_as_none(BYTES("bad"));
    for (unsigned i = 0; i < 3; i++)
        assert_counts_as_none(bytes_of(rows[i], SETTINGS_BYTES));
}

static void plant_row(const char *row, size_t len)
{
    redis_fixture_command(contract_redis_fixture(), "HSET %s %b %b", contract_key('c'),
                          TOPIC.at, TOPIC.len, row, len);
}

static bool has_row(const char *row, size_t len)
{
    redisReply *reply = redisCommand(contract_redis_fixture()->control, "HGET %s %b",
                                     contract_key('c'), TOPIC.at, TOPIC.len);
    bool is_it = reply && reply->type == REDIS_REPLY_STRING && reply->len == len &&
                 !memcmp(reply->str, row, len);

    freeReplyObject(reply);
    return is_it;
}

/* Nodes of two versions work side by side during an upgrade. */
static void what_a_newer_version_has_set_stays(void **state)
{
    struct topic_settings tries = {.set = SETTING_BIT(MAX_TRIES), .max_tries = 3};
    char row[SETTINGS_BYTES + 4];

    settings_pack(&tries, row);
    row[6] = 64; /* bit 14 */
    memcpy(row + SETTINGS_BYTES, "more", 4);
    plant_row(row, sizeof(row));
    assert_int_equal(settings_of(TOPIC).max_tries, 3);
    assert_int_equal(settings_of(TOPIC).set, SETTING_BIT(MAX_TRIES));
    set_dead_max(2);
    tries.set |= SETTING_BIT(DEAD_MAX);
    tries.dead_max = 2;
    settings_pack(&tries, row);
    row[6] = 64;
    assert_true(has_row(row, sizeof(row)));
    configure((struct topic_settings){0}, SETTINGS_ALL);
    memset(row, 0, SETTINGS_BYTES);
    row[6] = 64;
    assert_true(has_row(row, sizeof(row)));
    run_well((struct op){.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)});
    assert_true(has_row(row, sizeof(row)));
    make_dead("b");
    scan_at(store_now());
    assert_state("b", JOB_DEAD);
    plant("DEL", 'c', "");
}

static const struct CMUnitTest tests[] = {
    TEST(a_job_whose_body_is_lost_dies_of_it),
    TEST(a_value_that_is_not_ours_goes_with_all_its_entries),
    TEST(an_extra_block_that_cannot_be_makes_a_value_not_ours),
    TEST(a_ttl_is_watched_again),
    TEST(who_has_no_ttl_is_not_watched),
    TEST(a_topic_that_is_not_listed_is_listed_again),
    TEST(an_event_that_comes_soon_is_no_damage),
    TEST(an_event_that_is_missing_or_late_is_planned),
    TEST(a_counter_of_bytes_that_is_wrong_is_counted_anew),
    TEST(the_bytes_of_many_jobs_are_not_counted_anew),
    TEST(an_empty_topic_counts_no_bytes_whatever_its_counter_says),
    TEST(a_counter_never_falls_below_nothing),
    TEST(a_body_that_is_lost_counts_no_more),
    TEST(a_pop_of_much_that_has_expired_tells_the_event_it_planned),
    TEST(sound_jobs_are_no_suspects),
    TEST(a_suspect_that_is_sound_stays_as_it_is),
    TEST(a_repair_changes_nothing_that_is_sound),
    TEST(every_job_of_many_is_looked_at),
    TEST(a_stray_entry_in_the_middle_of_many_is_not_told),
    TEST(what_has_no_room_in_an_answer_is_found_the_next_time),
    TEST(settings_that_are_not_ours_count_as_none),
    TEST(what_a_newer_version_has_set_stays),
    TEST(places_tell_every_topic_with_a_key),
};

const struct contract_part contract_mends = {tests, sizeof(tests) / sizeof(*tests)};
