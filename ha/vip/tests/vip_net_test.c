/* The virtual address on a cable: frames that come out at the other end, and frames from there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ha/vip/link.h"

/* A kernel that takes its time to take an IPv6 address up. */
static bool is_kernel_slow;

static bool is_usable(struct vip_link *l, const struct vip_address *a)
{
    return !is_kernel_slow && vip_link_is_usable(l, a);
}

#define vip_link_is_usable is_usable
#include "ha/vip/net.c"
#undef vip_link_is_usable

#include "base/clock.h"
#include "ha/vip/tests/vip_contract.h"
#include "ha/vip/tests/vip_log_fixture.h"
#include "ha/vip/tests/vip_netns_fixture.h"
#include "ha/vip/packet.h"

static struct loop *loop;
static struct vip_net *net;
static struct vip *vip;
static int tap; /* of vb */
static const char *why;
static bool may;

static bool may_hold(void *arg)
{
    return may;
}

static void on_state(void *arg, enum vip_state state)
{
}

static int setup(void **state)
{
    struct vip_options options = {
        .ops = &vip_net_ops, .may_hold = may_hold, .on_state = on_state};

    log_forget();
    netns_lay_cable(state);
    loop = loop_new();
    net = vip_net_new(loop, &both, "");
    options.addresses = both;
    options.ops_arg = net;
    options.timers = &loop->timers;
    vip = vip_new(&options);
    vip_net_listen(net, vip);
    tap = netns_tap("vb");
    may = true;
    is_kernel_slow = false;
    return net ? 0 : -1;
}

static int teardown(void **state)
{
    close(tap);
    vip_free(vip);
    vip_net_free(net);
    loop_free(loop);
    return netns_take_cable(state);
}

static enum vip_put put_on(const struct vip_address *a)
{
    why = "";
    return vip_net_ops.put(net, a, &why);
}

#define assert_why(text) assert_non_null(strstr(why, text))

/* ---- the contract ---- */

static void wait_ms(int64_t ms)
{
    poll(NULL, 0, (int)ms);
}

static void set_broken(bool is_broken)
{
    netns_run("ip link set va %s", is_broken ? "down" : "up");
    if (!is_broken)
        netns_run("ip address replace fd09::1/64 dev va nodad"); /* lost when it went down */
}

static void check_contract(const struct vip_address *a)
{
    const struct vip_contract contract = {.ops = &vip_net_ops,
                                          .arg = net,
                                          .address = a,
                                          .now_ms = clock_mono_ms,
                                          .wait_ms = wait_ms,
                                          .set_broken = set_broken};

    vip_contract_check(&contract);
}

static void the_machines_network_keeps_the_contract_with_ipv4(void **state)
{
    check_contract(V4);
}

static void the_machines_network_keeps_the_contract_with_ipv6(void **state)
{
    check_contract(V6);
}

/* ---- what others hear ---- */

static void await_announcement(const struct vip_address *a, const unsigned char mac[6])
{
    struct vip_frame frames[2];
    unsigned count = vip_packet_announce(a, mac, frames);

    for (unsigned i = 0; i < count; i++)
        netns_await_frame(loop, tap, frames[i].bytes, frames[i].len);
}

/* Is one among the frames that have come out by now? */
static bool is_announced(const struct vip_address *a, const unsigned char mac[6])
{
    struct vip_frame frames[2];

    vip_packet_announce(a, mac, frames);
    return netns_has_frame(tap, frames[0].bytes, frames[0].len);
}

static void await_probe(const struct vip_address *a)
{
    struct vip_frame frame;

    vip_packet_probe(a, va_mac, &frame);
    netns_await_frame(loop, tap, frame.bytes, frame.len);
}

/* A machine that is so slow leaves it to the next announcement (on_fresh in net.c). */
static void assert_announces(const struct vip_address *a)
{
    bool is_out = false;

    for (unsigned tries = 20; !is_out; tries--) {
        assert_true(tries > 0);
        vip_net_ops.announce(net, a);
        AWAIT(loop, !timer_is_armed(&binding_of(net, a)->fresh));
        for (unsigned left = 1000; !(is_out = is_announced(a, va_mac)) && left > 0; left--)
            netns_turn(loop);
    }
}

static void announcements_and_probes_come_out_at_the_other_end(void **state)
{
    for (size_t i = 0; i < both.count; i++) {
        assert_int_equal(put_on(&both.at[i]), VIP_PUT_ADDED);
        assert_announces(&both.at[i]);
        vip_net_ops.probe(net, &both.at[i]);
        await_probe(&both.at[i]);
        assert_string_equal(vip_net_interface(net, &both.at[i]), "va");
    }
}

/* The leader before removes it when it hears of it. */
static void is_announced_when_the_kernel_takes_what_is_sent_to_it(void **state)
{
    const struct binding *p = binding_of(net, V6);
    bool is_out = false;

    for (unsigned left = 20; !is_out && left > 0; left--) { /* this machine may be slow, too */
        is_kernel_slow = true;
        assert_int_equal(put_on(V6), VIP_PUT_ADDED);
        vip_net_ops.announce(net, V6);
        assert_true(timer_is_armed(&p->fresh));
        AWAIT(loop, timers_now(&loop->timers) > p->added_mono_ms);
        assert_false(is_announced(V6, va_mac));
        is_kernel_slow = false;
        AWAIT(loop, !timer_is_armed(&p->fresh));
        is_out = is_announced(V6, va_mac);
        vip_net_ops.remove(net, V6);
    }
    assert_true(is_out);
}

static void ipv4_does_not_wait_for_that(void **state)
{
    is_kernel_slow = true;
    assert_int_equal(put_on(V4), VIP_PUT_ADDED);
    vip_net_ops.announce(net, V4);
    assert_false(timer_is_armed(&binding_of(net, V4)->fresh));
    await_announcement(V4, va_mac);
}

static void what_is_removed_before_it_is_usable_is_not_announced(void **state)
{
    is_kernel_slow = true;
    assert_int_equal(put_on(V6), VIP_PUT_ADDED);
    vip_net_ops.announce(net, V6);
    vip_net_ops.remove(net, V6);
    assert_false(timer_is_armed(&binding_of(net, V6)->fresh));
}

static void what_is_not_usable_for_long_is_left_to_the_next_announcement(void **state)
{
    const struct binding *p = binding_of(net, V6);

    is_kernel_slow = true;
    assert_int_equal(put_on(V6), VIP_PUT_ADDED);
    vip_net_ops.announce(net, V6);
    AWAIT(loop, !timer_is_armed(&p->fresh));
    assert_true(timers_now(&loop->timers) >= p->added_mono_ms + FRESH_MS);
    assert_false(is_announced(V6, va_mac));
    assert_announces(V6);
}

static void before_it_was_put_nothing_is_sent(void **state)
{
    assert_string_equal(vip_net_interface(net, V4), "");
    vip_net_ops.announce(net, V4);
    vip_net_ops.probe(net, V4);
    vip_net_ops.remove(net, V4);
}

/* Another host, whose kernel answers what it is asked and learns from what it hears. */
static void a_neighbours_cache_follows_the_announcement(void **state)
{
    netns_run("ip link set vb arp on");
    netns_run("echo 0 >/proc/sys/net/ipv6/conf/vb/disable_ipv6");
    netns_run("ip neighbour replace 10.9.0.100 lladdr 02:00:00:00:00:99 dev vb nud stale");
    netns_run("ip neighbour replace fd09::64 lladdr 02:00:00:00:00:99 dev vb nud stale");
    for (size_t i = 0; i < both.count; i++) {
        char command[64];

        snprintf(command, sizeof(command), "ip neighbour show %s dev vb", both.at[i].text);
        assert_int_equal(put_on(&both.at[i]), VIP_PUT_ADDED);
        AWAIT(loop, (vip_net_ops.announce(net, &both.at[i]), netns_shows(command, VA_MAC)));
    }
}

/* ---- what is heard ---- */

static void claim(const struct vip_address *a, const unsigned char mac[6])
{
    struct vip_frame frames[2];
    unsigned count = vip_packet_announce(a, mac, frames);

    for (unsigned i = 0; i < count; i++)
        netns_send(tap, frames[i].bytes, frames[i].len);
}

static void claim_from_other_end(const struct vip_address *a)
{
    claim(a, vb_mac);
}

/* An address that is handed over goes when the successor is heard. It would go after a second
 * as well, so the log must say why it went. On a machine too slow for that the test tries again
 * with another host, because a host heard while the address was held again is in conflict, and
 * no successor. */
static void assert_hears(void)
{
    unsigned char mac[6] = {2, 0, 0, 0, 0xcc, 0};

    for (; !log_count("has 10.9.0.100 now") || !log_count("has fd09::64 now"); mac[5]++) {
        assert_true(mac[5] < 20);
        vip_take(vip);
        assert_true(vip_is_here(vip));
        vip_hand_over(vip);
        claim(V4, mac);
        claim(V6, mac);
        AWAIT(loop, vip_state(vip) == VIP_AWAY);
    }
    assert_false(netns_shows("ip -o address", "10.9.0.100"));
    assert_false(netns_shows("ip -o address", "fd09::64"));
}

static void the_successors_announcement_ends_a_hand_over(void **state)
{
    assert_hears();
}

static void a_stranger_is_a_conflict_and_known_by_its_hardware_address(void **state)
{
    vip_take(vip);
    for (size_t i = 0; i < both.count; i++) {
        AWAIT(loop, (claim_from_other_end(&both.at[i]), vip_stats(vip)->conflicts == i + 1));
        assert_string_equal(vip_conflict(vip), VB_MAC);
    }
}

/* Another host that has it and says nothing: its kernel answers. */
static void a_stranger_in_silence_is_found_by_asking(void **state)
{
    netns_run("echo 1 >/proc/sys/net/ipv4/conf/vb/arp_ignore");
    netns_run("ip link set vb arp on");
    netns_run("ip address add 10.9.0.100/16 dev vb"); /* va has the smaller subnet */
    vip_take(vip);
    AWAIT(loop, vip_stats(vip)->conflicts > 0);
    assert_string_equal(vip_conflict(vip), VB_MAC);
}

/* ---- interfaces that come and go ---- */

static void an_interface_that_is_down_or_unplugged_is_said_so(void **state)
{
    netns_run("ip link set va down");
    assert_int_equal(put_on(V4), VIP_PUT_FAILED);
    assert_why("va: the interface is down");
    netns_run("ip link set va up");
    netns_run("ip link set vb down"); /* the cable's other end */
    assert_int_equal(put_on(V4), VIP_PUT_FAILED);
    assert_why("va: the interface has no carrier");
    netns_run("ip link set vb up");
    assert_int_equal(put_on(V4), VIP_PUT_ADDED);
    vip_net_ops.announce(net, V4);
    await_announcement(V4, va_mac);
}

static void an_interface_that_was_down_for_a_while_hears_again(void **state)
{
    vip_take(vip);
    netns_run("ip link set va down");
    AWAIT(loop, !vip_is_here(vip));
    assert_non_null(strstr(vip_why(vip), "down"));
    netns_run("ip link set va up");
    netns_run("ip address replace fd09::1/64 dev va nodad");
    AWAIT(loop, vip_is_here(vip));
    assert_hears();
}

static void an_interface_that_is_another_now_is_found_and_told(void **state)
{
    static const unsigned char new_mac[6] = {2, 0, 0, 0, 0, 0x1a};
    unsigned before = if_nametoindex("va");

    vip_take(vip);
    netns_run("ip link del va");
    close(tap);
    AWAIT(loop, !vip_is_here(vip));
    assert_non_null(strstr(vip_why(vip), "same subnet"));
    netns_lay_cable(state);
    netns_run("ip link set va down");
    netns_run("ip link set va name va2 address 02:00:00:00:00:1a");
    netns_run("ip link set va2 up");
    netns_run("ip address replace fd09::1/64 dev va2 nodad");
    tap = netns_tap("vb");
    AWAIT(loop, vip_is_here(vip));
    assert_int_not_equal(if_nametoindex("va2"), before);
    assert_string_equal(vip_net_interface(net, V4), "va2");
    await_announcement(V4, new_mac);
    await_announcement(V6, new_mac);
    assert_int_equal(vip_stats(vip)->restored, 2);
    assert_hears();
}

static void a_new_hardware_address_is_announced(void **state)
{
    static const unsigned char new_mac[6] = {2, 0, 0, 0, 0, 0x1a};

    vip_take(vip);
    netns_run("ip link set va address 02:00:00:00:00:1a");
    AWAIT(loop, vip_stats(vip)->restored == 2);
    await_announcement(V4, new_mac);
    await_announcement(V6, new_mac);
    assert_true(vip_is_here(vip));
}

static void an_interface_that_lost_its_subnet_keeps_the_address(void **state)
{
    assert_int_equal(put_on(V4), VIP_PUT_ADDED);
    netns_run("ip address del 10.9.0.1/24 dev va"); /* as a DHCP client does at times */
    assert_int_not_equal(put_on(V4), VIP_PUT_FAILED);
    vip_net_ops.remove(net, V4);
    assert_int_equal(put_on(V4), VIP_PUT_FAILED); /* but it is not chosen again */
}

static void a_named_interface_is_taken_whatever_its_subnet(void **state)
{
    struct vip_net *named = vip_net_new(loop, &both, "vb");

    AWAIT(loop, vip_net_ops.put(named, V4, &why) != VIP_PUT_FAILED &&
                    netns_shows("ip -o address show dev vb", "10.9.0.100/32"));
    vip_net_free(named);
    named = vip_net_new(loop, &both, "nope");
    assert_int_equal(vip_net_ops.put(named, V4, &why), VIP_PUT_FAILED);
    assert_why("there is no interface nope");
    vip_net_free(named);
}

static void one_that_has_another_name_now_is_not_the_named_one(void **state)
{
    struct vip_net *named = vip_net_new(loop, &both, "va");

    assert_int_equal(vip_net_ops.put(named, V4, &why), VIP_PUT_ADDED);
    netns_run("ip link set va down");
    netns_run("ip link set va name va2");
    netns_run("ip link set va2 up");
    assert_int_equal(vip_net_ops.put(named, V4, &why), VIP_PUT_FAILED);
    assert_why("there is no interface va");
    assert_false(netns_shows("ip -o address", "10.9.0.100"));
    assert_string_equal(vip_net_interface(named, V4), "");
    vip_net_free(named);
}

static void what_somebody_else_configures_is_told_with_its_interface(void **state)
{
    netns_run("ip address add 10.9.0.100/32 dev va");
    assert_int_equal(put_on(V4), VIP_PUT_FAILED);
    assert_why("va: somebody else");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_machines_network_keeps_the_contract_with_ipv4),
        TEST(the_machines_network_keeps_the_contract_with_ipv6),
        TEST(announcements_and_probes_come_out_at_the_other_end),
        TEST(is_announced_when_the_kernel_takes_what_is_sent_to_it),
        TEST(ipv4_does_not_wait_for_that),
        TEST(what_is_removed_before_it_is_usable_is_not_announced),
        TEST(what_is_not_usable_for_long_is_left_to_the_next_announcement),
        TEST(before_it_was_put_nothing_is_sent),
        TEST(a_neighbours_cache_follows_the_announcement),
        TEST(the_successors_announcement_ends_a_hand_over),
        TEST(a_stranger_is_a_conflict_and_known_by_its_hardware_address),
        TEST(a_stranger_in_silence_is_found_by_asking),
        TEST(an_interface_that_is_down_or_unplugged_is_said_so),
        TEST(an_interface_that_was_down_for_a_while_hears_again),
        TEST(an_interface_that_is_another_now_is_found_and_told),
        TEST(a_new_hardware_address_is_announced),
        TEST(an_interface_that_lost_its_subnet_keeps_the_address),
        TEST(a_named_interface_is_taken_whatever_its_subnet),
        TEST(one_that_has_another_name_now_is_not_the_named_one),
        TEST(what_somebody_else_configures_is_told_with_its_interface),
    };
    int refused = netns_enter();

    return refused ? refused : cmocka_run_group_tests(tests, log_catch, log_let_go);
}
