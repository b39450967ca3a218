/* Which Redis a store refuses, and with what message. */
#include "node/store/redis/tests/store_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

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

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 16");
    assert_refuses(n, "16");
}

static void refuses_jobs_of_a_newer_schema(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 3 buckets 64");
    assert_refuses(n, "newer dueq");
}

static void refuses_jobs_of_an_older_schema(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 1 buckets 64");
    assert_refuses(n, "older dueq");
}

static void refuses_what_another_program_has_under_that_name(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta foo bar");
    assert_refuses(n, "dq:meta in this Redis is not dueq's");
}

static void refuses_a_number_of_buckets_that_is_none(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets abc");
    assert_refuses(n, "dq:meta in this Redis is not dueq's, or damaged");
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

static void refuses_a_redis_that_acknowledges_early_when_strict(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendfsync everysec");
    n->options.is_strict = true;
    assert_refuses(n, "appendfsync always");
}

static void uses_a_redis_that_acknowledges_early_otherwise(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "CONFIG SET appendfsync everysec");
    node_start(n);
    run_until(n->loop, &n->is_up);
}

static void refuses_a_redis_that_does_not_tell_its_settings_when_strict(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "ACL SETUSER default -config");
    n->options.is_strict = true;
    assert_refuses(n, "cannot tell");
}

static void uses_a_redis_that_does_not_tell_its_settings_otherwise(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "ACL SETUSER default -config");
    node_start(n);
    run_until(n->loop, &n->is_up);
}

/* A process that says one thing to whoever comes. */
static pid_t say_to_all(const char *path, const char *reply)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    pid_t pid;

    strcpy(address.sun_path, path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            int client = accept(fd, NULL, NULL);

            if (write(client, reply, strlen(reply)) < 0)
                _exit(1);
        }
    }
    close(fd);
    return pid;
}

static void refuses_a_redis_that_is_too_old(void **state)
{
    static const char *const reply = "$35\r\nredis_version:6.0.16\r\nrole:master\r\n\r\n";
    struct node *n = *state;
    char path[96], address[112];
    pid_t pid;

    snprintf(path, sizeof(path), "%s/old.sock", n->redis->dir);
    snprintf(address, sizeof(address), "unix:%s", path);
    pid = say_to_all(path, reply);
    n->options.address = address;
    assert_refuses(n, "6.0.16 is too old");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void says_why_in_printable_characters(void **state)
{
    struct node *n = *state;
    char path[96], address[112];
    pid_t pid;

    snprintf(path, sizeof(path), "%s/odd.sock", n->redis->dir);
    snprintf(address, sizeof(address), "unix:%s", path);
    pid = say_to_all(path, "-ERR \xff\x01 odd\r\n");
    n->options.address = address;
    node_start(n);
    run_until_why(n, "ERR ?? odd");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void refuses_a_redis_that_does_not_let_it_publish(void **state)
{
    struct node *n = *state;

    redis_fixture_command(n->redis, "ACL SETUSER default resetchannels");
    assert_refuses(n, "channel");
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

    redis_fixture_command(n->redis, "HSET dq:meta schema 2 buckets 16");
    assert_refuses(n, "16");
    redis_fixture_command(n->redis, "DEL dq:meta");
    run_until(n->loop, &n->is_up);
}

/* Sets Redis right again after some attempts, which it counts itself. */
struct healer {
    struct timer timer;
    struct node *node;
    const char *count; /* what INFO says in front of the number */
    const char *cure;
};

static void on_look(struct timer *timer)
{
    struct healer *h = CONTAINER_OF(timer, struct healer, timer);
    const char *script = "return tonumber(redis.call('INFO', 'everything'):match(ARGV[1] .. "
                         "'(%d+)') or 0)";

    if (redis_fixture_command(h->node->redis, "EVAL %s 0 %s", script, h->count) < 4)
        timer_arm(&h->node->loop->timers, timer, 1);
    else
        redis_fixture_command(h->node->redis, h->cure);
}

/* It goes on trying, and nobody is told that this Redis is not the right one. */
static void assert_waits_for(struct healer *h)
{
    timer_init(&h->timer, on_look);
    node_start(h->node);
    timer_arm(&h->node->loop->timers, &h->timer, 0);
    run_until(h->node->loop, &h->node->is_up);
    assert_false(h->node->is_refused);
}

static void waits_for_a_redis_without_room_for_one_more_client(void **state)
{
    struct healer h = {
        .node = *state, .count = "rejected_connections:", .cure = "CONFIG SET maxclients 100"};

    redis_fixture_command(h.node->redis, "CONFIG SET maxclients 1");
    assert_waits_for(&h);
}

static void waits_for_a_redis_without_memory(void **state)
{
    struct healer h = {
        .node = *state, .count = "errorstat_OOM:count=", .cure = "CONFIG SET maxmemory 0"};

    redis_fixture_command(h.node->redis, "CONFIG SET maxmemory 1");
    assert_waits_for(&h);
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
        WITH_REDIS(refuses_jobs_of_an_older_schema),
        WITH_REDIS(refuses_what_another_program_has_under_that_name),
        WITH_REDIS(refuses_a_number_of_buckets_that_is_none),
        WITH_REDIS(refuses_a_redis_without_append_only_file_when_strict),
        WITH_REDIS(uses_a_redis_without_append_only_file_otherwise),
        WITH_REDIS(refuses_a_redis_that_evicts_when_strict),
        WITH_REDIS(refuses_a_redis_that_acknowledges_early_when_strict),
        WITH_REDIS(uses_a_redis_that_acknowledges_early_otherwise),
        WITH_REDIS(refuses_a_redis_that_does_not_tell_its_settings_when_strict),
        WITH_REDIS(uses_a_redis_that_does_not_tell_its_settings_otherwise),
        WITH_REDIS(refuses_a_redis_that_is_too_old),
        WITH_REDIS(says_why_in_printable_characters),
        WITH_REDIS(refuses_a_redis_that_does_not_let_it_publish),
        WITH_REDIS(refuses_a_wrong_password),
        WITH_REDIS(refuses_when_a_password_is_missing),
        WITH_REDIS(works_with_the_right_password),
        WITH_REDIS(takes_a_refused_redis_once_it_is_set_right),
        WITH_REDIS(waits_for_a_redis_without_room_for_one_more_client),
        WITH_REDIS(waits_for_a_redis_without_memory),
        cmocka_unit_test(does_not_take_options_that_make_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
