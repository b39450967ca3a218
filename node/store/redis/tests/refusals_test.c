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

/* A Redis set up like this is refused, with these words; where `is_strict`, only then. */
static const struct set_up {
    const char *command, *words, *password;
    bool is_strict;
} refused[] = {
    {"HSET dq:meta schema 2 buckets 16", "16", NULL, false},
    {"HSET dq:meta schema 3 buckets 64", "newer dueq", NULL, false},
    {"HSET dq:meta schema 1 buckets 64", "older dueq", NULL, false},
    {"HSET dq:meta foo bar", "dq:meta in this Redis is not dueq's", NULL, false},
    {"HSET dq:meta schema 2 buckets abc", "not dueq's, or damaged", NULL, false},
    {"ACL SETUSER default resetchannels", "channel", NULL, false}, /* it may not publish */
    {"CONFIG SET requirepass right", "NOAUTH", NULL, false},
    {"CONFIG SET requirepass right", "WRONGPASS", "wrong", false},
    {"CONFIG SET appendonly no", "append-only", NULL, true},
    {"CONFIG SET maxmemory-policy allkeys-lru", "noeviction", NULL, true},
    {"CONFIG SET appendfsync everysec", "appendfsync always", NULL, true},
    {"ACL SETUSER default -config", "cannot tell", NULL, true},
};

#define REFUSED (sizeof(refused) / sizeof(*refused))

static void refuses_a_redis_that_is_set_up_wrongly(void **state)
{
    for (unsigned i = 0; i < REFUSED; i++) {
        void *fresh;
        struct node *n;

        (void)node_set_up(&fresh);
        n = fresh;
        redis_fixture_command(n->redis, refused[i].command);
        n->options.is_strict = refused[i].is_strict;
        n->options.password = refused[i].password;
        assert_refuses(n, refused[i].words);
        (void)node_tear_down(&fresh);
    }
}

static void uses_what_it_would_refuse_when_strict(void **state)
{
    for (unsigned i = 0; i < REFUSED; i++) {
        void *fresh;
        struct node *n;

        if (!refused[i].is_strict)
            continue;
        (void)node_set_up(&fresh);
        n = fresh;
        redis_fixture_command(n->redis, refused[i].command);
        node_start_up(n);
        (void)node_tear_down(&fresh);
    }
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

/* Such a process takes the place of Redis. */
static pid_t put_in_place(struct node *n, const char *reply)
{
    static char address[112];

    snprintf(address, sizeof(address), "unix:%s/other.sock", n->redis->dir);
    n->options.address = address;
    return say_to_all(address + strlen("unix:"), reply);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void refuses_a_redis_that_is_too_old(void **state)
{
    pid_t pid = put_in_place(*state, "$35\r\nredis_version:6.0.16\r\nrole:master\r\n\r\n");

    assert_refuses(*state, "6.0.16 is too old");
    end(pid);
}

static void says_why_in_printable_characters(void **state)
{
    pid_t pid = put_in_place(*state, "-ERR \xff\x01 odd\r\n");

    node_start(*state);
    run_until_why(*state, "ERR ?? odd");
    end(pid);
}

static void works_with_the_right_password(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};

    redis_fixture_command(n->redis, "CONFIG SET requirepass right");
    n->options.password = "right";
    node_start_up(n);
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
        cmocka_unit_test(refuses_a_redis_that_is_set_up_wrongly),
        cmocka_unit_test(uses_what_it_would_refuse_when_strict),
        WITH_REDIS(refuses_a_redis_that_is_too_old),
        WITH_REDIS(says_why_in_printable_characters),
        WITH_REDIS(works_with_the_right_password),
        WITH_REDIS(takes_a_refused_redis_once_it_is_set_right),
        WITH_REDIS(waits_for_a_redis_without_room_for_one_more_client),
        WITH_REDIS(waits_for_a_redis_without_memory),
        cmocka_unit_test(does_not_take_options_that_make_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
