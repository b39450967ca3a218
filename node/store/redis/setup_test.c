/* What a store says of a Redis that may lose jobs, and when that changes under it. */
#include "node/store/redis/store_fixture.h"

#include <unistd.h>

#include <event2/event.h>

#include "node/store/redis/weakness.h"

static void run_until_weak(struct node *n, unsigned weak)
{
    alarm(PATIENCE_S);
    while (redis_store_stats(n->store)->weak != weak)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    alarm(0);
}

static void tells_what_may_be_lost(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendfsync everysec");
    redis_fixture_command(n->redis, "CONFIG SET maxmemory-policy allkeys-lru");
    n->options.min_replicas = 1;
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(redis_store_stats(n->store)->weak, 1u << WEAKNESS_FSYNC |
                                                            1u << WEAKNESS_MAY_EVICT |
                                                            1u << WEAKNESS_FEW_REPLICAS);
}

static void notices_when_the_settings_change(void **state)
{
    struct node *n = *state;

    n->options.look_ms = 10;
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(redis_store_stats(n->store)->weak, 0);
    redis_fixture_command(n->redis, "CONFIG SET appendonly no");
    run_until_weak(n, 1u << WEAKNESS_NO_AOF);
    redis_fixture_command(n->redis, "CONFIG SET appendonly yes");
    redis_fixture_command(n->redis, "ACL SETUSER default -config");
    run_until_weak(n, 1u << WEAKNESS_UNKNOWN);
    redis_fixture_command(n->redis, "ACL SETUSER default +config");
    run_until_weak(n, 0);
    assert_int_equal(n->downs, 0);
}

static void goes_on_with_a_redis_that_grows_weak_though_it_is_strict(void **state)
{
    struct node *n = *state;

    n->options.is_strict = true;
    n->options.look_ms = 10;
    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_command(n->redis, "CONFIG SET appendfsync no");
    run_until_weak(n, 1u << WEAKNESS_FSYNC);
    assert_int_equal(n->downs, 0);
    assert_false(n->is_refused);
}

static void strictness_does_not_ask_for_replicas(void **state)
{
    struct node *n = *state;

    n->options.is_strict = true;
    n->options.min_replicas = 1;
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(redis_store_stats(n->store)->weak, 1u << WEAKNESS_FEW_REPLICAS);
}

/* It is idle: no answer tells it. */
static void leaves_a_redis_that_has_become_a_replica(void **state)
{
    struct node *n = *state;

    n->options.look_ms = 10;
    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_command(n->redis, "REPLICAOF 127.0.0.1 1");
    run_until(n->loop, &n->is_down);
    run_until_why(n, "replica");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(tells_what_may_be_lost),
        WITH_REDIS(notices_when_the_settings_change),
        WITH_REDIS(goes_on_with_a_redis_that_grows_weak_though_it_is_strict),
        WITH_REDIS(strictness_does_not_ask_for_replicas),
        WITH_REDIS(leaves_a_redis_that_has_become_a_replica),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
