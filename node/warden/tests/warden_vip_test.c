/* The address that a worker leaves behind, on a cable of the test's own; time is virtual, but
 * for the kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ha/vip/link.h"
#include "ha/vip/tests/vip_netns_fixture.h"
#include "ha/vip/packet.h"
#include "node/warden/listen.h"
#include "node/warden/vip.h"

#define LONG_S    1000 /* so that the kernel takes none away meanwhile */
#define SLOW_S    10
#define PORT      8000 /* of the namespace: all are free */
#define PORT_TEXT "8000"

static struct warden_vip v;
static int tap;

static int setup(void **state)
{
    netns_lay_cable(state);
    tap = netns_tap("vb");
    v = (struct warden_vip){
        .link = vip_link_new(), .addresses = both, .locks = {-1, -1, -1, -1}};
    v.link->lifetime_s = LONG_S;
    return 0;
}

static int teardown(void **state)
{
    warden_vip_fini(&v);
    close(tap);
    return netns_take_cable(state);
}

static void put(const struct vip_address *a)
{
    struct vip_interface on;
    const char *why;

    assert_int_equal(vip_link_find(v.link, a, "va", &on, &why), STATUS_OK);
    assert_int_equal(vip_link_put(v.link, a, on.index, &why), VIP_PUT_ADDED);
}

/* Of LONG_S: so it shows that it was renewed. */
static void put_for_half(const struct vip_address *a)
{
    v.link->lifetime_s = LONG_S / 2;
    put(a);
    v.link->lifetime_s = LONG_S;
}

static bool is_here(const struct vip_address *a)
{
    char name[IF_NAMESIZE];

    return vip_link_presence(v.link, a, name) == VIP_IS_OURS;
}

/* By a host with this hardware address, to va. */
static void announce(const struct vip_address *a, unsigned char last_of_mac)
{
    const unsigned char mac[6] = {2, 0, 0, 0, 0, last_of_mac};
    struct vip_frame frames[2];
    unsigned count = vip_packet_announce(a, mac, frames);

    for (unsigned i = 0; i < count; i++)
        netns_send(tap, frames[i].bytes, frames[i].len);
}

static void hear(void)
{
    struct pollfd fds[VIP_ADDRESSES_MAX];
    size_t count = warden_vip_fds(&v, fds);

    assert_true(count > 0);
    assert_true(poll(fds, count, 10000) > 0);
    warden_vip_hear(&v);
}

/* ---- a worker that has died ---- */

static void each_address_stays_until_another_host_is_heard_to_have_it(void **state)
{
    put(V4);
    put(V6);
    assert_true(warden_vip_leave(&v, 5000));
    assert_true(is_here(V4) && is_here(V6));
    announce(V6, 0xb);
    hear();
    assert_true(is_here(V4) && !is_here(V6));
    assert_int_equal(warden_vip_tick(&v, 5100), WARDEN_VIP_LEAVING_MS - 100);
    announce(V4, 0xb);
    hear();
    assert_false(is_here(V4));
    assert_false(warden_vip_is_leaving(&v));
    assert_int_equal(warden_vip_tick(&v, 5101), -1);
}

static void it_goes_in_time_though_nobody_is_heard(void **state)
{
    put(V4);
    put(V6);
    assert_true(warden_vip_leave(&v, 5000));
    announce(V4, 0xa); /* what this host has said itself, come back */
    hear();
    assert_int_equal(warden_vip_tick(&v, 5000 + WARDEN_VIP_LEAVING_MS - 1), 1);
    assert_true(is_here(V4) && is_here(V6));
    assert_int_equal(warden_vip_tick(&v, 5000 + WARDEN_VIP_LEAVING_MS), -1);
    assert_false(is_here(V4) || is_here(V6));
    assert_false(warden_vip_is_leaving(&v));
}

static void its_time_begins_when_others_are_about_to_know(void **state)
{
    put(V4);
    assert_true(warden_vip_leave(&v, 5000));
    warden_vip_leave_from(&v, 5080);
    assert_int_equal(warden_vip_tick(&v, 5000 + WARDEN_VIP_LEAVING_MS), 80);
    assert_int_equal(warden_vip_tick(&v, 5080 + WARDEN_VIP_LEAVING_MS), -1);
    assert_false(is_here(V4));
    warden_vip_leave_from(&v, 6000);
    assert_false(warden_vip_is_leaving(&v));
}

static void what_is_not_here_is_not_waited_for(void **state)
{
    struct pollfd fds[VIP_ADDRESSES_MAX];

    assert_false(warden_vip_leave(&v, 5000));
    put(V6);
    assert_true(warden_vip_leave(&v, 6000));
    assert_int_equal(warden_vip_fds(&v, fds), 1);
    announce(V6, 0xb);
    hear();
    assert_false(warden_vip_is_leaving(&v));
}

static void what_others_have_configured_is_left_alone(void **state)
{
    netns_run("ip address add 10.9.0.100/24 dev va");
    assert_false(warden_vip_leave(&v, 5000));
    assert_true(netns_shows("ip -o address show va", "10.9.0.100/24"));
}

static void the_next_death_is_another_one(void **state)
{
    for (int64_t now = 5000; now < 5003; now++) {
        put(V4);
        assert_true(warden_vip_leave(&v, now));
        announce(V4, 0xb);
        hear();
        assert_int_equal(warden_vip_tick(&v, now), -1);
        assert_false(is_here(V4));
    }
}

static void without_an_address_nothing_is_done(void **state)
{
    struct warden_vip none = {.link = NULL};
    struct pollfd fds[VIP_ADDRESSES_MAX];

    assert_false(warden_vip_leave(&none, 5000));
    assert_int_equal(warden_vip_fds(&none, fds), 0);
    assert_int_equal(warden_vip_tick(&none, 5000), -1);
    assert_int_equal(
        warden_vip_renew(&none, &(struct warden_vip_word){.until_boot_ms = 6000}, 5000, 5000),
        -1);
}

/* ---- one that hangs ---- */

static void read_incarnation(void *arg, const struct vip_entry *e)
{
    if (!memcmp(e->local, V4->bytes, 4))
        *(unsigned *)arg = e->valid_s;
}

/* Of V4, as the kernel has it; it counts down, and this machine may be slow. */
static bool lives_for(unsigned seconds)
{
    unsigned life_s = 0;

    assert_int_equal(vip_link_list(v.link, AF_INET, 0, read_incarnation, &life_s), 0);
    return life_s <= seconds && life_s + SLOW_S >= seconds;
}

/* Heard at 5000; its lease ends at 77000, by the other clock. */
static const struct warden_vip_word word = {.heard_mono_ms = 5000, .until_boot_ms = 77000};

/* As long as the worker is there, killed or not; and each time for as long as a worker would:
 * where the warden dies with it, another node leads soon. */
static void a_silent_workers_address_is_renewed_as_the_worker_would(void **state)
{
    put_for_half(V4);
    assert_int_equal(warden_vip_renew(&v, &word, 5000 + VIP_RENEW_MS - 1, 76000), 1);
    assert_true(lives_for(LONG_S / 2));
    assert_int_equal(warden_vip_renew(&v, &word, 5000 + VIP_RENEW_MS, 76999), VIP_RENEW_MS);
    assert_true(lives_for(LONG_S));
    assert_false(is_here(V6)); /* which was not */
    assert_int_equal(warden_vip_renew(&v, &word, 5400, 76999), 2 * VIP_RENEW_MS - 400);
    assert_int_equal(warden_vip_renew(&v, &word, 90000, 76999), VIP_RENEW_MS);
    assert_true(is_here(V4));
}

static void one_that_is_heard_renews_it_itself(void **state)
{
    struct warden_vip_word again = word;

    put_for_half(V4);
    for (; again.heard_mono_ms < 9000; again.heard_mono_ms += VIP_RENEW_MS - 1)
        assert_int_equal(warden_vip_renew(&v, &again, again.heard_mono_ms + 1, 76000),
                         VIP_RENEW_MS - 1);
    assert_true(lives_for(LONG_S / 2));
}

static void without_a_lease_it_is_not(void **state)
{
    struct warden_vip_word none = word;

    put_for_half(V4);
    assert_int_equal(warden_vip_renew(&v, &word, 6000, 77000), -1);
    none.until_boot_ms = 0;
    assert_int_equal(warden_vip_renew(&v, &none, 6000, 70000), -1);
    assert_true(lives_for(LONG_S / 2));
}

static void one_that_has_gone_is_not_put_back(void **state)
{
    warden_vip_renew(&v, &word, 6000, 76000);
    assert_false(is_here(V4) || is_here(V6));
}

/* Half of 4000 ms of silence, or the lease's end and half of what its last renewal leaves. */
static void it_is_ended_while_the_address_is_here(void **state)
{
    assert_int_equal(warden_vip_hang_by(&v, &word, 4000, 6000, 76000), 7350);
    assert_int_equal(warden_vip_hang_by(&v, &word, 4000, 8000, 78000), 7350);
    assert_int_equal(warden_vip_hang_by(&v, &word, 20000, 6000, 76000), 5000 + 10000);
}

static void without_a_lease_or_an_address_it_has_all_its_time(void **state)
{
    const struct warden_vip none = {.link = NULL};

    assert_int_equal(warden_vip_hang_by(&v, &(struct warden_vip_word){.heard_mono_ms = 5000},
                                        4000, 6000, 76000),
                     0);
    assert_int_equal(warden_vip_hang_by(&none, &word, 4000, 6000, 76000), 0);
}

/* ---- clients that nobody has accepted ---- */

/* From this host's own address to the virtual one; connected by the kernel alone. */
static int client_of(const char *own, const char *to)
{
    const struct timeval patience = {.tv_sec = 20};
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *from, *server;
    int fd;

    assert_int_equal(getaddrinfo(own, NULL, &hints, &from), 0);
    assert_int_equal(getaddrinfo(to, PORT_TEXT, &hints, &server), 0);
    fd = socket(from->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(bind(fd, from->ai_addr, from->ai_addrlen), 0);
    /* Of IPv6 the kernel takes some ms before it accepts what is sent to it. */
    for (int left = 20000; connect(fd, server->ai_addr, server->ai_addrlen); left--) {
        assert_true(left > 0);
        usleep(1000);
    }
    freeaddrinfo(from);
    freeaddrinfo(server);
    return fd;
}

/* A warden that is slow: the kernel has taken the address away before who came is refused. */
static void who_came_hears_the_end_though_the_address_has_gone(void **state)
{
    int listener, clients[2];
    char byte;

    netns_run("ip link set lo up");
    assert_int_equal(listen_open("http.listen", "::", PORT, &listener), STATUS_OK);
    listen_outlive_address(listener);
    put(V4);
    put(V6);
    clients[0] = client_of("10.9.0.1", "10.9.0.100");
    clients[1] = client_of("::1", "fd09::64"); /* the cable's may not be usable yet */
    warden_vip_remove(&v);
    assert_false(is_here(V4) || is_here(V6));
    listen_refuse(listener);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(recv(clients[i], &byte, 1, 0), -1);
        assert_int_equal(errno, ECONNRESET);
        close(clients[i]);
    }
    close(listener);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_address_stays_until_another_host_is_heard_to_have_it),
        TEST(it_goes_in_time_though_nobody_is_heard),
        TEST(its_time_begins_when_others_are_about_to_know),
        TEST(what_is_not_here_is_not_waited_for),
        TEST(what_others_have_configured_is_left_alone),
        TEST(the_next_death_is_another_one),
        TEST(without_an_address_nothing_is_done),
        TEST(a_silent_workers_address_is_renewed_as_the_worker_would),
        TEST(one_that_is_heard_renews_it_itself),
        TEST(without_a_lease_it_is_not),
        TEST(one_that_has_gone_is_not_put_back),
        TEST(it_is_ended_while_the_address_is_here),
        TEST(without_a_lease_or_an_address_it_has_all_its_time),
        TEST(who_came_hears_the_end_though_the_address_has_gone),
    };
    int refused = netns_enter();

    return refused ? refused : cmocka_run_group_tests(tests, NULL, NULL);
}
