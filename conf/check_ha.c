/* The rules of `ha`. A standalone node needs none of its keys, and may have them all the same.
 */
#include "conf/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/network.h"

#define SECRET_MIN 16

static bool has_others(const struct conf_draft *d)
{
    return conf_has_others(d->conf);
}

static const char *mode_of(const struct conf_draft *d)
{
    return d->conf->ha.mode == HA_MODE_CLUSTER ? "cluster" : "standby";
}

static void want_zookeeper(struct conf_draft *d)
{
    if (has_others(d) && !*d->conf->ha.zookeeper)
        check_complain(d, "ha.zookeeper",
                       "ha.mode %s needs it: name the servers of ZooKeeper, such as "
                       "10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181",
                       mode_of(d));
}

static void want_a_long_secret(struct conf_draft *d, const char *secret, const char *path)
{
    if (*secret && strlen(secret) < SECRET_MIN)
        check_complain(d, path,
                       "is shorter than 16 characters; make one with: openssl rand -hex 16");
}

static void want_long_secrets(struct conf_draft *d)
{
    const struct conf *conf = d->conf;

    want_a_long_secret(d, conf->ha.secret,
                       *conf->ha.secret_file ? "ha.secret_file" : "ha.secret");
    want_a_long_secret(d, conf->ha.secret_old,
                       *conf->ha.secret_old_file ? "ha.secret_old_file" : "ha.secret_old");
    if (*conf->ha.secret_old && !strcmp(conf->ha.secret_old, conf->ha.secret))
        check_complain(d, *conf->ha.secret_old_file ? "ha.secret_old_file" : "ha.secret_old",
                       "is ha.secret, too: it is for the one before");
}

static void want_a_secret(struct conf_draft *d)
{
    const char *secret = d->conf->ha.secret;

    if (has_others(d) && !*secret && !*d->conf->ha.secret_file)
        check_complain(d, "ha.secret",
                       "ha.mode %s needs one, the same on all nodes of the cluster; make "
                       "one with: openssl rand -hex 16",
                       mode_of(d));
}

static void want_user_and_password(struct conf_draft *d)
{
    const char *auth = d->conf->ha.auth, *colon = strchr(auth, ':');

    if (*auth && (!colon || colon == auth || !colon[1]))
        check_complain(d, *d->conf->ha.auth_file ? "ha.auth_file" : "ha.auth",
                       "must be user:password");
}

static void want_a_redis_for_all(struct conf_draft *d)
{
    if (has_others(d) && d->conf->store.redis.kind == ADDRESS_EMBEDDED)
        check_complain(d, "store.redis",
                       "the embedded Redis is for one node alone; with ha.mode %s all "
                       "nodes need the same one: give its host:port",
                       mode_of(d));
}

static void want_a_peer_port(struct conf_draft *d)
{
    const struct conf_address *peer = &d->conf->ha.peer;
    const char *other = check_port_at(d, peer);

    if (has_others(d) && peer->kind == ADDRESS_OFF)
        check_complain(d, "ha.peer.listen",
                       "ha.mode %s needs it: host:port where the other nodes reach this "
                       "one",
                       mode_of(d));
    else if (other)
        check_complain(d, "ha.peer.listen", "is the address of %s, or meets it", other);
}

static bool is_everywhere(const struct conf_address *address)
{
    return check_is_everywhere(address, AF_INET) || check_is_everywhere(address, AF_INET6);
}

/* Of names only localhost is known to be. */
static bool is_loopback(const char *host)
{
    struct networks loopback;
    struct in6_addr address;

    return !strcmp(host, "localhost") ||
           (networks_read(BYTES("127.0.0.0/8,::1"), &loopback) &&
            address_read(bytes_of_text(host), &address) && networks_have(&loopback, &address));
}

/* "host:port,[host]:port": are all hosts loopback, and so the whole cluster on this machine? */
static bool are_all_loopback(const char *servers)
{
    char host[256];

    while (*servers) {
        size_t len = strcspn(servers, ",");
        bool has_bracket = *servers == '[';

        snprintf(host, sizeof(host), "%.*s", (int)(len - has_bracket), servers + has_bracket);
        if (strrchr(host, ':'))
            *strrchr(host, ':') = '\0';
        if (has_bracket)
            host[strcspn(host, "]")] = '\0';
        if (!is_loopback(host))
            return false;
        servers += len + (servers[len] == ',');
    }
    return true;
}

static void want_an_address_for_nodes(struct conf_draft *d)
{
    const struct conf_address *peer = &d->conf->ha.peer;

    if (!has_others(d) || *d->conf->ha.advertise || peer->kind != ADDRESS_TCP)
        return;
    if (is_everywhere(peer))
        check_complain(
            d, "ha.advertise",
            "ha.peer.listen is everywhere, which tells the other nodes nothing: give "
            "the name or address by which they reach this one");
    else if (is_loopback(peer->host) && !are_all_loopback(d->conf->ha.zookeeper))
        check_complain(d, "ha.peer.listen",
                       "no other machine reaches this address, and ha.zookeeper names servers "
                       "on other machines: give an address at which the other nodes reach this "
                       "one, such as 10.0.0.1:9504");
}

static void want_an_address_for_clients(struct conf_draft *d)
{
    if (!has_others(d) || *d->conf->ha.advertise || is_everywhere(&d->conf->ha.peer))
        return;
    for (unsigned i = 0; i < CONF_PORTS; i++)
        if (is_everywhere(&d->conf->listen[i])) {
            check_complain(d, "ha.advertise",
                           "%s is everywhere, which tells nobody where that is: give the name "
                           "or address by which others reach this node",
                           conf_port_key(i));
            return;
        }
}

/* dueqctl asks each node itself, at the address that the node advertises. */
static void want_an_address_for_dueqctl(struct conf_draft *d)
{
    const struct conf_address *http = &d->conf->listen[PORT_HTTP];
    const struct conf_address *admin = &d->conf->listen[PORT_ADMIN];
    bool has_admin = admin->kind == ADDRESS_TCP && !is_loopback(admin->host);

    if (has_others(d) && !has_admin && !*d->conf->ha.advertise && http->kind == ADDRESS_TCP &&
        is_loopback(http->host) && !are_all_loopback(d->conf->ha.zookeeper))
        check_complain(d, "http.listen",
                       "is advertised to the other nodes, where it means another machine, and "
                       "ha.zookeeper names servers on other machines: give an address at which "
                       "they reach this one, such as 10.0.0.1:8000; or \"\", no HTTP");
}

/* ZooKeeper takes no such component of a path. */
static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static void want_names_of_znodes(struct conf_draft *d)
{
    if (is_dots(d->conf->ha.cluster))
        check_complain(d, "ha.cluster", "ZooKeeper takes no such name");
    if (has_others(d) && is_dots(d->conf->node.id))
        check_complain(d, "node.id", "ZooKeeper takes no such name");
}

/* A hook that cannot run is told now, not at the first failover. */
static void want_a_hook_that_runs(struct conf_draft *d)
{
    if (has_others(d) && *d->conf->ha.hook)
        check_program(d, "ha.hook", d->conf->ha.hook);
}

static const struct check_rule rules[] = {
    {want_zookeeper, {"ha.mode", "ha.zookeeper"}},
    {want_a_secret, {"ha.mode", "ha.secret", "ha.secret_file"}},
    {want_long_secrets, {"ha.secret", "ha.secret_file", "ha.secret_old", "ha.secret_old_file"}},
    {want_user_and_password, {"ha.auth", "ha.auth_file"}},
    {want_a_redis_for_all, {"ha.mode", "store.redis"}},
    {want_a_peer_port, {"ha.mode", "ha.peer.listen", CHECK_PORT_KEYS}},
    {want_an_address_for_nodes, {"ha.mode", "ha.peer.listen", "ha.advertise", "ha.zookeeper"}},
    {want_an_address_for_clients, {"ha.mode", "ha.advertise", CHECK_PORT_KEYS}},
    {want_an_address_for_dueqctl,
     {"ha.mode", "http.listen", "admin.listen", "ha.advertise", "ha.zookeeper"}},
    {want_a_hook_that_runs, {"ha.mode", "ha.hook"}},
    {want_names_of_znodes, {"ha.mode", "ha.cluster", "node.id"}},
};

void check_ha(struct conf_draft *d)
{
    check_rules(d, rules, sizeof(rules) / sizeof(*rules));
}
