/* Operations on many jobs at once, and on a topic: its lists, counts and settings. */
#include "node/store/memory/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/store/memory/places.h"
#include "node/store/memory/topic.h"

#define LIST_LOOK_MAX 1000

/* ---- kick and purge ---- */

/* The records that a KICK or a PURGE is to take, in the order of their place. */
struct catch
{
    struct record *records[OP_CHUNK_MAX];
    unsigned count;
    unsigned of_list; /* records and tombstones of the default priority: a list */
    bool has_more;
};

static bool is_dead_of_other_times(const struct op *op, enum job_state state, int64_t died_ms)
{
    int64_t since_ms = op->in.chunk.since_ms, before_ms = op->in.chunk.before_ms;

    if (state != JOB_DEAD)
        return false;
    return (since_ms && died_ms < since_ms) || (before_ms && died_ms >= before_ms);
}

/* Only so many entries of the list are looked at. Tombstones at its end are passed: only a job
 * behind them means more. */
static bool is_full(const struct call *c, const struct catch *catch, const struct spot *spot,
                    bool is_of_list)
{
    return (spot->record && catch->count == c->op->in.chunk.limit) ||
           (is_of_list && catch->of_list == LIST_LOOK_MAX);
}

/* STORE_ERROR when there is an orphan among the records. */
static enum status look(struct call *c, enum job_state state, struct catch *catch)
{
    const struct order *place = &c->topic->places[state];

    assert(c->op->in.chunk.limit >= 1 && c->op->in.chunk.limit <= OP_CHUNK_MAX);
    for (size_t i = 0; i < place->count; i++) {
        const struct spot *spot = order_at(place, i);
        bool is_of_list = state == JOB_READY && spot_is_of_list(spot);

        if (is_dead_of_other_times(c->op, state, spot->score))
            continue;
        catch->has_more = is_full(c, catch, spot, is_of_list);
        if (catch->has_more)
            break;
        catch->of_list += is_of_list;
        if (!spot->record)
            continue;
        if (spot->record->is_lost)
            return STATUS_STORE_ERROR;
        catch->records[catch->count++] = spot->record;
    }
    return STATUS_OK;
}

static enum status answer(struct call *c, const struct catch *catch)
{
    c->op->out.chunk.count = catch->count;
    c->op->out.chunk.has_more = catch->has_more;
    return STATUS_OK;
}

/* With the rules that the kick brings. */
static void revive(struct call *c, struct record *record)
{
    memory_revive(record);
    if (c->op->in.chunk.tries)
        record->job.rules.max_tries = c->op->in.chunk.tries;
    if (c->op->in.chunk.ttl_ms) {
        record->job.rules.expires_ms = memory_after(c, c->op->in.chunk.ttl_ms);
        record_begin_expiry(c->topic, record);
    }
}

enum status memory_run_kick(struct call *c)
{
    bool is_delayed = c->op->in.chunk.state == JOB_DELAYED;
    struct catch catch = {.count = 0};
    enum status status = look(c, is_delayed ? JOB_DELAYED : JOB_DEAD, &catch);

    if (status != STATUS_OK)
        return status;
    for (unsigned i = 0; i < catch.count; i++) {
        record_leave(c->topic, catch.records[i]);
        if (!is_delayed)
            revive(c, catch.records[i]);
        memory_count(catch.records[i], &catch.records[i]->job.extra.kicks);
        memory_put(c, catch.records[i], c->now_ms);
    }
    return answer(c, &catch);
}

/* Purged list entries become tombstones first, and go with the others. */
enum status memory_run_purge(struct call *c)
{
    struct catch catch = {.count = 0};
    enum status status = look(c, c->op->in.chunk.state, &catch);

    if (status != STATUS_OK)
        return status;
    for (unsigned i = 0; i < catch.count; i++)
        record_delete(c->topic, catch.records[i]);
    for (unsigned i = 0; i < catch.of_list; i++)
        order_remove(&c->topic->places[JOB_READY], 0);
    if (catch.count > 0)
        memory_topic_release(c->topic);
    if (catch.count > 0 && !memory_topic_is_used(c->topic))
        catch.has_more = false;
    return answer(c, &catch);
}

/* The jobs of one state, page after page.
 *
 * A cursor is the position of the last job told: its score, its key and its id. So it holds
 * whatever comes and goes in between.
 */

static struct bytes cursor_of(struct call *c, const struct spot *spot)
{
    char text[OP_CURSOR_MAX];
    int len = snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %.*s", spot->score,
                       spot->key, BYTES_ARG(spot->record->job.id));

    assert(len > 0 && (size_t)len < sizeof(text));
    return room_copy(c->room, bytes_of(text, (size_t)len));
}

static bool is_there(const struct spot *spot, int64_t score, int64_t key, struct bytes id)
{
    return spot->score == score && spot->key == key &&
           (!spot->record || bytes_equal(spot->record->job.id, id));
}

/* ---- list ---- */

/* Sets the index of the first spot behind the cursor; false where the cursor is none of
 * ours. */
static bool find_behind(const struct order *place, struct bytes cursor, size_t *index)
{
    char text[OP_CURSOR_MAX + 1] = "";
    int64_t score, key;
    int id_at = 0;
    struct bytes id;

    *index = 0;
    if (!cursor.len)
        return true;
    memcpy(text, cursor.at, cursor.len < OP_CURSOR_MAX ? cursor.len : OP_CURSOR_MAX);
    if (sscanf(text, "%" SCNd64 " %" SCNd64 " %n", &score, &key, &id_at) < 2 || !id_at)
        return false;
    id = bytes_of_text(text + id_at);
    *index = order_find(place, score, key, id);
    if (*index < place->count && is_there(order_at(place, *index), score, key, id))
        ++*index;
    return true;
}

enum status memory_run_list(struct call *c)
{
    const struct order *place = &c->topic->places[c->op->in.list.state];
    unsigned limit = c->op->in.list.limit, count = 0;
    struct job_row *rows = room_get(c->room, limit * sizeof(*rows));
    const struct spot *last = NULL;
    size_t i;

    assert(limit >= 1 && limit <= OP_LIST_MAX);
    if (!find_behind(place, c->op->in.list.after, &i))
        return STATUS_OUT_OF_RANGE;
    for (; i < place->count && count < limit; i++) {
        const struct spot *spot = order_at(place, i);

        if (!spot->record)
            continue;
        if (spot->record->is_lost)
            return STATUS_STORE_ERROR;
        rows[count++] = memory_row(c, spot->record);
        last = spot;
    }
    c->op->out.list.rows = rows;
    c->op->out.list.count = count;
    if (last && i < place->count)
        c->op->out.list.next = cursor_of(c, last);
    return STATUS_OK;
}

/* ---- counts ---- */

#define OLDEST_LOOK_MAX 100

static int64_t age_ms(const struct call *c, const struct record *record)
{
    return or_zero(c->now_ms - record->job.due_ms);
}

/* ---- stats and topics ---- */

/* Age of the first ready job in the list. */
static int64_t oldest_of_list_ms(const struct call *c, const struct topic *topic)
{
    const struct order *ready = &topic->places[JOB_READY];
    struct span span = ready_default_span(topic);
    unsigned looked_at = 0;

    for (size_t i = span.from; i < span.to && looked_at < OLDEST_LOOK_MAX; i++) {
        const struct spot *spot = order_at(ready, i);

        if (!spot_is_of_list(spot))
            continue;
        if (spot->record)
            return age_ms(c, spot->record);
        looked_at++;
    }
    return -1;
}

static int64_t oldest_of_others_ms(const struct call *c, const struct topic *topic)
{
    const struct order *ready = &topic->places[JOB_READY];
    size_t first = 0;

    while (first < ready->count && spot_is_of_list(order_at(ready, first)))
        first++;
    return first < ready->count ? age_ms(c, order_at(ready, first)->record) : -1;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How many live jobs are in no other place. */
static int64_t ready_count(const struct topic *topic)
{
    const struct order *places = topic->places;
    int64_t live = HASH_COUNT(topic->records);

    return or_zero(live - (int64_t)places[JOB_DELAYED].count -
                   (int64_t)places[JOB_RESERVED].count - (int64_t)places[JOB_DEAD].count);
}

static struct topic_stats count(const struct call *c, const struct topic *topic)
{
    const struct order *places = topic->places;
    struct topic_stats stats = {.delayed = (int64_t)places[JOB_DELAYED].count,
                                .ready = ready_count(topic),
                                .reserved = (int64_t)places[JOB_RESERVED].count,
                                .dead = (int64_t)places[JOB_DEAD].count,
                                .oldest_ready_ms = -1,
                                .next_due_ms = -1};

    if (stats.ready)
        stats.urgent = (int64_t)ready_default_span(topic).from;
    if (stats.urgent > stats.ready)
        stats.urgent = stats.ready;
    if (stats.ready)
        stats.oldest_ready_ms =
            larger(oldest_of_list_ms(c, topic), oldest_of_others_ms(c, topic));
    if (stats.delayed)
        stats.next_due_ms = or_zero(order_first_ms(&places[JOB_DELAYED]) - c->now_ms);
    return stats;
}

enum status memory_run_stats(struct call *c)
{
    c->op->out.stats = count(c, c->topic);
    return STATUS_OK;
}

static struct topic_count row(const struct call *c, const struct topic *topic)
{
    struct topic_count row = {.topic = topic->name, .stats = count(c, topic)};

    if (c->op->in.topics.owners)
        row.lock = memory_lock_tell(c, topic);
    return row;
}

enum status memory_run_topics(struct call *c)
{
    struct op *op = c->op;
    struct topic_count *rows = room_get(c->room, op->in.topics.limit * sizeof(*rows));
    struct bytes after = op->in.topics.after;
    struct topic *topic, *next;
    unsigned seen = 0, told = 0;

    for (; seen < op->in.topics.limit; seen++) {
        topic = memory_topic_next(c->bucket, after, memory_topic_exists);
        if (!topic)
            break;
        after = topic->name;
        if (memory_topic_is_used(topic))
            rows[told++] = row(c, topic);
    }
    HASH_ITER (hh, c->bucket->topics, topic, next)
        op->out.topics.total += memory_topic_exists(topic);
    op->out.topics.rows = rows;
    op->out.topics.count = told;
    if (memory_topic_next(c->bucket, after, memory_topic_exists))
        op->out.topics.next = after;
    return STATUS_OK;
}

/* ---- pauses ---- */

static int64_t pause_until_ms(const struct call *c)
{
    const struct op *op = c->op;
    int64_t until_ms = op->in.configure.settings.paused_until_ms;

    if (op->in.configure.pause_ms)
        until_ms = memory_after(c, op->in.configure.pause_ms);
    return until_ms < SETTINGS_FOREVER ? until_ms : SETTINGS_FOREVER;
}

static bool would_be_over(const struct call *c)
{
    int64_t until_ms = pause_until_ms(c);

    return c->op->in.configure.has_pause && until_ms > 0 && until_ms <= c->now_ms;
}

/* ---- what the scan has to do with it ---- */

static bool is_same(const struct topic_settings *a, const struct topic_settings *b,
                    enum setting setting)
{
    unsigned bit = 1u << setting;

    return (a->set & bit) == (b->set & bit) &&
           (!(a->set & bit) || setting_number(a, setting) == setting_number(b, setting));
}

static bool has_same_limits(const struct topic_settings *a, const struct topic_settings *b)
{
    return is_same(a, b, SETTING_DEAD_MAX) && is_same(a, b, SETTING_DEAD_AGE);
}

/* ---- settings ---- */

/* The scan deletes dead jobs beyond new limits, and ends the pause. */
static void call_scan(struct call *c, const struct topic_settings *was)
{
    const struct topic_settings *is = &c->topic->settings;
    int64_t until_ms = is->paused_until_ms;

    if (!memory_topic_exists(c->topic))
        return;
    if (!has_same_limits(was, is))
        memory_topic_expect(c->topic, c->now_ms);
    else if (until_ms && until_ms != was->paused_until_ms && until_ms != SETTINGS_FOREVER)
        memory_topic_expect(c->topic, until_ms);
}

/* ---- the operations ---- */

static enum status answer_settings(struct call *c)
{
    struct settings_row *row = room_get(c->room, sizeof(*row));

    *row = (struct settings_row){c->topic->name, c->topic->settings};
    c->op->out.settings.rows = row;
    c->op->out.settings.count = 1;
    return STATUS_OK;
}

enum status memory_run_configure(struct call *c)
{
    struct topic *topic = c->topic;
    struct topic_settings *settings = &topic->settings, was = *settings;

    if (would_be_over(c))
        return STATUS_OUT_OF_RANGE;
    settings_copy(settings, &c->op->in.configure.settings, c->op->in.configure.mask);
    if (c->op->in.configure.has_pause)
        settings->paused_until_ms = pause_until_ms(c);
    memory_topic_tell_settings(topic);
    if (settings->paused_until_ms < was.paused_until_ms && topic->places[JOB_READY].count)
        memory_topic_announce(topic);
    call_scan(c, &was);
    return answer_settings(c);
}

/* Has the row nothing but a pause that is over, which no scan ends? */
static bool says_nothing(const struct call *c, const struct topic *topic)
{
    return !topic->settings.set && topic->settings.paused_until_ms <= c->now_ms &&
           !memory_topic_exists(topic);
}

static enum status page(struct call *c)
{
    struct settings_row *rows = room_get(c->room, OP_ROWS_MAX * sizeof(*rows));
    struct bytes after = c->op->in.settings.after;
    struct topic *topic = NULL;
    unsigned count = 0;

    while (count < OP_ROWS_MAX &&
           (topic = memory_topic_next(c->bucket, after, memory_topic_has_settings))) {
        after = topic->name;
        if (says_nothing(c, topic))
            topic->settings.paused_until_ms = 0;
        else
            rows[count++] = (struct settings_row){topic->name, topic->settings};
    }
    c->op->out.settings.rows = rows;
    c->op->out.settings.count = count;
    if (topic)
        c->op->out.settings.next = after;
    return STATUS_OK;
}

enum status memory_run_settings(struct call *c)
{
    return c->topic ? answer_settings(c) : page(c);
}
