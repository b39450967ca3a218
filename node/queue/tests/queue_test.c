/* The front door: requests let in, requests refused, and every answer once. */
#include "node/queue/queue.h"
#include "node/queue/tests/fixtures/nodes_fixture.h"

#include <string.h>

static void topics_are_named_like_tubes(void **state)
{
    char longest[201];

    memset(longest, 'x', sizeof(longest));
    assert_true(topic_name_is_valid(BYTES("a")));
    assert_true(topic_name_is_valid(BYTES("Order-1_x.y:z/+;$()")));
    assert_true(topic_name_is_valid(bytes_of(longest, 200)));
    assert_false(topic_name_is_valid(bytes_of(longest, 201)));
    assert_false(topic_name_is_valid(BYTES("")));
    assert_false(topic_name_is_valid(BYTES("-a")));
    assert_false(topic_name_is_valid(BYTES("a b")));
    assert_false(topic_name_is_valid(BYTES("a\0b")));
    assert_false(topic_name_is_valid(BYTES("a{1}")));
    assert_false(topic_name_is_valid(BYTES("\xc3\xa9")));
    assert_false(topic_name_is_valid(BYTES(".")));
    assert_false(topic_name_is_valid(BYTES("..")));
    assert_true(topic_name_is_valid(BYTES("...")));
    assert_true(topic_name_is_valid(BYTES(".a")));
}

static void ids_are_printable(void **state)
{
    assert_true(job_id_is_valid(BYTES("{\"any\"}-~!")));
    assert_false(job_id_is_valid(BYTES("a b")));
    assert_false(job_id_is_valid(BYTES("a\n")));
    assert_false(job_id_is_valid(BYTES("\x7f")));
    assert_false(job_id_is_valid(BYTES(".")));
    assert_false(job_id_is_valid(BYTES("..")));
    assert_true(job_id_is_valid(BYTES("...")));
    assert_false(job_id_is_valid(BYTES("")));
}

static void refuses_bad_names(void **state)
{
    assert_int_equal(push(&f, "-t", "1", 0, 0), STATUS_BAD_TOPIC);
    assert_int_equal(push(&f, "t", "a b", 0, 0), STATUS_BAD_ID);
}

static void refuses_a_body_above_the_limit(void **state)
{
    static char body[1025];
    struct call call = {0};

    call.op.in.push.body = bytes_of(body, 1025);
    submit(&f, &call, OP_PUSH, "t", "1", 0);
    assert_int_equal(call.status, STATUS_TOO_LARGE);
    call.op.in.push.body = bytes_of(body, 1024);
    submit(&f, &call, OP_PUSH, "t", "1", 0);
    assert_int_equal(call.status, STATUS_OK);
}

/* A question for a page of topics, and what was answered. */
struct page {
    struct op op;
    enum status status;
    unsigned count;
};

static void on_page(struct op *op)
{
    struct page *page = CONTAINER_OF(op, struct page, op);

    page->status = op->status;
    page->count = op->status == STATUS_OK ? op->out.topics.count : 0;
}

static struct page ask_for_page(unsigned bucket, unsigned limit, struct bytes after)
{
    struct page page = {
        .op = {.verb = OP_TOPICS, .on_done = on_page, .bucket = bucket},
        .status = STATUS_COUNT,
    };

    page.op.in.topics.limit = limit;
    page.op.in.topics.after = after;
    queue_submit(f.q, &page.op);
    fixture_turn(&f);
    return page;
}

static void topics_are_asked_bucket_after_bucket(void **state)
{
    unsigned found = 0;

    push(&f, "t", "1", 0, 0);
    assert_int_equal(queue_buckets(f.q), 4);
    for (unsigned bucket = 0; bucket < queue_buckets(f.q); bucket++) {
        struct page page = ask_for_page(bucket, OP_TOPICS_MAX, BYTES(""));

        assert_int_equal(page.status, STATUS_OK);
        found += page.count;
    }
    assert_int_equal(found, 1);
}

static void refuses_a_page_of_topics_that_cannot_be(void **state)
{
    assert_int_equal(ask_for_page(4, 1, BYTES("")).status, STATUS_OUT_OF_RANGE);
    assert_int_equal(ask_for_page(0, 0, BYTES("")).status, STATUS_OUT_OF_RANGE);
    assert_int_equal(ask_for_page(0, OP_TOPICS_MAX + 1, BYTES("")).status, STATUS_OUT_OF_RANGE);
    assert_int_equal(ask_for_page(0, 1, BYTES("no topic")).status, STATUS_BAD_TOPIC);
}

static unsigned many_done;

static void on_one_of_many(struct op *op)
{
    many_done += op->status == STATUS_OK;
}

static void takes_a_thousand_pushes_at_once(void **state)
{
    static struct op many[1000];

    for (unsigned i = 0; i < 1000; i++) {
        many[i] = (struct op){.verb = OP_PUSH, .on_done = on_one_of_many, .topic = BYTES("t")};
        queue_submit(f.q, &many[i]);
    }
    assert_int_equal(many_done, 0);
    assert_int_equal(queue_stats(f.q)->in_flight, 1000);
    fixture_turn(&f);
    assert_int_equal(many_done, 1000);
    assert_int_equal(stats_of(&f, "t").ready, 1000);
}

static void counts_what_was_done_refused_and_unknown(void **state)
{
    const struct queue_stats *stats = queue_stats(f.q);

    push(&f, "t", "1", 0, 0);
    push(&f, "t", "1", 0, 0);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    push(&f, "t", "2", 0, 0);
    assert_int_equal(stats->done[OP_PUSH], 1);
    assert_int_equal(stats->refused[OP_PUSH], 1);
    assert_int_equal(stats->unknown[OP_PUSH], 1);
    assert_int_equal(stats->ended[OP_PUSH][STATUS_OK], 1);
    assert_int_equal(stats->ended[OP_PUSH][STATUS_DUPLICATE], 1);
    assert_int_equal(stats->ended[OP_PUSH][STATUS_UNKNOWN], 1);
}

static void a_question_without_an_answer_changed_nothing(void **state)
{
    struct call get = {0}, stats = {0};

    push(&f, "t", "1", 0, 0);
    memory_store_fail(f.ms, 3, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_int_equal(submit(&f, &get, OP_GET, "t", "1", 0), STATUS_UNAVAILABLE);
    assert_int_equal(submit(&f, &stats, OP_STATS, "t", "", 0), STATUS_UNAVAILABLE);
    assert_int_equal(ask_for_page(0, 1, BYTES("")).status, STATUS_UNAVAILABLE);
    assert_int_equal(queue_stats(f.q)->ended[OP_GET][STATUS_UNAVAILABLE], 1);
    assert_int_equal(queue_stats(f.q)->unknown[OP_GET], 0);
}

static void a_stopping_queue_refuses_and_finishes(void **state)
{
    struct fixture own;
    struct call in_flight = {0}, late = {0};

    fixture_start(&own, 2);
    memory_store_hold(own.ms);
    submit(&own, &in_flight, OP_PUSH, "t", "1", 0);
    fixture_stop(&own);
    submit(&own, &late, OP_PUSH, "t", "2", 0);
    assert_int_equal(late.status, STATUS_SHUTTING_DOWN);
    assert_false(own.is_stopped);
    fixture_unhold(&own);
    assert_int_equal(in_flight.status, STATUS_OK);
    assert_true(own.is_stopped);
    fixture_end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_are_named_like_tubes),
        cmocka_unit_test(ids_are_printable),
        WITH_ONE(refuses_bad_names),
        WITH_ONE(refuses_a_body_above_the_limit),
        WITH_ONE(topics_are_asked_bucket_after_bucket),
        WITH_ONE(refuses_a_page_of_topics_that_cannot_be),
        WITH_ONE(takes_a_thousand_pushes_at_once),
        WITH_ONE(counts_what_was_done_refused_and_unknown),
        WITH_ONE(a_question_without_an_answer_changed_nothing),
        cmocka_unit_test(a_stopping_queue_refuses_and_finishes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
