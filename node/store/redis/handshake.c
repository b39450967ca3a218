#include "node/store/redis/handshake_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/log.h"
#include "node/store/redis/error.h"

struct redis_handshake *redis_handshake_new(const struct redis_handshake_options *options,
                                            struct redis_link *link)
{
    struct redis_handshake *h = calloc(1, sizeof(*h));

    if (!h)
        abort();
    h->options = *options;
    h->link = link;
    handshake_look_init(h);
    return h;
}

void redis_handshake_free(struct redis_handshake *h)
{
    if (!h)
        return;
    timer_disarm(h->options.timers, &h->look);
    free(h);
}

const char *redis_handshake_sha(const struct redis_handshake *h, enum op_verb verb)
{
    return h->shas[verb];
}

const struct redis_life *redis_handshake_life(const struct redis_handshake *h)
{
    return &h->setup.info.life;
}

/* ---- verdicts ---- */

void handshake_come_back_later(struct redis_handshake *h, const char *why)
{
    h->is_over = true;
    redis_link_reset(h->link, why);
}

/* The owner hears it last, because he may not want the handshake any more. */
void handshake_refuse(struct redis_handshake *h, const char *format, ...)
{
    char why[512];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    handshake_come_back_later(h, why);
    h->options.on_refused(h->options.arg, why);
}

/* An answer that is not what was asked for. It may be of the moment: a Redis that has no room
 * for one more client, say, is still ours. */
void handshake_refuse_answer(struct redis_handshake *h, const char *what,
                             const redisReply *reply)
{
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    char why[256];

    if (is_error && h->options.kind != REDIS_OF_CLUSTER && !strncmp(reply->str, "MOVED ", 6)) {
        handshake_refuse(h, "this is a node of a Redis Cluster: store.redis has to be "
                            "cluster://host:port,...");
        return;
    }

    snprintf(why, sizeof(why), "%s: %s", what, is_error ? reply->str : "unexpected form");
    if (is_error && !redis_error_is_lasting(reply->str))
        handshake_come_back_later(h, why);
    else
        handshake_refuse(h, "%s", why);
}

void redis_handshake_refuse(struct redis_handshake *h, const char *what,
                            const redisReply *reply)
{
    handshake_refuse_answer(h, what, reply);
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

void handshake_send_call(struct redis_handshake *h, struct redis_call *call, int argc,
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

void handshake_send(struct redis_handshake *h, unsigned what, int argc, const char *const *argv)
{
    handshake_send_call(h, next_call(h, what), argc, argv);
}

void handshake_send_script(struct redis_handshake *h, unsigned what, struct script_call *call)
{
    redis_link_send(h->link, next_call(h, what), call->argc, call->argv, call->lens);
}

/* ---- the steps ---- */

static const struct step {
    void (*ask)(struct redis_handshake *h);
    bool (*take)(struct redis_handshake *h, unsigned what, const redisReply *reply);
} steps[] = {
    {handshake_ask_setup, handshake_take_setup},
    {handshake_ask_meta, handshake_take_meta},
    {handshake_ask_channel, handshake_take_channel},
    {handshake_ask_scripts, handshake_take_script},
};

#define STEPS (sizeof(steps) / sizeof(*steps))

static void go_on(struct redis_handshake *h)
{
    while (h->waiting_for == 0 && h->step < STEPS)
        steps[h->step++].ask(h);
    if (h->waiting_for > 0)
        return;
    h->is_over = true;
    handshake_look_later(h);
    h->options.on_ready(h->options.arg);
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
    timer_disarm(h->options.timers, &h->look);
    go_on(h);
}
