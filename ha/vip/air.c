#include "ha/vip/air.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/log.h"
#include "ha/vip/packet.h"

#define FRAMES_MAX 32 /* heard in one turn of the loop */

struct vip_air {
    struct loop *loop; /* NULL: whoever owns it polls */
    const struct vip_address *address;
    void (*on_heard)(void *arg, const struct vip_address *a, const char *mac);
    void *arg;
    int fd;
    struct event *readable;  /* NULL: the same */
    struct vip_interface on; /* index 0: none */
    bool is_silenced;        /* that nothing goes out has been logged */
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

/* What a sender says of the address itself, ARP or advertisement; vip_packet_read() looks
 * again. */
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

static void hear(struct vip_air *air, const char *at, size_t len)
{
    char text[VIP_MAC_TEXT_MAX + 1];
    unsigned char m[6];

    if (!vip_packet_read(bytes_of(at, len), air->address, air->on.mac, m))
        return;
    snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
             m[5]);
    air->on_heard(air->arg, air->address, text);
}

/* An interface that goes down is an error here once; what it means is found by the next put. */
void vip_air_read(struct vip_air *air)
{
    char frame[2048];

    for (unsigned i = 0; i < FRAMES_MAX; i++) {
        ssize_t got = recv(air->fd, frame, sizeof(frame), MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (got >= 0)
            hear(air, frame, (size_t)got);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct vip_air *air = arg;

    loop_touch(air->loop);
    vip_air_read(air);
}

int vip_air_fd(const struct vip_air *air)
{
    return air->fd;
}

/* ---- sending ---- */

static void send_frame(struct vip_air *air, const struct vip_frame *frame)
{
    if (send(air->fd, frame->bytes, frame->len, MSG_DONTWAIT) >= 0) {
        air->is_silenced = false;
        return;
    }
    LOG_AT(air->is_silenced ? LEVEL_DEBUG : LEVEL_WARN, "vip", "cannot announce %s on %s: %s",
           air->address->text, air->on.name, strerror(errno));
    air->is_silenced = true;
}

void vip_air_announce(struct vip_air *air)
{
    struct vip_frame frames[2];
    unsigned count;

    if (!air->on.index)
        return;
    count = vip_packet_announce(air->address, air->on.mac, frames);
    for (unsigned i = 0; i < count; i++)
        send_frame(air, &frames[i]);
}

void vip_air_probe(struct vip_air *air)
{
    struct vip_frame frame;

    if (!air->on.index)
        return;
    vip_packet_probe(air->address, air->on.mac, &frame);
    send_frame(air, &frame);
}

/* ---- life ---- */

enum status vip_air_bind(struct vip_air *air, const struct vip_interface *on)
{
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(air->address->family == AF_INET ? ETH_P_ARP : ETH_P_IPV6),
        .sll_ifindex = (int)on->index,
    };

    air->on = (struct vip_interface){.index = 0};
    if (bind(air->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return STATUS_IO_ERROR;
    air->on = *on;
    return STATUS_OK;
}

struct vip_air *vip_air_new(struct loop *loop, const struct vip_address *a,
                            void (*on_heard)(void *arg, const struct vip_address *a,
                                             const char *mac),
                            void *arg)
{
    /* Protocol 0: nothing comes before it is bound. */
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct vip_air *air;

    if (fd < 0)
        return NULL;
    if (filter(fd, a) < 0) {
        int error = errno;

        close(fd);
        errno = error;
        return NULL;
    }
    air = calloc(1, sizeof(*air));
    if (!air)
        abort();
    *air = (struct vip_air){
        .loop = loop, .address = a, .on_heard = on_heard, .arg = arg, .fd = fd};
    if (!loop)
        return air;
    air->readable = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_readable, air);
    if (!air->readable || event_add(air->readable, NULL) < 0)
        abort();
    return air;
}

void vip_air_free(struct vip_air *air)
{
    if (!air)
        return;
    if (air->readable)
        event_free(air->readable);
    close(air->fd);
    free(air);
}
