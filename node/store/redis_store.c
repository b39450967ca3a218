/* A request is on one list, and that is its state: held (waits to be sent), in flight (the
 * link has it), or failing (ends in the next turn, because it was refused while being
 * submitted).
 */
#include "node/store/redis_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/store/redis_handshake.h"
#include "node/store/redis_link.h"
#include "node/store/redis_wakeups.h"
#include "node/store/reply.h"
#include "node/store/scripts.h"

#define POOL_MAX 1024 /* requests kept for the next operations */

struct request {
    struct redis_call call;
    struct redis_store *store;
    struct op *op;
    struct list link; /* held, failing or in the pool */
    size_t bytes;
    int64_t since_us;      /* sent */
    int64_t hold_until_ms; /* monotonic */
    bool has_sent_text;    /* after NOSCRIPT */
};

struct redis_store {
    struct store port;
    struct redis_store_options options;
    struct script_keys keys;
    struct loop *loop;
    struct redis_link *link;
    struct redis_handshake *handshake;
    struct redis_wakeups *wakeups;
    struct redis_store_stats stats;

    struct list held; /* request, oldest first */
    struct list failing;
    struct list pool;
    unsigned pool_count;
    struct timer hold_timer; /* the oldest held request */
    struct timer fail_timer;

    bool is_ready; /* the handshake is done */
    bool is_stopping;
    bool are_links_stopping;
    unsigned links_running;
    void (*on_stopped)(void *arg);
    void *stopped_arg;

    struct reply_room room;
};

/* ---- requests ---- */

static struct request *request_new(struct redis_store *s, struct op *op)
{
    struct list *link = list_pop(&s->pool);
    struct request *r = link ? CONTAINER_OF(link, struct request, link) : malloc(sizeof(*r));

    if (!r)
        abort();
    if (link)
        s->pool_count--;
    *r = (struct request){.store = s, .op = op, .bytes = script_bytes(op)};
    list_init(&r->link);
    s->stats.held_bytes += r->bytes;
    return r;
}

static void request_free(struct request *r)
{
    struct redis_store *s = r->store;

    s->stats.held_bytes -= r->bytes;
    if (s->pool_count == POOL_MAX) {
        free(r);
        return;
    }
    s->pool_count++;
    list_prepend(&s->pool, &r->link);
}

static void finish_stop(struct redis_store *s);

/* The op's status and outputs are set. */
static void finish(struct request *r)
{
    struct redis_store *s = r->store;
    struct op *op = r->op;

    request_free(r);
    op->on_done(op);
    finish_stop(s);
}

static void finish_without_answer(struct request *r, enum status status)
{
    r->op->status = status;
    r->op->now_ms = 0;
    r->op->wait_ms = -1;
    finish(r);
}

static void fail_later(struct request *r, enum status status)
{
    struct redis_store *s = r->store;

    r->op->status = status;
    list_append(&s->failing, &r->link);
    timer_arm(&s->loop->timers, &s->fail_timer, 0);
}

static void on_fail_timer(struct timer *timer)
{
    struct redis_store *s = CONTAINER_OF(timer, struct redis_store, fail_timer);
    struct list now, *link;

    list_init(&now);
    list_append_all(&now, &s->failing);
    while ((link = list_pop(&now))) {
        struct request *r = CONTAINER_OF(link, struct request, link);

        finish_without_answer(r, r->op->status);
    }
}

/* ---- sending ---- */

static bool can_send(const struct redis_store *s)
{
    return s->is_ready && redis_link_is_open(s->link) &&
           s->stats.in_flight < s->options.flight_max;
}

static void on_reply(struct redis_call *call, const redisReply *reply);

static void send(struct request *r)
{
    struct redis_store *s = r->store;
    const char *sha = redis_handshake_sha(s->handshake, r->op->verb);
    struct script_call call;

    script_encode(&call, &s->keys, r->op, r->has_sent_text ? NULL : sha);
    r->call.on_reply = on_reply;
    r->since_us = clock_mono_us();
    s->stats.in_flight++;
    redis_link_send(s->link, &r->call, call.argc, call.argv, call.lens);
}

static void send_held(struct redis_store *s)
{
    while (can_send(s) && !list_is_empty(&s->held)) {
        s->stats.held--;
        send(CONTAINER_OF(list_pop(&s->held), struct request, link));
    }
}

/* ---- holding ---- */

static void watch_held(struct redis_store *s)
{
    struct list *first = list_first(&s->held);
    int64_t now_ms = timers_now(&s->loop->timers);

    if (first && !timer_is_armed(&s->hold_timer))
        timer_arm(&s->loop->timers, &s->hold_timer,
                  CONTAINER_OF(first, struct request, link)->hold_until_ms - now_ms);
}

static void on_hold_timer(struct timer *timer)
{
    struct redis_store *s = CONTAINER_OF(timer, struct redis_store, hold_timer);
    struct list *link;

    while ((link = list_first(&s->held))) {
        struct request *r = CONTAINER_OF(link, struct request, link);

        if (r->hold_until_ms > timers_now(&s->loop->timers))
            break;
        list_remove(link);
        s->stats.held--;
        s->stats.expired++;
        finish_without_answer(r, STATUS_UNAVAILABLE);
    }
    watch_held(s);
}

static void hold(struct request *r)
{
    struct redis_store *s = r->store;

    if (s->stats.held >= s->options.held_max || s->stats.held_bytes > s->options.bytes_max) {
        s->stats.overflowed++;
        fail_later(r, STATUS_TOO_MANY);
        return;
    }
    r->hold_until_ms = timers_now(&s->loop->timers) + s->options.hold_ms;
    list_append(&s->held, &r->link);
    s->stats.held++;
    watch_held(s);
}

static void submit(struct store *port, struct op *op)
{
    struct redis_store *s = CONTAINER_OF(port, struct redis_store, port);
    struct request *r = request_new(s, op);

    if (s->is_stopping)
        fail_later(r, STATUS_SHUTTING_DOWN);
    else if (can_send(s) && list_is_empty(&s->held) &&
             s->stats.held_bytes <= s->options.bytes_max)
        send(r);
    else
        hold(r);
}

/* ---- answers ---- */

/* What these say is true of the whole connection, and a new one may find a better Redis. */
static bool is_about_the_connection(const char *error)
{
    static const char *const words[] = {"READONLY", "LOADING", "MASTERDOWN", "NOAUTH"};

    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (!strncmp(error, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

static void take_error(struct redis_store *s, const struct op *op, const char *error)
{
    s->stats.refused++;
    LOG_WARN("redis", "%s: %s", op_word(op->verb), error);
    if (is_about_the_connection(error))
        redis_link_reset(s->link, error);
}

/* It surely did not run: whatever is in the way, it keeps its place in front. */
static void send_again(struct request *r)
{
    struct redis_store *s = r->store;

    if (can_send(s)) {
        send(r);
        return;
    }
    r->hold_until_ms = timers_now(&s->loop->timers) + s->options.hold_ms;
    list_prepend(&s->held, &r->link);
    s->stats.held++;
    watch_held(s);
}

static void take_answer(struct request *r, const redisReply *reply)
{
    struct redis_store *s = r->store;
    struct op *op = r->op;

    switch (reply_decode(reply, op, &s->room)) {
    case REPLY_NO_SCRIPT:
        s->stats.reloaded++;
        r->has_sent_text = true;
        send_again(r);
        return;
    case REPLY_AGAIN:
        send_again(r);
        return;
    case REPLY_REFUSED:
        take_error(s, op, reply->str);
        finish_without_answer(r, op->status);
        return;
    case REPLY_MALFORMED:
        s->stats.malformed++;
        LOG_ERROR("redis", "%s: the answer is not this script's", op_word(op->verb));
        finish_without_answer(r, op->status);
        return;
    case REPLY_DONE:
        break;
    }
    s->stats.answered[op->verb]++;
    redis_handshake_saw(s->handshake, op->bucket, reply_counter(op, s->keys.buckets));
    finish(r);
}

static void on_reply(struct redis_call *call, const redisReply *reply)
{
    struct request *r = CONTAINER_OF(call, struct request, call);
    struct redis_store *s = r->store;

    s->stats.in_flight--;
    if (!reply) {
        s->stats.unknown++;
        finish_without_answer(r, STATUS_UNKNOWN);
        return;
    }
    histogram_add(&s->stats.round_trip_us, clock_mono_us() - r->since_us);
    take_answer(r, reply);
    send_held(s);
}

/* ---- up and down ---- */

static void set_state(struct redis_store *s)
{
    static const char *const words[] = {"down", "up, but hears no wake-ups", "up"};
    enum redis_store_state before = s->stats.state, after = REDIS_STORE_DOWN;

    if (s->is_ready)
        after = redis_wakeups_are_up(s->wakeups) ? REDIS_STORE_UP : REDIS_STORE_UNHEARD;
    if (after == before)
        return;
    s->stats.state = after;
    LOG_AT(s->is_stopping ? LEVEL_DEBUG : LEVEL_INFO, "redis", "%s is %s", s->options.address,
           words[after]);
    if (after == REDIS_STORE_UP)
        s->port.events.on_up(s->port.events.arg);
    else if (before == REDIS_STORE_UP)
        s->port.events.on_down(s->port.events.arg);
}

static void on_link_open(void *arg)
{
    struct redis_store *s = arg;

    redis_handshake_start(s->handshake);
}

static void on_link_close(void *arg)
{
    struct redis_store *s = arg;

    s->is_ready = false;
    set_state(s);
}

static void on_handshake_ready(void *arg)
{
    struct redis_store *s = arg;

    s->is_ready = true;
    s->stats.connects++;
    redis_link_settled(s->link);
    send_held(s);
    set_state(s);
}

static void on_refused(void *arg, const char *why)
{
    struct redis_store *s = arg;

    if (s->options.on_refused)
        s->options.on_refused(s->options.arg, why);
}

static void on_wakeups_turned(void *arg)
{
    set_state(arg);
}

static void on_topic_ready(void *arg, struct bytes topic)
{
    struct redis_store *s = arg;

    s->port.events.on_ready(s->port.events.arg, topic);
}

/* ---- life ---- */

static void on_link_stopped(void *arg)
{
    struct redis_store *s = arg;

    if (--s->links_running == 0)
        s->on_stopped(s->stopped_arg);
}

/* While stopping: when the last request is through, the links follow. */
static void finish_stop(struct redis_store *s)
{
    if (!s->is_stopping || s->are_links_stopping || s->stats.in_flight > 0 ||
        !list_is_empty(&s->failing))
        return;
    s->are_links_stopping = true;
    redis_wakeups_stop(s->wakeups);
    redis_link_stop(s->link);
}

static bool is_word(const char *text, size_t max)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789_.-");

    return len >= 1 && len <= max && !text[len];
}

static enum status check(const struct redis_store_options *options,
                         struct redis_address *address)
{
    if (redis_address_parse(options->address, address) != STATUS_OK) {
        LOG_ERROR("redis", "not an address of a Redis: '%s'", options->address);
        return STATUS_BAD_CONFIG;
    }
    if (!is_word(options->prefix, SCRIPT_PREFIX_MAX)) {
        LOG_ERROR("redis", "not a prefix for keys: '%s'", options->prefix);
        return STATUS_BAD_CONFIG;
    }
    if (options->buckets < 1 || options->buckets > 128) {
        LOG_ERROR("redis", "not a number of buckets: %u", options->buckets);
        return STATUS_BAD_CONFIG;
    }
    return STATUS_OK;
}

struct redis_store_options redis_store_defaults(void)
{
    return (struct redis_store_options){
        .prefix = "dq",
        .buckets = 64,
        .command_timeout_ms = 5000,
        .hold_ms = 10000,
        .reconnect_ms = 1000,
        .flight_max = 4096,
        .held_max = 20000,
        .bytes_max = 256u << 20,
    };
}

static void make_links(struct redis_store *s, const struct redis_address *address)
{
    struct redis_link_options link = {
        .name = "commands",
        .address = *address,
        .password = s->options.password,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_open = on_link_open,
        .on_close = on_link_close,
        .on_refused = on_refused,
        .on_stopped = on_link_stopped,
        .arg = s,
    };
    struct redis_handshake_options handshake = {
        .keys = s->keys,
        .is_strict = s->options.is_strict,
        .on_ready = on_handshake_ready,
        .on_refused = on_refused,
        .arg = s,
    };
    struct redis_wakeups_options wakeups = {
        .address = *address,
        .password = s->options.password,
        .prefix = s->options.prefix,
        .timeout_ms = s->options.command_timeout_ms,
        .backoff_max_ms = s->options.reconnect_ms,
        .on_ready = on_topic_ready,
        .on_up = on_wakeups_turned,
        .on_down = on_wakeups_turned,
        .on_stopped = on_link_stopped,
        .arg = s,
    };

    s->link = redis_link_new(s->loop, &link);
    s->handshake = redis_handshake_new(&handshake, s->link);
    s->wakeups = redis_wakeups_new(s->loop, s->link, &wakeups);
}

struct redis_store *redis_store_new(struct loop *loop,
                                    const struct redis_store_options *options)
{
    static const struct store_ops ops = {.submit = submit};
    struct redis_address address;
    struct redis_store *s;

    if (check(options, &address) != STATUS_OK)
        return NULL;
    s = calloc(1, sizeof(*s));
    if (!s)
        abort();
    s->options = *options;
    s->keys = (struct script_keys){options->prefix, options->buckets};
    s->loop = loop;
    s->port.ops = &ops;
    s->port.buckets = options->buckets;
    list_init(&s->held);
    list_init(&s->failing);
    list_init(&s->pool);
    timer_init(&s->hold_timer, on_hold_timer);
    timer_init(&s->fail_timer, on_fail_timer);
    make_links(s, &address);
    return s;
}

void redis_store_free(struct redis_store *s)
{
    struct list *link;

    if (!s)
        return;
    assert(list_is_empty(&s->held) && list_is_empty(&s->failing) && !s->stats.in_flight);
    timer_disarm(&s->loop->timers, &s->hold_timer);
    redis_wakeups_free(s->wakeups);
    redis_handshake_free(s->handshake);
    redis_link_free(s->link);
    while ((link = list_pop(&s->pool)))
        free(CONTAINER_OF(link, struct request, link));
    free(s);
}

struct store *redis_store_port(struct redis_store *s)
{
    return &s->port;
}

const struct redis_store_stats *redis_store_stats(const struct redis_store *s)
{
    return &s->stats;
}

void redis_store_start(struct redis_store *s)
{
    s->links_running = 2;
    redis_link_start(s->link);
    redis_wakeups_start(s->wakeups);
}

void redis_store_stop(struct redis_store *s, void (*on_stopped)(void *arg), void *arg)
{
    struct list *link;

    s->is_stopping = true;
    s->on_stopped = on_stopped;
    s->stopped_arg = arg;
    while ((link = list_pop(&s->held))) {
        s->stats.held--;
        fail_later(CONTAINER_OF(link, struct request, link), STATUS_SHUTTING_DOWN);
    }
    finish_stop(s);
}
