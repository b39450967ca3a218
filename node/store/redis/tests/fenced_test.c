/* A leader's operation goes to a real Redis when it is submitted, or not at all: nothing is
 * done later, when nobody has checked the lease.
 */
#include "node/store/redis/tests/store_fixture.h"

#include <string.h>

#define ENSEMBLE "11111111111111111111111111111111:"
#define LOW      ENSEMBLE "0000000000000001"
#define HIGH     ENSEMBLE "0000000000000002"

static void submit_fenced(struct node *n, struct job_op *j, enum op_verb verb,
                          struct bytes token)
{
    *j = (struct job_op){.op.token = token, .turns = j->turns};
    if (verb == OP_SCAN)
        j->op.in.scan.limit = 10;
    submit_op(n, j, verb, "");
}

static enum status ask(struct node *n, enum op_verb verb, struct bytes token)
{
    struct job_op j = {0};

    submit_fenced(n, &j, verb, token);
    run_until(n->loop, &j.is_done);
    return j.op.status;
}

static void is_refused_while_redis_is_away(void **state)
{
    static const enum op_verb verbs[] = {OP_SCAN, OP_AUDIT, OP_REPAIR, OP_FENCE};
    struct node *n = *state;
    struct job_op held = {0};

    redis_fixture_kill(n->redis);
    node_start(n);
    submit_push(n, &held, "t");
    for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        assert_int_equal(ask(n, verbs[i], BYTES(LOW)), STATUS_UNAVAILABLE);
    assert_false(held.is_done);
    assert_int_equal(stats(n)->expired, 0);

    /* And none of them had an effect later. */
    redis_fixture_start(n->redis);
    run_until(n->loop, &held.is_done);
    assert_int_equal(redis_fixture_command(n->redis, "EXISTS dq:{0}:f"), 0);
}

static void waits_for_no_room(void **state)
{
    struct node *n = *state;
    int turns = 0;
    struct job_op pushes[3] = {{.turns = &turns}, {.turns = &turns}, {.turns = &turns}};
    struct job_op scan = {.turns = &turns};

    n->options.flight_max = 1;
    n->options.held_max = 2;
    node_start_up(n);
    for (unsigned i = 0; i < 3; i++)
        submit_push(n, &pushes[i], "t");
    submit_fenced(n, &scan, OP_SCAN, BYTES(""));
    assert_int_equal(stats(n)->in_flight, 2);
    assert_int_equal(stats(n)->held, 2);
    run_until(n->loop, &pushes[2].is_done);
    assert_int_equal(scan.op.status, STATUS_OK);
    assert_int_equal(scan.turn, 2);
    assert_int_equal(pushes[2].op.status, STATUS_OK);
}

/* The engine writes its next token over the one before. */
static void goes_with_the_token_of_the_moment_in_which_it_was_asked(void **state)
{
    struct node *n = *state;
    struct job_op push = {0}, fence = {0};
    char token[] = LOW;

    n->options.flight_max = 1;
    node_start_up(n);
    submit_push(n, &push, "t");
    submit_fenced(n, &fence, OP_FENCE, bytes_of_text(token));
    memcpy(token, HIGH, sizeof(token));
    assert_int_equal(await(n, &fence), STATUS_OK);
    /* The higher one was never seen. */
    assert_int_equal(ask(n, OP_SCAN, BYTES(LOW)), STATUS_OK);
}

static void is_not_sent_again_where_redis_forgot_the_script(void **state)
{
    struct node *n = *state;

    node_start_up(n);
    redis_fixture_command(n->redis, "SCRIPT FLUSH");
    assert_int_equal(ask(n, OP_FENCE, BYTES(LOW)), STATUS_UNAVAILABLE);
    assert_int_equal(redis_fixture_command(n->redis, "EXISTS dq:{0}:f"), 0);

    /* The next one brings the text, and the one after it need not. */
    assert_int_equal(ask(n, OP_FENCE, BYTES(LOW)), STATUS_OK);
    assert_int_equal(ask(n, OP_FENCE, BYTES(LOW)), STATUS_OK);
    assert_int_equal(stats(n)->reloaded, 1);
    assert_int_equal(redis_fixture_command(n->redis, "EXISTS dq:{0}:f"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(is_refused_while_redis_is_away),
        WITH_REDIS(waits_for_no_room),
        WITH_REDIS(goes_with_the_token_of_the_moment_in_which_it_was_asked),
        WITH_REDIS(is_not_sent_again_where_redis_forgot_the_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
