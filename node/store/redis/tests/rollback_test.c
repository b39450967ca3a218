/* A Redis that comes back with an earlier state of its data: what has been lost is counted,
 * told once, and comes back as no other. */
#include "node/store/redis/tests/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc16.h"
#include "node/store/redis/rollback.h"
#include "node/store/redis/push_ledger.h"
#include "node/store/redis/tests/log_fixture.h"
#include "node/store/redis/tests/replicas_fixture.h"
#include "node/store/redis/wire/encode.h"

static struct job_op ops[8];

/* ---- backups ---- */

static void run_well(const char *command)
{
    assert_int_equal(system(command), 0);
}

/* Redis is idle, and has synced all it has answered. */
static void back_up(struct node *n)
{
    char command[256];

    snprintf(command, sizeof(command), "cd '%s' && cp -r appendonlydir backup", n->redis->dir);
    run_well(command);
}

/* The nodes have yet to notice. */
static void put_back(struct node *n)
{
    char command[256];

    redis_fixture_kill(n->redis);
    snprintf(command, sizeof(command),
             "cd '%s' && rm -r appendonlydir && cp -r backup appendonlydir", n->redis->dir);
    run_well(command);
    redis_fixture_start(n->redis);
}

static void restore(struct node *n)
{
    put_back(n);
    node_come_back(n);
}

static void restart(struct node *n)
{
    redis_fixture_kill(n->redis);
    redis_fixture_start(n->redis);
    node_come_back(n);
}

static void reconnect(struct node *n)
{
    redis_fixture_command(n->redis, "CLIENT KILL TYPE normal SKIPME yes");
    node_come_back(n);
}

/* ---- tests ---- */

static void what_is_lost_is_counted_and_told_once(void **state)
{
    struct node *n = *state;

    node_start_up(n);
    push_well(n, "t");
    push_well(n, "t");
    back_up(n);
    for (int i = 0; i < 3; i++)
        push_well(n, "t");
    push_well(n, "another");
    restore(n);
    assert_int_equal(stats(n)->rollbacks, 1);
    assert_int_equal(stats(n)->lost_pushes, 4);
    assert_int_equal(n->olders, 1);
    assert_int_equal(stats_of(n, "t").ready, 2);
    reconnect(n);
    assert_int_equal(stats(n)->rollbacks, 1);
    push_well(n, "t");
    reconnect(n);
    assert_int_equal(stats(n)->rollbacks, 1);
    assert_int_equal(n->olders, 1);
}

static void a_redis_that_has_lost_nothing_has_not_rolled_back(void **state)
{
    struct node *n = *state;
    unsigned count;

    node_start_up(n);
    push_well(n, "t");
    push_well(n, "t");
    assert_int_equal(pop(n, &ops[0], "t", &count), STATUS_OK);
    restart(n);
    assert_int_equal(stats(n)->rollbacks, 0);
    assert_int_equal(n->olders, 0);
}

/* No push is missing, but a stamp would be given out twice. */
static void a_lost_hand_over_shows_in_the_counter(void **state)
{
    struct node *n = *state;
    unsigned count;

    node_start_up(n);
    push_well(n, "t");
    back_up(n);
    assert_int_equal(pop(n, &ops[0], "t", &count), STATUS_OK);
    restore(n);
    assert_int_equal(stats(n)->rollbacks, 1);
    assert_int_equal(stats(n)->lost_pushes, 0);
    assert_int_equal(stats_of(n, "t").ready, 1);
}

static long long counter(struct node *n)
{
    return redis_fixture_command(n->redis,
                                 "EVAL return(tonumber(redis.call('GET',KEYS[1]))) 1 dq:{%u}:n",
                                 crc16(BYTES("t")) % n->options.buckets);
}

/* Whoever comes first knows nothing of the last stamps, and gives out none of them again; who
 * knows them notices all the same, though he comes later. */
static void the_first_to_come_repeats_nothing_that_others_have_seen(void **state)
{
    struct node *n = *state, first;
    unsigned count;
    long long seen;

    node_start_up(n);
    push_well(n, "t");
    back_up(n);
    assert_int_equal(pop(n, &ops[0], "t", &count), STATUS_OK);
    seen = counter(n);
    put_back(n);
    assert_true(counter(n) < seen);
    node_init(&first, n->redis);
    node_start_up(&first);
    assert_true(counter(n) > seen + 1000000);
    assert_int_equal(pop(&first, &ops[1], "t", &count), STATUS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(first.olders, 0);
    node_come_back(n);
    assert_int_equal(n->olders, 1);
    node_fini(&first);
}

/* Not with each connection: ids would run away from the clock. */
static void an_incarnation_of_redis_is_raised_once(void **state)
{
    struct node *n = *state;
    long long before;

    node_start_up(n);
    push_well(n, "t");
    before = counter(n);
    reconnect(n);
    assert_int_equal(counter(n), before);
    restart(n);
    assert_true(counter(n) > before + 1000000);
    assert_int_equal(n->olders, 0);
}

static void damage(struct node *n, const char *format)
{
    redis_fixture_command(n->redis, format, crc16(BYTES("t")) % n->options.buckets);
}

/* A node that comes to such a Redis serves the other buckets, and this one from the moment on
 * when it is mended. */
static void a_damaged_counter_holds_up_its_bucket_alone(void **state)
{
    static const char letters[] = "nl";
    struct node *n = *state;
    struct job_op waiting;
    char command[64];

    node_start_up(n);
    for (unsigned i = 0; i < 2; i++) {
        push_well(n, "t");
        snprintf(command, sizeof(command), "DEL dq:{%%u}:%c", letters[i]);
        damage(n, command);
        snprintf(command, sizeof(command), "LPUSH dq:{%%u}:%c wrong", letters[i]);
        damage(n, command);
        reconnect(n);
        push_well(n, "another");
        waiting = (struct job_op){0};
        submit_push(n, &waiting, "t");
        push_well(n, "another");
        assert_false(waiting.is_done);
        snprintf(command, sizeof(command), "DEL dq:{%%u}:%c", letters[i]);
        damage(n, command);
        assert_int_equal(await(n, &waiting), STATUS_OK);
    }
}

/* For whoever comes next, though he has seen nothing. */
static void a_counter_that_is_gone_does_not_begin_anew(void **state)
{
    struct node *n = *state, other;
    long long before;

    node_start_up(n);
    push_well(n, "t");
    before = counter(n);
    damage(n, "DEL dq:{%u}:n");
    node_init(&other, n->redis);
    node_start_up(&other);
    assert_true(counter(n) >= before);
    node_fini(&other);
}

/* Though its history is another then. */
static void a_first_replica_is_no_new_incarnation(void **state)
{
    struct node *n = *state, other;
    struct redis_fixture *replica = redis_fixture_new(NULL);
    struct redis_incarnation incarnation = redis_fixture_incarnation(n->redis), now;
    long long before;

    node_start_up(n);
    push_well(n, "t");
    before = counter(n);
    redis_fixture_listen(n->redis);
    redis_fixture_command(replica, "REPLICAOF 127.0.0.1 %d", n->redis->port);
    alarm(PATIENCE_S);
    while (!redis_fixture_says(replica, "master_link_status:up"))
        usleep(10000);
    alarm(0);
    now = redis_fixture_incarnation(n->redis);
    assert_string_not_equal(incarnation.history, now.history);
    node_init(&other, n->redis);
    node_start_up(&other);
    assert_int_equal(counter(n), before);
    push_well(n, "t");
    reconnect(n);
    assert_int_equal(stats(n)->rollbacks, 0);
    assert_int_equal(n->olders, 0);
    node_fini(&other);
    redis_fixture_free(replica);
}

/* Its data may have been another's meanwhile. */
static void a_master_that_was_a_replica_is_raised(void **state)
{
    struct node *n = *state;
    long long before;

    node_start_up(n);
    push_well(n, "t");
    before = counter(n);
    redis_fixture_command(n->redis, "REPLICAOF 127.0.0.1 1");
    redis_fixture_command(n->redis, "REPLICAOF NO ONE");
    reconnect(n);
    assert_true(counter(n) > before + 1000000);
    before = counter(n);
    reconnect(n);
    assert_int_equal(counter(n), before);
}

/* The first connection ends at the last bucket: it has no rights there. */
static void a_bucket_that_two_connections_ask_for_is_counted_once(void **state)
{
    struct node *n = *state;
    char path[96];

    assert_int_equal(n->options.buckets, 64);
    assert_true(crc16(BYTES("t")) % 64 < 63);
    snprintf(path, sizeof(path), "%s/log", n->redis->dir);
    node_start_up(n);
    push_well(n, "t");
    back_up(n);
    push_well(n, "t");
    put_back(n);
    redis_fixture_command(n->redis, "ACL SETUSER default resetkeys ~dq:meta ~dq:{?}:* "
                                    "~dq:{[1-5]?}:* ~dq:{6[0-2]}:*");
    log_to(path);
    run_until(n->loop, &n->is_down);
    run_until(n->loop, &n->is_refused);
    redis_fixture_command(n->redis, "ACL SETUSER default allkeys");
    run_until(n->loop, &n->is_up);
    log_to(NULL);
    assert_int_equal(n->olders, 1);
    assert_int_equal(stats(n)->lost_pushes, 1);
    assert_int_equal(lines_with(path, "rolled back: in 1 bucket something"), 1);
}

/* Of raise.lua, with another clock. */
static void run_raise_at(struct node *n, unsigned bucket, const char *time)
{
    static const char asks[] = "call('TIME')";
    const char *text = script_text_by_name("raise"), *at = strstr(text, asks);
    char *changed = NULL;

    assert_non_null(at);
    assert_true(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, time,
                         at + sizeof(asks) - 1) > 0);
    redis_fixture_command(
        n->redis, "EVAL %s 3 dq:{%u}:n dq:{%u}:u:1 dq:{%u}:l 0 0 20 39 1000 a:b 0 a:", changed,
        bucket, bucket, bucket);
    free(changed);
}

/* A machine that has no clock of its own begins at 1970. */
static void a_clock_that_nobody_has_set_makes_no_negative_ids(void **state)
{
    struct node *n = *state;
    unsigned bucket = crc16(BYTES("t")) % n->options.buckets;

    long long raised, is_there;

    run_raise_at(n, bucket, "{'86400', '0'}");
    is_there = redis_fixture_command(n->redis, "EXISTS dq:{%u}:n", bucket);
    raised = counter(n);
    node_start_up(n);
    assert_int_equal(is_there, 1);
    assert_int_equal(raised, 0);
}

/* Else it could never be emptied. */
static void a_full_redis_is_raised_as_well(void **state)
{
    static const char *const damages[] = {"DEL dq:{%u}:l", "SET dq:{%u}:n 1"};
    struct node *n = *state;
    unsigned count;

    node_start_up(n);
    for (unsigned i = 0; i < 2; i++) {
        long long before;

        push_well(n, "t");
        before = counter(n);
        damage(n, damages[i]);
        redis_fixture_command(n->redis, "CONFIG SET maxmemory 1");
        reconnect(n);
        assert_true(counter(n) > before + 1000000);
        assert_int_equal(pop(n, &ops[0], "t", &count), STATUS_OK);
        assert_int_equal(count, 1);
        redis_fixture_command(n->redis, "CONFIG SET maxmemory 0");
    }
}

static void ids_go_on_well_above_what_was_seen(void **state)
{
    struct node *n = *state;
    struct job_op before = {0}, after = {0};
    unsigned bucket = crc16(BYTES("t")) % n->options.buckets;

    /* Else the clock alone would do it. */
    redis_fixture_command(n->redis, "SET dq:{%u}:n 90000000000000", bucket);
    node_start_up(n);
    push_well(n, "t");
    back_up(n);
    assert_int_equal(push(n, &before, "t"), STATUS_OK);
    restore(n);
    assert_int_equal(push(n, &after, "t"), STATUS_OK);
    assert_true(strtoll(after.id, NULL, 10) > strtoll(before.id, NULL, 10) + 64 * 1000000);
}

/* And the new ring does not stay for ever. */
static void an_empty_redis_has_lost_them_all(void **state)
{
    struct node *n = *state;
    long long keys, seen;

    damage(n, "SET dq:{%u}:n 90000000000000"); /* else the clock alone would raise it */
    node_start_up(n);
    push_well(n, "t");
    push_well(n, "t");
    seen = counter(n);
    redis_fixture_command(n->redis, "FLUSHALL");
    reconnect(n);
    assert_true(counter(n) > seen + 1000000);
    assert_int_equal(stats(n)->rollbacks, 1);
    assert_int_equal(stats(n)->lost_pushes, 2);
    push_well(n, "t");
    keys = redis_fixture_command(n->redis, "EVAL %s 0 dq:{%u}:u:*",
                                 "local all = redis.call('KEYS', ARGV[1]) "
                                 "return #all == 1 and redis.call('PTTL', all[1]) or 0",
                                 crc16(BYTES("t")) % n->options.buckets);
    assert_in_range(keys, PUSH_LEDGER_KEEP_MS / 2, PUSH_LEDGER_KEEP_MS);
}

/* Their answers were lost, and what they did; they are retried at a Redis that knows nothing
 * of them. */
static void what_was_on_its_way_happens_in_the_older_redis(void **state)
{
    struct node *n = *state;

    node_start_up(n);
    push_well(n, "t");
    back_up(n);
    push_well(n, "t");
    node_freeze(n);
    for (int i = 0; i < 5; i++) {
        ops[i] = (struct job_op){0};
        submit_push(n, &ops[i], "t");
    }
    restore(n);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(await(n, &ops[i]), STATUS_OK);
    }
    assert_int_equal(stats_of(n, "t").ready, 6);
    assert_int_equal(stats(n)->lost_pushes, 1);
}

static void a_line_says_how_much(void **state)
{
    struct redis_rollback one = {.buckets = 1, .fallen_by = 7, .lost_pushes = 3};
    struct redis_rollback many = {.buckets = 64, .lost_pushes = 1024, .may_be_more = true};
    char text[256];

    redis_rollback_describe(&one, text, sizeof(text));
    assert_string_equal(text, "this Redis has rolled back: in 1 bucket something is missing "
                              "(the counter had fallen by up to 7); of the last pushes of "
                              "this node 3 are lost");
    redis_rollback_describe(&many, text, sizeof(text));
    assert_string_equal(text, "this Redis has rolled back: in 64 buckets something is missing "
                              "(the counter had fallen by up to 0); of the last pushes of "
                              "this node more than 1024 are lost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(what_is_lost_is_counted_and_told_once),
        WITH_REDIS(a_redis_that_has_lost_nothing_has_not_rolled_back),
        WITH_REDIS(a_lost_hand_over_shows_in_the_counter),
        WITH_REDIS(the_first_to_come_repeats_nothing_that_others_have_seen),
        WITH_REDIS(an_incarnation_of_redis_is_raised_once),
        WITH_REDIS(a_damaged_counter_holds_up_its_bucket_alone),
        WITH_REDIS(a_counter_that_is_gone_does_not_begin_anew),
        WITH_REDIS(a_first_replica_is_no_new_incarnation),
        WITH_REDIS(a_master_that_was_a_replica_is_raised),
        WITH_REDIS(a_bucket_that_two_connections_ask_for_is_counted_once),
        WITH_REDIS(a_clock_that_nobody_has_set_makes_no_negative_ids),
        WITH_REDIS(a_full_redis_is_raised_as_well),
        WITH_REDIS(ids_go_on_well_above_what_was_seen),
        WITH_REDIS(an_empty_redis_has_lost_them_all),
        WITH_REDIS(what_was_on_its_way_happens_in_the_older_redis),
        cmocka_unit_test(a_line_says_how_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
