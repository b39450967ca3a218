#include "node/lead_alone.h"

#include "base/list.h"
#include "base/log.h"
#include "ha/ha.h"
#include "node/queue/queue.h"

#define SAY_MS 60000

static void on_fenced(void *arg, struct bytes seen)
{
    struct lead_alone *l = arg;
    int64_t now = timers_now(l->timers);

    if (!l->is_fenced || now >= l->say_at_mono_ms) {
        LOG_ERROR(
            "ha",
            "a cluster's leader moves the jobs of this Redis: a standalone node does not. Set "
            "ha.mode: standby or cluster and its ha.zookeeper, or give this node another "
            "store.redis or store.prefix. Where that cluster is gone for good: dueqctl fence "
            "adopt");
        l->say_at_mono_ms = now + SAY_MS;
    }
    l->is_fenced = l->is_fenced_again = true;
    l->fenced_count++;
    timer_arm(l->timers, &l->again, HA_FENCED_AGAIN_MS);
}

static void on_again(struct timer *timer)
{
    struct lead_alone *l = CONTAINER_OF(timer, struct lead_alone, again);

    if (!l->is_fenced_again && queue_has_led(l->queue)) {
        l->is_fenced = false;
        LOG_INFO("ha",
                 "no cluster's leader moves the jobs of this Redis any more: this node does");
        return;
    }
    if (l->is_fenced_again) /* else nobody has answered: Redis is away */
        lead_alone_start(l);
    l->is_fenced_again = false;
    timer_arm(l->timers, timer, HA_FENCED_AGAIN_MS);
}

void lead_alone_init(struct lead_alone *l, struct queue *queue, struct timers *timers)
{
    *l = (struct lead_alone){.queue = queue, .timers = timers};
    timer_init(&l->again, on_again);
}

void lead_alone_start(struct lead_alone *l)
{
    struct queue_leader leader = {.token = BYTES(""), .on_fenced = on_fenced, .arg = l};

    queue_lead(l->queue, &leader);
}

void lead_alone_stop(struct lead_alone *l)
{
    timer_disarm(l->timers, &l->again);
}
