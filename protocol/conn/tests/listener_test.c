#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/list.h"
#include "base/log.h"
#include "protocol/conn/port.h"
#include "protocol/conn/tests/ahead.h"

struct fixture {
    struct listener listener;
    struct loop *loop;
    struct sockaddr_in address;
    int accepted;
    char log[32];
};

static void on_accept(struct listener *l, int fd)
{
    listener_prepare(fd);
    CONTAINER_OF(l, struct fixture, listener)->accepted = fd;
}

static int listen_on_loopback(struct sockaddr_in *address)
{
    socklen_t len = sizeof(*address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)address, len), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &len), 0);
    return fd;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct log_options to_file = {.level = LEVEL_WARN, .modules = "", .file = f->log};

    assert_non_null(f);
    strcpy(f->log, "/tmp/listener_test.XXXXXX");
    close(mkstemp(f->log));
    assert_int_equal(log_configure(&to_file), STATUS_OK);
    f->loop = loop_new_ahead();
    f->accepted = -1;
    listener_init(&f->listener, "gmq", f->loop, listen_on_loopback(&f->address), on_accept);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    static const struct log_options to_stderr = {.level = LEVEL_WARN, .modules = ""};
    struct fixture *f = *state;

    assert_int_equal(log_configure(&to_stderr), STATUS_OK);
    listener_stop(&f->listener);
    loop_free(f->loop);
    unlink(f->log);
    if (f->accepted >= 0)
        close(f->accepted);
    free(f);
    return 0;
}

static int connect_client(struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
    return fd;
}

static void pass(struct fixture *f, int64_t ms)
{
    int64_t until_ms = timers_now(&f->loop->timers) + ms;

    for (; timers_now(&f->loop->timers) < until_ms;) {
        timers_run(&f->loop->timers, timers_now(&f->loop->timers) + 10);
        event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
    }
}

static unsigned warnings(const struct fixture *f)
{
    FILE *log = fopen(f->log, "re");
    unsigned lines = 0;

    assert_non_null(log);
    for (int c; (c = getc(log)) != EOF;)
        lines += c == '\n';
    fclose(log);
    return lines;
}

static int option_of(int fd, int level, int name)
{
    int value = 0;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static int option(int fd, int name)
{
    return option_of(fd, IPPROTO_TCP, name);
}

static void gives_a_silent_peer_all_its_probes(void **state)
{
    struct fixture *f = *state;
    int fd = connect_client(f);
    int a = -1;

    pass(f, 10);
    a = f->accepted;
    assert_true(a >= 0);
    assert_int_equal(option_of(a, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(a, TCP_KEEPIDLE), 5);
    assert_int_equal(option(a, TCP_KEEPINTVL), 1);
    assert_int_equal(option(a, TCP_KEEPCNT), 3);
    assert_int_equal(
        option(a, TCP_USER_TIMEOUT),
        1000 * (option(a, TCP_KEEPIDLE) + option(a, TCP_KEEPCNT) * option(a, TCP_KEEPINTVL)));
    assert_int_equal(option(a, TCP_NODELAY), 1);
    close(fd);
}

/* The client's receive buffer is small: the rest would wait here. */
static void the_kernel_takes_little_for_a_client_that_reads_nothing(void **state)
{
    static char bytes[1 << 20];
    struct fixture *f = *state;
    int fd = connect_client(f), small = 4096, unacked = 0;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    pass(f, 10);
    assert_true(f->accepted >= 0);
    while (send(f->accepted, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
    assert_int_equal(ioctl(f->accepted, SIOCOUTQ, &unacked), 0);
    assert_in_range(unacked, 1, 4 * LISTENER_UNSENT_BYTES);
    close(fd);
}

/* The lowest free one is the next that anybody gets. */
static void forbid_more_descriptors(struct rlimit *before)
{
    int next = dup(0);
    struct rlimit none_left;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    none_left = (struct rlimit){(rlim_t)next, before->rlim_max};
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none_left), 0);
}

static void complains_now_and_then_while_descriptors_are_out(void **state)
{
    struct fixture *f = *state;
    int fd = connect_client(f);
    struct rlimit before;

    forbid_more_descriptors(&before);
    pass(f, 9000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(f->accepted, -1);
    assert_int_equal(warnings(f), 1);

    forbid_more_descriptors(&before);
    pass(f, 3000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(warnings(f), 2);

    pass(f, 200);
    assert_true(f->accepted >= 0);
    close(fd);
}

#define listener_unit_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        listener_unit_test(gives_a_silent_peer_all_its_probes),
        listener_unit_test(the_kernel_takes_little_for_a_client_that_reads_nothing),
        listener_unit_test(complains_now_and_then_while_descriptors_are_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
