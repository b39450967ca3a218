/* Operators' requests: an impossible one is refused at once with the reason, one for later can
 * be cancelled, and a pause says which node was asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/tests/ha_fixture.h"

static void assert_refused(unsigned by, enum ha_request request, const char *to,
                           const char *why)
{
    assert_int_equal(command(by, request, to), STATUS_WRONG_STATE);
    assert_non_null(strstr(last_command.why, why));
}

static void a_switchover_that_nobody_can_take_is_refused_with_the_reasons(void **state)
{
    char why[64];

    node_kill(third);
    ha_store_is(nodes[next].ha, false);
    run(2 * T);
    assert_refused(old, HA_SWITCHOVER, "", "no other node could lead now");
    snprintf(why, sizeof(why), "%s has a Redis that does not answer", nodes[next].name);
    assert_non_null(strstr(last_command.why, why));
    snprintf(why, sizeof(why), "%s is not here", nodes[third].name);
    assert_non_null(strstr(last_command.why, why));
}

static void a_switchover_in_the_past_is_refused(void **state)
{
    last_command.at_wall_ms = now + wall_offset - 60000;
    assert_refused(third, HA_SWITCHOVER, "", "over, by 60 s");
    last_command.at_wall_ms = now + wall_offset - 1000; /* clocks differ */
    assert_int_equal(command(third, HA_SWITCHOVER, ""), STATUS_OK);
}

static void a_switchover_for_later_can_be_cancelled(void **state)
{
    assert_refused(third, HA_CANCEL, "", "no switchover");
    last_command.at_wall_ms = now + wall_offset + 4 * T;
    assert_int_equal(command(third, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(T);
    assert_int_equal(command(next, HA_CANCEL, ""), STATUS_OK);
    run(T);
    assert_string_equal(status_of(third).wanted, "");
    run(5 * T);
    assert_int_equal(leader(), old);
}

static void on_done(struct ha_command *command)
{
    command->to = "done";
}

/* Both are sent for the same version of `control`. */
static void a_pause_that_meets_another_change_is_repeated(void **state)
{
    struct ha_command pause = {.request = HA_PAUSE, .to = "", .on_done = on_done};

    ha_command(nodes[next].ha, &pause);
    assert_int_equal(command(third, HA_PAUSE, ""), STATUS_OK);
    run(100);
    assert_string_equal(pause.to, "done");
    assert_int_equal(pause.status, STATUS_OK);
}

static void a_pause_says_who_was_asked_and_since_when(void **state)
{
    int64_t at = now + wall_offset;

    assert_int_equal(command(third, HA_PAUSE, ""), STATUS_OK);
    run(T);
    assert_int_equal(command(next, HA_PAUSE, ""), STATUS_OK); /* the first one stands */
    assert_int_equal(command(next, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    run(2 * T);
    assert_string_equal(status_of(old).paused_by, nodes[third].name);
    assert_in_range(status_of(old).paused_at_wall_ms, at, at + 100);
    assert_int_equal(command(next, HA_RESUME, ""), STATUS_OK);
    run(T);
    assert_string_equal(status_of(old).paused_by, "");
}

static void while_paused_a_switchover_finds_a_leader_where_there_is_none(void **state)
{
    assert_int_equal(command(third, HA_PAUSE, ""), STATUS_OK);
    node_kill(old);
    run(4 * T);
    assert_true(is_not_led());
    assert_int_equal(command(third, HA_SWITCHOVER, ""), STATUS_OK);
    await(has_another_leader, 3 * T);
    run(T);
    assert_string_equal(newest_change()->reason, "switchover");
    assert_true(newest_change()->without_leader_ms > 3 * T);
    assert_true(status_of(third).is_paused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(a_switchover_that_nobody_can_take_is_refused_with_the_reasons),
        ON_THREE(a_switchover_in_the_past_is_refused),
        ON_THREE(a_switchover_for_later_can_be_cancelled),
        ON_THREE(a_pause_that_meets_another_change_is_repeated),
        ON_THREE(a_pause_says_who_was_asked_and_since_when),
        ON_THREE(while_paused_a_switchover_finds_a_leader_where_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
