#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ha/vip/packet.h"

static const unsigned char mac[6] = {2, 0, 0, 0, 0, 0xa};
static const unsigned char other_mac[6] = {2, 0, 0, 0, 0, 0xb};
static struct vip_addresses both; /* 10.9.0.100, fd09::64 */

/* As RFC 826 and 5227 have them. */
static const unsigned char arp_request[] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0,   0, 0xa, 8, 6,       /* to everybody */
    0,    1,    8,    0,    6,    4,    0,  1,                             /* a request */
    2,    0,    0,    0,    0,    0xa,  10, 9, 0, 100, 0, 0,   0, 0, 0, 0, /* whose it is */
    10,   9,    0,    100,
};
static const unsigned char arp_reply[] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,   0,  0, 0, 0,   0xa, 8, 6, 0, 1, 8,   0,  6, 4, 0,
    2,    2,    0,    0,    0,    0,    0xa, 10, 9, 0, 100, 2,   0, 0, 0, 0, 0xa, 10, 9, 0, 100,
};
static const unsigned char arp_probe[] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,   0, 0, 0, 0, 0xa, 8, 6, 0, 1, 8, 0,  6, 4, 0,
    1,    2,    0,    0,    0,    0,    0xa, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0, 10, 9, 0, 100,
};
/* As RFC 4861 has them; the checksums are from elsewhere (Python). */
static const unsigned char advertisement[] = {
    0x33, 0x33, 0,    0,    0,    1,  2,  0,   0, 0, 0, 0xa, 0x86, 0xdd, /* to all nodes */
    0x60, 0,    0,    0,    0,    32, 58, 255,                           /* ICMPv6, one hop */
    0xfd, 9,    0,    0,    0,    0,  0,  0,   0, 0, 0, 0,   0,    0,
    0,    0x64, /* from the address */
    0xff, 2,    0,    0,    0,    0,  0,  0,   0, 0, 0, 0,   0,    0,
    0,    1,                                 /* to all nodes */
    136,  0,    0x59, 0xba, 0x20, 0,  0,  0, /* override */
    0xfd, 9,    0,    0,    0,    0,  0,  0,   0, 0, 0, 0,   0,    0,
    0,    0x64,                                /* the target */
    2,    1,    2,    0,    0,    0,  0,  0xa, /* its hardware address */
};
static const unsigned char
    solicitation[] =
        {
            0x33, 0x33, 0xff, 0,    0, 0x64, 2,  0,  0,    0, 0,    0xa, 0x86,
            0xdd, 0x60, 0,    0,    0, 0,    24, 58, 255,  0, 0,    0,   0,
            0,    0,    0,    0,    0, 0,    0,  0,  0,    0, 0,    0, /* from nobody */
            0xff, 2,    0,    0,    0, 0,    0,  0,  0,    0, 0,    1,   0xff,
            0,    0,    0x64, /* to who may have it */
            135,  0,    0x7c, 0xd6, 0, 0,    0,  0,  0xfd, 9, 0,    0,   0,
            0,    0,    0,    0,    0, 0,    0,  0,  0,    0, 0x64,
};

#define V4           (&both.at[0])
#define V6           (&both.at[1])
#define FRAME(array) bytes_of((const char *)(array), sizeof(array))

static int setup(void **state)
{
    return vip_addresses_parse(&both, "10.9.0.100,fd09::64") == STATUS_OK ? 0 : -1;
}

static void assert_frame(const struct vip_frame *frame, struct bytes expected)
{
    assert_int_equal(frame->len, expected.len);
    assert_memory_equal(frame->bytes, expected.at, expected.len);
}

/* ---- what is said ---- */

static void an_ipv4_address_is_announced_as_a_request_and_as_a_reply(void **state)
{
    struct vip_frame frames[2];

    assert_int_equal(vip_packet_announce(V4, mac, frames), 2);
    assert_frame(&frames[0], FRAME(arp_request));
    assert_frame(&frames[1], FRAME(arp_reply));
}

static void an_ipv6_address_is_announced_by_an_advertisement_that_overrides(void **state)
{
    struct vip_frame frames[2];

    assert_int_equal(vip_packet_announce(V6, mac, frames), 1);
    assert_frame(&frames[0], FRAME(advertisement));
}

static void a_probe_says_nothing_of_its_sender(void **state)
{
    struct vip_frame frame;

    vip_packet_probe(V4, mac, &frame);
    assert_frame(&frame, FRAME(arp_probe));
    vip_packet_probe(V6, mac, &frame);
    assert_frame(&frame, FRAME(solicitation));
}

static void the_checksum_of_any_address_and_hardware_is_right_to_ourselves(void **state)
{
    struct vip_frame frames[2];
    unsigned char from[6] = {4}, heard[6];

    for (unsigned i = 0; i < 70000; i += 7) { /* carries of all kinds */
        V6->bytes[15] = (unsigned char)i;
        V6->bytes[14] = (unsigned char)(i >> 8);
        from[5] = (unsigned char)(i >> 3);
        vip_packet_announce(V6, from, frames);
        assert_true(
            vip_packet_read(bytes_of((char *)frames[0].bytes, frames[0].len), V6, mac, heard));
        assert_memory_equal(heard, from, 6);
    }
}

/* ---- what is heard ---- */

static bool is_heard(struct bytes frame, const struct vip_address *a)
{
    unsigned char heard[6] = {9};
    bool is = vip_packet_read(frame, a, other_mac, heard);

    assert_int_equal(heard[0], is ? mac[0] : 9); /* untouched */
    return is;
}

/* The frame with one byte changed. */
static bool is_heard_with(struct bytes frame, const struct vip_address *a, size_t at,
                          unsigned value)
{
    char changed[VIP_FRAME_MAX];

    memcpy(changed, frame.at, frame.len);
    assert_int_not_equal((unsigned char)changed[at], value);
    changed[at] = (char)value;
    return is_heard(bytes_of(changed, frame.len), a);
}

static void every_announcement_names_who_has_it(void **state)
{
    unsigned char heard[6];

    assert_true(is_heard(FRAME(arp_request), V4));
    assert_true(is_heard(FRAME(arp_reply), V4));
    assert_true(is_heard(FRAME(advertisement), V6));
    assert_true(vip_packet_read(FRAME(advertisement), V6, other_mac, heard));
    assert_memory_equal(heard, mac, 6);
}

static void who_asks_for_another_with_it_as_the_sender_has_it(void **state)
{
    assert_true(is_heard_with(FRAME(arp_request), V4, 41, 7)); /* who has 10.9.0.7? */
    assert_true(is_heard_with(FRAME(arp_reply), V4, 41, 7));
}

static void own_frames_and_those_of_another_address_say_nothing(void **state)
{
    unsigned char heard[6];

    assert_false(vip_packet_read(FRAME(arp_request), V4, mac, heard));
    assert_false(vip_packet_read(FRAME(advertisement), V6, mac, heard));
    assert_false(is_heard(FRAME(arp_request), V6));
    assert_false(is_heard(FRAME(advertisement), V4));
    assert_false(is_heard_with(FRAME(arp_request), V4, 31, 101)); /* sender 10.9.0.101 */
    V6->bytes[15]++;
    assert_false(is_heard(FRAME(advertisement), V6));
}

static void probes_and_solicitations_say_nothing(void **state)
{
    assert_false(is_heard(FRAME(arp_probe), V4));
    assert_false(is_heard(FRAME(solicitation), V6));
}

static void arp_of_another_kind_says_nothing(void **state)
{
    static const struct {
        size_t at;
        unsigned value;
    } wrong[] = {
        {12, 9}, {13, 0},                    /* not ARP */
        {14, 1}, {15, 6},  {16, 0}, {17, 1}, /* not Ethernet, not IPv4 */
        {18, 8}, {19, 16},                   /* addresses of other lengths */
        {20, 1}, {21, 0},  {21, 3}, {21, 8}, /* RARP and the like */
        {22, 3},                             /* a group's hardware address */
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(is_heard_with(FRAME(arp_request), V4, wrong[i].at, wrong[i].value));
}

static void a_hardware_address_of_zeros_is_nobody(void **state)
{
    char frame[sizeof(arp_request)];

    memcpy(frame, arp_request, sizeof(frame));
    memset(frame + 22, 0, 6);
    assert_false(is_heard(FRAME(frame), V4));
}

static void no_byte_of_an_advertisement_can_be_another(void **state)
{
    /* But those of Ethernet's addresses, and the flow label, which nothing protects. */
    for (size_t at = 12; at < sizeof(advertisement); at++) {
        if (at < 15 || at > 17)
            assert_false(is_heard_with(FRAME(advertisement), V6, at, advertisement[at] ^ 0x40));
    }
}

/* An advertisement with these options in place of its own, and a right checksum. */
static bool is_heard_with_options(const unsigned char *options, size_t len)
{
    unsigned char frame[sizeof(advertisement) + 32] = {0};
    unsigned long sum = 0;

    memcpy(frame, advertisement, 78);
    if (len)
        memcpy(frame + 78, options, len);
    frame[19] = (unsigned char)(24 + len);
    frame[56] = frame[57] = 0;
    for (size_t i = 22; i < 78 + len; i += 2)
        sum += (unsigned long)frame[i] << 8 | frame[i + 1];
    sum += 58 + 24 + len;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    frame[56] = (unsigned char)(~sum >> 8);
    frame[57] = (unsigned char)~sum;
    return is_heard(bytes_of((char *)frame, 78 + len), V6);
}

static void without_the_option_it_is_the_one_that_sends(void **state)
{
    static const unsigned char other_option[] = {14, 1, 0, 0, 0, 0, 0, 0};

    assert_true(is_heard_with_options(NULL, 0));
    assert_true(is_heard_with_options(other_option, sizeof(other_option)));
}

static void options_that_do_not_fit_make_it_say_nothing(void **state)
{
    static const unsigned char endless[] = {14, 0, 0, 0, 0, 0, 0, 0};
    static const unsigned char too_long[] = {2, 2, 2, 0, 0, 0, 0, 0xa};
    static const unsigned char half[] = {2, 1, 2, 0};

    assert_false(is_heard_with_options(endless, sizeof(endless)));
    assert_false(is_heard_with_options(too_long, sizeof(too_long)));
    assert_false(is_heard_with_options(half, sizeof(half)));
}

/* In memory of just that size, so that the sanitizer sees what is read behind it. */
static bool is_heard_cut(const unsigned char *frame, size_t len, const struct vip_address *a)
{
    char *cut = malloc(len ? len : 1);
    bool is;

    if (len)
        memcpy(cut, frame, len);
    is = is_heard(bytes_of(cut, len), a);
    free(cut);
    return is;
}

static void frames_that_are_cut_short_say_nothing(void **state)
{
    for (size_t len = 0; len < sizeof(arp_reply); len++)
        assert_false(is_heard_cut(arp_reply, len, V4));
    for (size_t len = 0; len < sizeof(advertisement); len++)
        assert_false(is_heard_cut(advertisement, len, V6));
}

static void what_pads_a_short_frame_does_not_matter(void **state)
{
    unsigned char padded[sizeof(advertisement) + 6] = {0};

    memcpy(padded, arp_reply, sizeof(arp_reply));
    assert_true(is_heard_cut(padded, 60, V4));
    memcpy(padded, advertisement, sizeof(advertisement));
    assert_true(is_heard_cut(padded, sizeof(padded), V6));
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ipv4_address_is_announced_as_a_request_and_as_a_reply),
        TEST(an_ipv6_address_is_announced_by_an_advertisement_that_overrides),
        TEST(a_probe_says_nothing_of_its_sender),
        TEST(the_checksum_of_any_address_and_hardware_is_right_to_ourselves),
        TEST(every_announcement_names_who_has_it),
        TEST(who_asks_for_another_with_it_as_the_sender_has_it),
        TEST(own_frames_and_those_of_another_address_say_nothing),
        TEST(probes_and_solicitations_say_nothing),
        TEST(arp_of_another_kind_says_nothing),
        TEST(a_hardware_address_of_zeros_is_nobody),
        TEST(no_byte_of_an_advertisement_can_be_another),
        TEST(without_the_option_it_is_the_one_that_sends),
        TEST(options_that_do_not_fit_make_it_say_nothing),
        TEST(frames_that_are_cut_short_say_nothing),
        TEST(what_pads_a_short_frame_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
