/* The rules of `vip`, and those between `vip` and other sections. Nothing is checked while
 * vip.address is empty.
 *
 * Addresses are compared as the network does, not as they are written. ha/vip/address.h reads
 * the same list later and knows nothing of keys; this file tells the operator what is wrong
 * with the list.
 */
#include "conf/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#define ADDRESSES_MAX 4

struct ip {
    int family;
    union {
        struct in_addr v4;
        struct in6_addr v6;
    } at;
    char text[INET6_ADDRSTRLEN]; /* as it is written */
};

struct ips {
    struct ip at[ADDRESSES_MAX];
    size_t count;
};

static bool is_wanted(const struct conf_draft *d)
{
    return *d->conf->vip.address;
}

/* ---- one address ---- */

static bool ip_parse(const char *text, size_t len, struct ip *ip)
{
    *ip = (struct ip){.family = AF_UNSPEC};
    if (len >= sizeof(ip->text))
        return false;
    memcpy(ip->text, text, len);
    if (inet_pton(AF_INET, ip->text, &ip->at.v4) == 1)
        ip->family = AF_INET;
    else if (inet_pton(AF_INET6, ip->text, &ip->at.v6) == 1)
        ip->family = AF_INET6;
    return ip->family != AF_UNSPEC;
}

static bool is_same(const struct ip *a, const struct ip *b)
{
    return a->family == b->family &&
           !memcmp(&a->at, &b->at, a->family == AF_INET ? sizeof(a->at.v4) : sizeof(a->at.v6));
}

static const char *why_not_v4(uint32_t address)
{
    if (address >> 24 == 127)
        return "is a loopback address, which no other machine reaches";
    if (address >> 24 == 0)
        return "is no host's address";
    if (address >> 16 == 0xa9fe)
        return "is link-local";
    if (address >> 28 == 0xe)
        return "is a multicast address";
    if (address >> 28 == 0xf)
        return "is reserved";
    return NULL;
}

static const char *why_not_v6(const struct in6_addr *address)
{
    static const unsigned char zeros[10];

    if (IN6_IS_ADDR_LOOPBACK(address))
        return "is the loopback address, which no other machine reaches";
    if (IN6_IS_ADDR_UNSPECIFIED(address))
        return "is no host's address";
    if (IN6_IS_ADDR_LINKLOCAL(address))
        return "is link-local";
    if (IN6_IS_ADDR_MULTICAST(address))
        return "is a multicast address";
    if (IN6_IS_ADDR_V4MAPPED(address))
        return "is an IPv4 address; write it as one, such as 10.0.0.100";
    if (!memcmp(address, zeros, sizeof(zeros)))
        return "is reserved";
    return NULL;
}

/* NULL: a host of a cluster can have the address. */
static const char *why_not(const struct ip *ip)
{
    return ip->family == AF_INET ? why_not_v4(ntohl(ip->at.v4.s_addr)) : why_not_v6(&ip->at.v6);
}

/* ---- the list ---- */

static const struct ip *find(const struct ips *these, const struct ip *one)
{
    for (size_t i = 0; i < these->count; i++)
        if (is_same(&these->at[i], one))
            return &these->at[i];
    return NULL;
}

/* False: the address is refused, and `why` says why. */
static bool take(struct ips *these, const char *text, size_t len, char *why, size_t room)
{
    struct ip ip;
    const struct ip *twin = NULL;

    if (!ip_parse(text, len, &ip)) {
        snprintf(why, room,
                 "\"%.*s\" is no address: give IPv4 or IPv6 addresses without a prefix, with "
                 "commas and no blanks between, such as \"10.0.0.100,fd00::100\"",
                 (int)len, text);
        return false;
    }
    if (why_not(&ip)) {
        snprintf(why, room, "%s %s: give a free address of your clients' network", ip.text,
                 why_not(&ip));
        return false;
    }
    twin = find(these, &ip);
    if (twin) {
        snprintf(why, room, "%s is there twice%s%s: leave one out", ip.text,
                 strcmp(ip.text, twin->text) ? ", first as " : "",
                 strcmp(ip.text, twin->text) ? twin->text : "");
        return false;
    }
    if (these->count == ADDRESSES_MAX) {
        snprintf(why, room, "has more than %d addresses", ADDRESSES_MAX);
        return false;
    }
    these->at[these->count++] = ip;
    return true;
}

/* False: the text is no such list, and `why` says what to do. */
static bool read_list(const struct conf_draft *d, struct ips *these, char *why, size_t room)
{
    const char *text = d->conf->vip.address;

    these->count = 0;
    for (;;) {
        size_t len = strcspn(text, ",");

        if (!take(these, text, len, why, room))
            return false;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

/* False: no address is wanted, or the list is wrong, which another rule complains of. */
static bool has_list(const struct conf_draft *d, struct ips *these)
{
    char why[CHECK_WHY_MAX];

    return is_wanted(d) && read_list(d, these, why, sizeof(why));
}

/* ---- the rules ---- */

static void want_addresses(struct conf_draft *d)
{
    struct ips ignored;
    char why[CHECK_WHY_MAX];

    if (is_wanted(d) && !read_list(d, &ignored, why, sizeof(why)))
        check_complain(d, "vip.address", "%s", why);
}

static void want_several_nodes(struct conf_draft *d)
{
    if (is_wanted(d) && !conf_has_others(d->conf))
        check_complain(d, "vip.address",
                       "moves to the node that leads, and with ha.mode standalone there is but "
                       "one: set ha.mode standby or cluster, or leave it out");
}

static bool has_family(const struct ips *these, int family)
{
    for (size_t i = 0; i < these->count; i++)
        if (these->at[i].family == family)
            return true;
    return false;
}

/* A port is open before the address is on this host, and stays open after that. */
static void want_it_everywhere(struct conf_draft *d, const char *key,
                               const struct conf_address *listen, const struct ips *these)
{
    bool is_v6 = has_family(these, AF_INET6);

    if (listen->kind != ADDRESS_TCP || check_is_everywhere(listen, AF_INET6) ||
        (!is_v6 && check_is_everywhere(listen, AF_INET)))
        return;
    check_complain(
        d, key,
        "must be \"%s:%u\"%s, so that clients of vip.address are heard wherever it is; or "
        "\"\", off",
        is_v6 ? "[::]" : "0.0.0.0", listen->port, is_v6 ? ", which hears IPv4, too" : "");
}

static void want_ports_everywhere(struct conf_draft *d)
{
    struct ips these;

    if (has_list(d, &these))
        for (unsigned i = 0; i < CONF_PORTS; i++)
            if (conf_port_is_for_clients(i))
                want_it_everywhere(d, conf_port_key(i), &d->conf->listen[i], &these);
}

static void want_something_to_serve(struct conf_draft *d)
{
    unsigned open = 0;

    for (unsigned i = 0; i < CONF_PORTS; i++)
        open += conf_port_is_for_clients(i) && d->conf->listen[i].kind == ADDRESS_TCP;
    if (is_wanted(d) && !open)
        check_complain(
            d, "vip.address",
            "is for clients, and all their ports are off, or sockets of this machine: "
            "switch one on, such as http.listen, or leave it out");
}

static void want_another_than(struct conf_draft *d, const char *key, const char *host)
{
    struct ips these;
    struct ip ip;

    if (has_list(d, &these) && host && ip_parse(host, strlen(host), &ip) && find(&these, &ip))
        check_complain(d, key,
                       "is an address of vip.address, which moves from node to node: give one "
                       "that this node always has");
}

static void want_a_peer_port_of_its_own(struct conf_draft *d)
{
    want_another_than(d, "ha.peer.listen", d->conf->ha.peer.host);
}

static void want_operators_ports_of_their_own(struct conf_draft *d)
{
    for (unsigned i = 0; i < CONF_PORTS; i++)
        if (!conf_port_is_for_clients(i))
            want_another_than(d, conf_port_key(i), d->conf->listen[i].host);
}

static void want_to_advertise_another(struct conf_draft *d)
{
    want_another_than(d, "ha.advertise", d->conf->ha.advertise);
}

static void want_a_hook_that_runs(struct conf_draft *d)
{
    if (is_wanted(d) && *d->conf->vip.hook)
        check_program(d, "vip.hook", d->conf->vip.hook);
}

static void want_one_way(struct conf_draft *d)
{
    if (is_wanted(d) && *d->conf->vip.hook && *d->conf->vip.interface)
        check_complain(d, "vip.interface",
                       "is where the kernel puts the address, and with vip.hook the program "
                       "does: leave one of them out");
}

static void want_a_name_of_an_interface(struct conf_draft *d)
{
    if (is_wanted(d) && strpbrk(d->conf->vip.interface, "/: \t\n"))
        check_complain(d, "vip.interface",
                       "is no name of an interface; `ip -brief link` lists them, such as eth0");
}

static const struct check_rule rules[] = {
    {want_addresses, {"vip.address"}},
    {want_several_nodes, {"vip.address", "ha.mode"}},
    {want_ports_everywhere, {"vip.address", CHECK_PORT_KEYS}},
    {want_something_to_serve, {"vip.address", CHECK_PORT_KEYS}},
    {want_a_peer_port_of_its_own, {"vip.address", "ha.peer.listen"}},
    {want_operators_ports_of_their_own, {"vip.address", CHECK_PORT_KEYS}},
    {want_to_advertise_another, {"vip.address", "ha.advertise"}},
    {want_a_hook_that_runs, {"vip.address", "vip.hook"}},
    {want_one_way, {"vip.address", "vip.hook", "vip.interface"}},
    {want_a_name_of_an_interface, {"vip.address", "vip.interface"}},
};

void check_vip(struct conf_draft *d)
{
    check_rules(d, rules, sizeof(rules) / sizeof(*rules));
}
