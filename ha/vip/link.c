#include "ha/vip/link.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/bytes.h"
#include "base/log.h"

/* ---- questions to the kernel, each with its answer ----
 *
 * The kernel does the work while the question is sent, so the answer is there at once. A late
 * answer to an earlier question is known by its number, and skipped.
 */

#define REQUEST_MAX  256
#define ANSWER_MAX   32768 /* the kernel's own limit for a message of a list */
#define PATIENCE_S   1
#define ATTEMPTS_MAX 10

struct vip_rtnl {
    struct mnl_socket *socket;
    unsigned number; /* of the newest question */
    struct nlmsghdr *request;
    _Alignas(struct nlmsghdr) char question[REQUEST_MAX];
    _Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
};

/* NULL, with errno. Close-on-exec. */
static struct vip_rtnl *vip_rtnl_new(void)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    struct vip_rtnl *r;
    int on = 1;

    if (!socket)
        return NULL;
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience,
                   sizeof(patience)) < 0) {
        int error = errno;

        mnl_socket_close(socket);
        errno = error;
        return NULL;
    }
    /* Lists of one interface alone; kernels before 4.20 give all, which does no harm. */
    (void)mnl_socket_setsockopt(socket, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
    r = must(calloc(1, sizeof(*r)));
    r->socket = socket;
    return r;
}

static void vip_rtnl_free(struct vip_rtnl *r)
{
    if (!r)
        return;
    mnl_socket_close(r->socket);
    free(r);
}

/* A new question, for mnl_attr_put*(). *extra is the type's own header: `extra_bytes`, zeroed.
 * Valid until the next question. */
static struct nlmsghdr *vip_rtnl_request(struct vip_rtnl *r, uint16_t type, uint16_t flags,
                                         size_t extra_bytes, void *extra)
{
    void **to = extra;

    r->request = mnl_nlmsg_put_header(r->question);
    r->request->nlmsg_type = type;
    r->request->nlmsg_flags = NLM_F_REQUEST | flags;
    *to = mnl_nlmsg_put_extra_header(r->request, extra_bytes);
    return r->request;
}

/* -1: the message is not the end of the answer; else the outcome, 0 or an errno. */
static int end_of(const struct nlmsghdr *m)
{
    const int *code = mnl_nlmsg_get_payload(m); /* of struct nlmsgerr the first field */

    if (m->nlmsg_type != NLMSG_ERROR && m->nlmsg_type != NLMSG_DONE)
        return -1;
    return mnl_nlmsg_get_payload_len(m) < sizeof(*code) ? EBADMSG : *code < 0 ? -*code : 0;
}

static int read_answer(struct vip_rtnl *r,
                       void (*on_item)(void *arg, const struct nlmsghdr *item), void *arg)
{
    bool has_changed = false;

    for (;;) {
        ssize_t got = mnl_socket_recvfrom(r->socket, r->answer, sizeof(r->answer));
        int left = (int)got, end;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? ETIMEDOUT : errno;
        for (const struct nlmsghdr *m = (void *)r->answer; mnl_nlmsg_ok(m, left);
             m = mnl_nlmsg_next(m, &left)) {
            if (m->nlmsg_seq != r->number)
                continue;
            has_changed = has_changed || m->nlmsg_flags & NLM_F_DUMP_INTR;
            end = end_of(m);
            if (end >= 0)
                return end == 0 && has_changed ? EINTR : end;
            if (on_item)
                on_item(arg, m);
        }
    }
}

/* Asks the newest question. Returns 0 or an errno. `on_item`, which may be NULL, gets each
 * message of the answer. A list that changed meanwhile is read again, so some messages come
 * twice. */
static int vip_rtnl_ask(struct vip_rtnl *r,
                        void (*on_item)(void *arg, const struct nlmsghdr *item), void *arg)
{
    int error = EINTR;

    for (unsigned i = 0; i < ATTEMPTS_MAX && error == EINTR; i++) {
        r->request->nlmsg_seq = ++r->number;
        if (mnl_socket_sendto(r->socket, r->request, r->request->nlmsg_len) < 0)
            return errno;
        error = read_answer(r, on_item, arg);
    }
    return error;
}

/* ---- interfaces ---- */

struct link_answer {
    struct vip_interface is;
    bool has_mac;
};

/* An interface without IPv6 has no attribute of that family. */
static bool is_ipv6_off(const struct nlattr *families)
{
    const struct nlattr *family, *attr;

    mnl_attr_for_each_nested(family, families)
    {
        if (mnl_attr_get_type(family) != AF_INET6)
            continue;
        mnl_attr_for_each_nested(attr, family)
        {
            const int32_t *settings = mnl_attr_get_payload(attr);

            if (mnl_attr_get_type(attr) == IFLA_INET6_CONF &&
                mnl_attr_get_payload_len(attr) > DEVCONF_DISABLE_IPV6 * sizeof(*settings))
                return settings[DEVCONF_DISABLE_IPV6];
        }
    }
    return true;
}

static void read_link(void *arg, const struct nlmsghdr *m)
{
    struct link_answer *answer = arg;
    const struct ifinfomsg *head = mnl_nlmsg_get_payload(m);
    const struct nlattr *attr;

    if (m->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(m) < sizeof(*head))
        return;
    answer->is.index = (unsigned)head->ifi_index;
    answer->is.is_up = (head->ifi_flags & IFF_UP) && (head->ifi_flags & IFF_LOWER_UP);
    answer->is.is_unplugged = (head->ifi_flags & IFF_UP) && !answer->is.is_up;
    answer->is.is_ipv6_off = true;
    mnl_attr_for_each(attr, m, sizeof(*head))
    {
        uint16_t type = mnl_attr_get_type(attr);
        uint16_t len = mnl_attr_get_payload_len(attr);

        if (type == IFLA_IFNAME && len && len <= sizeof(answer->is.name))
            snprintf(answer->is.name, sizeof(answer->is.name), "%.*s", (int)len,
                     mnl_attr_get_str(attr));
        if (type == IFLA_ADDRESS && len == sizeof(answer->is.mac) &&
            head->ifi_type == ARPHRD_ETHER) {
            memcpy(answer->is.mac, mnl_attr_get_payload(attr), len);
            answer->has_mac = true;
        }
        if (type == IFLA_AF_SPEC)
            answer->is.is_ipv6_off = is_ipv6_off(attr);
    }
}

/* Asks for an interface by its index, or by its name if that is 0. Returns 0 or an errno. */
static int ask_for_link(struct vip_link *l, unsigned index, const char *name,
                        struct link_answer *answer)
{
    struct ifinfomsg *head;
    struct nlmsghdr *request =
        vip_rtnl_request(l->rtnl, RTM_GETLINK, NLM_F_ACK, sizeof(*head), &head);

    *answer = (struct link_answer){.has_mac = false};
    if (!index && strlen(name) >= IF_NAMESIZE)
        return ENODEV;
    head->ifi_index = (int)index;
    if (!index)
        mnl_attr_put_strz(request, IFLA_IFNAME, name);
    mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return vip_rtnl_ask(l->rtnl, read_link, answer);
}

static enum status take_link(struct vip_link *l, unsigned index, const char *name,
                             struct vip_interface *found, const char **why)
{
    struct link_answer answer;
    int error = ask_for_link(l, index, name, &answer);

    *why = l->why;
    if (error == ENODEV && !index) {
        snprintf(l->why, sizeof(l->why), "there is no interface %s", name);
        return STATUS_NOT_FOUND;
    }
    if (error == ENODEV) {
        snprintf(l->why, sizeof(l->why), "the interface has gone");
        return STATUS_NOT_FOUND;
    }
    if (error) {
        snprintf(l->why, sizeof(l->why), "cannot look at the interface: %s", strerror(error));
        return STATUS_IO_ERROR;
    }
    if (!answer.has_mac) {
        snprintf(l->why, sizeof(l->why),
                 "%s has no hardware address, so neighbours could not be told", answer.is.name);
        return STATUS_WRONG_STATE;
    }
    *found = answer.is;
    return STATUS_OK;
}

enum status vip_link_look(struct vip_link *l, unsigned index, struct vip_interface *found,
                          const char **why)
{
    return take_link(l, index, "", found, why);
}

/* ---- by subnet ---- */

struct subnet_search {
    const struct vip_address *address;
    unsigned index, prefix_len;
};

static bool is_in_subnet(const struct vip_address *a, const struct vip_entry *e)
{
    unsigned whole = e->prefix_len / 8, rest = e->prefix_len % 8;

    return !memcmp(a->bytes, e->subnet, whole) &&
           (rest == 0 || (a->bytes[whole] ^ e->subnet[whole]) >> (8 - rest) == 0);
}

static void match_subnet(void *arg, const struct vip_entry *e)
{
    struct subnet_search *s = arg;
    bool is_host = e->prefix_len == vip_address_len(s->address) * 8;

    if (!is_host && e->prefix_len > s->prefix_len && is_in_subnet(s->address, e)) {
        s->index = e->index;
        s->prefix_len = e->prefix_len;
    }
}

struct edge_search {
    const struct vip_address *address;
    bool is_edge;
};

static uint32_t number_of(const unsigned char *ipv4)
{
    return (uint32_t)ipv4[0] << 24 | (uint32_t)ipv4[1] << 16 | (uint32_t)ipv4[2] << 8 | ipv4[3];
}

/* Subnets of one or two hosts have no such addresses. */
static void match_edge(void *arg, const struct vip_entry *e)
{
    struct edge_search *s = arg;
    uint32_t hosts = e->prefix_len <= 30 ? UINT32_MAX >> e->prefix_len : 0;
    uint32_t host = number_of(s->address->bytes) & hosts;

    if (hosts && is_in_subnet(s->address, e) && (host == 0 || host == hosts))
        s->is_edge = true;
}

bool vip_link_is_edge(struct vip_link *l, const struct vip_address *a)
{
    struct edge_search s = {.address = a};

    return a->family == AF_INET && vip_link_list(l, AF_INET, 0, match_edge, &s) == 0 &&
           s.is_edge;
}

enum status vip_link_find(struct vip_link *l, const struct vip_address *a, const char *name,
                          struct vip_interface *found, const char **why)
{
    struct subnet_search s = {.address = a};
    int error;

    if (*name)
        return take_link(l, 0, name, found, why);
    error = vip_link_list(l, a->family, 0, match_subnet, &s);
    if (!error && s.index)
        return take_link(l, s.index, "", found, why);
    *why = l->why;
    if (error) {
        snprintf(l->why, sizeof(l->why), "cannot list this machine's addresses: %s",
                 strerror(error));
        return STATUS_IO_ERROR;
    }
    snprintf(l->why, sizeof(l->why),
             "no interface has an address of the same subnet (vip.interface names one)");
    return STATUS_NOT_FOUND;
}

#define REMOVALS_MAX 16 /* interfaces that have the address at once: normally one */

struct vip_link *vip_link_new(void)
{
    struct vip_rtnl *rtnl = vip_rtnl_new();
    struct vip_link *l;

    if (!rtnl)
        return NULL;
    l = must(calloc(1, sizeof(*l)));
    l->rtnl = rtnl;
    l->lifetime_s = VIP_LIFETIME_S;
    return l;
}

void vip_link_free(struct vip_link *l)
{
    if (!l)
        return;
    vip_rtnl_free(l->rtnl);
    free(l);
}

/* ---- addresses ---- */

struct listing {
    unsigned index;
    unsigned char family;
    void (*on_entry)(void *arg, const struct vip_entry *e);
    void *arg;
};

static size_t len_of(int family)
{
    return family == AF_INET ? 4 : 16;
}

static void read_attribute(struct vip_entry *e, const struct nlattr *attr, size_t address_len)
{
    uint16_t type = mnl_attr_get_type(attr);
    size_t len = mnl_attr_get_payload_len(attr);
    const struct ifa_cacheinfo *life = mnl_attr_get_payload(attr);

    if (type == IFA_ADDRESS && len == address_len)
        e->subnet = mnl_attr_get_payload(attr);
    else if (type == IFA_LOCAL && len == address_len)
        e->local = mnl_attr_get_payload(attr);
    else if (type == IFA_FLAGS && len == sizeof(uint32_t))
        e->flags = mnl_attr_get_u32(attr);
    else if (type == IFA_CACHEINFO && len >= sizeof(*life))
        e->valid_s = life->ifa_valid;
}

static void read_entry(void *arg, const struct nlmsghdr *m)
{
    const struct listing *list = arg;
    const struct ifaddrmsg *head = mnl_nlmsg_get_payload(m);
    struct vip_entry e = {.valid_s = UINT32_MAX};
    const struct nlattr *attr;

    if (m->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(m) < sizeof(*head) ||
        head->ifa_family != list->family || (list->index && head->ifa_index != list->index))
        return;
    e.index = head->ifa_index;
    e.prefix_len = head->ifa_prefixlen;
    mnl_attr_for_each(attr, m, sizeof(*head)) read_attribute(&e, attr, len_of(list->family));
    if (!e.local)
        e.local = e.subnet;
    if (e.subnet && e.prefix_len <= len_of(list->family) * 8)
        list->on_entry(list->arg, &e);
}

int vip_link_list(struct vip_link *l, int family, unsigned index,
                  void (*on_entry)(void *arg, const struct vip_entry *e), void *arg)
{
    struct listing list = {index, (unsigned char)family, on_entry, arg};
    struct ifaddrmsg *head;

    vip_rtnl_request(l->rtnl, RTM_GETADDR, NLM_F_DUMP, sizeof(*head), &head);
    head->ifa_family = list.family;
    head->ifa_index = index;
    return vip_rtnl_ask(l->rtnl, read_entry, &list);
}

/* Has a node put the address? */
static bool vip_link_is_ours(const struct vip_link *l, const struct vip_entry *e,
                             const struct vip_address *a)
{
    return e->prefix_len == vip_address_len(a) * 8 && e->flags & IFA_F_NOPREFIXROUTE &&
           !(e->flags & IFA_F_PERMANENT) && e->valid_s <= l->lifetime_s;
}

/* ---- is it there? ---- */

struct search {
    const struct vip_link *link;
    const struct vip_address *address;
    enum vip_presence found;
    unsigned where;
    unsigned ours[REMOVALS_MAX]; /* the interfaces */
    unsigned ours_count;
};

static void look_for_it(void *arg, const struct vip_entry *e)
{
    struct search *s = arg;

    if (memcmp(e->local, s->address->bytes, vip_address_len(s->address)) != 0)
        return;
    if (!vip_link_is_ours(s->link, e, s->address)) {
        s->found = VIP_IS_FOREIGN;
        s->where = e->index;
        return;
    }
    if (s->ours_count < REMOVALS_MAX)
        s->ours[s->ours_count++] = e->index;
    if (s->found == VIP_IS_NOWHERE) {
        s->found = VIP_IS_OURS;
        s->where = e->index;
    }
}

enum vip_presence vip_link_presence(struct vip_link *l, const struct vip_address *a, char *name)
{
    struct search s = {.link = l, .address = a};
    int error = vip_link_list(l, a->family, 0, look_for_it, &s);

    if (error) {
        LOG_WARN("vip", "cannot list the addresses of this machine: %s", strerror(error));
        return VIP_IS_UNKNOWN;
    }
    if (s.found != VIP_IS_NOWHERE && !if_indextoname(s.where, name))
        snprintf(name, IF_NAMESIZE, "?"); /* the interface has just gone */
    return s.found;
}

/* ---- put and remove ---- */

static int change(struct vip_link *l, uint16_t type, uint16_t flags,
                  const struct vip_address *a, unsigned index)
{
    const struct ifa_cacheinfo life = {.ifa_prefered = a->family == AF_INET ? l->lifetime_s : 0,
                                       .ifa_valid = l->lifetime_s};
    size_t len = vip_address_len(a);
    struct ifaddrmsg *head;
    struct nlmsghdr *request =
        vip_rtnl_request(l->rtnl, type, NLM_F_ACK | flags, sizeof(*head), &head);

    head->ifa_family = (unsigned char)a->family;
    head->ifa_prefixlen = (unsigned char)(len * 8);
    head->ifa_scope = RT_SCOPE_UNIVERSE;
    head->ifa_index = index;
    mnl_attr_put(request, IFA_LOCAL, len, a->bytes);
    mnl_attr_put(request, IFA_ADDRESS, len, a->bytes);
    if (type == RTM_NEWADDR) {
        mnl_attr_put_u32(request, IFA_FLAGS,
                         IFA_F_NOPREFIXROUTE | (a->family == AF_INET6 ? IFA_F_NODAD : 0));
        mnl_attr_put(request, IFA_CACHEINFO, sizeof(life), &life);
    }
    return vip_rtnl_ask(l->rtnl, NULL, NULL);
}

static enum vip_put failed(struct vip_link *l, const struct vip_address *a, int error,
                           const char **why)
{
    const char *hint = "";

    if (error == EPERM)
        hint = ": CAP_NET_ADMIN is missing";
    else if (error == EACCES && a->family == AF_INET6)
        hint = ": IPv6 is switched off there (sysctl disable_ipv6)";
    snprintf(l->why, sizeof(l->why), "%s%s", strerror(error), hint);
    *why = l->why;
    return VIP_PUT_FAILED;
}

enum vip_put vip_link_put(struct vip_link *l, const struct vip_address *a, unsigned index,
                          const char **why)
{
    struct search s = {.link = l, .address = a};
    int error = vip_link_list(l, a->family, index, look_for_it, &s);
    bool is_new = s.found == VIP_IS_NOWHERE;

    if (error)
        return failed(l, a, error, why);
    if (s.found == VIP_IS_FOREIGN) {
        snprintf(l->why, sizeof(l->why),
                 "somebody else has configured it there: remove it (ip address del)");
        *why = l->why;
        return VIP_PUT_FAILED;
    }
    /* If its lifetime ends between the list and this call, a matter of microseconds, the
     * address is put anew and reported as renewed: the next regular announcement follows. */
    error =
        change(l, RTM_NEWADDR, is_new ? NLM_F_CREATE | NLM_F_EXCL : NLM_F_REPLACE, a, index);
    if (error)
        return failed(l, a, error, why);
    return is_new ? VIP_PUT_ADDED : VIP_PUT_RENEWED;
}

void vip_link_renew(struct vip_link *l, const struct vip_address *a)
{
    struct search s = {.link = l, .address = a};
    int error = vip_link_list(l, a->family, 0, look_for_it, &s);

    for (unsigned i = 0; i < s.ours_count; i++) {
        int code = change(l, RTM_NEWADDR, NLM_F_REPLACE, a, s.ours[i]);

        error = code ? code : error;
    }
    if (error)
        LOG_WARN("vip", "cannot renew %s: %s", a->text, strerror(error));
}

static void read_route(void *arg, const struct nlmsghdr *m)
{
    const struct rtmsg *head = mnl_nlmsg_get_payload(m);

    if (m->nlmsg_type == RTM_NEWROUTE && mnl_nlmsg_get_payload_len(m) >= sizeof(*head))
        *(bool *)arg = head->rtm_type == RTN_LOCAL;
}

bool vip_link_is_usable(struct vip_link *l, const struct vip_address *a)
{
    size_t len = vip_address_len(a);
    bool is_local = false;
    struct rtmsg *head;
    struct nlmsghdr *request =
        vip_rtnl_request(l->rtnl, RTM_GETROUTE, NLM_F_ACK, sizeof(*head), &head);

    head->rtm_family = (unsigned char)a->family;
    head->rtm_dst_len = (unsigned char)(len * 8);
    mnl_attr_put(request, RTA_DST, len, a->bytes);
    return vip_rtnl_ask(l->rtnl, read_route, &is_local) == 0 && is_local;
}

unsigned vip_link_remove(struct vip_link *l, const struct vip_address *a)
{
    struct search s = {.link = l, .address = a};
    int error = vip_link_list(l, a->family, 0, look_for_it, &s);
    unsigned removed = 0;

    /* The addresses listed before an error are removed in any case. */
    for (unsigned i = 0; i < s.ours_count; i++) {
        int code = change(l, RTM_DELADDR, 0, a, s.ours[i]);

        removed += code == 0;
        if (code && code != EADDRNOTAVAIL && code != ENODEV)
            error = code;
    }
    if (error)
        LOG_ERROR("vip", "cannot remove %s: %s; it goes within a second or some, by itself",
                  a->text, strerror(error));
    return removed;
}
