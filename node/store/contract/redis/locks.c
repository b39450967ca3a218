/* Locks, in tests that change keys in Redis itself. */
#include "node/store/contract/locks.h"
#include "node/store/contract/redis/plant.h"

#include <stdio.h>

#include <hiredis/hiredis.h>

#define OWNER "00000000000000aa"

static struct sharer all;

static struct op share_op(void)
{
    sharer_init(&all, "node-a", OWNER, SHARE_OWN, 0x1c);
    return sharer_scan_op(&all);
}

/* The form of doc/cluster.md, which people who look into Redis rely on. */
static void a_lock_is_a_string_with_an_expiry(void **state)
{
    struct op op = share_op();
    long long left_ms;
    redisReply *reply;

    let_due(TOPIC, "a");
    run_well(op);
    left_ms = plant("PTTL", 'l', "");
    assert_in_range(left_ms, 1, FAR_MS);
    reply = redisCommand(contract_redis_fixture()->control, "GET %s", contract_key('l'));
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, 45 + strlen("node-a"));
    assert_memory_equal(reply->str, "000000000000001c" OWNER, 32);
    assert_string_equal(reply->str + 45, "node-a");
    freeReplyObject(reply);
}

/* Late topics come first; there may be more of them than in a page. */
static void late_topics_are_counted_over_all_pages(void **state)
{
    int64_t now_ms = store_now();
    unsigned number = 0;
    struct op op = share_op();
    char rest[64];

    memset(all.marks, SHARE_OTHERS, SHARES);
    for (unsigned i = 0; i < 220; i++) {
        struct op later = push_delayed_in(crowd_name(&number), "a", FAR_MS);

        snprintf(rest, sizeof(rest), "%lld %.*s", (long long)(i < 90 ? 1 : now_ms),
                 BYTES_ARG(later.topic));
        plant("ZADD", 't', rest);
    }
    op = run_well(op);
    assert_int_equal(op.out.scan.taken, 90);
    assert_int_equal(op.out.scan.stolen, 90);
    assert_true(op.out.scan.next_ms != 0);
}

/* Any other value of the key is no lock, and a lock is taken. */
static void what_is_no_lock_bars_nobody(void **state)
{
    static const char *const wrongs[] = {"SET", "LPUSH"};

    for (unsigned i = 0; i < 2; i++) {
        struct op op = share_op();

        plant("DEL", 'l', "");
        plant(wrongs[i], 'l', "wrong");
        let_due(TOPIC, i ? "a" : "b");
        op = run_well(op);
        assert_int_equal(op.out.scan.moved, 1);
        assert_int_equal(op.out.scan.taken, 1);
        assert_bytes(lock_of(TOPIC).node, BYTES("node-a"));
    }
}

static void no_scan_by_locks_changes_a_job_when_a_key_is_wrong(void **state)
{
    let_due(TOPIC, "due");
    contract_all_or_nothing(share_op(), "tcn");
    contract_stops_its_topic(share_op(), "jdve", 0);
    plant("PEXPIRE", 'l', "0");
    contract_stops_its_topic(share_op(), "r", 0);
    assert_int_equal(run_well(share_op()).out.scan.moved, 1);
}

static void no_lock_is_taken_by_what_cannot_be_announced(void **state)
{
    let_due(TOPIC, "due");
    contract_refused_unheard(share_op());
    assert_int_equal(plant("EXISTS", 'l', ""), 0);
}

/* Due jobs must move, or nothing would ever free memory. */
static void a_full_redis_gives_locks(void **state)
{
    struct op op = share_op();

    let_due(TOPIC, "due");
    contract_fill();
    op = run_well(op);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.taken, 1);
    assert_int_equal(plant("EXISTS", 'l', ""), 1);
}

/* A lock that outlives its topic makes no place, and no damage. */
static void a_lock_is_no_place(void **state)
{
    struct op places = {.verb = OP_PLACES};

    let_due(TOPIC, "due");
    run_well(share_op());
    audit();
    assert_int_equal(found.count, 0);
    assert_status(cancel("due"), OK);
    pop(1);
    assert_int_equal(plant("EXISTS", 'l', ""), 1);
    do {
        places = run_well(places);
        for (unsigned i = 0; i < places.out.places.count; i++)
            assert_false(bytes_equal(places.out.places.rows[i].topic, TOPIC));
        places.in.places.after = places.out.places.next;
    } while (places.out.places.next.len);
}

static const struct CMUnitTest tests[] = {
    TEST(a_lock_is_a_string_with_an_expiry),
    TEST(late_topics_are_counted_over_all_pages),
    TEST(what_is_no_lock_bars_nobody),
    TEST(no_scan_by_locks_changes_a_job_when_a_key_is_wrong),
    TEST(no_lock_is_taken_by_what_cannot_be_announced),
    TEST(a_full_redis_gives_locks),
    TEST(a_lock_is_no_place),
};

const struct contract_part contract_locks_redis = {tests, sizeof(tests) / sizeof(*tests)};
