/* Which Redis a store does not take, and what it says then. */
#include "node/store/redis_store_fixture.h"

#include <string.h>

static void assert_refuses(struct node *n, const char *word)
{
    node_start(n);
    run_until(n->loop, &n->is_refused);
    if (!strstr(n->why, word))
        fail_msg("'%s' does not say '%s'", n->why, word);
    assert_int_equal(n->ups, 0);
}

static void refuses_another_number_of_buckets(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 1 buckets 16");
    assert_refuses(n, "16");
}

static void refuses_jobs_of_a_newer_schema(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 64");
    assert_refuses(n, "newer dueq");
}

static void refuses_a_redis_without_append_only_file_when_strict(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendonly no");
    n->options.is_strict = true;
    assert_refuses(n, "append-only");
}

static void uses_a_redis_without_append_only_file_otherwise(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendonly no");
    node_start(n);
    run_until(n->loop, &n->is_up);
}

static void refuses_a_redis_that_evicts_when_strict(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET maxmemory-policy allkeys-lru");
    n->options.is_strict = true;
    assert_refuses(n, "noeviction");
}

static void refuses_a_wrong_password(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET requirepass right");
    n->options.password = "wrong";
    assert_refuses(n, "WRONGPASS");
}

static void refuses_when_a_password_is_missing(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET requirepass right");
    assert_refuses(n, "NOAUTH");
}

static void works_with_the_right_password(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    redis_fixture_command(n->redis, "CONFIG SET requirepass right");
    n->options.password = "right";
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
}

static void takes_a_refused_redis_once_it_is_set_right(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 1 buckets 16");
    assert_refuses(n, "16");
    redis_fixture_command(n->redis, "DEL dq:meta");
    run_until(n->loop, &n->is_up);
}

static void does_not_take_options_that_make_no_sense(void **state)
{
    struct loop *loop = loop_new();
    struct redis_store_options options = redis_store_defaults();

    options.address = "unix:";
    assert_null(redis_store_new(loop, &options));
    options.address = "localhost:99999";
    assert_null(redis_store_new(loop, &options));
    options.address = "localhost";
    options.prefix = "a{b";
    assert_null(redis_store_new(loop, &options));
    options.prefix = "dq";
    options.buckets = 129;
    assert_null(redis_store_new(loop, &options));
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(refuses_another_number_of_buckets),
        WITH_REDIS(refuses_jobs_of_a_newer_schema),
        WITH_REDIS(refuses_a_redis_without_append_only_file_when_strict),
        WITH_REDIS(uses_a_redis_without_append_only_file_otherwise),
        WITH_REDIS(refuses_a_redis_that_evicts_when_strict),
        WITH_REDIS(refuses_a_wrong_password),
        WITH_REDIS(refuses_when_a_password_is_missing),
        WITH_REDIS(works_with_the_right_password),
        WITH_REDIS(takes_a_refused_redis_once_it_is_set_right),
        cmocka_unit_test(does_not_take_options_that_make_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
