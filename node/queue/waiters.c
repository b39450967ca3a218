#include "node/queue/queue_private.h"

#include <assert.h>

#include "base/log.h"

#define RETRY_MS 1000

struct topic {
    UT_hash_handle hh;
    struct waiters *waiters;
    struct list free;    /* seats of consumers nobody pops for (here) */
    struct list claimed; /* seats the pop in flight is for, first come first */
    unsigned in_a_hurry; /* seats of consumers that do not wait */
    bool is_dirty;
    bool is_popping;
    struct op op; /* the pop in flight */
    struct bytes name;
    char text[];
};

struct seat {
    struct list link; /* in the topic's free or claimed */
    struct topic *topic;
    struct pop *pop;
    struct bytes name; /* the topic's, as the consumer gave it */
    bool was_tried;    /* a pop that was made for it brought it nothing */
};

static void serve(struct topic *t);

/* ---- topics ---- */

static struct topic *find_topic(struct waiters *w, struct bytes name)
{
    struct topic *t;

    HASH_FIND(hh, w->topics, name.at, name.len, t);
    return t;
}

static struct topic *get_topic(struct waiters *w, struct bytes name)
{
    struct topic *t = find_topic(w, name);

    if (t)
        return t;
    t = calloc(1, sizeof(*t) + name.len);
    if (!t)
        abort();
    t->waiters = w;
    list_init(&t->free);
    list_init(&t->claimed);
    memcpy(t->text, name.at, name.len);
    t->name = bytes_of(t->text, name.len);
    HASH_ADD_KEYPTR(hh, w->topics, t->name.at, t->name.len, t);
    return t;
}

static void free_topic_if_unused(struct topic *t)
{
    if (t->is_popping || !list_is_empty(&t->free) || !list_is_empty(&t->claimed))
        return;
    HASH_DEL(t->waiters->topics, t);
    free(t);
}

/* ---- consumers leave their seats ---- */

static void stand_up(struct pop *pop)
{
    for (unsigned i = 0; i < pop->seat_count; i++) {
        struct topic *t = pop->seats[i].topic;

        list_remove(&pop->seats[i].link);
        t->in_a_hurry -= pop->wait_ms == 0;
        free_topic_if_unused(t);
    }
    free(pop->seats);
    pop->seats = NULL;
    list_remove(&pop->link);
    timer_disarm(pop->queue->timers, &pop->timer);
}

static void call_back(struct waiters *w, struct pop *pop, enum status status)
{
    pop->status = status;
    w->count--;
    w->queue->stats.waiting--;
    pop->on_done(pop);
}

static void end_later(struct waiters *w, struct pop *pop, enum status status)
{
    pop->status = status;
    list_append(&w->over, &pop->link);
    timer_arm(w->queue->timers, &w->over_timer, 0);
}

static void on_over(struct timer *timer)
{
    struct waiters *w = CONTAINER_OF(timer, struct waiters, over_timer);
    struct queue *q = w->queue;
    struct list now, *link;

    list_init(&now);
    list_append_all(&now, &w->over);
    while ((link = list_pop(&now))) {
        struct pop *pop = CONTAINER_OF(link, struct pop, link);

        call_back(w, pop, pop->status);
    }
    queue_check_stopped(q);
}

/* Nobody pops for it now: is it to wait any longer? */
static bool is_finished(const struct pop *pop)
{
    if (pop->is_patient)
        return false;
    for (unsigned i = 0; i < pop->seat_count; i++) {
        if (!pop->seats[i].was_tried && pop->wait_ms == 0)
            return false;
    }
    return true;
}

static void finish_empty(struct waiters *w, struct pop *pop)
{
    stand_up(pop);
    end_later(w, pop, pop->trouble != STATUS_OK ? pop->trouble : STATUS_NOT_FOUND);
}

static void on_time_over(struct timer *timer)
{
    struct pop *pop = CONTAINER_OF(timer, struct pop, timer);

    pop->is_patient = false;
    if (!pop->is_claimed) /* else the answer of the pop in flight decides */
        finish_empty(&pop->queue->waiters, pop);
}

/* ---- popping ---- */

/* A topic that the consumer prefers may have something for it: not before that is known.
 * One that does not wait asks each topic once. */
static bool has_better_topic(const struct seat *seat)
{
    for (const struct seat *better = seat->pop->seats; better < seat; better++) {
        if (better->topic->is_dirty && (seat->pop->wait_ms > 0 || !better->was_tried))
            return true;
    }
    return false;
}

static bool can_claim(const struct seat *seat, const struct op *op, unsigned wanted)
{
    if (seat->pop->is_claimed || has_better_topic(seat))
        return false;
    return wanted == 0 || (seat->pop->id_only == op->in.pop.id_only &&
                           wanted + seat->pop->count <= OP_ITEMS_MAX);
}

/* Moves the seats to pop for to `claimed`; returns how many jobs they want together. */
static unsigned claim(struct topic *t)
{
    unsigned wanted = 0;

    LIST_EACH_SAFE (link, &t->free) {
        struct seat *seat = CONTAINER_OF(link, struct seat, link);

        if (!can_claim(seat, &t->op, wanted))
            continue;
        t->op.in.pop.id_only = seat->pop->id_only;
        wanted += seat->pop->count;
        seat->pop->is_claimed = true;
        list_remove(&seat->link);
        list_append(&t->claimed, &seat->link);
        if (wanted == OP_ITEMS_MAX)
            break;
    }
    return wanted;
}

static void give(struct topic *t, struct seat *seat, const struct job *jobs, unsigned count)
{
    struct queue *q = t->waiters->queue;
    struct pop *pop = seat->pop;

    pop->topic = seat->name;
    pop->jobs = jobs;
    pop->job_count = count;
    pop->delivery = delivery_new(&q->deliveries, pop->topic, t->op.bucket, jobs, count,
                                 t->op.now_ms, pop->since_mono_ms);
    if (pop->id_only)
        owners_add(&q->owners, pop->holder, pop->topic, jobs, count);
    stand_up(pop);
    call_back(t->waiters, pop, STATUS_OK);
}

/* Hands the jobs out in the order in which the consumers came. Each on_done may add and
 * cancel consumers; the topic itself stays, since it is still popping. Returns how many
 * jobs found a taker. */
static unsigned give_all(struct topic *t)
{
    const struct job *jobs = t->op.out.pop.jobs;
    unsigned count = t->op.out.pop.count, given = 0;
    struct list *link;

    while (given < count && (link = list_first(&t->claimed))) {
        struct seat *seat = CONTAINER_OF(link, struct seat, link);
        unsigned share = seat->pop->count < count - given ? seat->pop->count : count - given;

        given += share;
        give(t, seat, jobs + given - share, share);
    }
    return given;
}

static void return_rest(struct topic *t, unsigned given)
{
    struct deliveries *ds = &t->waiters->queue->deliveries;
    const struct op *op = &t->op;

    if (given == op->out.pop.count)
        return;
    deliveries_return(ds, delivery_new(ds, t->name, op->bucket, op->out.pop.jobs + given,
                                       op->out.pop.count - given, op->now_ms, INT64_MAX));
}

/* Back to their old places in the line; returns how many. */
static unsigned unclaim_all(struct topic *t, enum status status)
{
    unsigned count = 0;

    for (; !list_is_empty(&t->claimed); count++) {
        struct seat *seat = CONTAINER_OF(t->claimed.prev, struct seat, link);

        seat->was_tried = true;
        seat->pop->is_claimed = false;
        seat->pop->trouble = status;
        list_remove(&seat->link);
        list_prepend(&t->free, &seat->link);
    }
    return count;
}

static void serve_seats(struct pop *pop)
{
    for (unsigned i = 0; i < pop->seat_count; i++)
        serve(pop->seats[i].topic);
}

/* The first `count` consumers in the line got nothing: their other topics' turn, or home. */
static void move_on(struct topic *t, unsigned count)
{
    struct list *link = t->free.next;

    for (; count > 0; count--) {
        struct pop *pop = CONTAINER_OF(link, struct seat, link)->pop;

        link = link->next;
        if (is_finished(pop)) {
            finish_empty(t->waiters, pop);
            continue;
        }
        serve_seats(pop);
    }
}

/* The topic is known to be empty. Consumers that do not wait, and were busy elsewhere when
 * it was asked, need not ask again. */
static void dismiss_the_hurried(struct topic *t)
{
    LIST_EACH_SAFE (link, &t->free) {
        struct seat *seat = CONTAINER_OF(link, struct seat, link);

        if (seat->pop->wait_ms > 0)
            continue;
        seat->was_tried = true;
        if (!seat->pop->is_claimed && is_finished(seat->pop))
            finish_empty(t->waiters, seat->pop);
    }
}

static void note_failure(struct topic *t)
{
    struct waiters *w = t->waiters;

    LOG_DEBUG("waiters", "pop from %.*s: %s", BYTES_ARG(t->name), status_text(t->op.status));
    t->is_dirty = true;
    if (!timer_is_armed(&w->retry_timer))
        timer_arm(w->queue->timers, &w->retry_timer, RETRY_MS);
}

static void on_popped(struct op *op)
{
    struct topic *t = CONTAINER_OF(op, struct topic, op);
    bool is_ok = op->status == STATUS_OK;

    if (is_ok) {
        if (op->out.pop.count >= op->in.pop.count)
            t->is_dirty = true;
        return_rest(t, give_all(t));
    } else {
        note_failure(t);
    }
    move_on(t, unclaim_all(t, op->status));
    if (!t->is_dirty && t->in_a_hurry)
        dismiss_the_hurried(t);
    t->is_popping = false;
    if (is_ok)
        serve(t);
    free_topic_if_unused(t);
}

/* The rule at the top of waiters.h. */
static void serve(struct topic *t)
{
    unsigned wanted;

    if (!t->is_dirty || t->is_popping)
        return;
    wanted = claim(t);
    if (!wanted)
        return;
    t->is_dirty = false;
    t->is_popping = true;
    t->op.verb = OP_POP;
    t->op.topic = t->name;
    t->op.bucket = queue_bucket_of(t->waiters->queue, t->name);
    t->op.in.pop.count = wanted;
    t->op.on_done = on_popped;
    queue_send(t->waiters->queue, &t->op);
}

/* ---- what the queue calls ---- */

static bool has_seat_at(const struct pop *pop, const struct topic *t)
{
    for (unsigned i = 0; i < pop->seat_count; i++) {
        if (pop->seats[i].topic == t)
            return true;
    }
    return false;
}

static void sit_down(struct waiters *w, struct pop *pop)
{
    pop->seats = calloc(pop->topic_count, sizeof(*pop->seats));
    if (!pop->seats)
        abort();
    pop->seat_count = 0;
    for (unsigned i = 0; i < pop->topic_count; i++) {
        struct topic *t = get_topic(w, pop->topics[i]);
        struct seat *seat = &pop->seats[pop->seat_count];

        if (has_seat_at(pop, t)) /* it named the topic twice */
            continue;
        *seat = (struct seat){.topic = t, .pop = pop, .name = pop->topics[i]};
        t->is_dirty = true;
        t->in_a_hurry += pop->wait_ms == 0;
        list_append(&t->free, &seat->link);
        pop->seat_count++;
    }
}

static void take_in(struct waiters *w, struct pop *pop)
{
    pop->queue = w->queue;
    pop->seats = NULL;
    pop->is_claimed = false;
    pop->is_patient = false;
    pop->trouble = STATUS_OK;
    pop->since_mono_ms = timers_now(w->queue->timers);
    timer_init(&pop->timer, on_time_over);
    w->count++;
    w->queue->stats.waiting++;
}

void waiters_add(struct waiters *w, struct pop *pop)
{
    take_in(w, pop);
    list_append(&w->seated, &pop->link);
    sit_down(w, pop);
    if (pop->wait_ms > 0) {
        pop->is_patient = true;
        timer_arm(w->queue->timers, &pop->timer, pop->wait_ms);
    }
    serve_seats(pop);
}

void waiters_refuse(struct waiters *w, struct pop *pop, enum status status)
{
    take_in(w, pop);
    end_later(w, pop, status);
}

void waiters_cancel(struct waiters *w, struct pop *pop)
{
    if (pop->seats) {
        stand_up(pop);
        end_later(w, pop, STATUS_CANCELLED);
    } else { /* on its way out already */
        pop->status = STATUS_CANCELLED;
    }
}

void waiters_cancel_all(struct waiters *w)
{
    struct list *link;

    while ((link = list_first(&w->seated)))
        waiters_cancel(w, CONTAINER_OF(link, struct pop, link));
}

void waiters_wake(struct waiters *w, struct bytes topic)
{
    struct topic *t = find_topic(w, topic);

    if (!t)
        return;
    t->is_dirty = true;
    serve(t);
}

void waiters_wake_all(struct waiters *w)
{
    struct topic *t, *next;

    HASH_ITER (hh, w->topics, t, next)
        t->is_dirty = true;
    HASH_ITER (hh, w->topics, t, next)
        serve(t);
}

static void on_retry(struct timer *timer)
{
    struct waiters *w = CONTAINER_OF(timer, struct waiters, retry_timer);
    struct topic *t, *next;

    HASH_ITER (hh, w->topics, t, next)
        serve(t);
}

void waiters_init(struct waiters *w, struct queue *q)
{
    *w = (struct waiters){.queue = q};
    list_init(&w->seated);
    list_init(&w->over);
    timer_init(&w->over_timer, on_over);
    timer_init(&w->retry_timer, on_retry);
}

void waiters_fini(struct waiters *w)
{
    assert(!w->topics && list_is_empty(&w->over));
    timer_disarm(w->queue->timers, &w->over_timer);
    timer_disarm(w->queue->timers, &w->retry_timer);
}
