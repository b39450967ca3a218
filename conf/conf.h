/* What an operator can decide about a node, and how it becomes one plain struct.
 *
 * A value comes from, later wins: the default in the table of keys (table.c), the file, the
 * command line's --set. Then the whole is checked. All mistakes are reported at once, each as
 * `file:line:column: key: message`, and a configuration with a mistake never comes to exist.
 *
 *   table.c   the keys: path, kind, field, default, range, help. To add a key: a field here,
 *             a line there, a paragraph in dueq.yaml; a test holds the three together
 *   kind.c    what each kind of value accepts and how it is written
 *   topics.c  the list `topics`: its rows, what must hold in each
 *   value.c   text to number, size, duration, address and back; pure
 *   yaml.c    the file as a flat list of (path, text, line, column); nobody else sees libyaml
 *   check.c   what must hold between keys, and what is worked out from several;
 *             check_ha.c, check_vip.c: the same of `ha` and `vip`
 *   draft.c   a configuration on its way: the file's bytes, ${NAME} in it, each value
 *   errors.c  the list of mistakes
 *   conf.c    all of it in order, and which changes a running node can take; the effective
 *             configuration, and the table for --help
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
#include "conf/errors.h"
#include "conf/ports.h"

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
    unsigned port; /* TCP; 0 to listen on: the system chooses */
};

enum conf_backoff { CONF_BACKOFF_NONE, CONF_BACKOFF_FIXED, CONF_BACKOFF_EXPONENTIAL };

/* The keys of a row of `topics`. */
enum conf_topic_key {
    TOPIC_NAME,
    TOPIC_TTR,
    TOPIC_PRIORITY,
    TOPIC_MAX_TRIES,
    TOPIC_BACKOFF_KIND,
    TOPIC_BACKOFF_BASE,
    TOPIC_BACKOFF_CAP,
    TOPIC_BACKOFF_JITTER,
    TOPIC_TTL,
    TOPIC_DEAD_MAX,
    TOPIC_DEAD_AGE,
    TOPIC_HISTORY,
    TOPIC_KEY_COUNT
};

#define CONF_TOPICS_MAX     100 /* rows */
#define CONF_TOPIC_NAME_MAX 200 /* bytes of a name, `*` included */

/* A row of `topics`. What is not given is 0, and means nothing. */
struct conf_topic {
    unsigned given; /* 1 << enum conf_topic_key of each */
    char *name;     /* a topic, or the beginning of some and `*`; never NULL */
    int64_t ttr_ms;
    unsigned priority;
    unsigned max_tries;
    struct {
        enum conf_backoff kind; /* given when anything of the backoff is */
        int64_t base_ms;
        int64_t cap_ms;
        unsigned jitter_percent;
    } backoff;
    int64_t ttl_ms;
    unsigned dead_max;
    int64_t dead_age_ms;
    bool history;
};

struct conf_topics {
    struct conf_topic *at; /* first match first */
    size_t count;          /* at most CONF_TOPICS_MAX */
};

enum conf_log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum conf_ha_mode { HA_MODE_STANDALONE, HA_MODE_STANDBY, HA_MODE_CLUSTER };

enum conf_ha_on_loss { HA_ON_LOSS_STOP, HA_ON_LOSS_FAILSAFE };

enum conf_appendfsync { APPENDFSYNC_ALWAYS, APPENDFSYNC_EVERYSEC };

/* Texts are never NULL and belong to the conf. dueq.yaml says what each one means. */
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
        char *file; /* "": standard error */
    } log;
    struct {
        struct conf_address redis; /* all but OFF; SENTINELS, CLUSTER: the text alone */
        char *password;            /* "": none; that of password_file has been read already */
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
        size_t memory_bytes; /* 0: half of what there is */
        char *redis_server;
    } store;
    struct conf_address listen[CONF_PORTS]; /* by port: OFF or TCP */
    struct {
        bool strict;
        int64_t pop_wait_ms;
    } gmq;
    struct {
        unsigned metrics_topics;
        char *hosts; /* names with commas between; "": any */
    } http;
    struct {
        size_t body_bytes;
        unsigned connections;             /* per protocol; 0: see app_connections_max() */
        unsigned connections_per_address; /* the same; 0: no limit of its own */
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
    } queue;
    struct conf_topics topics;
    struct {
        enum conf_ha_mode mode;
        char *zookeeper;        /* "host:port,host:port" */
        char *auth, *auth_file; /* "user:password"; that of auth_file has been read */
        char *cluster;
        int64_t session_ms;         /* T */
        struct conf_address peer;   /* OFF or TCP */
        char *secret, *secret_file; /* that of secret_file has been read already */
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
        char *interface; /* "": the one that has an address of the same subnet */
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
    /* Files have to be regular ones: a pipe could block, and has been read empty. */
    bool is_reload;
};

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

/* As YAML that reads back to the same configuration, but for secrets: those are "***". */
void conf_print(const struct conf *conf, FILE *to);

/* Every key with its default, its range and a line of help. */
void conf_print_keys(FILE *to);

/* Moves into `running` what a running node can take from `fresh`, and says what changed:
 * the keys taken and the keys that need a restart are added to the two buffers, separated by
 * ", ". Texts of reloadable keys borrowed from `running` die with `fresh`. */
void conf_reload(struct conf *running, struct conf *fresh, struct buf *taken,
                 struct buf *need_restart);

/* What base/log wants to hear; borrows from `conf`. */
struct log_options conf_log_options(const struct conf *conf);

#endif
