/* Addresses in the kernel, checked with ip(8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "ha/vip/link.h"
#include "ha/vip/tests/vip_netns_fixture.h"

static struct vip_link *link_;
static unsigned va;
static const char *why;

static int setup(void **state)
{
    netns_lay_cable(state);
    va = if_nametoindex("va");
    link_ = vip_link_new();
    if (!link_)
        return -1;
    link_->lifetime_s = 60; /* this machine may be slow */
    return 0;
}

static int teardown(void **state)
{
    vip_link_free(link_);
    return netns_take_cable(state);
}

static enum vip_put put(const struct vip_address *a)
{
    why = "";
    return vip_link_put(link_, a, va, &why);
}

static enum vip_presence presence(const struct vip_address *a)
{
    char name[IF_NAMESIZE];

    return vip_link_presence(link_, a, name);
}

#define assert_why(text) assert_non_null(strstr(why, text))

/* ---- putting ---- */

static void is_put_as_one_hosts_with_a_lifetime_and_no_route(void **state)
{
    assert_int_equal(put(V4), VIP_PUT_ADDED);
    assert_true(netns_shows("ip -o address show dev va to 10.9.0.100",
                            "inet 10.9.0.100/32 scope global dynamic noprefixroute va"));
    assert_true(netns_shows("ip route show table local", "local 10.9.0.100 dev va"));
    assert_false(netns_shows("ip route", "10.9.0.100"));
}

static void ipv6_is_usable_at_once_and_no_source_of_connections(void **state)
{
    assert_int_equal(put(V6), VIP_PUT_ADDED);
    assert_true(
        netns_shows("ip -o address show dev va to fd09::64",
                    "fd09::64/128 scope global nodad deprecated dynamic noprefixroute"));
    assert_true(netns_shows("ip -o address show dev va to fd09::64", "preferred_lft 0sec"));
    assert_false(netns_shows("ip -6 route", "fd09::64"));
    assert_true(netns_shows("ip -6 route get fd09::7", "src fd09::1 "));
}

static void of_ipv4_the_hosts_own_address_is_the_source_of_connections(void **state)
{
    assert_int_equal(put(V4), VIP_PUT_ADDED);
    assert_true(netns_shows("ip route get 10.9.0.7", "src 10.9.0.1 "));
    netns_run("ip route add default via 10.9.0.7");
    assert_true(netns_shows("ip route get 10.10.0.7", "src 10.9.0.1 "));
}

static void ipv6_is_taken_up_by_the_kernel_a_moment_later(void **state)
{
    assert_false(vip_link_is_usable(link_, V6));
    assert_int_equal(put(V6), VIP_PUT_ADDED);
    while (!vip_link_is_usable(link_, V6))
        poll(NULL, 0, 1);
    assert_int_equal(vip_link_remove(link_, V6), 1);
    while (vip_link_is_usable(link_, V6))
        poll(NULL, 0, 1);
    netns_run("ip -6 address flush dev va"); /* no route at all */
    assert_false(vip_link_is_usable(link_, V6));
}

static void ipv4_is_taken_up_at_once(void **state)
{
    assert_false(vip_link_is_usable(link_, V4));
    assert_int_equal(put(V4), VIP_PUT_ADDED);
    assert_true(vip_link_is_usable(link_, V4));
}

static void is_renewed_where_it_is_and_added_where_it_is_gone(void **state)
{
    for (unsigned i = 0; i < both.count; i++) {
        assert_int_equal(put(&both.at[i]), VIP_PUT_ADDED);
        assert_int_equal(put(&both.at[i]), VIP_PUT_RENEWED);
        netns_run("ip address flush dev va to %s", both.at[i].text);
        assert_int_equal(put(&both.at[i]), VIP_PUT_ADDED);
        assert_int_equal(presence(&both.at[i]), VIP_IS_OURS);
    }
}

static void stays_for_as_long_as_it_is_renewed_and_then_goes_by_itself(void **state)
{
    int64_t since = clock_mono_ms();

    link_->lifetime_s = VIP_LIFETIME_S;
    assert_int_equal(put(V4), VIP_PUT_ADDED);
    assert_int_equal(put(V6), VIP_PUT_ADDED);
    while (clock_mono_ms() <
           since + 1500) { /* a stall of this test is no error of the kernel */
        int64_t last = clock_mono_ms();
        enum vip_put v4 = put(V4), v6 = put(V6);

        assert_true((v4 == VIP_PUT_RENEWED && v6 == VIP_PUT_RENEWED) ||
                    clock_mono_ms() > last + 500);
        poll(NULL, 0, 100);
    }
    since = clock_mono_ms();
    for (unsigned i = 0; i < both.count; i++) {
        while (presence(&both.at[i]) != VIP_IS_NOWHERE)
            poll(NULL, 0, 10);
        printf("%s went by itself after %d ms\n", both.at[i].text,
               (int)(clock_mono_ms() - since));
    }
}

static void is_not_put_where_ipv6_is_switched_off(void **state)
{
    netns_run("echo 1 >/proc/sys/net/ipv6/conf/va/disable_ipv6");
    assert_int_equal(put(V6), VIP_PUT_FAILED);
    assert_why("disable_ipv6");
    assert_int_equal(put(V4), VIP_PUT_ADDED);
}

static void is_not_put_on_an_interface_that_has_gone(void **state)
{
    struct vip_interface found;

    netns_take_cable(state);
    assert_int_equal(put(V4), VIP_PUT_FAILED);
    assert_why("No such device");
    assert_int_equal(vip_link_look(link_, va, &found, &why), STATUS_NOT_FOUND);
    netns_lay_cable(state);
}

/* In a process of its own, without capabilities. */
static void whoever_may_not_is_told_what_is_missing(void **state)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(setresuid(65534, 65534, 65534) < 0 || put(V4) != VIP_PUT_FAILED ||
              !strstr(why, "CAP_NET_ADMIN"));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(presence(V4), VIP_IS_NOWHERE);
}

/* ---- what is somebody else's ---- */

static void what_is_configured_for_ever_is_left_alone(void **state)
{
    for (unsigned i = 0; i < both.count; i++) {
        const struct vip_address *a = &both.at[i];
        char name[IF_NAMESIZE] = "";

        netns_run("ip address add %s dev va", a->text);
        assert_int_equal(vip_link_presence(link_, a, name), VIP_IS_FOREIGN);
        assert_string_equal(name, "va");
        assert_int_equal(put(a), VIP_PUT_FAILED);
        assert_why("somebody else");
        assert_int_equal(vip_link_remove(link_, a), 0);
        assert_int_equal(presence(a), VIP_IS_FOREIGN);
    }
    assert_true(netns_shows("ip -o address show dev va to 10.9.0.100", "valid_lft forever"));
    assert_true(netns_shows("ip -o address show dev va to fd09::64", "valid_lft forever"));
}

static void a_list_that_cannot_be_read_says_nothing(void **state)
{
    int fd = dup(0);
    struct vip_link *other;

    close(fd); /* the number that the next socket gets */
    other = vip_link_new();
    close(fd);
    assert_int_equal(vip_link_presence(other, V4, (char[IF_NAMESIZE]){""}), VIP_IS_UNKNOWN);
    vip_link_free(other);
}

static void a_lease_of_the_same_address_is_somebody_elses(void **state)
{
    netns_run(
        "ip address add 10.9.0.100/24 dev va noprefixroute valid_lft 30 preferred_lft 30");
    assert_int_equal(presence(V4), VIP_IS_FOREIGN);
    netns_run(
        "ip address add fd09::64/128 dev va noprefixroute valid_lft 600 preferred_lft 600");
    assert_int_equal(presence(V6), VIP_IS_FOREIGN);
    assert_int_equal(vip_link_remove(link_, V6), 0);
    netns_run("ip address flush dev va to 10.9.0.100");
    netns_run("ip address add 10.9.0.100/32 dev va valid_lft 30 preferred_lft 30");
    assert_int_equal(presence(V4), VIP_IS_FOREIGN);
}

static void what_somebody_makes_his_own_while_it_is_held_stays_his(void **state)
{
    for (unsigned i = 0; i < both.count; i++) {
        assert_int_equal(put(&both.at[i]), VIP_PUT_ADDED);
        netns_run("ip address change %s dev va valid_lft forever preferred_lft forever",
                  both.at[i].text);
        assert_int_equal(put(&both.at[i]), VIP_PUT_FAILED);
        assert_why("somebody else");
        assert_int_equal(presence(&both.at[i]), VIP_IS_FOREIGN);
    }
}

static void beside_somebody_elses_with_another_prefix_only_ours_is_removed(void **state)
{
    netns_run("ip address add 10.9.0.100/16 dev va");
    netns_run(
        "ip address add 10.9.0.100/32 dev va noprefixroute valid_lft 60 preferred_lft 60");
    assert_int_equal(presence(V4), VIP_IS_FOREIGN);
    assert_int_equal(vip_link_remove(link_, V4), 1);
    assert_true(netns_shows("ip -o address show dev va to 10.9.0.100", "10.9.0.100/16"));
    assert_false(netns_shows("ip -o address show dev va to 10.9.0.100", "10.9.0.100/32"));
}

/* ---- removing ---- */

static void is_removed_from_every_interface_and_harmlessly_where_it_is_not(void **state)
{
    for (unsigned i = 0; i < both.count; i++) {
        const struct vip_address *a = &both.at[i];

        netns_run("echo 0 >/proc/sys/net/ipv6/conf/vb/disable_ipv6");
        assert_int_equal(vip_link_remove(link_, a), 0);
        assert_int_equal(put(a), VIP_PUT_ADDED);
        assert_int_equal(vip_link_put(link_, a, if_nametoindex("vb"), &why), VIP_PUT_ADDED);
        assert_int_equal(vip_link_remove(link_, a), 2);
        assert_int_equal(presence(a), VIP_IS_NOWHERE);
        assert_int_equal(vip_link_remove(link_, a), 0);
    }
}

static int compare_us(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void removal_takes_little_time(void **state)
{
    int64_t us[101];

    for (unsigned i = 0; i < both.count; i++) {
        for (unsigned n = 0; n < 101; n++) {
            assert_int_equal(put(&both.at[i]), VIP_PUT_ADDED);
            us[n] = clock_mono_us();
            assert_int_equal(vip_link_remove(link_, &both.at[i]), 1);
            us[n] = clock_mono_us() - us[n];
        }
        qsort(us, 101, sizeof(*us), compare_us);
        printf("removal of %s: median %d us, worst of 101 %d us\n", both.at[i].text,
               (int)us[50], (int)us[100]);
    }
}

/* An address that comes and goes, from another process. */
static pid_t disturb(void)
{
    struct vip_addresses one;
    pid_t child = fork();

    if (child != 0)
        return child;
    if (vip_addresses_parse(&one, "10.8.0.9") != STATUS_OK)
        _exit(1);
    vip_link_free(link_);
    link_ = vip_link_new();
    for (;;) {
        (void)put(&one.at[0]);
        (void)vip_link_remove(link_, &one.at[0]);
    }
}

static void a_list_that_changes_while_it_is_read_is_read_again(void **state)
{
    struct vip_addresses one;
    pid_t disturber;
    unsigned found = 0;

    assert_int_equal(vip_addresses_parse(&one, "10.8.0.10"), STATUS_OK);
    for (unsigned i = 10; i < 250; i++) { /* more than one piece of the kernel's answer */
        one.at[0].bytes[3] = (unsigned char)i;
        assert_int_equal(put(&one.at[0]), VIP_PUT_ADDED);
    }
    netns_run("ip address add 10.9.0.100/32 dev va"); /* behind all those */
    disturber = disturb();
    for (unsigned i = 0; i < 2000; i++)
        found += presence(V4) == VIP_IS_FOREIGN;
    assert_int_equal(kill(disturber, SIGKILL), 0);
    assert_int_equal(waitpid(disturber, NULL, 0), disturber);
    assert_int_equal(found, 2000);
}

/* ---- where it belongs ---- */

static enum status find(const char *name, const struct vip_address *a,
                        struct vip_interface *found)
{
    *found = (struct vip_interface){.index = 0};
    why = "";
    return vip_link_find(link_, a, name, found, &why);
}

static void belongs_to_the_interface_with_an_address_of_the_same_subnet(void **state)
{
    static const unsigned char mac[] = {2, 0, 0, 0, 0, 0xa};
    struct vip_interface found;

    for (unsigned i = 0; i < both.count; i++) {
        assert_int_equal(find("", &both.at[i], &found), STATUS_OK);
        assert_string_equal(found.name, "va");
        assert_int_equal(found.index, va);
        assert_memory_equal(found.mac, mac, 6);
        assert_true(found.is_up);
    }
}

static void of_several_subnets_the_smallest_counts(void **state)
{
    struct vip_interface found;

    netns_run("ip address add 10.9.0.2/16 dev vb");
    assert_int_equal(find("", V4, &found), STATUS_OK);
    assert_string_equal(found.name, "va");
    netns_run("ip address add 10.9.0.3/25 dev vb");
    assert_int_equal(find("", V4, &found), STATUS_OK);
    assert_string_equal(found.name, "vb");
    netns_run("ip address add 10.9.0.129/26 dev va"); /* smaller, and not the same */
    assert_int_equal(find("", V4, &found), STATUS_OK);
    assert_string_equal(found.name, "vb");
}

static void where_it_is_put_does_not_say_where_it_belongs(void **state)
{
    struct vip_interface found;

    netns_run("ip address flush dev va");
    assert_int_equal(put(V4), VIP_PUT_ADDED);
    assert_int_equal(find("", V4, &found), STATUS_NOT_FOUND);
    assert_why("same subnet");
    assert_int_equal(found.index, 0);
}

static void belongs_to_the_interface_that_is_named(void **state)
{
    struct vip_interface found;

    assert_int_equal(find("vb", V4, &found), STATUS_OK);
    assert_string_equal(found.name, "vb");
    netns_run("ip link set vb down");
    assert_int_equal(find("vb", V4, &found), STATUS_OK);
    assert_false(found.is_up || found.is_unplugged);
    assert_string_equal(vip_interface_fault(&found, V4), "the interface is down");
    assert_int_equal(find("nope", V4, &found), STATUS_NOT_FOUND);
    assert_why("there is no interface nope");
    assert_int_equal(
        find("a-name-that-no-interface-can-have-because-it-is-too-long", V4, &found),
        STATUS_NOT_FOUND);
}

static void one_without_a_carrier_is_not_up(void **state)
{
    struct vip_interface found;

    netns_run("ip link set vb down"); /* the cable's other end */
    assert_int_equal(find("va", V4, &found), STATUS_OK);
    assert_false(found.is_up);
    assert_string_equal(vip_interface_fault(&found, V4), "the interface has no carrier");
    netns_run("ip link set vb up");
    assert_int_equal(find("va", V4, &found), STATUS_OK);
    assert_null(vip_interface_fault(&found, V4));
}

static void one_without_ipv6_is_for_ipv4_only(void **state)
{
    struct vip_interface found;

    assert_int_equal(find("va", V6, &found), STATUS_OK);
    assert_null(vip_interface_fault(&found, V6));
    netns_run("echo 1 >/proc/sys/net/ipv6/conf/va/disable_ipv6");
    assert_int_equal(find("va", V6, &found), STATUS_OK);
    assert_non_null(strstr(vip_interface_fault(&found, V6), "disable_ipv6"));
    assert_null(vip_interface_fault(&found, V4));
    netns_run("ip link set va mtu 1000"); /* less than IPv6 takes */
    assert_int_equal(find("va", V6, &found), STATUS_OK);
    assert_true(found.is_ipv6_off);
}

static bool is_edge(const char *text)
{
    struct vip_addresses one;

    assert_int_equal(vip_addresses_parse(&one, text), STATUS_OK);
    return vip_link_is_edge(link_, &one.at[0]);
}

static void the_first_and_the_last_of_a_subnet_are_no_hosts(void **state)
{
    assert_true(is_edge("10.9.0.0") && is_edge("10.9.0.255"));
    assert_false(is_edge("10.9.0.100") || is_edge("10.9.1.255") || is_edge("fd09::"));
    netns_run("ip address add 10.8.0.20/30 dev vb");
    assert_true(is_edge("10.8.0.20") && is_edge("10.8.0.23"));
    assert_false(is_edge("10.8.0.21") || is_edge("10.8.0.24"));
    netns_run("ip address add 10.7.0.2/31 dev vb");
    assert_false(is_edge("10.7.0.2") || is_edge("10.7.0.3"));
}

static void neighbours_are_told_by_ethernet_only(void **state)
{
    struct vip_interface found;

    assert_int_equal(find("lo", V4, &found), STATUS_WRONG_STATE);
    assert_why("lo has no hardware address");
    netns_run("ip address add 10.9.0.7/25 dev lo");
    assert_int_equal(find("", V4, &found), STATUS_WRONG_STATE);
    assert_why("lo has no hardware address");
    netns_run("ip address del 10.9.0.7/25 dev lo");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_put_as_one_hosts_with_a_lifetime_and_no_route),
        TEST(ipv6_is_usable_at_once_and_no_source_of_connections),
        TEST(of_ipv4_the_hosts_own_address_is_the_source_of_connections),
        TEST(ipv6_is_taken_up_by_the_kernel_a_moment_later),
        TEST(ipv4_is_taken_up_at_once),
        TEST(is_renewed_where_it_is_and_added_where_it_is_gone),
        TEST(stays_for_as_long_as_it_is_renewed_and_then_goes_by_itself),
        TEST(is_not_put_where_ipv6_is_switched_off),
        TEST(is_not_put_on_an_interface_that_has_gone),
        TEST(whoever_may_not_is_told_what_is_missing),
        TEST(what_is_configured_for_ever_is_left_alone),
        TEST(a_list_that_cannot_be_read_says_nothing),
        TEST(a_lease_of_the_same_address_is_somebody_elses),
        TEST(what_somebody_makes_his_own_while_it_is_held_stays_his),
        TEST(beside_somebody_elses_with_another_prefix_only_ours_is_removed),
        TEST(is_removed_from_every_interface_and_harmlessly_where_it_is_not),
        TEST(removal_takes_little_time),
        TEST(a_list_that_changes_while_it_is_read_is_read_again),
        TEST(belongs_to_the_interface_with_an_address_of_the_same_subnet),
        TEST(of_several_subnets_the_smallest_counts),
        TEST(where_it_is_put_does_not_say_where_it_belongs),
        TEST(belongs_to_the_interface_that_is_named),
        TEST(one_without_a_carrier_is_not_up),
        TEST(one_without_ipv6_is_for_ipv4_only),
        TEST(the_first_and_the_last_of_a_subnet_are_no_hosts),
        TEST(neighbours_are_told_by_ethernet_only),
    };
    int refused = netns_enter();

    return refused ? refused : cmocka_run_group_tests(tests, NULL, NULL);
}
