/* What a scan does in one topic that is due: its jobs in the order of the contract (what has
 * expired, what is due, what nobody acknowledged, dead ones beyond the limits), and the end of
 * its pause. Then the pops that it brings. */
#include <string.h>

#include "node/store/history.h"
#include "node/store/memory/places.h"
#include "node/store/memory/scan.h"
#include "node/store/memory/topic.h"

#define STUCK_RETRY_MS 1000
#define TRIM_EVERY     17 /* ms, and then */
#define TRIM_LOOK_MAX  100

/* One topic in its turn. */
struct visit {
    struct call *c;
    struct topic *topic;
    struct topic_settings settings; /* the topic's, and where it has none the configuration's */
    struct scan *scan;
    bool has_readied;
    struct record **dead; /* the dead before this scan: only these are pruned */
    size_t dead_count;
    int64_t expiry_ms; /* the next to expire, even if it dies of its tries right now, as in
                        * Redis: the next event is a lower bound */
};

/* The pop of the topic that the scan brings; NULL: none. */
static struct op *pop_of(const struct call *c, const struct topic *topic)
{
    for (unsigned i = 0; i < c->op->in.scan.pop_count; i++) {
        if (bytes_equal(c->op->in.scan.pops[i]->topic, topic->name))
            return c->op->in.scan.pops[i];
    }
    return NULL;
}

static struct topic_settings settings_for(const struct op *op, const struct topic *topic)
{
    struct topic_settings settings = topic->settings;

    for (unsigned i = 0; i < op->in.scan.rule_count; i++)
        if (settings_rule_matches(&op->in.scan.rules[i], topic->name))
            settings_fill(&settings, &op->in.scan.rules[i].settings);
    return settings;
}

static int64_t set_or_zero(const struct visit *v, unsigned bit, int64_t value)
{
    return v->settings.set & bit ? value : 0;
}

static int64_t dead_max(const struct visit *v)
{
    return set_or_zero(v, SETTING_BIT(DEAD_MAX), v->settings.dead_max);
}

static int64_t dead_age_ms(const struct visit *v)
{
    return set_or_zero(v, SETTING_BIT(DEAD_AGE), v->settings.dead_age_ms);
}

static bool has_room(const struct visit *v)
{
    return v->c->op->out.scan.moved < v->c->op->in.scan.limit;
}

/* ---- history ---- */

static void note(struct visit *v, enum job_event event, const struct record *record,
                 int64_t at_ms)
{
    const struct op *op = v->c->op;
    const struct job *job = &record->job;
    struct history_item item = {.event = event,
                                .death = event == EVENT_DIED ? job->death : DEATH_NONE,
                                .time_ms = v->c->now_ms,
                                .at_ms = at_ms,
                                .tries = job->tries,
                                .topic = v->topic->name,
                                .id = job->id,
                                .node = op->in.scan.node};

    if (!set_or_zero(v, SETTING_BIT(HISTORY), v->settings.history) ||
        op->in.scan.history_bytes <= 0)
        return;
    if (v->topic->name.len > HISTORY_NAME_MAX || job->id.len > HISTORY_NAME_MAX)
        return; /* no room in a line of Redis's */
    if (event != EVENT_DUE)
        item.client = job->holder;
    memory_history_add(&v->c->bucket->history, &item);
}

/* ---- one job ---- */

static void die(struct visit *v, struct record *record, enum death death)
{
    record_leave(v->topic, record);
    enter_dead(v->topic, record, death, v->c->now_ms);
    v->c->op->out.scan.died[death]++;
    note(v, EVENT_DIED, record, 0);
}

/* Where the scan brings a pop of the topic, that comes before the wake-up. */
static void get_ready(struct visit *v, struct record *record)
{
    struct scan *scan = v->scan;

    if (!v->has_readied && pop_of(v->c, v->topic)) {
        v->topic->is_muted = true;
        scan->to_pop[scan->to_pop_count++] = v->topic;
    }
    v->has_readied = true;
    enter_ready_last(v->topic, record);
}

static void become_due(struct visit *v, struct record *record)
{
    struct op *op = v->c->op;

    v->scan->lateness_ms[op->out.scan.lateness_count++] = v->c->now_ms - record->job.due_ms;
    record_leave(v->topic, record);
    get_ready(v, record);
    note(v, EVENT_DUE, record, 0);
}

/* An unconfirmed reservation has used no try, and has no backoff. */
static void time_out(struct visit *v, struct record *record)
{
    const struct job *job = &record->job;
    bool was_confirmed = record->is_confirmed;
    int64_t rest_ms = 0;

    if (was_confirmed)
        memory_count(record, &record->job.extra.timeouts);
    v->c->op->out.scan.expired++;
    if (was_confirmed && memory_is_used_up(job)) {
        die(v, record, DEATH_TRIES);
        return;
    }
    if (was_confirmed)
        rest_ms = backoff_rest_ms(&job->rules.backoff, job->tries, job->stamp);
    record_leave(v->topic, record);
    if (rest_ms > 0)
        enter_delayed(v->topic, record, memory_after(v->c, rest_ms));
    else
        get_ready(v, record);
    note(v, EVENT_TIMED_OUT, record, job->due_ms);
}

static void expire(struct visit *v, struct record *record)
{
    die(v, record, DEATH_EXPIRED);
}

/* ---- the dead ---- */

static bool is_too_old(const struct visit *v, int64_t died_ms)
{
    return dead_age_ms(v) && died_ms <= v->c->now_ms - dead_age_ms(v);
}

/* Is the oldest dead job beyond a limit? */
static bool is_beyond(const struct visit *v)
{
    const struct order *dead = &v->topic->places[JOB_DEAD];

    if (dead_max(v) && (int64_t)dead->count > dead_max(v))
        return true;
    return dead->count && is_too_old(v, order_first_ms(dead));
}

static void note_dead(struct visit *v)
{
    const struct order *dead = &v->topic->places[JOB_DEAD];

    if (!dead_max(v) && !dead_age_ms(v))
        return;
    v->dead_count = dead->count;
    v->dead = room_get(v->c->room, dead->count * sizeof(struct record *));
    for (size_t i = 0; i < dead->count; i++)
        v->dead[i] = order_at(dead, i)->record;
}

static void prune(struct visit *v)
{
    for (size_t i = 0; i < v->dead_count && has_room(v) && is_beyond(v); i++) {
        v->c->op->out.scan.moved++;
        v->c->op->out.scan.pruned++;
        record_delete(v->topic, v->dead[i]);
    }
}

/* ---- tombstones ---- */

/* The length of the list. */
static size_t list_length(const struct topic *topic)
{
    struct span span = ready_default_span(topic);

    return span.to - span.from - topic->shared_count;
}

static size_t tombstones_at_head(const struct topic *topic)
{
    const struct order *ready = &topic->places[JOB_READY];
    struct span span = ready_default_span(topic);
    size_t count = 0;

    for (size_t i = span.from; i < span.to && count < TRIM_LOOK_MAX; i++) {
        if (!spot_is_of_list(order_at(ready, i)))
            continue;
        if (order_at(ready, i)->record)
            break;
        count++;
    }
    return count;
}

static void trim(struct visit *v, size_t length_before, size_t tombstones)
{
    struct order *ready = &v->topic->places[JOB_READY];

    if (list_length(v->topic) <= length_before || v->c->now_ms % TRIM_EVERY != 0)
        return;
    for (size_t i = ready_default_span(v->topic).from; tombstones > 0; tombstones--) {
        while (order_at(ready, i)->record)
            i++;
        order_remove(ready, i);
    }
}

/* ---- all of it ---- */

static void move_due(struct visit *v, const struct order *order,
                     void (*move)(struct visit *v, struct record *record))
{
    while (has_room(v) && order_first_ms(order) <= v->c->now_ms) {
        v->c->op->out.scan.moved++;
        move(v, order_at(order, 0)->record);
    }
}

static void end_pause(struct visit *v)
{
    int64_t *until_ms = &v->topic->settings.paused_until_ms;

    if (!*until_ms || *until_ms > v->c->now_ms)
        return;
    *until_ms = 0;
    memory_topic_announce(v->topic);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_event_ms(const struct visit *v)
{
    const struct order *places = v->topic->places, *dead = &places[JOB_DEAD];
    int64_t until_ms = v->topic->settings.paused_until_ms;
    int64_t next_ms = v->expiry_ms;

    next_ms = sooner(next_ms, order_first_ms(&places[JOB_DELAYED]));
    next_ms = sooner(next_ms, order_first_ms(&places[JOB_RESERVED]));
    if (until_ms && until_ms != SETTINGS_FOREVER)
        next_ms = sooner(next_ms, until_ms);
    if (is_beyond(v))
        next_ms = sooner(next_ms, v->c->now_ms);
    else if (dead->count && dead_age_ms(v))
        next_ms = sooner(next_ms, order_first_ms(dead) + dead_age_ms(v));
    return next_ms;
}

static void visit(struct visit *v)
{
    size_t length = list_length(v->topic), tombstones = tombstones_at_head(v->topic);
    int64_t next_ms;

    note_dead(v);
    move_due(v, &v->topic->expiring, expire);
    v->expiry_ms = order_first_ms(&v->topic->expiring);
    move_due(v, &v->topic->places[JOB_DELAYED], become_due);
    move_due(v, &v->topic->places[JOB_RESERVED], time_out);
    prune(v);
    trim(v, length, tombstones);
    end_pause(v);
    next_ms = next_event_ms(v);
    memory_topic_set_next(v->topic, next_ms);
    if (next_ms == MEMORY_NEVER)
        memory_topic_release(v->topic);
}

/* Stricter than Redis, which moves what is due before the orphan if the limit ends there. */
static bool is_stuck(const struct visit *v)
{
    return lost_is_due(v->topic, v->c->now_ms) || (lost_is_dead(v->topic) && is_beyond(v));
}

static void leave_alone(struct call *c, struct topic *topic)
{
    if (c->op->out.scan.stuck++ == 0)
        c->op->out.scan.wrong = BYTES("a job is in its place, but missing in its topic");
    memory_topic_set_next(topic, c->now_ms + STUCK_RETRY_MS);
}

void memory_visit_topic(struct call *c, struct topic *topic, struct scan *scan)
{
    struct visit v = {.c = c, .topic = topic, .scan = scan};

    v.settings = settings_for(c->op, topic);
    if (!has_room(&v))
        memory_topic_set_next(topic, topic->event.due_mono_ms);
    else if (is_stuck(&v))
        leave_alone(c, topic);
    else
        visit(&v);
}

/* ---- the pops that a scan brings ---- */

void memory_run_scan_pops(struct call *c, struct scan *scan)
{
    size_t left = OP_SCAN_BYTES_MAX;

    for (unsigned i = 0; i < scan->to_pop_count; i++) {
        struct topic *topic = scan->to_pop[i];
        struct call of_topic = *c;

        of_topic.topic = topic;
        of_topic.op = pop_of(c, topic);
        topic->is_muted = false;
        memory_pop_in_scan(&of_topic, &left);
        if (topic->is_to_announce && of_topic.op->out.pop.has_more)
            memory_topic_announce(topic);
        topic->is_to_announce = false;
    }
}
