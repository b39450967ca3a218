/* The link, seen from the store on it: what it connects to, how long it waits, what it says. */
#include "node/store/redis/store_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"

static void start_with_timeout(struct node *n, int64_t timeout_ms)
{
    n->options.command_timeout_ms = timeout_ms;
    node_start(n);
    run_until(n->loop, &n->is_up);
}

static void closes_the_connection_when_an_answer_does_not_come_in_time(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    start_with_timeout(n, 150);
    kill(n->redis->pid, SIGSTOP);
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    assert_false(a.is_done); /* it is said again */

    submit_push(n, &b, "t");
    kill(n->redis->pid, SIGCONT);
    run_until(n->loop, &b.is_done);
    assert_true(a.is_done);
    assert_int_equal(a.op.status, STATUS_OK);
    assert_int_equal(b.op.status, STATUS_OK);
}

/* Long, so that the quarter more that a late answer gets (500 ms) is enough on any machine. */
#define PATIENCE_MS 2000
#define STALL_MS    2400

/* The node stands still for longer than an answer may take, with a push under way. */
static void stall_with_a_push(struct node *n, bool is_written_before)
{
    int64_t until_mono_ms;
    struct job_op a = {0};

    start_with_timeout(n, PATIENCE_MS);
    submit_push(n, &a, "t");
    if (is_written_before) {
        event_base_loop(n->loop->base, EVLOOP_NONBLOCK);
        while (redis_fixture_command(n->redis, "HLEN dq:{%u}:j:t", a.op.bucket) == 0)
            assert_false(a.is_done);
    }
    until_mono_ms = clock_mono_ms() + STALL_MS;
    while (clock_mono_ms() < until_mono_ms)
        ;
    run_until(n->loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_OK);
    assert_int_equal(n->downs, 0);
}

/* The answer is there, and nobody has read it. */
static void a_stall_of_the_node_itself_is_not_held_against_redis(void **state)
{
    stall_with_a_push(*state, true);
}

static void a_stall_before_anything_was_sent_is_not_either(void **state)
{
    stall_with_a_push(*state, false);
}

static void notices_a_silent_redis_without_an_operation(void **state)
{
    struct node *n = *state;

    start_with_timeout(n, 100);
    kill(n->redis->pid, SIGSTOP);
    run_until(n->loop, &n->is_down);
    kill(n->redis->pid, SIGCONT);
    run_until(n->loop, &n->is_up);
}

/* How often the file has the text. */
static unsigned count_in(const char *path, const char *text)
{
    static char all[65536];
    FILE *file = fopen(path, "r");
    unsigned count = 0;

    assert_non_null(file);
    all[fread(all, 1, sizeof(all) - 1, file)] = '\0';
    fclose(file);
    for (const char *at = all; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static long long connections_of(struct redis_fixture *redis)
{
    return redis_fixture_command(
        redis, "EVAL %s 0",
        "return tonumber(redis.call('INFO'):match('total_connections_received:(%d+)'))");
}

/* From now on; `path` gets its name. */
static void log_to_file(struct node *n, char path[96])
{
    snprintf(path, 96, "%s/log", n->redis->dir);
    assert_int_equal(
        log_configure(&(struct log_options){.level = LEVEL_INFO, .modules = "", .file = path}),
        STATUS_OK);
}

static void log_as_ever(void)
{
    assert_int_equal(log_configure(&(struct log_options){.level = LEVEL_INFO, .modules = ""}),
                     STATUS_OK);
}

/* The first reason is a lost connection; the one that matters comes later. */
static void warns_of_every_new_reason_once(void **state)
{
    static const char *const as_replica[] = {"--replicaof", "127.0.0.1 1", NULL};
    struct node *n = *state;
    char path[96];

    log_to_file(n, path);
    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_kill(n->redis);
    run_until(n->loop, &n->is_down);
    n->redis->args = as_replica;
    redis_fixture_start(n->redis);
    run_until_why(n, "replica");
    while (connections_of(n->redis) < 8)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    log_as_ever();
    assert_int_equal(count_in(path, ": this Redis is a replica"), 1);
    redis_fixture_command(n->redis, "REPLICAOF NO ONE");
    run_until(n->loop, &n->is_up);
    assert_string_equal(redis_store_why(n->store), "");
}

static void says_once_that_it_is_up_and_once_that_it_is_down(void **state)
{
    struct node *n = *state;
    char path[96];

    log_to_file(n, path);
    node_start(n);
    run_until(n->loop, &n->is_up);
    redis_fixture_kill(n->redis);
    run_until(n->loop, &n->is_down);
    while (redis_store_stats(n->store)->state != REDIS_STORE_DOWN)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    log_as_ever();
    assert_int_equal(count_in(path, "redis.sock is up\n"), 1);
    assert_int_equal(count_in(path, "redis.sock is down\n"), 1);
    redis_fixture_start(n->redis);
}

/* A connection that ends because of an answer ends with that answer's text. */
static void says_what_redis_said_that_made_it_leave(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};
    char path[96], line[192];

    snprintf(line, sizeof(line), "command link: %s: it answers: READONLY", n->redis->address);
    node_start(n);
    run_until(n->loop, &n->is_up);
    log_to_file(n, path);
    redis_fixture_command(n->redis, "REPLICAOF 127.0.0.1 1");
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    log_as_ever();
    assert_int_equal(count_in(path, line), 1);
    redis_fixture_command(n->redis, "REPLICAOF NO ONE");
    run_until(n->loop, &a.is_done);
    assert_int_equal(a.op.status, STATUS_OK);
}

static void says_where_nobody_listens(void **state)
{
    struct node *n = *state;
    char address[64], why[96];

    redis_fixture_listen(n->redis);
    redis_fixture_kill(n->redis);
    snprintf(address, sizeof(address), "localhost:%d", n->redis->port);
    snprintf(why, sizeof(why), "127.0.0.1:%d: Connection refused", n->redis->port);
    n->options.address = address;
    node_start(n);
    run_until_why(n, why);
    redis_fixture_start(n->redis);
}

static void push_at(struct node *n, const char *host)
{
    static char address[64];
    struct job_op a = {0};

    redis_fixture_listen(n->redis);
    snprintf(address, sizeof(address), "%s:%d", host, n->redis->port);
    n->options.address = address;
    node_start(n);
    run_until(n->loop, &n->is_up);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    assert_string_equal(redis_store_address(n->store), address);
}

static void talks_over_tcp_too(void **state)
{
    push_at(*state, "127.0.0.1");
}

/* It may have an address at which Redis does not listen (::1): that is not the only one. */
static void finds_the_address_of_a_name(void **state)
{
    push_at(*state, "localhost");
}

/* Or that nobody answers who could know, where this machine's name server is silent. */
static void says_that_there_is_no_such_name(void **state)
{
    struct node *n = *state;

    n->options.address = "nobody.invalid:1";
    n->options.command_timeout_ms = 500;
    node_start(n);
    run_until_why(n, "name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(closes_the_connection_when_an_answer_does_not_come_in_time),
        WITH_REDIS(a_stall_of_the_node_itself_is_not_held_against_redis),
        WITH_REDIS(a_stall_before_anything_was_sent_is_not_either),
        WITH_REDIS(notices_a_silent_redis_without_an_operation),
        WITH_REDIS(warns_of_every_new_reason_once),
        WITH_REDIS(says_once_that_it_is_up_and_once_that_it_is_down),
        WITH_REDIS(says_what_redis_said_that_made_it_leave),
        WITH_REDIS(says_where_nobody_listens),
        WITH_REDIS(talks_over_tcp_too),
        WITH_REDIS(finds_the_address_of_a_name),
        WITH_REDIS(says_that_there_is_no_such_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
