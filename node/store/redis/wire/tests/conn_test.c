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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_not_kept_while_more_comes),
        cmocka_unit_test(what_was_answered_before_the_end_is_taken_though_writing_fails),
        cmocka_unit_test(an_answer_of_too_much_ends_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
