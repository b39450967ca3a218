/* Consumers that wait for jobs so big that an answer has room for few. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

/* Two of three have room in one answer. */
static void push_bulky(const char *topic, const char *id)
{
    static const struct queue_options options = {.body_max_bytes = OP_POP_BYTES_MAX,
                                                 .waiting_max = 100};
    static char body[OP_POP_BYTES_MAX / 5 * 2];
    struct call call = {0};

    queue_reload(f.q, &options);
    call.op.in.push.body = bytes_of(body, sizeof(body));
    submit(&f, &call, OP_PUSH, topic, id, 0);
    assert_int_equal(call.status, STATUS_OK);
}

static void one_that_asks_for_many_is_given_what_has_room(void **state)
{
    for (unsigned i = 0; i < 5; i++)
        push_bulky("t", "");
    consume(&f, &a, "t", 64, 0);
    assert_int_equal(a.count, 2);
    consume(&f, &b, "t", 64, 5000);
    assert_int_equal(b.count, 2);
    delivered(&f, &a);
    delivered(&f, &b);
}

/* A pop for several of them brings too few, though there are more: those who do not wait are
 * not sent home for that. */
static void those_who_had_no_room_are_served_next(void **state)
{
    static struct consumer many[16];
    unsigned long before;

    memset(many, 0, sizeof(many));
    for (unsigned i = 0; i < 16; i++)
        push_bulky("t", "");
    before = count(OP_POP);
    memory_store_hold(f.ms);
    for (unsigned i = 0; i < 16; i++)
        consume(&f, &many[i], "t", 1, i % 2 ? 5000 : 0);
    fixture_unhold(&f);
    assert_in_range(count(OP_POP) - before, 8, 16);
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(many[i].status, STATUS_OK);
        assert_true(i == 0 || many[i].stamps[0] > many[i - 1].stamps[0]);
        delivered(&f, &many[i]);
    }
}

/* `b` takes the room of the answer that is made for both; there is one job more. */
static void let_the_time_of_a_end_while_it_is_popped_for(void)
{
    static struct consumer first;

    first = (struct consumer){0};
    for (unsigned i = 0; i < 4; i++)
        push_bulky("t", (char[]){(char)('1' + i), '\0'});
    memory_store_hold(f.ms);
    consume(&f, &first, "t", 1, 5000);
    consume(&f, &b, "t", 2, 5000);
    consume(&f, &a, "t", 1, 1000);
    memory_store_release(f.ms, 1);
    fixture_advance(&f, 1000);
    assert_got(&first, "1");
    assert_int_equal(a.done, 0);
    delivered(&f, &first);
}

static void one_whose_time_ends_is_not_sent_home_from_jobs_that_had_no_room(void **state)
{
    let_the_time_of_a_end_while_it_is_popped_for();
    fixture_unhold(&f);
    assert_got(&b, "2");
    assert_got(&a, "4");
    delivered(&f, &a);
    delivered(&f, &b);
}

static void it_is_sent_home_a_moment_later_if_they_are_gone(void **state)
{
    struct call cancel = {0};

    let_the_time_of_a_end_while_it_is_popped_for();
    submit(&f, &cancel, OP_CANCEL, "t", "4", 0);
    fixture_unhold(&f);
    assert_int_equal(cancel.status, STATUS_OK);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 100);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
    delivered(&f, &b);
}

/* The store says "ready" while an answer "empty", older than that, is on its way. */
static void hears_news_that_overtake_an_answer(void **state)
{
    struct call call = {0};

    memory_store_hold(f.ms);
    consume(&f, &a, "t", 1, 5000); /* finds nothing; the answer is held */
    call.op.in.push.body = BYTES("x");
    submit(&f, &call, OP_PUSH, "t", "1", 0); /* the news come at once */
    assert_false(call.is_done);
    fixture_unhold(&f);
    assert_true(call.is_done);
    assert_got(&a, "1");
    delivered(&f, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ONE(one_that_asks_for_many_is_given_what_has_room),
        WITH_ONE(those_who_had_no_room_are_served_next),
        WITH_ONE(one_whose_time_ends_is_not_sent_home_from_jobs_that_had_no_room),
        WITH_ONE(it_is_sent_home_a_moment_later_if_they_are_gone),
        WITH_ONE(hears_news_that_overtake_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
