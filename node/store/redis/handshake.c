#include "node/store/redis/handshake.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/store/redis/wire/error.h"
#include "node/store/redis/wire/reply.h"
#include "node/store/redis/wire/tls.h"
#include "node/store/store.h"

/* The steps of the handshake are taken one after the other.
 *
 * To add a step: an ask_ function that sends its commands (none: the step is skipped), a take_
 * function that says of each reply whether to go on, and a line in the table of steps.
 */

#define HANDSHAKE_CALLS_MAX  SCRIPT_COUNT /* scripts are the most */
#define HANDSHAKE_SETUP_ASKS 4

/* One command of the current step, and which one it is (a verb). */
struct handshake_ask {
    struct redis_call call;
    struct redis_handshake *handshake;
    unsigned what;
};

struct redis_handshake {
    const struct redis_store_options *options;
    struct script_keys keys;
    enum redis_kind kind;
    struct timers *timers;
    struct redis_lane *lane;
    struct redis_link *link;
    struct store *port;
    unsigned step;
    unsigned waiting_for; /* replies of this step */
    bool asks_meta;
    bool is_over; /* on this connection: later answers are ignored */
    char shas[SCRIPT_COUNT][SCRIPT_SHA_CHARS + 1];
    struct handshake_ask asks[HANDSHAKE_CALLS_MAX];

    struct redis_setup setup; /* as Redis last told it; its text is the next field */
    char appendfsync[16];
    unsigned weak;     /* as last judged, and told: 1 << enum weakness of each */
    struct timer look; /* while the connection is in use: when to look again */
    struct handshake_ask looks[HANDSHAKE_SETUP_ASKS];
    struct handshake_ask look_at_meta;
    bool is_info_missing;  /* in this look */
    bool is_to_look_again; /* asked for since the last look began */
    bool is_looking_soon;  /* keeps the timer as it is: put off again and again, it would never
                            * fire */
};

const char *redis_handshake_sha(const struct redis_handshake *h, unsigned script)
{
    return h->shas[script];
}

const struct redis_incarnation *redis_handshake_incarnation(const struct redis_handshake *h)
{
    return &h->setup.info.incarnation;
}

/* ---- verdicts ---- */

/* The connection is closed and tried again. */
static void come_back_later(struct redis_handshake *h, const char *why)
{
    h->is_over = true;
    redis_link_reset(h->link, why);
}

static void refuse(struct redis_handshake *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Tells the owner last, who may free the handshake. */
static void refuse(struct redis_handshake *h, const char *format, ...)
{
    char why[512];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    come_back_later(h, why);
    redis_lane_on_refused(h->lane, why);
}

/* For a wrong answer. It may pass: a Redis that has no room for one more client, say, is still
 * ours. */
void redis_handshake_refuse(struct redis_handshake *h, const char *what,
                            const redisReply *reply)
{
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    char why[256];

    if (is_error && h->kind != REDIS_OF_CLUSTER && !strncmp(reply->str, "MOVED ", 6)) {
        refuse(h,
               "this is a node of a Redis Cluster: store.redis has to be "
               "%scluster://host:port,...",
               redis_tls_scheme(h->options->tls));
        return;
    }

    snprintf(why, sizeof(why), "%s: %s", what, is_error ? reply->str : "unexpected form");
    if (is_error && !redis_error_is_lasting(reply->str))
        come_back_later(h, why);
    else
        refuse(h, "%s", why);
}

/* ---- asking ---- */

static void on_reply(struct redis_call *call, const redisReply *reply);

static struct redis_call *next_call(struct redis_handshake *h, unsigned what)
{
    struct handshake_ask *ask = &h->asks[h->waiting_for++];

    ask->handshake = h;
    ask->what = what;
    ask->call.on_reply = on_reply;
    return &ask->call;
}

/* A call outside the steps, the caller's own. At most three arguments. */
static void send_call(struct redis_handshake *h, struct redis_call *call, int argc,
                      const char *const *argv)
{
    const char *args[3];
    size_t lens[3];

    for (int i = 0; i < argc; i++) {
        args[i] = argv[i];
        lens[i] = strlen(argv[i]);
    }
    redis_link_send(h->link, call, argc, args, lens);
}

static void send_step(struct redis_handshake *h, unsigned what, int argc,
                      const char *const *argv)
{
    send_call(h, next_call(h, what), argc, argv);
}

/* What Redis is, and whether its set-up keeps what it is given (durability.h). Looked at when a
 * connection is fresh, and from time to time, because anybody may change the set-up by CONFIG
 * SET, and replicas come and go. A Redis that is no usable master any more is left at once; a
 * weakness of the promise refuses a fresh connection, not one in use. */

#define LOOK_SOON_MS 250

/* The answers come in this order. */
enum { ASK_INFO, ASK_APPENDFSYNC, ASK_MIN_REPLICAS, ASK_PING, ASK_LAST = ASK_PING };
_Static_assert(ASK_LAST + 1 == HANDSHAKE_SETUP_ASKS, "one for each");

static const struct {
    int argc;
    const char *argv[3];
} asks[HANDSHAKE_SETUP_ASKS] = {
    [ASK_INFO] = {1, {"INFO"}},
    [ASK_APPENDFSYNC] = {3, {"CONFIG", "GET", "appendfsync"}},
    [ASK_MIN_REPLICAS] = {3, {"CONFIG", "GET", "min-replicas-to-write"}},
    [ASK_PING] = {1, {"PING"}}, /* answers MISCONF like a write */
};

/* ---- what is found ---- */

/* NULL: Redis does not tell. Hosted Redis often forbids CONFIG. */
static const char *config_value(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return NULL;
    return reply->element[1]->str;
}

static void note_appendfsync(struct redis_handshake *h, const char *value)
{
    size_t len = value ? strnlen(value, sizeof(h->appendfsync) - 1) : 0;

    memcpy(h->appendfsync, value ? value : "", len);
    h->appendfsync[len] = '\0';
    h->setup.appendfsync = value ? h->appendfsync : NULL;
}

/* False: it is no answer to INFO. */
static bool note(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    const char *value = config_value(reply);

    switch (what) {
    case ASK_INFO:
        if (reply->type != REDIS_REPLY_STRING)
            return false;
        h->setup.info = redis_info_read(bytes_of(reply->str, reply->len));
        h->setup.aof_cut_bytes = h->options->aof_cut_bytes ? *h->options->aof_cut_bytes : 0;
        h->setup.was_nearly_full = h->weak >> WEAKNESS_MEMORY & 1;
        h->setup.may_be_replaced = h->kind == REDIS_OF_SENTINELS ||
                                   (h->kind == REDIS_OF_CLUSTER && h->setup.info.replicas > 0);
        break;
    case ASK_APPENDFSYNC:
        note_appendfsync(h, value);
        break;
    case ASK_MIN_REPLICAS:
        h->setup.min_replicas_to_write = value ? (int)strtol(value, NULL, 10) : -1;
        break;
    case ASK_PING:
        h->setup.is_disk_wrong =
            reply->type == REDIS_REPLY_ERROR && !strncmp(reply->str, "MISCONF", 7);
        break;
    }
    return true;
}

static void tell(struct redis_handshake *h, unsigned weak)
{
    if (weak == h->weak)
        return;
    h->weak = weak;
    redis_lane_on_weak(h->lane, weak);
}

/* ---- of a fresh connection ---- */

static void ask_setup(struct redis_handshake *h)
{
    h->setup = (struct redis_setup){.min_replicas = h->options->min_replicas};
    for (unsigned i = 0; i < HANDSHAKE_SETUP_ASKS; i++)
        send_step(h, i, asks[i].argc, asks[i].argv);
}

static bool is_usable(struct redis_handshake *h)
{
    const struct redis_info *info = &h->setup.info;

    if (info->is_loading || info->is_replica)
        come_back_later(h, info->is_loading ? "Redis is loading its data"
                                            : "this Redis is a replica; waiting for a master");
    else if (info->is_sentinel)
        refuse(h,
               "this is no Redis, but a Sentinel: store.redis has to be "
               "%ssentinel://MASTER@host:port,..., with the name in its 'sentinel "
               "monitor' line for MASTER",
               redis_tls_scheme(h->options->tls));
    else if (info->version < REDIS_VERSION_MIN)
        refuse(h, "Redis %s is too old: 6.2 or newer is needed", info->version_text);
    else
        return true;
    return false;
}

static bool is_strong_enough(struct redis_handshake *h, unsigned weak)
{
    for (unsigned w = 0; h->options->is_strict && w < WEAKNESS_COUNT; w++) {
        if ((weak >> w & 1) && weakness_loses_jobs((enum weakness)w)) {
            refuse(h, "%s; %s; store.strict is on", weakness_what((enum weakness)w),
                   weakness_advice((enum weakness)w));
            return false;
        }
    }
    return true;
}

static bool take_setup(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    unsigned weak;

    if (!note(h, what, reply)) {
        redis_handshake_refuse(h, "Redis does not answer INFO", reply);
        return false;
    }
    if (what == ASK_INFO)
        return is_usable(h);
    if (what != ASK_LAST)
        return true;
    weak = redis_weaknesses(&h->setup);
    if (!is_strong_enough(h, weak))
        return false;
    tell(h, weak);
    return true;
}

/* ---- of one that lives ---- */

static bool stops_writes(unsigned weak)
{
    for (unsigned w = 0; w < WEAKNESS_COUNT; w++)
        if ((weak >> w & 1) && weakness_stops_writes((enum weakness)w))
            return true;
    return false;
}

/* A weakness that stops the store is looked at more often, so that its end is seen soon. */
static void look_later(struct redis_handshake *h)
{
    bool is_soon = h->is_to_look_again || stops_writes(h->weak);

    h->is_looking_soon = is_soon;
    timer_arm(h->timers, &h->look,
              is_soon && h->options->look_ms > LOOK_SOON_MS ? LOOK_SOON_MS
                                                            : h->options->look_ms);
}

/* Lost, or no answer to INFO: nothing is found out; the next handshake, or the next look, tries
 * again. */
static void on_look_reply(struct redis_call *call, const redisReply *reply)
{
    struct handshake_ask *ask = CONTAINER_OF(call, struct handshake_ask, call);
    struct redis_handshake *h = ask->handshake;

    if (!reply)
        return;
    if (!note(h, ask->what, reply))
        h->is_info_missing = true;
    if (ask->what != ASK_LAST)
        return;
    if (!h->is_info_missing && !is_usable(h))
        return;
    if (!h->is_info_missing)
        tell(h, redis_weaknesses(&h->setup));
    look_later(h);
}

static void look_at_meta(struct redis_handshake *h);

/* The answer that arms the timer again comes last. */
static void on_look(struct timer *timer)
{
    struct redis_handshake *h = CONTAINER_OF(timer, struct redis_handshake, look);

    h->is_info_missing = h->is_to_look_again = false;
    look_at_meta(h);
    for (unsigned i = 0; i < HANDSHAKE_SETUP_ASKS && redis_link_is_open(h->link); i++) {
        h->looks[i] =
            (struct handshake_ask){.call.on_reply = on_look_reply, .handshake = h, .what = i};
        send_call(h, &h->looks[i].call, asks[i].argc, asks[i].argv);
    }
}

/* Errors come by the thousand: not more often than every LOOK_SOON_MS. */
void redis_handshake_look_soon(struct redis_handshake *h)
{
    h->is_to_look_again = true;
    if (!h->is_looking_soon && timer_is_armed(&h->look))
        look_later(h);
}

/* What is ours in Redis: the jobs' schema, the channel of the wake-ups, the scripts. */

static bool has_bare(const struct store *port)
{
    return port->lease_key.has_bare ||
           (port->events.has_bare && port->events.has_bare(port->events.arg));
}

/* A Redis that has lost the key for leases' checks gets it back from the first node that looks
 * and knows it: so leases that are out stay valid. */
static void send_meta(struct redis_handshake *h, struct redis_call *call)
{
    const struct store_lease_key *known = &h->port->lease_key;
    char key[STORE_LEASE_KEY_BYTES];
    struct script_call script;

    if (known->is_known)
        memcpy(key, known->bytes, sizeof(key));
    else
        arc4random_buf(key, sizeof(key));
    script_encode_meta(&script, &h->keys, bytes_of(key, sizeof(key)), has_bare(h->port));
    redis_link_send(h->link, call, script.argc, script.argv, script.lens);
}

static void ask_meta(struct redis_handshake *h)
{
    if (h->asks_meta)
        send_meta(h, next_call(h, 0));
}

/* False: it is none. */
static bool take_lease_key(struct redis_handshake *h, const struct reply_meta *meta)
{
    struct store_lease_key *known = &h->port->lease_key;
    bool is_other;

    if (meta->lease_key.len != STORE_LEASE_KEY_BYTES)
        return false;
    is_other =
        known->is_known && memcmp(known->bytes, meta->lease_key.at, sizeof(known->bytes));
    known->is_known = true;
    known->has_bare |= meta->has_bare; /* ours may be younger than the question */
    memcpy(known->bytes, meta->lease_key.at, STORE_LEASE_KEY_BYTES);
    if (is_other)
        LOG_WARN("redis",
                 "%s:meta has another key for leases than before: leases that are out are "
                 "refused like stale ones, and their jobs come again",
                 h->keys.prefix);
    return true;
}

/* What is no answer, or somebody else's, is left to the next handshake. */
static void on_meta_reply(struct redis_call *call, const redisReply *reply)
{
    struct redis_handshake *h = CONTAINER_OF(call, struct handshake_ask, call)->handshake;
    struct reply_meta found;

    if (reply && reply_read_meta(reply, &found) && found.schema == SCRIPT_SCHEMA &&
        found.buckets == h->keys.buckets)
        (void)take_lease_key(h, &found);
}

static void look_at_meta(struct redis_handshake *h)
{
    if (!redis_link_is_open(h->link) || !redis_lane_has_meta(h->lane))
        return;
    h->look_at_meta = (struct handshake_ask){.call.on_reply = on_meta_reply, .handshake = h};
    send_meta(h, &h->look_at_meta.call);
}

static bool take_meta(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    const struct script_keys *keys = &h->keys;
    struct reply_meta found;
    char what_failed[64];

    snprintf(what_failed, sizeof(what_failed), "%s:meta cannot be read", keys->prefix);
    if (!reply_read_meta(reply, &found)) {
        redis_handshake_refuse(h, what_failed, reply);
        return false;
    }
    if (found.schema == 0 || found.buckets == 0) {
        refuse(h,
               "the key %s:meta in this Redis is not dueq's, or damaged: rename it "
               "if it is somebody else's, or set another store.prefix",
               keys->prefix);
        return false;
    }
    if (found.schema > SCRIPT_SCHEMA) {
        refuse(h,
               "the jobs in this Redis were written by a newer dueq (schema %lld, this one "
               "knows %d): install that version, or set another store.prefix",
               (long long)found.schema, SCRIPT_SCHEMA);
        return false;
    }
    if (found.schema < SCRIPT_SCHEMA) {
        refuse(h,
               "the jobs in this Redis were written by an older dueq (schema %lld, this one "
               "knows %d): let that version work them off, or set another store.prefix",
               (long long)found.schema, SCRIPT_SCHEMA);
        return false;
    }
    if (found.buckets != keys->buckets) {
        refuse(h,
               "the jobs in this Redis lie in %lld buckets, but store.buckets is %u: set it to "
               "%lld, or set another store.prefix than '%s'",
               (long long)found.buckets, keys->buckets, (long long)found.buckets, keys->prefix);
        return false;
    }
    if (!take_lease_key(h, &found)) {
        redis_handshake_refuse(h, what_failed, reply);
        return false;
    }
    return true;
}

/* The word means nothing to anybody: no topic begins with '-'. */
static void ask_channel(struct redis_handshake *h)
{
    char channel[SCRIPT_PREFIX_MAX + 8];
    const char *argv[] = {"PUBLISH", channel, "-"};

    snprintf(channel, sizeof(channel), "%s:ready", h->keys.prefix);
    send_step(h, 0, 3, argv);
}

static bool take_channel(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return true;
    redis_handshake_refuse(h, "Redis does not publish what becomes ready", reply);
    return false;
}

static void ask_scripts(struct redis_handshake *h)
{
    for (unsigned script = 0; script < SCRIPT_COUNT; script++) {
        const char *argv[] = {"SCRIPT", "LOAD", script_text(script)};

        if (argv[2])
            send_step(h, script, 3, argv);
    }
}

static bool take_script(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    char what_failed[64];

    if (reply->type == REDIS_REPLY_STRING && reply->len == SCRIPT_SHA_CHARS) {
        memcpy(h->shas[what], reply->str, SCRIPT_SHA_CHARS);
        return true;
    }
    snprintf(what_failed, sizeof(what_failed), "Redis does not take the script '%s'",
             script_word(what));
    redis_handshake_refuse(h, what_failed, reply);
    return false;
}

/* ---- the steps ---- */

static const struct step {
    void (*ask)(struct redis_handshake *h);
    bool (*take)(struct redis_handshake *h, unsigned what, const redisReply *reply);
} steps[] = {
    {ask_setup, take_setup},
    {ask_meta, take_meta},
    {ask_channel, take_channel},
    {ask_scripts, take_script},
};

#define STEPS (sizeof(steps) / sizeof(*steps))

static void go_on(struct redis_handshake *h)
{
    while (h->waiting_for == 0 && h->step < STEPS)
        steps[h->step++].ask(h);
    if (h->waiting_for > 0)
        return;
    h->is_over = true;
    look_later(h);
    redis_lane_on_ready(h->lane);
}

static void on_reply(struct redis_call *call, const redisReply *reply)
{
    struct handshake_ask *ask = CONTAINER_OF(call, struct handshake_ask, call);
    struct redis_handshake *h = ask->handshake;

    if (!reply || h->is_over || !steps[h->step - 1].take(h, ask->what, reply))
        return;
    if (--h->waiting_for == 0)
        go_on(h);
}

void redis_handshake_start(struct redis_handshake *h, bool asks_meta)
{
    h->asks_meta = asks_meta;
    h->step = 0;
    h->waiting_for = 0;
    h->is_over = false;
    timer_disarm(h->timers, &h->look);
    go_on(h);
}

/* ---- life ---- */

struct redis_handshake *redis_handshake_new(const struct redis_store_options *options,
                                            enum redis_kind kind, struct timers *timers,
                                            struct redis_lane *lane, struct redis_link *link,
                                            struct store *port)
{
    struct redis_handshake *h = must(calloc(1, sizeof(*h)));

    h->options = options;
    h->keys = (struct script_keys){.prefix = options->prefix, .buckets = options->buckets};
    h->kind = kind;
    h->timers = timers;
    h->lane = lane;
    h->link = link;
    h->port = port;
    timer_init(&h->look, on_look);
    return h;
}

void redis_handshake_free(struct redis_handshake *h)
{
    if (!h)
        return;
    timer_disarm(h->timers, &h->look);
    free(h);
}
