/* What a job leaves in Redis, and what is not seen from outside: tombstones, a clock that goes
 * by microseconds, memory that is full.
 */
#include "node/store/contract/redis/plant.h"

#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

/* ---- what is left of a job ---- */

static void nothing_of_a_job_stays_when_it_is_gone(void **state)
{
    struct contract_scene scene = contract_set_the_scene();
    struct job due;

    assert_int_equal(delivered(&scene.done, 1).out.leases.stale, 0);
    assert_status(release(&scene.small, 0), OK);
    assert_status(ack(&scene.big), OK);
    scan_at(store_now());
    assert_status(cancel("ready"), OK);
    assert_status(cancel("later"), OK);
    assert_status(cancel("small"), OK);
    due = contract_pop_indexed();
    assert_bytes(due.id, BYTES("due"));
    assert_status(cancel("due"), OK);
    assert_int_equal(pop(1).out.pop.count, 0);
    assert_nothing_stays();
}

/* In one call: with bodies apart, ttls and entries of the index. The last ones call the scan.
 */
static void nothing_stays_of_jobs_that_are_acknowledged_together(void **state)
{
    enum { COUNT = 4 };
    struct op ops[COUNT];
    struct job jobs[COUNT];

    for (unsigned i = 0; i < COUNT; i++) {
        struct op op = large_op(numbered(i));

        op.in.push.ttl_ms = i < 2 ? 0 : FAR_MS;
        run_well(op);
        jobs[i] = contract_pop_indexed();
    }
    assert_int_equal(delivered(jobs, COUNT).out.leases.stale, 0);
    for (unsigned i = 0; i < COUNT; i++)
        ops[i] = lease_op(OP_ACK, &jobs[i]);
    redis_fixture_command(contract_redis_fixture(), "DEL %s", contract_key('t'));
    run_all(ops, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_status(ops[i], OK);
    assert_int_equal(ops[0].wait_ms, 5000);
    for (const char *letter = "jpdrqvxeo"; *letter; letter++)
        assert_int_equal(plant("EXISTS", *letter, ""), 0);
}

/* In one call: one dies, one is ready again, one rests; all with ttls, and indexed. */
static void no_lease_stays_of_jobs_that_are_released_together(void **state)
{
    enum { COUNT = 3 };
    struct op ops[COUNT];
    struct job jobs[COUNT];

    for (unsigned i = 0; i < COUNT; i++) {
        struct op op = large_op(numbered(i));

        op.in.push.ttl_ms = FAR_MS;
        op.in.push.rules.max_tries = i == 0 ? 1 : 2;
        run_well(op);
        jobs[i] = contract_pop_indexed();
    }
    for (unsigned i = 0; i < COUNT; i++)
        ops[i] = lease_op(OP_RELEASE, &jobs[i]);
    ops[2].in.lease.delay_ms = FAR_MS;
    run_all(ops, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_status(ops[i], OK);
    assert_dead(numbered(0), DEATH_TRIES);
    assert_state(numbered(1), JOB_READY);
    assert_state(numbered(2), JOB_DELAYED);
    assert_int_equal(plant("HLEN", 'o', ""), 3);
    assert_int_equal(plant("EXISTS", 'v', ""), 0);
    assert_int_equal(plant("ZCARD", 'e', ""), 2);
    audit();
    assert_int_equal(found.count, 0);
}

/* One that had a large body, and an entry in o. */
static void let_die(const char *id)
{
    struct op op = large_op(id);
    struct job job;
    op.in.push.rules.max_tries = 1;
    run_well(op);
    job = contract_pop_indexed();
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
        assert_int_equal(redis_fixture_command(contract_redis_fixture(),
                                               *letter == 'x' ? "ZCARD %s" : "HLEN %s",
                                               contract_key(*letter)),
                         1);
    assert_int_equal(get("new").body.len, 4096);
}

static void a_new_id_skips_exactly_those_that_live(void **state)
{
    long long n = INT64_C(1) << 46;
    unsigned bucket = bucket_of(TOPIC);
    char ids[4][32];

    redis_fixture_command(contract_redis_fixture(), "SET %s %lld", contract_key('n'), n);
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
        redis_fixture_command(contract_redis_fixture(), "HSET %s a %b", contract_key('j'),
                              value, sizeof(value));
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
        assert_in_range(plant("LLEN", 'r', ""), 3, 2000);
    }
    ASSERT_READY("first", "second", "x");
}

/* Tombstones behind so many live entries that only those at the end are met. The live ones
 * between them stay, in their order, also where one of them is the last of all. */
static void tombstones_at_the_end_of_a_long_list_are_bounded(void **state)
{
    enum { BEFORE = 1100, BETWEEN = 90, EACH = 50 };

    push_numbered(TOPIC, 0, BEFORE, 0);
    for (unsigned i = 0; i < BETWEEN; i++) {
        for (unsigned k = 0; k < EACH; k++)
            push(numbered(BEFORE + BETWEEN + k));
        push(numbered(BEFORE + i));
        for (unsigned k = 0; k < EACH; k++)
            assert_status(cancel(numbered(BEFORE + BETWEEN + k)), OK);
    }
    assert_in_range(plant("LLEN", 'r', ""), BEFORE + BETWEEN, 4000);
    for (unsigned i = 0; i < BEFORE + BETWEEN; i++)
        assert_bytes(pop_one().id, bytes_of_text(numbered(i)));
    assert_int_equal(pop(1).out.pop.count, 0);
}

/* So many that a call for one job looks at nothing else: it cuts them off, and no live entry.
 */
static void a_pop_that_meets_only_tombstones_cuts_off_no_live_entry(void **state)
{
    static const char *const script =
        "local ghost = string.rep('\\0', 6) .. 'ghost' "
        "for i = 1, 1001 do redis.call('LPUSH', KEYS[1], ghost) end return 1";

    push("first");
    push("second");
    redis_fixture_command(contract_redis_fixture(), "EVAL %s 1 %s", script, contract_key('r'));
    assert_bytes(pop_one().id, BYTES("first"));
    assert_bytes(pop_one().id, BYTES("second"));
}

/* Many behind the live ones, and enough before them that a scan cuts these off by itself. All
 * the same, so that what is left of them goes at once. */
static void surround_by_tombstones(void)
{
    static const char *const script =
        "local ghost = string.rep('\\0', 6) .. 'ghost' redis.call('LREM', KEYS[1], 0, ghost) "
        "for i = 1, 120 do redis.call('LPUSH', KEYS[1], ghost) end "
        "for i = 1, 1300 do redis.call('RPUSH', KEYS[1], ghost) end return 1";

    redis_fixture_command(contract_redis_fixture(), "EVAL %s 1 %s", script, contract_key('r'));
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
        length = plant("LLEN", 'r', "");
        op = scan_at(due.out.push.due_ms);
        assert_int_equal(op.out.scan.moved, 2);
        assert_in_range(plant("LLEN", 'r', ""), 2, length - 250);
        cuts += op.now_ms % CUT_EVERY == 0;
        assert_status(cancel("mortal"), OK);
        assert_status(cancel("due"), OK);
    }
    assert_int_equal(cuts, 2);
    ASSERT_READY("first", "second");
}

/* More live ones stand at both ends than are looked at there, and some between them. They stay,
 * in their order. */
static void tombstones_in_the_middle_of_a_long_list_are_bounded(void **state)
{
    enum { END = 1100, BETWEEN = 7000, LIVES = 97, ALL = 2 * END + BETWEEN };
    unsigned live = 0;

    push_numbered(TOPIC, 0, ALL, 0);
    for (unsigned i = 0; i < ALL; i++) {
        if (i < END || i >= ALL - END || i % LIVES == 0)
            live++;
        else
            assert_status(cancel(numbered(i)), OK);
    }
    assert_in_range(plant("LLEN", 'r', ""), live, 2 * live + 1500);
    for (unsigned i = 0; i < ALL; i++)
        if (i < END || i >= ALL - END || i % LIVES == 0)
            assert_bytes(pop_one().id, bytes_of_text(numbered(i)));
    assert_int_equal(pop(1).out.pop.count, 0);
}

/* The last of the list lives, and stands where it is cut off. */
static void who_stands_last_stays_when_tombstones_go(void **state)
{
    static const char *const ids[] = {"y0", "y1"};

    push_numbered(TOPIC, 0, 1100, 0);
    push(ids[1]);
    for (unsigned i = 0; i < 3000; i++) {
        push(ids[i % 2]);
        assert_status(cancel(ids[(i + 1) % 2]), OK);
        assert_int_equal(
            redis_fixture_command(contract_redis_fixture(), "EVAL %s 1 %s %s",
                                  "return redis.call('LINDEX', KEYS[1], -1):sub(7) == ARGV[1]",
                                  contract_key('r'), ids[i % 2]),
            1);
    }
    assert_in_range(plant("LLEN", 'r', ""), 1101, 4000);
}

/* ---- nothing before its time, by a clock that is finer than the store's ---- */

static int64_t redis_us(void)
{
    redisReply *reply;
    int64_t now_us;

    redis_fixture_command(contract_redis_fixture(), "PING"); /* makes the connection */
    reply = redisCommand(contract_redis_fixture()->control, "TIME");
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
    struct op pause = pause_op(OTHER, 0, 1000);
    struct job job;

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
    struct job jobs[5], again[2];
    struct op op, two[2];

    for (unsigned i = 0; i < 5; i++)
        push("");
    op = push_delayed("delayed", 1);
    contract_fill();
    assert_status(run(push_op(TOPIC, "refused")), STORE_ERROR);
    two[0] = two[1] = push_op(TOPIC, "delayed");
    run_all(two, 2);
    assert_status(two[0], DUPLICATE);
    assert_status(two[1], DUPLICATE);
    memcpy(jobs, pop(5).out.pop.jobs, sizeof(jobs));
    assert_int_equal(kept(jobs, 5).out.leases.stale, 0);
    assert_int_equal(delivered(jobs, 3).out.leases.stale, 0);
    assert_int_equal(returned(&jobs[3], 1).out.leases.stale, 0);
    assert_status(touch(&jobs[0], 0), OK);
    assert_status(release(&jobs[0], 0), OK);
    assert_status(release(&jobs[1], FAR_MS), OK);
    two[0] = lease_op(OP_ACK, &jobs[2]);
    two[1] = lease_op(OP_ACK, &jobs[4]);
    run_all(two, 2);
    assert_status(two[0], OK);
    assert_status(two[1], OK);
    memcpy(again, pop(2).out.pop.jobs, sizeof(again));
    two[0] = lease_op(OP_RELEASE, &again[0]);
    two[1] = lease_op(OP_RELEASE, &again[1]);
    two[1].in.lease.delay_ms = FAR_MS;
    run_all(two, 2);
    assert_status(two[0], OK);
    assert_status(two[1], OK);
    assert_int_equal(scan_at(op.out.push.due_ms).out.scan.moved, 1);
    assert_counts(TOPIC, 2, 2, 0);
    assert_gone("refused");
}

static void a_full_redis_lets_reservations_of_owners_end(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 3, .is_owned = true}};
    struct op beat = {.verb = OP_BEAT, .bucket = bucket_of(TOPIC)};
    struct op over;

    for (unsigned i = 0; i < 3; i++)
        push("");
    contract_fill();
    op = run_well(op);
    assert_int_equal(op.out.pop.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        static const enum op_verb verbs[] = {OP_ACK, OP_RELEASE, OP_BURY};

        over = lease_op(verbs[i], &op.out.pop.jobs[i]);
        over.in.lease.is_owned = true;
        assert_status(run(over), OK);
    }
    assert_int_equal(plant("EXISTS", 'z', ""), 0);
    beat.in.beat.is_there = true;
    beat = run_well(beat);
    assert_int_equal(plant("HLEN", 'm', ""), 1);
    beat.in.beat.is_there = false;
    beat.in.beat.forget = (struct worker_beat){own_worker(), beat.now_ms};
    run_well(beat);
    assert_int_equal(plant("EXISTS", 'm', ""), 0);
}

/* Of a process that nobody releases for: it was not there for long when Redis lost its beat. */
static void notes_go_by_themselves_after_days(void **state)
{
    struct op op = {.verb = OP_POP, .topic = TOPIC, .in.pop = {.count = 1, .is_owned = true}};

    push("a");
    run_well(op);
    assert_in_range(plant("PTTL", 'z', ""), OP_NOTES_KEEP_MS - 60000, OP_NOTES_KEEP_MS);
}

/* What others have written there is not told. */
static void strange_notes_and_beats_are_passed_over(void **state)
{
    struct op notes = {.verb = OP_NOTES, .bucket = bucket_of(TOPIC)};
    struct op beat = {.verb = OP_BEAT, .bucket = bucket_of(TOPIC), .in.beat.age_ms = 1};

    plant("HSET", 'z', "short 123456789");
    plant("HSET", 'z', "sixsix 12345678");
    plant("HSET", 'z', "\377\377\377\377\377\377 123456\1tid");
    plant("HSET", 'z', "stamp6 123456\1tid");
    notes.in.notes.worker = own_worker();
    notes.in.notes.limit = OP_NOTES_MAX;
    notes = run_well(notes);
    assert_int_equal(notes.out.notes.count, 1);
    assert_bytes(notes.out.notes.items[0].topic, BYTES("t"));
    assert_bytes(notes.out.notes.items[0].id, BYTES("id"));
    plant("HSET", 'm', "somebody 1");
    plant("HSET", 'm', "00000000000000ab never");
    plant("HSET", 'm', "00000000000000ac 5");
    plant("HSET", 'm', "00000000000000ad 999999999999999999");
    beat = run_well(beat);
    assert_int_equal(beat.out.beat.count, 2);
    assert_int_equal(beat.out.beat.silent[0].worker + beat.out.beat.silent[1].worker,
                     0xac + 0xad);
}

static const struct CMUnitTest tests[] = {
    TEST(nothing_of_a_job_stays_when_it_is_gone),
    TEST(nothing_stays_of_jobs_that_are_acknowledged_together),
    TEST(no_lease_stays_of_jobs_that_are_released_together),
    TEST(nothing_of_a_job_stays_when_a_scan_deletes_it),
    TEST(a_new_id_skips_exactly_those_that_live),
    TEST(tries_stay_at_the_most_that_the_header_can_hold),
    TEST(tombstones_are_bounded_whatever_leaves_them),
    TEST(tombstones_at_the_end_of_a_long_list_are_bounded),
    TEST(tombstones_in_the_middle_of_a_long_list_are_bounded),
    TEST(a_pop_that_meets_only_tombstones_cuts_off_no_live_entry),
    TEST(a_scan_cuts_tombstones_off_once),
    TEST(who_stands_last_stays_when_tombstones_go),
    TEST(nothing_ends_before_its_time),
    TEST(a_full_redis_takes_no_job_but_lets_all_go),
    TEST(a_full_redis_lets_reservations_of_owners_end),
    TEST(notes_go_by_themselves_after_days),
    TEST(strange_notes_and_beats_are_passed_over),
};

const struct contract_part contract_left = {tests, sizeof(tests) / sizeof(*tests)};
