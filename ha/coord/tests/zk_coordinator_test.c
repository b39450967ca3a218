/* The client with three real servers, which go away and come back, refuse, freeze; and names of
 * servers. coordinator_contract.c has the rest. Each test leaves the servers running.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "ha/coord/zk_client.h"
#include "ha/coord/zk_closer.h"
#include "ha/coord/tests/zk_fixture.h"

#define T       2000
#define LONG_MS (ZK_PATIENCE_S * INT64_C(1000))

static struct zk_fixture *zk;
static struct loop *loop;
static struct coordinator *node, *other;
static int64_t session_ms; /* asked for */
static char changed[64];
static unsigned session_changes;
static enum coord_session seen_sessions[64];
static unsigned done_count;

/* ---- words of the tests ---- */

static void on_session(struct coordinator *c)
{
    if (c == node)
        seen_sessions[session_changes++ % 64] = c->session;
}

static void on_change(struct coordinator *c, const char *path)
{
    if (c == node)
        snprintf(changed, sizeof(changed), "%s", *path ? path : "all");
}

static void on_done(struct coord_call *call)
{
    done_count++;
}

static void turn(void)
{
    event_base_loop(loop->base, EVLOOP_ONCE);
}

static void wait_for(struct coordinator *c, enum coord_session session)
{
    while (c->session != session)
        turn();
}

static struct coordinator *begin(const char *servers, const char *auth)
{
    struct coordinator *c = zk_coordinator_new(
        &(struct zk_options){.servers = servers, .auth = auth, .session_ms = session_ms}, loop);

    c->on_session = on_session;
    c->on_change = on_change;
    coordinator_open(c);
    return c;
}

static struct coordinator *begin_connected(const char *servers, const char *auth)
{
    struct coordinator *c = begin(servers, auth);

    wait_for(c, COORD_SESSION_CONNECTED);
    return c;
}

static enum coord_status finish(struct coord_call *call, unsigned before)
{
    while (done_count == before)
        turn();
    return call->status;
}

static enum coord_status write_one(struct coordinator *c, enum coord_change_kind kind,
                                   const char *path)
{
    struct coord_change change = {.kind = kind, .path = path, .version = -1};
    struct coord_call call = {.changes = &change, .change_count = 1, .on_done = on_done};
    unsigned before = done_count;

    coordinator_write(c, &call);
    return finish(&call, before);
}

static enum coord_status read_one(struct coordinator *c, const char *path)
{
    struct coord_call call = {.path = path, .watches = true, .on_done = on_done};
    unsigned before = done_count;

    coordinator_read(c, &call);
    return finish(&call, before);
}

/* Calls may fail for a while because a server went, and servers lag behind each other. */
static void insist(struct coordinator *c, const char *path, enum coord_status status)
{
    while (read_one(c, path) != status)
        turn();
}

static void wait_for_why(const char *words)
{
    while (!strstr(node->why, words))
        turn();
}

static void it_knows_the_tick_of_its_servers_from_the_beginning(void **state)
{
    node = begin_connected(zk->addresses, "");
    assert_int_equal(node->tick_ms, ZK_TICK_MS);
}

static int setup(void **state)
{
    alarm(ZK_PATIENCE_S);
    loop = loop_new();
    node = other = NULL;
    session_ms = T;
    changed[0] = '\0';
    session_changes = done_count = 0;
    return 0;
}

static void drop(struct coordinator **c)
{
    if (*c)
        coordinator_close(*c);
    for (unsigned i = 0; i < 3; i++) /* what was under way ends */
        event_base_loop(loop->base, EVLOOP_NONBLOCK);
    zk_coordinator_free(*c);
    *c = NULL;
}

static int teardown(void **state)
{
    drop(&node);
    drop(&other);
    loop_free(loop);
    alarm(0);
    return 0;
}

static int start_servers(void **state)
{
    zk = zk_fixture_new(3);
    return 0;
}

static int stop_servers(void **state)
{
    zk_fixture_free(zk);
    return 0;
}

/* ---- servers that go ---- */

static void a_killed_server_costs_the_connection_not_the_session(void **state)
{
    int64_t session;
    char server[64];
    unsigned i;

    node = begin_connected(zk->addresses, "");
    other = begin_connected(zk->addresses, "");
    session = node->credentials.session;
    assert_int_equal(write_one(node, COORD_CREATE_EPHEMERAL, "/kept"), COORD_OK);
    assert_int_equal(read_one(node, "/later"), COORD_NO_NODE);
    strcpy(server, node->server);
    i = zk_fixture_find(zk, server);
    zk_fixture_kill(zk, i);
    wait_for(node, COORD_SESSION_CONNECTING);
    wait_for(node, COORD_SESSION_CONNECTED);
    assert_int_equal(node->credentials.session, session);
    assert_string_not_equal(node->server, server);
    while (strcmp(changed, "all") != 0)
        turn();
    insist(node, "/kept", COORD_OK);
    insist(node, "/later", COORD_NO_NODE);
    insist(other, "/kept", COORD_OK);
    assert_int_equal(write_one(other, COORD_CREATE_EPHEMERAL, "/later"), COORD_OK);
    while (strcmp(changed, "/later") != 0)
        turn();
    zk_fixture_start(zk, i);
    zk_fixture_wait(zk);
}

static void all_servers_gone_for_longer_than_the_timeout_keep_the_session(void **state)
{
    struct coord_change change = {.kind = COORD_CREATE, .path = "/never"};
    struct coord_call call = {.changes = &change, .change_count = 1, .on_done = on_done};
    int64_t session, gone_mono_ms;
    unsigned before;

    node = begin_connected(zk->addresses, "");
    session = node->credentials.session;
    assert_int_equal(write_one(node, COORD_CREATE_EPHEMERAL, "/kept"), COORD_OK);
    before = done_count;
    for (unsigned i = 0; i < 3; i++)
        zk_fixture_freeze(zk, i, true);
    coordinator_write(node, &call);
    for (unsigned i = 0; i < 3; i++)
        zk_fixture_kill(zk, i);
    assert_int_equal(finish(&call, before), COORD_UNKNOWN);
    assert_int_equal(node->session, COORD_SESSION_CONNECTING);
    assert_int_equal(write_one(node, COORD_CREATE, "/never"), COORD_UNAVAILABLE);
    gone_mono_ms = clock_mono_ms();
    wait_for_why("connection refused at 127.0.0.1:");
    while (clock_mono_ms() < gone_mono_ms + T + ZK_TICK_MS)
        turn();
    assert_int_equal(node->session, COORD_SESSION_CONNECTING);
    for (unsigned i = 0; i < 3; i++)
        zk_fixture_start(zk, i);
    wait_for(node, COORD_SESSION_CONNECTED);
    assert_int_equal(node->credentials.session, session);
    insist(node, "/kept", COORD_OK);
    insist(node, "/never", COORD_NO_NODE);
    zk_fixture_wait(zk);
}

static void a_frozen_server_is_left_for_another(void **state)
{
    int64_t session;
    unsigned i;

    node = begin_connected(zk->addresses, "");
    session = node->credentials.session;
    i = zk_fixture_find(zk, node->server);
    zk_fixture_freeze(zk, i, true);
    wait_for(node, COORD_SESSION_CONNECTING);
    zk_fixture_freeze(zk, i, false);
    wait_for(node, COORD_SESSION_CONNECTED);
    assert_int_equal(node->credentials.session, session);
    zk_fixture_wait(zk);
}

/* ---- sessions that end ---- */

static void a_frozen_client_learns_that_its_session_is_over(void **state)
{
    pid_t child;
    int status;

    other = begin_connected(zk->addresses, "");
    child = fork();
    if (child == 0) { /* the frozen one lives here, the time goes by there */
        alarm(ZK_PATIENCE_S);
        loop = loop_new();
        node = begin_connected(zk->addresses, "");
        if (write_one(node, COORD_CREATE_EPHEMERAL, "/frozen") != COORD_OK)
            _exit(1);
        raise(SIGSTOP);
        wait_for(node, COORD_SESSION_EXPIRED);
        if (write_one(node, COORD_CREATE, "/frozen") != COORD_UNAVAILABLE)
            _exit(2);
        coordinator_close(node);
        coordinator_open(node);
        wait_for(node, COORD_SESSION_CONNECTED);
        coordinator_close(node);
        _exit(0);
    }
    waitpid(child, &status, WUNTRACED);
    assert_true(WIFSTOPPED(status));
    while (write_one(other, COORD_CREATE_EPHEMERAL, "/frozen") != COORD_OK)
        continue; /* a read may lag behind what the child has seen */
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_dead_process_s_session_is_ended_without_a_loop(void **state)
{
    struct coord_credentials dead;
    int64_t begun_mono_ms, took_ms;

    other = begin_connected(zk->addresses, "");
    node = begin_connected(zk->addresses, "");
    dead = node->credentials;
    assert_int_equal(write_one(node, COORD_CREATE_EPHEMERAL, "/dead"), COORD_OK);
    insist(other, "/dead", COORD_OK);
    begun_mono_ms = clock_mono_ms();
    assert_int_equal(zk_end_session_run(zk->addresses, &dead, LONG_MS), 0);
    took_ms = clock_mono_ms() - begun_mono_ms;
    insist(other, "/dead", COORD_NO_NODE);
    print_message("ended in %lld ms\n", (long long)took_ms);
    wait_for(node, COORD_SESSION_EXPIRED);
    assert_int_equal(zk_end_session_run(zk->addresses, &dead, LONG_MS), 0); /* over already */
    assert_int_equal(zk_end_session_run("127.0.0.1:1", &dead, 50), 1);
    assert_int_equal(zk_end_session_run("nonsense", &dead, 50), 1);
}

/* ---- what does not work, in words ---- */

static void a_wrong_port_is_named(void **state)
{
    node = begin("127.0.0.1:1", "");
    wait_for_why("connection refused at 127.0.0.1:1");
    assert_int_equal(node->session, COORD_SESSION_CONNECTING);
    assert_int_equal(session_changes, 0);
}

static void a_wrong_name_is_named(void **state)
{
    node = begin("no-such-host.invalid:2181", "");
    wait_for_why("no-such-host.invalid: ");
    assert_int_equal(node->session, COORD_SESSION_CONNECTING);
}

static void one_wrong_name_among_servers_does_no_harm(void **state)
{
    char servers[160];

    snprintf(servers, sizeof(servers), "no-such-host.invalid:2181,%s", zk->addresses);
    node = begin_connected(servers, "");
    assert_int_equal(read_one(node, "/"), COORD_OK);
}

static void a_name_of_the_hosts_file_is_found(void **state)
{
    char servers[64];

    snprintf(servers, sizeof(servers), "localhost:%d", zk->servers[0].ports[0]);
    node = begin_connected(servers, "");
    assert_int_equal(read_one(node, "/"), COORD_OK);
}

static void wrong_credentials_open_no_znode(void **state)
{
    node = begin_connected(zk->addresses, "node:right");
    assert_int_equal(write_one(node, COORD_CREATE_EPHEMERAL, "/locked"), COORD_OK);
    assert_int_equal(read_one(node, "/locked"), COORD_OK);
    other = begin_connected(node->server, "node:wrong");
    assert_int_equal(read_one(other, "/locked"), COORD_DENIED);
    assert_int_equal(write_one(other, COORD_SET, "/locked"), COORD_DENIED);
}

static void credentials_outlive_a_lost_connection(void **state)
{
    node = begin_connected(zk->addresses, "node:right");
    assert_int_equal(write_one(node, COORD_CREATE_EPHEMERAL, "/locked"), COORD_OK);
    zk_fixture_cut(zk);
    wait_for(node, COORD_SESSION_CONNECTING);
    wait_for(node, COORD_SESSION_CONNECTED);
    insist(node, "/locked", COORD_OK);
}

/* ---- closing ---- */

/* That the library does not wait either is proven in zk_drain_test.c. */
static void a_frozen_server_ends_the_session_when_it_is_back(void **state)
{
    int64_t begun_mono_ms;
    unsigned i;

    session_ms = LONG_MS; /* not by its timeout */
    node = begin_connected(zk->addresses, "");
    other = begin_connected(zk->addresses, "");
    assert_int_equal(write_one(node, COORD_CREATE_EPHEMERAL, "/thaw"), COORD_OK);
    insist(other, "/thaw", COORD_OK);
    i = zk_fixture_find(zk, node->server);
    zk_fixture_freeze(zk, i, true);
    begun_mono_ms = clock_mono_ms();
    coordinator_close(node);
    print_message("closed in %lld ms\n", (long long)(clock_mono_ms() - begun_mono_ms));
    assert_int_equal(node->session, COORD_SESSION_CLOSED);
    for (unsigned n = 0; n < 5; n++)
        turn();
    assert_int_not_equal(node->left.session, 0);
    zk_fixture_freeze(zk, i, false);
    while (node->left.session)
        turn();
    insist(other, "/thaw", COORD_NO_NODE);
    zk_fixture_wait(zk);
}

/* Returns the server of `node`, frozen: the network takes nothing more. */
static unsigned close_without_a_good_bye(void)
{
    static char data[COORD_DATA_MAX];
    struct coord_change change = {
        .kind = COORD_CREATE, .path = "/big", .data = {data, sizeof(data)}};
    static struct coord_call calls[64];
    unsigned i = zk_fixture_find(zk, node->server), before = done_count;

    zk_fixture_freeze(zk, i, true);
    for (unsigned n = 0; n < 64; n++) { /* more than a socket takes */
        calls[n] =
            (struct coord_call){.changes = &change, .change_count = 1, .on_done = on_done};
        coordinator_write(node, &calls[n]);
    }
    coordinator_close(node);
    while (done_count < before + 64)
        turn();
    assert_int_equal(calls[63].status, COORD_UNKNOWN);
    return i;
}

static void closing_leaves_what_a_frozen_server_does_not_take(void **state)
{
    unsigned i;

    node = begin_connected(zk->addresses, "");
    i = close_without_a_good_bye();
    assert_int_not_equal(node->left.session, 0); /* nobody could be told */
    assert_int_equal(node->leaving, 0);
    zk_fixture_freeze(zk, i, false);
    zk_fixture_wait(zk);
}

/* Of two closed sessions, the end of the first says nothing about the second. */
static void the_end_of_one_session_is_not_that_of_another(void **state)
{
    int64_t first, second;
    unsigned i, j;

    session_ms = 3 * T;
    node = begin_connected(zk->addresses, "");
    first = node->credentials.session;
    i = zk_fixture_find(zk, node->server);
    zk_fixture_freeze(zk, i, true);
    coordinator_close(node);
    assert_int_equal(node->leaving, first);
    coordinator_open(node);
    wait_for(node, COORD_SESSION_CONNECTED);
    second = node->credentials.session;
    j = close_without_a_good_bye();
    assert_int_equal(node->left.session, second);
    zk_fixture_freeze(zk, i, false);
    while (node->leaving)
        turn();
    assert_int_equal(node->left.session, second);
    zk_fixture_freeze(zk, j, false);
    zk_fixture_wait(zk);
}

/* A socket that is closed with unread bytes is reset, and the server may never read the
 * good-bye. The session would live on for a minute, and the test for longer than it may. */
static void closing_ends_the_session_though_answers_are_unread(void **state)
{
    static struct coord_call calls[32];
    unsigned before;

    session_ms = LONG_MS;
    node = begin_connected(zk->addresses, "");
    other = begin_connected(zk->addresses, "");
    for (unsigned round = 0; round < 10; round++) {
        assert_int_equal(write_one(node, COORD_CREATE_EPHEMERAL, "/bye"), COORD_OK);
        insist(other, "/bye", COORD_OK);
        before = done_count;
        for (unsigned i = 0; i < 32; i++) {
            calls[i] = (struct coord_call){.path = "/zookeeper", .on_done = on_done};
            coordinator_list(node, &calls[i]);
        }
        while (!zk_fixture_has_answered(zk))
            continue;
        coordinator_close(node);
        while (done_count < before + 32)
            turn();
        insist(other, "/bye", COORD_NO_NODE);
        coordinator_open(node);
        wait_for(node, COORD_SESSION_CONNECTED);
    }
}

#define WITH_A_LOOP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_LOOP(it_knows_the_tick_of_its_servers_from_the_beginning),
        WITH_A_LOOP(a_killed_server_costs_the_connection_not_the_session),
        WITH_A_LOOP(all_servers_gone_for_longer_than_the_timeout_keep_the_session),
        WITH_A_LOOP(a_frozen_server_is_left_for_another),
        WITH_A_LOOP(a_frozen_client_learns_that_its_session_is_over),
        WITH_A_LOOP(a_dead_process_s_session_is_ended_without_a_loop),
        WITH_A_LOOP(a_wrong_port_is_named),
        WITH_A_LOOP(a_wrong_name_is_named),
        WITH_A_LOOP(one_wrong_name_among_servers_does_no_harm),
        WITH_A_LOOP(a_name_of_the_hosts_file_is_found),
        WITH_A_LOOP(wrong_credentials_open_no_znode),
        WITH_A_LOOP(credentials_outlive_a_lost_connection),
        WITH_A_LOOP(a_frozen_server_ends_the_session_when_it_is_back),
        WITH_A_LOOP(closing_leaves_what_a_frozen_server_does_not_take),
        WITH_A_LOOP(the_end_of_one_session_is_not_that_of_another),
        WITH_A_LOOP(closing_ends_the_session_though_answers_are_unread),
    };

    return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
