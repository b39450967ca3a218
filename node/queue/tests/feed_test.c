/* Followed deliveries: which are seen, in what order, and which are missed; and followers that
 * leave, are refused, or are cancelled. */
#include "node/queue/feed.h"
#include "node/queue/tests/fixtures/nodes_fixture.h"

#include <stdio.h>

#define KEEP_MS 60000

/* A follow and what it was shown. */
struct follower {
    struct follow follow;
    unsigned done;
    unsigned count;
    int64_t seqs[16];
    char ids[16][16];
    struct feed_item last;
    char topic[32], client[80];
    struct follow *cancels; /* another one, when it is called back */
};

static void on_done(struct follow *follow)
{
    struct follower *w = CONTAINER_OF(follow, struct follower, follow);

    w->done++;
    w->count = follow->count;
    for (unsigned i = 0; i < follow->count && i < 16; i++) {
        const struct feed_item *h = &follow->items[i];

        w->seqs[i] = h->seq;
        snprintf(w->ids[i], sizeof(w->ids[i]), "%.*s", BYTES_ARG(h->id));
        snprintf(w->topic, sizeof(w->topic), "%.*s", BYTES_ARG(h->topic));
        snprintf(w->client, sizeof(w->client), "%.*s", BYTES_ARG(h->client));
        w->last = *h;
    }
    if (w->cancels)
        queue_follow_cancel(w->cancels);
}

static void follow(struct follower *w, int64_t wait_ms)
{
    w->done = w->count = 0;
    w->follow.max = w->follow.max ? w->follow.max : 16;
    w->follow.wait_ms = wait_ms;
    w->follow.on_done = on_done;
    queue_follow(f.q, &w->follow);
    assert_int_equal(w->done, 0);
    fixture_turn(&f);
}

/* From where the last answer ended. */
static void follow_on(struct follower *w, int64_t wait_ms)
{
    w->follow.has_after = true;
    w->follow.after = w->follow.next;
    follow(w, wait_ms);
}

/* Pushed, handed to `a` at once, and told. */
static void hand_over(const char *topic, const char *id)
{
    hand_out(topic, id, 60000);
    fixture_turn(&f);
}

/* ---- what is seen ---- */

static void a_handover_is_told_with_all_that_is_known(void **state)
{
    struct follower w = {0};
    int64_t sent_ms;

    a.pop.client = BYTES("http 127.0.0.1:1");
    follow(&w, 1000);
    consume(&f, &a, "t", 1, 1000);
    push(&f, "t", "1", 100, 60000);
    queue_deactivate(f.q);
    fixture_advance(&f, 107);
    queue_activate(f.q);
    fixture_turn(&f);
    sent_ms = memory_store_now(f.ms);
    fixture_advance(&f, 40);
    assert_int_equal(w.done, 0); /* sent, but not known to have come */
    delivered(&f, &a);
    fixture_turn(&f);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.follow.status, STATUS_OK);
    assert_int_equal(w.count, 1);
    assert_string_equal(w.ids[0], "1");
    assert_string_equal(w.topic, "t");
    assert_string_equal(w.client, "http 127.0.0.1:1");
    assert_int_equal(w.last.late_ms, 7);
    assert_int_equal(w.last.tries, 0);
    assert_int_equal(w.last.at_ms, sent_ms);
    assert_int_equal(w.follow.next, w.last.seq);
    assert_int_equal(w.follow.missed, 0);
}

static void a_consumer_that_came_later_was_not_waiting(void **state)
{
    struct follower w = {0};

    follow(&w, 1000);
    hand_over("t", "1");
    assert_int_equal(w.last.late_ms, 0); /* ready in the very millisecond */
    push(&f, "t", "2", 0, 60000);
    fixture_advance(&f, 50);
    follow_on(&w, 1000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_turn(&f);
    assert_int_equal(w.last.late_ms, -1);
}

static void what_was_returned_is_not_told(void **state)
{
    struct follower w = {0};

    follow(&w, 1000);
    begin_hand_out("t", "1", 60000);
    returned(&f, &a);
    assert_int_equal(w.done, 0);
    fixture_advance(&f, 1000);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.follow.status, STATUS_OK);
    assert_int_equal(w.count, 0);
}

static void one_who_goes_on_misses_nothing_and_sees_nothing_twice(void **state)
{
    struct follower w = {0};

    follow(&w, 0);
    for (const char *id = "12345"; *id; id++)
        hand_over("t", (char[]){*id, '\0'});
    w.follow.max = 2;
    follow_on(&w, 1000);
    assert_int_equal(w.count, 2);
    assert_string_equal(w.ids[0], "1");
    follow_on(&w, 1000);
    assert_string_equal(w.ids[1], "4");
    assert_int_equal(w.seqs[1], w.seqs[0] + 1);
    follow_on(&w, 1000);
    assert_int_equal(w.count, 1);
    assert_string_equal(w.ids[0], "5");
    follow_on(&w, 1000);
    assert_int_equal(w.done, 0);
    hand_over("t", "6");
    assert_string_equal(w.ids[0], "6");
    assert_int_equal(w.follow.missed, 0);
}

static void only_the_topic_that_was_asked_for_is_told(void **state)
{
    struct follower w = {.follow.topic = BYTES("wanted")};

    follow(&w, 1000);
    hand_over("other", "1");
    assert_int_equal(w.done, 0);
    hand_over("wanted", "2");
    assert_int_equal(w.count, 1);
    assert_string_equal(w.ids[0], "2");
    hand_over("other", "3");
    follow_on(&w, 100);
    fixture_advance(&f, 100);
    assert_int_equal(w.count, 0);
    assert_true(w.follow.next > w.seqs[0]); /* it need not be looked at again */
    assert_int_equal(w.follow.missed, 0);
}

static bool begins_with_w(const struct follow *follow, struct bytes topic)
{
    return topic.at[0] == 'w';
}

static void only_topics_that_the_follower_may_see_are_told(void **state)
{
    struct follower w = {.follow.is_for = begins_with_w};

    follow(&w, 1000);
    hand_over("other", "1");
    assert_int_equal(w.done, 0);
    hand_over("wanted", "2");
    assert_int_equal(w.count, 1);
    assert_string_equal(w.ids[0], "2");
}

static void all_who_follow_see_the_same(void **state)
{
    struct follower v = {0}, w = {0};

    follow(&v, 1000);
    follow(&w, 1000);
    assert_int_equal(queue_stats(f.q)->following, 2);
    hand_over("t", "1");
    assert_int_equal(v.seqs[0], w.seqs[0]);
    assert_int_equal(v.done + w.done, 2);
    assert_int_equal(queue_stats(f.q)->following, 0);
}

static void a_job_that_comes_again_says_how_often_it_came_before(void **state)
{
    struct follower w = {0};

    follow(&w, 1000);
    hand_over("t", "1");
    fixture_advance(&f, 61000); /* and it is ready again */
    follow_on(&w, 1000);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_turn(&f);
    assert_int_equal(w.last.tries, 1);
    assert_int_equal(w.last.late_ms, -1);
}

static void a_long_name_of_a_client_is_cut_off(void **state)
{
    static char name[200];
    struct follower w = {0};

    memset(name, 'x', sizeof(name));
    a.pop.client = bytes_of(name, sizeof(name));
    follow(&w, 1000);
    hand_over("t", "1");
    assert_int_equal(strlen(w.client), QUEUE_CLIENT_MAX_BYTES);
}

/* ---- what is missed ---- */

static void what_the_ring_has_lost_is_counted(void **state)
{
    struct follower w = {0};
    char id[16];

    follow(&w, 0);
    for (unsigned i = 0; i < FEED_MAX + 3; i++) {
        snprintf(id, sizeof(id), "%u", i);
        hand_over("t", id);
    }
    follow_on(&w, 1000);
    assert_int_equal(w.count, 16);
    assert_int_equal(w.follow.missed, 3);
    assert_string_equal(w.ids[0], "3");
    follow_on(&w, 1000);
    assert_int_equal(w.follow.missed, 0);
    assert_string_equal(w.ids[0], "19");
}

static void nothing_is_remembered_for_nobody(void **state)
{
    struct follower w = {0};

    follow(&w, 0);
    hand_over("t", "1");
    fixture_advance(&f, KEEP_MS - 1);
    hand_over("t", "2");
    follow_on(&w, 0);
    assert_int_equal(w.count, 2);
    fixture_advance(&f, KEEP_MS);
    hand_over("t", "3");
    follow_on(&w, 0);
    assert_int_equal(w.count, 0);
    assert_int_equal(w.follow.missed, 1);
    hand_over("t", "4");
    follow_on(&w, 0);
    assert_int_equal(w.count, 1);
    assert_int_equal(w.follow.missed, 0);
}

static void whoever_comes_in_time_finds_all_remembered(void **state)
{
    struct follower w = {0};

    follow(&w, 0);
    hand_over("t", "1");
    fixture_advance(&f, KEEP_MS - 1000);
    w.follow.topic = BYTES("other");
    follow_on(&w, KEEP_MS);
    fixture_advance(&f, 2000);
    hand_over("other", "2");
    assert_int_equal(w.done, 1);
    assert_int_equal(w.follow.missed, 0);
    w.follow.topic = BYTES("");
    w.follow.after = w.seqs[0] - 2;
    follow(&w, 0);
    assert_string_equal(w.ids[0], "1");
}

static void numbers_of_another_life_are_taken_for_the_beginning(void **state)
{
    struct follower w = {.follow = {.has_after = true, .after = 5}};

    hand_over("t", "1");
    follow(&w, 0);
    assert_int_equal(w.count, 0);
    assert_int_equal(w.follow.missed, 1); /* of this life: nobody was watching */
    hand_over("t", "2");
    w.follow.after = INT64_MAX; /* and those to come for the end */
    follow(&w, 1000);
    assert_int_equal(w.done, 0);
    hand_over("t", "3");
    assert_string_equal(w.ids[0], "3");
}

static void numbers_fit_into_a_double(void **state)
{
    struct follower w = {0};

    follow(&w, 0);
    assert_true(w.follow.next > INT64_C(1000000000000000));
    assert_true(w.follow.next < INT64_C(1) << 53);
}

/* ---- followers leave, are refused, and are cancelled ---- */

static void one_who_gives_up_is_called_back_once(void **state)
{
    struct follower w = {0};

    follow(&w, 1000);
    queue_follow_cancel(&w.follow);
    assert_int_equal(w.done, 0);
    fixture_turn(&f);
    assert_int_equal(w.follow.status, STATUS_CANCELLED);
    hand_over("t", "1");
    fixture_advance(&f, 1000);
    assert_int_equal(w.done, 1);
}

static void one_may_send_another_away_who_is_about_to_be_told(void **state)
{
    struct follower v = {0}, w = {0};

    follow(&v, 1000);
    follow(&w, 1000);
    v.cancels = &w.follow;
    hand_over("t", "1");
    assert_int_equal(v.follow.status, STATUS_OK);
    assert_int_equal(w.follow.status, STATUS_CANCELLED);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.count, 0);
}

static void refuses_what_makes_no_sense(void **state)
{
    struct follower w = {.follow.max = QUEUE_FOLLOW_MAX + 1};

    follow(&w, 1000);
    assert_int_equal(w.follow.status, STATUS_OUT_OF_RANGE);
    w.follow.max = 1;
    follow(&w, -1);
    assert_int_equal(w.follow.status, STATUS_OUT_OF_RANGE);
    w.follow.topic = BYTES("not a topic");
    follow(&w, 1000);
    assert_int_equal(w.follow.status, STATUS_BAD_TOPIC);
    assert_int_equal(w.count, 0);
}

static void a_hundred_may_follow_and_no_more(void **state)
{
    static struct follower many[QUEUE_FOLLOWERS_MAX + 1];

    for (unsigned i = 0; i <= QUEUE_FOLLOWERS_MAX; i++)
        follow(&many[i], 1000);
    assert_int_equal(many[QUEUE_FOLLOWERS_MAX].done, 1);
    assert_int_equal(many[QUEUE_FOLLOWERS_MAX].follow.status, STATUS_TOO_MANY_FOLLOWERS);
    assert_int_equal(many[0].done, 0);
    fixture_advance(&f, 1000);
    assert_int_equal(many[0].done, 1);
}

static void stopping_sends_all_home(void **state)
{
    struct follower w = {0}, late = {0};

    follow(&w, 1000);
    fixture_stop(&f);
    follow(&late, 1000);
    assert_int_equal(w.follow.status, STATUS_CANCELLED);
    assert_int_equal(late.follow.status, STATUS_SHUTTING_DOWN);
    assert_true(f.is_stopped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ACTIVE(a_handover_is_told_with_all_that_is_known),
        WITH_ACTIVE(a_consumer_that_came_later_was_not_waiting),
        WITH_ACTIVE(what_was_returned_is_not_told),
        WITH_ACTIVE(one_who_goes_on_misses_nothing_and_sees_nothing_twice),
        WITH_ACTIVE(only_the_topic_that_was_asked_for_is_told),
        WITH_ACTIVE(only_topics_that_the_follower_may_see_are_told),
        WITH_ACTIVE(all_who_follow_see_the_same),
        WITH_ACTIVE(a_job_that_comes_again_says_how_often_it_came_before),
        WITH_ACTIVE(a_long_name_of_a_client_is_cut_off),
        WITH_ACTIVE(what_the_ring_has_lost_is_counted),
        WITH_ACTIVE(nothing_is_remembered_for_nobody),
        WITH_ACTIVE(whoever_comes_in_time_finds_all_remembered),
        WITH_ACTIVE(numbers_of_another_life_are_taken_for_the_beginning),
        WITH_ACTIVE(numbers_fit_into_a_double),
        WITH_ACTIVE(one_who_gives_up_is_called_back_once),
        WITH_ACTIVE(one_may_send_another_away_who_is_about_to_be_told),
        WITH_ACTIVE(refuses_what_makes_no_sense),
        WITH_ACTIVE(a_hundred_may_follow_and_no_more),
        WITH_ACTIVE(stopping_sends_all_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
