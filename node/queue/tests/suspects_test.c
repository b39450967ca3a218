/* A suspect is sure when it was seen twice, with a rest between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "node/queue/audit.h"

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
