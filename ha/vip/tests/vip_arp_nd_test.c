/* The packet socket itself: the frames that wake it, and the end of its interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/vip/packet.c"

#include <sys/wait.h>

#include "ha/vip/tests/vip_log_fixture.h"
#include "ha/vip/tests/vip_netns_fixture.h"

static struct loop *loop;
static int tap;
static unsigned heard;

static void on_heard(void *arg, const struct vip_address *a, const char *mac)
{
    assert_string_equal(mac, VB_MAC);
    heard++;
}

static int setup(void **state)
{
    netns_lay_cable(state);
    loop = loop_new();
    tap = netns_tap("vb");
    heard = 0;
    return 0;
}

static int teardown(void **state)
{
    close(tap);
    loop_free(loop);
    return netns_take_cable(state);
}

static struct vip_interface interface_of(const char *name)
{
    struct vip_link *link = vip_link_new();
    struct vip_interface found;
    const char *why;

    assert_int_equal(vip_link_find(link, V4, name, &found, &why), STATUS_OK);
    vip_link_free(link);
    return found;
}

static struct vip_arp_nd *arp_nd_on(const struct vip_address *a, const char *interface)
{
    struct vip_arp_nd *arp_nd = vip_arp_nd_new(loop, a, on_heard, NULL);
    struct vip_interface on = interface_of(interface);

    assert_non_null(arp_nd);
    assert_int_equal(vip_arp_nd_bind(arp_nd, &on), STATUS_OK);
    return arp_nd;
}

static void claim(const struct vip_address *a)
{
    struct vip_frame frames[2];

    vip_packet_announce(a, vb_mac, frames);
    netns_send(tap, frames[0].bytes, frames[0].len);
}

static bool is_in_queue(const struct vip_arp_nd *arp_nd)
{
    char byte;

    return recv(arp_nd->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

static void send_other_traffic(void)
{
    struct vip_addresses others;
    struct vip_frame frame;

    assert_int_equal(vip_addresses_parse(&others, "10.9.0.101,fd09::65"), STATUS_OK);
    for (size_t i = 0; i < others.count; i++) {
        claim(&others.at[i]);
        vip_packet_probe(&both.at[i], vb_mac, &frame);
        netns_send(tap, frame.bytes, frame.len);
    }
}

static void only_what_is_said_of_the_address_wakes_anybody(void **state)
{
    for (size_t i = 0; i < both.count; i++) {
        struct vip_arp_nd *arp_nd = arp_nd_on(&both.at[i], "va");
        char frame[256];

        event_del(arp_nd->readable); /* the queue is for this test */
        send_other_traffic();
        claim(&both.at[1 - i]);
        claim(&both.at[i]);
        AWAIT(loop, is_in_queue(arp_nd));
        assert_true(recv(arp_nd->fd, frame, sizeof(frame), MSG_DONTWAIT) > 0);
        assert_false(is_in_queue(arp_nd));
        vip_arp_nd_free(arp_nd);
    }
}

static void nothing_is_heard_before_it_is_bound(void **state)
{
    struct vip_arp_nd *arp_nd = vip_arp_nd_new(loop, V4, on_heard, NULL),
                      *control = arp_nd_on(V4, "va");

    claim(V4);
    AWAIT(loop, heard > 0); /* by the control */
    assert_false(is_in_queue(arp_nd));
    assert_int_equal(heard, 1);
    vip_arp_nd_free(control);
    vip_arp_nd_free(arp_nd);
}

/* In a process of its own, without capabilities: as the worker is, in the end. */
static void binding_and_announcing_take_no_capability(void **state)
{
    struct vip_arp_nd *arp_nd = vip_arp_nd_new(loop, V4, on_heard, NULL);
    struct vip_interface on = interface_of("va");
    struct vip_frame frames[2];
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (setresuid(65534, 65534, 65534) < 0 || vip_arp_nd_bind(arp_nd, &on) != STATUS_OK)
            _exit(1);
        vip_arp_nd_announce(arp_nd);
        _exit(vip_arp_nd_new(loop, V4, on_heard, NULL) || errno != EPERM);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    vip_packet_announce(V4, on.mac, frames);
    netns_await_frame(loop, tap, frames[0].bytes, frames[0].len);
    vip_arp_nd_free(arp_nd);
}

static void hears_on_the_interface_that_it_was_bound_to_last(void **state)
{
    struct vip_arp_nd *arp_nd;
    struct vip_interface vb = interface_of("vb");
    int tap_va = netns_tap("va");
    struct vip_frame frames[2];

    arp_nd = arp_nd_on(V6, "va");
    claim(V6);
    AWAIT(loop, heard == 1);
    memset(vb.mac, 0, sizeof(vb.mac)); /* that frame is not its own */
    assert_int_equal(vip_arp_nd_bind(arp_nd, &vb), STATUS_OK);
    claim(V6); /* comes out at va */
    vip_packet_announce(V6, vb_mac, frames);
    netns_send(tap_va, frames[0].bytes, frames[0].len);
    AWAIT(loop, heard == 2);
    assert_false(is_in_queue(arp_nd));
    close(tap_va);
    vip_arp_nd_free(arp_nd);
}

/* The error is read once, and then it waits: neither an endless loop nor a dead socket. */
static void an_interface_that_goes_is_left_and_the_next_one_heard(void **state)
{
    struct vip_arp_nd *arp_nd = arp_nd_on(V4, "va");
    struct vip_interface on;
    struct vip_frame frames[2];
    int error = 1;
    socklen_t len = sizeof(error);

    netns_run("ip link del va");
    AWAIT(loop, getsockopt(arp_nd->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0);
    log_forget();
    vip_arp_nd_announce(arp_nd);
    vip_arp_nd_announce(arp_nd);
    assert_int_equal(log_count("cannot announce 10.9.0.100 on va"), 1);
    on = arp_nd->on;
    assert_int_equal(vip_arp_nd_bind(arp_nd, &on), STATUS_IO_ERROR);
    assert_int_equal(arp_nd->on.index, 0);
    vip_arp_nd_announce(arp_nd);
    close(tap);
    netns_lay_cable(state);
    tap = netns_tap("vb");
    on = interface_of("va");
    assert_int_equal(vip_arp_nd_bind(arp_nd, &on), STATUS_OK);
    claim(V4);
    AWAIT(loop, heard == 1);
    vip_arp_nd_announce(arp_nd);
    assert_false(arp_nd->is_silenced);
    vip_packet_announce(V4, on.mac, frames);
    netns_await_frame(loop, tap, frames[0].bytes, frames[0].len);
    vip_arp_nd_free(arp_nd);
}

static void an_interface_that_was_down_is_heard_again_without_binding(void **state)
{
    struct vip_arp_nd *arp_nd = arp_nd_on(V4, "va");

    netns_run("ip link set va down");
    netns_turn(loop);
    vip_arp_nd_announce(arp_nd);
    netns_run("ip link set va up");
    AWAIT(loop, (claim(V4), heard > 0));
    vip_arp_nd_announce(arp_nd);
    assert_false(arp_nd->is_silenced);
    vip_arp_nd_free(arp_nd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_is_said_of_the_address_wakes_anybody),
        TEST(nothing_is_heard_before_it_is_bound),
        TEST(binding_and_announcing_take_no_capability),
        TEST(hears_on_the_interface_that_it_was_bound_to_last),
        TEST(an_interface_that_goes_is_left_and_the_next_one_heard),
        TEST(an_interface_that_was_down_is_heard_again_without_binding),
    };
    int refused = netns_enter();

    return refused ? refused : cmocka_run_group_tests(tests, log_catch, log_let_go);
}
