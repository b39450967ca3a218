/* A job's holder: the store knows the name, and a holder hears that its job is gone. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

#define ALL_STATES (1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_RESERVED | 1u << JOB_DEAD)

static int set_up(void **state)
{
    (void)set_up_active(state);
    a.pop.client = BYTES("http 10.0.0.1:5");
    return 0;
}

static void get_one(void)
{
    begin_hand_out("t", "1", 60000);
    assert_int_equal(a.status, STATUS_OK);
}

static void get_one_confirmed(void)
{
    get_one();
    delivered(&f, &a);
    fixture_advance(&f, 100);
}

static void expect_holder(const char *holder)
{
    struct call call = {0};

    assert_int_equal(submit(&f, &call, OP_GET, "t", "1", 0), STATUS_OK);
    assert_string_equal(call.holder, holder);
}

/* ---- his name ---- */

static void the_store_knows_who_has_a_job(void **state)
{
    get_one();
    expect_holder(""); /* he does not have it yet */
    delivered(&f, &a);
    fixture_advance(&f, 100);
    expect_holder("http 10.0.0.1:5@node");
}

static void the_name_stays_with_the_job_that_he_gave_back(void **state)
{
    get_one_confirmed();
    assert_int_equal(settle(OP_BURY, &a), STATUS_OK);
    expect_holder("http 10.0.0.1:5@node");
}

static void one_without_a_name_is_nobody(void **state)
{
    a.pop.client = BYTES("");
    get_one_confirmed();
    expect_holder("");
}

static void long_names_are_cut(void **state)
{
    struct queue_options options = fixture_options();
    char name[200], expected[JOB_HOLDER_MAX + 1];

    memset(name, 'x', sizeof(name));
    memset(expected, 'x', JOB_HOLDER_MAX);
    expected[QUEUE_CLIENT_MAX_BYTES] = '@';
    expected[JOB_HOLDER_MAX] = '\0';
    options.node = bytes_of(name, OP_NODE_MAX);
    queue_reload(f.q, &options);
    a.pop.client = bytes_of(name, sizeof(name));
    get_one_confirmed();
    expect_holder(expected);
}

/* ---- his job is taken ---- */

static void cancel(void)
{
    assert_int_equal(settle(OP_CANCEL, &a), STATUS_OK);
}

static void move(void)
{
    struct call call = {.op.in.move = {.delay_ms = 1000, .states = ALL_STATES}};

    assert_int_equal(submit(&f, &call, OP_MOVE, "t", "1", 0), STATUS_OK);
}

static void run_now(void)
{
    struct call call = {.op.in.move = {.states = ALL_STATES}};

    assert_int_equal(submit(&f, &call, OP_MOVE, "t", "1", 0), STATUS_OK);
}

static void purge(void)
{
    struct call call = {.op.in.chunk = {.state = JOB_RESERVED, .limit = 10}};

    assert_int_equal(submit(&f, &call, OP_PURGE, "t", "", 0), STATUS_OK);
}

static void replace(void)
{
    struct call call = {.op.in.push = {.mode = PUSH_REPLACE}};

    assert_int_equal(submit(&f, &call, OP_PUSH, "t", "1", 0), STATUS_OK);
}

static void hand_it_to_another(void)
{
    run_now();
    consume(&f, &b, "t", 1, 0);
    assert_int_equal(b.status, STATUS_OK);
    delivered(&f, &b);
}

static void let_its_time_run_out(void)
{
    fixture_advance(&f, 60000);
}

static const struct taken {
    void (*take)(void);
    enum status told;
} taken[] = {
    {cancel, STATUS_NOT_FOUND},
    {purge, STATUS_NOT_FOUND},
    {move, STATUS_NOT_RESERVED},
    {run_now, STATUS_NOT_RESERVED},
    {replace, STATUS_NOT_RESERVED},
    {let_its_time_run_out, STATUS_NOT_RESERVED},
    {hand_it_to_another, STATUS_NOT_OWNER},
};

static void whose_job_was_taken_is_told_whatever_he_does(void **state)
{
    static const enum op_verb verbs[] = {OP_ACK, OP_TOUCH, OP_RELEASE, OP_BURY};

    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
        get_one_confirmed();
        taken[i].take();
        for (size_t j = 0; j < sizeof(verbs) / sizeof(*verbs); j++)
            assert_int_equal(settle(verbs[j], &a), taken[i].told);
        settle(OP_CANCEL, &a);
        fixture_advance(&f, 100);
    }
}

/* While he reads: the store has answered, and nothing was late. */
static void a_delivery_of_a_job_that_was_taken_is_not_lost(void **state)
{
    for (size_t i = 0; i < 5; i++) {
        get_one();
        taken[i].take();
        delivered(&f, &a);
        fixture_advance(&f, 100);
        settle(OP_CANCEL, &a);
    }
    assert_int_equal(count(OP_DELIVERED), 5);
    assert_int_equal(queue_stats(f.q)->lost_confirmations, 0);
    assert_int_equal(queue_stats(f.q)->late_confirmations, 0);
}

static void a_delivery_does_not_bring_a_cancelled_job_back(void **state)
{
    get_one();
    cancel();
    delivered(&f, &a);
    fixture_advance(&f, 10000);
    assert_int_equal(state_of(&f, "t", "1"), 0);
}

/* ---- his job dies ---- */

static void a_burial_is_counted(void **state)
{
    get_one_confirmed();
    assert_int_equal(settle(OP_BURY, &a), STATUS_OK);
    assert_int_equal(queue_stats(f.q)->died[DEATH_BURIED], 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DEAD);
}

static void a_burial_before_the_confirmation_counts_the_try(void **state)
{
    struct call call = {0};

    get_one();
    delivered(&f, &a);
    assert_int_equal(settle(OP_BURY, &a), STATUS_OK);
    assert_int_equal(submit(&f, &call, OP_GET, "t", "1", 0), STATUS_OK);
    assert_int_equal(call.job.tries, 1);
}

static void the_last_try_that_is_given_back_is_counted(void **state)
{
    struct call call = {.op.in.push = {.given = SETTING_BIT(TTR) | SETTING_BIT(MAX_TRIES),
                                       .ttr_ms = 60000,
                                       .rules = {.max_tries = 2}}};

    assert_int_equal(submit(&f, &call, OP_PUSH, "t", "1", 0), STATUS_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(queue_stats(f.q)->died[DEATH_TRIES], 0);
        consume(&f, &a, "t", 1, 0);
        delivered(&f, &a);
        assert_int_equal(settle(OP_RELEASE, &a), STATUS_OK);
    }
    assert_int_equal(queue_stats(f.q)->died[DEATH_TRIES], 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DEAD);
}

int main(void)
{
#define HELD(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_one)
    const struct CMUnitTest tests[] = {
        HELD(the_store_knows_who_has_a_job),
        HELD(the_name_stays_with_the_job_that_he_gave_back),
        HELD(one_without_a_name_is_nobody),
        HELD(long_names_are_cut),
        HELD(whose_job_was_taken_is_told_whatever_he_does),
        HELD(a_delivery_of_a_job_that_was_taken_is_not_lost),
        HELD(a_delivery_does_not_bring_a_cancelled_job_back),
        HELD(a_burial_is_counted),
        HELD(a_burial_before_the_confirmation_counts_the_try),
        HELD(the_last_try_that_is_given_back_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
