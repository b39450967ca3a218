/* The key of leases' checks, which all nodes of a store share. */
#include "node/store/redis/tests/store_fixture.h"

#include <string.h>

static const struct store_lease_key *key_of(const struct node *n)
{
    const struct store_lease_key *key = &redis_store_port(n->store)->lease_key;

    assert_true(key->is_known);
    return key;
}

static void assert_same_key(const struct node *a, const struct node *b)
{
    assert_memory_equal(key_of(a)->bytes, key_of(b)->bytes, STORE_LEASE_KEY_BYTES);
    assert_int_equal(key_of(a)->has_bare, key_of(b)->has_bare);
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
    run_until(other.loop, &other.is_up);
    run_until(n->loop, &n->is_up);
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

/* Leases that are out stay valid: the key comes back before another one can. */
static void a_key_that_redis_has_lost_is_put_back(void **state)
{
    struct store_lease_key before;
    struct node *n = *state, other;

    node_start_up(n);
    before = *key_of(n);
    redis_fixture_command(n->redis, "HDEL dq:meta lease_key");
    lose_connections(n);
    assert_memory_equal(key_of(n)->bytes, before.bytes, sizeof(before.bytes));
    redis_fixture_command(n->redis, "DEL dq:meta");
    lose_connections(n);
    assert_memory_equal(key_of(n)->bytes, before.bytes, sizeof(before.bytes));
    node_init(&other, n->redis);
    node_start_up(&other);
    assert_same_key(n, &other);
    node_fini(&other);
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
        WITH_REDIS(a_key_that_another_node_has_made_is_taken),
        WITH_REDIS(a_store_that_is_older_than_its_key_says_so),
        WITH_REDIS(a_full_redis_gets_its_key_too),
        WITH_REDIS(a_key_that_is_none_is_replaced),
        WITH_REDIS(what_is_somebody_elses_gets_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
