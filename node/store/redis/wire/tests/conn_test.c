/* A connection alone: how much of its written bytes it keeps, and how it ends. */
#include "node/store/redis/wire/conn.h"
#include "base/tests/unit.h"

#include <hiredis/hiredis.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "node/store/redis/wire/address.h"

#define PATIENCE_S    60
#define PIECE_BYTES   65536
#define BEHIND_PIECES 128  /* 8 MiB: more than the kernel takes */
#define READ_PIECES   1024 /* 64 MiB */

#define TIMEOUT_MS (PATIENCE_S * 1000)

static const struct redis_login no_login;

static void on_open(void *arg)
{
    *(bool *)arg = true;
}

static void on_lost(void *arg, const char *why)
{
    fail_msg("%s", why);
}

static int listen_at(struct redis_address *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), bytes = PIECE_BYTES;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)); /* of those it accepts */
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    getsockname(fd, (struct sockaddr *)&at, &len);
    *address = (struct redis_address){.host = "127.0.0.1", .port = ntohs(at.sin_port)};
    return fd;
}

static unsigned replies; /* of those that came, not of those that were lost */

static void count_reply(struct redis_call *call, const struct redisReply *reply)
{
    replies += reply != NULL;
}

static void send_piece(struct redis_conn *c)
{
    static char piece[PIECE_BYTES];
    static struct redis_call calls[BEHIND_PIECES + READ_PIECES];
    static unsigned turn;
    struct redis_call *call = &calls[turn++ % (BEHIND_PIECES + READ_PIECES)];
    const char *argv[] = {piece};
    const size_t lens[] = {sizeof(piece)};

    call->on_reply = count_reply;
    redis_conn_send(c, call, 1, argv, lens);
}

static void read_piece(struct redis_conn *c, int fd)
{
    static char piece[PIECE_BYTES];
    ssize_t len;

    for (size_t left = sizeof(piece); left > 0; left -= len > 0 ? (size_t)len : 0) {
        len = recv(fd, piece, left, MSG_DONTWAIT);
        event_base_loop(c->loop->base, EVLOOP_NONBLOCK);
    }
}

/* Redis reads, but never all that there is: what is kept is what it has yet to read. */
static void what_is_written_is_not_kept_while_more_comes(void **state)
{
    struct loop *loop = loop_new();
    bool is_open = false;
    struct redis_conn_events events = {.on_open = on_open, .on_lost = on_lost, .arg = &is_open};
    struct redis_address address;
    struct redis_conn c;
    int listener = listen_at(&address), fd;

    alarm(PATIENCE_S);
    redis_conn_init(&c, loop, &no_login, TIMEOUT_MS, &events);
    redis_conn_open(&c, &address, address.host);
    while (!is_open)
        event_base_loop(loop->base, EVLOOP_ONCE);
    fd = accept(listener, NULL, NULL);
    for (unsigned i = 0; i < BEHIND_PIECES; i++)
        send_piece(&c);
    event_base_loop(loop->base, EVLOOP_NONBLOCK);
    for (unsigned i = 0; i < READ_PIECES; i++) {
        assert_true(c.is_full);
        send_piece(&c);
        read_piece(&c, fd);
    }
    assert_in_range(c.out.room, 0, 4 * BEHIND_PIECES * PIECE_BYTES);
    alarm(0);
    redis_conn_close(&c);
    redis_conn_fail(&c);
    redis_conn_fini(&c);
    close(fd);
    close(listener);
    loop_free(loop);
}

/* ---- its end ---- */

struct last_words {
    bool is_open; /* first: on_open sets it */
    char why[64];
};

static void keep_why(void *arg, const char *why)
{
    struct last_words *words = arg;

    snprintf(words->why, sizeof(words->why), "%s", why);
}

/* A write that meets the end comes before the look at what has come. */
static void what_was_answered_before_the_end_is_taken_though_writing_fails(void **state)
{
    struct loop *loop = loop_new();
    struct last_words words = {0};
    struct redis_conn_events events = {.on_open = on_open, .on_lost = keep_why, .arg = &words};
    struct redis_address address = {0};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char directory[] = "/tmp/dueq-conn-XXXXXX";
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
    struct redis_conn c;

    assert_non_null(mkdtemp(directory));
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", directory);
    snprintf(address.host, sizeof(address.host), "%s", at.sun_path);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    alarm(PATIENCE_S);
    redis_conn_init(&c, loop, &no_login, TIMEOUT_MS, &events);
    redis_conn_open(&c, &address, address.host);
    while (!words.is_open)
        event_base_loop(loop->base, EVLOOP_ONCE);
    fd = accept(listener, NULL, NULL);
    assert_int_equal(send(fd, "+PONG\r\n", 7, 0), 7);
    close(fd);
    send_piece(&c);
    while (redis_conn_is_open(&c))
        event_base_loop(loop->base, EVLOOP_ONCE);
    alarm(0);
    assert_int_equal(replies, 1);
    assert_string_equal(words.why, "Server closed the connection");
    redis_conn_fail(&c);
    redis_conn_fini(&c);
    close(listener);
    unlink(at.sun_path);
    rmdir(directory);
    loop_free(loop);
}

/* ---- answers without bounds ---- */

/* It begins with `begin` and goes on for ever with one character; '\0': with none. */
static void assert_excess(const char *begin, char more, const char *why)
{
    char piece[4096];
    struct loop *loop = loop_new();
    struct last_words words = {0};
    struct redis_conn_events events = {.on_open = on_open, .on_lost = keep_why, .arg = &words};
    struct redis_address address;
    int listener = listen_at(&address), fd;
    struct redis_conn c;

    alarm(PATIENCE_S);
    memset(piece, more, sizeof(piece));
    redis_conn_init(&c, loop, &no_login, TIMEOUT_MS, &events);
    redis_conn_open(&c, &address, address.host);
    while (!words.is_open)
        event_base_loop(loop->base, EVLOOP_ONCE);
    fd = accept(listener, NULL, NULL);
    send_piece(&c);
    assert_int_equal(send(fd, begin, strlen(begin), 0), strlen(begin));
    while (redis_conn_is_open(&c)) {
        (void)!send(fd, piece, more ? sizeof(piece) : 0, MSG_DONTWAIT | MSG_NOSIGNAL);
        event_base_loop(loop->base, EVLOOP_NONBLOCK);
    }
    alarm(0);
    assert_string_equal(words.why, why);
    redis_conn_fail(&c);
    redis_conn_fini(&c);
    close(fd);
    close(listener);
    loop_free(loop);
}

static void an_answer_of_too_much_ends_the_connection(void **state)
{
    assert_excess("*1000000000\r\n", '\0', "an answer with too many elements");
    assert_excess("$2000000000\r\n", '\0', "a string that is too long");
    assert_excess("+", 'a', "a line that is too long");
    assert_excess("*2\r\n$1\r\na\r\n$", '1', "a line that is too long");
}

/* ---- calls in flight: the order of their answers, and their deadlines ---- */

#define WAIT_MS 1000
#define MORE_MS 250

static struct redis_flight flight;
static struct redis_call calls[3], another;
static unsigned failed;

static int set_up(void **state)
{
    redis_flight_init(&flight, WAIT_MS);
    failed = 0;
    return 0;
}

/* At 0, 100 and 200 ms. */
static void add_three(void)
{
    for (unsigned i = 0; i < 3; i++)
        redis_flight_add(&flight, &calls[i], 100 * i);
}

static void answers_belong_to_the_oldest_call(void **state)
{
    add_three();
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(redis_flight_take(&flight), &calls[i]);
    assert_true(redis_flight_is_empty(&flight));
}

static void the_oldest_call_is_waited_for(void **state)
{
    add_three();
    assert_int_equal(redis_flight_left_ms(&flight, 300), WAIT_MS - 300);
    redis_flight_take(&flight);
    assert_int_equal(redis_flight_left_ms(&flight, 300), WAIT_MS - 200);
    assert_int_equal(redis_flight_left_ms(&flight, WAIT_MS + 99), 1);
}

static void a_call_whose_time_is_over_gets_some_more_once(void **state)
{
    int64_t noticed_ms = WAIT_MS + 50;

    redis_flight_add(&flight, &calls[0], 0);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms), MORE_MS);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms + MORE_MS - 1), 1);
    assert_int_equal(redis_flight_left_ms(&flight, noticed_ms + MORE_MS), 0);
}

static void a_call_that_is_used_again_has_all_its_time_again(void **state)
{
    redis_flight_add(&flight, &calls[0], 0);
    assert_int_equal(redis_flight_left_ms(&flight, WAIT_MS), MORE_MS);
    redis_flight_add(&flight, redis_flight_take(&flight), 2000);
    assert_int_equal(redis_flight_left_ms(&flight, 2000), WAIT_MS);
    assert_int_equal(redis_flight_left_ms(&flight, 2000 + WAIT_MS), MORE_MS);
}

static void fail_one(struct redis_call *call, const struct redisReply *reply)
{
    assert_null(reply);
    assert_ptr_equal(call, &calls[failed++]);
    if (failed == 1)
        redis_flight_add(&flight, &another, 5000); /* on the next connection */
}

static void a_lost_connection_fails_all_its_calls_and_no_later_one(void **state)
{
    add_three();
    for (unsigned i = 0; i < 3; i++)
        calls[i].on_reply = fail_one;
    redis_flight_fail(&flight);
    assert_int_equal(failed, 3);
    assert_ptr_equal(redis_flight_take(&flight), &another);
    assert_true(redis_flight_is_empty(&flight));
}

/* ---- commands ---- */

/* hiredis's way is the measure. */
static void assert_like_hiredis(int argc, const char **argv, const size_t *lens)
{
    struct buf out = BUF_INIT;
    char *expected;
    int len = redisFormatCommandArgv(&expected, argc, argv, lens);

    buf_add_text(&out, "before");
    redis_command_write(&out, argc, argv, lens);
    buf_drop(&out, strlen("before"));
    assert_int_equal(out.len, len);
    assert_memory_equal(out.at, expected, out.len);
    redisFreeCommand(expected);
    buf_fini(&out);
}

static void writes_what_hiredis_writes(void **state)
{
    static char large[123456];
    const char *argv[] = {"EVALSHA", "", "a\r\nb", "\0$3", large, "last argument"};
    size_t lens[] = {7, 0, 4, 3, sizeof(large), 13};

    memset(large, '*', sizeof(large));
    for (int argc = 1; argc <= 6; argc++)
        assert_like_hiredis(argc, argv, lens);
}

static void writes_as_many_arguments_as_there_are(void **state)
{
    const char *argv[120];
    size_t lens[120];

    for (size_t i = 0; i < 120; i++) {
        argv[i] = "0123456789";
        lens[i] = i % 11;
    }
    assert_like_hiredis(120, argv, lens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_not_kept_while_more_comes),
        cmocka_unit_test(what_was_answered_before_the_end_is_taken_though_writing_fails),
        cmocka_unit_test(an_answer_of_too_much_ends_the_connection),
        cmocka_unit_test_setup(answers_belong_to_the_oldest_call, set_up),
        cmocka_unit_test_setup(the_oldest_call_is_waited_for, set_up),
        cmocka_unit_test_setup(a_call_whose_time_is_over_gets_some_more_once, set_up),
        cmocka_unit_test_setup(a_call_that_is_used_again_has_all_its_time_again, set_up),
        cmocka_unit_test_setup(a_lost_connection_fails_all_its_calls_and_no_later_one, set_up),
        cmocka_unit_test(writes_what_hiredis_writes),
        cmocka_unit_test(writes_as_many_arguments_as_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
