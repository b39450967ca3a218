/* A sweep takes the jobs that were there, in chunks, and says how far it came. */
#include "node/queue/sweeps.h"
#include "node/queue/tests/fixtures/nodes_fixture.h"

#define ALL_STATES (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED | 1u << JOB_DEAD)

/* A sweep and what came of it. */
struct broom {
    struct sweep sweep;
    unsigned done;
    enum status status;
    uint64_t count;
    bool has_more;
};

static void on_swept(struct sweep *sweep)
{
    struct broom *broom = CONTAINER_OF(sweep, struct broom, sweep);

    broom->done++;
    broom->status = sweep->status;
    broom->count = sweep->count;
    broom->has_more = sweep->has_more;
}

/* Of topic t; `sweep` until it is done. */
static void begin(struct broom *broom, enum op_verb verb, unsigned states)
{
    broom->sweep.topic = BYTES("t");
    broom->sweep.verb = verb;
    broom->sweep.states = states;
    broom->sweep.on_done = on_swept;
    queue_sweep(f.q, &broom->sweep);
    assert_int_equal(broom->done, 0); /* never from inside the call */
}

static void sweep(struct broom *broom, enum op_verb verb, unsigned states)
{
    begin(broom, verb, states);
    fixture_turn(&f);
    assert_int_equal(broom->done, 1);
}

static void push_many(unsigned count, int64_t delay_ms)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(push(&f, "t", "", delay_ms, 5000), STATUS_OK);
}

static void bury_many(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bury_one(&f, "t", "");
}

/* On a store that takes 30 ms for the first chunk of a purge. */
static void begin_slowly(struct broom *broom)
{
    broom->sweep.limit = 2000;
    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(broom, OP_PURGE, 1u << JOB_READY);
    fixture_advance(&f, 30);
    fixture_unhold(&f);
}

/* ---- sweeps that are done ---- */

static void purges_thousands_in_chunks(void **state)
{
    struct broom broom = {0};

    push_many(3000, 0);
    sweep(&broom, OP_PURGE, 1u << JOB_READY);
    assert_int_equal(broom.status, STATUS_OK);
    assert_int_equal(broom.count, 3000);
    assert_false(broom.has_more);
    assert_int_equal(stats_of(&f, "t").ready, 0);
    assert_true(count(OP_PURGE) >= 6);
}

static void purges_the_states_asked_for_and_no_other(void **state)
{
    struct broom broom = {0};
    struct consumer c = {0};

    bury_many(3);
    push_many(4, 60000);
    push_many(5, 0);
    consume(&f, &c, "t", 2, 0);
    delivered(&f, &c);
    sweep(&broom, OP_PURGE, 1u << JOB_DELAYED | 1u << JOB_RESERVED);
    assert_int_equal(broom.count, 6);
    assert_int_equal(stats_of(&f, "t").delayed, 0);
    assert_int_equal(stats_of(&f, "t").reserved, 0);
    assert_int_equal(stats_of(&f, "t").ready, 3);
    assert_int_equal(stats_of(&f, "t").dead, 3);
    broom.done = 0;
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 6);
}

static void an_empty_topic_is_swept_at_once(void **state)
{
    struct broom broom = {0};

    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.status, STATUS_OK);
    assert_int_equal(broom.count, 0);
    assert_false(broom.has_more);
    assert_int_equal(count(OP_PURGE), 0);
}

static void kicks_all_that_are_dead(void **state)
{
    struct broom broom = {0};

    bury_many(7);
    sweep(&broom, OP_KICK, 0);
    assert_int_equal(broom.count, 7);
    assert_int_equal(stats_of(&f, "t").ready, 7);
    assert_int_equal(stats_of(&f, "t").dead, 0);
}

static void kicks_those_that_wait_for_their_time(void **state)
{
    struct broom broom = {0};

    bury_many(2);
    push_many(700, 60000);
    broom.sweep.limit = 600;
    broom.sweep.tries = 1; /* of the dead, were it about them */
    sweep(&broom, OP_KICK, 1u << JOB_DELAYED);
    assert_int_equal(broom.status, STATUS_OK);
    assert_int_equal(broom.count, 600);
    assert_true(broom.has_more);
    assert_int_equal(stats_of(&f, "t").ready, 600);
    assert_int_equal(stats_of(&f, "t").delayed, 100);
    assert_int_equal(stats_of(&f, "t").dead, 2);
}

static void the_kicked_may_get_a_ttl_and_tries(void **state)
{
    struct broom broom = {.sweep = {.ttl_ms = 60000, .tries = 9}};
    struct call call = {0};

    bury_one(&f, "t", "a");
    bury_one(&f, "t", "b");
    sweep(&broom, OP_KICK, 1u << JOB_DEAD);
    assert_int_equal(broom.count, 2);
    assert_int_equal(submit(&f, &call, OP_GET, "t", "b", 0), STATUS_OK);
    assert_int_equal(call.job.state, JOB_READY);
    assert_int_equal(call.job.rules.max_tries, 9);
    assert_in_range(call.job.rules.expires_ms - memory_store_now(f.ms), 59000, 60001);
}

static void kicks_those_that_died_in_a_time(void **state)
{
    struct broom broom = {0};

    bury_many(2);
    fixture_advance(&f, 1000);
    bury_many(3);
    broom.sweep.since_ms = memory_store_now(f.ms) - 500;
    fixture_advance(&f, 1000);
    bury_many(4);
    broom.sweep.before_ms = memory_store_now(f.ms);
    sweep(&broom, OP_KICK, 0);
    assert_int_equal(broom.count, 3);
    assert_int_equal(stats_of(&f, "t").dead, 6);
}

static void ends_at_its_limit_and_says_that_there_is_more(void **state)
{
    struct broom broom = {.sweep.limit = 400};

    push_many(300, 60000);
    push_many(300, 0);
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 400);
    assert_true(broom.has_more);
    assert_int_equal(stats_of(&f, "t").delayed, 0);
    assert_int_equal(stats_of(&f, "t").ready, 200);
    broom.done = 0;
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 200);
    assert_false(broom.has_more);
}

static void at_its_limit_a_later_state_without_jobs_is_not_more(void **state)
{
    struct broom broom = {.sweep.limit = 3};

    push_many(3, 60000);
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 3);
    assert_false(broom.has_more);
}

static void at_its_limit_a_later_state_with_jobs_is_more(void **state)
{
    struct broom broom = {.sweep.limit = 3};

    bury_many(1);
    push_many(3, 60000);
    sweep(&broom, OP_PURGE, ALL_STATES);
    assert_int_equal(broom.count, 3);
    assert_true(broom.has_more);
}

/* More come than go: it would never end. */
static void without_a_limit_takes_as_many_as_there_were(void **state)
{
    struct broom broom = {0};

    fixture_join(&other, &f);
    fixture_turn(&other);
    push_many(1000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    for (unsigned i = 0; i < 20 && !broom.done; i++) {
        fixture_release(&f, 1);
        for (unsigned j = 0; j < 500; j++)
            push(&other, "t", "", 0, 5000);
    }
    memory_store_unhold(f.ms);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.count, 1000);
    fixture_end(&other);
}

static void one_chunk_is_on_its_way_at_a_time(void **state)
{
    struct broom broom = {.sweep.limit = 2000};

    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    for (unsigned i = 1; !broom.done; i++) {
        assert_int_equal(memory_store_in_flight(f.ms), 1);
        assert_int_equal(count(OP_PURGE), i);
        fixture_release(&f, 1);
    }
    memory_store_unhold(f.ms);
    assert_int_equal(broom.count, 2000);
}

static void rests_for_as_long_as_a_chunk_took(void **state)
{
    struct broom broom = {0};

    begin_slowly(&broom);
    fixture_advance(&f, 29);
    assert_int_equal(count(OP_PURGE), 1);
    fixture_advance(&f, 1);
    assert_true(count(OP_PURGE) > 1);
    assert_int_equal(broom.count, 2000);
}

/* ---- sweeps that end before they are done, or do not begin ---- */

static void one_that_is_cancelled_while_it_rests_ends_with_the_rest(void **state)
{
    struct broom broom = {0};

    begin_slowly(&broom);
    queue_sweep_cancel(&broom.sweep);
    fixture_advance(&f, 30);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    assert_int_equal(count(OP_PURGE), 1);
}

static void a_cancelled_one_ends_with_the_chunk_on_its_way(void **state)
{
    struct broom broom = {0};

    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    fixture_release(&f, 1); /* the count; the first chunk is on its way */
    queue_sweep_cancel(&broom.sweep);
    fixture_turn(&f);
    assert_int_equal(broom.done, 0);
    fixture_unhold(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    assert_int_equal(count(OP_PURGE), 1);
    assert_true(broom.count > 0);
    assert_int_equal(stats_of(&f, "t").ready, 2000 - broom.count);
}

static void one_that_is_cancelled_while_it_counts_what_is_left_says_so(void **state)
{
    struct broom broom = {.sweep.limit = 1};

    push_many(1, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY | 1u << JOB_DEAD);
    fixture_release(&f, 1); /* the chunk; who counts the dead is on his way */
    assert_int_equal(count(OP_STATS), 1);
    queue_sweep_cancel(&broom.sweep);
    fixture_unhold(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    assert_int_equal(broom.count, 1);
}

static void a_lost_answer_is_unknown_and_what_went_before_is_counted(void **state)
{
    struct broom broom = {.sweep.limit = 2000};
    uint64_t second;

    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(&broom, OP_PURGE, 1u << JOB_READY);
    fixture_release(&f, 1);
    fixture_take_down(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_UNKNOWN);
    memory_store_unhold(f.ms);
    fixture_bring_up(&f);
    second = 2000 - (uint64_t)stats_of(&f, "t").ready - broom.count;
    assert_true(broom.count > 0);
    assert_true(second > 0 && second <= SWEEP_CHUNK);
}

static void one_too_many_is_refused(void **state)
{
    static struct broom brooms[SWEEPS_MAX + 1];

    memset(brooms, 0, sizeof(brooms));
    push_many(1, 0);
    memory_store_hold(f.ms);
    for (unsigned i = 0; i <= SWEEPS_MAX; i++)
        begin(&brooms[i], OP_PURGE, 1u << JOB_READY);
    fixture_turn(&f);
    assert_int_equal(brooms[SWEEPS_MAX].done, 1);
    assert_int_equal(brooms[SWEEPS_MAX].status, STATUS_TOO_MANY_SWEEPS);
    fixture_unhold(&f);
    for (unsigned i = 0; i < SWEEPS_MAX; i++)
        assert_int_equal(brooms[i].status, STATUS_OK);
    sweep(&(struct broom){0}, OP_PURGE, ALL_STATES); /* there is room again */
}

static void one_that_was_refused_can_still_be_cancelled(void **state)
{
    struct broom broom = {0};

    begin(&broom, OP_PURGE, 0);
    queue_sweep_cancel(&broom.sweep);
    fixture_turn(&f);
    assert_int_equal(broom.done, 1);
    assert_int_equal(broom.status, STATUS_CANCELLED);
}

static void refuses_what_makes_no_sense(void **state)
{
    static const struct sweep wrong[] = {
        {.topic = BYTES(""), .verb = OP_KICK},
        {.topic = BYTES("t"), .verb = OP_PURGE},
        {.topic = BYTES("t"), .verb = OP_PURGE, .states = 1u << (JOB_DEAD + 1)},
        {.topic = BYTES("t"), .verb = OP_KICK, .since_ms = -1},
        {.topic = BYTES("t"), .verb = OP_KICK, .states = 1u << JOB_READY},
        {.topic = BYTES("t"), .verb = OP_KICK, .ttl_ms = -1},
        {.topic = BYTES("t"), .verb = OP_KICK, .tries = RULES_TRIES_MAX + 1},
        {.topic = BYTES("t"), .verb = OP_KICK, .before_ms = QUEUE_AT_MAX_MS + 1},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct broom broom = {.sweep = wrong[i]};

        broom.sweep.on_done = on_swept;
        queue_sweep(f.q, &broom.sweep);
        fixture_turn(&f);
        assert_int_equal(broom.done, 1);
        assert_true(broom.status == STATUS_BAD_TOPIC || broom.status == STATUS_OUT_OF_RANGE);
    }
}

/* With its first chunk on its way, or so far into the rest behind it. */
static void stop_while_it_sweeps(int64_t held_ms, int64_t rested_ms)
{
    struct fixture late;
    struct broom broom = {.sweep = {.topic = BYTES("t"),
                                    .verb = OP_PURGE,
                                    .states = 1u << JOB_READY,
                                    .limit = 2000,
                                    .on_done = on_swept}};

    fixture_join(&late, &f);
    fixture_turn(&late);
    push_many(2000, 0);
    memory_store_hold(late.ms);
    queue_sweep(late.q, &broom.sweep);
    fixture_advance(&late, held_ms);
    if (rested_ms > 0) {
        memory_store_unhold(late.ms);
        fixture_advance(&late, rested_ms);
    }
    fixture_stop(&late);
    fixture_turn(&late);
    assert_false(late.is_stopped);
    memory_store_unhold(late.ms);
    fixture_advance(&late, held_ms);
    assert_true(late.is_stopped);
    assert_int_equal(broom.status, STATUS_CANCELLED);
    fixture_end(&late);
}

static void the_engine_stops_when_the_chunk_on_its_way_is_done(void **state)
{
    stop_while_it_sweeps(0, 0);
}

static void the_engine_stops_when_the_rest_is_over(void **state)
{
    stop_while_it_sweeps(30, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ONE(purges_thousands_in_chunks),
        WITH_ONE(purges_the_states_asked_for_and_no_other),
        WITH_ONE(an_empty_topic_is_swept_at_once),
        WITH_ONE(kicks_all_that_are_dead),
        WITH_ONE(kicks_those_that_wait_for_their_time),
        WITH_ONE(the_kicked_may_get_a_ttl_and_tries),
        WITH_ONE(kicks_those_that_died_in_a_time),
        WITH_ONE(ends_at_its_limit_and_says_that_there_is_more),
        WITH_ONE(at_its_limit_a_later_state_without_jobs_is_not_more),
        WITH_ONE(at_its_limit_a_later_state_with_jobs_is_more),
        WITH_ONE(without_a_limit_takes_as_many_as_there_were),
        WITH_ONE(one_chunk_is_on_its_way_at_a_time),
        WITH_ONE(rests_for_as_long_as_a_chunk_took),
        WITH_ONE(one_that_is_cancelled_while_it_rests_ends_with_the_rest),
        WITH_ONE(a_cancelled_one_ends_with_the_chunk_on_its_way),
        WITH_ONE(one_that_is_cancelled_while_it_counts_what_is_left_says_so),
        WITH_ONE(a_lost_answer_is_unknown_and_what_went_before_is_counted),
        WITH_ONE(one_too_many_is_refused),
        WITH_ONE(one_that_was_refused_can_still_be_cancelled),
        WITH_ONE(refuses_what_makes_no_sense),
        WITH_ONE(the_engine_stops_when_the_chunk_on_its_way_is_done),
        WITH_ONE(the_engine_stops_when_the_rest_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
