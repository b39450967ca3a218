/* Messages heard; and an open subscription that hears nothing, which only its missing beat can
 * tell.
 */
#include "node/store/redis/wakeups.h"
#include "base/tests/unit.h"

#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "node/store/redis/tests/server_fixture.h"

static int64_t beat_ms;

struct hearing {
    struct loop *loop;
    struct redis_link *commands;
    struct redis_wakeups *wakeups;
    struct redis_beat beat;
    struct store_events events;
    bool is_open, is_up, is_down, is_wakeups_stopped, is_stopped;
    bool is_ready_heard;
    unsigned settings_heard;
    unsigned identities_heard;
    unsigned hints_heard;
    bool are_hints_heard; /* both */

    struct redis_link *far; /* to a Redis of its own; NULL: there is one */
    struct redis_beat far_beat;
    unsigned far_weight; /* of others 2 */
    unsigned missed;     /* of far's, without a break */
    bool is_missed_often;
};

static void on_open(void *arg)
{
    ((struct hearing *)arg)->is_open = true;
}

static void on_stopped(void *arg)
{
    ((struct hearing *)arg)->is_stopped = true;
}

static void on_up(void *arg)
{
    ((struct hearing *)arg)->is_up = true;
}

static void on_down(void *arg)
{
    struct hearing *h = arg;

    h->is_down = true;
    h->missed = 0;
}

static void on_ready(void *arg, struct bytes topic)
{
    assert_true(bytes_equal(topic, BYTES("last")));
    ((struct hearing *)arg)->is_ready_heard = true;
}

static void on_settings(void *arg, struct bytes topic)
{
    assert_true(bytes_equal(topic, BYTES("orders")));
    ((struct hearing *)arg)->settings_heard++;
}

static void on_identities(void *arg)
{
    ((struct hearing *)arg)->identities_heard++;
}

static void on_hint(void *arg, unsigned bucket, unsigned share, int64_t wait_ms)
{
    struct hearing *h = arg;

    assert_int_equal(bucket, h->hints_heard ? 63 : 7);
    assert_int_equal(share, h->hints_heard ? 255 : 42);
    assert_int_equal(wait_ms, h->hints_heard ? 0 : 300);
    h->hints_heard++;
    h->are_hints_heard = h->hints_heard == 2;
}

static unsigned weigh(void *arg, const struct redis_beat *beat)
{
    const struct hearing *h = arg;

    return beat == &h->far_beat ? h->far_weight : 2;
}

static void on_missed(void *arg, const struct redis_beat *beat)
{
    struct hearing *h = arg;

    assert_ptr_equal(beat, &h->far_beat);
    h->is_missed_often |= ++h->missed == 3;
}

static void on_wakeups_stopped(void *arg)
{
    ((struct hearing *)arg)->is_wakeups_stopped = true;
}

static struct redis_address address_of(const struct redis_fixture *redis)
{
    struct redis_address address;

    assert_int_equal(redis_address_parse(redis->address, &address), STATUS_OK);
    return address;
}

/* Publishes to one Redis what it listens for at another. */
static void start(struct hearing *h, const struct redis_fixture *talks,
                  const struct redis_fixture *listens)
{
    struct redis_link_options commands = {
        .name = "commands",
        .address = address_of(talks),
        .timeout_ms = 5000,
        .backoff_max_ms = 50,
        .on_open = on_open,
        .on_stopped = on_stopped,
        .arg = h,
    };
    struct redis_wakeups_options wakeups = {
        .address = address_of(listens),
        .prefix = "dq",
        .timeout_ms = beat_ms,
        .backoff_max_ms = 50,
        .events = &h->events,
        .buckets = 64,
        .weigh = weigh,
        .on_missed = on_missed,
        .on_up = on_up,
        .on_down = on_down,
        .on_stopped = on_wakeups_stopped,
        .arg = h,
    };

    *h = (struct hearing){.loop = loop_new(),
                          .events = {.on_ready = on_ready,
                                     .on_settings = on_settings,
                                     .on_identities = on_identities,
                                     .on_hint = on_hint,
                                     .arg = h}};
    h->commands = redis_link_new(h->loop, &commands);
    h->wakeups = redis_wakeups_new(h->loop, &wakeups);
    redis_wakeups_add(h->wakeups, &h->beat, h->commands);
    redis_link_start(h->commands);
    run_until(h->loop, &h->is_open);
    redis_wakeups_start(h->wakeups);
    run_until(h->loop, &h->is_up);
}

/* A second Redis, of which nothing is heard at the first. */
static void start_with_far(struct hearing *h, const struct redis_fixture *here,
                           const struct redis_fixture *far, unsigned far_weight)
{
    struct redis_link_options options = {
        .name = "far",
        .address = address_of(far),
        .timeout_ms = 5000,
        .backoff_max_ms = 50,
        .on_open = on_open,
        .on_stopped = on_stopped,
        .arg = h,
    };

    start(h, here, here);
    h->far_weight = far_weight;
    h->far = redis_link_new(h->loop, &options);
    redis_wakeups_add(h->wakeups, &h->far_beat, h->far);
    h->is_open = false;
    redis_link_start(h->far);
    run_until(h->loop, &h->is_open);
}

static void stop_far(struct hearing *h)
{
    h->is_stopped = false;
    redis_link_stop(h->far);
    run_until(h->loop, &h->is_stopped);
    redis_wakeups_remove(h->wakeups, &h->far_beat);
    redis_link_free(h->far);
    h->is_stopped = false;
}

static void stop(struct hearing *h)
{
    if (h->far)
        stop_far(h);
    redis_wakeups_stop(h->wakeups);
    run_until(h->loop, &h->is_wakeups_stopped);
    redis_link_stop(h->commands);
    run_until(h->loop, &h->is_stopped);
    redis_wakeups_free(h->wakeups);
    redis_link_free(h->commands);
    loop_free(h->loop);
}

static struct hearing h;
static struct redis_fixture *here, *far; /* nothing of the one is heard at the other */

static int set_up(void **state)
{
    beat_ms = 20;
    here = redis_fixture_new(NULL);
    far = redis_fixture_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    stop(&h);
    redis_fixture_free(here);
    redis_fixture_free(far);
    return 0;
}

#define WITH_TWO(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void a_subscription_that_hears_nothing_is_made_anew(void **state)
{
    start(&h, here, far);
    run_until(h.loop, &h.is_down);
    assert_non_null(strstr(redis_wakeups_why(h.wakeups), far->address));
    assert_non_null(strstr(redis_wakeups_why(h.wakeups), ": what is published is not heard"));
    h.is_up = false;
    run_until(h.loop, &h.is_up);
}

/* Its usual time would be minutes. */
static void a_process_that_stood_still_proves_its_subscription(void **state)
{
    beat_ms = 600000;
    start(&h, here, far);
    redis_wakeups_prove_all(h.wakeups);
    run_until(h.loop, &h.is_down);
    h.is_up = false;
    run_until(h.loop, &h.is_up);
}

static void run_for(struct loop *loop, int ms)
{
    const struct timeval time = {.tv_usec = ms * 1000};

    event_base_loopexit(loop->base, &time);
    event_base_dispatch(loop->base);
}

static void standing_still_again_and_again_puts_no_proof_off(void **state)
{
    beat_ms = 600000;
    start(&h, here, far);
    alarm(PATIENCE_S);
    while (!h.is_down) {
        loop_touch(h.loop);
        redis_wakeups_prove_all(h.wakeups);
        run_for(h.loop, 300);
    }
    alarm(0);
}

static void one_redis_that_is_not_heard_is_looked_after(void **state)
{
    start_with_far(&h, here, far, 2);
    run_until(h.loop, &h.is_missed_often);
    assert_true(h.far_beat.is_unheard);
    alarm(PATIENCE_S);
    while (h.far_beat.is_unheard) {
        redis_fixture_command(here, "PUBLISH dq:ready %s", h.far_beat.word);
        event_base_loop(h.loop->base, EVLOOP_ONCE);
    }
    alarm(0);
}

static void run_until_down_for_far(void)
{
    alarm(PATIENCE_S);
    while (!strstr(redis_wakeups_why(h.wakeups), far->address))
        event_base_loop(h.loop->base, EVLOOP_ONCE);
    alarm(0);
}

static void a_place_that_hears_the_smaller_part_is_left(void **state)
{
    start_with_far(&h, here, far, 3);
    run_until_down_for_far();
    assert_int_equal(h.beat.missed_at, 3);
}

/* All are cut off from all: it does not go round and round. */
static void it_is_not_left_for_a_place_that_hears_no_more(void **state)
{
    start_with_far(&h, here, far, 3);
    h.far_beat.missed_at = 3;
    run_until(h.loop, &h.is_missed_often);
}

static void changes_of_settings_and_identities_are_no_job(void **state)
{
    start(&h, here, here);
    redis_fixture_command(here, "PUBLISH dq:ready =orders");
    redis_fixture_command(here, "PUBLISH dq:ready !");
    redis_fixture_command(here, "PUBLISH dq:ready -nobody");
    redis_fixture_command(here, "PUBLISH dq:ready last");
    run_until(h.loop, &h.is_ready_heard);
    assert_int_equal(h.settings_heard, 1);
    assert_int_equal(h.identities_heard, 1);
}

static void events_of_buckets_are_told_and_nonsense_is_not(void **state)
{
    static const char *const nonsense[] = {
        ">",          ">7",      ">7 ",      ">7 4 -1",  ">7 4 3x",          ">x 4 3",
        ">99999 4 3", ">64 4 3", ">7 256 3", ">7 3 4 5", ">7 4 123456789012"};

    start(&h, here, here);
    redis_wakeups_hint(h.wakeups, h.commands, 7, 42, 300);
    for (unsigned i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++)
        redis_fixture_command(here, "PUBLISH dq:ready %s", nonsense[i]);
    redis_wakeups_hint(h.wakeups, h.commands, 63, 255, 0);
    run_until(h.loop, &h.are_hints_heard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TWO(a_subscription_that_hears_nothing_is_made_anew),
        WITH_TWO(a_process_that_stood_still_proves_its_subscription),
        WITH_TWO(standing_still_again_and_again_puts_no_proof_off),
        WITH_TWO(one_redis_that_is_not_heard_is_looked_after),
        WITH_TWO(a_place_that_hears_the_smaller_part_is_left),
        WITH_TWO(it_is_not_left_for_a_place_that_hears_no_more),
        WITH_TWO(changes_of_settings_and_identities_are_no_job),
        WITH_TWO(events_of_buckets_are_told_and_nonsense_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
