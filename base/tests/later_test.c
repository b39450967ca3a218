/* Ended calls are told later: in order, never at once, and calls that end meanwhile a turn
 * later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/timer.h"

static struct timers timers;
static struct later later;
static char told[16]; /* the names of those that were told, in order; '.': idle with it */

struct ended {
    char name;
    struct list link;
    struct ended *adds;    /* when it is told, or NULL */
    struct ended *revokes; /* the same */
};

static void add(struct ended *e, char name)
{
    e->name = name;
    later_add(&later, &e->link);
}

static void tell(struct later *l, struct list *link)
{
    struct ended *e = CONTAINER_OF(link, struct ended, link);

    assert_ptr_equal(l, &later);
    assert_false(list_is_linked(link));
    strncat(told, &e->name, 1);
    if (later_is_idle(l))
        strcat(told, ".");
    if (e->adds)
        add(e->adds, 'x');
    if (e->revokes)
        list_remove(&e->revokes->link);
}

static void turn(void)
{
    timers_run(&timers, timers_now(&timers));
}

static int set_up(void **state)
{
    told[0] = '\0';
    timers_init(&timers, 0);
    later_init(&later, &timers, tell);
    return 0;
}

static int tear_down(void **state)
{
    later_fini(&later);
    timers_fini(&timers);
    return 0;
}

static void those_who_have_ended_are_told_in_the_next_turn_in_line(void **state)
{
    struct ended e[3] = {0};

    for (unsigned i = 0; i < 3; i++)
        add(&e[i], (char)('a' + i));
    assert_string_equal(told, "");
    turn();
    assert_string_equal(told, "abc.");
    turn();
    assert_string_equal(told, "abc.");
}

static void who_ends_meanwhile_waits_for_the_turn_after(void **state)
{
    struct ended next = {0}, e[2] = {{.adds = &next}};

    add(&e[0], 'a');
    add(&e[1], 'b');
    turn();
    assert_string_equal(told, "ab");
    turn();
    assert_string_equal(told, "abx.");
}

static void one_that_is_told_may_end_again(void **state)
{
    struct ended e = {0};

    e.adds = &e;
    add(&e, 'a');
    turn();
    assert_string_equal(told, "a.");
    e.adds = NULL;
    turn();
    assert_string_equal(told, "a.x.");
}

/* As long as it waits, also while others of its turn are told. */
static void who_is_taken_back_is_not_told(void **state)
{
    struct ended e[3] = {{.revokes = &e[1]}};
    struct ended early = {0};

    add(&early, 'z');
    list_remove(&early.link);
    for (unsigned i = 0; i < 3; i++)
        add(&e[i], (char)('a' + i));
    turn();
    assert_string_equal(told, "ac.");
}

static void is_idle_when_nobody_else_waits(void **state)
{
    struct ended e[2] = {0};

    assert_true(later_is_idle(&later));
    add(&e[0], 'a');
    add(&e[1], 'b');
    assert_false(later_is_idle(&later));
    turn();
    assert_string_equal(told, "ab.");
    assert_true(later_is_idle(&later));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(those_who_have_ended_are_told_in_the_next_turn_in_line),
        TEST(who_ends_meanwhile_waits_for_the_turn_after),
        TEST(one_that_is_told_may_end_again),
        TEST(who_is_taken_back_is_not_told),
        TEST(is_idle_when_nobody_else_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
