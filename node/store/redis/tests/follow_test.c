/* A store that follows the master of real Sentinels: found, failed over, killed; and its
 * messages when set up wrongly.
 */
#include "node/store/redis/tests/store_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <hiredis/hiredis.h>

#define SENTINELS 2

/* A master that may get a replica, and Sentinels of which each may act alone. */
struct house {
    struct node node; /* first: it is torn down as any. On the master */
    struct redis_fixture *replica;
    struct redis_fixture *sentinels[SENTINELS];
    unsigned sentinel_count;
    char address[512];
};

/* ---- around each test ---- */

static int set_up(void **state)
{
    struct house *h = calloc(1, sizeof(*h));

    node_init(&h->node, redis_fixture_new(NULL));
    redis_fixture_listen(h->node.redis);
    snprintf(h->address, sizeof(h->address), "sentinel://m@");
    h->node.options.address = h->address;
    *state = h;
    return 0;
}

static int tear_down(void **state)
{
    struct house *h = *state;

    redis_fixture_free(h->replica);
    for (unsigned i = 0; i < h->sentinel_count; i++)
        redis_fixture_free(h->sentinels[i]);
    return node_tear_down(state);
}

#define WITH_A_HOUSE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void add_replica(struct house *h)
{
    h->replica = redis_fixture_new(NULL);
    redis_fixture_listen(h->replica);
    redis_fixture_command(h->node.redis, "CONFIG SET repl-diskless-sync-delay 0");
    redis_fixture_command(h->replica, "REPLICAOF 127.0.0.1 %d", h->node.redis->port);
}

static void name_sentinel(struct house *h, const char *address)
{
    size_t len = strlen(h->address);

    snprintf(h->address + len, sizeof(h->address) - len, "%s%s",
             h->address[len - 1] == '@' ? "" : ",", address);
}

/* Named in the address of the store. */
static struct redis_fixture *add_sentinel(struct house *h, const char *more)
{
    struct redis_fixture **place = &h->sentinels[h->sentinel_count++];
    char lines[512];

    snprintf(lines, sizeof(lines),
             "sentinel monitor m 127.0.0.1 %d 1\n"
             "sentinel down-after-milliseconds m 1000\n"
             "sentinel failover-timeout m 3000\n%s\n",
             h->node.redis->port, more);
    *place = redis_fixture_new_sentinel(lines);
    name_sentinel(h, (*place)->address);
    return *place;
}

static void start(struct house *h)
{
    node_start_up(&h->node);
}

static void assert_is_at(struct house *h, const struct redis_fixture *redis)
{
    char address[32];

    snprintf(address, sizeof(address), "127.0.0.1:%d", redis->port);
    assert_string_equal(redis_store_address(h->node.store), address);
}

static void assert_pushes(struct house *h)
{
    struct job_op a = {0};

    assert_int_equal(push(&h->node, &a, "t"), STATUS_OK);
}

/* Of "name", value, "name", value. */
static bool has_field(const redisReply *fields, const char *name, const char *value)
{
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        if (!strcmp(fields->element[i]->str, name))
            return !strcmp(fields->element[i + 1]->str, value);
    }
    return false;
}

/* Is its replica seen, and fit to be promoted? */
static bool sees_a_replica(struct redis_fixture *sentinel)
{
    redisReply *reply;
    bool is_seen;

    redis_fixture_command(sentinel, "PING");
    reply = redisCommand(sentinel->control, "SENTINEL REPLICAS m");
    is_seen = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
              has_field(reply->element[0], "flags", "slave") &&
              has_field(reply->element[0], "master-link-status", "ok");
    freeReplyObject(reply);
    return is_seen;
}

static void run_until_seen(struct house *h)
{
    alarm(PATIENCE_S);
    while (!sees_a_replica(h->sentinels[0]))
        event_base_loop(h->node.loop->base, EVLOOP_ONCE);
    alarm(0);
}

/* ---- a change of masters ---- */

static void finds_the_master(void **state)
{
    struct house *h = *state;

    add_sentinel(h, "");
    start(h);
    assert_is_at(h, h->node.redis);
    assert_pushes(h);
}

/* Wake-ups come from the new one, too. */
static void follows_a_failover_by_hand(void **state)
{
    struct house *h = *state;

    add_replica(h);
    add_sentinel(h, "");
    start(h);
    run_until_seen(h);
    redis_fixture_command(h->sentinels[0], "SENTINEL FAILOVER m");
    node_come_back(&h->node);
    assert_is_at(h, h->replica);
    h->node.is_woken = false;
    assert_pushes(h);
    run_until(h->node.loop, &h->node.is_woken);
}

static void serves_what_it_held_from_the_next_master(void **state)
{
    struct house *h = *state;
    struct job_op a = {0};
    unsigned count;

    add_replica(h);
    add_sentinel(h, "");
    start(h);
    run_until_seen(h);
    redis_fixture_kill(h->node.redis);
    run_until(h->node.loop, &h->node.is_down);
    assert_int_equal(push(&h->node, &a, "t"), STATUS_OK);
    assert_is_at(h, h->replica);
    assert_int_equal(pop(&h->node, &a, "t", &count), STATUS_OK);
    assert_int_equal(count, 1);
}

/* As a Sentinel may do that has not noticed yet. */
static void writes_nothing_to_a_replica_that_is_named_the_master(void **state)
{
    struct house *h = *state;
    struct job_op a = {0};

    add_sentinel(h, "");
    start(h);
    redis_fixture_command(h->node.redis, "REPLICAOF 127.0.0.1 1");
    submit_push(&h->node, &a, "t");
    run_until_why(&h->node, "replica");
    assert_false(a.is_done);
    redis_fixture_command(h->node.redis, "REPLICAOF NO ONE");
    run_until(h->node.loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_OK);
}

/* ---- Sentinels that are of no use ---- */

static void one_that_is_frozen_or_away_holds_nothing_up(void **state)
{
    struct house *h = *state;
    struct redis_fixture *frozen = add_sentinel(h, "");

    add_sentinel(h, "");
    name_sentinel(h, "unix:/nonexistent");
    kill(frozen->pid, SIGSTOP);
    start(h);
    assert_pushes(h);
    kill(frozen->pid, SIGCONT);
}

/* Which is what a Redis that cannot be reached is waited for, too. */
static void waits_for_sentinels_that_cannot_be_reached(void **state)
{
    struct house *h = *state;
    struct redis_fixture *sentinel = add_sentinel(h, "");

    redis_fixture_kill(sentinel);
    node_start(&h->node);
    run_until_why(&h->node, "Sentinel unix:");
    assert_string_equal(redis_store_address(h->node.store), "");
    assert_false(h->node.is_refused);
    redis_fixture_start(sentinel);
    run_until(h->node.loop, &h->node.is_up);
}

static void expect_refusal(struct house *h, const char *words)
{
    node_start(&h->node);
    run_until(h->node.loop, &h->node.is_refused);
    if (!strstr(h->node.why, words))
        fail_msg("%s", h->node.why);
}

static void refuses_a_master_that_no_sentinel_knows(void **state)
{
    struct house *h = *state;

    add_sentinel(h, "");
    memcpy(strstr(h->address, "m@"), "n@", 2);
    expect_refusal(h, "knows no master 'n'");
}

static void refuses_a_redis_in_the_place_of_a_sentinel(void **state)
{
    struct house *h = *state;

    name_sentinel(h, h->node.redis->address);
    expect_refusal(h, "is no Sentinel");
}

static void refuses_a_sentinel_in_the_place_of_a_redis(void **state)
{
    struct house *h = *state;

    h->node.options.address = add_sentinel(h, "")->address;
    expect_refusal(h, "sentinel://MASTER@");
}

static void refuses_a_missing_password(void **state)
{
    struct house *h = *state;

    add_sentinel(h, "requirepass open");
    expect_refusal(h, "store.sentinel_password");
}

static void refuses_a_wrong_password(void **state)
{
    struct house *h = *state;

    add_sentinel(h, "requirepass open");
    h->node.options.sentinel_password = "close";
    expect_refusal(h, "WRONGPASS");
}

static void refuses_a_password_that_sentinels_do_not_want(void **state)
{
    struct house *h = *state;

    add_sentinel(h, "");
    h->node.options.sentinel_password = "open";
    expect_refusal(h, "without any password");
}

static void brings_the_password(void **state)
{
    struct house *h = *state;

    add_sentinel(h, "requirepass open");
    h->node.options.sentinel_password = "open";
    start(h);
    assert_pushes(h);
}

/* While one of them may still know. */
static void one_that_is_wrong_is_no_reason_to_end(void **state)
{
    struct house *h = *state;
    struct redis_fixture *sentinel;

    name_sentinel(h, h->node.redis->address);
    sentinel = add_sentinel(h, "");
    redis_fixture_kill(sentinel);
    node_start(&h->node);
    run_until_why(&h->node, "is no Sentinel");
    assert_false(h->node.is_refused);
    redis_fixture_start(sentinel);
    run_until(h->node.loop, &h->node.is_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_HOUSE(finds_the_master),
        WITH_A_HOUSE(follows_a_failover_by_hand),
        WITH_A_HOUSE(serves_what_it_held_from_the_next_master),
        WITH_A_HOUSE(writes_nothing_to_a_replica_that_is_named_the_master),
        WITH_A_HOUSE(one_that_is_frozen_or_away_holds_nothing_up),
        WITH_A_HOUSE(waits_for_sentinels_that_cannot_be_reached),
        WITH_A_HOUSE(refuses_a_master_that_no_sentinel_knows),
        WITH_A_HOUSE(refuses_a_redis_in_the_place_of_a_sentinel),
        WITH_A_HOUSE(refuses_a_sentinel_in_the_place_of_a_redis),
        WITH_A_HOUSE(refuses_a_missing_password),
        WITH_A_HOUSE(refuses_a_wrong_password),
        WITH_A_HOUSE(refuses_a_password_that_sentinels_do_not_want),
        WITH_A_HOUSE(brings_the_password),
        WITH_A_HOUSE(one_that_is_wrong_is_no_reason_to_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
