/* Lookups against a name server on the same loop: code that blocked the loop would wait for
 * ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/resolve.h"

#define PATIENCE_S 60
#define HEADER     12 /* of a DNS message */
#define TYPE_A     1

static struct loop *loop;
static struct resolve names;
static unsigned done_count;
static bool is_starting;
static int server;
static struct event *server_event;
static char conf[] = "/tmp/dueq-resolv-XXXXXX";

/* A question that is kept waiting. */
static struct {
    unsigned char message[512];
    size_t len;
    struct sockaddr_in from;
} slow;

/* ---- the name server: knows "known", keeps "slow" waiting, is silent about "dead" ---- */

static size_t question_end(const unsigned char *message, size_t len)
{
    size_t at = HEADER;

    while (at < len && message[at])
        at += message[at] + 1u;
    return at + 5;
}

/* 10.1.2.3, or nothing, or that there is no such name. */
static void reply(unsigned char *message, size_t len, const struct sockaddr_in *to,
                  bool is_known)
{
    static const unsigned char record[] = {0xc0, HEADER, 0, TYPE_A, 0,  1, 0, 0,
                                           0,    60,     0, 4,      10, 1, 2, 3};
    size_t end = question_end(message, len);
    bool wants_a = message[end - 3] == TYPE_A;

    message[2] = 0x81;
    message[3] = is_known ? 0x80 : 0x83;
    memset(message + 6, 0, 6);
    if (is_known && wants_a) {
        message[7] = 1;
        memcpy(message + end, record, sizeof(record));
        end += sizeof(record);
    }
    sendto(server, message, end, 0, (const struct sockaddr *)to, sizeof(*to));
}

static void on_question(evutil_socket_t fd, short what, void *arg)
{
    unsigned char message[512] = {0};
    struct sockaddr_in from;
    socklen_t from_len = sizeof(from);
    ssize_t len =
        recvfrom(fd, message, sizeof(message) - 32, 0, (struct sockaddr *)&from, &from_len);

    if (len <= HEADER || strcasestr((char *)message + HEADER + 1, "dead"))
        return;
    if (strcasestr((char *)message + HEADER + 1, "slow")) {
        memcpy(slow.message, message, sizeof(message));
        slow.len = (size_t)len;
        slow.from = from;
    } else {
        reply(message, (size_t)len, &from,
              strcasestr((char *)message + HEADER + 1, "known") != NULL);
    }
}

static void start_server(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    FILE *file;

    server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&at, len), 0);
    getsockname(server, (struct sockaddr *)&at, &len);
    server_event = event_new(loop->base, server, EV_READ | EV_PERSIST, on_question, NULL);
    event_add(server_event, NULL);
    strcpy(conf + strlen(conf) - 6, "XXXXXX");
    file = fdopen(mkstemp(conf), "w");
    fprintf(file, "nameserver 127.0.0.1:%d\n", ntohs(at.sin_port));
    fclose(file);
}

/* ---- around each test ---- */

static void on_done(struct resolve *r)
{
    assert_false(is_starting);
    done_count++;
}

static int setup(void **state)
{
    alarm(PATIENCE_S);
    loop = loop_new();
    start_server();
    slow.len = 0;
    done_count = 0;
    resolve_init(&names, loop, on_done);
    names.conf = conf;
    return 0;
}

static int teardown(void **state)
{
    resolve_fini(&names);
    for (unsigned i = 0; i < 3; i++)
        event_base_loop(loop->base, EVLOOP_NONBLOCK);
    event_free(server_event);
    close(server);
    unlink(conf);
    loop_free(loop);
    alarm(0);
    return 0;
}

static void start(const char *servers)
{
    is_starting = true;
    resolve_start(&names, servers);
    is_starting = false;
}

static void wait_for_done(unsigned count)
{
    while (done_count < count)
        event_base_loop(loop->base, EVLOOP_ONCE);
}

static void assert_found(const char *servers, const char *unknown)
{
    assert_string_equal(buf_text(&names.servers), servers);
    assert_string_equal(names.unknown, unknown);
}

/* ---- tests ---- */

static void addresses_need_no_name_server(void **state)
{
    names.conf = "/nonexistent";
    start("10.0.0.1:2181,[::1]:2182,127.0.0.1:1");
    wait_for_done(1);
    assert_found("10.0.0.1:2181,[::1]:2182,127.0.0.1:1", "");
}

static void the_hosts_file_counts(void **state)
{
    start("localhost:5");
    wait_for_done(1);
    assert_non_null(strstr(buf_text(&names.servers), "127.0.0.1:5"));
}

static void names_are_asked_for(void **state)
{
    start("known.example:7,10.0.0.1:8");
    wait_for_done(1);
    assert_found("10.1.2.3:7,10.0.0.1:8", "");
    start("10.0.0.1:8");
    wait_for_done(2);
    assert_found("10.0.0.1:8", "");
}

static void a_name_that_is_not_there_is_said(void **state)
{
    start("10.0.0.1:8,nobody.example:7");
    wait_for_done(1);
    assert_found("10.0.0.1:8", "nobody.example: no such name");
}

static void what_is_no_address_with_a_port_is_said(void **state)
{
    static const char *const wrong[] = {"host", "host:", ":7", "host:x", "[::1]", "[]:7"};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        start(wrong[i]);
        wait_for_done(i + 1);
        assert_int_equal(names.servers.len, 0);
        assert_non_null(strstr(names.unknown, "not host:port"));
    }
}

static void nothing_is_nothing(void **state)
{
    start(",");
    wait_for_done(1);
    assert_found("", "");
}

static void a_slow_name_does_not_hold_up_the_others(void **state)
{
    start("slow.example:7,known.example:8");
    wait_for_done(1);
    assert_found("10.1.2.3:8", "slow.example: the name service has not answered yet");
    assert_true(slow.len > 0);
    reply(slow.message, slow.len, &slow.from, true);
    wait_for_done(2);
    assert_found("10.1.2.3:7,10.1.2.3:8", "");
}

static char known_when_late[64];

static void on_late(struct timer *timer)
{
    snprintf(known_when_late, sizeof(known_when_late), "%s", buf_text(&names.servers));
    if (slow.len)
        reply(slow.message, slow.len, &slow.from, true);
    slow.len = 0;
}

/* It comes after the first look, at which nothing was known; the dead one takes 15 s. */
static void a_late_name_does_not_wait_for_a_dead_one(void **state)
{
    struct timer late;

    timer_init(&late, on_late);
    start("slow.example:7,dead.example:8");
    timer_arm(&loop->timers, &late, RESOLVE_PATIENCE_MS + 1);
    wait_for_done(1);
    assert_found("10.1.2.3:7", "dead.example: the name service has not answered yet");
}

/* Who needs an address meanwhile has one. */
static void what_was_known_is_kept_while_nothing_new_is(void **state)
{
    struct timer late;

    start("10.0.0.1:8");
    wait_for_done(1);
    timer_init(&late, on_late);
    start("slow.example:7");
    timer_arm(&loop->timers, &late, RESOLVE_PATIENCE_MS + 1);
    wait_for_done(2);
    assert_string_equal(known_when_late, "10.0.0.1:8");
    assert_found("10.1.2.3:7", "");
}

static void what_is_under_way_is_left_to_finish(void **state)
{
    start("known.example:7");
    start("10.0.0.1:8");
    wait_for_done(1);
    assert_found("10.1.2.3:7", "");
}

static void after_cancelling_nobody_is_told(void **state)
{
    start("slow.example:7");
    while (!slow.len)
        event_base_loop(loop->base, EVLOOP_ONCE);
    resolve_cancel(&names);
    start("10.0.0.1:8");
    wait_for_done(1);
    assert_found("10.0.0.1:8", "");
    start("known.example:7");
    resolve_cancel(&names);
    for (unsigned i = 0; i < 10; i++)
        event_base_loop(loop->base, EVLOOP_NONBLOCK);
    assert_int_equal(done_count, 1);
}

#define WITH_A_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_SERVER(addresses_need_no_name_server),
        WITH_A_SERVER(the_hosts_file_counts),
        WITH_A_SERVER(names_are_asked_for),
        WITH_A_SERVER(a_name_that_is_not_there_is_said),
        WITH_A_SERVER(what_is_no_address_with_a_port_is_said),
        WITH_A_SERVER(nothing_is_nothing),
        WITH_A_SERVER(a_slow_name_does_not_hold_up_the_others),
        WITH_A_SERVER(a_late_name_does_not_wait_for_a_dead_one),
        WITH_A_SERVER(what_was_known_is_kept_while_nothing_new_is),
        WITH_A_SERVER(what_is_under_way_is_left_to_finish),
        WITH_A_SERVER(after_cancelling_nobody_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
