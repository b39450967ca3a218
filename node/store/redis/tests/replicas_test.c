/* Waiting for replicas, at real ones: what makes an answer safe, and what does not. */
#include "node/store/redis/replicas.h"
#include "base/tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "node/store/redis/tests/log_fixture.h"
#include "node/store/redis/tests/replicas_fixture.h"

#define LONG_MS  (PATIENCE_S * 1000) /* nobody's time is over before the test's is */
#define SHORT_MS 30
#define MANY     100

struct waiter {
    struct replica_wait wait;
    struct house *house;
    bool is_done, is_safe;
};

struct house {
    struct replicated *redis;
    struct loop *loop;
    struct redis_replicas *replicas;
    struct redis_replicas_options options; /* to be changed before house_start() */
    struct waiter first, second, many[MANY];
    unsigned done;
    bool are_all_done; /* the many */
    bool is_stopped;
};

static void on_stopped(void *arg)
{
    ((struct house *)arg)->is_stopped = true;
}

/* *state is a house with a master and one replica in sync, not started. */
static int set_up(void **state)
{
    struct house *h = calloc(1, sizeof(*h));

    h->redis = replicated_new(NULL);
    replicated_add(h->redis);
    replicated_wait_in_sync(h->redis, 1);
    h->loop = loop_new();
    h->options = (struct redis_replicas_options){.min_replicas = 1,
                                                 .patience_ms = LONG_MS,
                                                 .timeout_ms = LONG_MS,
                                                 .backoff_max_ms = 50,
                                                 .on_stopped = on_stopped,
                                                 .arg = h};
    *state = h;
    return 0;
}

static int tear_down(void **state)
{
    struct house *h = *state;

    if (h->replicas && !h->is_stopped) {
        redis_replicas_stop(h->replicas);
        run_until(h->loop, &h->is_stopped);
    }
    redis_replicas_free(h->replicas);
    loop_free(h->loop);
    replicated_free(h->redis);
    free(h);
    return 0;
}

#define IN_HOUSE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void follow(struct house *h, struct redis_fixture *f)
{
    struct redis_incarnation incarnation = redis_fixture_incarnation(f);
    struct redis_address address;

    assert_int_equal(redis_address_parse(f->address, &address), STATUS_OK);
    redis_replicas_follow(h->replicas, &address, &incarnation);
}

static void house_start(struct house *h)
{
    h->replicas = redis_replicas_new(h->loop, &h->options);
    redis_replicas_start(h->replicas);
    follow(h, h->redis->master);
}

/* ---- waiting ---- */

static void on_end(struct replica_wait *wait, bool is_safe)
{
    struct waiter *w = CONTAINER_OF(wait, struct waiter, wait);

    assert_false(w->is_done);
    w->is_done = true;
    w->is_safe = is_safe;
    w->house->done++;
    w->house->are_all_done = w->house->done == MANY;
}

static void begin(struct house *h, struct waiter *w)
{
    *w = (struct waiter){.house = h, .wait.on_end = on_end};
    redis_replicas_wait(h->replicas, &w->wait);
    assert_false(w->is_done);
}

static bool is_safe(struct house *h, struct waiter *w)
{
    run_until(h->loop, &w->is_done);
    return w->is_safe;
}

static bool wait_once(struct house *h)
{
    begin(h, &h->first);
    return is_safe(h, &h->first);
}

/* Each try may be too short on a busy machine. */
static void wait_until_safe(struct house *h)
{
    alarm(PATIENCE_S);
    while (!wait_once(h))
        alarm(PATIENCE_S);
    alarm(0);
}

/* Runs the loop until INFO says so. */
static void run_until_it_says(struct house *h, const char *words)
{
    alarm(PATIENCE_S);
    while (!redis_fixture_says(h->redis->master, words))
        event_base_loop(h->loop->base, EVLOOP_NONBLOCK);
    alarm(0);
}

/* A pair is in flight, and is not answered while the replica is frozen. */
static void begin_unanswered(struct house *h)
{
    replicated_freeze(h->redis, 0);
    redis_fixture_command(h->redis->master, "RPUSH list x");
    begin(h, &h->first);
    run_until_it_says(h, "blocked_clients:1");
}

/* And one who waits for the next pair. */
static void start_with_two(struct house *h)
{
    house_start(h);
    begin_unanswered(h);
    begin(h, &h->second);
}

static void assert_neither_is_safe(struct house *h)
{
    assert_false(is_safe(h, &h->first));
    assert_false(is_safe(h, &h->second));
}

/* ---- what Redis promises ---- */

/* Two connections that have nothing to do with the module. */
static void wait_alone_is_about_an_earlier_command(void **state)
{
    struct house *h = *state;
    struct redis_fixture *master = h->redis->master, other = {0};

    memcpy(other.address, master->address, sizeof(other.address));
    assert_int_equal(redis_fixture_command(master, "RPUSH list a"), 1);
    replicated_wait_in_sync(h->redis, 1);
    replicated_freeze(h->redis, 0);
    assert_int_equal(redis_fixture_command(&other, "RPUSH list b"), 2);
    assert_int_equal(redis_fixture_command(master, "WAIT 1 %d", SHORT_MS), 1);
    redis_fixture_command(master, "PING");
    assert_int_equal(redis_fixture_command(master, "WAIT 1 %d", SHORT_MS), 0);
    redis_fixture_disconnect(&other);
}

/* ---- safe ---- */

static void what_a_replica_has_is_safe(void **state)
{
    struct house *h = *state;

    house_start(h);
    for (int i = 1; i <= 50; i++) {
        assert_int_equal(redis_fixture_command(h->redis->master, "RPUSH list x"), i);
        assert_true(wait_once(h));
        assert_int_equal(redis_fixture_command(h->redis->replicas[0], "LLEN list"), i);
    }
}

static void waits_for_as_many_as_it_was_told(void **state)
{
    struct house *h = *state;

    h->options.min_replicas = 2;
    house_start(h);
    begin(h, &h->first);
    run_until_it_says(h, "blocked_clients:1");
    assert_false(h->first.is_done);
    replicated_add(h->redis);
    assert_true(is_safe(h, &h->first));
}

static unsigned waits_of(struct house *h)
{
    char words[40];

    for (unsigned i = 1; i < 10000; i++) {
        snprintf(words, sizeof(words), "cmdstat_wait:calls=%u,", i);
        if (redis_fixture_says(h->redis->master, words))
            return i;
    }
    return 0;
}

static void who_comes_meanwhile_waits_for_the_next_pair_together(void **state)
{
    struct house *h = *state;
    unsigned before;

    house_start(h);
    assert_true(wait_once(h));
    before = waits_of(h);
    begin_unanswered(h);
    h->done = 0;
    for (unsigned i = 0; i < MANY; i++)
        begin(h, &h->many[i]);
    replicated_thaw(h->redis, 0);
    run_until(h->loop, &h->first.is_done);
    assert_true(h->first.is_safe);
    h->done--;
    run_until(h->loop, &h->are_all_done);
    for (unsigned i = 0; i < MANY; i++)
        assert_true(h->many[i].is_safe);
    assert_int_equal(waits_of(h) - before, 2);
}

static void a_lost_connection_loses_nobody(void **state)
{
    struct house *h = *state;

    start_with_two(h);
    redis_fixture_command(h->redis->master, "CLIENT KILL TYPE normal SKIPME yes");
    run_until_it_says(h, "blocked_clients:0");
    run_until_it_says(h, "blocked_clients:1");
    replicated_thaw(h->redis, 0);
    assert_true(is_safe(h, &h->first));
    assert_true(is_safe(h, &h->second));
}

static void a_replica_that_still_synchronizes_does_not_count(void **state)
{
    static const char *const args[] = {"--rdb-key-save-delay", "20000", NULL};
    struct house *h = *state;

    replicated_free(h->redis);
    h->redis = replicated_new(args);
    for (int i = 0; i < 20; i++)
        redis_fixture_command(h->redis->master, "RPUSH list%d x", i);
    house_start(h);
    begin(h, &h->first);
    run_until_it_says(h, "blocked_clients:1");
    replicated_add(h->redis);
    assert_true(is_safe(h, &h->first));
    assert_true(redis_fixture_says(h->redis->master, "state=online"));
    assert_int_equal(redis_fixture_command(h->redis->replicas[0], "LLEN list19"), 1);
}

/* ---- not safe ---- */

static void too_few_replicas_make_nobody_safe(void **state)
{
    struct house *h = *state;

    h->options.min_replicas = 2;
    h->options.patience_ms = SHORT_MS;
    house_start(h);
    for (int i = 0; i < 3; i++)
        assert_false(wait_once(h));
    replicated_add(h->redis);
    wait_until_safe(h);
}

/* Somebody waits in vain, then nobody does; so three times. */
static void fail_now_and_then(struct house *h, const char *path)
{
    log_to(path);
    h->options.patience_ms = SHORT_MS;
    house_start(h);
    wait_until_safe(h);
    for (int i = 0; i < 3; i++) {
        replicated_freeze(h->redis, 0);
        redis_fixture_command(h->redis->master, "RPUSH list x");
        assert_false(wait_once(h));
        replicated_thaw(h->redis, 0);
        wait_until_safe(h);
    }
    log_to(NULL);
}

static void a_replica_that_confirms_now_and_then_is_said_to_be_behind(void **state)
{
    struct house *h = *state;
    char path[96];

    snprintf(path, sizeof(path), "%s/log", h->redis->master->dir);
    h->options.calm_ms = INT64_MAX;
    fail_now_and_then(h, path);
    assert_true(lines_with(path, " confirm within ") >= 1);
    assert_int_equal(lines_with(path, "confirm again"), 0);
}

static void each_change_is_said_where_it_is_calm(void **state)
{
    struct house *h = *state;
    char path[96];

    snprintf(path, sizeof(path), "%s/log", h->redis->master->dir);
    h->options.calm_ms = 0;
    fail_now_and_then(h, path);
    assert_true(lines_with(path, " confirm within ") >= 3);
    assert_true(lines_with(path, "confirm again") >= 3);
}

static void says_why_nobody_can_be_asked(void **state)
{
    struct house *h = *state;
    char path[96];

    snprintf(path, sizeof(path), "%s/log", h->redis->master->dir);
    log_to(path);
    h->options.patience_ms = SHORT_MS;
    house_start(h);
    redis_fixture_kill(h->redis->master);
    assert_false(wait_once(h));
    log_to(NULL);
    assert_true(lines_with(path, "replicas: without a connection nobody can be asked") >= 1);
    assert_int_equal(lines_with(path, " confirm within "), 0);
}

static void a_frozen_replica_holds_nobody_for_longer_than_his_patience(void **state)
{
    struct house *h = *state;

    h->options.patience_ms = SHORT_MS;
    house_start(h);
    wait_until_safe(h);
    replicated_freeze(h->redis, 0);
    redis_fixture_command(h->redis->master, "RPUSH list x");
    begin(h, &h->first);
    begin(h, &h->second);
    assert_neither_is_safe(h);
    replicated_thaw(h->redis, 0);
    wait_until_safe(h);
}

/* The first pair takes the whole time of those who came behind it. */
static void who_waits_for_the_next_pair_has_the_same_patience(void **state)
{
    struct house *h = *state;

    h->options.patience_ms = 500;
    start_with_two(h);
    assert_false(is_safe(h, &h->second));
    assert_true(h->first.is_done);
    assert_false(h->first.is_safe);
}

static void who_waits_before_anybody_is_followed_is_not_safe(void **state)
{
    struct house *h = *state;

    h->replicas = redis_replicas_new(h->loop, &h->options);
    redis_replicas_start(h->replicas);
    begin(h, &h->first);
    follow(h, h->redis->master);
    begin(h, &h->second);
    assert_false(is_safe(h, &h->first));
    assert_true(is_safe(h, &h->second));
}

static void without_a_connection_nobody_is_safe(void **state)
{
    struct house *h = *state;

    h->options.patience_ms = SHORT_MS;
    house_start(h);
    redis_fixture_kill(h->redis->master);
    assert_false(wait_once(h));
}

/* The same data at the same place: but what the former incarnation has answered may be gone. */
static void another_incarnation_of_redis_makes_nobody_safe(void **state)
{
    struct house *h = *state;

    start_with_two(h);
    redis_fixture_kill(h->redis->master);
    redis_fixture_start(h->redis->master);
    replicated_thaw(h->redis, 0);
    assert_neither_is_safe(h);
    follow(h, h->redis->master);
    assert_true(wait_once(h));
}

static void who_is_told_of_another_incarnation_first_makes_nobody_safe_either(void **state)
{
    struct house *h = *state;

    house_start(h);
    begin_unanswered(h);
    redis_fixture_kill(h->redis->master);
    redis_fixture_start(h->redis->master);
    follow(h, h->redis->master);
    replicated_thaw(h->redis, 0);
    assert_false(is_safe(h, &h->first));
    assert_true(wait_once(h));
}

static void a_master_that_becomes_a_replica_makes_nobody_safe(void **state)
{
    struct house *h = *state;

    start_with_two(h);
    redis_fixture_command(h->redis->master, "REPLICAOF 127.0.0.1 1");
    assert_neither_is_safe(h);
    assert_false(wait_once(h));
}

/* It was something else in between, which only its history tells. */
static void a_master_that_was_a_replica_meanwhile_makes_nobody_safe(void **state)
{
    struct house *h = *state;

    house_start(h);
    begin(h, &h->first);
    redis_fixture_command(h->redis->master, "REPLICAOF 127.0.0.1 1");
    redis_fixture_command(h->redis->master, "REPLICAOF NO ONE");
    assert_false(is_safe(h, &h->first));
    assert_true(wait_once(h));
}

static void another_redis_makes_nobody_safe(void **state)
{
    struct replicated *there = replicated_new(NULL);
    struct house *h = *state;

    replicated_add(there);
    start_with_two(h);
    follow(h, there->master);
    assert_neither_is_safe(h);
    redis_fixture_kill(h->redis->master);
    assert_true(wait_once(h));
    replicated_free(there);
}

/* It goes on as a master that nobody believes in. */
static void who_waits_where_the_jobs_are_no_more_is_not_safe(void **state)
{
    struct redis_address there = {.host = "127.0.0.1", .port = 1};
    struct house *h = *state;

    start_with_two(h);
    redis_replicas_turn(h->replicas, &there);
    replicated_thaw(h->redis, 0);
    assert_neither_is_safe(h);
    follow(h, h->redis->master);
    assert_true(wait_once(h));
}

/* WAIT alone would be answered. */
static void a_ping_that_is_refused_makes_nobody_safe(void **state)
{
    struct house *h = *state;

    redis_fixture_command(h->redis->master, "ACL SETUSER default -ping");
    house_start(h);
    assert_false(wait_once(h));
    redis_fixture_command(h->redis->master, "ACL SETUSER default +ping");
    wait_until_safe(h);
}

/* ---- the end ---- */

static void who_is_given_up_is_told_once(void **state)
{
    struct house *h = *state;

    start_with_two(h);
    redis_replicas_give_up(h->replicas);
    assert_false(h->first.is_done || h->second.is_done);
    assert_neither_is_safe(h);
    replicated_thaw(h->redis, 0);
    assert_true(wait_once(h));
}

static void a_stop_tells_those_who_wait_first(void **state)
{
    struct house *h = *state;

    start_with_two(h);
    redis_replicas_stop(h->replicas);
    assert_false(h->first.is_done || h->second.is_done || h->is_stopped);
    run_until(h->loop, &h->is_stopped);
    assert_true(h->first.is_done && h->second.is_done);
    assert_false(h->first.is_safe || h->second.is_safe);
}

static void stops_before_it_follows_anybody(void **state)
{
    struct house *h = *state;

    h->replicas = redis_replicas_new(h->loop, &h->options);
    redis_replicas_start(h->replicas);
    redis_replicas_stop(h->replicas);
    run_until(h->loop, &h->is_stopped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_HOUSE(wait_alone_is_about_an_earlier_command),
        IN_HOUSE(what_a_replica_has_is_safe),
        IN_HOUSE(waits_for_as_many_as_it_was_told),
        IN_HOUSE(who_comes_meanwhile_waits_for_the_next_pair_together),
        IN_HOUSE(a_lost_connection_loses_nobody),
        IN_HOUSE(a_replica_that_still_synchronizes_does_not_count),
        IN_HOUSE(too_few_replicas_make_nobody_safe),
        IN_HOUSE(a_replica_that_confirms_now_and_then_is_said_to_be_behind),
        IN_HOUSE(each_change_is_said_where_it_is_calm),
        IN_HOUSE(says_why_nobody_can_be_asked),
        IN_HOUSE(a_frozen_replica_holds_nobody_for_longer_than_his_patience),
        IN_HOUSE(who_waits_for_the_next_pair_has_the_same_patience),
        IN_HOUSE(who_waits_before_anybody_is_followed_is_not_safe),
        IN_HOUSE(without_a_connection_nobody_is_safe),
        IN_HOUSE(another_incarnation_of_redis_makes_nobody_safe),
        IN_HOUSE(who_is_told_of_another_incarnation_first_makes_nobody_safe_either),
        IN_HOUSE(a_master_that_becomes_a_replica_makes_nobody_safe),
        IN_HOUSE(a_master_that_was_a_replica_meanwhile_makes_nobody_safe),
        IN_HOUSE(another_redis_makes_nobody_safe),
        IN_HOUSE(who_waits_where_the_jobs_are_no_more_is_not_safe),
        IN_HOUSE(a_ping_that_is_refused_makes_nobody_safe),
        IN_HOUSE(who_is_given_up_is_told_once),
        IN_HOUSE(a_stop_tells_those_who_wait_first),
        IN_HOUSE(stops_before_it_follows_anybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
