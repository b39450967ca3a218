/* The numbers of a census, and its limits where there are too many topics. */
#include "base/crc16.h"
#include "node/queue/tests/fixtures/census_fixture.h"

#include <stdio.h>

static int set_up_wide(void **state)
{
    fixture_start(&f, 20);
    fixture_turn(&f);
    return 0;
}

/* ---- topics ---- */

static void set_topics_max(unsigned topics)
{
    struct queue_options options = {.waiting_max = 10, .body_max_bytes = 16};

    options.census_topics = topics;
    queue_reload(f.q, &options);
}

/* So many with a job, wherever they lie. */
static void push_topics(unsigned count)
{
    char topic[16];

    for (unsigned i = 0; i < count; i++) {
        snprintf(topic, sizeof(topic), "topic%u", i);
        push(&f, topic, "1", 0, 0);
    }
}

/* The next name that begins so, and lies in this bucket. `i` counts the names tried. */
static const char *name_in(unsigned bucket, const char *prefix, unsigned *i)
{
    static char name[16];

    do
        snprintf(name, sizeof(name), "%s%u", prefix, (*i)++);
    while (crc16(bytes_of_text(name)) % memory_store_port(f.ms)->buckets != bucket);
    return name;
}

static void fill_bucket(unsigned bucket, unsigned topics)
{
    for (unsigned i = 0; topics > 0; topics--)
        push(&f, name_in(bucket, "topic", &i), "1", 0, 0);
}

/* Names without a job. The next scan takes them away, but nobody scans here. */
static void litter_bucket(unsigned bucket, const char *prefix, unsigned topics)
{
    for (unsigned i = 0; topics > 0; topics--) {
        const char *topic = name_in(bucket, prefix, &i);
        struct consumer c = {0};

        push(&f, topic, "1", 0, 0);
        consume(&f, &c, topic, 1, 0);
        delivered(&f, &c);
        fixture_advance(&f, 10);
    }
}

/* What a census looks at that may look at `max`. */
static void assert_looks_at(unsigned max, unsigned topics, bool is_whole)
{
    struct asked a = {0};

    fixture_advance(&f, FRESH_MS + 1);
    set_topics_max(max);
    ask_and_turn(&a);
    assert_int_equal(a.status, STATUS_OK);
    assert_int_equal(a.census.looked_at, topics);
    assert_int_equal(a.census.is_whole, is_whole);
}

/* ---- what it says ---- */

static void nothing_is_counted_as_nothing(void **state)
{
    struct asked a = {0};

    ask_and_turn(&a);
    assert_int_equal(a.status, STATUS_OK);
    assert_int_equal(a.census.topics, 0);
    assert_int_equal(a.census.top_count, 0);
    assert_int_equal(a.census.total.ready, 0);
    assert_int_equal(a.census.total.oldest_ready_ms, -1);
    assert_int_equal(a.census.total.next_due_ms, -1);
    assert_true(a.census.is_whole);
}

static void all_buckets_are_summed_up(void **state)
{
    struct asked a = {0};
    char topic[16];

    for (unsigned i = 0; i < 600; i++) { /* more than a page in each bucket */
        snprintf(topic, sizeof(topic), "topic%u", i);
        push(&f, topic, "1", 0, 0);
        if (i < 40)
            push(&f, topic, "2", 1000 + i, 0);
    }
    fixture_advance(&f, 300);
    ask_and_turn(&a);
    assert_int_equal(a.status, STATUS_OK);
    assert_int_equal(a.census.topics, 600);
    assert_int_equal(a.census.looked_at, 600);
    assert_int_equal(a.census.total.ready, 600);
    assert_int_equal(a.census.total.delayed, 40);
    assert_int_equal(a.census.total.oldest_ready_ms, 300);
    assert_int_equal(a.census.total.next_due_ms, 700);
    assert_int_equal(a.census.top_count, 600);
    assert_true(a.census.is_whole);
}

static void the_largest_topic_comes_first(void **state)
{
    struct asked a = {0};

    push(&f, "small", "1", 0, 0);
    for (const char *id = "123"; *id; id++)
        push(&f, "large", (char[]){*id, '\0'}, 1000, 0);
    push(&f, "middle", "1", 0, 0);
    push(&f, "middle", "2", 0, 0);
    ask_and_turn(&a);
    assert_string_equal(a.first, "large");
    assert_int_equal(a.first_delayed, 3);
    assert_int_equal(a.census.top_count, 3);
}

/* More topics than are kept: those with two jobs are, wherever they come. */
static void the_largest_are_kept_and_all_are_counted(void **state)
{
    unsigned topics = 3 * QUEUE_CENSUS_TOP_MAX;
    struct asked a = {0};
    char topic[16];

    for (unsigned i = 0; i < topics; i++) {
        snprintf(topic, sizeof(topic), "t%u", i);
        push(&f, topic, "1", 0, 0);
        if (i % 30 == 7)
            push(&f, topic, "2", 0, 0);
    }
    ask_and_turn(&a);
    assert_int_equal(a.census.topics, topics);
    assert_int_equal(a.census.total.ready, topics + topics / 30);
    assert_int_equal(a.census.top_count, QUEUE_CENSUS_TOP_MAX);
}

/* Each bucket gets its share, and what one does not need the others do. */
static void where_there_are_too_many_each_bucket_is_looked_into(void **state)
{
    struct asked a = {0};

    push_topics(400);
    set_topics_max(60);
    ask_and_turn(&a);
    assert_int_equal(a.census.topics, 400);
    assert_int_equal(a.census.looked_at, 60);
    assert_int_equal(a.census.total.ready, 60);
    assert_false(a.census.is_whole);
    assert_int_equal(pages(), 4); /* 15 of each */
    assert_looks_at(1000, 400, true);
}

static void one_page_at_a_time_and_each_bucket_once(void **state)
{
    struct asked a = {0};

    push_topics(300);
    memory_store_hold(f.ms);
    ask(&a, 1000);
    for (unsigned i = 1; i <= 20; i++) {
        assert_int_equal(a.done, 0);
        assert_int_equal(memory_store_in_flight(f.ms), 1);
        assert_int_equal(pages(), i);
        fixture_release(&f, 1);
    }
    assert_int_equal(a.status, STATUS_OK);
    assert_int_equal(a.census.topics, 300);
    assert_int_equal(a.census.looked_at, 300);
    assert_true(a.census.is_whole);
}

static void what_empty_buckets_leave_later_ones_may_look_at(void **state)
{
    fill_bucket(19, 30);
    assert_looks_at(40, 30, true); /* its own share are 2 */
}

static void buckets_out_of_reach_have_no_share(void **state)
{
    for (unsigned i = 0; i < 19; i++)
        memory_store_take_away(f.ms, i);
    fill_bucket(19, 30);
    assert_looks_at(40, 30, false);
    assert_int_equal(pages(), 1);
}

static void each_bucket_is_looked_into_however_few_topics_are_wanted(void **state)
{
    push_topics(300);
    assert_looks_at(1, 20, false);
    assert_int_equal(pages(), 20);
}

/* The first buckets have the most; only those behind them show that there is enough for all. */
static void buckets_that_were_cut_off_get_what_others_left(void **state)
{
    fill_bucket(0, 40);
    fill_bucket(1, 15);
    fill_bucket(19, 5);
    assert_looks_at(60, 60, true);
}

static void the_last_topic_that_may_be_looked_at_may_be_the_last_one(void **state)
{
    fill_bucket(0, 10);
    assert_looks_at(10, 10, true);
    assert_looks_at(9, 9, false);
}

static void topics_without_a_job_do_not_count(void **state)
{
    litter_bucket(0, "before", 15);
    fill_bucket(0, 8);
    assert_looks_at(8, 8, true);
}

static void topics_without_a_job_are_not_looked_at_without_end(void **state)
{
    litter_bucket(0, "before", 100);
    fill_bucket(0, 1);
    assert_looks_at(4, 0, false);
    assert_in_range(pages(), 4, 16);
}

static void topics_without_a_job_do_not_make_for_small_pages(void **state)
{
    fill_bucket(0, 4);
    litter_bucket(0, "void", 16);
    assert_looks_at(20, 4, true); /* but for one all that its share allows */
    assert_int_equal(pages(), 4);
}

/* However long it might have been held. */
static void a_topic_is_gone_seconds_after_its_last_job(void **state)
{
    struct asked a = {0}, b = {0};
    struct consumer c = {0};
    struct call ack = {0};

    queue_activate(f.q);
    push(&f, "t", "1", 0, INT64_C(7) * 86400000);
    consume(&f, &c, "t", 1, 0);
    delivered(&f, &c);
    fixture_advance(&f, 3600000);
    ask_and_turn(&a);
    assert_int_equal(a.census.topics, 1);
    assert_int_equal(submit(&f, &ack, OP_ACK, "t", "1", c.stamps[0]), STATUS_OK);
    fixture_advance(&f, FRESH_MS + 1);
    ask_and_turn(&b);
    assert_int_equal(b.census.topics, 0);
}

int main(void)
{
#define WIDE(name) cmocka_unit_test_setup_teardown(name, set_up_wide, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_counted_as_nothing),
        TEST(all_buckets_are_summed_up),
        TEST(the_largest_topic_comes_first),
        TEST(the_largest_are_kept_and_all_are_counted),
        TEST(where_there_are_too_many_each_bucket_is_looked_into),
        WIDE(one_page_at_a_time_and_each_bucket_once),
        WIDE(what_empty_buckets_leave_later_ones_may_look_at),
        WIDE(buckets_out_of_reach_have_no_share),
        WIDE(each_bucket_is_looked_into_however_few_topics_are_wanted),
        WIDE(buckets_that_were_cut_off_get_what_others_left),
        TEST(the_last_topic_that_may_be_looked_at_may_be_the_last_one),
        TEST(topics_without_a_job_do_not_count),
        TEST(topics_without_a_job_are_not_looked_at_without_end),
        TEST(topics_without_a_job_do_not_make_for_small_pages),
        TEST(a_topic_is_gone_seconds_after_its_last_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
