#include "node/store/redis/rollback.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node/store/redis/reply.h"
#include "node/store/redis/reply_outputs.h"
#include "node/store/redis/scripts.h"

#define LIFE_CHARS 88

void redis_older_describe(const struct redis_older *o, char *text, size_t size)
{
    snprintf(text, size,
             "this Redis came back older: in %u bucket%s something is missing (the counter had "
             "fallen by up to %lld); of the last pushes of this node %s%u are lost",
             o->buckets, o->buckets == 1 ? "" : "s", (long long)o->fallen_by,
             o->may_be_more ? "more than " : "", o->lost_pushes);
}

/* ---- asking ---- */

static struct push_note last_note(const struct redis_past *past, unsigned bucket)
{
    int64_t now_ms = clock_mono_ms();

    return (struct push_note){.worker = push_ledger_worker(past->ledger),
                              .number = push_ledger_last_done(past->ledger, bucket, now_ms)};
}

static void name_life(const struct redis_life *life, char text[LIFE_CHARS])
{
    snprintf(text, LIFE_CHARS, "%s:%s", life->run_id, life->history);
}

/* What the names of lives begin with that have gone on until this one: redis_life_goes_on(), as
 * a script can tell it. The history of one that was no replica says nothing: it changes with
 * the first replica. */
static void name_what_goes_on(const struct redis_life *life, char text[LIFE_CHARS])
{
    if (redis_life_was_replica(life))
        snprintf(text, LIFE_CHARS, "%s:%s ", life->run_id, life->history);
    else
        snprintf(text, LIFE_CHARS, "%s:", life->run_id);
}

void redis_older_ask(const struct redis_past *past, struct script_call *call,
                     const struct script_keys *keys, unsigned bucket,
                     const struct redis_life *life)
{
    char name[LIFE_CHARS], goes_on[LIFE_CHARS];
    struct script_raise raise = {
        .seen = past->seen[bucket],
        .last = last_note(past, bucket),
        .life = name,
        .goes_on = goes_on,
        .is_known = redis_life_goes_on(&past->raised_in[bucket], life),
    };

    name_life(life, name);
    name_what_goes_on(life, goes_on);
    script_encode_raise(call, keys, bucket, &raise);
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

static void count(struct redis_past *past, unsigned bucket, const struct raised *raised)
{
    struct redis_older *o = &past->older;
    bool may_be_more = false;

    if (raised->fallen_by == 0 && !raised->is_lost)
        return;
    o->buckets++;
    if (raised->fallen_by > o->fallen_by)
        o->fallen_by = raised->fallen_by;
    if (raised->is_lost)
        o->lost_pushes += push_ledger_lost(past->ledger, bucket, raised->ring, &may_be_more);
    o->may_be_more |= may_be_more;
    push_ledger_forget(past->ledger, bucket);
}

bool redis_older_take(struct redis_past *past, unsigned bucket, const struct redis_life *life,
                      const redisReply *reply)
{
    struct raised raised;

    if (!take(reply, &raised))
        return false;
    count(past, bucket, &raised);
    past->raised_in[bucket] = *life;
    push_ledger_kept(past->ledger, bucket, clock_mono_ms());
    return true;
}

/* ---- past ---- */

struct redis_past *redis_past_new(unsigned buckets)
{
    struct redis_past *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    p->ledger = push_ledger_new(buckets);
    return p;
}

void redis_past_free(struct redis_past *p)
{
    if (!p)
        return;
    push_ledger_free(p->ledger);
    free(p);
}
