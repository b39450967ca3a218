/* Two whole links, and strangers that connect to one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "ha/peer/tests/peer_fixture.h"
#include "ha/peer/link.h"
#include "ha/peer/listener.h"

struct fixture {
    struct loop *loop;
    struct peer_node {
        struct peers *link;
        struct peer_name who;
        struct peer_notes notes;
    } a, b;
};

static void start(struct fixture *f, struct peer_node *n, const char *name, const char *secret)
{
    struct peer_options options = peer_options_of(name, secret);

    n->notes = (struct peer_notes){0};
    strcpy(n->who.name, name);
    options.listen_fd = peer_listen(n->who.address);
    n->link = peer_link_new(&options, f->loop);
    peer_note(n->link, &n->notes);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->loop = loop_new();
    hand_use(f->loop);
    start(f, &f->a, "na", SECRET);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    peer_link_free(f->a.link);
    peer_link_free(f->b.link);
    peer_loop_free(f->loop);
    free(f);
    return 0;
}

static void join(struct fixture *f, const char *secret)
{
    start(f, &f->b, "nb", secret);
    peers_set(f->a.link, &f->b.who, 1);
    peers_set(f->b.link, &f->a.who, 1);
}

static bool are_joined(const struct fixture *f)
{
    return peer_link_up_count(f->a.link) == 1 && peer_link_up_count(f->b.link) == 1;
}

static bool is_refused(struct fixture *f, int fd)
{
    struct peer_message m;

    return !hand_hear(f->loop, fd, &m);
}

/* ---- two nodes ---- */

static void two_nodes_find_one_another(void **state)
{
    struct fixture *f = *state;

    join(f, SECRET);
    AWAIT(f->loop, are_joined(f));
}

static void a_question_is_answered_by_a_promise(void **state)
{
    struct fixture *f = *state;
    struct peer_question question = {
        .token = {.ensemble = "0123456789abcdef0123456789abcdef", .epoch = 3},
        .seq = 41,
        .session_ms = 4000};

    join(f, SECRET);
    AWAIT(f->loop, are_joined(f));
    peers_ask(f->a.link, &question);
    AWAIT(f->loop, f->b.notes.questions == 1);
    assert_true(token_equal(&f->b.notes.question.token, &question.token));
    assert_int_equal(f->b.notes.question.session_ms, 4000);
    f->b.notes.promises = true;
    question.seq++;
    peers_ask(f->a.link, &question);
    AWAIT(f->loop, f->a.notes.promised > 0);
    assert_int_equal(f->a.notes.promised, 1); /* not for the one that was not answered */
    assert_int_equal(f->a.notes.promised_seq, 42);
}

static void stop(evutil_socket_t fd, short what, void *arg)
{
    loop_stop(arg);
}

static void the_link_comes_before_others_that_are_ready(void **state)
{
    struct fixture *f = *state;
    struct peer_question question = {
        .token = {.ensemble = "0123456789abcdef0123456789abcdef", .epoch = 3},
        .seq = 41,
        .session_ms = 4000};
    int fd = eventfd(1, 0);
    struct event *ready = event_new(f->loop->base, fd, EV_READ | EV_PERSIST, stop, f->loop);

    join(f, SECRET);
    AWAIT(f->loop, are_joined(f));
    event_add(ready, NULL);
    loop_run(f->loop);
    peers_ask(f->a.link, &question);
    loop_run(f->loop); /* until the other one is served, which has been ready for longer */
    assert_int_equal(f->b.notes.questions, 1);
    event_free(ready);
    close(fd);
}

static void who_comes_later_hears_the_session_too(void **state)
{
    struct fixture *f = *state;
    struct coord_credentials mine = peer_credentials(0xa1), dead = mine;

    peers_report(f->a.link, &mine);
    join(f, SECRET);
    AWAIT(f->loop, are_joined(f));
    mine = peer_credentials(0xa2);
    peers_report(f->a.link, &mine);
    f->b.notes.promises = true;
    peers_ask(f->b.link,
              &(struct peer_question){
                  .token = {.ensemble = "0123456789abcdef0123456789abcdef", .epoch = 1},
                  .session_ms = 2000});
    AWAIT(f->loop, f->a.notes.questions == 1);
    dead = mine;
    peer_link_free(f->a.link); /* without a word: as dead as can be */
    f->a.link = NULL;
    AWAIT(f->loop, f->b.notes.deaths == 1);
    assert_memory_equal(&f->b.notes.dead, &dead, sizeof(dead));
    assert_string_equal(f->b.notes.dead_name, "na");
}

static void who_joins_one_that_leaves_hears_its_good_bye_and_no_session(void **state)
{
    struct fixture *f = *state;
    struct coord_credentials mine = peer_credentials(0xa1);
    int fd = hand_dial(f->a.who.address);
    struct peer_message m;

    peers_report(f->a.link, &mine);
    peers_leave(f->a.link);
    assert_true(hand_join(f->loop, fd, "nb", 3, SECRET, &m));
    assert_true(hand_hear(f->loop, fd, &m));
    assert_int_equal(m.kind, PEER_BYE);
    close(fd);
}

static void who_is_no_longer_named_is_left(void **state)
{
    struct fixture *f = *state;
    struct coord_credentials mine = peer_credentials(0xb1);

    join(f, SECRET);
    peers_report(f->b.link, &mine);
    AWAIT(f->loop, are_joined(f));
    peers_set(f->a.link, NULL, 0);
    assert_int_equal(peer_link_up_count(f->a.link), 0);
    peers_set(f->a.link, &f->b.who, 1);
    AWAIT(f->loop, are_joined(f));
    assert_int_equal(f->a.notes.deaths, 0);
}

/* ---- strangers ---- */

static void another_secret_is_refused_and_hears_nothing(void **state)
{
    struct fixture *f = *state;
    struct coord_credentials mine = peer_credentials(0xa1);
    int fd = hand_dial(f->a.who.address);
    struct peer_message last;

    peers_report(f->a.link, &mine);
    assert_false(hand_join(f->loop, fd, "nx", 9, "not the secret!!", &last));
    assert_int_equal(last.kind, PEER_REFUSED);
    assert_int_equal(last.refusal, PEER_REFUSED_SECRET);
    assert_true(is_refused(f, fd));
    close(fd);
}

static void two_nodes_of_one_name_are_told_so(void **state)
{
    struct fixture *f = *state;
    int fd = hand_dial(f->a.who.address);
    struct peer_message last;

    assert_false(hand_join(f->loop, fd, "na", 9, SECRET, &last));
    assert_int_equal(last.refusal, PEER_REFUSED_NAME);
    close(fd);
}

static void a_recorded_handshake_opens_nothing(void **state)
{
    struct fixture *f = *state;
    struct peer_hellos hellos = {
        .of[PEER_DIALER] = {.kind = PEER_HELLO, .node = "nb", .incarnation = 3}};
    struct peer_message proof = {.kind = PEER_PROOF}, m;

    for (int round = 0; round < 2; round++) {
        int fd = hand_dial(f->a.who.address);

        hand_say(fd, &hellos.of[PEER_DIALER]);
        assert_true(hand_hear(f->loop, fd, round ? &m : &hellos.of[PEER_LISTENER]));
        if (round == 0)
            peer_auth_prove(SECRET, PEER_DIALER, &hellos, proof.mac);
        hand_say(fd, &proof); /* the second time word by word the same */
        assert_true(hand_hear(f->loop, fd, &m));
        assert_int_equal(m.kind, round ? PEER_REFUSED : PEER_PROOF);
        close(fd);
    }
}

/* TLS alone does not tell a node from itself. */
static void a_node_that_is_led_to_itself_is_not_joined(void **state)
{
    struct fixture *f = *state;
    struct peer_name other = {.name = "nb"};

    strcpy(other.address, f->a.who.address);
    peers_set(f->a.link, &other, 1);
    for (int i = 0; i < 100; i++)
        peer_turn(f->loop);
    assert_int_equal(peer_link_up_count(f->a.link), 0);
}

/* A listener that has no secret, and gives back what it was given. */
static void ones_own_proof_given_back_is_none(void **state)
{
    struct fixture *f = *state;
    struct peer_name other = {.name = "nb"};
    int listen_fd = peer_listen(other.address), fd;
    struct peer_message m;

    peers_set(f->a.link, &other, 1);
    fd = hand_accept(f->loop, listen_fd);
    assert_true(hand_hear(f->loop, fd, &m));
    strcpy(m.node, "nb");
    hand_say(fd, &m);
    assert_true(hand_hear(f->loop, fd, &m));
    assert_int_equal(m.kind, PEER_PROOF);
    hand_say(fd, &m);
    assert_true(is_refused(f, fd));
    assert_int_equal(peer_link_up_count(f->a.link), 0);
    close(fd);
    close(listen_fd);
}

static void what_is_no_message_ends_the_connection(void **state)
{
    static const char *const wrong[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "beat\n",
        "bye\n",
        "promise 1\n",
        "\n",
        "proof\n",
        "session 0000000000000001 00000000000000000000000000000000\n",
        "ask 0123456789abcdef0123456789abcdef:0000000000000001 1\n",
    };
    struct fixture *f = *state;
    char endless[PEER_LINE_MAX + 1];
    int fd;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        fd = hand_dial(f->a.who.address);
        hand_say_text(fd, wrong[i]);
        assert_true(is_refused(f, fd));
        close(fd);
    }
    memset(endless, 'x', sizeof(endless));
    endless[PEER_LINE_MAX] = '\0';
    fd = hand_dial(f->a.who.address);
    hand_say_text(fd, endless);
    assert_true(is_refused(f, fd));
    close(fd);
    assert_int_equal(f->a.notes.questions, 0);
}

static void a_hello_in_pieces_is_a_hello(void **state)
{
    struct fixture *f = *state;
    struct peer_message hello = {.kind = PEER_HELLO, .node = "nb", .incarnation = 3}, m;
    int fd = hand_dial(f->a.who.address);
    struct buf line = BUF_INIT;

    peer_wire_print(&hello, &line);
    for (size_t i = 0; i < line.len; i++) {
        hand_say_text(fd, (char[]){line.at[i], '\0'});
        peer_turn(f->loop);
    }
    assert_true(hand_hear(f->loop, fd, &m));
    assert_int_equal(m.kind, PEER_HELLO);
    assert_string_equal(m.node, "na");
    buf_fini(&line);
    close(fd);
}

static void a_crowd_of_strangers_keeps_nobody_out(void **state)
{
    struct fixture *f = *state;
    int strangers[40];
    char byte;

    for (int i = 0; i < 40; i++) {
        strangers[i] = hand_dial(f->a.who.address);
        peer_turn(f->loop);
        peer_turn(f->loop);
    }
    assert_int_equal(recv(strangers[0], &byte, 1, 0), 0); /* the oldest have made room */
    join(f, SECRET);
    AWAIT(f->loop, are_joined(f));
    for (int i = 0; i < 40; i++)
        close(strangers[i]);
}

/* As many as there is room for, whom no clock sends away. */
static void of_too_many_strangers_only_the_oldest_goes(void **state)
{
    struct fixture *f = *state;
    struct peers port = {0};
    struct peer_self self = peer_self_of(f->loop, &port, "nb");
    char address[PEER_ADDR_MAX + 1], byte;
    struct peer_server *server;
    struct peer_message last;
    int strangers[17];

    self.handshake_ms = 3600000;
    server = peer_server_new(&self, peer_listen(address));
    for (int i = 0; i < 17; i++)
        strangers[i] = hand_dial(address);
    assert_true(hand_join(f->loop, strangers[16], "nc", 3, SECRET, &last)); /* and is none */
    assert_int_equal(recv(strangers[0], &byte, 1, 0), 0);
    strangers[0] = hand_dial(address); /* in its room */
    hand_say_text(strangers[0], "beat\n");
    assert_true(is_refused(f, strangers[0]));
    for (int i = 1; i < 16; i++)
        assert_int_equal(recv(strangers[i], &byte, 1, 0), -1);
    for (int i = 0; i < 17; i++)
        close(strangers[i]);
    peer_server_free(server);
}

/* More than there is room for, one after the other. */
static void who_went_leaves_its_room_to_others(void **state)
{
    struct fixture *f = *state;
    struct peer_message last;

    for (unsigned i = 1; i <= 3 * PEERS_MAX; i++) {
        int fd = hand_dial(f->a.who.address);

        assert_true(hand_join(f->loop, fd, "nb", i, SECRET, &last));
        close(fd);
    }
}

static void who_does_not_read_is_cut_off(void **state)
{
    struct fixture *f = *state;
    int fd = hand_dial(f->a.who.address), small = 1;
    struct peer_message last;
    char beats[5000];
    bool is_taken;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    for (size_t i = 0; i < sizeof(beats); i++)
        beats[i] = "beat\n"[i % 5];
    assert_true(hand_join(f->loop, fd, "nb", 3, SECRET, &last));
    do {
        for (int i = 0; i < 20; i++)
            peer_turn(f->loop);
        is_taken = hand_try(fd, bytes_of(beats, sizeof(beats)));
    } while (is_taken);
    close(fd);
}

static void who_says_nothing_is_sent_away(void **state)
{
    struct fixture *f = *state;
    struct peer_options options = peer_options_of("nb", SECRET);
    struct peer_message last;
    int fd;

    options.silence_ms = 20;
    options.listen_fd = peer_listen(f->b.who.address);
    f->b.link = peer_link_new(&options, f->loop);
    fd = hand_dial(f->b.who.address);
    assert_true(hand_join(f->loop, fd, "nc", 3, SECRET, &last));
    assert_true(is_refused(f, fd));
    close(fd);
}

static void of_two_connections_of_a_process_the_newer_one_stays(void **state)
{
    struct fixture *f = *state;
    struct peer_message last, beat = {.kind = PEER_BEAT};
    int old = hand_dial(f->a.who.address), new;

    assert_true(hand_join(f->loop, old, "nb", 3, SECRET, &last));
    new = hand_dial(f->a.who.address);
    assert_true(hand_join(f->loop, new, "nb", 3, SECRET, &last));
    assert_true(is_refused(f, old));
    hand_say(new, &beat);
    assert_true(hand_hear(f->loop, new, &last));
    assert_int_equal(last.kind, PEER_BEAT);
    close(old);
    close(new);
}

#define ON_FIXTURE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FIXTURE(two_nodes_find_one_another),
        ON_FIXTURE(a_question_is_answered_by_a_promise),
        ON_FIXTURE(the_link_comes_before_others_that_are_ready),
        ON_FIXTURE(who_comes_later_hears_the_session_too),
        ON_FIXTURE(who_joins_one_that_leaves_hears_its_good_bye_and_no_session),
        ON_FIXTURE(who_is_no_longer_named_is_left),
        ON_FIXTURE(another_secret_is_refused_and_hears_nothing),
        ON_FIXTURE(two_nodes_of_one_name_are_told_so),
        ON_FIXTURE(a_recorded_handshake_opens_nothing),
        ON_FIXTURE(a_node_that_is_led_to_itself_is_not_joined),
        ON_FIXTURE(ones_own_proof_given_back_is_none),
        ON_FIXTURE(what_is_no_message_ends_the_connection),
        ON_FIXTURE(a_hello_in_pieces_is_a_hello),
        ON_FIXTURE(a_crowd_of_strangers_keeps_nobody_out),
        ON_FIXTURE(of_too_many_strangers_only_the_oldest_goes),
        ON_FIXTURE(who_went_leaves_its_room_to_others),
        ON_FIXTURE(who_does_not_read_is_cut_off),
        ON_FIXTURE(who_says_nothing_is_sent_away),
        ON_FIXTURE(of_two_connections_of_a_process_the_newer_one_stays),
    };

    return peer_groups(tests);
}
