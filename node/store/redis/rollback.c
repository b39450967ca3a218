#include "node/store/redis/rollback.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node/store/redis/wire/encode.h"
#include "node/store/redis/wire/reply.h"

#define INCARNATION_CHARS 88

void redis_rollback_describe(const struct redis_rollback *r, char *text, size_t size)
{
    snprintf(text, size,
             "this Redis has rolled back: in %u bucket%s something is missing (the counter had "
             "fallen by up to %lld); of the last pushes of this node %s%u are lost",
             r->buckets, r->buckets == 1 ? "" : "s", (long long)r->fallen_by,
             r->may_be_more ? "more than " : "", r->lost_pushes);
}

/* ---- asking ---- */

static struct push_note last_note(const struct redis_marks *marks, unsigned bucket)
{
    int64_t now_ms = clock_mono_ms();

    return (struct push_note){.worker = push_ledger_worker(marks->ledger),
                              .number = push_ledger_last_done(marks->ledger, bucket, now_ms)};
}

static void name_incarnation(const struct redis_incarnation *incarnation,
                             char text[INCARNATION_CHARS])
{
    snprintf(text, INCARNATION_CHARS, "%s:%s", incarnation->run_id, incarnation->history);
}

/* The common beginning of the names of all incarnations that go on into this one:
 * redis_incarnation_goes_on() for a script. The history is left out for a Redis that was no
 * replica: it changes with the first replica. */
static void name_what_goes_on(const struct redis_incarnation *incarnation,
                              char text[INCARNATION_CHARS])
{
    if (redis_incarnation_was_replica(incarnation))
        snprintf(text, INCARNATION_CHARS, "%s:%s ", incarnation->run_id, incarnation->history);
    else
        snprintf(text, INCARNATION_CHARS, "%s:", incarnation->run_id);
}

void redis_rollback_ask(const struct redis_marks *marks, struct script_call *call,
                        const struct script_keys *keys, unsigned bucket,
                        const struct redis_incarnation *incarnation)
{
    char name[INCARNATION_CHARS], goes_on[INCARNATION_CHARS];
    struct script_raise raise = {
        .seen = marks->seen[bucket],
        .last = last_note(marks, bucket),
        .incarnation = name,
        .goes_on = goes_on,
        .is_known = redis_incarnation_goes_on(&marks->raised_in[bucket], incarnation),
    };

    name_incarnation(incarnation, name);
    name_what_goes_on(incarnation, goes_on);
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

static void count(struct redis_marks *marks, unsigned bucket, const struct raised *raised)
{
    struct redis_rollback *r = &marks->found;
    bool may_be_more = false;

    if (raised->fallen_by == 0 && !raised->is_lost)
        return;
    r->buckets++;
    if (raised->fallen_by > r->fallen_by)
        r->fallen_by = raised->fallen_by;
    if (raised->is_lost)
        r->lost_pushes += push_ledger_lost(marks->ledger, bucket, raised->ring, &may_be_more);
    r->may_be_more |= may_be_more;
    push_ledger_forget(marks->ledger, bucket);
}

bool redis_rollback_take(struct redis_marks *marks, unsigned bucket,
                         const struct redis_incarnation *incarnation, const redisReply *reply)
{
    struct raised raised;

    if (!take(reply, &raised))
        return false;
    count(marks, bucket, &raised);
    marks->raised_in[bucket] = *incarnation;
    push_ledger_kept(marks->ledger, bucket, clock_mono_ms());
    return true;
}

/* ---- marks ---- */

struct redis_marks *redis_marks_new(unsigned buckets)
{
    struct redis_marks *m = must(calloc(1, sizeof(*m)));

    m->ledger = push_ledger_new(buckets);
    return m;
}

void redis_marks_free(struct redis_marks *m)
{
    if (!m)
        return;
    push_ledger_free(m->ledger);
    free(m);
}
