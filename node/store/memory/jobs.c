/* Operations on one job: push, pop, those of the lease's holder, and those of anybody. */
#include "node/store/memory/ops.h"

#include <assert.h>
#include <stdio.h>

#include "node/store/memory/places.h"
#include "node/store/memory/topic.h"

#define TTR_MAX_MS ((INT64_C(1) << 32) - 1)

/* ---- push ---- */

/* An id that no live job of the topic has. `text` takes it. */
static struct bytes next_id(struct call *c, char text[24])
{
    int64_t *n = &c->bucket->n;
    int64_t of_now = (c->now_ms - JOB_ID_EPOCH_MS) * JOB_IDS_PER_MS;
    unsigned b = (unsigned)(c->bucket - c->bucket->db->buckets);
    struct bytes id;

    *n = *n + 1 > of_now ? *n + 1 : of_now;
    for (;; ++*n) {
        long long number = *n * c->bucket->db->bucket_count + b;

        id = bytes_of(text, (size_t)snprintf(text, 24, "%lld", number));
        if (!record_find(c->topic, id))
            return id;
    }
}

static int64_t expires_ms(const struct call *c, const struct job *job)
{
    bool is_from_due = c->op->in.push.ttl_from_due && job->delay_ms > 0;

    return c->op->in.push.ttl_ms
               ? (is_from_due ? job->due_ms : c->start_ms) + c->op->in.push.ttl_ms
               : 0;
}

/* The job of a push, with its times counted from now. */
static struct job job_of(const struct call *c)
{
    const struct op *op = c->op;
    int64_t at_ms = op->in.push.at_ms;
    int64_t delay_ms = at_ms ? or_zero(at_ms - c->now_ms) : op->in.push.delay_ms;
    struct job job = {.id = op->id, .body = op->in.push.body, .rules = op->in.push.rules};

    job.delay_ms = delay_ms < JOB_DELAY_KEPT_MAX_MS ? delay_ms : JOB_DELAY_KEPT_MAX_MS;
    job.due_ms = at_ms ? at_ms : memory_after(c, delay_ms);
    job.ttr_ms = op->in.push.ttr_ms;
    job.rules.expires_ms = expires_ms(c, &job);
    if (push_has_extra(op))
        job.extra = (struct job_extra){.is_there = true,
                                       .by_id = op->in.push.by_id,
                                       .created_ms = c->now_ms,
                                       .attributes = op->in.push.attributes};
    return job;
}

static bool is_in_range(const struct call *c, const struct job *job)
{
    int64_t at_ms = c->op->in.push.at_ms, expires_ms = job->rules.expires_ms;
    int64_t delay_ms = at_ms ? at_ms - c->now_ms : c->op->in.push.delay_ms;

    return delay_ms <= JOB_DELAY_MAX_MS && (!expires_ms || expires_ms > job->due_ms);
}

/* May the topic have the job? `lives`: it takes the place of that one; or NULL. */
static enum status judge_quotas(const struct call *c, const struct record *lives)
{
    int64_t jobs_max = c->op->in.push.jobs_max, bytes_max = c->op->in.push.bytes_max;
    int64_t body_bytes = (int64_t)c->op->in.push.body.len;
    int64_t replaced_bytes = lives ? record_counted_bytes(lives) : 0;
    int64_t sum_bytes = c->topic->counted_bytes + body_bytes - replaced_bytes;
    bool grows = body_bytes > (lives ? (int64_t)lives->job.body.len : 0);

    if (!lives && jobs_max && HASH_COUNT(c->topic->records) >= jobs_max)
        return STATUS_TOPIC_FULL;
    if (bytes_max && grows && sum_bytes > bytes_max)
        return STATUS_TOPIC_FULL_BYTES;
    return STATUS_OK;
}

static enum status answer(struct call *c, const struct job *job, bool existed)
{
    c->op->out.push.id = room_copy(c->room, job->id);
    c->op->out.push.due_ms = job->due_ms;
    c->op->out.push.existed = existed;
    return STATUS_OK;
}

/* The number in an id that was made here; with another id the next number, which the job draws
 * when it becomes ready at once. */
static void draw_own_key(struct call *c, struct record *record)
{
    int64_t *n = &c->bucket->n;

    record->own_key = JOB_KEY_MIDDLE + *n + (c->op->id.len > 0);
    if (c->op->id.len && record->job.due_ms > c->now_ms)
        ++*n;
}

enum status memory_run_push(struct call *c)
{
    enum push_mode mode = c->op->in.push.mode;
    struct record *lives = c->op->id.len ? record_find(c->topic, c->op->id) : NULL;
    struct job job = job_of(c);
    struct record *record;
    enum status status;
    char text[24];

    assert(job.ttr_ms <= TTR_MAX_MS);
    if (!is_in_range(c, &job))
        return STATUS_OUT_OF_RANGE;
    if (lives && mode == PUSH_REJECT)
        return STATUS_DUPLICATE;
    if (lives && mode == PUSH_IGNORE)
        return answer(c, &lives->job, true);
    status = judge_quotas(c, lives);
    if (status != STATUS_OK)
        return status;
    if (lives)
        record_delete(c->topic, lives);
    if (!job.id.len)
        job.id = next_id(c, text);
    record = record_new(c->topic, &job);
    if (job.extra.by_id)
        draw_own_key(c, record);
    if (c->op->in.push.bytes_max)
        record_count_bytes(c->topic, record);
    if (c->op->in.push.is_indexed)
        index_add(c->topic, job.id);
    memory_put(c, record, job.due_ms);
    return answer(c, &job, lives != NULL);
}

/* ---- pop ---- */

/* Does the body fit into what is left of an answer? The first always does, where it `is_free`.
 * Then takes the room. */
static bool takes_room(const struct job *job, bool is_free, size_t *left)
{
    size_t bytes = job->body.len > OP_BODY_SMALL_MAX ? job->body.len : 0;

    if (!is_free && bytes > *left)
        return false;
    *left -= bytes < *left ? bytes : *left;
    return true;
}

/* The first ready job that has not expired; expired ones before it die. */
static struct record *first_alive(struct call *c)
{
    struct record *record;

    while ((record = ready_first(c->topic))) {
        int64_t expires_ms = record->job.rules.expires_ms;

        if (!expires_ms || expires_ms > c->now_ms)
            break;
        memory_die(c, ready_take(c->topic), DEATH_EXPIRED);
    }
    return record;
}

/* The record is in no place now. */
static struct job reserve(struct call *c, struct record *record)
{
    enter_reserved(c->topic, record, c->now_ms + OP_UNCONFIRMED_MS);
    if (c->op->in.pop.id_only)
        index_add(c->topic, record->job.id);
    memory_note(c, record);
    return room_copy_job(c->room, &record->job);
}

/* Waiting consumers are told at the pause's end. Tombstones count: with one in the line the
 * next push announces nothing. */
static bool is_paused(struct call *c)
{
    int64_t until_ms = c->topic->settings.paused_until_ms;

    if (until_ms <= c->now_ms)
        return false;
    if (until_ms != SETTINGS_FOREVER && c->topic->places[JOB_READY].count > 0)
        memory_topic_expect(c->topic, until_ms);
    return true;
}

static void pop(struct call *c, size_t *left, bool is_of_scan)
{
    unsigned wanted = c->op->in.pop.count, count = 0;
    struct job *jobs = room_get(c->room, wanted * sizeof(*jobs));
    bool is_held_back = is_paused(c);
    struct record *record;

    assert(wanted >= 1 && wanted <= OP_ITEMS_MAX);
    while (!is_held_back && count < wanted && (record = first_alive(c))) {
        if (!takes_room(&record->job, count == 0 && !is_of_scan, left)) {
            wanted = count;
            break;
        }
        jobs[count++] = reserve(c, ready_take(c->topic));
    }
    c->op->out.pop.has_more = count == wanted && c->topic->places[JOB_READY].count > 0;
    c->op->out.pop.jobs = jobs;
    c->op->out.pop.count = count;
}

enum status memory_run_pop(struct call *c)
{
    size_t left = OP_POP_BYTES_MAX;

    pop(c, &left, false);
    return STATUS_OK;
}

void memory_pop_in_scan(struct call *c, size_t *left)
{
    pop(c, left, true);
}

enum status memory_run_take(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);
    struct job *job = room_get(c->room, sizeof(*job));
    enum job_state state = record ? record->job.state : JOB_DEAD;

    assert(c->op->in.pop.count == 1);
    if (!record || (state != JOB_DEAD && record->job.rules.expires_ms &&
                    record->job.rules.expires_ms <= c->now_ms))
        return STATUS_NOT_FOUND;
    if (state == JOB_RESERVED)
        return STATUS_WRONG_STATE;
    record_leave(c->topic, record);
    if (state == JOB_DEAD)
        memory_revive(record);
    if (state != JOB_READY)
        record->job.due_ms = c->now_ms;
    *job = reserve(c, record);
    c->op->out.pop.jobs = job;
    c->op->out.pop.count = 1;
    return STATUS_OK;
}

/* ---- leases ---- */

#define TOUCH_NO_TTR_MS  5000
#define LAST_JOB_SCAN_MS 5000

/* ---- what the holder of a lease may do ---- */

/* Sets `record` when the lease is valid. */
static enum status check_lease(struct call *c, struct bytes id, int64_t stamp,
                               struct record **record)
{
    struct record *found = record_find(c->topic, id);

    if (!found)
        return STATUS_NOT_FOUND;
    if (found->job.state != JOB_RESERVED)
        return STATUS_NOT_RESERVED;
    if (found->job.stamp != stamp)
        return STATUS_NOT_OWNER;
    *record = found;
    return STATUS_OK;
}

static enum status check_own_lease(struct call *c, struct record **record)
{
    enum status status = check_lease(c, c->op->id, c->op->in.lease.stamp, record);

    if (status != STATUS_OK && c->op->verb != OP_TOUCH)
        memory_drop_note(c, c->op->in.lease.stamp);
    return status;
}

/* The consumer is known to have it: a try, counted once. */
static void note_consumer(struct record *record)
{
    if (!record->is_confirmed) {
        record->job.tries += record->job.tries < JOB_TRIES_MAX;
        memory_count(record, &record->job.extra.reserves);
    }
    record->is_confirmed = true;
}

/* With the last job the scan is called: it may be planned for the deadline only. */
static void call_scan_if_last(struct call *c)
{
    if (!c->topic->records)
        memory_topic_expect(c->topic, c->now_ms + LAST_JOB_SCAN_MS);
}

/* ---- many at once ---- */

/* NULL: the lease is not valid any more; counts it as stale. */
static struct record *leased(struct call *c, const struct lease *lease)
{
    struct record *record = NULL;

    if (check_lease(c, lease->id, lease->stamp, &record) == STATUS_OK)
        return record;
    c->op->out.leases.stale++;
    if (c->op->verb != OP_KEEP)
        memory_drop_note(c, lease->stamp);
    return NULL;
}

/* Without a time to run the delivery ends the job, even if a touch came before it. */
enum status memory_run_delivered(struct call *c)
{
    bool was_touched = false;

    for (unsigned i = 0; i < c->op->in.leases.count; i++) {
        const struct lease *lease = &c->op->in.leases.items[i];
        struct record *record = leased(c, lease);
        int64_t ttr_ms;

        if (!record)
            continue;
        ttr_ms = lease->has_ttr ? lease->ttr_ms : record->job.ttr_ms;
        if (ttr_ms == 0) {
            was_touched |= record->is_confirmed;
            record_delete(c->topic, record);
            memory_drop_note(c, lease->stamp);
        } else if (!record->is_confirmed) {
            note_consumer(record);
            record_set_holder(record, lease->holder);
            move_deadline(c->topic, record, memory_after(c, ttr_ms));
        }
    }
    if (was_touched)
        call_scan_if_last(c);
    return STATUS_OK;
}

enum status memory_run_keep(struct call *c)
{
    for (unsigned i = 0; i < c->op->in.leases.count; i++) {
        struct record *record = leased(c, &c->op->in.leases.items[i]);

        if (record && !record->is_confirmed)
            move_deadline(c->topic, record, c->now_ms + OP_UNCONFIRMED_MS);
    }
    return STATUS_OK;
}

/* Begins with the last lease, so that the first lease ends up first. */
enum status memory_run_return(struct call *c)
{
    for (unsigned i = c->op->in.leases.count; i-- > 0;) {
        struct record *record = leased(c, &c->op->in.leases.items[i]);

        if (!record || record->is_confirmed)
            continue;
        memory_drop_note(c, record->job.stamp);
        record_leave(c->topic, record);
        enter_ready_first(c->topic, record);
    }
    return STATUS_OK;
}

/* ---- one ---- */

enum status memory_run_ack(struct call *c)
{
    struct record *record;
    enum status status = check_own_lease(c, &record);
    bool was_confirmed;

    if (status != STATUS_OK)
        return status;
    was_confirmed = record->is_confirmed;
    record_delete(c->topic, record);
    memory_drop_note(c, c->op->in.lease.stamp);
    if (was_confirmed)
        call_scan_if_last(c);
    return STATUS_OK;
}

/* How long a released job rests until it is ready again. */
static int64_t rest_ms(const struct call *c, const struct job *job)
{
    int64_t delay_ms = c->op->in.lease.delay_ms;

    if (delay_ms >= 0)
        return delay_ms;
    return backoff_rest_ms(&job->rules.backoff, job->tries, job->stamp);
}

/* The consumer gives up its lease. A consumer that is gone may never have had the job. */
static void end_reservation(struct call *c, struct record *record)
{
    if (!c->op->in.lease.is_end)
        note_consumer(record);
    memory_drop_note(c, c->op->in.lease.stamp);
    record_leave(c->topic, record);
    if (c->op->in.lease.has_priority)
        record->job.rules.priority = c->op->in.lease.priority;
    c->op->out.change.tries = record->job.tries;
}

enum status memory_run_release(struct call *c)
{
    struct record *record;
    enum status status = check_own_lease(c, &record);
    bool is_end = c->op->in.lease.is_end, has_had_it;

    if (status != STATUS_OK)
        return status;
    if (c->op->in.lease.delay_ms > JOB_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    has_had_it = record->is_confirmed || !is_end;
    end_reservation(c, record);
    if (!is_end)
        memory_count(record, &record->job.extra.releases);
    if (has_had_it && memory_is_used_up(&record->job)) {
        memory_die(c, record, c->op->out.change.death = DEATH_TRIES);
        return STATUS_OK;
    }
    c->op->out.change.due_ms = memory_after(c, rest_ms(c, &record->job));
    memory_put(c, record, c->op->out.change.due_ms);
    return STATUS_OK;
}

enum status memory_run_touch(struct call *c)
{
    int64_t ttr_ms = c->op->in.lease.ttr_ms;
    struct record *record;
    enum status status = check_own_lease(c, &record);

    if (status != STATUS_OK)
        return status;
    if (ttr_ms == 0)
        ttr_ms = record->job.ttr_ms ? record->job.ttr_ms : TOUCH_NO_TTR_MS;
    note_consumer(record);
    move_deadline(c->topic, record, memory_after(c, ttr_ms));
    c->op->out.change.deadline_ms = record->place_ms;
    return STATUS_OK;
}

enum status memory_run_bury(struct call *c)
{
    struct record *record;
    enum status status = check_own_lease(c, &record);

    if (status != STATUS_OK)
        return status;
    end_reservation(c, record);
    memory_count(record, &record->job.extra.buries);
    memory_die(c, record, c->op->out.change.death = DEATH_BURIED);
    return STATUS_OK;
}

/* ---- jobs ---- */

static bool is_as_seen(const struct job *job, const struct op *op)
{
    return job->due_ms == op->in.cancel.due_ms && job->delay_ms == op->in.cancel.delay_ms &&
           (job->extra.is_there ? job->extra.created_ms : 0) == op->in.cancel.created_ms;
}

enum status memory_run_cancel(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);
    unsigned states = c->op->in.cancel.states;

    if (!record)
        return STATUS_NOT_FOUND;
    if (states && !(states & 1u << record->job.state))
        return STATUS_WRONG_STATE;
    if (c->op->in.cancel.is_as_seen && !is_as_seen(&record->job, c->op))
        return STATUS_WRONG_STATE;
    record_delete(c->topic, record);
    memory_topic_release(c->topic);
    return STATUS_OK;
}

static bool is_ready_and_stays_so(const struct call *c, const struct record *record,
                                  int64_t due_ms)
{
    return record->job.state == JOB_READY && due_ms <= c->now_ms;
}

/* ---- what anybody may do ---- */

/* Moves the record from its place to another, or to the same anew. */
static void move(struct call *c, struct record *record, int64_t due_ms)
{
    record_leave(c->topic, record);
    if (due_ms <= c->now_ms &&
        (record->job.state == JOB_DEAD || record->job.state == JOB_DELAYED))
        memory_count(record, &record->job.extra.kicks);
    if (record->job.state == JOB_DEAD)
        memory_revive(record);
    memory_put(c, record, due_ms);
}

enum status memory_run_move(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);
    int64_t at_ms = c->op->in.move.at_ms;
    int64_t delay_ms = at_ms ? at_ms - c->now_ms : c->op->in.move.delay_ms;
    int64_t due_ms = at_ms ? at_ms : memory_after(c, delay_ms);

    if (!record)
        return STATUS_NOT_FOUND;
    if (!(c->op->in.move.states & 1u << record->job.state))
        return STATUS_WRONG_STATE;
    if (delay_ms > JOB_DELAY_MAX_MS)
        return STATUS_OUT_OF_RANGE;
    c->op->out.change.stays = is_ready_and_stays_so(c, record, due_ms);
    if (!c->op->out.change.stays)
        move(c, record, due_ms);
    c->op->out.change.due_ms = record->job.due_ms;
    return STATUS_OK;
}

enum status memory_run_get(struct call *c)
{
    struct record *record = record_find(c->topic, c->op->id);

    if (!record)
        return STATUS_NOT_FOUND;
    c->op->out.row = memory_row(c, record);
    c->op->out.row.job.body = room_copy(c->room, record->job.body);
    return STATUS_OK;
}

enum status memory_run_owner(struct call *c)
{
    struct topic *topic = c->topic ? c->topic : index_find(c->bucket, c->op->id);
    struct record *record = c->topic ? record_find(c->topic, c->op->id) : NULL;

    if (!topic || (c->topic && !record))
        return STATUS_NOT_FOUND;
    c->op->out.owner.topic = room_copy(c->room, topic->name);
    if (record && record->job.state == JOB_RESERVED)
        c->op->out.owner.stamp = record->job.stamp;
    return STATUS_OK;
}
