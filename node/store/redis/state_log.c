#include "node/store/redis/state_log.h"

#include "base/list.h"

#define LASTS_MS 200

static void say(struct redis_state_log *l)
{
    static const char *const words[] = {
        [REDIS_STORE_DOWN] = "down",
        [REDIS_STORE_UNHEARD] = "up, but hears no wake-ups",
        [REDIS_STORE_UP] = "up",
    };

    if (l->state == l->said)
        return;
    l->said = l->state;
    LOG_AT(l->level, "redis", "%s is %s", l->where, words[l->state]);
}

static void on_timer(struct timer *timer)
{
    say(CONTAINER_OF(timer, struct redis_state_log, timer));
}

void redis_state_log_init(struct redis_state_log *l, struct timers *timers, const char *where)
{
    *l = (struct redis_state_log){
        .timers = timers, .where = where, .state = REDIS_STORE_DOWN, .said = REDIS_STORE_DOWN};
    timer_init(&l->timer, on_timer);
}

void redis_state_log_fini(struct redis_state_log *l)
{
    timer_disarm(l->timers, &l->timer);
}

void redis_state_log_turned(struct redis_state_log *l, enum redis_store_state state,
                            enum log_level level)
{
    l->state = state;
    l->level = level;
    timer_disarm(l->timers, &l->timer);
    if (state == REDIS_STORE_UNHEARD)
        timer_arm(l->timers, &l->timer, LASTS_MS);
    else
        say(l);
}
