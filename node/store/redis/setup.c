/* What Redis is, and whether it is set up to keep what it is given (weakness.h): looked at when
 * a connection is fresh, and from time to time while it lives, because anybody may change that
 * by CONFIG SET, and replicas come and go. One that is no fit master any more is left as soon
 * as that is seen; what only weakens the promise refuses a fresh connection, not one in use. */
#include "node/store/redis/handshake_private.h"

#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

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
    [ASK_PING] = {1, {"PING"}}, /* MISCONF like all that writes, though it writes nothing */
};

/* ---- what is found ---- */

/* NULL: it is not told. Hosted Redis often forbids CONFIG. */
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
        h->setup.aof_cut_bytes = h->options.aof_cut_bytes ? *h->options.aof_cut_bytes : 0;
        h->setup.was_nearly_full = h->weak >> WEAKNESS_MEMORY & 1;
        h->setup.may_be_replaced =
            h->options.kind == REDIS_OF_SENTINELS ||
            (h->options.kind == REDIS_OF_CLUSTER && h->setup.info.replicas > 0);
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
    h->options.on_weak(h->options.arg, weak);
}

/* ---- of a fresh connection ---- */

void handshake_ask_setup(struct redis_handshake *h)
{
    h->setup = (struct redis_setup){.min_replicas = h->options.min_replicas};
    for (unsigned i = 0; i < HANDSHAKE_SETUP_ASKS; i++)
        handshake_send(h, i, asks[i].argc, asks[i].argv);
}

static bool is_fit(struct redis_handshake *h)
{
    const struct redis_info *info = &h->setup.info;

    if (info->is_loading || info->is_replica)
        handshake_come_back_later(h, info->is_loading
                                         ? "Redis is loading its data"
                                         : "this Redis is a replica; waiting for a master");
    else if (info->is_sentinel)
        handshake_refuse(h, "this is no Redis, but a Sentinel: store.redis has to be "
                            "sentinel://MASTER@host:port,..., with the name in its 'sentinel "
                            "monitor' line for MASTER");
    else if (info->version < REDIS_VERSION_MIN)
        handshake_refuse(h, "Redis %s is too old: 6.2 or newer is needed", info->version_text);
    else
        return true;
    return false;
}

static bool is_strong_enough(struct redis_handshake *h, unsigned weak)
{
    for (unsigned w = 0; h->options.is_strict && w < WEAKNESS_COUNT; w++) {
        if ((weak >> w & 1) && weakness_loses_jobs((enum weakness)w)) {
            handshake_refuse(h, "%s; %s; store.strict is on", weakness_what((enum weakness)w),
                             weakness_advice((enum weakness)w));
            return false;
        }
    }
    return true;
}

bool handshake_take_setup(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    unsigned weak;

    if (!note(h, what, reply)) {
        handshake_refuse_answer(h, "Redis does not answer INFO", reply);
        return false;
    }
    if (what == ASK_INFO)
        return is_fit(h);
    if (what != ASK_LAST)
        return true;
    weak = redis_weaknesses(&h->setup);
    if (!is_strong_enough(h, weak))
        return false;
    tell(h, weak);
    return true;
}

/* ---- of one that lives ---- */

/* Lost, or no answer to INFO: then nothing is found out, and the next handshake looks again, or
 * the next time does. */
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
    if (!h->is_info_missing && !is_fit(h))
        return;
    if (!h->is_info_missing)
        tell(h, redis_weaknesses(&h->setup));
    handshake_look_later(h);
}

static void on_look(struct timer *timer)
{
    struct redis_handshake *h = CONTAINER_OF(timer, struct redis_handshake, look);

    h->is_info_missing = h->is_to_look_again = false;
    for (unsigned i = 0; i < HANDSHAKE_SETUP_ASKS && redis_link_is_open(h->link); i++) {
        h->looks[i] =
            (struct handshake_ask){.call.on_reply = on_look_reply, .handshake = h, .what = i};
        handshake_send_call(h, &h->looks[i].call, asks[i].argc, asks[i].argv);
    }
}

void handshake_look_init(struct redis_handshake *h)
{
    timer_init(&h->look, on_look);
}

static bool stops_writes(unsigned weak)
{
    for (unsigned w = 0; w < WEAKNESS_COUNT; w++)
        if ((weak >> w & 1) && weakness_stops_writes((enum weakness)w))
            return true;
    return false;
}

/* What stops the store is looked at more often: its end is not to be missed. */
void handshake_look_later(struct redis_handshake *h)
{
    bool is_soon = h->is_to_look_again || stops_writes(h->weak);

    h->is_looking_soon = is_soon;
    timer_arm(h->options.timers, &h->look,
              is_soon && h->options.look_ms > LOOK_SOON_MS ? LOOK_SOON_MS : h->options.look_ms);
}

/* Errors come by the thousand: not more often than every LOOK_SOON_MS. */
void redis_handshake_look_soon(struct redis_handshake *h)
{
    h->is_to_look_again = true;
    if (!h->is_looking_soon && timer_is_armed(&h->look))
        handshake_look_later(h);
}
