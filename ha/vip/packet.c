#include "ha/vip/packet.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define VIP_MAC_TEXT_MAX 17 /* "02:42:ac:1e:00:0b" */

/* Constants of all these frames, and the offsets of the other fields. */

#define ETHERNET_LEN 14
#define ARP_LEN      28
#define IPV6_LEN     40
#define ND_LEN       24 /* solicitation or advertisement, without options */
#define OPTION_LEN   8  /* with a hardware address */

enum { ARP_REQUEST = 1, ARP_REPLY = 2 };
enum { ND_SOLICITATION = 135, ND_ADVERTISEMENT = 136 };

#define ND_OVERRIDE      0x20 /* in the first byte of the flags */
#define OPTION_OWN_MAC   2    /* the target's: the host that has the address */
#define HOPS             255  /* the packet has crossed no router */
#define NEXT_IS_ICMPV6   58
#define ARP_OPERATION    (ETHERNET_LEN + 6)
#define ARP_SENDER_MAC   (ETHERNET_LEN + 8)
#define ARP_SENDER       (ETHERNET_LEN + 14)
#define ARP_TARGET_MAC   (ETHERNET_LEN + 18)
#define ARP_TARGET       (ETHERNET_LEN + 24)
#define IPV6_PAYLOAD_LEN (ETHERNET_LEN + 4)
#define IPV6_NEXT        (ETHERNET_LEN + 6)
#define IPV6_HOPS        (ETHERNET_LEN + 7)
#define IPV6_SOURCE      (ETHERNET_LEN + 8)
#define IPV6_DESTINATION (ETHERNET_LEN + 24)
#define ND               (ETHERNET_LEN + IPV6_LEN)
#define ND_CHECKSUM      (ND + 2)
#define ND_FLAGS         (ND + 4)
#define ND_TARGET        (ND + 8)
#define ND_OPTIONS       (ND + ND_LEN)

static const unsigned char broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const unsigned char zeros[6];
/* The Ethernet type; then the hardware and protocol types, and the lengths of their addresses.
 */
static const unsigned char arp_head[] = {0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4};
static const unsigned char ipv6_head[] = {0x86, 0xdd, 0x60};
static const unsigned char all_nodes[16] = {0xff, 2, [15] = 1};
static const unsigned char solicited_node[16] = {0xff, 2, [11] = 1, 0xff}; /* and 3 bytes */

/* ---- ARP ---- */

static void arp(struct vip_frame *f, unsigned char operation, const unsigned char mac[6],
                const unsigned char sender[4], const unsigned char target_mac[6],
                const unsigned char target[4])
{
    unsigned char *b = f->bytes;

    *f = (struct vip_frame){.len = ETHERNET_LEN + ARP_LEN};
    memcpy(b, broadcast, 6);
    memcpy(b + 6, mac, 6);
    memcpy(b + 12, arp_head, sizeof(arp_head));
    b[ARP_OPERATION + 1] = operation;
    memcpy(b + ARP_SENDER_MAC, mac, 6);
    memcpy(b + ARP_SENDER, sender, 4);
    memcpy(b + ARP_TARGET_MAC, target_mac, 6);
    memcpy(b + ARP_TARGET, target, 4);
}

/* ---- neighbour discovery ---- */

/* The Internet checksum over the pseudo header and the `len` bytes behind the IPv6 header; 0
 * for a packet that has a right checksum already. */
static unsigned checksum(const unsigned char *frame, size_t len)
{
    const unsigned char *at = frame + IPV6_SOURCE; /* both addresses, then the payload */
    size_t bytes = 32 + len;
    unsigned long sum = len + NEXT_IS_ICMPV6;

    for (size_t i = 0; i < bytes; i++)
        sum += i % 2 ? at[i] : (unsigned long)at[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

static void discovery(struct vip_frame *f, unsigned char type, const unsigned char mac[6],
                      const unsigned char destination[16], size_t options_len)
{
    unsigned char *b = f->bytes;

    *f = (struct vip_frame){.len = ND_OPTIONS + options_len};
    b[0] = b[1] = 0x33; /* the group's Ethernet address ends as its IPv6 address does */
    memcpy(b + 2, destination + 12, 4);
    memcpy(b + 6, mac, 6);
    memcpy(b + 12, ipv6_head, sizeof(ipv6_head));
    b[IPV6_PAYLOAD_LEN + 1] = (unsigned char)(ND_LEN + options_len);
    b[IPV6_NEXT] = NEXT_IS_ICMPV6;
    b[IPV6_HOPS] = HOPS;
    memcpy(b + IPV6_DESTINATION, destination, 16);
    b[ND] = type;
}

static void seal(struct vip_frame *f)
{
    unsigned sum = checksum(f->bytes, f->len - ND);

    f->bytes[ND_CHECKSUM] = (unsigned char)(sum >> 8);
    f->bytes[ND_CHECKSUM + 1] = (unsigned char)sum;
}

static void advertise(struct vip_frame *f, const struct vip_address *a,
                      const unsigned char mac[6])
{
    unsigned char *b = f->bytes;

    discovery(f, ND_ADVERTISEMENT, mac, all_nodes, OPTION_LEN);
    memcpy(b + IPV6_SOURCE, a->bytes, 16);
    b[ND_FLAGS] = ND_OVERRIDE;
    memcpy(b + ND_TARGET, a->bytes, 16);
    b[ND_OPTIONS] = OPTION_OWN_MAC;
    b[ND_OPTIONS + 1] = OPTION_LEN / 8;
    memcpy(b + ND_OPTIONS + 2, mac, 6);
    seal(f);
}

static void solicit(struct vip_frame *f, const struct vip_address *a,
                    const unsigned char mac[6])
{
    unsigned char group[16];

    memcpy(group, solicited_node, sizeof(group));
    memcpy(group + 13, a->bytes + 13, 3);
    discovery(f, ND_SOLICITATION, mac, group, 0);
    memcpy(f->bytes + ND_TARGET, a->bytes, 16);
    seal(f);
}

/* ---- what is said ---- */

unsigned vip_packet_announce(const struct vip_address *a, const unsigned char mac[6],
                             struct vip_frame frames[2])
{
    if (a->family == AF_INET6) {
        advertise(&frames[0], a, mac);
        return 1;
    }
    arp(&frames[0], ARP_REQUEST, mac, a->bytes, zeros, a->bytes);
    /* Linux takes a reply for unsolicited only if both hardware addresses are the same. */
    arp(&frames[1], ARP_REPLY, mac, a->bytes, mac, a->bytes);
    return 2;
}

void vip_packet_probe(const struct vip_address *a, const unsigned char mac[6],
                      struct vip_frame *frame)
{
    if (a->family == AF_INET6)
        solicit(frame, a, mac);
    else
        arp(frame, ARP_REQUEST, mac, zeros, zeros, a->bytes);
}

/* ---- what is heard ---- */

/* The hardware address that has the address, as the ARP frame says; NULL: it does not say so.
 */
static const unsigned char *read_arp(const unsigned char *b, size_t len,
                                     const struct vip_address *a)
{
    unsigned char operation;

    if (len < ETHERNET_LEN + ARP_LEN || memcmp(b + 12, arp_head, sizeof(arp_head)) != 0 ||
        b[ARP_OPERATION] || memcmp(b + ARP_SENDER, a->bytes, 4) != 0)
        return NULL;
    operation = b[ARP_OPERATION + 1];
    return operation == ARP_REQUEST || operation == ARP_REPLY ? b + ARP_SENDER_MAC : NULL;
}

/* False: the options are not well-formed. *mac is the target's, or untouched. */
static bool read_options(const unsigned char *at, const unsigned char *end,
                         const unsigned char **mac)
{
    while (at < end) {
        size_t left = (size_t)(end - at), len = left < 2 ? 0 : at[1] * 8u;

        if (len == 0 || len > left)
            return false;
        if (at[0] == OPTION_OWN_MAC && len == OPTION_LEN)
            *mac = at + 2;
        at += len;
    }
    return true;
}

/* The hardware address that has the address, as the advertisement says; NULL: it does not. */
static const unsigned char *read_advertisement(const unsigned char *b, size_t len,
                                               const struct vip_address *a)
{
    const unsigned char *mac = b + 6; /* the frame's source, if no option names the target's */
    size_t payload_len;

    if (len < ND_OPTIONS || b[12] != ipv6_head[0] || b[13] != ipv6_head[1] || b[14] >> 4 != 6)
        return NULL;
    payload_len = (size_t)b[IPV6_PAYLOAD_LEN] << 8 | b[IPV6_PAYLOAD_LEN + 1];
    if (payload_len < ND_LEN || payload_len > len - ND || b[IPV6_NEXT] != NEXT_IS_ICMPV6 ||
        b[IPV6_HOPS] != HOPS || b[ND] != ND_ADVERTISEMENT || b[ND + 1] ||
        memcmp(b + ND_TARGET, a->bytes, 16) != 0 || checksum(b, payload_len) != 0)
        return NULL;
    return read_options(b + ND_OPTIONS, b + ND + payload_len, &mac) ? mac : NULL;
}

bool vip_packet_read(struct bytes frame, const struct vip_address *a,
                     const unsigned char own_mac[6], unsigned char mac[6])
{
    const unsigned char *b = (const unsigned char *)frame.at, *owner;

    owner =
        a->family == AF_INET6 ? read_advertisement(b, frame.len, a) : read_arp(b, frame.len, a);
    if (!owner || owner[0] & 1 || !memcmp(owner, zeros, 6) || !memcmp(owner, own_mac, 6))
        return false;
    memcpy(mac, owner, 6);
    return true;
}

/* ---- the socket ---- */

#define FRAMES_MAX 32 /* heard in one turn of the loop */

struct vip_arp_nd {
    struct loop *loop; /* NULL: the owner polls */
    const struct vip_address *address;
    void (*on_heard)(void *arg, const struct vip_address *a, const char *mac);
    void *arg;
    int fd;
    struct event *readable;  /* NULL: the same */
    struct vip_interface on; /* index 0: none */
    bool is_silenced;        /* the failure to send has been logged */
};

/* ---- the filter ---- */

#define LOAD_BYTE(at) BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at)
#define LOAD_WORD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define ELSE_DROP(value, left) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, left) /* over what is left before the end */
#define KEEP BPF_STMT(BPF_RET | BPF_K, 0xffff)
#define DROP BPF_STMT(BPF_RET | BPF_K, 0)

static uint32_t word(const struct vip_address *a, unsigned i)
{
    uint32_t w;

    memcpy(&w, a->bytes + i * 4, 4);
    return ntohl(w);
}

/* Lets frames through in which a sender claims the address, ARP or advertisement;
 * vip_packet_read() checks them again. */
static int filter(int fd, const struct vip_address *a)
{
    struct sock_filter arp[] = {
        LOAD_WORD(28), /* the sender's address */
        ELSE_DROP(word(a, 0), 1),
        KEEP,
        DROP,
    };
    struct sock_filter advertisement[] = {
        LOAD_BYTE(20), ELSE_DROP(58, 11), /* ICMPv6 */
        LOAD_BYTE(54), ELSE_DROP(136, 9), /* an advertisement, and its target: */
        LOAD_WORD(62), ELSE_DROP(word(a, 0), 7),
        LOAD_WORD(66), ELSE_DROP(word(a, 1), 5),
        LOAD_WORD(70), ELSE_DROP(word(a, 2), 3),
        LOAD_WORD(74), ELSE_DROP(word(a, 3), 1),
        KEEP,          DROP,
    };
    bool is_v4 = a->family == AF_INET;
    struct sock_fprog program = {
        .len =
            is_v4 ? sizeof(arp) / sizeof(*arp) : sizeof(advertisement) / sizeof(*advertisement),
        .filter = is_v4 ? arp : advertisement,
    };

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* ---- hearing ---- */

static void hear(struct vip_arp_nd *arp_nd, const char *at, size_t len)
{
    char text[VIP_MAC_TEXT_MAX + 1];
    unsigned char m[6];

    if (!vip_packet_read(bytes_of(at, len), arp_nd->address, arp_nd->on.mac, m))
        return;
    snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
             m[5]);
    arp_nd->on_heard(arp_nd->arg, arp_nd->address, text);
}

/* An interface that goes down gives an error here once; the next put deals with that. */
void vip_arp_nd_read(struct vip_arp_nd *arp_nd)
{
    char frame[2048];

    for (unsigned i = 0; i < FRAMES_MAX; i++) {
        ssize_t got = recv(arp_nd->fd, frame, sizeof(frame), MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (got >= 0)
            hear(arp_nd, frame, (size_t)got);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct vip_arp_nd *arp_nd = arg;

    loop_touch(arp_nd->loop);
    vip_arp_nd_read(arp_nd);
}

int vip_arp_nd_fd(const struct vip_arp_nd *arp_nd)
{
    return arp_nd->fd;
}

/* ---- sending ---- */

static void send_frame(struct vip_arp_nd *arp_nd, const struct vip_frame *frame)
{
    if (send(arp_nd->fd, frame->bytes, frame->len, MSG_DONTWAIT) >= 0) {
        arp_nd->is_silenced = false;
        return;
    }
    LOG_AT(arp_nd->is_silenced ? LEVEL_DEBUG : LEVEL_WARN, "vip",
           "cannot announce %s on %s: %s", arp_nd->address->text, arp_nd->on.name,
           strerror(errno));
    arp_nd->is_silenced = true;
}

void vip_arp_nd_announce(struct vip_arp_nd *arp_nd)
{
    struct vip_frame frames[2];
    unsigned count;

    if (!arp_nd->on.index)
        return;
    count = vip_packet_announce(arp_nd->address, arp_nd->on.mac, frames);
    for (unsigned i = 0; i < count; i++)
        send_frame(arp_nd, &frames[i]);
}

void vip_arp_nd_probe(struct vip_arp_nd *arp_nd)
{
    struct vip_frame frame;

    if (!arp_nd->on.index)
        return;
    vip_packet_probe(arp_nd->address, arp_nd->on.mac, &frame);
    send_frame(arp_nd, &frame);
}

/* ---- life ---- */

enum status vip_arp_nd_bind(struct vip_arp_nd *arp_nd, const struct vip_interface *on)
{
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(arp_nd->address->family == AF_INET ? ETH_P_ARP : ETH_P_IPV6),
        .sll_ifindex = (int)on->index,
    };

    arp_nd->on = (struct vip_interface){.index = 0};
    if (bind(arp_nd->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return STATUS_IO_ERROR;
    arp_nd->on = *on;
    return STATUS_OK;
}

struct vip_arp_nd *vip_arp_nd_new(struct loop *loop, const struct vip_address *a,
                                  void (*on_heard)(void *arg, const struct vip_address *a,
                                                   const char *mac),
                                  void *arg)
{
    /* Protocol 0: nothing comes before it is bound. */
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct vip_arp_nd *arp_nd;

    if (fd < 0)
        return NULL;
    if (filter(fd, a) < 0) {
        int error = errno;

        close(fd);
        errno = error;
        return NULL;
    }
    arp_nd = must(calloc(1, sizeof(*arp_nd)));
    *arp_nd = (struct vip_arp_nd){
        .loop = loop, .address = a, .on_heard = on_heard, .arg = arg, .fd = fd};
    if (!loop)
        return arp_nd;
    arp_nd->readable = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_readable, arp_nd);
    if (!arp_nd->readable || event_add(arp_nd->readable, NULL) < 0)
        abort();
    return arp_nd;
}

void vip_arp_nd_free(struct vip_arp_nd *arp_nd)
{
    if (!arp_nd)
        return;
    if (arp_nd->readable)
        event_free(arp_nd->readable);
    close(arp_nd->fd);
    free(arp_nd);
}
