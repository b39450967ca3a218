/* A walk meets every topic once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "node/queue/audit.h"

static struct walk w;
static struct bytes topic;

static int set_up(void **state)
{
    walk_init(&w);
    return 0;
}

static int tear_down(void **state)
{
    walk_pause(&w);
    return 0;
}

/* An answer with up to three topics. */
static void take(const char *next, const char *a, const char *b, const char *c)
{
    const char *names[] = {a, b, c};
    struct settings_row rows[3];
    struct op op = {.verb = OP_PLACES, .out.places = {.rows = rows}};

    for (unsigned i = 0; i < 3 && names[i]; i++)
        rows[op.out.places.count++] = (struct settings_row){.topic = bytes_of_text(names[i])};
    op.out.places.next = bytes_of_text(next);
    walk_take_page(&w, &op);
}

static void expect(const char *name)
{
    assert_true(walk_next_topic(&w, &topic));
    assert_true(bytes_equal(topic, bytes_of_text(name)));
}

static void expect_no_more(void)
{
    assert_false(walk_next_topic(&w, &topic));
}

static void goes_from_page_to_page(void **state)
{
    assert_int_equal(walk_after(&w).len, 0);
    take("7", "a", "bcd", NULL);
    expect("a");
    expect("bcd");
    expect_no_more();
    assert_true(walk_turn_page(&w));
    assert_true(bytes_equal(walk_after(&w), BYTES("7")));
    expect_no_more();
    take("", "e", NULL, NULL);
    expect("e");
    assert_false(walk_turn_page(&w));
    assert_int_equal(walk_after(&w).len, 0);
}

static void a_topic_comes_once_in_a_walk(void **state)
{
    take("7", "a", "b", "a");
    expect("a");
    expect("b");
    expect_no_more();
    walk_turn_page(&w);
    take("", "b", "c", NULL);
    expect("c");
    expect_no_more();
    walk_turn_page(&w);
    take("", "b", "c", NULL);
    expect("b");
    expect("c");
}

static void names_that_are_no_topics_are_left_out(void **state)
{
    take("", "-a", "", "b");
    expect("b");
    expect_no_more();
}

static void a_page_without_topics_is_turned_as_well(void **state)
{
    take("9", NULL, NULL, NULL);
    expect_no_more();
    assert_true(walk_turn_page(&w));
}

static void goes_on_with_the_page_at_which_it_paused(void **state)
{
    take("7", "a", NULL, NULL);
    walk_turn_page(&w);
    take("8", "b", "c", NULL);
    expect("b");
    walk_pause(&w);
    assert_true(bytes_equal(walk_after(&w), BYTES("7")));
    take("8", "b", "c", NULL);
    expect("b");
    expect("c");
}

/* By the draw of the bits a topic may be left out of a walk, but not of all. */
static void every_topic_of_many_comes_in_some_walk(void **state)
{
    enum { TOPICS = 100000 };
    static bool has_come[TOPICS];
    char name[16];
    unsigned came = 0, first = 0;

    for (unsigned walks = 0; walks < 5; walks++) {
        for (unsigned i = 0; i < TOPICS; i++) {
            snprintf(name, sizeof(name), "%u", i);
            take("", name, NULL, NULL);
            came += walk_next_topic(&w, &topic) && !has_come[i];
            has_come[i] |= w.names_at > 0;
        }
        first = walks ? first : came;
        walk_turn_page(&w);
    }
    assert_true(first > TOPICS * 95 / 100);
    assert_int_equal(came, TOPICS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(goes_from_page_to_page),
        TEST(a_topic_comes_once_in_a_walk),
        TEST(names_that_are_no_topics_are_left_out),
        TEST(a_page_without_topics_is_turned_as_well),
        TEST(goes_on_with_the_page_at_which_it_paused),
        TEST(every_topic_of_many_comes_in_some_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
