/* What a supervisor hears, over a socket that is the test's, at times that are the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/log.h"
#include "node/warden/notify.h"

#define QUEUE_MAX 4096 /* more than any machine's net.unix.max_dgram_qlen */

struct context {
    int listening;
    char dir[64], path[100];
    struct notifier told;
    struct notifier_facts facts;
};

static const struct notifier_facts serving = {
    .worker = CHILD_UP, .redis = CHILD_IDLE, .is_store_up = true};

/* A supervisor at a path, or with '@' in the abstract space. */
static void listen_at(struct context *c, const char *address)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(address);

    memcpy(to.sun_path, address, len);
    if (*address == '@')
        to.sun_path[0] = '\0';
    c->listening = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(c->listening, (struct sockaddr *)&to,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", address, 1), 0);
}

static int site_up(void **state)
{
    struct context *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    strcpy(c->dir, "/tmp/warden_notify_test.XXXXXX");
    assert_non_null(mkdtemp(c->dir));
    snprintf(c->path, sizeof(c->path), "%s/notify", c->dir);
    c->listening = -1;
    c->told.notify.fd = -1;
    *state = c;
    return 0;
}

static int site_down(void **state)
{
    struct context *c = *state;

    notifier_fini(&c->told);
    if (c->listening >= 0)
        close(c->listening);
    unlink(c->path);
    assert_int_equal(rmdir(c->dir), 0);
    free(c);
    return 0;
}

static void start(struct context *c)
{
    listen_at(c, c->path);
    notifier_init(&c->told);
}

/* The next message, or "". */
static const char *heard(struct context *c)
{
    static char text[2048];
    ssize_t len = recv(c->listening, text, sizeof(text) - 1, 0);

    text[len > 0 ? len : 0] = '\0';
    return text;
}

#define HEARS(s, text) assert_string_equal(heard(s), text)

static void is_ready_when_the_store_has_been_reached(void **state)
{
    struct context *c = *state;
    struct notifier_facts facts = {.waits_for_redis = true};

    start(c);
    notifier_tick(&c->told, &facts, 100);
    HEARS(c, "STATUS=waiting for the embedded Redis");
    facts = (struct notifier_facts){.worker = CHILD_STARTING};
    notifier_tick(&c->told, &facts, 200);
    HEARS(c, "STATUS=starting");
    facts.worker = CHILD_UP;
    notifier_tick(&c->told, &facts, 300);
    HEARS(c, "STATUS=Redis, or ZooKeeper, has not been reached yet: requests wait; `dueqctl "
             "status` says more");
    notifier_tick(&c->told, &facts, 400);
    HEARS(c, "");
    notifier_tick(&c->told, &serving, 500);
    HEARS(c, "READY=1\nSTATUS=serving");
    assert_int_equal(notifier_tick(&c->told, &serving, 600), -1);
    HEARS(c, "");
}

static void is_ready_without_the_store_after_some_patience(void **state)
{
    const struct notifier_facts facts = {.worker = CHILD_UP};
    struct context *c = *state;

    start(c);
    assert_int_equal(notifier_tick(&c->told, &facts, 1000), NOTIFIER_PATIENCE_MS);
    assert_non_null(strstr(heard(c), "STATUS=Redis, or ZooKeeper"));
    assert_int_equal(notifier_tick(&c->told, &facts, 1000 + NOTIFIER_PATIENCE_MS - 1), 1);
    HEARS(c, "");
    notifier_tick(&c->told, &facts, 1000 + NOTIFIER_PATIENCE_MS);
    assert_int_equal(strncmp(heard(c), "READY=1\nSTATUS=Redis, or ZooKeeper", 34), 0);
    notifier_tick(&c->told, &serving, 30000);
    HEARS(c, "STATUS=serving");
}

/* Then it may be that none ever works. */
static void a_worker_that_dies_again_and_again_is_not_ready(void **state)
{
    struct notifier_facts facts = {.worker = CHILD_UP};
    struct context *c = *state;

    start(c);
    for (int64_t now = 0; now < 4 * NOTIFIER_PATIENCE_MS; now += NOTIFIER_PATIENCE_MS / 2) {
        facts.worker = facts.worker == CHILD_UP ? CHILD_BACKOFF : CHILD_UP;
        notifier_tick(&c->told, &facts, now);
        assert_null(strstr(heard(c), "READY"));
    }
    facts.worker = CHILD_BACKOFF;
    notifier_tick(&c->told, &facts, 5 * NOTIFIER_PATIENCE_MS);
    HEARS(c, "STATUS=the worker has ended: a new one is about to start");
}

static void is_ready_once(void **state)
{
    const struct notifier_facts without_worker = {.worker = CHILD_BACKOFF};
    struct context *c = *state;

    start(c);
    notifier_tick(&c->told, &serving, 100);
    HEARS(c, "READY=1\nSTATUS=serving");
    notifier_tick(&c->told, &without_worker, 200);
    HEARS(c, "STATUS=the worker has ended: a new one is about to start");
    notifier_tick(&c->told, &serving, 300);
    HEARS(c, "STATUS=serving");
}

static void says_once_that_it_stops(void **state)
{
    const struct notifier_facts stopping = {.is_stopping = true, .worker = CHILD_STOPPING};
    struct context *c = *state;

    start(c);
    notifier_tick(&c->told, &serving, 100);
    heard(c);
    notifier_tick(&c->told, &stopping, 200);
    HEARS(c, "STOPPING=1\nSTATUS=stopping");
    notifier_tick(&c->told, &stopping, 300);
    HEARS(c, "");
}

static void a_stop_at_the_start_is_not_ready(void **state)
{
    const struct notifier_facts stopping = {
        .is_stopping = true, .worker = CHILD_UP, .is_store_up = true};
    struct context *c = *state;

    start(c);
    notifier_tick(&c->told, &stopping, 100);
    HEARS(c, "STOPPING=1\nSTATUS=stopping");
}

static void says_when_it_reads_its_configuration_again(void **state)
{
    struct context *c = *state;

    start(c);
    notifier_reloading(&c->told, 5);
    notifier_reloaded(&c->told);
    HEARS(c, ""); /* it is not ready yet */
    notifier_tick(&c->told, &serving, 100);
    heard(c);
    notifier_reloading(&c->told, 1234567);
    notifier_reloaded(&c->told);
    HEARS(c, "RELOADING=1\nMONOTONIC_USEC=1234567");
    HEARS(c, "READY=1");
}

static void the_watchdog_hears_it_twice_in_its_time(void **state)
{
    struct context *c = *state;

    setenv("WATCHDOG_USEC", "3000000", 1);
    start(c);
    assert_int_equal(notifier_tick(&c->told, &serving, 10000), 1500);
    HEARS(c, "READY=1\nSTATUS=serving");
    HEARS(c, "WATCHDOG=1");
    assert_int_equal(notifier_tick(&c->told, &serving, 11000), 500);
    HEARS(c, "");
    assert_int_equal(notifier_tick(&c->told, &serving, 11500), 1500);
    HEARS(c, "WATCHDOG=1");
}

static void the_watchdog_does_not_hear_of_a_child_that_cannot_be_killed(void **state)
{
    struct notifier_facts facts = serving;
    struct context *c = *state;

    setenv("WATCHDOG_USEC", "3000000", 1);
    start(c);
    facts.worker = CHILD_KILLED;
    assert_int_equal(notifier_tick(&c->told, &facts, 10000), 1500);
    assert_non_null(strstr(heard(c), "STATUS="));
    HEARS(c, "");
    notifier_tick(&c->told, &serving, 10100);
    assert_non_null(strstr(heard(c), "READY=1"));
    HEARS(c, "WATCHDOG=1");
}

static void a_watchdog_of_another_process_is_not_ours(void **state)
{
    struct context *c = *state;

    setenv("WATCHDOG_USEC", "3000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    start(c);
    notifier_tick(&c->told, &serving, 10000);
    HEARS(c, "READY=1\nSTATUS=serving");
    HEARS(c, "");
}

static void a_name_in_the_abstract_space(void **state)
{
    struct context *c = *state;
    char name[100];

    snprintf(name, sizeof(name), "@%s", c->dir);
    listen_at(c, name);
    notifier_init(&c->told);
    notifier_tick(&c->told, &serving, 100);
    HEARS(c, "READY=1\nSTATUS=serving");
}

static void what_it_starts_hears_nothing_of_the_socket(void **state)
{
    struct context *c = *state;

    setenv("WATCHDOG_USEC", "3000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    start(c);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
}

static void without_a_supervisor_nothing_happens(void **state)
{
    struct context *c = *state;

    setenv("WATCHDOG_USEC", "3000000", 1);
    notifier_init(&c->told);
    assert_int_equal(c->told.notify.fd, -1);
    assert_int_equal(notifier_tick(&c->told, &serving, 100), -1);
    notifier_reloading(&c->told, 1);
    notifier_reloaded(&c->told);
}

static void an_address_that_is_none_is_passed_over(void **state)
{
    char too_long[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "/";
    const char *addresses[] = {"", "/", "notify", "vsock:2:1234", too_long};
    struct context *c = *state;

    memset(too_long + 1, 'a', sizeof(too_long) - 2);
    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        setenv("NOTIFY_SOCKET", addresses[i], 1);
        notifier_init(&c->told);
        assert_int_equal(c->told.notify.fd, -1);
        assert_int_equal(notifier_tick(&c->told, &serving, 100), -1);
    }
}

/* It must neither wait nor forget. */
static void a_supervisor_that_does_not_read_hears_it_later(void **state)
{
    struct context *c = *state;
    unsigned sent = 0;
    bool is_there = false;

    start(c);
    while (!*c->told.notify.unsent && sent++ < QUEUE_MAX)
        notify_send(&c->told.notify, "STATUS=noise");
    assert_string_equal(c->told.notify.unsent, "STATUS=noise");
    assert_int_equal(notifier_tick(&c->told, &serving, 100), NOTIFY_RETRY_MS);
    while (*heard(c))
        ;
    assert_int_equal(notifier_tick(&c->told, &serving, 200), -1);
    for (const char *text; *(text = heard(c));)
        is_there |= strstr(text, "READY=1\nSTATUS=serving") != NULL;
    assert_true(is_there);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, site_up, site_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_ready_when_the_store_has_been_reached),
        TEST(is_ready_without_the_store_after_some_patience),
        TEST(a_worker_that_dies_again_and_again_is_not_ready),
        TEST(is_ready_once),
        TEST(says_once_that_it_stops),
        TEST(a_stop_at_the_start_is_not_ready),
        TEST(says_when_it_reads_its_configuration_again),
        TEST(the_watchdog_hears_it_twice_in_its_time),
        TEST(the_watchdog_does_not_hear_of_a_child_that_cannot_be_killed),
        TEST(a_watchdog_of_another_process_is_not_ours),
        TEST(a_name_in_the_abstract_space),
        TEST(what_it_starts_hears_nothing_of_the_socket),
        TEST(without_a_supervisor_nothing_happens),
        TEST(an_address_that_is_none_is_passed_over),
        TEST(a_supervisor_that_does_not_read_hears_it_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
