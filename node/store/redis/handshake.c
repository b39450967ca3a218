/* To add a step: an ask_ function that sends its commands (none: the step is skipped), a
 * take_ function for each reply, and a line in `steps`.
 */
#include "node/store/redis/handshake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/log.h"
#include "node/store/redis/error.h"
#include "node/store/redis/info.h"
#include "node/store/redis/reply.h"

#define BUCKETS_MAX 128
#define CALLS_MAX   (BUCKETS_MAX > OP_COUNT ? BUCKETS_MAX : OP_COUNT)

struct redis_handshake;

/* One command of the current step, and which one it is (a verb, a bucket). */
struct ask {
    struct redis_call call;
    struct redis_handshake *handshake;
    unsigned what;
};

struct redis_handshake {
    struct redis_handshake_options options;
    struct redis_link *link;
    unsigned step;
    unsigned waiting_for; /* replies of this step */
    bool is_over;         /* of this connection: what is still answered is not looked at */
    bool is_warned;       /* about settings: once a process */
    char shas[OP_COUNT][SCRIPT_SHA_CHARS + 1];
    int64_t seen[BUCKETS_MAX];
    struct ask asks[CALLS_MAX];
};

struct redis_handshake *redis_handshake_new(const struct redis_handshake_options *options,
                                            struct redis_link *link)
{
    struct redis_handshake *h = calloc(1, sizeof(*h));

    if (!h)
        abort();
    h->options = *options;
    h->link = link;
    return h;
}

void redis_handshake_free(struct redis_handshake *h)
{
    free(h);
}

const char *redis_handshake_sha(const struct redis_handshake *h, enum op_verb verb)
{
    return h->shas[verb];
}

void redis_handshake_saw(struct redis_handshake *h, unsigned bucket, int64_t counter)
{
    if (counter > h->seen[bucket])
        h->seen[bucket] = counter;
}

/* ---- verdicts ---- */

static void come_back_later(struct redis_handshake *h, const char *why)
{
    h->is_over = true;
    redis_link_reset(h->link, why);
}

/* The owner hears it last, because he may not want the handshake any more. */
__attribute__((format(printf, 2, 3))) static void refuse(struct redis_handshake *h,
                                                         const char *format, ...)
{
    char why[512];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    come_back_later(h, why);
    h->options.on_refused(h->options.arg, why);
}

/* An answer that is not what was asked for. It may be of the moment: a Redis that has no room
 * for one more client, say, is still ours. */
static void refuse_answer(struct redis_handshake *h, const char *what, const redisReply *reply)
{
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    char why[256];

    snprintf(why, sizeof(why), "%s: %s", what, is_error ? reply->str : "unexpected form");
    if (is_error && !redis_error_is_lasting(reply->str))
        come_back_later(h, why);
    else
        refuse(h, "%s", why);
}

/* A setting that loses jobs sooner or later. False: refused. */
static bool accept_setting(struct redis_handshake *h, bool is_good, const char *why)
{
    if (is_good)
        return true;
    if (h->options.is_strict) {
        refuse(h, "%s (store.strict is on)", why);
        return false;
    }
    if (!h->is_warned)
        LOG_WARN("redis", "%s", why);
    return true;
}

/* ---- asking ---- */

static void on_reply(struct redis_call *call, const redisReply *reply);

static struct redis_call *next_call(struct redis_handshake *h, unsigned what)
{
    struct ask *ask = &h->asks[h->waiting_for++];

    ask->handshake = h;
    ask->what = what;
    ask->call.on_reply = on_reply;
    return &ask->call;
}

static void send(struct redis_handshake *h, unsigned what, int argc, const char **argv)
{
    size_t lens[3];

    for (int i = 0; i < argc; i++)
        lens[i] = strlen(argv[i]);
    redis_link_send(h->link, next_call(h, what), argc, argv, lens);
}

static void send_script(struct redis_handshake *h, unsigned what, struct script_call *call)
{
    redis_link_send(h->link, next_call(h, what), call->argc, call->argv, call->lens);
}

/* ---- the steps: asking, and whether the reply lets it go on ---- */

static void ask_info(struct redis_handshake *h)
{
    const char *argv[] = {"INFO"};

    send(h, 0, 1, argv);
}

static bool take_info(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    struct redis_info info;

    if (reply->type != REDIS_REPLY_STRING) {
        refuse_answer(h, "Redis does not answer INFO", reply);
        return false;
    }
    info = redis_info_read(bytes_of(reply->str, reply->len));
    if (info.is_loading || info.is_replica) {
        come_back_later(h, info.is_loading ? "Redis is loading its data"
                                           : "this Redis is a replica; waiting for a master");
        return false;
    }
    if (info.version < REDIS_VERSION_MIN) {
        refuse(h, "Redis %s is too old: 6.2 or newer is needed", info.version_text);
        return false;
    }
    return accept_setting(h, info.has_aof,
                          "Redis runs without append-only file: jobs will be lost when it "
                          "ends; set 'appendonly yes'") &&
           accept_setting(h, !info.may_evict,
                          "Redis may evict jobs when its memory is full; set "
                          "'maxmemory-policy noeviction'");
}

static void ask_appendfsync(struct redis_handshake *h)
{
    const char *argv[] = {"CONFIG", "GET", "appendfsync"};

    send(h, 0, 3, argv);
}

static bool take_appendfsync(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    bool is_known = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                    reply->element[1]->type == REDIS_REPLY_STRING;

    /* Hosted Redis often forbids CONFIG. */
    if (!is_known)
        return accept_setting(h, false,
                              "Redis does not answer CONFIG GET: cannot tell whether it runs "
                              "with 'appendfsync always', and may lose pushes if not");
    return accept_setting(h, !strcmp(reply->element[1]->str, "always"),
                          "Redis acknowledges pushes before they are on disk; set 'appendfsync "
                          "always' if none may be lost");
}

static void ask_meta(struct redis_handshake *h)
{
    struct script_call call;

    script_encode_meta(&call, &h->options.keys);
    send_script(h, 0, &call);
}

static bool take_meta(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    const struct script_keys *keys = &h->options.keys;
    char what_failed[64];
    int64_t found[2];

    if (!reply_read_numbers(reply, found, 2)) {
        snprintf(what_failed, sizeof(what_failed), "%s:meta cannot be read", keys->prefix);
        refuse_answer(h, what_failed, reply);
        return false;
    }
    if (found[0] > SCRIPT_SCHEMA) {
        refuse(h,
               "the jobs in this Redis were written by a newer dueq (schema %lld, this one "
               "knows %d): install that version, or set another store.prefix",
               (long long)found[0], SCRIPT_SCHEMA);
        return false;
    }
    if (found[0] < SCRIPT_SCHEMA) {
        refuse(h,
               "the jobs in this Redis were written by an older dueq (schema %lld, this one "
               "knows %d): let that version work them off, or set another store.prefix",
               (long long)found[0], SCRIPT_SCHEMA);
        return false;
    }
    if (found[1] != keys->buckets) {
        refuse(h,
               "the jobs in this Redis lie in %lld buckets, but store.buckets is %u: set it to "
               "%lld, or set another store.prefix than '%s'",
               (long long)found[1], keys->buckets, (long long)found[1], keys->prefix);
        return false;
    }
    return true;
}

/* The word is nobody's: no topic begins with '-'. */
static void ask_channel(struct redis_handshake *h)
{
    char channel[SCRIPT_PREFIX_MAX + 8];
    const char *argv[] = {"PUBLISH", channel, "-"};

    snprintf(channel, sizeof(channel), "%s:ready", h->options.keys.prefix);
    send(h, 0, 3, argv);
}

static bool take_channel(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return true;
    refuse_answer(h, "Redis does not publish what becomes ready", reply);
    return false;
}

static void ask_scripts(struct redis_handshake *h)
{
    for (unsigned verb = 0; verb < OP_COUNT; verb++) {
        const char *argv[] = {"SCRIPT", "LOAD", script_text((enum op_verb)verb)};

        if (argv[2])
            send(h, verb, 3, argv);
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
             op_word((enum op_verb)what));
    refuse_answer(h, what_failed, reply);
    return false;
}

static void ask_raise(struct redis_handshake *h)
{
    struct script_call call;

    for (unsigned bucket = 0; bucket < h->options.keys.buckets; bucket++) {
        if (h->seen[bucket] == 0)
            continue;
        script_encode_raise(&call, &h->options.keys, bucket, h->seen[bucket]);
        send_script(h, bucket, &call);
    }
}

static bool take_raise(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    int64_t fallen_by;

    char what_failed[64];

    if (!reply_read_numbers(reply, &fallen_by, 1)) {
        snprintf(what_failed, sizeof(what_failed), "the counter of bucket %u cannot be raised",
                 what);
        refuse_answer(h, what_failed, reply);
        return false;
    }
    if (fallen_by > 0)
        LOG_ERROR("redis",
                  "this Redis came back older: the counter of bucket %u had fallen by %lld; "
                  "jobs that were acknowledged in between may be lost",
                  what, (long long)fallen_by);
    return true;
}

static const struct step {
    void (*ask)(struct redis_handshake *h);
    bool (*take)(struct redis_handshake *h, unsigned what, const redisReply *reply);
} steps[] = {
    {ask_info, take_info},       {ask_appendfsync, take_appendfsync}, {ask_meta, take_meta},
    {ask_channel, take_channel}, {ask_scripts, take_script},          {ask_raise, take_raise},
};

#define STEPS (sizeof(steps) / sizeof(*steps))

static void go_on(struct redis_handshake *h)
{
    while (h->waiting_for == 0 && h->step < STEPS)
        steps[h->step++].ask(h);
    if (h->waiting_for > 0)
        return;
    h->is_over = true;
    h->is_warned = true;
    h->options.on_ready(h->options.arg);
}

static void on_reply(struct redis_call *call, const redisReply *reply)
{
    struct ask *ask = CONTAINER_OF(call, struct ask, call);
    struct redis_handshake *h = ask->handshake;

    if (!reply || h->is_over || !steps[h->step - 1].take(h, ask->what, reply))
        return;
    if (--h->waiting_for == 0)
        go_on(h);
}

void redis_handshake_start(struct redis_handshake *h)
{
    h->step = 0;
    h->waiting_for = 0;
    h->is_over = false;
    go_on(h);
}
