/* A suspect is sure when it was seen twice, with a rest between; a walk meets every topic. */
#include "base/tests/unit.h"
#include "node/queue/audit.h"

#include <stdio.h>

static struct suspects ss;

static int set_up(void **state)
{
    suspects_init(&ss);
    return 0;
}

static int tear_down(void **state)
{
    suspects_clear(&ss);
    return 0;
}

static bool see(const char *topic, const char *id, int64_t now_ms)
{
    return suspects_see(&ss, bytes_of_text(topic), bytes_of_text(id), BYTES("2:7"), now_ms);
}

static void remembers_what_it_saw_and_where(void **state)
{
    struct suspected *s;

    assert_true(see("t", "1", 100));
    assert_int_equal(suspects_wait_ms(&ss, 100), SUSPECTS_REST_MS);
    assert_null(suspects_find_rested(&ss, 99 + SUSPECTS_REST_MS));
    s = suspects_find_rested(&ss, 100 + SUSPECTS_REST_MS);
    assert_non_null(s);
    assert_true(bytes_equal(s->topic, BYTES("t")));
    assert_true(bytes_equal(s->id, BYTES("1")));
    assert_true(bytes_equal(s->page, BYTES("2:7")));
}

static void a_second_look_that_comes_too_soon_does_not_count(void **state)
{
    see("t", "1", 0);
    assert_false(see("t", "1", SUSPECTS_REST_MS - 1));
    assert_null(suspects_find_sure(&ss));
    assert_false(see("t", "1", SUSPECTS_REST_MS));
    assert_non_null(suspects_find_sure(&ss));
    assert_int_equal(suspects_wait_ms(&ss, SUSPECTS_REST_MS), -1);
}

static void topics_and_ids_are_kept_apart(void **state)
{
    assert_true(see("t", "11", 0));
    assert_true(see("t1", "1", 0));
    assert_true(see("t", "", 0)); /* the topic itself */
    assert_false(see("t", "", 0));
}

static void jobs_come_before_their_topic(void **state)
{
    see("t", "", 0);
    see("t", "1", 0);
    see("t", "", SUSPECTS_REST_MS);
    see("t", "1", SUSPECTS_REST_MS);
    assert_int_equal(suspects_find_sure(&ss)->id.len, 1);
    suspects_forget(&ss, suspects_find_sure(&ss));
    assert_int_equal(suspects_find_sure(&ss)->id.len, 0);
}

static void a_faint_one_is_sure_when_it_is_seen_again(void **state)
{
    see("t", "1", 0);
    suspects_doubt(&ss, suspects_find_rested(&ss, SUSPECTS_REST_MS));
    assert_null(suspects_find_rested(&ss, SUSPECTS_REST_MS));
    see("t", "1", 10 * SUSPECTS_REST_MS);
    assert_non_null(suspects_find_sure(&ss));
}

static void fill(void)
{
    char id[16];

    for (unsigned i = 0; i < SUSPECTS_MAX; i++) {
        snprintf(id, sizeof(id), "%u", i);
        assert_true(see("t", id, 0));
    }
}

static void there_is_room_for_so_many(void **state)
{
    fill();
    assert_false(see("t", "more", 0));
    assert_int_equal(HASH_COUNT(ss.by_name), SUSPECTS_MAX);
}

static void a_fresh_one_gets_the_room_of_a_faint_one(void **state)
{
    fill();
    suspects_doubt(&ss, suspects_find_rested(&ss, SUSPECTS_REST_MS));
    assert_true(see("t", "more", SUSPECTS_REST_MS));
    assert_true(list_is_empty(&ss.faint));
    assert_int_equal(HASH_COUNT(ss.by_name), SUSPECTS_MAX);
}

static void an_id_without_end_is_not_remembered(void **state)
{
    static char id[SUSPECT_ID_MAX + 2];

    memset(id, 'x', SUSPECT_ID_MAX + 1);
    assert_false(see("t", id, 0));
    id[SUSPECT_ID_MAX] = '\0';
    assert_true(see("t", id, 0));
}

/* ---- a walk meets every topic once ---- */

static struct walk w;
static struct bytes topic;

static int set_up_walk(void **state)
{
    walk_init(&w);
    return 0;
}

static int tear_down_walk(void **state)
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
        TEST(remembers_what_it_saw_and_where),
        TEST(a_second_look_that_comes_too_soon_does_not_count),
        TEST(topics_and_ids_are_kept_apart),
        TEST(jobs_come_before_their_topic),
        TEST(a_faint_one_is_sure_when_it_is_seen_again),
        TEST(there_is_room_for_so_many),
        TEST(a_fresh_one_gets_the_room_of_a_faint_one),
        TEST(an_id_without_end_is_not_remembered),
        cmocka_unit_test_setup_teardown(goes_from_page_to_page, set_up_walk, tear_down_walk),
        cmocka_unit_test_setup_teardown(a_topic_comes_once_in_a_walk, set_up_walk,
                                        tear_down_walk),
        cmocka_unit_test_setup_teardown(names_that_are_no_topics_are_left_out, set_up_walk,
                                        tear_down_walk),
        cmocka_unit_test_setup_teardown(a_page_without_topics_is_turned_as_well, set_up_walk,
                                        tear_down_walk),
        cmocka_unit_test_setup_teardown(goes_on_with_the_page_at_which_it_paused, set_up_walk,
                                        tear_down_walk),
        cmocka_unit_test_setup_teardown(every_topic_of_many_comes_in_some_walk, set_up_walk,
                                        tear_down_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
