/* The configuration of a node: everything an operator can set, as one plain struct.
 *
 * A value comes from the default in the table of keys (table.c), the file, or the command
 * line's --set; the later source wins. Then the whole is checked. All mistakes are reported at
 * once, each as `file:line:column: key: message`; with a mistake no configuration is returned.
 *
 *   table.c   the keys: path, kind, field, default, range, help. To add a key: a field here,
 *             a line there, a paragraph in dueq.yaml; a test holds the three together
 *   kinds.c   what each kind of value accepts and how it is written
 *   value.c   text to number, size, duration, address and back; pure
 *   yaml.c    the file as a flat list of (path, text, line, column); nobody else sees libyaml
 *   load.c    loading, from the first step to the last: the file's bytes, ${NAME} in it, each
 *             value, the list of mistakes
 *   check.c   rules between keys, and values derived from several keys;
 *             check_ha.c, check_vip.c: the same for `ha` and `vip`
 *   check_tls.c  the same for `tls` and `store.tls`, whose files it reads
 *   topics.c  the list `topics`: its rows, as a value and checked
 *   print.c   printing the effective configuration, and the table for --help; reloading
 */
#ifndef DUEQ_CONF_CONF_H
#define DUEQ_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/status.h"
#include "base/tls_context.h"
#include "base/topic_settings.h"

/* The ports: a row for each dialect that listens.
 *
 *   X(NAME, "word", default, help, KEYS)
 *
 * The word is in logs, metrics and the status. The key "word.listen" has this default ("": the
 * port is off) and this line of help. KEYS is the macro in table.c with the dialect's other
 * keys, empty where it has none.
 *
 * A row here gives the dialect its key, the checks of its address, and a listener in the warden
 * and in the worker; a row in node/wiring.c starts the dialect.
 */

/* clang-format off */
#define CONF_PORT_LIST(X)                                                                      \
    X(GMQ, "gmq", "127.0.0.1:9503", "where clients in the manner of gmq connect", GMQ_KEYS)    \
    X(BEANSTALKD, "beanstalkd", "", "where beanstalkd's clients connect, such as 127.0.0.1:11300", ) \
    X(HTTP, "http", "127.0.0.1:8000", "where the HTTP API, health and metrics are", HTTP_KEYS) \
    X(ADMIN, "admin", "", "where operators and monitors ask, as at http.listen", ADMIN_KEYS)   \
    X(LMSTFY, "lmstfy", "", "where lmstfy's producers and consumers connect", )                \
    X(LMSTFY_ADMIN, "lmstfy_admin", "", "where lmstfy's operators make and revoke tokens", )   \
    X(MYKIT, "mykit", "", "where clients of mykit-delay connect", MYKIT_KEYS)                  \
    X(GMQ_WEB, "gmq_web", "", "where gmq's web monitor and its HTTP clients ask", )            \
    X(OUQIANG, "ouqiang", "", "where clients of ouqiang/delay-queue connect", )                \
    X(DELAYTASK, "delaytask", "", "where clients of /delay/task/add connect", )
/* clang-format on */

enum conf_port {
#define X(name, ...) PORT_##name,
    CONF_PORT_LIST(X)
#undef X
        CONF_PORTS
};

/* Clients connect there, at the virtual address, too. The others are for operators. */
static inline bool conf_port_is_for_clients(enum conf_port port)
{
    return port != PORT_ADMIN && port != PORT_LMSTFY_ADMIN;
}

/* "gmq"; and "gmq.listen". */
const char *conf_port_word(enum conf_port port);
const char *conf_port_key(enum conf_port port);
const char *conf_port_tls_key(enum conf_port port); /* "gmq.tls" */

/* What a port speaks. OPTIONAL: TLS with those clients that begin it, plain with the others. */
enum conf_port_tls { PORT_TLS_OFF, PORT_TLS_OPTIONAL, PORT_TLS_REQUIRED };

enum conf_tls_client { TLS_CLIENT_OPTIONAL, TLS_CLIENT_REQUIRED };

enum conf_address_kind {
    ADDRESS_OFF,
    ADDRESS_EMBEDDED,
    ADDRESS_TCP,
    ADDRESS_UNIX,
    ADDRESS_SENTINELS,
    ADDRESS_CLUSTER
};

struct conf_address {
    enum conf_address_kind kind;
    char *text;    /* as written, never NULL */
    char *host;    /* TCP: a name or an address, IPv6 without brackets; else NULL */
    char *path;    /* UNIX: absolute; else NULL */
    unsigned port; /* TCP; listening on 0: the system chooses */
    /* Of store.redis: */
    bool is_tls;
    unsigned bare_at; /* behind "redis://", "rediss://" and "rediss+" in the text */
};

enum conf_backoff { CONF_BACKOFF_NONE, CONF_BACKOFF_FIXED, CONF_BACKOFF_EXPONENTIAL };

/* The keys of a row of `topics`. */
#define TOPIC_KEYS_DURATION(name) TOPIC_##name,
#define TOPIC_KEYS_COUNT(name)    TOPIC_##name,
#define TOPIC_KEYS_SIZE(name)     TOPIC_##name,
#define TOPIC_KEYS_SWITCH(name)   TOPIC_##name,
#define TOPIC_KEYS_BACKOFF(name) \
    TOPIC_##name##_KIND, TOPIC_##name##_BASE, TOPIC_##name##_CAP, TOPIC_##name##_JITTER,

enum conf_topic_key {
    TOPIC_NAME,
#define X(name, word, field, kind, ...) TOPIC_KEYS_##kind(name)
    TOPIC_SETTING_LIST(X)
#undef X
        TOPIC_KEY_COUNT
};

#define CONF_TOPICS_MAX     100 /* rows */
#define CONF_TOPIC_NAME_MAX 200 /* bytes of a name, `*` included */

struct conf_topic_backoff {
    enum conf_backoff kind; /* given when any key of the backoff is */
    int64_t base_ms;
    int64_t cap_ms;
    unsigned jitter_percent;
};

#define TOPIC_TYPE_DURATION int64_t
#define TOPIC_TYPE_COUNT    unsigned
#define TOPIC_TYPE_SIZE     size_t
#define TOPIC_TYPE_SWITCH   bool
#define TOPIC_TYPE_BACKOFF  struct conf_topic_backoff

/* A row of `topics`. A field that is not given is 0, and means nothing. */
struct conf_topic {
    unsigned given; /* 1 << enum conf_topic_key of each */
    char *name;     /* a topic, or a prefix and `*`; never NULL */
#define X(name, word, field, kind, ...) TOPIC_TYPE_##kind field;
    TOPIC_SETTING_LIST(X)
#undef X
};

struct conf_topics {
    struct conf_topic *at; /* first match first */
    size_t count;          /* at most CONF_TOPICS_MAX */
};

enum conf_log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum conf_ha_mode { HA_MODE_STANDALONE, HA_MODE_STANDBY, HA_MODE_CLUSTER };

enum conf_ha_tls { HA_TLS_OFF, HA_TLS_OPTIONAL, HA_TLS_REQUIRED };
enum conf_ha_on_loss { HA_ON_LOSS_STOP, HA_ON_LOSS_FAILSAFE };

enum conf_lease_check { LEASE_CHECK_OFF, LEASE_CHECK_AUTO, LEASE_CHECK_REQUIRE };

enum conf_appendfsync { APPENDFSYNC_ALWAYS, APPENDFSYNC_EVERYSEC };

/* Texts are never NULL and belong to the conf. dueq.yaml explains each key. */
struct conf {
    struct {
        char *id; /* the host's name where none was given */
        char *data_dir;
        int64_t stop_timeout_ms;
    } node;
    struct {
        enum log_level level;
        char *modules;
        enum conf_log_format format;
        char *file;  /* "": standard error */
        char *audit; /* a file; "": there is no audit log */
    } log;
    struct {
        struct conf_address redis; /* all but OFF; SENTINELS, CLUSTER: the text alone */
        char *user;                /* "": Redis's default user */
        char *password;            /* "": none; password_file has been read into it */
        char *password_file;
        char *sentinel_password; /* the same */
        char *sentinel_password_file;
        char *prefix;
        unsigned buckets;
        bool strict;
        int64_t command_timeout_ms;
        int64_t reconnect_ms;
        int64_t hold_ms;
        unsigned hold_max;
        struct {
            int64_t after_ms;
            unsigned failures;
            unsigned probes;
        } breaker;
        unsigned min_replicas;
        int64_t replica_timeout_ms;
        enum conf_appendfsync appendfsync;
        size_t memory_bytes; /* 0: half of the machine's, or of the control group's limit */
        char *redis_server;
        struct {
            char *file[TLS_PARTS]; /* as in `tls` below; only where redis.is_tls */
            char *text[TLS_PARTS];
            char *server_name; /* of all certificates; "": of each its own */
        } tls;
    } store;
    struct conf_address listen[CONF_PORTS];  /* by port: OFF, TCP or UNIX */
    enum conf_port_tls port_tls[CONF_PORTS]; /* OFF unless there is a certificate */
    char *as[CONF_PORTS];      /* by port: whom clients without a token act as; "": nobody */
    char *proxies[CONF_PORTS]; /* by port: networks with commas between; "": none */
    struct {
        char *file; /* of identities; "": there is none */
        bool in_redis;
    } access;
    struct {
        bool strict;
        int64_t pop_wait_ms;
    } gmq;
    struct {
        unsigned metrics_topics;
        char *hosts; /* names with commas between; "": any */
    } http;
    struct {
        char *socket; /* a path, or a name in node.data_dir; "": there is none */
    } admin;
    struct {
        bool clear_all;
        int64_t pop_wait_ms;
    } mykit;
    struct {
        char *file[TLS_PARTS];       /* "": none */
        enum conf_tls_client client; /* where TLS_CA is given */
        char *text[TLS_PARTS];       /* of the files, which fit together; "": none. No keys */
    } tls;
    struct {
        size_t body_bytes;
        unsigned connections;             /* per protocol; 0: see wiring_connections_max() */
        unsigned connections_per_address; /* the same; 0: no limit of its own */
        unsigned connects_per_address;    /* a second; the same */
        unsigned requests_per_address;    /* a second; the same */
        size_t bytes_per_address;         /* in work; the same */
        unsigned pipelined;               /* per connection */
        unsigned waiting;
        size_t output_bytes; /* per connection */
        size_t http_body_bytes;
        size_t http_bodies_bytes;
        int64_t request_ms;
        int64_t idle_ms; /* 0: for ever */
    } limits;
    struct {
        unsigned scan_batch;
        int64_t scan_interval_ms;
        int64_t lock_ms;
        unsigned audit_rate; /* jobs a second; 0: off */
        size_t history_bytes;
        enum conf_lease_check lease_check;
    } queue;
    struct conf_topics topics;
    struct {
        enum conf_ha_mode mode;
        char *zookeeper;        /* "host:port,host:port" */
        char *auth, *auth_file; /* "user:password"; auth_file has been read into auth */
        char *cluster;
        int64_t session_ms;       /* T */
        struct conf_address peer; /* OFF or TCP */
        enum conf_ha_tls peer_tls;
        char *secret, *secret_file;         /* secret_file has been read into secret */
        char *secret_old, *secret_old_file; /* "": none; read in the same way */
        enum conf_ha_on_loss on_loss;
        unsigned priority;
        bool no_failover;
        int64_t tenure_ms;
        char *hook;      /* "": none */
        char *advertise; /* "": the host of each listener */
        bool journal;
    } ha;
    struct {
        char *address;   /* up to four, with commas between; "": there is none */
        char *interface; /* "": the interface with an address of the same subnet */
        char *hook;      /* "": the kernel has the address */
    } vip;
    struct {
        int64_t hang_timeout_ms;
        int64_t backoff_max_ms;
    } warden;
};

struct conf_request {
    const char *file;        /* NULL: defaults and sets only */
    const char *const *sets; /* "store.redis=127.0.0.1:6379", last wins */
    size_t set_count;
    const char *(*get_env)(const char *name); /* NULL: the process's environment */
    /* Only regular files are read: a pipe could block, and the start has read it empty. */
    bool is_reload;
};

/* Mistakes, collected so that an operator sees all of them at once. */

#define CONF_ERRORS_MAX 100 /* after that only the count grows */

struct conf_errors {
    struct buf lines; /* one a line, each with its newline */
    unsigned count;
};

void conf_errors_init(struct conf_errors *errors);
void conf_errors_fini(struct conf_errors *errors);

/* All lines, terminated; borrowed until the next change. */
const char *conf_errors_text(struct conf_errors *errors);

/* The caller's to conf_free(), or NULL with one error or more added to `errors`. */
struct conf *conf_load(const struct conf_request *request,
                       struct conf_errors *errors) MUST_CHECK;
void conf_free(struct conf *conf);

/* Is this node one of several: with ha.mode standby or cluster? */
static inline bool conf_has_others(const struct conf *conf)
{
    return conf->ha.mode != HA_MODE_STANDALONE;
}

bool conf_topic_has(const struct conf_topic *topic, enum conf_topic_key key);

/* Prints YAML that reads back to the same configuration, but for secrets, which are "***". */
void conf_print(const struct conf *conf, FILE *to);

/* Prints every key with its default, its range and a line of help. */
void conf_print_keys(FILE *to);

/* Moves the changed reloadable values, and what the files of `tls` and `store.tls` hold, from
 * `fresh` into `running`; what is of `store.tls` only where `store.redis` is the same. Adds the
 * names of these keys to `taken`, and those of changed keys that need a restart to
 * `need_restart`, separated by ", ". Texts of reloadable keys borrowed from `running` die with
 * `fresh`. */
void conf_reload(struct conf *running, struct conf *fresh, struct buf *taken,
                 struct buf *need_restart);

/* The options for base/log; texts are borrowed from `conf`. */
struct log_options conf_log_options(const struct conf *conf);

#endif
