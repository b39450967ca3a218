#include "node/wiring.h"

#include <assert.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "conf/load.h"
#include "node/store/redis/wire/tls.h"
#include "node/warden/listen.h"
#include "protocol/access/access.h"
#include "protocol/access/role.h"
#include "protocol/api/api.h"
#include "protocol/api/handlers.h"
#include "protocol/beanstalkd/beanstalkd.h"
#include "protocol/conn/port.h"
#include "protocol/delaytask/delaytask.h"
#include "protocol/gmq/gmq.h"
#include "protocol/gmq_web/gmq_web.h"
#include "protocol/http/http.h"
#include "protocol/lmstfy/lmstfy.h"
#include "protocol/mykit/mykit.h"
#include "protocol/ouqiang/ouqiang.h"

/* At most, beside those of clients; of few, half: for Redis, ZooKeeper, nodes and files, and
 * for operators at each of their ports, those over the limit there included. */
#define OWN_DESCRIPTORS   64
#define ADMIN_CONNECTIONS 64 /* of each port; of few descriptors, one in 32 */
#define ADMIN_EXCESS      8
/* For clients over a limit, at each port of HTTP; where descriptors are few, an eighth. Two
 * turns of the listener, so that each client is read before others take its room. */
#define EXCESS_DESCRIPTORS  ((uint64_t)2 * LISTENER_ACCEPTS_PER_TURN)
#define CONNECTIONS_DEFAULT 10000
#define RATE_MIN            65536 /* bytes a second of a body that others wait for */
#define SILENCE_MS          1000
#define SILENCE_MIN_MS      250 /* no disk makes Redis as slow as that each day */

/* In a cluster a leader that alone has lost its Redis must notice in time (see
 * ha_is_store_away()). A standalone node has time. */
static int64_t silence_ms(const struct conf *conf)
{
    int64_t ms = conf_has_others(conf) ? conf->ha.session_ms / 4 : SILENCE_MS;

    return ms < SILENCE_MIN_MS ? SILENCE_MIN_MS : ms;
}

struct redis_store_options wiring_store_options(const struct conf *conf, const char *address)
{
    struct redis_store_options options = redis_store_defaults();

    options.address = address;
    options.user = conf->store.user;
    options.password = conf->store.password;
    options.prefix = conf->store.prefix;
    options.buckets = conf->store.buckets;
    options.is_strict = conf->store.strict;
    options.command_timeout_ms = conf->store.command_timeout_ms;
    options.silence_ms = silence_ms(conf);
    options.reconnect_ms = conf->store.reconnect_ms;
    options.hold_ms = conf->store.hold_ms;
    options.held_max = conf->store.hold_max;
    options.breaker_after_ms = conf->store.breaker.after_ms;
    options.breaker_failures = conf->store.breaker.failures;
    options.breaker_probes = conf->store.breaker.probes;
    options.min_replicas = conf->store.min_replicas;
    options.replica_timeout_ms = conf->store.replica_timeout_ms;
    options.sentinel_password = conf->store.sentinel_password;
    return options;
}

_Static_assert(CONF_TOPICS_MAX <= OP_RULES_MAX, "every row is a rule");
_Static_assert((int)CONF_BACKOFF_NONE == (int)BACKOFF_NONE &&
                   (int)CONF_BACKOFF_FIXED == (int)BACKOFF_FIXED &&
                   (int)CONF_BACKOFF_EXPONENTIAL == (int)BACKOFF_EXPONENTIAL,
               "both are one");

static struct backoff backoff_of(const struct conf_topic_backoff *given)
{
    return (struct backoff){.kind = (enum backoff_kind)given->kind,
                            .jitter_percent = given->jitter_percent,
                            .base_ms = given->base_ms,
                            .cap_ms = given->cap_ms};
}

#define KEY_OF_DURATION(name) TOPIC_##name
#define KEY_OF_COUNT(name)    TOPIC_##name
#define KEY_OF_SIZE(name)     TOPIC_##name
#define KEY_OF_SWITCH(name)   TOPIC_##name
#define KEY_OF_BACKOFF(name)  TOPIC_##name##_KIND

#define VALUE_OF_DURATION(given) (given)
#define VALUE_OF_COUNT(given)    (given)
#define VALUE_OF_SIZE(given)     ((int64_t)(given))
#define VALUE_OF_SWITCH(given)   (given)
#define VALUE_OF_BACKOFF(given)  backoff_of(&(given))

static struct topic_settings settings_of(const struct conf_topic *row)
{
    struct topic_settings s = {0};

#define X(name, word, field, kind, ...)                                        \
    s.set |= conf_topic_has(row, KEY_OF_##kind(name)) ? SETTING_BIT(name) : 0; \
    s.field = VALUE_OF_##kind(row->field);
    TOPIC_SETTING_LIST(X)
#undef X
    return s;
}

void wiring_rules_set(struct wiring_rules *rules, const struct conf *conf)
{
    memset(rules, 0, sizeof(*rules));
    for (size_t i = 0; i < conf->topics.count; i++) {
        const struct conf_topic *row = &conf->topics.at[i];
        size_t len = strlen(row->name);

        assert(len <= sizeof(rules->names[i]));
        memcpy(rules->names[i], row->name, len);
        rules->at[i].pattern = bytes_of(rules->names[i], len);
        rules->at[i].settings = settings_of(row);
    }
    rules->count = (unsigned)conf->topics.count;
}

_Static_assert((int)LEASE_CHECK_OFF == QUEUE_LEASE_CHECK_OFF &&
                   (int)LEASE_CHECK_AUTO == QUEUE_LEASE_CHECK_AUTO &&
                   (int)LEASE_CHECK_REQUIRE == QUEUE_LEASE_CHECK_REQUIRE,
               "one is cast to the other");

static bool goes_by_ids(const struct conf *conf);

struct queue_options wiring_queue_options(const struct conf *conf,
                                          const struct wiring_rules *rules)
{
    return (struct queue_options){
        .body_max_bytes = conf->limits.body_bytes,
        .waiting_max = conf->limits.waiting,
        .scan_batch = conf->queue.scan_batch,
        .scan_interval_ms = conf->queue.scan_interval_ms,
        .lock_ms = conf->queue.lock_ms,
        .node = bytes_of_text(conf->node.id),
        .rules = rules->at,
        .rule_count = rules->count,
        .history_bytes = (int64_t)conf->queue.history_bytes,
        .audit_rate = conf->queue.audit_rate,
        .lease_check = (enum queue_lease_check)conf->queue.lease_check,
        .index_ids = goes_by_ids(conf),
    };
}

/* ---- connections and descriptors ---- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static unsigned excess_max(uint64_t descriptors)
{
    uint64_t max = smaller(EXCESS_DESCRIPTORS, descriptors / 8);

    return max ? (unsigned)max : 1;
}

unsigned wiring_connections_max(unsigned wanted, uint64_t descriptors,
                                const struct wiring_open *open)
{
    uint64_t most =
        OWN_DESCRIPTORS + (uint64_t)open->operators * (ADMIN_CONNECTIONS + ADMIN_EXCESS);
    uint64_t own =
        smaller(most, descriptors / 2) + (uint64_t)open->http * excess_max(descriptors);
    uint64_t max = descriptors > own ? (descriptors - own) / open->clients : 0;

    max = smaller(max, wanted ? wanted : CONNECTIONS_DEFAULT);
    return max ? (unsigned)max : 1;
}

static uint64_t descriptors_allowed(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) ? UINT64_MAX : limit.rlim_cur;
}

static unsigned admin_connections_max(uint64_t descriptors)
{
    uint64_t max = smaller(ADMIN_CONNECTIONS, descriptors / 32);

    return max ? (unsigned)max : 1;
}

static bool is_http(enum conf_port port);

/* For each port for clients that listens. */
static unsigned connections_max(const struct conf *conf)
{
    struct wiring_open open = {.operators = 1}; /* the socket */

    for (unsigned i = 0; i < CONF_PORTS; i++) {
        bool is_on = conf->listen[i].kind != ADDRESS_OFF;

        open.clients += is_on && conf_port_is_for_clients(i);
        open.http += is_on && conf_port_is_for_clients(i) && is_http(i);
        open.operators += is_on && !conf_port_is_for_clients(i);
    }
    open.clients += !open.clients;
    return wiring_connections_max(conf->limits.connections, descriptors_allowed(), &open);
}

void wiring_raise_descriptors(const struct conf *conf)
{
    unsigned wanted = conf->limits.connections, max;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    max = connections_max(conf);
    if (max < wanted)
        LOG_WARN("app",
                 "the system allows %llu open files: room for %u clients of each protocol, not "
                 "for limits.connections (%u); raise the one (ulimit -Hn) or lower the other",
                 (unsigned long long)limit.rlim_max, max, wanted);
    else if (!wanted && max < CONNECTIONS_DEFAULT)
        LOG_INFO("app",
                 "the system allows %llu open files: room for %u clients of each protocol",
                 (unsigned long long)limit.rlim_max, max);
}

void wiring_store_address(const struct conf *conf, const char *socket, struct buf *to)
{
    if (socket)
        buf_printf(to, "unix:%s", socket);
    else
        buf_add_text(to, conf->store.redis.text + conf->store.redis.bare_at);
}

/* ---- ports: how the dialects begin to serve, and what a reload changes, a row each ---- */

static struct port_address_limits address_limits_of(const struct conf *conf)
{
    return (struct port_address_limits){
        .connects = conf->limits.connects_per_address,
        .requests = conf->limits.requests_per_address,
        .bytes = conf->limits.bytes_per_address,
    };
}

static struct port_limits limits_of(const struct conf *conf)
{
    return (struct port_limits){
        .body_max_bytes = conf->limits.body_bytes,
        .connections_max = connections_max(conf),
        .connections_per_address = conf->limits.connections_per_address,
        .of_address = address_limits_of(conf),
        .pipelined_max = conf->limits.pipelined,
        .output_max_bytes = conf->limits.output_bytes,
        .request_ms = conf->limits.request_ms,
        .idle_ms = conf->limits.idle_ms,
    };
}

static struct gmq_options gmq_options_of(const struct wiring_ports *from)
{
    const struct conf *conf = from->conf;

    return (struct gmq_options){
        .access = from->access,
        .as = conf->as[PORT_GMQ],
        .strict = conf->gmq.strict,
        .pop_wait_ms = conf->gmq.pop_wait_ms,
        .limits = limits_of(conf),
    };
}

/* Whom a port without identities is open to, when other machines reach it: what touches many
 * jobs, or the cluster, is not for everybody. */
static unsigned open_roles(int fd)
{
    return listen_is_local(fd) ? ACCESS_ALL : ACCESS_PRODUCE | ACCESS_CONSUME | ACCESS_INSPECT;
}

/* Of any dialect of HTTP, which may add its own. */
static struct http_options http_options_of(const struct wiring_ports *from, unsigned which,
                                           int fd)
{
    const struct conf *conf = from->conf;

    return (struct http_options){
        .audit = from->audit,
        .access = from->access,
        .as = conf->as[which],
        .open_roles = open_roles(fd),
        .connections_max = connections_max(conf),
        .connections_per_address = conf->limits.connections_per_address,
        .of_address = address_limits_of(conf),
        .excess_max = excess_max(descriptors_allowed()),
        .hosts = conf->http.hosts,
        .own = {conf->node.id, conf->ha.advertise},
        .idle_ms = conf->limits.idle_ms,
        .request_ms = conf->limits.request_ms,
        .body_max_bytes = conf->limits.http_body_bytes,
        .bodies_max_bytes = conf->limits.http_bodies_bytes,
        .rate_min = RATE_MIN,
        .errors = from->api->errors,
    };
}

/* Few, but their own: clients cannot take them, nor can one address all of them. */
static struct http_options admin_options_of(const struct wiring_ports *from, unsigned which,
                                            int fd)
{
    struct http_options options = http_options_of(from, which, fd);

    options.connections_max = admin_connections_max(descriptors_allowed());
    options.connections_per_address = (options.connections_max + 1) / 2;
    options.excess_max = ADMIN_EXCESS;
    options.bodies_max_bytes = options.body_max_bytes;
    return options;
}

static struct http_options socket_options_of(const struct wiring_ports *from, unsigned which,
                                             int fd)
{
    struct http_options options = admin_options_of(from, PORT_ADMIN, fd);

    options.as = "";
    options.connections_per_address = 0; /* it is one address */
    options.is_for_operators = true;
    return options;
}

static struct port *open_gmq(const struct wiring_ports *from, int fd)
{
    struct gmq_options options = gmq_options_of(from);

    return gmq_new(&options, from->loop, from->queue, fd);
}

static void reload_gmq(const struct wiring_ports *from, struct port *port)
{
    struct gmq_options options = gmq_options_of(from);

    gmq_reload(port, &options);
}

static struct beanstalkd_options beanstalkd_options_of(const struct wiring_ports *from)
{
    const struct conf *conf = from->conf;

    return (struct beanstalkd_options){.audit = from->audit,
                                       .access = from->access,
                                       .as = conf->as[PORT_BEANSTALKD],
                                       .limits = limits_of(conf)};
}

static struct port *open_beanstalkd(const struct wiring_ports *from, int fd)
{
    struct beanstalkd_options options = beanstalkd_options_of(from);

    return beanstalkd_new(&options, from->loop, from->queue, fd);
}

static void reload_beanstalkd(const struct wiring_ports *from, struct port *port)
{
    struct beanstalkd_options options = beanstalkd_options_of(from);

    beanstalkd_reload(port, &options);
}

static void *api_arg(const struct wiring_ports *from)
{
    return from->api;
}

static bool is_master(void *arg)
{
    struct cluster_status room;

    (void)api_cluster_read(arg, &room);
    return room.may_act;
}

static const char *why_not_ready(void *arg)
{
    const struct api_node *node = &((const struct api *)arg)->node;

    return node->why_not_ready ? node->why_not_ready(node->arg) : NULL;
}

static void *lmstfy_arg(const struct wiring_ports *from)
{
    static struct lmstfy lmstfy;

    lmstfy = (struct lmstfy){
        .registry = from->api->registry, .metrics = metrics_get, .metrics_arg = from->api};
    return &lmstfy;
}

static void *mykit_arg(const struct wiring_ports *from)
{
    static struct mykit_options options;

    options = (struct mykit_options){
        .clear_all = from->conf->mykit.clear_all,
        .pop_wait_ms = from->conf->mykit.pop_wait_ms,
        .is_cluster = from->conf->ha.mode == HA_MODE_CLUSTER,
        .prefix = from->conf->store.prefix,
        .why_not_ready = why_not_ready,
        .is_master = is_master,
        .arg = from->api,
    };
    return &options;
}

/* A dialect has a port of its own, or is an app of HTTP: with these options (NULL: those that
 * all have), and with this argument for its handlers (NULL: none), asked for when the port
 * opens and after each reload. */
static const struct {
    struct port *(*open)(const struct wiring_ports *from, int fd);
    void (*reload)(const struct wiring_ports *from, struct port *port);
    const struct http_app *app;
    struct http_options (*options_of)(const struct wiring_ports *from, unsigned which, int fd);
    void *(*arg_of)(const struct wiring_ports *from);
    bool goes_by_ids; /* its clients say an id alone, so pushes of all ports are indexed */
} rows[WIRING_PORTS] = {
    [PORT_GMQ] = {.open = open_gmq, .reload = reload_gmq},
    [PORT_BEANSTALKD] = {.open = open_beanstalkd,
                         .reload = reload_beanstalkd,
                         .goes_by_ids = true},
    [PORT_HTTP] = {.app = &api_app, .arg_of = api_arg},
    [PORT_ADMIN] = {.app = &api_admin_app, .options_of = admin_options_of, .arg_of = api_arg},
    [WIRING_SOCKET] = {.app = &api_socket_app,
                       .options_of = socket_options_of,
                       .arg_of = api_arg},
    [PORT_LMSTFY] = {.app = &lmstfy_app},
    [PORT_LMSTFY_ADMIN] = {.app = &lmstfy_admin_app,
                           .options_of = admin_options_of,
                           .arg_of = lmstfy_arg},
    [PORT_MYKIT] = {.app = &mykit_app, .arg_of = mykit_arg, .goes_by_ids = true},
    [PORT_GMQ_WEB] = {.app = &gmq_web_app},
    [PORT_OUQIANG] = {.app = &ouqiang_app, .goes_by_ids = true},
    [PORT_DELAYTASK] = {.app = &delaytask_app},
};

static bool is_http(enum conf_port port)
{
    return rows[port].app;
}

static bool goes_by_ids(const struct conf *conf)
{
    for (unsigned i = 0; i < CONF_PORTS; i++)
        if (rows[i].goes_by_ids && conf->listen[i].kind != ADDRESS_OFF)
            return true;
    return false;
}

static struct http_options options_of(const struct wiring_ports *from, unsigned which, int fd)
{
    return rows[which].options_of ? rows[which].options_of(from, which, fd)
                                  : http_options_of(from, which, fd);
}

static void *arg_of(const struct wiring_ports *from, unsigned which)
{
    return rows[which].arg_of ? rows[which].arg_of(from) : NULL;
}

static struct port *open_port(const struct wiring_ports *from, unsigned which, int fd)
{
    struct http_options options;

    if (rows[which].open)
        return rows[which].open(from, fd);
    options = options_of(from, which, fd);
    return http_port(
        http_new(rows[which].app, arg_of(from, which), &options, from->loop, from->queue, fd));
}

static void reload_port(const struct wiring_ports *from, unsigned which, struct port *port)
{
    struct http_options options;

    if (rows[which].reload) {
        rows[which].reload(from, port);
        return;
    }
    (void)arg_of(from, which);
    options = options_of(from, which, port->listener.fd);
    http_reload(port, &options);
}

_Static_assert((int)PORT_TLS_OFF == (int)TLS_OFF &&
                   (int)PORT_TLS_OPTIONAL == (int)TLS_OPTIONAL &&
                   (int)PORT_TLS_REQUIRED == (int)TLS_REQUIRED,
               "both are one");

void wiring_tls_load(struct tls *tls, const struct conf *conf)
{
    struct tls_texts texts = {.is_client_required = conf->tls.client == TLS_CLIENT_REQUIRED};

    for (unsigned part = 0; part < TLS_PARTS; part++)
        texts.pem[part] = conf->tls.text[part];
    tls_load(tls, &texts);
}

void wiring_store_tls_load(struct redis_tls *tls, const struct conf *conf)
{
    struct tls_texts texts = {.is_client_required = false};

    for (unsigned part = 0; part < TLS_PARTS; part++)
        texts.pem[part] = conf->store.tls.text[part];
    redis_tls_load(tls, &texts, conf->store.tls.server_name);
}

/* What all ports of the network have, whatever their dialect. */
static void set_common(const struct wiring_ports *from, unsigned which, struct port *port)
{
    const struct conf *conf = from->conf;

    if (which == WIRING_SOCKET)
        return;
    port_set_tls(port, from->tls, (enum tls_mode)conf->port_tls[which],
                 conf->limits.request_ms);
    port_set_proxies(port, bytes_of_text(conf->proxies[which]));
}

struct port *wiring_port_open(const struct wiring_ports *from, unsigned which, int fd)
{
    struct port *port = open_port(from, which, fd);

    set_common(from, which, port);
    return port;
}

void wiring_port_reload(const struct wiring_ports *from, unsigned which, struct port *port)
{
    reload_port(from, which, port);
    set_common(from, which, port);
}
