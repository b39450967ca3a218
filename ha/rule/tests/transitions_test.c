#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/rule/transitions.h"

static struct transitions all;

static void reads_what_it_writes(void **state)
{
    const char *lines = "change 1700000000000 na elected 1 -\n"
                        "change 1700000001000 nb forced 2 1333\n";
    struct buf text = BUF_INIT;

    transitions_parse(&all, bytes_of_text(lines));
    assert_int_equal(all.count, 2);
    assert_int_equal(all.changes[0].without_leader_ms, -1);
    assert_int_equal(all.changes[1].without_leader_ms, 1333);
    assert_string_equal(all.changes[1].node, "nb");
    assert_string_equal(all.changes[1].reason, "forced");
    transitions_print(&all, &text);
    assert_string_equal(buf_text(&text), lines);
    buf_fini(&text);
}

static void skips_what_is_malformed(void **state)
{
    transitions_parse(&all,
                      bytes_of_text("change\nchange x na elected 1 -\nnew 1 na elected 1 -\n"
                                    "change 1 na elected\nchange 1 na elected 7\n"
                                    "change 1 na a_reason_that_is_too_long 1 -\n\n"));
    assert_int_equal(all.count, 1);
    assert_int_equal(all.changes[0].epoch, 7);
    assert_int_equal(all.changes[0].without_leader_ms, -1);
}

static void keeps_the_newest_hundred(void **state)
{
    all.count = 0;
    for (int i = 0; i < 250; i++)
        transitions_add(&all, &(struct ha_transition){.epoch = (uint64_t)i, .at_wall_ms = i});
    assert_int_equal(all.count, HA_TRANSITIONS_MAX);
    assert_int_equal(all.changes[0].epoch, 150);
    assert_int_equal(all.changes[99].epoch, 249);
    assert_true(
        transitions_has(&all, &(struct ha_transition){.epoch = 200, .at_wall_ms = 200}));
    assert_false(
        transitions_has(&all, &(struct ha_transition){.epoch = 149, .at_wall_ms = 149}));
    assert_false(
        transitions_has(&all, &(struct ha_transition){.epoch = 200, .at_wall_ms = 201}));
    assert_int_equal(transitions_between(&all, 240, 1000), 10);
    assert_int_equal(transitions_between(&all, 200, 239), 40);
    strcpy(all.changes[99].reason, "resumed"); /* the leader is the same */
    assert_int_equal(transitions_between(&all, 240, 1000), 9);
}

static void why_a_leader_left_counts_until_the_next_change(void **state)
{
    const char *lines = "change 1700000000000 na elected 1 -\nleft 1 switchover\n";
    struct buf text = BUF_INIT;

    transitions_parse(&all, bytes_of_text(lines));
    assert_int_equal(all.left_epoch, 1);
    assert_string_equal(all.left_reason, "switchover");
    transitions_print(&all, &text);
    assert_string_equal(buf_text(&text), lines);
    transitions_add(&all, &(struct ha_transition){.epoch = 2});
    assert_int_equal(all.left_epoch, 0);
    all.left_epoch = 2;
    transitions_add(&all,
                    &(struct ha_transition){.epoch = 1, .at_wall_ms = 7}); /* it comes late */
    assert_int_equal(all.changes[1].at_wall_ms, 7);
    assert_int_equal(all.changes[2].epoch, 2);
    assert_int_equal(all.left_epoch, 2);
    assert_int_equal(transitions_before(&all, 2), 1);
    assert_int_equal(transitions_before(&all, 1), 0);
    transitions_parse(&all, bytes_of_text("left x y\nleft 1 a_reason_that_is_too_long\n"));
    assert_int_equal(all.left_epoch, 0);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(skips_what_is_malformed),
        cmocka_unit_test(keeps_the_newest_hundred),
        cmocka_unit_test(why_a_leader_left_counts_until_the_next_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
