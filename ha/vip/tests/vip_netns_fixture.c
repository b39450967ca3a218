#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/vip/tests/vip_netns_fixture.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <event2/event.h>

#define SKIPPED 77 /* SKIP_RETURN_CODE */

struct vip_addresses both;
const unsigned char va_mac[6] = {2, 0, 0, 0, 0, 0xa};
const unsigned char vb_mac[6] = {2, 0, 0, 0, 0, 0xb};

int netns_enter(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return 0;
    printf("%s: no network namespace of its own (%s)\n",
           getenv("CI") ? "fails in CI" : "skipped", strerror(errno));
    return getenv("CI") ? 1 : SKIPPED;
}

void netns_run(const char *format, ...)
{
    char command[512];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

bool netns_shows(const char *command, const char *text)
{
    char output[16384];
    FILE *pipe = popen(command, "re");
    size_t len;

    assert_non_null(pipe);
    len = fread(output, 1, sizeof(output) - 1, pipe);
    output[len] = '\0';
    assert_int_equal(pclose(pipe), 0);
    return strstr(output, text);
}

void netns_turn(struct loop *loop)
{
    loop_touch(loop);
    event_base_loop(loop->base, EVLOOP_NONBLOCK);
    poll(NULL, 0, 1);
}

int netns_tap(const char *interface)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

bool netns_has_frame(int tap, const void *frame, size_t len)
{
    char got[2048];
    ssize_t got_len;

    do {
        got_len = recv(tap, got, sizeof(got), MSG_DONTWAIT);
    } while (got_len >= 0 && (got_len != (ssize_t)len || memcmp(got, frame, len) != 0));
    return got_len >= 0;
}

void netns_await_frame(struct loop *loop, int tap, const void *frame, size_t len)
{
    AWAIT(loop, netns_has_frame(tap, frame, len));
}

void netns_send(int tap, const void *frame, size_t len)
{
    ssize_t sent;

    /* A machine with much else on its networks drops frames, and says so. */
    while ((sent = send(tap, frame, len, 0)) < 0 && errno == ENOBUFS)
        poll(NULL, 0, 1);
    assert_int_equal(sent, len);
}

/* An interface that has just come up may lose frames for a while: its queue comes later. */
static void await_cable(const char *from, const char *to)
{
    static const char frame[60] = {[12] = (char)0x88, (char)0xb5, 'h', 'i'};
    int tap_from = netns_tap(from), tap_to = netns_tap(to);

    for (unsigned left = 20000; !netns_has_frame(tap_to, frame, sizeof(frame)); left--) {
        assert_true(left > 0);
        netns_send(tap_from, frame, sizeof(frame));
        poll(NULL, 0, 1);
    }
    close(tap_from);
    close(tap_to);
}

int netns_lay_cable(void **state)
{
    assert_int_equal(vip_addresses_parse(&both, "10.9.0.100,fd09::64"), STATUS_OK);
    netns_run("ip link set lo up");
    netns_run("ip link add va address " VA_MAC " type veth peer name vb address " VB_MAC);
    netns_run("echo 1 >/proc/sys/net/ipv6/conf/vb/disable_ipv6");
    netns_run("ip link set vb arp off up");
    netns_run("ip link set va up");
    netns_run("ip address add 10.9.0.1/24 dev va");
    netns_run("ip address add fd09::1/64 dev va nodad");
    await_cable("va", "vb");
    await_cable("vb", "va");
    return 0;
}

int netns_take_cable(void **state)
{
    netns_run("ip link del vb");
    return 0;
}
