#include "base/later.h"

#include <assert.h>

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
