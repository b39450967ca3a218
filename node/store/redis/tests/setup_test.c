/* A store's messages about a Redis that may lose jobs, also when that changes under it. */
#include "node/store/redis/tests/store_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "node/store/redis/durability.h"

static void run_until_weak(struct node *n, unsigned weak)
{
    alarm(PATIENCE_S);
    while (stats(n)->weak != weak)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    alarm(0);
}

static void tells_what_may_be_lost(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendfsync everysec");
    redis_fixture_command(n->redis, "CONFIG SET maxmemory-policy allkeys-lru");
    n->options.min_replicas = 1;
    node_start_up(n);
    assert_int_equal(stats(n)->weak, 1u << WEAKNESS_FSYNC | 1u << WEAKNESS_MAY_EVICT |
                                         1u << WEAKNESS_FEW_REPLICAS);
}

static void notices_when_the_settings_change(void **state)
{
    struct node *n = *state;

    n->options.look_ms = 10;
    node_start_up(n);
    assert_int_equal(stats(n)->weak, 0);
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
    node_start_up(n);
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
    node_start_up(n);
    assert_int_equal(stats(n)->weak, 1u << WEAKNESS_FEW_REPLICAS);
}

/* No snapshot can be written: a directory has the file's name. */
static void break_snapshots(struct node *n)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/dump.rdb", n->redis->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    redis_fixture_command(n->redis, "CONFIG SET save %s", "3600 1000000");
}

/* Redis saves, and has found out how that went. */
static void save(struct node *n, const char *how)
{
    static const char *const script =
        "return redis.call('INFO', 'persistence'):find(ARGV[1], 1, true) and 1 or 0";
    char line[64];

    snprintf(line, sizeof(line), "rdb_last_bgsave_status:%s", how);
    redis_fixture_command(n->redis, "BGSAVE");
    alarm(PATIENCE_S);
    while (redis_fixture_command(n->redis, "EVAL %s 0 %s", script, line) == 0)
        event_base_loop(n->loop->base, EVLOOP_NONBLOCK);
    alarm(0);
}

/* What a client was answered is looked into at once, not after look_ms; and so is its end. */
static void a_disk_that_takes_nothing_is_known_as_soon_as_a_push_was_refused(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};
    char path[160];

    node_start_up(n);
    break_snapshots(n);
    save(n, "err");
    assert_null(redis_store_refuses_writes(n->store));
    assert_int_equal(push(n, &a, "t"), STATUS_STORE_ERROR);
    run_until_weak(n, 1u << WEAKNESS_MISCONF);
    assert_non_null(strstr(redis_store_refuses_writes(n->store), "MISCONF"));
    assert_int_equal(n->downs, 0);
    snprintf(path, sizeof(path), "%s/dump.rdb", n->redis->dir);
    assert_int_equal(rmdir(path), 0);
    save(n, "ok");
    run_until_weak(n, 0);
    assert_null(redis_store_refuses_writes(n->store));
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
}

static void replicas_that_redis_itself_asks_for_are_missed_as_soon(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    node_start_up(n);
    redis_fixture_command(n->redis, "CONFIG SET min-replicas-to-write 1");
    assert_int_equal(push(n, &a, "t"), STATUS_STORE_ERROR);
    run_until_weak(n, 1u << WEAKNESS_NOREPLICAS);
    assert_non_null(strstr(redis_store_refuses_writes(n->store), "NOREPLICAS"));
    redis_fixture_command(n->redis, "CONFIG SET min-replicas-to-write 0");
    run_until_weak(n, 0);
    assert_null(redis_store_refuses_writes(n->store));
}

/* Jobs come to their end all the same: it can be used. */
static void a_full_memory_is_known_as_soon_and_stops_no_store(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    node_start_up(n);
    redis_fixture_command(n->redis, "CONFIG SET maxmemory 1");
    assert_int_equal(push(n, &a, "t"), STATUS_STORE_ERROR);
    run_until_weak(n, 1u << WEAKNESS_MEMORY);
    assert_null(redis_store_refuses_writes(n->store));
}

/* It is idle: no answer tells it. */
static void leaves_a_redis_that_has_become_a_replica(void **state)
{
    struct node *n = *state;

    n->options.look_ms = 10;
    node_start_up(n);
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
        WITH_REDIS(a_disk_that_takes_nothing_is_known_as_soon_as_a_push_was_refused),
        WITH_REDIS(replicas_that_redis_itself_asks_for_are_missed_as_soon),
        WITH_REDIS(a_full_memory_is_known_as_soon_and_stops_no_store),
        WITH_REDIS(leaves_a_redis_that_has_become_a_replica),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
