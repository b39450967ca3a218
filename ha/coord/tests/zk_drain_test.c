/* The end of a connection whose other side is slow, or never answers. No test depends on the
 * clock: a test that waits in vain ends by SIGALRM.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "ha/coord/zk_io.h"

#define LONG_MS 100000

static struct loop *loop;
static struct zk_drain drain;
static int ours, theirs;
static unsigned ends;
static bool was_over;

static void on_end(struct zk_drain *d, bool is_over)
{
    ends++;
    was_over = is_over;
}

static int setup(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    alarm(60);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    ours = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ours, (struct sockaddr *)&address, size), 0);
    theirs = accept(fd, NULL, NULL);
    close(fd);
    loop = loop_new();
    zk_drain_init(&drain, loop, on_end);
    ends = 0;
    return 0;
}

static int teardown(void **state)
{
    zk_drain_wait(&drain, 0);
    loop_free(loop);
    close(theirs);
    alarm(0);
    return 0;
}

static void turn(void)
{
    event_base_loop(loop->base, EVLOOP_ONCE);
}

/* Does with a socket as the library does. */
static void close_as_the_library_does(void)
{
    struct pollfd fd = {.fd = ours, .events = POLLIN};

    assert_int_equal(send(ours, "bye", 3, MSG_NOSIGNAL), 3);
    assert_int_equal(poll(&fd, 1, -1), 1); /* without the preparation: for ever */
    close(ours);
}

static void begin(int64_t patience_ms)
{
    int kept = zk_drain_prepare(ours);

    assert_true(kept >= 0);
    close_as_the_library_does();
    zk_drain_start(&drain, kept, patience_ms);
}

/* The answer to request number 7. */
static const char answer[] = "\0\0\0\020\0\0\0\007\0\0\0\001\0\0\0\002\0\0\0\0";

#define ANSWER_BYTES (sizeof(answer) - 1)

static void hang_up(void)
{
    char text[8];

    (void)recv(theirs, text, sizeof(text), 0); /* unread bytes would be a reset */
    close(theirs);
    while (!ends)
        turn();
}

static void the_library_does_not_wait_for_a_server_that_is_silent(void **state)
{
    char text[8] = "";

    begin(LONG_MS);
    for (int i = 0; i < 5; i++)
        turn();
    assert_int_equal(ends, 0);
    assert_int_equal(recv(theirs, text, sizeof(text), 0), 3);
    assert_string_equal(text, "bye");
    turn();
    assert_int_equal(ends, 0);
    assert_int_equal(send(theirs, answer, ANSWER_BYTES, 0), ANSWER_BYTES);
    close(theirs);
    while (!ends)
        turn();
    assert_true(was_over);
    assert_int_equal(drain.fd, -1);
}

/* A server that is killed, or has lost its quorum, does so. */
static void who_hangs_up_without_a_word_has_confirmed_nothing(void **state)
{
    begin(LONG_MS);
    hang_up();
    assert_false(was_over);
}

static void the_answer_counts_behind_others_that_were_not_read(void **state)
{
    static const char others[5000];

    assert_int_equal(send(theirs, others, sizeof(others), 0), sizeof(others));
    begin(LONG_MS);
    assert_int_equal(send(theirs, others, 1234, 0), 1234);
    assert_int_equal(send(theirs, answer, ANSWER_BYTES, 0), ANSWER_BYTES);
    hang_up();
    assert_true(was_over);
}

static void what_is_not_that_answer_confirms_nothing(void **state)
{
    static const char *const not_that[] = {
        "\0\0\0\020\377\377\377\376\0\0\0\001\0\0\0\002\0\0\0\0",   /* to a ping */
        "\0\0\0\020\0\0\0\007\0\0\0\001\0\0\0\002\377\377\377\234", /* an error */
        "\0\0\0\021\0\0\0\007\0\0\0\001\0\0\0\002\0\0\0\0",         /* a longer one */
    };

    for (unsigned i = 0; i < sizeof(not_that) / sizeof(not_that[0]); i++) {
        begin(LONG_MS);
        assert_int_equal(send(theirs, not_that[i], ANSWER_BYTES, 0), ANSWER_BYTES);
        hang_up();
        assert_false(was_over);
        teardown(state);
        setup(state);
    }
    begin(LONG_MS); /* cut off in the middle */
    assert_int_equal(send(theirs, answer, ANSWER_BYTES - 1, 0), ANSWER_BYTES - 1);
    hang_up();
    assert_false(was_over);
}

static void the_good_bye_is_read_though_answers_are_not(void **state)
{
    char text[8] = "";

    assert_int_equal(send(theirs, "an answer", 9, 0), 9);
    begin(LONG_MS);
    assert_int_equal(send(theirs, "another", 7, 0), 7);
    turn();
    assert_int_equal(recv(theirs, text, sizeof(text), 0), 3);
    assert_string_equal(text, "bye");
}

static void who_never_hangs_up_has_confirmed_nothing(void **state)
{
    begin(1);
    while (!ends)
        turn();
    assert_false(was_over);
    assert_int_equal(drain.fd, -1);
}

static void a_network_that_takes_nothing_is_shut(void **state)
{
    static char data[65536];

    fcntl(ours, F_SETFL, O_NONBLOCK);
    while (send(ours, data, sizeof(data), MSG_NOSIGNAL) > 0)
        continue;
    assert_int_equal(zk_drain_prepare(ours), -1);
    assert_int_equal(send(ours, "bye", 3, MSG_NOSIGNAL), -1);
    close(ours);
}

static void without_a_loop_it_waits_for_the_end(void **state)
{
    begin(LONG_MS);
    close(theirs);
    zk_drain_wait(&drain, LONG_MS);
    assert_int_equal(drain.fd, -1);
    assert_int_equal(ends, 0);
    zk_drain_wait(&drain, LONG_MS); /* nothing to wait for */
}

#define WITH_A_LOOP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_LOOP(the_library_does_not_wait_for_a_server_that_is_silent),
        WITH_A_LOOP(who_hangs_up_without_a_word_has_confirmed_nothing),
        WITH_A_LOOP(the_answer_counts_behind_others_that_were_not_read),
        WITH_A_LOOP(what_is_not_that_answer_confirms_nothing),
        WITH_A_LOOP(the_good_bye_is_read_though_answers_are_not),
        WITH_A_LOOP(who_never_hangs_up_has_confirmed_nothing),
        WITH_A_LOOP(a_network_that_takes_nothing_is_shut),
        WITH_A_LOOP(without_a_loop_it_waits_for_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
