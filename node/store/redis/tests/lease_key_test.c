/* The key of leases' checks, which all nodes of a store share. */
#include "node/store/redis/tests/store_fixture.h"

#include <string.h>
#include <unistd.h>

#include <event2/event.h>

static const struct store_lease_key *key_of(const struct node *n)
{
    const struct store_lease_key *key = &redis_store_port(n->store)->lease_key;

    assert_true(key->is_known);
    return key;
}

static void assert_same_key(const struct node *a, const struct node *b)
{
    assert_memory_equal(key_of(a), key_of(b), sizeof(*key_of(a)));
}

static bool are_up(const struct node *a, const struct node *b)
{
    return a->is_up && b->is_up;
}

static bool have_same_key(const struct node *a, const struct node *b)
{
    return are_up(a, b) && !memcmp(key_of(a), key_of(b), sizeof(*key_of(a)));
}

static bool has_bare(const struct node *a, const struct node *b)
{
    return key_of(a)->has_bare && key_of(b)->has_bare;
}

/* Both go on. */
static void run_both_until(struct node *a, struct node *b,
                           bool (*is_true)(const struct node *a, const struct node *b))
{
    alarm(PATIENCE_S);
    while (!is_true(a, b)) {
        event_base_loop(a->loop->base, EVLOOP_NONBLOCK);
        event_base_loop(b->loop->base, EVLOOP_NONBLOCK);
    }
    alarm(0);
}

static void lose_connections(struct node *n)
{
    redis_fixture_command(n->redis, "CLIENT KILL TYPE normal");
    redis_fixture_disconnect(n->redis);
    node_come_back(n);
}

/* Neither knows when it connects whether the other one has made the key. */
static void nodes_that_come_first_together_have_one_key(void **state)
{
    struct node *n = *state, other;

    node_init(&other, n->redis);
    node_start(n);
    node_start(&other);
    run_both_until(n, &other, are_up);
    assert_same_key(n, &other);
    assert_false(key_of(n)->has_bare);
    node_fini(&other);
}

static void a_node_that_comes_later_has_the_same_key(void **state)
{
    struct node *n = *state, other;

    node_start_up(n);
    redis_fixture_kill(n->redis);
    redis_fixture_start(n->redis);
    node_come_back(n);
    node_init(&other, n->redis);
    node_start_up(&other);
    assert_same_key(n, &other);
    node_fini(&other);
}

static const char *const losses[] = {"HDEL dq:meta lease_key", "DEL dq:meta", "FLUSHALL"};

#define LOSSES (sizeof(losses) / sizeof(*losses))

static void is_put_back_by(struct node *n)
{
    struct store_lease_key before;
    struct node other;

    node_start_up(n);
    before = *key_of(n);
    for (unsigned i = 0; i < LOSSES; i++) {
        redis_fixture_command(n->redis, losses[i]);
        lose_connections(n);
        assert_memory_equal(key_of(n), &before, sizeof(before));
    }
    node_init(&other, n->redis);
    node_start_up(&other);
    assert_same_key(n, &other);
    node_fini(&other);
}

/* Leases that are out stay valid: the key comes back before another one can. */
static void a_key_that_redis_has_lost_is_put_back(void **state)
{
    is_put_back_by(*state);
}

static void what_is_known_of_older_leases_is_put_back(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 64");
    is_put_back_by(n);
    assert_true(key_of(n)->has_bare);
}

/* Its connection goes on. */
static void a_node_notices_that_the_key_was_lost(void **state)
{
    struct store_lease_key before;
    struct node *n = *state;

    n->options.look_ms = 10;
    node_start_up(n);
    before = *key_of(n);
    for (unsigned i = 0; i < LOSSES; i++) {
        redis_fixture_command(n->redis, losses[i]);
        alarm(PATIENCE_S);
        while (!redis_fixture_command(n->redis, "HEXISTS dq:meta lease_key"))
            event_base_loop(n->loop->base, EVLOOP_ONCE);
        alarm(0);
        assert_memory_equal(key_of(n), &before, sizeof(before));
    }
    assert_int_equal(n->downs, 0);
}

/* The one that stays connected does not know that the key was lost when the other one makes
 * one. */
static void nodes_agree_when_one_joins_after_a_loss(void **state)
{
    struct node *n = *state, other;

    n->options.look_ms = 10;
    node_start_up(n);
    for (unsigned i = 0; i < LOSSES; i++) {
        redis_fixture_command(n->redis, losses[i]);
        node_init(&other, n->redis);
        node_start_up(&other);
        run_both_until(n, &other, have_same_key);
        assert_false(key_of(n)->has_bare);
        node_fini(&other);
    }
    assert_int_equal(n->downs, 0);
}

/* All nodes have stopped: that is how a key is replaced. */
static void a_new_key_for_a_new_store_lets_no_lease_in_without_a_check(void **state)
{
    struct node *n = *state, other;

    node_init(&other, n->redis);
    node_start_up(&other);
    node_fini(&other);
    redis_fixture_command(n->redis, "HDEL dq:meta lease_key");
    node_start_up(n);
    assert_false(key_of(n)->has_bare);
}

/* A node of an older version was here, and has gone: its leases are out. */
static void what_a_node_says_of_leases_without_a_check_is_kept(void **state)
{
    struct node *n = *state, other, later;

    node_init(&other, n->redis);
    n->options.look_ms = other.options.look_ms = 10;
    node_start_up(n);
    node_start_up(&other);
    assert_false(key_of(n)->has_bare || key_of(&other)->has_bare);
    n->has_bare = true;
    run_both_until(n, &other, has_bare);
    n->has_bare = false;
    node_fini(&other);
    node_init(&later, n->redis);
    node_start_up(&later);
    assert_true(key_of(&later)->has_bare);
    node_fini(&later);
}

/* The store decides, whatever a node has known. */
static void a_key_that_another_node_has_made_is_taken(void **state)
{
    struct store_lease_key before;
    struct node *n = *state, other;

    node_start_up(n);
    before = *key_of(n);
    redis_fixture_command(n->redis, "DEL dq:meta");
    node_init(&other, n->redis);
    node_start_up(&other);
    assert_memory_not_equal(key_of(&other)->bytes, before.bytes, sizeof(before.bytes));
    lose_connections(n);
    assert_same_key(n, &other);
    node_fini(&other);
}

static void a_store_that_is_older_than_its_key_says_so(void **state)
{
    struct node *n = *state, other;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 64");
    node_start_up(n);
    assert_true(key_of(n)->has_bare);
    node_init(&other, n->redis);
    node_start_up(&other);
    assert_same_key(n, &other);
    node_fini(&other);
}

static void a_full_redis_gets_its_key_too(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 64");
    redis_fixture_command(n->redis, "CONFIG SET maxmemory 1");
    node_start_up(n);
    assert_true(key_of(n)->has_bare);
}

static void a_key_that_is_none_is_replaced(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 64 lease_key short");
    node_start_up(n);
    assert_true(key_of(n)->has_bare);
    assert_int_equal(redis_fixture_command(n->redis, "HSTRLEN dq:meta lease_key"),
                     STORE_LEASE_KEY_BYTES);
}

static void what_is_somebody_elses_gets_none(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 16");
    node_start(n);
    run_until(n->loop, &n->is_refused);
    assert_int_equal(redis_fixture_command(n->redis, "HLEN dq:meta"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(nodes_that_come_first_together_have_one_key),
        WITH_REDIS(a_node_that_comes_later_has_the_same_key),
        WITH_REDIS(a_key_that_redis_has_lost_is_put_back),
        WITH_REDIS(what_is_known_of_older_leases_is_put_back),
        WITH_REDIS(a_node_notices_that_the_key_was_lost),
        WITH_REDIS(nodes_agree_when_one_joins_after_a_loss),
        WITH_REDIS(a_new_key_for_a_new_store_lets_no_lease_in_without_a_check),
        WITH_REDIS(what_a_node_says_of_leases_without_a_check_is_kept),
        WITH_REDIS(a_key_that_another_node_has_made_is_taken),
        WITH_REDIS(a_store_that_is_older_than_its_key_says_so),
        WITH_REDIS(a_full_redis_gets_its_key_too),
        WITH_REDIS(a_key_that_is_none_is_replaced),
        WITH_REDIS(what_is_somebody_elses_gets_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
