#include "node/store/redis/older.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/store/redis/handshake_private.h"
#include "node/store/redis/reply_elements.h"
#include "node/store/redis/reply_outputs.h"

void redis_older_describe(const struct redis_older *o, char *text, size_t size)
{
    snprintf(text, size,
             "this Redis came back older: in %u bucket%s something is missing (the counter had "
             "fallen by up to %lld); of the last pushes of this node %s%u are lost",
             o->buckets, o->buckets == 1 ? "" : "s", (long long)o->fallen_by,
             o->may_be_more ? "more than " : "", o->lost_pushes);
}

/* ---- asking ---- */

static struct push_note last_note(const struct redis_handshake *h, unsigned bucket)
{
    int64_t now_ms = clock_mono_ms();

    return (struct push_note){.worker = push_ledger_worker(h->ledger),
                              .number = push_ledger_last_done(h->ledger, bucket, now_ms)};
}

static void name_life(const struct redis_life *life, char text[HANDSHAKE_LIFE_CHARS])
{
    snprintf(text, HANDSHAKE_LIFE_CHARS, "%s:%s", life->run_id, life->history);
}

/* What the names of lives begin with that have gone on until this one: redis_life_goes_on(), as
 * a script can tell it. The history of one that was no replica says nothing: it changes with
 * the first replica. */
static void name_what_goes_on(const struct redis_life *life, char text[HANDSHAKE_LIFE_CHARS])
{
    if (redis_life_was_replica(life))
        snprintf(text, HANDSHAKE_LIFE_CHARS, "%s:%s ", life->run_id, life->history);
    else
        snprintf(text, HANDSHAKE_LIFE_CHARS, "%s:", life->run_id);
}

void handshake_ask_raise(struct redis_handshake *h)
{
    const struct redis_life *now = redis_handshake_life(h);
    char life[HANDSHAKE_LIFE_CHARS], goes_on[HANDSHAKE_LIFE_CHARS];
    struct script_call call;

    if (!redis_life_goes_on(&h->life, now))
        memset(h->is_raised, 0, sizeof(h->is_raised));
    h->life = *now;
    name_life(now, life);
    name_what_goes_on(now, goes_on);
    for (unsigned bucket = 0; bucket < h->options.keys.buckets; bucket++) {
        struct script_raise raise = {.seen = h->seen[bucket],
                                     .last = last_note(h, bucket),
                                     .life = life,
                                     .goes_on = goes_on,
                                     .is_known = h->is_raised[bucket]};

        script_encode_raise(&call, &h->options.keys, bucket, &raise);
        handshake_send_script(h, bucket, &call);
    }
}

/* ---- one bucket's answer ---- */

struct raised {
    int64_t fallen_by;
    bool is_lost;
    struct bytes ring; /* where it is lost */
};

static bool take(const redisReply *reply, struct raised *raised)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == REPLY_HEAD + 3 &&
           take_number(reply, REPLY_HEAD, 0, INT64_MAX, &raised->fallen_by) &&
           take_bool(reply, REPLY_HEAD + 1, &raised->is_lost) &&
           take_bytes(reply, REPLY_HEAD + 2, &raised->ring);
}

static void count(struct redis_handshake *h, unsigned bucket, const struct raised *raised)
{
    struct redis_older *o = &h->older;
    bool may_be_more = false;

    if (raised->fallen_by == 0 && !raised->is_lost)
        return;
    o->buckets++;
    if (raised->fallen_by > o->fallen_by)
        o->fallen_by = raised->fallen_by;
    if (raised->is_lost)
        o->lost_pushes += push_ledger_lost(h->ledger, bucket, raised->ring, &may_be_more);
    o->may_be_more |= may_be_more;
    push_ledger_forget(h->ledger, bucket);
}

/* ---- all of them ---- */

static void tell(struct redis_handshake *h)
{
    struct redis_older older = h->older;
    char text[256];

    if (!redis_older_is_found(&older))
        return;
    h->older = (struct redis_older){0};
    redis_older_describe(&older, text, sizeof(text));
    LOG_ERROR("redis", "%s", text);
    h->options.on_older(h->options.arg, &older);
}

bool handshake_take_raise(struct redis_handshake *h, unsigned what, const redisReply *reply)
{
    struct raised raised;
    char what_failed[64];

    if (!take(reply, &raised)) {
        snprintf(what_failed, sizeof(what_failed), "the counter of bucket %u cannot be raised",
                 what);
        handshake_refuse_answer(h, what_failed, reply);
        return false;
    }
    count(h, what, &raised);
    h->is_raised[what] = true;
    push_ledger_kept(h->ledger, what, clock_mono_ms());
    if (h->waiting_for == 1)
        tell(h);
    return true;
}
