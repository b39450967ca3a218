#include "conf/table.h"

#include <assert.h>
#include <string.h>

#include "base/nearest.h"
#include "conf/value.h"

#define AT(field)  offsetof(struct conf, field)
#define ROW(field) offsetof(struct conf_topic, field)
#define KIB(n)     ((n)*INT64_C(1024))
#define MIB(n)     KIB((n)*INT64_C(1024))
#define SECONDS(n) ((n)*INT64_C(1000))
#define MINUTES(n) SECONDS((n)*INT64_C(60))
#define DAYS(n)    MINUTES((n)*INT64_C(1440))
#define PATH_BYTES 4095

static const char *const level_words[] = {"debug", "info", "warn", "error", NULL};
static const char *const format_words[] = {"text", "json", NULL};
static const char *const mode_words[] = {"standalone", "standby", "cluster", NULL};
static const char *const tls_words[] = {"off", "optional", "required", NULL};
static const char *const on_loss_words[] = {"stop", "failsafe", NULL};
static const char *const appendfsync_words[] = {"always", "everysec", NULL};
static const char *const tls_client_words[] = {"optional", "required", NULL};
static const char *const lease_check_words[] = {"off", "auto", "require", NULL};
static const char *const backoff_words[] = {"none", "fixed", "exponential", NULL};

const struct conf_tls_files conf_tls_files[TLS_SIDES] = {
    [TLS_OF_PORTS] = {{"tls.certificate", "tls.key", "tls.client_ca"},
                      AT(tls.file),
                      AT(tls.text)},
    [TLS_OF_STORE] = {{"store.tls.certificate", "store.tls.key", "store.tls.ca"},
                      AT(store.tls.file),
                      AT(store.tls.text)},
};

/* clang-format off */

/* The keys of the dialects, each behind its "listen" (CONF_PORT_LIST). */
#define GMQ_KEYS \
    {"gmq.strict", &kind_bool, AT(gmq.strict), "false", \
     .is_reloadable = true, .help = "numbers as strings and errors as results, like gmq"}, \
    {"gmq.pop_wait", &kind_duration, AT(gmq.pop_wait_ms), "2s", 0, SECONDS(29), \
     .is_reloadable = true, .help = "how long Service.Pop waits for a job"},
#define HTTP_KEYS \
    {"http.metrics_topics", &kind_count, AT(http.metrics_topics), "100", 0, 1000, \
     .is_reloadable = true, .help = "topics with job counts of their own in the metrics"}, \
    {"http.hosts", &kind_hosts, AT(http.hosts), "", 0, 4096, \
     .is_reloadable = true, .help = "names the node may be called by; empty: any"},

#define ADMIN_KEYS \
    {"admin.socket", &kind_text, AT(admin.socket), "admin.sock", 0, PATH_BYTES, \
     .help = "a socket for operators on this machine; a name is one in node.data_dir; empty: none"},

#define MYKIT_KEYS \
    {"mykit.clear_all", &kind_bool, AT(mykit.clear_all), "false", \
     .is_reloadable = true, .help = "whether /clearAll purges all jobs of all topics"}, \
    {"mykit.pop_wait", &kind_duration, AT(mykit.pop_wait_ms), "20s", 0, MINUTES(10), \
     .is_reloadable = true, .help = "how long /get/topic waits for a job"},

/* A secret, and behind it the file that may hold it; the field for that is FIELD_file. */
#define SECRET(path, field, max, text, text_of_file) \
    {path, &kind_text, AT(field), "", 0, max, .is_secret = true, .help = text}, \
    {path "_file", &kind_text, AT(field##_file), "", 0, PATH_BYTES, .help = text_of_file},

const struct conf_key conf_keys[] = {
    {"node.id", &kind_name, AT(node.id), "", 0, 64,
     .help = "this node's name in logs; empty: the host's name"},
    {"node.data_dir", &kind_text, AT(node.data_dir), "dueq-data", 1, PATH_BYTES,
     .help = "where the embedded Redis keeps its files; one node each"},
    {"node.stop_timeout", &kind_duration, AT(node.stop_timeout_ms), "8s", SECONDS(1), MINUTES(10),
     .help = "how long an orderly stop may take"},

    {"log.level", &kind_word, AT(log.level), "info", .words = level_words,
     .is_reloadable = true, .help = "what is logged"},
    {"log.modules", &kind_modules, AT(log.modules), "", 0, 1000,
     .is_reloadable = true, .help = "other levels for some modules: scanner=debug,gmq=warn"},
    {"log.format", &kind_word, AT(log.format), "text", .words = format_words,
     .is_reloadable = true, .help = "lines for people or for programs"},
    {"log.file", &kind_text, AT(log.file), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "appended to, reopened on SIGHUP; empty: standard error"},
    {"log.audit", &kind_text, AT(log.audit), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "what operators did, from where; reopened on SIGHUP; empty: off"},

    {"store.redis", &kind_redis, AT(store.redis), "embedded",
     .help = "where the jobs live; embedded: a private redis-server"},
    {"store.user", &kind_name, AT(store.user), "", 0, 64,
     .help = "whom Redis takes the nodes for (ACL); empty: its default user"},
    SECRET("store.password", store.password, 4096,
           "of Redis; better ${REDIS_PASSWORD} than in the file",
           "a file that holds the password, not readable by all")
    SECRET("store.sentinel_password", store.sentinel_password, 4096,
           "of the Sentinels, where they have one", "a file that holds it, not readable by all")
    {"store.prefix", &kind_name, AT(store.prefix), "dq", 1, 32,
     .help = "what all keys in Redis begin with"},
    {"store.buckets", &kind_count, AT(store.buckets), "64", 1, 128,
     .help = "shards of the jobs; fixed once there are data"},
    {"store.strict", &kind_bool, AT(store.strict), "false",
     .help = "refuse a Redis that could lose jobs, instead of warning"},
    {"store.command_timeout", &kind_duration, AT(store.command_timeout_ms), "5s", 100, MINUTES(5),
     .help = "an answer that takes longer means a lost link"},
    {"store.reconnect", &kind_duration, AT(store.reconnect_ms), "250ms", 10, MINUTES(1),
     .help = "the longest pause between two attempts to connect"},
    {"store.hold", &kind_duration, AT(store.hold_ms), "10s", 0, MINUTES(5),
     .is_reloadable = true, .help = "how long requests wait for a Redis that is away"},
    {"store.hold_max", &kind_count, AT(store.hold_max), "20000", 1, 1000000,
     .is_reloadable = true, .help = "how many of them wait; more are refused"},
    {"store.breaker.after", &kind_duration, AT(store.breaker.after_ms), "10s", 0, MINUTES(10),
     .is_reloadable = true, .help = "silence of Redis, then requests are refused at once; 0s: never"},
    {"store.breaker.failures", &kind_count, AT(store.breaker.failures), "3", 0, 1000,
     .is_reloadable = true, .help = "the same after so many late answers in a row; 0: never"},
    {"store.breaker.probes", &kind_count, AT(store.breaker.probes), "16", 1, 4096,
     .is_reloadable = true, .help = "requests that try a Redis that is back, before all may"},
    {"store.min_replicas", &kind_count, AT(store.min_replicas), "0", 0, 16,
     .help = "replicas that have a push, an ack or a cancel when it is answered"},
    {"store.replica_timeout", &kind_duration, AT(store.replica_timeout_ms), "1s", 10, MINUTES(1),
     .help = "how long they are waited for; then it may have happened"},
    {"store.appendfsync", &kind_word, AT(store.appendfsync), "always", .words = appendfsync_words,
     .help = "embedded Redis: when a write is on disk"},
    {"store.memory", &kind_size, AT(store.memory_bytes), "0", 0, MIB(16777216),
     .help = "embedded Redis: its maxmemory; 0: half of the memory that there is"},
    {"store.redis_server", &kind_text, AT(store.redis_server), "redis-server", 1, PATH_BYTES,
     .help = "embedded Redis: the program"},
    {"store.tls.ca", &kind_text, AT(store.tls.file[TLS_CA]), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "a PEM file: who may vouch for Redis; empty: whom this machine trusts"},
    {"store.tls.certificate", &kind_text, AT(store.tls.file[TLS_CERTIFICATE]), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "a PEM file: the node's, for a Redis that asks for one"},
    {"store.tls.key", &kind_text, AT(store.tls.file[TLS_KEY]), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "a PEM file: the certificate's key, not readable by all"},
    {"store.tls.server_name", &kind_name, AT(store.tls.server_name), "", 0, 255,
     .is_reloadable = true, .help = "the name in Redis's certificates; empty: the host it is reached by"},

#define X(name, word, fallback, text, ...) \
    {word ".listen", &kind_port, AT(listen[PORT_##name]), fallback, .help = text}, \
    {word ".tls", &kind_word, AT(port_tls[PORT_##name]), "off", .words = tls_words, \
     .is_reloadable = true, .help = "whether clients speak TLS; optional: those that want to"}, \
    {word ".as", &kind_name, AT(as[PORT_##name]), "", 0, 64, .is_reloadable = true, \
     .help = "the identity of clients without a token"}, \
    {word ".proxies", &kind_networks, AT(proxies[PORT_##name]), "", 0, 4096, \
     .is_reloadable = true, .help = "proxies that say whose connection it is (PROXY protocol)"}, \
    __VA_ARGS__
    CONF_PORT_LIST(X)
#undef X

    {"access.file", &kind_text, AT(access.file), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "identities and what they may do; reread on SIGHUP; empty: none"},
    {"access.in_redis", &kind_bool, AT(access.in_redis), "false",
     .is_reloadable = true, .help = "whether Redis has identities, for all nodes at once"},

    {"tls.certificate", &kind_text, AT(tls.file[TLS_CERTIFICATE]), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "a PEM file: the certificate, and behind it its chain"},
    {"tls.key", &kind_text, AT(tls.file[TLS_KEY]), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "a PEM file: the certificate's key, not readable by all"},
    {"tls.client_ca", &kind_text, AT(tls.file[TLS_CA]), "", 0, PATH_BYTES,
     .is_reloadable = true, .help = "a PEM file: who may vouch for clients; empty: nobody is asked"},
    {"tls.client", &kind_word, AT(tls.client), "required", .words = tls_client_words,
     .is_reloadable = true, .help = "with client_ca: whether a client must have a certificate"},

    {"limits.body_bytes", &kind_size, AT(limits.body_bytes), "1MiB", 1, MIB(64),
     .is_reloadable = true, .help = "the largest body of a job"},
    {"limits.connections", &kind_count, AT(limits.connections), "0", 0, 1000000,
     .is_reloadable = true, .help = "clients at the same time, for each protocol; 0: 10000, or what open files allow"},
    {"limits.connections_per_address", &kind_count, AT(limits.connections_per_address), "0", 0, 1000000,
     .is_reloadable = true, .help = "of these, from one address (of IPv6: from one /64); 0: all of them"},
    {"limits.connects_per_address", &kind_count, AT(limits.connects_per_address), "0", 0, 1000000,
     .is_reloadable = true, .help = "new connections from one address, a second; 0: no limit"},
    {"limits.requests_per_address", &kind_count, AT(limits.requests_per_address), "0", 0, 1000000,
     .is_reloadable = true, .help = "requests from one address, a second; 0: no limit"},
    {"limits.bytes_per_address", &kind_size, AT(limits.bytes_per_address), "0", 0, MIB(65536),
     .is_reloadable = true, .help = "requests of one address in work at the same time; 0: no limit"},
    {"limits.pipelined", &kind_count, AT(limits.pipelined), "128", 1, 100000,
     .is_reloadable = true, .help = "unanswered requests of one connection"},
    {"limits.waiting", &kind_count, AT(limits.waiting), "10000", 1, 1000000,
     .is_reloadable = true, .help = "topics that consumers wait for at the same time"},
    {"limits.output_bytes", &kind_size, AT(limits.output_bytes), "8MiB", KIB(64), MIB(1024),
     .is_reloadable = true, .help = "unread replies, before the connection is cut"},
    {"limits.http_body_bytes", &kind_size, AT(limits.http_body_bytes), "16MiB", KIB(64), MIB(1024),
     .is_reloadable = true, .help = "the largest HTTP request that brings jobs"},
    {"limits.http_bodies_bytes", &kind_size, AT(limits.http_bodies_bytes), "128MiB", KIB(64), MIB(65536),
     .is_reloadable = true, .help = "bodies of all HTTP requests at the same time"},
    {"limits.request_time", &kind_duration, AT(limits.request_ms), "60s", 100, MINUTES(60),
     .is_reloadable = true, .help = "for a request to arrive and for a reply to be read"},
    {"limits.idle", &kind_duration, AT(limits.idle_ms), "0s", 0, MINUTES(60 * 24 * 7),
     .is_reloadable = true, .help = "silence before a client is disconnected; 0s: for ever"},

    {"queue.scan_batch", &kind_count, AT(queue.scan_batch), "200", 1, 1000,
     .is_reloadable = true, .help = "due jobs moved in one step"},
    {"queue.scan_interval", &kind_duration, AT(queue.scan_interval_ms), "1s", 100, MINUTES(1),
     .is_reloadable = true, .help = "the safety scan, beside the exact timers"},
    {"queue.lock_time", &kind_duration, AT(queue.lock_ms), "5s", SECONDS(1), MINUTES(1),
     .help = "ha.mode cluster: how long a node has a topic at a time"},
    {"queue.audit_rate", &kind_count, AT(queue.audit_rate), "500", 0, 100000,
     .is_reloadable = true, .help = "jobs the reconciler looks at a second; 0: it is off"},
    {"queue.history_bytes", &kind_size, AT(queue.history_bytes), "1MiB", KIB(64), MIB(1024),
     .is_reloadable = true, .help = "what a bucket keeps of its topics' histories"},
    {"queue.lease_check", &kind_word, AT(queue.lease_check), "auto", .words = lease_check_words,
     .is_reloadable = true, .help = "leases that cannot be guessed; require: no others are taken"},

    {"ha.mode", &kind_word, AT(ha.mode), "standalone", .words = mode_words,
     .help = "standby: of several nodes one leads and scans; cluster: all scan"},
    {"ha.zookeeper", &kind_servers, AT(ha.zookeeper), "", 0, 4096,
     .help = "the servers that elect the leader: host:port,host:port"},
    SECRET("ha.auth", ha.auth, 256, "user:password for ZooKeeper's access lists; empty: open to all",
           "a file that holds ha.auth, not readable by all")
    {"ha.cluster", &kind_name, AT(ha.cluster), "main", 1, 64,
     .help = "the cluster's name; its znodes are under /dueq/NAME"},
    {"ha.session_timeout", &kind_duration, AT(ha.session_ms), "2s", SECONDS(1), MINUTES(1),
     .help = "how soon a node that is frozen or cut off is given up"},
    {"ha.peer.listen", &kind_listen, AT(ha.peer), "127.0.0.1:9504",
     .help = "where the other nodes reach this one"},
    {"ha.peer.tls", &kind_word, AT(ha.peer_tls), "optional", .words = tls_words,
     .help = "optional: plain text with nodes of the version before; required: never"},
    SECRET("ha.secret", ha.secret, 256, "shared by all nodes of the cluster, 16 characters or more",
           "a file that holds ha.secret, not readable by all")
    SECRET("ha.secret_old", ha.secret_old, 256, "the one before ha.secret, while it is changed; empty: none",
           "a file that holds ha.secret_old, not readable by all")
    {"ha.on_zookeeper_loss", &kind_word, AT(ha.on_loss), "stop", .words = on_loss_words,
     .help = "failsafe: the leader goes on while all members agree"},
    {"ha.priority", &kind_count, AT(ha.priority), "50", 0, 100,
     .help = "the node with the highest leads, where there is a choice"},
    {"ha.no_failover", &kind_bool, AT(ha.no_failover), "false",
     .help = "this node never leads, unless an operator forces it"},
    {"ha.tenure", &kind_duration, AT(ha.tenure_ms), "1m", 0, DAYS(1),
     .help = "how long one leads before a preferred node takes the lead back"},
    {"ha.hook", &kind_text, AT(ha.hook), "", 0, PATH_BYTES,
     .help = "a program to run when this node is promoted, demoted or fenced"},
    {"ha.advertise", &kind_name, AT(ha.advertise), "", 0, 255,
     .help = "the host by which others reach this node; empty: each listener's"},
    {"ha.journal", &kind_bool, AT(ha.journal), "false",
     .help = "write each role and lease to ha.journal, for tests of failovers"},

    {"vip.address", &kind_text, AT(vip.address), "", 0, 255,
     .help = "one address for all clients, on the node that leads; empty: none"},
    {"vip.interface", &kind_text, AT(vip.interface), "", 0, 15,
     .help = "where it is put; empty: where its subnet is"},
    {"vip.hook", &kind_text, AT(vip.hook), "", 0, PATH_BYTES,
     .help = "a program that moves the address, in place of the kernel"},

    {"topics", &kind_list, AT(topics), "[]", 0, CONF_TOPICS_MAX,
     .is_reloadable = true, .help = "settings of topics; of each setting the first match counts"},

    {"warden.hang_timeout", &kind_duration, AT(warden.hang_timeout_ms), "5s", 500, MINUTES(5),
     .help = "a worker silent for so long is killed and replaced"},
    {"warden.backoff_max", &kind_duration, AT(warden.backoff_max_ms), "5s", 100, MINUTES(5),
     .help = "the longest pause before a restart"},
};

#define TOPIC_DURATION(name, word, field, max, text) \
    [TOPIC_##name] = {"topics." word, &kind_duration, ROW(field), NULL, 0, max, .help = text},
#define TOPIC_COUNT(name, word, field, max, text) \
    [TOPIC_##name] = {"topics." word, &kind_count, ROW(field), NULL, 0, max, .help = text},
#define TOPIC_SIZE(name, word, field, max, text) \
    [TOPIC_##name] = {"topics." word, &kind_size, ROW(field), NULL, 0, max, .help = text},
#define TOPIC_SWITCH(name, word, field, max, text) \
    [TOPIC_##name] = {"topics." word, &kind_bool, ROW(field), NULL, .help = text},
#define TOPIC_BACKOFF(name, word, field, max, text) \
    [TOPIC_##name##_KIND] = {"topics." word ".kind", &kind_word, ROW(field.kind), NULL, \
     .words = backoff_words, .help = "how a job rests between its tries"}, \
    [TOPIC_##name##_BASE] = {"topics." word ".base", &kind_duration, ROW(field.base_ms), NULL, \
     1, DAYS(30), .help = "the rest, or the first of the growing ones"}, \
    [TOPIC_##name##_CAP] = {"topics." word ".cap", &kind_duration, ROW(field.cap_ms), NULL, \
     1, DAYS(30), .help = "up to which the rests grow; left out: 30d"}, \
    [TOPIC_##name##_JITTER] = {"topics." word ".jitter", &kind_percent, \
     ROW(field.jitter_percent), NULL, 0, 100, \
     .help = "how much longer or shorter a rest may be, by chance"},

const struct conf_key conf_topic_keys[TOPIC_KEY_COUNT] = {
    [TOPIC_NAME] = {"topics.name", &kind_topics, ROW(name), NULL, 1, CONF_TOPIC_NAME_MAX,
     .help = "which topics the row is for"},
#define X(name, word, field, kind, bytes, max, built_in, help) TOPIC_##kind(name, word, field, max, help)
    TOPIC_SETTING_LIST(X)
#undef X
};
/* clang-format on */

const size_t conf_key_count = sizeof(conf_keys) / sizeof(*conf_keys);

/* Key number i of both tables, one behind the other; NULL: there are no more. */
static const struct conf_key *key_at(size_t i)
{
    if (i < conf_key_count)
        return &conf_keys[i];
    return i - conf_key_count < TOPIC_KEY_COUNT ? &conf_topic_keys[i - conf_key_count] : NULL;
}

const struct conf_key *conf_key_find(const char *path)
{
    const struct conf_key *key;

    for (size_t i = 0; (key = key_at(i)); i++) {
        if (!strcmp(key->path, path))
            return key;
    }
    return NULL;
}

bool conf_key_is_section(const char *path)
{
    size_t len = strlen(path);
    const struct conf_key *key;

    for (size_t i = 0; (key = key_at(i)); i++) {
        if (!strncmp(key->path, path, len) && key->path[len] == '.')
            return true;
    }
    return false;
}

static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* Does the key end with these words, and begin with others? */
static bool ends_with(const char *key_path, const char *words)
{
    size_t len = strlen(words), key_len = strlen(key_path);

    return key_len > len && key_path[key_len - len - 1] == '.' &&
           !strcmp(key_path + key_len - len, words);
}

static unsigned keys_that_end_with(const char *words)
{
    unsigned count = 0;

    for (size_t i = 0; key_at(i); i++)
        count += ends_with(key_at(i)->path, words);
    return count;
}

/* Is it the right name, in a wrong section or in a part of the right one? "listen" alone is the
 * name of several keys, and "peer.listen" of one. */
static bool is_misplaced(const char *path, const char *key_path)
{
    const char *word = last_word(path);

    return (ends_with(key_path, path) && keys_that_end_with(path) == 1) ||
           (ends_with(key_path, word) && keys_that_end_with(word) == 1);
}

/* A right name that is misplaced is as near as one wrong letter. */
const struct conf_key *conf_key_nearest(const char *path)
{
    struct nearest nearest = nearest_to(bytes_of_text(path));
    const struct conf_key *key;

    for (size_t i = 0; (key = key_at(i)); i++) {
        if (is_misplaced(path, key->path))
            nearest_offer_at(&nearest, key->path, 1);
        else
            nearest_offer(&nearest, key->path);
    }
    return nearest.found ? conf_key_find(nearest.found) : NULL;
}

bool conf_key_is_of_row(const struct conf_key *key)
{
    return key >= conf_topic_keys && key < conf_topic_keys + TOPIC_KEY_COUNT;
}

size_t conf_key_index(const struct conf_key *key)
{
    if (conf_key_is_of_row(key))
        return (size_t)(key - conf_topic_keys);
    assert(key >= conf_keys && key < conf_keys + conf_key_count);
    return (size_t)(key - conf_keys);
}

void *conf_key_field(const struct conf_key *key, void *owner)
{
    return (char *)owner + key->offset;
}

const void *conf_key_value(const struct conf_key *key, const void *owner)
{
    return (const char *)owner + key->offset;
}

void conf_key_print_value(const struct conf_key *key, const void *owner, struct buf *to)
{
    struct buf plain = BUF_INIT;

    key->kind->print(key, conf_key_value(key, owner), &plain);
    if (key->kind->is_quoted)
        value_print_quoted(to, buf_text(&plain));
    else
        buf_add_bytes(to, buf_bytes(&plain));
    buf_fini(&plain);
}

void conf_key_print_expected(const struct conf_key *key, struct buf *to)
{
    buf_add_text(to, key->kind->what);
    if (key->kind->print_range) {
        buf_add_char(to, ' ');
        key->kind->print_range(key, to);
    }
}
