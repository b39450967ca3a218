/* The rule of peer/death.h on sockets: which ends of a connection prove a death. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ha/peer/dialer.h"
#include "ha/peer/tests/peer_fixture.h"
#include "ha/peer/listener.h"

/* One node under test, "na", which watches "nb" at the address of `other_fd`. */
struct fixture {
    struct loop *loop;
    struct peers port;
    struct peer_notes notes;
    struct peer_self self;
    struct peer_server *server;
    struct peer_dial dial;
    struct peer_name other;
    int other_fd;
    char own_address[PEER_ADDR_MAX + 1];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->loop = loop_new();
    hand_use(f->loop);
    peer_note(&f->port, &f->notes);
    f->self = peer_self_of(f->loop, &f->port, "na");
    f->server = peer_server_new(&f->self, peer_listen(f->own_address));
    strcpy(f->other.name, "nb");
    f->other_fd = peer_listen(f->other.address);
    peer_dial_init(&f->dial, &f->self, f->server, &f->other);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    peer_dial_fini(&f->dial);
    peer_server_free(f->server);
    peer_loop_free(f->loop);
    if (f->other_fd >= 0)
        close(f->other_fd);
    free(f);
    return 0;
}

static void close_listener(struct fixture *f)
{
    close(f->other_fd);
    f->other_fd = -1;
}

/* As nb, by hand: lets na in and tells a session. */
static int be_nb(struct fixture *f, uint64_t incarnation, int64_t session)
{
    struct peer_message m = {.kind = PEER_SESSION, .session = peer_credentials(session)};
    int fd = hand_accept(f->loop, f->other_fd);

    hand_let_in(f->loop, fd, "nb", incarnation, SECRET);
    hand_say(fd, &m);
    AWAIT(f->loop, f->dial.state == DIAL_UP && f->dial.watched.reported.session == session);
    return fd;
}

static void assert_death(struct fixture *f, int64_t session)
{
    struct coord_credentials dead = peer_credentials(session);

    assert_int_equal(f->notes.deaths, 1);
    assert_string_equal(f->notes.dead_name, "nb");
    assert_memory_equal(&f->notes.dead, &dead, sizeof(dead));
}

static bool is_back_to_waiting(const struct fixture *f)
{
    return f->dial.state == DIAL_WAITING && f->dial.watched.probes_left == 0;
}

/* ---- proof ---- */

static void a_killed_process_whose_port_is_closed_is_dead(void **state)
{
    struct fixture *f = *state;
    pid_t nb = peer_process("nb", f->other_fd, 0xb1, false);

    close_listener(f);
    AWAIT(f->loop, f->dial.watched.reported.session == 0xb1);
    peer_kill(nb, SIGKILL);
    AWAIT(f->loop, f->notes.deaths > 0);
    assert_death(f, 0xb1);
}

static void a_killed_process_is_dead_when_the_next_one_answers(void **state)
{
    struct fixture *f = *state;
    pid_t nb = peer_process("nb", f->other_fd, 0xb1, false);

    AWAIT(f->loop, f->dial.watched.reported.session == 0xb1);
    peer_kill(nb, SIGKILL);
    nb = peer_process("nb", f->other_fd, 0xb2, false);
    AWAIT(f->loop, f->notes.deaths > 0 && f->dial.watched.reported.session == 0xb2);
    assert_death(f, 0xb1);
    peer_kill(nb, SIGKILL);
}

static void another_incarnation_is_proof_however_late(void **state)
{
    struct fixture *f = *state;
    int fd = be_nb(f, 1, 0xb1);

    close(fd);
    for (int i = 0; i < 8; i++)
        close(hand_accept(f->loop, f->other_fd)); /* the probes, and more */
    assert_int_equal(f->dial.watched.probes_left, 0);
    assert_int_equal(f->notes.deaths, 0);
    fd = be_nb(f, 2, 0xb2);
    assert_death(f, 0xb1);
    close(fd);
}

static void a_reset_and_then_nobody_there_is_proof(void **state)
{
    struct fixture *f = *state;
    int fd = be_nb(f, 1, 0xb1);

    close_listener(f);
    hand_reset(fd);
    AWAIT(f->loop, f->notes.deaths > 0);
    assert_death(f, 0xb1);
    AWAIT(f->loop, f->dial.attempts > 3); /* and it is told once */
    assert_int_equal(f->notes.deaths, 1);
}

/* The kernel may close the connections of a dying process before its listening socket. */
static void the_port_may_close_a_little_later(void **state)
{
    struct fixture *f = *state;
    int fd = be_nb(f, 1, 0xb1), probe;

    close(fd);
    probe = hand_accept(f->loop, f->other_fd);
    close_listener(f);
    hand_reset(probe);
    AWAIT(f->loop, f->notes.deaths > 0);
    assert_death(f, 0xb1);
}

static void the_newest_session_of_a_process_is_the_one_to_close(void **state)
{
    struct fixture *f = *state;
    struct peer_message m = {.kind = PEER_SESSION, .session = peer_credentials(0xb9)};
    int fd = be_nb(f, 1, 0xb1);

    hand_say(fd, &m);
    AWAIT(f->loop, f->dial.watched.reported.session == 0xb9);
    close_listener(f);
    close(fd);
    AWAIT(f->loop, f->notes.deaths > 0);
    assert_death(f, 0xb9);
}

/* ---- no proof ---- */

static void the_same_process_behind_a_reset_lives(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        int fd = be_nb(f, 1, 0xb1);

        i == 1 ? close(fd) : hand_reset(fd);
        AWAIT(f->loop, f->dial.state != DIAL_UP);
    }
    be_nb(f, 1, 0xb1);
    assert_int_equal(f->notes.deaths, 0);
}

static void an_answer_without_the_secret_proves_nothing(void **state)
{
    struct fixture *f = *state;
    int fd = be_nb(f, 1, 0xb1);

    close(fd);
    fd = hand_accept(f->loop, f->other_fd);
    hand_let_in(f->loop, fd, "nb", 2, "another secret!!");
    AWAIT(f->loop, is_back_to_waiting(f));
    assert_int_equal(f->notes.deaths, 0);
    close(fd);
}

static void another_node_at_its_address_proves_nothing(void **state)
{
    struct fixture *f = *state;
    struct peer_message hello;
    int fd = be_nb(f, 1, 0xb1);

    close(fd);
    fd = hand_accept(f->loop, f->other_fd);
    assert_true(hand_hear(f->loop, fd, &hello));
    strcpy(hello.node, "nc");
    hello.incarnation = 2;
    hand_say(fd, &hello);
    assert_false(hand_hear(f->loop, fd, &hello)); /* nor does it get a proof */
    AWAIT(f->loop, is_back_to_waiting(f));
    assert_int_equal(f->notes.deaths, 0);
    close(fd);
}

static void an_end_after_good_bye_proves_nothing(void **state)
{
    struct fixture *f = *state;
    pid_t nb = peer_process("nb", f->other_fd, 0xb1, true);

    close_listener(f);
    AWAIT(f->loop, f->dial.watched.reported.session == 0xb1);
    peer_kill(nb, SIGTERM);
    AWAIT(f->loop, f->dial.attempts > 3);
    assert_int_equal(f->notes.deaths, 0);
}

/* The kernel accepts, and no process answers: frozen, or about to be started again. */
static void silence_proves_nothing(void **state)
{
    struct fixture *f = *state;
    int fd;

    fd = be_nb(f, 1, 0xb1);
    f->self.silence_ms = 40;
    AWAIT(f->loop, is_back_to_waiting(f)); /* it did not beat */
    close(fd);
    f->self.silence_ms = 4000;
    fd = be_nb(f, 1, 0xb1);
    f->self.handshake_ms = 50;
    close(fd);
    AWAIT(f->loop, f->dial.watched.probes_left > 0);
    AWAIT(f->loop, is_back_to_waiting(f)); /* it did not answer */
    close_listener(f);
    AWAIT(f->loop, f->dial.attempts > 3); /* now it is refused, but too late to count */
    assert_int_equal(f->notes.deaths, 0);
}

static void who_still_has_a_connection_to_us_lives(void **state)
{
    struct fixture *f = *state;
    struct peer_message last;
    int fd = be_nb(f, 1, 0xb1), own = hand_dial(f->own_address);

    assert_true(hand_join(f->loop, own, "nb", 1, SECRET, &last));
    assert_true(peer_server_hears(f->server, "nb", 1));
    close_listener(f);
    hand_reset(fd);
    AWAIT(f->loop, f->dial.watched.refusals >= 3);
    assert_int_equal(f->notes.deaths, 0);
    close(own);
    AWAIT(f->loop, f->notes.deaths > 0);
    assert_death(f, 0xb1);
}

static void nor_does_another_process_prove_anything_then(void **state)
{
    struct fixture *f = *state;
    struct peer_message last;
    int fd = be_nb(f, 1, 0xb1), own = hand_dial(f->own_address);

    assert_true(hand_join(f->loop, own, "nb", 1, SECRET, &last));
    close(fd);
    AWAIT(f->loop, f->dial.state != DIAL_UP);
    be_nb(f, 2, 0xb2);
    assert_int_equal(f->notes.deaths, 0);
    close(own);
}

/* Like the host name of a container that was started on another machine. */
/* A polite filter answers new connections with an ICMP message, which connect() calls a
 * refusal.
 */
static void a_packet_filter_that_rejects_proves_nothing(void **state)
{
    char rules[256];
    struct fixture *f;
    int fd;

    if (unshare(CLONE_NEWNET) != 0) { /* the rest of this program is in there, too */
        assert_null(getenv("CI"));
        skip();
    }
    assert_int_equal(system("ip link set lo up"), 0);
    setup(state);
    f = *state;
    fd = be_nb(f, 1, 0xb1);
    snprintf(rules, sizeof(rules),
             "nft 'table ip t { chain c { type filter hook input priority 0; tcp dport %s "
             "tcp flags & (syn|ack) == syn reject with icmp type port-unreachable; }; }'",
             strrchr(f->other.address, ':') + 1);
    assert_int_equal(system(rules), 0);
    close(fd);
    AWAIT(f->loop, is_back_to_waiting(f));
    assert_int_equal(hand_dial(f->other.address), -1);
    assert_int_equal(f->notes.deaths, 0);
    teardown(state);
}

static void another_process_at_another_address_proves_nothing(void **state)
{
    struct fixture *f = *state;
    int fd = be_nb(f, 1, 0xb1);

    close(f->other_fd);
    f->other_fd = peer_listen(f->dial.who.address);
    f->self.silence_ms = 1; /* not by an end of file: its own machine is cut off */
    AWAIT(f->loop, f->dial.state != DIAL_UP);
    f->self.silence_ms = 4000;
    be_nb(f, 2, 0xb2);
    assert_int_equal(f->notes.deaths, 0);
    close(fd);
}

static void who_told_no_session_leaves_nothing_to_close(void **state)
{
    struct fixture *f = *state;
    int fd = hand_accept(f->loop, f->other_fd);

    hand_let_in(f->loop, fd, "nb", 1, SECRET);
    AWAIT(f->loop, f->dial.state == DIAL_UP);
    close_listener(f);
    close(fd);
    AWAIT(f->loop, f->dial.attempts > 3);
    assert_int_equal(f->notes.deaths, 0);
}

#define ON_FIXTURE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FIXTURE(a_killed_process_whose_port_is_closed_is_dead),
        ON_FIXTURE(a_killed_process_is_dead_when_the_next_one_answers),
        ON_FIXTURE(another_incarnation_is_proof_however_late),
        ON_FIXTURE(a_reset_and_then_nobody_there_is_proof),
        ON_FIXTURE(the_port_may_close_a_little_later),
        ON_FIXTURE(the_newest_session_of_a_process_is_the_one_to_close),
        ON_FIXTURE(the_same_process_behind_a_reset_lives),
        ON_FIXTURE(an_answer_without_the_secret_proves_nothing),
        ON_FIXTURE(another_node_at_its_address_proves_nothing),
        ON_FIXTURE(an_end_after_good_bye_proves_nothing),
        ON_FIXTURE(silence_proves_nothing),
        ON_FIXTURE(who_still_has_a_connection_to_us_lives),
        ON_FIXTURE(nor_does_another_process_prove_anything_then),
        ON_FIXTURE(another_process_at_another_address_proves_nothing),
        ON_FIXTURE(who_told_no_session_leaves_nothing_to_close),
        cmocka_unit_test(a_packet_filter_that_rejects_proves_nothing), /* the last one */
    };

    return peer_groups(tests);
}
