/* Operations that never reach a Redis: limits, and the end. */
#include "node/store/redis/requests.h"

#include "base/tests/unit.h"
#include "node/store/redis/store.h"

#define OPS 4

/* Requests on a route that leads nowhere. */
struct bench {
    struct loop *loop;
    struct redis_marks *marks;
    struct redis_route route;
    struct redis_store_options options;
    struct redis_store_stats stats;
    struct redis_requests *requests;
    struct op ops[OPS];
    unsigned done, done_when_idle;
    unsigned idles;
};

static struct bench bench;

static void on_done(struct op *op)
{
    bench.done++;
}

static void on_idle(void *arg)
{
    bench.idles++;
    bench.done_when_idle = bench.done;
}

static int set_up(void **state)
{
    static const struct store_events events;
    struct script_keys keys;

    bench = (struct bench){.loop = loop_new(), .options = redis_store_defaults()};
    keys =
        (struct script_keys){.prefix = bench.options.prefix, .buckets = bench.options.buckets};
    bench.marks = redis_marks_new(keys.buckets);
    redis_route_init(&bench.route, &keys, bench.marks, &bench.loop->timers, NULL, false);
    bench.requests =
        redis_requests_new(bench.loop, &bench.options, &bench.stats, &bench.route, &events);
    return 0;
}

static int tear_down(void **state)
{
    redis_requests_free(bench.requests);
    redis_route_fini(&bench.route);
    redis_marks_free(bench.marks);
    loop_free(bench.loop);
    return 0;
}

static void turn(void)
{
    timers_run(&bench.loop->timers, timers_now(&bench.loop->timers));
}

/* Counts as `bytes`. */
static struct op *submit(unsigned i, size_t bytes)
{
    static char body[100];

    bench.ops[i] = (struct op){.verb = OP_PUSH,
                               .on_done = on_done,
                               .topic = BYTES("t"),
                               .in.push.body = bytes_of(body, bytes - 1)};
    redis_requests_submit(bench.requests, &bench.ops[i]);
    return &bench.ops[i];
}

static void stop(void)
{
    redis_requests_stop(bench.requests, on_idle, NULL);
    turn();
    assert_int_equal(bench.idles, 1);
}

static void holds_no_more_bytes_than_it_may(void **state)
{
    struct op *small, *large;

    bench.options.bytes_max = 100;
    submit(0, 60);
    large = submit(1, 41);
    small = submit(2, 40);
    assert_int_equal(bench.done, 0);
    turn();
    assert_int_equal(bench.done, 2);
    assert_int_equal(large->status, STATUS_TOO_MANY);
    /* What is on its way out still takes its room. */
    assert_int_equal(small->status, STATUS_TOO_MANY);
    assert_int_equal(bench.stats.overflowed, 2);
    assert_int_equal(bench.stats.held_bytes, 60);

    small = submit(3, 40);
    assert_int_equal(bench.stats.held, 2);
    stop();
    assert_int_equal(small->status, STATUS_SHUTTING_DOWN);
    assert_int_equal(bench.stats.held_bytes, 0);
}

static void drops_what_nobody_waits_for_any_more(void **state)
{
    struct op *kept = submit(0, 10), *left = submit(1, 10);

    redis_requests_abandon(bench.requests, left);
    assert_int_equal(bench.done, 0); /* not from inside the call */
    assert_int_equal(bench.stats.held, 1);
    redis_requests_abandon(bench.requests, left); /* it is on its way out */
    turn();
    assert_int_equal(bench.done, 1);
    assert_int_equal(left->status, STATUS_UNAVAILABLE);
    redis_requests_abandon(bench.requests, left); /* it is done */
    assert_int_equal(bench.stats.dropped, 1);
    assert_int_equal(bench.stats.held_bytes, 10);
    stop();
    assert_int_equal(kept->status, STATUS_SHUTTING_DOWN);
}

static void is_idle_when_the_last_was_answered_and_not_before(void **state)
{
    for (unsigned i = 0; i < 3; i++)
        submit(i, 10);
    redis_requests_stop(bench.requests, on_idle, NULL);
    submit(3, 10);
    assert_int_equal(bench.done + bench.idles, 0);
    turn();
    assert_int_equal(bench.idles, 1);
    assert_int_equal(bench.done_when_idle, 4);
}

static void is_idle_at_once_when_there_is_nothing(void **state)
{
    redis_requests_stop(bench.requests, on_idle, NULL);
    assert_int_equal(bench.idles, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(holds_no_more_bytes_than_it_may),
        TEST(drops_what_nobody_waits_for_any_more),
        TEST(is_idle_when_the_last_was_answered_and_not_before),
        TEST(is_idle_at_once_when_there_is_nothing),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
