#include "protocol/beanstalkd/held.h"

#include <stdlib.h>

#include "base/status.h"

void held_init(struct held_all *all, struct queue *queue, struct timers *timers)
{
    all->queue = queue;
    all->timers = timers;
    list_init(&all->ending);
    for (unsigned i = 0; i < HELD_SLOTS; i++)
        list_init(&all->slots[i]);
}

void holder_init(struct holder *holder, struct held_all *all,
                 void (*on_soon)(struct holder *holder))
{
    *holder = (struct holder){.all = all, .on_soon = on_soon};
    list_init(&holder->list);
}

/* ---- given back ---- */

static void forget(struct held *held)
{
    timer_disarm(held->all->timers, &held->timer);
    list_remove(&held->link);
    list_remove(&held->slot);
    free(held);
}

void held_fini(struct held_all *all)
{
    struct list *link;

    while ((link = list_first(&all->ending)))
        forget(CONTAINER_OF(link, struct held, link));
}

/* Until then the store may have it reserved. */
static bool is_past(const struct held *held)
{
    return timers_now(held->all->timers) >= held->end_mono_ms + HELD_OVER_MS;
}

static void on_released(struct op *op)
{
    struct held *held = CONTAINER_OF(op, struct held, op);
    bool is_told = op->status == STATUS_OK || op->status == STATUS_NOT_FOUND ||
                   op->status == STATUS_NOT_RESERVED || op->status == STATUS_NOT_OWNER;

    if (is_told || op->status == STATUS_SHUTTING_DOWN || is_past(held))
        forget(held);
    else
        timer_arm(held->all->timers, &held->timer, HELD_RETRY_MS);
}

static void release(struct held *held)
{
    held->op = (struct op){
        .verb = OP_RELEASE,
        .on_done = on_released,
        .topic = held->topic,
        .id = held->id,
        .client = held->client,
        .in.lease = {.stamp = held->stamp, .is_nodes = true, .is_end = true, .is_owned = true},
    };
    queue_submit(held->all->queue, &held->op);
}

static void leave_stage(struct held *held)
{
    if (held->stage == HELD_SOON)
        held->holder->soon--;
}

static void give_back(struct held *held)
{
    leave_stage(held);
    timer_disarm(held->all->timers, &held->timer);
    list_remove(&held->link);
    list_remove(&held->slot);
    list_append(&held->all->ending, &held->link);
    held->holder = NULL;
    release(held);
}

/* A job without a time to run has no reservation to give back. */
static void let_go(struct held *held)
{
    if (held->ttr_ms == 0)
        held_drop(held);
    else
        give_back(held);
}

void holder_end(struct holder *holder)
{
    LIST_EACH_SAFE (link, &holder->list) {
        struct held *held = CONTAINER_OF(link, struct held, link);

        if (!held->is_busy)
            let_go(held);
    }
}

/* ---- their time ---- */

static void enter(struct held *held, enum held_stage stage, int64_t ms)
{
    leave_stage(held);
    held->stage = stage;
    held->holder->soon += stage == HELD_SOON;
    timer_arm(held->all->timers, &held->timer, ms);
}

static void go_on(struct held *held)
{
    switch (held->stage) {
    case HELD_FRESH:
        enter(held, HELD_SOON, held->end_mono_ms - timers_now(held->all->timers));
        held->holder->on_soon(held->holder);
        break;
    case HELD_SOON:
        enter(held, HELD_OVER, HELD_OVER_MS);
        break;
    case HELD_OVER:
        if (held->is_busy)
            enter(held, HELD_OVER, HELD_OVER_MS);
        else
            let_go(held);
    }
}

static void on_time(struct timer *timer)
{
    struct held *held = CONTAINER_OF(timer, struct held, timer);

    if (held->holder)
        go_on(held);
    else
        release(held);
}

void held_renew(struct held *held, int64_t left_ms)
{
    held->end_mono_ms = timers_now(held->all->timers) + left_ms;
    if (left_ms > HELD_SOON_MS)
        enter(held, HELD_FRESH, left_ms - HELD_SOON_MS);
    else
        enter(held, HELD_SOON, left_ms);
}

/* ---- a connection's ---- */

/* The numbers of a tube are all of one bucket: their last bits are the same. */
static struct list *slot_of(struct held_all *all, uint64_t number)
{
    uint64_t mixed = number * UINT64_C(0x9e3779b97f4a7c15);

    return &all->slots[(mixed >> 32) % HELD_SLOTS];
}

static struct held *make(struct holder *holder, struct bytes topic, struct bytes id,
                         struct bytes client)
{
    struct held *held = must(calloc(1, sizeof(*held) + topic.len + id.len + client.len));
    char *room = held->text;

    held->all = holder->all;
    held->holder = holder;
    held->topic = text_put(&room, topic);
    held->id = text_put(&room, id);
    held->client = text_put(&room, client);
    timer_init(&held->timer, on_time);
    list_append(&holder->list, &held->link);
    return held;
}

void held_add(struct holder *holder, uint64_t number, struct bytes topic, const struct job *job,
              struct bytes client)
{
    struct held *held = make(holder, topic, job->id, client);

    held->number = number;
    held->stamp = job->stamp;
    held->ttr_ms = job->ttr_ms;
    held->reserves = (job->extra.is_there ? job->extra.reserves : job->tries) + 1;
    list_prepend(slot_of(holder->all, number), &held->slot); /* the newest counts */
    if (job->ttr_ms)
        held_renew(held, job->ttr_ms);
    else
        enter(held, HELD_OVER, HELD_DONE_MS);
}

struct held *held_of_any(struct held_all *all, uint64_t number)
{
    LIST_EACH (link, slot_of(all, number)) {
        struct held *held = CONTAINER_OF(link, struct held, slot);

        if (held->number == number)
            return held;
    }
    return NULL;
}

struct held *held_find(struct holder *holder, uint64_t number)
{
    LIST_EACH (link, slot_of(holder->all, number)) {
        struct held *held = CONTAINER_OF(link, struct held, slot);

        if (held->holder == holder && held->number == number)
            return held;
    }
    return NULL;
}

void held_drop(struct held *held)
{
    leave_stage(held);
    forget(held);
}
