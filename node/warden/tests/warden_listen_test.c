#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/warden/listen.h"

static unsigned port_of(int fd)
{
    struct buf text = BUF_INIT;
    unsigned port;

    listen_print(fd, &text);
    port = (unsigned)atoi(strrchr(buf_text(&text), ':') + 1);
    buf_fini(&text);
    return port;
}

static void listens_on_a_port_of_the_systems_choice(void **state)
{
    struct buf text = BUF_INIT;
    int fd;

    assert_int_equal(listen_open("gmq.listen", "127.0.0.1", 0, &fd), STATUS_OK);
    listen_print(fd, &text);
    assert_int_equal(strncmp(buf_text(&text), "127.0.0.1:", 10), 0);
    assert_true(port_of(fd) > 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    buf_fini(&text);
    close(fd);
}

static void refuses_a_port_that_is_taken(void **state)
{
    int first, second = -7;

    assert_int_equal(listen_open("gmq.listen", "127.0.0.1", 0, &first), STATUS_OK);
    assert_int_equal(listen_open("http.listen", "127.0.0.1", port_of(first), &second),
                     STATUS_IO_ERROR);
    assert_int_equal(second, -7);
    close(first);
}

static void refuses_an_address_of_another_machine(void **state)
{
    int fd = -7;

    assert_int_equal(listen_open("gmq.listen", "192.0.2.1", 0, &fd), STATUS_IO_ERROR);
    assert_int_equal(fd, -7);
}

static void a_name_is_ipv4_where_it_can_be(void **state)
{
    struct buf text = BUF_INIT;
    int fd;

    assert_int_equal(listen_open("gmq.listen", "localhost", 0, &fd), STATUS_OK);
    listen_print(fd, &text);
    assert_int_equal(strncmp(buf_text(&text), "127.0.0.1:", 10), 0);
    buf_fini(&text);
    close(fd);
}

static void an_address_of_a_name_that_is_taken_is_not_passed_over(void **state)
{
    int first, second = -7;

    assert_int_equal(listen_open("gmq.listen", "127.0.0.1", 0, &first), STATUS_OK);
    assert_int_equal(listen_open("http.listen", "localhost", port_of(first), &second),
                     STATUS_IO_ERROR);
    assert_int_equal(second, -7);
    close(first);
}

/* Does a client that connects to this address get in? */
static bool is_heard(int fd, int family, const char *host)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port_of(fd))};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port_of(fd))};
    int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

    assert_true(client >= 0);
    if (family == AF_INET) {
        assert_int_equal(inet_pton(AF_INET, host, &v4.sin_addr), 1);
        error = connect(client, (struct sockaddr *)&v4, sizeof(v4));
    } else {
        assert_int_equal(inet_pton(AF_INET6, host, &v6.sin6_addr), 1);
        error = connect(client, (struct sockaddr *)&v6, sizeof(v6));
    }
    close(client);
    return !error;
}

static bool has_ipv6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has_it = fd >= 0 && !bind(fd, (struct sockaddr *)&loopback, sizeof(loopback));

    if (fd >= 0)
        close(fd);
    if (!has_it)
        print_message("this machine has no IPv6: passed over\n");
    return has_it;
}

/* 0, or the errno. */
static int connect_to(int fd)
{
    struct sockaddr_in address;
    socklen_t len = sizeof(address);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    error = connect(client, (struct sockaddr *)&address, sizeof(address)) ? errno : 0;
    close(client);
    return error;
}

static void a_listener_that_refuses_keeps_its_port_and_listens_again(void **state)
{
    int fd = -1;
    struct buf before = BUF_INIT, after = BUF_INIT;

    assert_int_equal(listen_open("test", "127.0.0.1", 0, &fd), STATUS_OK);
    listen_print(fd, &before);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(connect_to(fd), 0);
        listen_refuse(fd);
        assert_int_equal(connect_to(fd), ECONNREFUSED);
        assert_int_equal(listen_again("test", fd), STATUS_OK);
    }
    assert_int_equal(connect_to(fd), 0);
    listen_print(fd, &after);
    assert_string_equal(buf_text(&before), buf_text(&after));
    assert_int_equal(listen_again("test", -1), STATUS_OK); /* one that is off */
    buf_fini(&before);
    buf_fini(&after);
    close(fd);
}

static void everywhere_in_ipv6_hears_ipv4_too(void **state)
{
    struct buf text = BUF_INIT;
    int fd;

    if (!has_ipv6())
        skip();
    assert_int_equal(listen_open("gmq.listen", "::", 0, &fd), STATUS_OK);
    listen_print(fd, &text);
    assert_int_equal(strncmp(buf_text(&text), "[::]:", 5), 0);
    assert_true(is_heard(fd, AF_INET6, "::1"));
    assert_true(is_heard(fd, AF_INET, "127.0.0.1"));
    buf_fini(&text);
    close(fd);
}

static void an_address_in_ipv6_is_that_alone(void **state)
{
    int fd;

    if (!has_ipv6())
        skip();
    assert_int_equal(listen_open("gmq.listen", "::1", 0, &fd), STATUS_OK);
    assert_true(is_heard(fd, AF_INET6, "::1"));
    assert_false(is_heard(fd, AF_INET, "127.0.0.1"));
    close(fd);
}

/* ---- a socket of this machine ---- */

#define PATH "listen_test.sock"

static void a_socket_is_its_owners_alone(void **state)
{
    struct stat about;
    struct buf text = BUF_INIT;
    int fd;

    (void)unlink(PATH);
    assert_int_equal(listen_open_path("admin.socket", PATH, 0600, LEVEL_ERROR, &fd), STATUS_OK);
    assert_int_equal(lstat(PATH, &about), 0);
    assert_true(S_ISSOCK(about.st_mode));
    assert_int_equal(about.st_mode & 07777, 0600);
    listen_print(fd, &text);
    assert_string_equal(buf_text(&text), PATH);
    assert_true(listen_is_local(fd));
    buf_fini(&text);
    close(fd);
    unlink(PATH);
}

static void a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not(void **state)
{
    int first, second = -7;

    (void)unlink(PATH);
    assert_int_equal(listen_open_path("admin.socket", PATH, 0600, LEVEL_ERROR, &first),
                     STATUS_OK);
    assert_int_equal(listen_open_path("admin.socket", PATH, 0600, LEVEL_ERROR, &second),
                     STATUS_IO_ERROR);
    assert_int_equal(second, -7);
    close(first);
    assert_int_equal(listen_open_path("admin.socket", PATH, 0600, LEVEL_ERROR, &second),
                     STATUS_OK);
    close(second);
    unlink(PATH);
}

static void a_socket_replaces_no_file(void **state)
{
    int fd = open(PATH, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(listen_open_path("admin.socket", PATH, 0600, LEVEL_WARN, &fd),
                     STATUS_IO_ERROR);
    assert_int_equal(unlink(PATH), 0);
}

static void the_path_of_a_socket_may_be_too_long(void **state)
{
    char path[200];
    int fd = -7;

    memset(path, 'x', sizeof(path));
    path[108] = '\0';
    assert_int_equal(listen_open_path("admin.socket", path, 0600, LEVEL_WARN, &fd),
                     STATUS_IO_ERROR);
    assert_int_equal(fd, -7);
    path[107] = '\0';
    assert_int_equal(listen_open_path("admin.socket", path, 0600, LEVEL_WARN, &fd), STATUS_OK);
    close(fd);
    unlink(path);
}

static void only_loopback_is_of_this_machine_alone(void **state)
{
    static const struct {
        const char *host;
        bool is_local;
    } rows[] = {{"127.0.0.1", true}, {"127.8.0.9", true}, {"localhost", true},
                {"0.0.0.0", false},  {"::1", true},       {"::", false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int fd;

        if (strchr(rows[i].host, ':') && !has_ipv6())
            continue;
        assert_int_equal(listen_open("admin.listen", rows[i].host, 0, &fd), STATUS_OK);
        assert_int_equal(listen_is_local(fd), rows[i].is_local);
        close(fd);
    }
    assert_false(listen_is_local(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listens_on_a_port_of_the_systems_choice),
        cmocka_unit_test(refuses_a_port_that_is_taken),
        cmocka_unit_test(a_listener_that_refuses_keeps_its_port_and_listens_again),
        cmocka_unit_test(a_name_is_ipv4_where_it_can_be),
        cmocka_unit_test(an_address_of_a_name_that_is_taken_is_not_passed_over),
        cmocka_unit_test(refuses_an_address_of_another_machine),
        cmocka_unit_test(everywhere_in_ipv6_hears_ipv4_too),
        cmocka_unit_test(an_address_in_ipv6_is_that_alone),
        cmocka_unit_test(a_socket_is_its_owners_alone),
        cmocka_unit_test(a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not),
        cmocka_unit_test(a_socket_replaces_no_file),
        cmocka_unit_test(the_path_of_a_socket_may_be_too_long),
        cmocka_unit_test(only_loopback_is_of_this_machine_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
