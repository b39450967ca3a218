#include "base/timer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bytes.h"

void timers_init(struct timers *ts, int64_t now_mono_ms)
{
    *ts = (struct timers){.now_mono_ms = now_mono_ms};
}

void timers_fini(struct timers *ts)
{
    free(ts->heap);
    *ts = (struct timers){0};
}

void timer_init(struct timer *t, void (*on_fire)(struct timer *))
{
    *t = (struct timer){.on_fire = on_fire};
}

static bool is_before(const struct timer *a, const struct timer *b)
{
    if (a->due_mono_ms != b->due_mono_ms)
        return a->due_mono_ms < b->due_mono_ms;
    return a->order < b->order;
}

static void put(struct timers *ts, size_t place, struct timer *t)
{
    ts->heap[place] = t;
    t->place = place;
}

static void sift_up(struct timers *ts, struct timer *t)
{
    size_t place = t->place;

    for (; place > 1 && is_before(t, ts->heap[place / 2]); place /= 2)
        put(ts, place, ts->heap[place / 2]);
    put(ts, place, t);
}

static void sift_down(struct timers *ts, struct timer *t)
{
    size_t place = t->place;

    for (;;) {
        size_t child = place * 2;

        if (child < ts->count && is_before(ts->heap[child + 1], ts->heap[child]))
            child++;
        if (child > ts->count || !is_before(ts->heap[child], t))
            break;
        put(ts, place, ts->heap[child]);
        place = child;
    }
    put(ts, place, t);
}

static void make_room(struct timers *ts)
{
    if (ts->count + 1 < ts->room)
        return;
    ts->room = ts->room ? ts->room * 2 : 64;
    ts->heap = must(realloc(ts->heap, ts->room * sizeof(*ts->heap)));
}

void timer_arm(struct timers *ts, struct timer *t, int64_t delay_ms)
{
    assert(t->on_fire);
    timer_disarm(ts, t);
    t->due_mono_ms = ts->now_mono_ms + (delay_ms > 0 ? delay_ms : 0);
    t->order = ts->next_order++;
    make_room(ts);
    put(ts, ++ts->count, t);
    sift_up(ts, t);
    if (t->place == 1 && ts->on_sooner)
        ts->on_sooner(ts);
}

void timer_disarm(struct timers *ts, struct timer *t)
{
    struct timer *last;

    if (!t->place)
        return;
    last = ts->heap[ts->count--];
    if (last != t) {
        put(ts, t->place, last);
        sift_up(ts, last);
        sift_down(ts, last);
    }
    t->place = 0;
}

bool timer_is_armed(const struct timer *t)
{
    return t->place != 0;
}

int64_t timers_now(const struct timers *ts)
{
    return ts->now_mono_ms;
}

int64_t timers_run(struct timers *ts, int64_t now_mono_ms)
{
    uint64_t newer = ts->next_order;

    if (now_mono_ms > ts->now_mono_ms)
        ts->now_mono_ms = now_mono_ms;
    while (ts->count) {
        struct timer *t = ts->heap[1];

        if (t->due_mono_ms > ts->now_mono_ms || t->order >= newer)
            break;
        timer_disarm(ts, t);
        t->on_fire(t);
    }
    if (!ts->count)
        return -1;
    if (ts->heap[1]->due_mono_ms <= ts->now_mono_ms)
        return 0;
    return ts->heap[1]->due_mono_ms - ts->now_mono_ms;
}

/* ---- calls that have ended ---- */

static void on_turn(struct timer *timer)
{
    struct later *l = CONTAINER_OF(timer, struct later, timer);
    struct list *link;

    list_append_all(&l->telling, &l->ended);
    while ((link = list_pop(&l->telling)))
        l->tell(l, link);
}

void later_add(struct later *l, struct list *link)
{
    list_append(&l->ended, link);
    if (!timer_is_armed(&l->timer))
        timer_arm(l->timers, &l->timer, 0);
}

bool later_is_idle(const struct later *l)
{
    return list_is_empty(&l->ended) && list_is_empty(&l->telling);
}

void later_init(struct later *l, struct timers *timers,
                void (*tell)(struct later *later, struct list *link))
{
    *l = (struct later){.timers = timers, .tell = tell};
    timer_init(&l->timer, on_turn);
    list_init(&l->ended);
    list_init(&l->telling);
}

void later_fini(struct later *l)
{
    assert(later_is_idle(l));
    timer_disarm(l->timers, &l->timer);
}
