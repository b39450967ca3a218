/* SCAN: what is due in a bucket moves. A topic's jobs in the order of the contract: what has
 * expired, what is due, what nobody acknowledged, dead ones beyond the limits; then its pause.
 */
#include "node/store/memory_scan.h"

#include <assert.h>

#include "node/store/memory_orphans.h"
#include "node/store/memory_places.h"
#include "node/store/memory_records.h"

#define STUCK_RETRY_MS 1000
#define TOPICS_MAX     100 /* of one scan */

/* One topic in its turn. */
struct visit {
    struct call *c;
    struct topic *topic;
    struct topic_settings settings; /* the topic's, and where it has none the configuration's */
    int64_t *lateness_ms;           /* of the call */
    unsigned died;                  /* here and now: those are not pruned yet */
};

static struct topic_settings settings_for(const struct op *op, const struct topic *topic)
{
    struct topic_settings settings = topic->settings;

    for (unsigned i = 0; i < op->in.scan.rule_count; i++)
        if (settings_rule_matches(&op->in.scan.rules[i], topic->name)) {
            settings_fill(&settings, &op->in.scan.rules[i].settings);
            break;
        }
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
    v->died++;
    note(v, EVENT_DIED, record, 0);
}

static void become_due(struct visit *v, struct record *record)
{
    struct op *op = v->c->op;

    v->lateness_ms[op->out.scan.lateness_count++] = v->c->now_ms - record->job.due_ms;
    record_leave(v->topic, record);
    enter_ready_last(v->topic, record);
    note(v, EVENT_DUE, record, 0);
}

/* Who never had the job confirmed has used no try, and is not waited for. */
static void time_out(struct visit *v, struct record *record)
{
    const struct job *job = &record->job;
    bool was_confirmed = record->is_confirmed;
    int64_t rest_ms = 0;

    v->c->op->out.scan.expired++;
    if (was_confirmed && memory_is_used_up(job)) {
        die(v, record, DEATH_TRIES);
        return;
    }
    if (was_confirmed)
        rest_ms = backoff_rest_ms(&job->rules.backoff, job->tries, job->stamp);
    record_leave(v->topic, record);
    if (rest_ms > 0)
        enter_delayed(v->topic, record, v->c->now_ms + rest_ms);
    else
        enter_ready_last(v->topic, record);
    note(v, EVENT_TIMED_OUT, record, job->due_ms);
}

static void expire(struct visit *v, struct record *record)
{
    die(v, record, DEATH_EXPIRED);
}

/* ---- one topic ---- */

static void move_due(struct visit *v, const struct order *order,
                     void (*move)(struct visit *v, struct record *record))
{
    while (has_room(v) && order_first_ms(order) <= v->c->now_ms) {
        v->c->op->out.scan.moved++;
        move(v, order_at(order, 0)->record);
    }
}

/* Is the oldest one of the dead beyond a limit? */
static bool is_beyond(const struct visit *v)
{
    const struct order *dead = &v->topic->places[JOB_DEAD];
    int64_t max = dead_max(v), age_ms = dead_age_ms(v);

    if (max && (int64_t)dead->count > max)
        return true;
    return age_ms && dead->count && order_first_ms(dead) <= v->c->now_ms - age_ms;
}

/* A dead job stays for one scan at least. */
static void prune(struct visit *v)
{
    const struct order *dead = &v->topic->places[JOB_DEAD];

    while (has_room(v) && dead->count > v->died && is_beyond(v)) {
        v->c->op->out.scan.moved++;
        v->c->op->out.scan.pruned++;
        record_delete(v->topic, order_at(dead, 0)->record);
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
    int64_t next_ms = order_first_ms(&v->topic->expiring);

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
    int64_t next_ms;

    move_due(v, &v->topic->expiring, expire);
    move_due(v, &v->topic->places[JOB_DELAYED], become_due);
    move_due(v, &v->topic->places[JOB_RESERVED], time_out);
    prune(v);
    end_pause(v);
    next_ms = next_event_ms(v);
    memory_topic_set_next(v->topic, next_ms);
    if (next_ms == MEMORY_NEVER)
        memory_topic_let_go(v->topic);
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

/* ---- the bucket ---- */

/* Takes the first topic out of the index, if it is due. */
static struct topic *take_due(struct call *c)
{
    struct timers *index = &c->bucket->index;
    struct topic *topic;

    if (!index->count || index->heap[1]->due_mono_ms > c->now_ms)
        return NULL;
    topic = CONTAINER_OF(index->heap[1], struct topic, event);
    timer_disarm(index, &topic->event);
    return topic;
}

static int64_t next_ms(const struct call *c)
{
    const struct timers *index = &c->bucket->index;

    return index->count ? or_zero(index->heap[1]->due_mono_ms - c->now_ms) : -1;
}

/* Each topic once, also one that has more to do; whom the limit leaves out, keeps his time. */
enum status memory_run_scan(struct call *c)
{
    struct op *op = c->op;
    int64_t *lateness_ms = room_get(c->room, op->in.scan.limit * sizeof(*lateness_ms));
    struct topic *topics[TOPICS_MAX];
    unsigned count = 0;

    while (count < TOPICS_MAX && (topics[count] = take_due(c)))
        count++;
    for (unsigned i = 0; i < count; i++) {
        struct visit v = {.c = c, .topic = topics[i], .lateness_ms = lateness_ms};

        v.settings = settings_for(op, v.topic);
        if (!has_room(&v))
            memory_topic_set_next(v.topic, v.topic->event.due_mono_ms);
        else if (is_stuck(&v))
            leave_alone(c, v.topic);
        else
            visit(&v);
    }
    if (op->in.scan.history_bytes > 0)
        memory_history_cut(&c->bucket->history, op->in.scan.history_bytes);
    op->out.scan.lateness_ms = lateness_ms;
    op->out.scan.next_ms = next_ms(c);
    return STATUS_OK;
}
