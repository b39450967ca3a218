/* The fake itself, without an election. The contract test compares it with the real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ha/fake/coordinator.h"

#define T 2000

static struct timers timers;
static struct fake_ensemble ensemble;
static struct fake_coordinator first, second;
static char changed[32];
static unsigned done_count;

static void on_session(struct coordinator *c)
{
}

static void on_change(struct coordinator *c, const char *path)
{
    strcpy(changed, *path ? path : "all");
}

static void on_done(struct coord_call *call)
{
    done_count++;
}

static void run(int64_t ms)
{
    int64_t end = timers_now(&timers) + ms, wait;

    while ((wait = timers_run(&timers, timers_now(&timers))) >= 0 &&
           timers_now(&timers) + wait <= end)
        timers_run(&timers, timers_now(&timers) + wait);
    timers_run(&timers, end);
}

static void begin(struct fake_coordinator *c)
{
    fake_coordinator_init(c, &ensemble, &timers, T);
    c->base.on_session = on_session;
    c->base.on_change = on_change;
    coordinator_open(&c->base);
}

static int setup(void **state)
{
    timers_init(&timers, 5000);
    fake_ensemble_init(&ensemble, &timers);
    begin(&first);
    begin(&second);
    run(10);
    changed[0] = '\0';
    done_count = 0;
    return 0;
}

static int teardown(void **state)
{
    fake_coordinator_fini(&first);
    fake_coordinator_fini(&second);
    fake_ensemble_fini(&ensemble);
    timers_fini(&timers);
    return 0;
}

static struct coord_call write_call(const struct coord_change *changes, unsigned count)
{
    return (struct coord_call){.changes = changes, .change_count = count, .on_done = on_done};
}

static struct coord_call read_call(const char *path)
{
    return (struct coord_call){.path = path, .watches = true, .on_done = on_done};
}

static const struct coord_change create_a = {
    .kind = COORD_CREATE_EPHEMERAL, .path = "/a", .data = {"1", 1}};

static void a_write_is_done_as_a_whole_or_not_at_all(void **state)
{
    struct coord_change changes[] = {create_a,
                                     {.kind = COORD_SET, .path = "/a", .version = 0},
                                     {.kind = COORD_DELETE, .path = "/b", .version = -1}};
    struct coord_call call = write_call(changes, 3);

    coordinator_write(&first.base, &call);
    assert_int_equal(done_count, 0);
    run(10);
    assert_int_equal(call.status, COORD_NO_NODE);
    assert_int_equal(call.failed, 2);
    assert_null(fake_tree_find(&ensemble.tree, "/a"));
    call = write_call(changes, 2);
    coordinator_write(&first.base, &call);
    run(10);
    assert_int_equal(call.status, COORD_OK);
    assert_int_equal(fake_tree_find(&ensemble.tree, "/a")->version, 1);
    assert_int_equal(fake_tree_find(&ensemble.tree, "/a")->owner,
                     first.base.credentials.session);
}

static void a_watch_tells_of_what_was_not_there(void **state)
{
    struct coord_call read = read_call("/a"), write = write_call(&create_a, 1);

    coordinator_read(&second.base, &read);
    run(10);
    assert_int_equal(read.status, COORD_NO_NODE);
    coordinator_write(&first.base, &write);
    run(10);
    assert_string_equal(changed, "/a");
}

static void a_lost_connection_leaves_calls_unknown_done_or_not(void **state)
{
    struct coord_call call = write_call(&create_a, 1);
    int64_t session = first.base.credentials.session;

    coordinator_write(&first.base, &call);
    fake_coordinator_cut(&first, false);
    assert_int_equal(done_count, 0);
    run(100);
    assert_int_equal(call.status, COORD_UNKNOWN);
    assert_null(fake_tree_find(&ensemble.tree, "/a"));
    assert_int_equal(first.base.session, COORD_SESSION_CONNECTED);
    assert_int_equal(first.base.credentials.session, session);

    call = write_call(&create_a, 1);
    coordinator_write(&first.base, &call);
    fake_coordinator_cut(&first, true);
    run(100);
    assert_int_equal(call.status, COORD_UNKNOWN);
    assert_non_null(fake_tree_find(&ensemble.tree, "/a"));
    assert_string_equal(changed, "all");
}

static void a_silent_client_loses_its_session_and_learns_it_from_a_server(void **state)
{
    struct coord_call call = write_call(&create_a, 1);

    coordinator_write(&first.base, &call);
    run(10);
    fake_coordinator_link(&first, FAKE_LINK_MUTE);
    run(T + 200);
    assert_null(fake_tree_find(&ensemble.tree, "/a"));
    assert_int_equal(first.base.session, COORD_SESSION_CONNECTING);
    assert_int_equal(second.base.session, COORD_SESSION_CONNECTED);
    call = write_call(&create_a, 1);
    coordinator_write(&first.base, &call);
    run(1);
    assert_int_equal(call.status, COORD_UNAVAILABLE);
    fake_coordinator_link(&first, FAKE_LINK_UP);
    run(T);
    assert_int_equal(first.base.session, COORD_SESSION_EXPIRED);
}

static void closing_and_ending_a_session_remove_its_ephemerals(void **state)
{
    struct coord_call call = write_call(&create_a, 1);

    coordinator_write(&first.base, &call);
    run(10);
    coordinator_end_session(&second.base, &first.base.credentials);
    run(10);
    assert_null(fake_tree_find(&ensemble.tree, "/a"));
    assert_int_equal(first.base.session, COORD_SESSION_EXPIRED);
    call = write_call(&create_a, 1);
    coordinator_write(&second.base, &call);
    run(10);
    coordinator_close(&second.base);
    assert_int_equal(second.base.session, COORD_SESSION_CLOSED);
    run(10);
    assert_null(fake_tree_find(&ensemble.tree, "/a"));
    coordinator_open(&second.base);
    run(10);
    assert_int_equal(second.base.session, COORD_SESSION_CONNECTED);
}

static void without_a_quorum_sessions_wait(void **state)
{
    struct coord_call call = write_call(&create_a, 1);

    coordinator_write(&first.base, &call);
    run(10);
    fake_ensemble_set_quorum(&ensemble, false);
    run(5 * T);
    assert_int_equal(first.base.session, COORD_SESSION_CONNECTING);
    assert_non_null(fake_tree_find(&ensemble.tree, "/a"));
    fake_ensemble_set_quorum(&ensemble, true);
    run(T);
    assert_int_equal(first.base.session, COORD_SESSION_CONNECTED);
    assert_non_null(fake_tree_find(&ensemble.tree, "/a"));
}

static void names_are_listed_and_watched(void **state)
{
    struct coord_change changes[] = {{.kind = COORD_CREATE, .path = "/p"},
                                     {.kind = COORD_CREATE, .path = "/p/x"}};
    struct coord_call write = write_call(changes, 2), list = read_call("/p");

    coordinator_write(&first.base, &write);
    coordinator_list(&first.base, &list);
    run(10);
    assert_int_equal(list.status, COORD_OK);
    assert_int_equal(list.name_count, 1);
    changes[0] = (struct coord_change){.kind = COORD_DELETE, .path = "/p/x", .version = 0};
    write = write_call(changes, 1);
    coordinator_write(&second.base, &write);
    run(10);
    assert_string_equal(changed, "/p");
}

#define ON_TWO_CLIENTS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_TWO_CLIENTS(a_write_is_done_as_a_whole_or_not_at_all),
        ON_TWO_CLIENTS(a_watch_tells_of_what_was_not_there),
        ON_TWO_CLIENTS(a_lost_connection_leaves_calls_unknown_done_or_not),
        ON_TWO_CLIENTS(a_silent_client_loses_its_session_and_learns_it_from_a_server),
        ON_TWO_CLIENTS(closing_and_ending_a_session_remove_its_ephemerals),
        ON_TWO_CLIENTS(without_a_quorum_sessions_wait),
        ON_TWO_CLIENTS(names_are_listed_and_watched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
