/* Every write carries the versions of the znodes that its decision rests on. If another node
 * changes one of these meanwhile, the write fails and overwrites nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ha/state.h"
#include "ha/tests/ha_fixture.h"

#define EPOCH   "/dueq/main/epoch"
#define CONTROL "/dueq/main/control"
#define MEMBERS "/dueq/main/members"
#define HISTORY "/dueq/main/history"

#define ON_ITS_WAY_MS 20

static const char *text_of(const char *path)
{
    static char text[4096];
    const struct fake_znode *z = fake_tree_find(&ensemble.tree, path);

    assert_non_null(z);
    snprintf(text, sizeof(text), "%.*s", BYTES_ARG(buf_bytes(&z->data)));
    return text;
}

static void await_on_its_way(const struct coord_request *request)
{
    ensemble.delay_ms = ON_ITS_WAY_MS;
    for (int64_t ms = 0; ms < 2 * T && !request->is_in_flight; ms++)
        run(1);
    assert_true(request->is_in_flight);
}

/* `put` is written to `path` while the write is on its way: the write fails, and `kept` stays.
 */
static void is_refused(const struct coord_request *request, const char *path, const char *put,
                       const char *kept)
{
    char before[4096];

    await_on_its_way(request);
    znode_put(path, put);
    snprintf(before, sizeof(before), "%s", text_of(kept));
    while (request->is_in_flight)
        run(1);
    assert_int_equal(request->call.status, COORD_BAD_VERSION);
    assert_string_equal(text_of(kept), before);
    ensemble.delay_ms = 1;
}

/* ---- elections ---- */

static struct coord_request *stand_next(void)
{
    node_freeze(third, true);
    node_kill(old);
    fake_ensemble_expire(&ensemble, nodes[old].reported.session);
    return &nodes[next].ha->election.request;
}

/* Another leader was elected meanwhile, and went: two leads would have the same token. */
static void an_election_does_not_take_an_epoch_back(void **state)
{
    is_refused(stand_next(), EPOCH, "epoch 9\n", EPOCH);
    await(is_led, T);
    assert_int_equal(status_of(next).role->token.epoch, 10);
}

static void an_election_does_not_overlook_a_request_or_a_change_of_members(void **state)
{
    is_refused(stand_next(), CONTROL, "paused yes\n", EPOCH);
    node_freeze(third, false);
    three_nodes_setup(state);
    is_refused(stand_next(), MEMBERS, "timeout_ms 2000\nmember zz\n", EPOCH);
}

static void the_first_election_does_not_overwrite_a_list_of_members(void **state)
{
    world_setup(state);
    node_start(0);
    is_refused(&nodes[0].ha->election.request, MEMBERS, "timeout_ms 2000\nmember zz\n",
               MEMBERS);
}

/* ---- a leader's ---- */

static struct coord_request *add_one(void)
{
    const struct coord_credentials gone = nodes[third].reported;

    node_kill(third);
    fake_ensemble_expire(&ensemble, gone.session);
    run(T);
    assert_int_equal(command(old, HA_FORGET, nodes[third].name), STATUS_OK);
    node_start(third);
    return &nodes[old].ha->membership.adding;
}

static void who_adds_a_member_does_not_bring_back_who_was_forgotten(void **state)
{
    is_refused(add_one(), MEMBERS, "timeout_ms 2000\nmember na\n", MEMBERS);
}

static void who_is_deposed_adds_no_member(void **state)
{
    is_refused(add_one(), EPOCH, "epoch 7\n", MEMBERS);
}

/* A request for the node that leads already is cleared. */
static struct coord_request *take_a_request_back(void)
{
    char request[96];

    snprintf(request, sizeof(request), "paused no\nwanted %s\nat 0\nforce no\nby na\n",
             nodes[old].name);
    run(T / 12);
    znode_put(CONTROL, request);
    return &nodes[old].ha->control_request;
}

static void who_takes_a_request_back_does_not_overwrite_the_next(void **state)
{
    is_refused(take_a_request_back(), CONTROL, "paused yes\n", CONTROL);
}

static void who_is_deposed_takes_no_request_back(void **state)
{
    is_refused(take_a_request_back(), EPOCH, "epoch 7\n", CONTROL);
}

static void the_history_keeps_what_others_write(void **state)
{
    assert_int_equal(command(old, HA_SWITCHOVER, nodes[next].name), STATUS_OK);
    is_refused(&nodes[next].ha->history_request, HISTORY, "", HISTORY);
    await(is_led, T);
    run(T);
    assert_int_equal(status_of(next).transition_count, 1); /* it was written again */
}

/* ---- operators' ---- */

static bool is_done;

static void on_done(struct ha_command *c)
{
    is_done = true;
}

/* The request is on its way. */
static void submit(struct ha_command *c, enum ha_request request, unsigned to)
{
    run(T / 12);
    ensemble.delay_ms = ON_ITS_WAY_MS;
    is_done = false;
    *c = (struct ha_command){.request = request, .to = nodes[to].name, .on_done = on_done};
    ha_command(nodes[old].ha, c);
    while (!c->call.change_count)
        run(1);
    assert_false(is_done);
}

static enum status finish(struct ha_command *c)
{
    while (!is_done)
        run(1);
    return c->status;
}

static void a_request_does_not_overwrite_another(void **state)
{
    struct ha_command c;

    submit(&c, HA_SWITCHOVER, next);
    znode_put(CONTROL, "paused yes\n");
    assert_int_equal(finish(&c), STATUS_WRONG_STATE);
    assert_string_equal(text_of(CONTROL), "paused yes\n");
}

/* It means the same whatever else is wanted. */
static void a_pause_leaves_a_request_that_came_before_it(void **state)
{
    struct ha_command c;

    submit(&c, HA_PAUSE, next);
    znode_put(CONTROL, "paused no\nwanted zz\nat 9999999999999\nforce no\nby na\n");
    assert_int_equal(finish(&c), STATUS_OK);
    assert_non_null(strstr(text_of(CONTROL), "paused yes"));
    assert_non_null(strstr(text_of(CONTROL), "wanted zz"));
}

static void lose_third(void)
{
    const struct coord_credentials gone = nodes[third].reported;

    node_kill(third);
    fake_ensemble_expire(&ensemble, gone.session);
    run(T);
}

static void who_is_forgotten_takes_nobody_else_along(void **state)
{
    struct ha_command c;
    char members[128];

    lose_third();
    submit(&c, HA_FORGET, third);
    snprintf(members, sizeof(members), "%smember zz\n", text_of(MEMBERS));
    znode_put(MEMBERS, members);
    assert_int_equal(finish(&c), STATUS_OK);
    assert_non_null(strstr(text_of(MEMBERS), "member zz"));
    assert_null(strstr(text_of(MEMBERS), nodes[third].name));
}

/* A leader that was elected meanwhile may count on its promise: it is looked at again. */
static void nobody_is_forgotten_on_word_of_before_an_election(void **state)
{
    struct ha_command c;

    lose_third();
    submit(&c, HA_FORGET, third);
    znode_put(EPOCH, "epoch 7\n");
    run(ON_ITS_WAY_MS + 1);
    assert_non_null(strstr(text_of(MEMBERS), nodes[third].name));
    assert_int_equal(finish(&c), STATUS_OK);
    assert_null(strstr(text_of(MEMBERS), nodes[third].name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREE(an_election_does_not_take_an_epoch_back),
        ON_THREE(an_election_does_not_overlook_a_request_or_a_change_of_members),
        ON_THREE(the_first_election_does_not_overwrite_a_list_of_members),
        ON_THREE(who_adds_a_member_does_not_bring_back_who_was_forgotten),
        ON_THREE(who_is_deposed_adds_no_member),
        ON_THREE(who_takes_a_request_back_does_not_overwrite_the_next),
        ON_THREE(who_is_deposed_takes_no_request_back),
        ON_THREE(the_history_keeps_what_others_write),
        ON_THREE(a_request_does_not_overwrite_another),
        ON_THREE(a_pause_leaves_a_request_that_came_before_it),
        ON_THREE(who_is_forgotten_takes_nobody_else_along),
        ON_THREE(nobody_is_forgotten_on_word_of_before_an_election),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
