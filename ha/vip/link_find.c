/* Where an address belongs. */
#include "ha/vip/link_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>

/* ---- interfaces ---- */

struct link_answer {
    struct vip_interface is;
    bool has_mac;
};

/* One without IPv6 has nothing of that family. */
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

/* By its index, or by its name where that is 0. 0, or an errno. */
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

/* Subnets of one or two have no such addresses. */
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
