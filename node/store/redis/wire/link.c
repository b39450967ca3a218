#include "node/store/redis/wire/link.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "node/store/redis/wire/conn.h"
#include "node/store/redis/wire/error.h"

#define REDIS_BACKOFF_MIN_MS 10

struct redis_backoff {
    int64_t next_ms;
    int64_t max_ms;
};

static inline void redis_backoff_reset(struct redis_backoff *b)
{
    b->next_ms = REDIS_BACKOFF_MIN_MS;
}

static inline int64_t redis_backoff_pause_ms(struct redis_backoff *b)
{
    uint32_t half_ms = (uint32_t)b->next_ms / 2;
    int64_t pause_ms = half_ms + arc4random_uniform(half_ms + 1);

    b->next_ms = b->next_ms * 2 < b->max_ms ? b->next_ms * 2 : b->max_ms;
    return pause_ms;
}

static unsigned count_of(const char *list)
{
    unsigned count = *list != '\0';

    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* The item whose turn it is, of "address:port,...". */
static enum status pick(struct redis_target *t, struct redis_address *address)
{
    const char *list = buf_text(&t->names.servers);
    unsigned count = count_of(list);
    char item[REDIS_ADDRESS_CHARS];
    size_t len;

    if (count == 0)
        return STATUS_NOT_FOUND;
    for (unsigned skip = t->turn++ % count; skip > 0; skip--)
        list = strchr(list, ',') + 1;
    len = strcspn(list, ",");
    if (len >= sizeof(item))
        return STATUS_NOT_FOUND;
    memcpy(item, list, len);
    item[len] = '\0';
    return redis_address_parse(item, address);
}

static void on_names(struct resolve *names)
{
    struct redis_target *t = CONTAINER_OF(names, struct redis_target, names);
    struct redis_address found;

    if (!t->is_looking)
        return;
    t->is_looking = false;
    if (pick(t, &found) == STATUS_OK)
        t->on_found(t, &found, "");
    else
        t->on_found(t, NULL, names->unknown);
}

void redis_target_init(struct redis_target *t, struct loop *loop,
                       const struct redis_address *address,
                       void (*on_found)(struct redis_target *t,
                                        const struct redis_address *address, const char *why))
{
    *t = (struct redis_target){.address = *address, .on_found = on_found};
    resolve_init(&t->names, loop, on_names);
}

void redis_target_fini(struct redis_target *t)
{
    resolve_fini(&t->names);
}

bool redis_target_set(struct redis_target *t, const struct redis_address *address)
{
    if (redis_address_equal(&t->address, address))
        return false;
    t->address = *address;
    t->turn = 0;
    t->is_looking = false;
    resolve_cancel(&t->names);
    return true;
}

static bool is_numeric(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

const struct redis_address *redis_target_look(struct redis_target *t)
{
    char text[REDIS_ADDRESS_CHARS];

    if (t->address.port == 0 || is_numeric(t->address.host))
        return &t->address;
    t->is_looking = true;
    redis_address_print(&t->address, text);
    resolve_start(&t->names, text);
    return NULL;
}

void redis_target_stop_looking(struct redis_target *t)
{
    t->is_looking = false;
}

bool redis_target_cancel(struct redis_target *t)
{
    t->is_looking = false;
    return resolve_cancel(&t->names);
}

/* ---- link ---- */

enum link_state { STOPPED, ASKING, LOOKING, CONNECTING, OPEN, CLOSING, WAITING };

struct redis_link {
    struct redis_link_options options;
    struct loop *loop;
    enum link_state state;
    struct redis_target target;
    struct redis_conn conn; /* in CONNECTING and OPEN, and only then */
    struct timer timer;     /* what it means depends on the state: see on_timer */
    struct redis_backoff backoff;
    bool was_open; /* on_open was called for this connection */
    bool is_stopping;
    unsigned drain_turns; /* of the loop, before it has stopped: a lookup was cancelled */
    struct redis_last_error why;     /* see redis_link_why() */
    char tried[REDIS_ADDRESS_CHARS]; /* by this attempt; "": no address is known */
};

bool redis_link_is_open(const struct redis_link *l)
{
    return l->state == OPEN && !l->is_stopping;
}

const char *redis_link_why(const struct redis_link *l)
{
    return l->why.text;
}

const char *redis_link_reason(const struct redis_link *l)
{
    return redis_last_error_reason(&l->why);
}

bool redis_link_was_late(const struct redis_link *l)
{
    return l->conn.is_late;
}

/* ---- losing a connection ---- */

/* The rest happens in the next turn of the loop, in fail_all(): no caller is called back from
 * inside its own call. */
static void leave(struct redis_link *l, const char *why)
{
    bool is_quiet = l->is_stopping || l->options.is_quiet;

    redis_last_error_set(&l->why, is_quiet ? LEVEL_DEBUG : LEVEL_WARN, l->options.name,
                         l->tried, why, timers_now(&l->loop->timers));
    l->state = CLOSING;
    timer_arm(&l->loop->timers, &l->timer, 0);
}

static void on_lost(void *arg, const char *why)
{
    leave(arg, why);
}

/* Drops the connection or the attempt at this address, in any state. */
static void drop(struct redis_link *l, const char *why)
{
    if (l->state == LOOKING)
        redis_target_stop_looking(&l->target);
    else if (l->state != CONNECTING && l->state != OPEN)
        return;
    leave(l, why);
    redis_conn_close(&l->conn);
}

static void pause_or_stop(struct redis_link *l)
{
    if (l->is_stopping && l->drain_turns > 0) {
        l->drain_turns--;
        l->state = WAITING;
        timer_arm(&l->loop->timers, &l->timer, 0);
        return;
    }
    if (l->is_stopping) {
        l->state = STOPPED;
        timer_disarm(&l->loop->timers, &l->timer);
        l->options.on_stopped(l->options.arg);
        return;
    }
    l->state = WAITING;
    timer_arm(&l->loop->timers, &l->timer, redis_backoff_pause_ms(&l->backoff));
}

static void fail_all(struct redis_link *l)
{
    void (*tell)(void *arg) = l->was_open ? l->options.on_close : l->options.on_failed;

    l->was_open = false;
    if (tell)
        tell(l->options.arg);
    redis_conn_fail(&l->conn);
    pause_or_stop(l);
}

/* ---- what Redis says ---- */

static void on_subscribed(void *arg)
{
    struct redis_link *l = arg;

    l->options.on_subscribed(l->options.arg);
}

static void on_message(void *arg, struct bytes payload)
{
    struct redis_link *l = arg;

    l->options.on_message(l->options.arg, payload);
}

static void on_silence(void *arg, bool is_silent)
{
    struct redis_link *l = arg;

    l->options.on_silence(l->options.arg, is_silent);
}

/* ---- opening ---- */

static void on_open(void *arg)
{
    struct redis_link *l = arg;

    l->state = OPEN;
    l->was_open = true;
    l->options.on_open(l->options.arg);
}

static void on_refused(void *arg, const char *why)
{
    struct redis_link *l = arg;

    if (l->options.on_refused)
        l->options.on_refused(l->options.arg, why);
}

static void connect_to(struct redis_link *l, const struct redis_address *address)
{
    l->state = CONNECTING;
    redis_address_print(address, l->tried);
    timer_disarm(&l->loop->timers, &l->timer);
    redis_conn_open(&l->conn, address, l->target.address.host);
}

static void on_found(struct redis_target *target, const struct redis_address *address,
                     const char *why)
{
    struct redis_link *l = CONTAINER_OF(target, struct redis_link, target);

    if (address)
        connect_to(l, address);
    else
        leave(l, why);
}

static void look(struct redis_link *l)
{
    const struct redis_address *address = redis_target_look(&l->target);

    l->state = LOOKING;
    redis_address_print(&l->target.address, l->tried);
    if (address)
        connect_to(l, address);
    else
        timer_arm(&l->loop->timers, &l->timer, l->options.timeout_ms);
}

/* No timer here: the owner that is asked has its own deadline. */
static void ask(struct redis_link *l)
{
    l->state = ASKING;
    l->tried[0] = '\0';
    if (l->options.on_look)
        l->options.on_look(l->options.arg);
    else if (*l->target.address.host)
        look(l);
}

/* ---- time ---- */

static void on_timer(struct timer *timer)
{
    struct redis_link *l = CONTAINER_OF(timer, struct redis_link, timer);

    switch (l->state) {
    case STOPPED:
    case CONNECTING: /* the connection has a deadline of its own */
    case OPEN:
        break;
    case ASKING:
        pause_or_stop(l);
        break;
    case LOOKING:
        drop(l, "the name service does not answer in time");
        break;
    case CLOSING:
        fail_all(l);
        break;
    case WAITING:
        if (l->is_stopping)
            pause_or_stop(l);
        else
            ask(l);
        break;
    }
}

/* ---- for the owner ---- */

struct redis_link *redis_link_new(struct loop *loop, const struct redis_link_options *options)
{
    struct redis_link *l = must(calloc(1, sizeof(*l)));
    struct redis_conn_events events = {.on_open = on_open,
                                       .on_lost = on_lost,
                                       .on_refused = on_refused,
                                       .on_subscribed = on_subscribed,
                                       .on_message = on_message,
                                       .on_silence = on_silence,
                                       .silence_ms = options->silence_ms,
                                       .arg = l};

    l->options = *options;
    l->loop = loop;
    l->backoff.max_ms = options->backoff_max_ms;
    redis_backoff_reset(&l->backoff);
    redis_target_init(&l->target, loop, &options->address, on_found);
    redis_conn_init(&l->conn, loop, &options->login, options->timeout_ms, &events);
    timer_init(&l->timer, on_timer);
    return l;
}

void redis_link_free(struct redis_link *l)
{
    if (!l)
        return;
    assert(l->state == STOPPED);
    redis_target_fini(&l->target);
    redis_conn_fini(&l->conn);
    free(l);
}

void redis_link_start(struct redis_link *l)
{
    assert(l->state == STOPPED);
    l->is_stopping = false;
    l->state = WAITING;
    timer_arm(&l->loop->timers, &l->timer, 0);
}

void redis_link_stop(struct redis_link *l)
{
    l->is_stopping = true;
    drop(l, "stopped");
    if (redis_target_cancel(&l->target))
        l->drain_turns = RESOLVE_DRAIN_TURNS;
    if (l->state == STOPPED)
        l->state = WAITING;
    timer_arm(&l->loop->timers, &l->timer, 0);
}

void redis_link_aim(struct redis_link *l, const struct redis_address *address)
{
    bool is_other = redis_target_set(&l->target, address);

    if (is_other)
        redis_backoff_reset(&l->backoff);
    if (l->is_stopping)
        return;
    if (l->state == ASKING)
        look(l);
    else if (is_other && l->state == WAITING)
        timer_arm(&l->loop->timers, &l->timer, 0);
    else if (is_other)
        drop(l, "another Redis is the master now");
}

void redis_link_nowhere(struct redis_link *l, const char *why)
{
    if (l->state == ASKING && !l->is_stopping)
        leave(l, why);
}

const struct redis_address *redis_link_address(const struct redis_link *l)
{
    return &l->target.address;
}

void redis_link_send(struct redis_link *l, struct redis_call *call, int argc, const char **argv,
                     const size_t *lens)
{
    assert(l->state == OPEN);
    redis_conn_send(&l->conn, call, argc, argv, lens);
}

void redis_link_subscribe(struct redis_link *l, const char *channel)
{
    assert(l->state == OPEN);
    redis_conn_subscribe(&l->conn, channel);
}

void redis_link_reset(struct redis_link *l, const char *why)
{
    drop(l, why);
}

void redis_link_settled(struct redis_link *l)
{
    redis_backoff_reset(&l->backoff);
    redis_last_error_clear(&l->why);
}
