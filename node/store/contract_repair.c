/* Audit and repair: damages planted by hand in Redis, one of each kind, are found and mended;
 * what is sound stays as it is.
 */
#include "node/store/contract_redis.h"
#include "node/store/contract_whole.h"

#include <stdio.h>

#include "node/store/packed.h"

#define SUSPECTS_MAX 256

/* ---- by hand ---- */

/* Runs a command whose key has this letter; `rest` is what comes behind it. */
static long long plant(const char *verb, char letter, const char *rest)
{
    char command[256];

    snprintf(command, sizeof(command), "%s %s %s", verb, contract_key(letter), rest);
    return redis_fixture_command(contract_redis_fixture(), command);
}

static void plant_score(char letter, const char *id, int64_t score)
{
    char rest[64];

    snprintf(rest, sizeof(rest), "%lld %s", (long long)score, id);
    plant("ZADD", letter, rest);
}

/* An entry of the ready list, or of q. */
static struct bytes entry_of(const struct job *job)
{
    static char entry[64];

    packed_put(entry, 6, job->stamp);
    memcpy(entry + 6, job->id.at, job->id.len);
    return bytes_of(entry, 6 + job->id.len);
}

static void plant_entry(const char *format, char letter, const struct job *job)
{
    struct bytes entry = entry_of(job);

    redis_fixture_command(contract_redis_fixture(), format, contract_key(letter), entry.at,
                          entry.len);
}

static void plant_value(const char *id, const char *value, size_t len)
{
    redis_fixture_command(contract_redis_fixture(), "HSET %s %s %b", contract_key('j'), id,
                          value, len);
}

/* ---- looking and mending ---- */

static struct {
    struct suspect items[SUSPECTS_MAX];
    unsigned count, looked_at, pages;
} found;

static void audit(void)
{
    struct op op = {.verb = OP_AUDIT, .topic = TOPIC};

    memset(&found, 0, sizeof(found));
    do {
        struct op page = run_well(op);

        assert_in_range(page.out.audit.looked_at, 0, 1000);
        assert_in_range(page.out.audit.count, 0, OP_LIST_MAX);
        for (unsigned i = 0; i < page.out.audit.count; i++) {
            assert_true(found.count < SUSPECTS_MAX);
            found.items[found.count++] = page.out.audit.items[i];
        }
        found.looked_at += page.out.audit.looked_at;
        found.pages++;
        op.in.places.after = page.out.audit.next;
    } while (op.in.places.after.len);
}

static void assert_suspect(const char *id, enum damage damage)
{
    for (unsigned i = 0; i < found.count; i++)
        if (bytes_equal(found.items[i].id, bytes_of_text(id)) &&
            found.items[i].damage == damage)
            return;
    fail_msg("'%s' is not told for %s (%u suspects)", id, damage_word(damage), found.count);
}

static enum damage mend(const char *id)
{
    return run_well(id_op(OP_REPAIR, id)).out.repair.damage;
}

/* It is found as this, mended, and then all is well. */
static void assert_mended(const char *id, enum damage damage)
{
    enum damage told;

    audit();
    assert_suspect(id, damage);
    told = mend(id);
    if (told != damage)
        fail_msg("%s was mended as %s", damage_word(damage), damage_word(told));
    assert_int_equal(mend(id), DAMAGE_NONE);
    audit();
    if (found.count)
        fail_msg("afterwards '%.*s' is told for %s", (int)found.items[0].id.len,
                 found.items[0].id.at, damage_word(found.items[0].damage));
}

/* ---- jobs in no place ---- */

static void a_delayed_job_in_no_place_waits_for_its_due_time(void **state)
{
    int64_t due_ms = push_delayed("a", FAR_MS).out.push.due_ms;

    plant("ZREM", 'd', "a");
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_int_equal(look("a").job.due_ms, due_ms);
    ASSERT_LIST(JOB_DELAYED, "a");
    assert_int_equal(next_event_ms(), due_ms);
}

static void an_overdue_job_in_no_place_becomes_ready(void **state)
{
    unsigned before;

    wait_until(push_delayed("a", 1).out.push.due_ms);
    plant("ZREM", 'd', "a");
    before = wake_ups(TOPIC);
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("a");
}

static void a_ready_job_in_no_place_becomes_the_last(void **state)
{
    struct job job = (push("a"), get("a"));

    push("b");
    plant_entry("LREM %s 1 %b", 'r', &job);
    assert_mended("a", DAMAGE_NO_PLACE);
    push("c");
    ASSERT_READY("b", "a", "c");
}

static void a_ready_job_with_a_priority_keeps_it(void **state)
{
    struct job job = (push_ranked("a", 7), get("a"));

    push_ranked("b", 7);
    push_ranked("c", 8);
    plant_entry("ZREM %s %b", 'q', &job);
    assert_mended("a", DAMAGE_NO_PLACE);
    ASSERT_READY("b", "a", "c");
}

static void a_reserved_job_in_no_place_becomes_ready(void **state)
{
    struct job job = hold("a", TTR_MS);

    plant("ZREM", 'v', "a");
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_status(ack(&job), NOT_RESERVED);
    job = pop_one();
    assert_bytes(job.id, BYTES("a"));
    assert_int_equal(job.tries, 1);
}

static void a_dead_job_in_no_place_is_dead_from_now_on(void **state)
{
    int64_t before_ms;

    make_dead("a");
    plant("ZREM", 'x', "a");
    before_ms = store_now();
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_dead("a", DEATH_BURIED);
    assert_in_range(look("a").place_ms, before_ms, store_now());
}

/* ---- entries too many ---- */

static void a_wrong_entry_of_a_job_goes(void **state)
{
    static const char letters[] = "dvx";

    for (unsigned i = 0; letters[i]; i++) {
        push("a");
        plant_score(letters[i], "a", store_now() + FAR_MS);
        assert_mended("a", DAMAGE_TWO_PLACES);
        ASSERT_READY("a");
        assert_status(cancel("a"), OK);
    }
}

static void the_header_is_believed_before_the_places(void **state)
{
    struct job job = hold("a", TTR_MS);

    plant_score('d', "a", 1);
    plant_score('x', "a", 1);
    assert_mended("a", DAMAGE_TWO_PLACES);
    assert_all_counts(0, 0, 1, 0);
    assert_status(ack(&job), OK);
}

static void a_ranked_entry_of_a_job_that_is_elsewhere_goes(void **state)
{
    struct job job;

    push_delayed("a*[b]?", FAR_MS);
    job = get("a*[b]?");
    plant_entry("ZADD %s 5 %b", 'q', &job);
    assert_mended("a*[b]?", DAMAGE_TWO_PLACES);
    assert_int_equal(pop(1).out.pop.count, 0);
    ASSERT_LIST(JOB_DELAYED, "a*[b]?");
}

static void a_place_without_a_job_goes(void **state)
{
    static const char letters[] = "dvxe";
    struct job ghost = {.id = BYTES("ghost"), .stamp = JOB_KEY_MIDDLE};

    push("alive");
    for (unsigned i = 0; letters[i]; i++) {
        plant_score(letters[i], "ghost", store_now() + FAR_MS);
        mend(""); /* the event that this would be */
        assert_mended("ghost", DAMAGE_NO_JOB);
    }
    plant_entry("ZADD %s 5 %b", 'q', &ghost);
    assert_mended("ghost", DAMAGE_NO_JOB);
    plant("HSET", 'p', "ghost body");
    assert_mended("ghost", DAMAGE_NO_JOB);
    ASSERT_READY("alive");
}

static void a_body_of_a_job_that_has_its_own_goes(void **state)
{
    push("a");
    plant("HSET", 'p', "a other");
    assert_mended("a", DAMAGE_NO_JOB);
    assert_bytes(pop_one().body, BODY);
}

/* The scan goes on where an orphan was in its way. */
static void a_mended_topic_is_scanned_again(void **state)
{
    push_delayed("lost", 1);
    push_delayed("a", 1);
    lose("lost");
    assert_int_equal(scan_at(store_now() + 2).out.scan.stuck, 1);
    assert_mended("lost", DAMAGE_NO_JOB);
    assert_int_equal(scan(1000).out.scan.moved, 1);
    ASSERT_READY("a");
}

/* ---- wrong times ---- */

static void the_due_time_of_the_header_counts(void **state)
{
    int64_t due_ms = push_delayed("a", FAR_MS).out.push.due_ms;

    plant_score('d', "a", due_ms + FAR_MS);
    assert_mended("a", DAMAGE_WRONG_TIME);
    assert_int_equal(next_event_ms(), due_ms);
}

static void a_ready_job_in_the_wrong_rank_goes_to_its_own(void **state)
{
    struct job job = (push_ranked("a", 7), get("a"));

    plant_entry("ZADD %s 5000 %b", 'q', &job);
    push("b");
    audit();
    assert_suspect("a", DAMAGE_NO_PLACE);
    assert_int_equal(mend("a"), DAMAGE_NO_PLACE);
    assert_int_equal(mend("a"), DAMAGE_NONE);
    ASSERT_READY("a", "b");
}

/* ---- lost bodies and values ---- */

static void push_large(const char *id, int64_t delay_ms)
{
    static char large[3000];
    struct op op = push_op(TOPIC, id);

    op.in.push.body = bytes_of(large, sizeof(large));
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

/* ---- ttl ---- */

static void a_ttl_is_watched_again(void **state)
{
    int64_t expires_ms = push_mortal("a", 0, FAR_MS).now_ms + FAR_MS;

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

/* Its list is in no order, as no script leaves it: halving fails, the exact look does not. */
static void a_suspect_that_is_sound_stays_as_it_is(void **state)
{
    static struct op ops[1200];
    struct job job;

    for (unsigned i = 0; i < 1200; i++)
        ops[i] = push_op(TOPIC, "");
    run_all(ops, 1200);
    push("a");
    job = get("a");
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

static void what_has_no_room_in_an_answer_is_found_the_next_time(void **state)
{
    static struct op ops[150];
    static char ids[150][8];
    unsigned mended = 0;

    for (unsigned i = 0; i < 150; i++) {
        snprintf(ids[i], sizeof(ids[i]), "j%u", i);
        ops[i] = push_op(TOPIC, ids[i]);
        ops[i].in.push.delay_ms = FAR_MS;
    }
    run_all(ops, 150);
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

#define TEST(name) cmocka_unit_test(name)
static const struct CMUnitTest tests[] = {
    TEST(a_delayed_job_in_no_place_waits_for_its_due_time),
    TEST(an_overdue_job_in_no_place_becomes_ready),
    TEST(a_ready_job_in_no_place_becomes_the_last),
    TEST(a_ready_job_with_a_priority_keeps_it),
    TEST(a_reserved_job_in_no_place_becomes_ready),
    TEST(a_dead_job_in_no_place_is_dead_from_now_on),
    TEST(a_wrong_entry_of_a_job_goes),
    TEST(the_header_is_believed_before_the_places),
    TEST(a_ranked_entry_of_a_job_that_is_elsewhere_goes),
    TEST(a_place_without_a_job_goes),
    TEST(a_body_of_a_job_that_has_its_own_goes),
    TEST(a_mended_topic_is_scanned_again),
    TEST(the_due_time_of_the_header_counts),
    TEST(a_ready_job_in_the_wrong_rank_goes_to_its_own),
    TEST(a_job_whose_body_is_lost_dies_of_it),
    TEST(a_value_that_is_not_ours_goes_with_all_its_entries),
    TEST(a_ttl_is_watched_again),
    TEST(who_has_no_ttl_is_not_watched),
    TEST(a_topic_that_is_not_listed_is_listed_again),
    TEST(an_event_that_is_missing_or_late_is_planned),
    TEST(sound_jobs_are_no_suspects),
    TEST(a_suspect_that_is_sound_stays_as_it_is),
    TEST(a_repair_changes_nothing_that_is_sound),
    TEST(every_job_of_many_is_looked_at),
    TEST(what_has_no_room_in_an_answer_is_found_the_next_time),
    TEST(places_tell_every_topic_with_a_key),
};

const struct contract_part contract_repair = {tests, sizeof(tests) / sizeof(*tests)};
