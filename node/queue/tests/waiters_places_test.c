/* Which pops are refused when there are many, and of which clients. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

#define PLACES 8

static struct consumer many[PLACES];

static void limit_places(void)
{
    struct queue_options options = fixture_options();

    options.waiting_max = PLACES;
    queue_reload(f.q, &options);
    memset(many, 0, sizeof(many));
}

static void wait_from(const char *address, struct consumer *c, const char *topics)
{
    c->pop.address = bytes_of_text(address);
    consume(&f, c, topics, 1, 60000);
}

static unsigned sent_home(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < PLACES; i++) {
        if (many[i].done)
            assert_int_equal(many[i].status, STATUS_TOO_MANY_WAITERS);
        count += many[i].done;
    }
    return count;
}

static void take_all_places(const char *address)
{
    limit_places();
    for (unsigned i = 0; i < PLACES; i++)
        wait_from(address, &many[i], "idle");
    assert_int_equal(sent_home(), 0);
}

static void one_that_does_not_wait_needs_no_place(void **state)
{
    take_all_places("x");
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
    begin_hand_out("t", "1", 1000);
    assert_got(&a, "1");
    delivered(&f, &a);
}

static void one_whose_topic_has_a_job_needs_no_place(void **state)
{
    take_all_places("x");
    push(&f, "t", "1", 0, 1000);
    wait_from("x", &a, "empty,t");
    assert_got(&a, "1");
    delivered(&f, &a);
    assert_int_equal(sent_home(), 0);
}

static void what_is_refused_is_waiting(void **state)
{
    take_all_places("x");
    wait_from("x", &a, "t");
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_TOO_MANY_WAITERS);
    assert_int_equal(sent_home(), 0);
}

static void an_address_with_more_than_half_gives_way(void **state)
{
    static struct consumer others[PLACES];

    take_all_places("x");
    memset(others, 0, sizeof(others));
    for (unsigned i = 0; i < PLACES / 2; i++) {
        wait_from("y", &others[i], "t");
        assert_int_equal(others[i].done, 0);
        assert_int_equal(many[i].status, STATUS_TOO_MANY_WAITERS);
        assert_int_equal(sent_home(), i + 1);
    }
    wait_from("y", &others[PLACES / 2], "t");
    assert_int_equal(others[PLACES / 2].status, STATUS_TOO_MANY_WAITERS);
    wait_from("z", &a, "t");
    assert_int_equal(a.status, STATUS_TOO_MANY_WAITERS);
    assert_int_equal(sent_home(), PLACES / 2);
}

static void a_pop_has_a_place_for_each_topic(void **state)
{
    limit_places();
    wait_from("x", &a, "1,2,3,4,5,6");
    wait_from("x", &b, "1,2,3");
    assert_int_equal(b.status, STATUS_TOO_MANY_WAITERS);
    wait_from("x", &b, "1,2");
    assert_int_equal(b.done, 0);
    wait_from("y", &many[0], "1,2,3");
    assert_int_equal(a.status, STATUS_TOO_MANY_WAITERS);
    assert_int_equal(many[0].done, 0);
    assert_int_equal(b.done, 0);
}

/* Giving up some would not make room enough: nobody is sent home in vain. */
static void nobody_gives_way_in_vain(void **state)
{
    limit_places();
    for (unsigned i = 0; i < 5; i++)
        wait_from("x", &many[i], "idle");
    wait_from("z", &a, "1,2,3");
    wait_from("y", &b, "1,2");
    assert_int_equal(b.status, STATUS_TOO_MANY_WAITERS);
    assert_int_equal(sent_home(), 0);
}

static void who_leaves_makes_room(void **state)
{
    take_all_places("x");
    queue_pop_cancel(&many[0].pop);
    fixture_turn(&f);
    wait_from("x", &a, "t");
    assert_int_equal(a.done, 0);
}

/* A job that is on its way for one that gives way is lost to nobody. */
static void a_job_for_one_that_gives_way_goes_to_another(void **state)
{
    take_all_places("x");
    queue_pop_cancel(&many[0].pop);
    fixture_turn(&f);
    many[0].done = 0;
    push(&f, "t", "1", 0, 60000);
    memory_store_hold(f.ms);
    for (unsigned i = 1; i < PLACES; i++)
        queue_pop_cancel(&many[i].pop);
    fixture_turn(&f);
    memset(many, 0, sizeof(many));
    for (unsigned i = 0; i < PLACES; i++)
        wait_from("x", &many[i], "t");
    wait_from("y", &a, "t");
    assert_int_equal(many[0].status, STATUS_TOO_MANY_WAITERS);
    fixture_unhold(&f);
    assert_got(&many[1], "1");
    delivered(&f, &many[1]);
    assert_int_equal(a.done, 0);
    for (unsigned i = 2; i < PLACES; i++)
        assert_int_equal(many[i].done, 0);
}

/* While the store does not answer, those that only ask are bounded, too. */
static void those_who_ask_are_bounded_by_address_too(void **state)
{
    static struct consumer asking[QUEUE_ASKING_MAX / 8 + 1];
    unsigned last = QUEUE_ASKING_MAX / 8;

    memset(asking, 0, sizeof(asking));
    memory_store_hold(f.ms);
    for (unsigned i = 0; i <= last; i++) {
        asking[i].pop.address = BYTES("x");
        consume(&f, &asking[i], "1,2,3,4,5,6,7,8", 1, 0);
    }
    assert_int_equal(asking[0].done, 0);
    assert_int_equal(asking[last].status, STATUS_TOO_MANY_POPS);
    a.pop.address = BYTES("y");
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(asking[0].status, STATUS_TOO_MANY_POPS);
    assert_int_equal(a.done, 0);
    fixture_unhold(&f);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
    assert_int_equal(asking[last - 1].status, STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ONE(one_that_does_not_wait_needs_no_place),
        WITH_ONE(one_whose_topic_has_a_job_needs_no_place),
        WITH_ONE(what_is_refused_is_waiting),
        WITH_ONE(an_address_with_more_than_half_gives_way),
        WITH_ONE(a_pop_has_a_place_for_each_topic),
        WITH_ONE(nobody_gives_way_in_vain),
        WITH_ONE(who_leaves_makes_room),
        WITH_ONE(a_job_for_one_that_gives_way_goes_to_another),
        WITH_ONE(those_who_ask_are_bounded_by_address_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
