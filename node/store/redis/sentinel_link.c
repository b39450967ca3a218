/* Both questions go in one write, and a Sentinel answers what it has read before it does
 * anything else. So the epoch is that of the address; SENTINEL MASTER alone would tell the old
 * address until all replicas follow the new one.
 */
#include "node/store/redis/sentinel_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/error.h"

/* ---- what it cannot answer ---- */

static void set_why(struct redis_sentinel_link *l, const char *why, bool is_lasting)
{
    redis_why_set(&l->why, LEVEL_WARN, l->name, "", why, timers_now(&l->loop->timers));
    l->is_lasting = is_lasting;
}

/* It has answered with an error. What to do about it, where that is known. */
static void complain(struct redis_sentinel_link *l, const char *error)
{
    char why[sizeof(l->why.text)];

    if (!strncmp(error, "ERR No such master", 18))
        snprintf(why, sizeof(why),
                 "knows no master '%s'; the name in store.redis is the one in its 'sentinel "
                 "monitor' line",
                 l->master);
    else if (!strncmp(error, "ERR unknown command", 19))
        snprintf(
            why, sizeof(why),
            "is no Sentinel, but a Redis; store.redis wants Sentinels, which listen on port "
            "%d, or that Redis without sentinel://",
            REDIS_SENTINEL_PORT);
    else if (!strncmp(error, "NOAUTH", 6))
        snprintf(why, sizeof(why), "wants a password; set store.sentinel_password_file");
    else
        snprintf(why, sizeof(why), "%s", error);
    set_why(l, why, redis_error_is_lasting(error) || !strncmp(error, "ERR No such master", 18));
}

static void say_silence(struct redis_sentinel_link *l)
{
    l->is_awaited = false;
    l->events.on_silence(l->events.arg, l->number);
}

/* ---- asking ---- */

static void send(struct redis_sentinel_link *l, struct redis_call *call, const char *what)
{
    const char *argv[] = {"SENTINEL", what, l->master};
    size_t lens[] = {8, strlen(what), strlen(l->master)};

    redis_link_send(l->asking, call, 3, argv, lens);
}

static void ask(struct redis_sentinel_link *l)
{
    l->is_awaited = true;
    l->word = (struct sentinel_word){.epoch = -1};
    send(l, &l->about, "MASTER");
    if (redis_link_is_open(l->asking))
        send(l, &l->address, "GET-MASTER-ADDR-BY-NAME");
}

/* Of "name", value, "name", value; -1: it is not there. */
static int64_t find_epoch(const redisReply *reply)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];

        if (name->str && value->str && !strcmp(name->str, "config-epoch"))
            return strtoll(value->str, NULL, 10);
    }
    return -1;
}

/* Loss of the connection is told by on_away. */
static void on_about(struct redis_call *call, const redisReply *reply)
{
    struct redis_sentinel_link *l = CONTAINER_OF(call, struct redis_sentinel_link, about);

    if (!reply)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        complain(l, reply->str);
    else if ((l->word.epoch = find_epoch(reply)) < 0)
        complain(l, "an answer to SENTINEL MASTER without config-epoch");
}

static bool read_address(const redisReply *reply, struct redis_address *address)
{
    const redisReply *host, *port;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        return false;
    host = reply->element[0];
    port = reply->element[1];
    return host->str && port->str &&
           redis_address_set(address, bytes_of(host->str, host->len),
                             strtol(port->str, NULL, 10)) == STATUS_OK;
}

static void on_address(struct redis_call *call, const redisReply *reply)
{
    struct redis_sentinel_link *l = CONTAINER_OF(call, struct redis_sentinel_link, address);

    if (!reply)
        return;
    if (l->word.epoch >= 0 && !read_address(reply, &l->word.master)) {
        complain(l, "an answer to SENTINEL GET-MASTER-ADDR-BY-NAME without address");
        l->word.epoch = -1;
    }
    if (l->word.epoch < 0) {
        say_silence(l);
        return;
    }
    redis_why_clear(&l->why);
    l->is_awaited = false;
    l->events.on_word(l->events.arg, l->number, &l->word);
}

static void on_asking_open(void *arg)
{
    ask(arg);
}

/* The link has put it in the log. */
static void on_away(void *arg)
{
    struct redis_sentinel_link *l = arg;

    snprintf(l->why.text, sizeof(l->why.text), "%s", redis_link_why(l->asking));
    l->is_lasting = redis_error_is_lasting(redis_link_reason(l->asking));
    say_silence(l);
}

static void on_asking_close(void *arg)
{
    struct redis_sentinel_link *l = arg;

    redis_link_reset(l->listening, "the connection that asks is lost");
    on_away(l);
}

/* ---- listening ---- */

static void on_listening_open(void *arg)
{
    struct redis_sentinel_link *l = arg;

    redis_link_subscribe(l->listening, "+switch-master");
}

static void on_subscribed(void *arg)
{
    struct redis_sentinel_link *l = arg;

    redis_link_settled(l->listening);
}

/* "name old-host old-port host port". It has no epoch; so this is no more than a reason to ask.
 */
static void on_message(void *arg, struct bytes payload)
{
    struct redis_sentinel_link *l = arg;
    size_t len = strlen(l->master);

    if (payload.len > len && !memcmp(payload.at, l->master, len) && payload.at[len] == ' ')
        l->events.on_switch(l->events.arg);
}

/* ---- life ---- */

static void on_stopped(void *arg)
{
    struct redis_sentinel_link *l = arg;

    if (--l->running == 0)
        l->events.on_stopped(l->events.arg);
}

static struct redis_link_options link_options(struct redis_sentinel_link *l,
                                              const struct redis_sentinel_options *options)
{
    return (struct redis_link_options){
        .name = l->name,
        .address = options->sentinels.list[l->number],
        .password = options->password,
        .timeout_ms = options->timeout_ms,
        .backoff_max_ms = options->backoff_max_ms,
        .on_stopped = on_stopped,
        .arg = l,
    };
}

static struct redis_link *make_asking(struct redis_sentinel_link *l,
                                      const struct redis_sentinel_options *options)
{
    struct redis_link_options link = link_options(l, options);

    link.on_open = on_asking_open;
    link.on_close = on_asking_close;
    link.on_failed = on_away;
    return redis_link_new(l->loop, &link);
}

/* Why it is closed the other one says. */
static struct redis_link *make_listening(struct redis_sentinel_link *l,
                                         const struct redis_sentinel_options *options)
{
    struct redis_link_options link = link_options(l, options);

    link.is_quiet = true;
    link.on_open = on_listening_open;
    link.on_subscribed = on_subscribed;
    link.on_message = on_message;
    return redis_link_new(l->loop, &link);
}

void redis_sentinel_link_init(struct redis_sentinel_link *l, struct loop *loop, unsigned number,
                              const struct redis_sentinel_options *options,
                              const struct sentinel_link_events *events)
{
    char address[REDIS_ADDRESS_CHARS];

    *l = (struct redis_sentinel_link){.events = *events,
                                      .number = number,
                                      .master = options->sentinels.master,
                                      .loop = loop,
                                      .is_awaited = true};
    redis_address_print(&options->sentinels.list[number], address);
    snprintf(l->name, sizeof(l->name), "Sentinel %s", address);
    l->about.on_reply = on_about;
    l->address.on_reply = on_address;
    l->asking = make_asking(l, options);
    l->listening = make_listening(l, options);
}

void redis_sentinel_link_fini(struct redis_sentinel_link *l)
{
    redis_link_free(l->asking);
    redis_link_free(l->listening);
}

void redis_sentinel_link_start(struct redis_sentinel_link *l)
{
    redis_link_start(l->asking);
    redis_link_start(l->listening);
}

void redis_sentinel_link_stop(struct redis_sentinel_link *l)
{
    l->running = 2;
    redis_link_stop(l->asking);
    redis_link_stop(l->listening);
}

void redis_sentinel_link_ask(struct redis_sentinel_link *l)
{
    if (!l->is_awaited && redis_link_is_open(l->asking))
        ask(l);
}

void redis_sentinel_link_settled(struct redis_sentinel_link *l)
{
    redis_link_settled(l->asking);
}

void redis_sentinel_link_renew(struct redis_sentinel_link *l)
{
    redis_link_reset(l->asking, "names a master from before the last failover");
}
