/* Timers on a test's time, at the end against a model that cannot be wrong: a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/list.h"
#include "base/timer.h"

#define FIRED_MAX 64

static struct timers timers;
static char fired[FIRED_MAX + 1]; /* the names of those that fired, in order */
static size_t fired_count;

struct probe {
    char name;
    struct timer timer;
    int64_t again_ms;      /* armed again in its callback, -1: not */
    struct probe *victim;  /* disarmed in its callback, or NULL */
    struct probe *partner; /* armed in its callback without delay, or NULL */
};

static void on_fire(struct timer *timer)
{
    struct probe *p = CONTAINER_OF(timer, struct probe, timer);

    assert_false(timer_is_armed(timer));
    assert_true(fired_count < FIRED_MAX);
    fired[fired_count++] = p->name;
    fired[fired_count] = '\0';
    if (p->victim)
        timer_disarm(&timers, &p->victim->timer);
    if (p->partner)
        timer_arm(&timers, &p->partner->timer, 0);
    if (p->again_ms >= 0)
        timer_arm(&timers, timer, p->again_ms);
}

static struct probe probe(char name)
{
    struct probe p = {.name = name, .again_ms = -1};

    timer_init(&p.timer, on_fire);
    return p;
}

static int64_t run(int64_t now_mono_ms)
{
    fired_count = 0;
    fired[0] = '\0';
    return timers_run(&timers, now_mono_ms);
}

static int setup(void **state)
{
    timers_init(&timers, 1000);
    return 0;
}

static int teardown(void **state)
{
    timers_fini(&timers);
    return 0;
}

static void fire_in_order_of_time_and_then_of_arming(void **state)
{
    struct probe a = probe('a'), b = probe('b'), c = probe('c'), d = probe('d');

    timer_arm(&timers, &a.timer, 20);
    timer_arm(&timers, &b.timer, 10);
    timer_arm(&timers, &c.timer, 20);
    timer_arm(&timers, &d.timer, 10);
    assert_int_equal(run(1030), -1);
    assert_string_equal(fired, "bdac");
}

static void never_fire_early_and_say_how_long_to_wait(void **state)
{
    struct probe a = probe('a'), b = probe('b');

    assert_int_equal(run(1000), -1);
    timer_arm(&timers, &a.timer, 10);
    timer_arm(&timers, &b.timer, 25);
    assert_int_equal(run(1009), 1);
    assert_string_equal(fired, "");
    assert_int_equal(run(1010), 15);
    assert_string_equal(fired, "a");
    assert_int_equal(timers_now(&timers), 1010);
    assert_int_equal(run(1025), -1);
}

static void without_delay_one_fires_in_the_next_turn(void **state)
{
    struct probe a = probe('a'), b = probe('b');

    a.partner = &b;
    timer_arm(&timers, &a.timer, 0);
    assert_int_equal(run(1000), 0);
    assert_string_equal(fired, "a");
    assert_int_equal(run(1000), -1);
    assert_string_equal(fired, "b");
}

static void one_that_arms_itself_again_does_not_fire_twice_in_a_turn(void **state)
{
    struct probe a = probe('a'), b = probe('b');

    a.again_ms = 0;
    timer_arm(&timers, &a.timer, 0);
    timer_arm(&timers, &b.timer, 0);
    assert_int_equal(run(1500), 0);
    assert_string_equal(fired, "ab");
    a.again_ms = 5;
    assert_int_equal(run(1500), 5);
    assert_string_equal(fired, "a");
    timer_disarm(&timers, &a.timer);
}

static void one_disarmed_by_another_in_the_same_turn_does_not_fire(void **state)
{
    struct probe a = probe('a'), b = probe('b'), c = probe('c');

    a.victim = &b;
    timer_arm(&timers, &a.timer, 1);
    timer_arm(&timers, &b.timer, 1);
    timer_arm(&timers, &c.timer, 1);
    assert_int_equal(run(1001), -1);
    assert_string_equal(fired, "ac");
    assert_false(timer_is_armed(&b.timer));
}

static void arming_anew_replaces_the_old_time(void **state)
{
    struct probe a = probe('a');

    timer_arm(&timers, &a.timer, 10);
    timer_arm(&timers, &a.timer, 50);
    assert_int_equal(run(1010), 40);
    assert_string_equal(fired, "");
    timer_arm(&timers, &a.timer, -7);
    assert_int_equal(run(1010), -1);
    assert_string_equal(fired, "a");
}

static void disarming_is_harmless_twice(void **state)
{
    struct probe a = probe('a');

    timer_disarm(&timers, &a.timer);
    timer_arm(&timers, &a.timer, 1);
    timer_disarm(&timers, &a.timer);
    timer_disarm(&timers, &a.timer);
    assert_int_equal(run(2000), -1);
    assert_string_equal(fired, "");
}

static void time_does_not_go_back(void **state)
{
    struct probe a = probe('a');

    run(2000);
    run(1500);
    assert_int_equal(timers_now(&timers), 2000);
    timer_arm(&timers, &a.timer, 10);
    assert_int_equal(run(1500), 10);
}

static unsigned sooner_count;

static void count_sooner(struct timers *ts)
{
    sooner_count++;
}

static void tell_when_the_first_time_moved_forward(void **state)
{
    struct probe a = probe('a'), b = probe('b'), c = probe('c');

    sooner_count = 0;
    timers.on_sooner = count_sooner;
    timer_arm(&timers, &a.timer, 10);
    assert_int_equal(sooner_count, 1);
    timer_arm(&timers, &b.timer, 20);
    assert_int_equal(sooner_count, 1);
    timer_arm(&timers, &c.timer, 5);
    assert_int_equal(sooner_count, 2);
}

/* ---- against the model ---- */

#define MANY 200

struct modelled {
    struct timer timer;
    bool is_armed;
    int64_t due_mono_ms;
    uint64_t order;
};

static struct {
    struct modelled timers[MANY];
    uint64_t next_order;
    uint64_t random;
    uint64_t limit; /* armed from here on: not in this turn */
    unsigned fired;
} model;

static uint64_t random_below(uint64_t limit)
{
    model.random ^= model.random << 13;
    model.random ^= model.random >> 7;
    model.random ^= model.random << 17;
    return model.random % limit;
}

/* The one that must fire now, or NULL. */
static struct modelled *model_next(void)
{
    struct modelled *first = NULL;

    for (struct modelled *m = model.timers; m < model.timers + MANY; m++) {
        if (m->is_armed && m->due_mono_ms <= timers.now_mono_ms && m->order < model.limit &&
            (!first || m->due_mono_ms < first->due_mono_ms ||
             (m->due_mono_ms == first->due_mono_ms && m->order < first->order)))
            first = m;
    }
    return first;
}

static void arm_one(struct modelled *m)
{
    int64_t delay_ms = (int64_t)random_below(50);

    timer_arm(&timers, &m->timer, delay_ms);
    m->is_armed = true;
    m->due_mono_ms = timers.now_mono_ms + delay_ms;
    m->order = model.next_order++;
}

static void change_one_at_random(void)
{
    struct modelled *m = &model.timers[random_below(MANY)];

    assert_int_equal(timer_is_armed(&m->timer), m->is_armed);
    if (random_below(3)) {
        arm_one(m);
    } else {
        timer_disarm(&timers, &m->timer);
        m->is_armed = false;
    }
}

static void on_model_fire(struct timer *timer)
{
    struct modelled *m = CONTAINER_OF(timer, struct modelled, timer);

    assert_ptr_equal(m, model_next());
    m->is_armed = false;
    model.fired++;
    for (uint64_t n = random_below(3); n; n--)
        change_one_at_random();
}

static void many_at_random_do_what_the_model_does(void **state)
{
    model.random = 88172645463325252u;
    for (int i = 0; i < MANY; i++)
        timer_init(&model.timers[i].timer, on_model_fire);
    for (int turn = 0; turn < 3000; turn++) {
        for (uint64_t n = random_below(20); n; n--)
            change_one_at_random();
        model.limit = model.next_order;
        timers_run(&timers, timers_now(&timers) + (int64_t)random_below(10));
        assert_null(model_next());
    }
    assert_true(model.fired > 1000);
}

#define ON_NEW_TIMERS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NEW_TIMERS(fire_in_order_of_time_and_then_of_arming),
        ON_NEW_TIMERS(never_fire_early_and_say_how_long_to_wait),
        ON_NEW_TIMERS(without_delay_one_fires_in_the_next_turn),
        ON_NEW_TIMERS(one_that_arms_itself_again_does_not_fire_twice_in_a_turn),
        ON_NEW_TIMERS(one_disarmed_by_another_in_the_same_turn_does_not_fire),
        ON_NEW_TIMERS(arming_anew_replaces_the_old_time),
        ON_NEW_TIMERS(disarming_is_harmless_twice),
        ON_NEW_TIMERS(time_does_not_go_back),
        ON_NEW_TIMERS(tell_when_the_first_time_moved_forward),
        ON_NEW_TIMERS(many_at_random_do_what_the_model_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
