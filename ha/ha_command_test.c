/* Operators' wishes that meet other changes of the cluster on their way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/ha_fixture.h"

static unsigned old, next, third, answers;

static int setup(void **state)
{
    three_nodes_setup(state);
    old = (unsigned)leader();
    next = (old + 1) % NODES;
    third = (old + 2) % NODES;
    return 0;
}

static void on_answer(struct ha_command *c)
{
    answers++;
}

static bool has_two_answers(void)
{
    return answers == 2;
}

/* Both know the same version of what they change, and one comes second. */
static void send_two(struct ha_command *first, struct ha_command *second)
{
    answers = 0;
    first->on_done = second->on_done = on_answer;
    ha_command(nodes[next].ha, first);
    ha_command(nodes[third].ha, second);
    await(has_two_answers, T);
}

static void what_means_the_same_is_written_again_when_another_was_first(void **state)
{
    struct ha_command pause = {.wish = HA_PAUSE, .to = ""};
    struct ha_command resume = {.wish = HA_RESUME, .to = ""};

    send_two(&pause, &resume);
    assert_int_equal(pause.status, STATUS_OK);
    assert_int_equal(resume.status, STATUS_OK);
    run(T);
    assert_false(status_of(old).is_paused);
}

static void another_leader_is_not_wanted_twice(void **state)
{
    struct ha_command pause = {.wish = HA_PAUSE, .to = ""};
    struct ha_command switchover = {.wish = HA_SWITCHOVER, .to = ""};

    send_two(&pause, &switchover);
    assert_int_equal(pause.status, STATUS_OK);
    assert_int_equal(switchover.status, STATUS_WRONG_STATE);
    assert_non_null(strstr(switchover.why, "just changed"));
    run(T);
    assert_int_equal(leader(), old);
}

#define ON_THREE(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(what_means_the_same_is_written_again_when_another_was_first),
        ON_THREE(another_leader_is_not_wanted_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
