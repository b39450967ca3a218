#include "node/warden_told.h"

#include <inttypes.h>
#include <stdio.h>

static const char *status_of(const struct told_facts *f)
{
    if (f->is_stopping)
        return "stopping";
    if (f->waits_for_redis)
        return "waiting for the embedded Redis";
    if (f->worker == CHILD_BACKOFF || f->worker == CHILD_KILLED)
        return "the worker has ended: a new one is about to start";
    if (f->worker != CHILD_UP)
        return "starting";
    if (!f->is_store_up)
        return "Redis, or ZooKeeper, has not been reached yet: requests wait; `dueqctl status` "
               "says more";
    return "serving";
}

static bool is_ready(struct told *t, const struct told_facts *f, int64_t now_mono_ms)
{
    bool works = !f->is_stopping && f->worker == CHILD_UP;

    if (!works)
        t->works_mono_ms = -1;
    else if (t->works_mono_ms < 0)
        t->works_mono_ms = now_mono_ms;
    return works && (f->is_store_up || now_mono_ms - t->works_mono_ms >= TOLD_PATIENCE_MS);
}

static int64_t patience_left_ms(const struct told *t, int64_t now_mono_ms)
{
    if (t->is_ready || t->works_mono_ms < 0)
        return -1;
    return t->works_mono_ms + TOLD_PATIENCE_MS - now_mono_ms;
}

static void say(struct told *t, bool becomes_ready, bool begins_to_stop, const char *status)
{
    char text[256];

    if (!becomes_ready && !begins_to_stop && status == t->status)
        return;
    snprintf(text, sizeof(text), "%s%sSTATUS=%s", becomes_ready ? "READY=1\n" : "",
             begins_to_stop ? "STOPPING=1\n" : "", status);
    notify_send(&t->notify, text);
    t->is_ready |= becomes_ready;
    t->is_stopping |= begins_to_stop;
    t->status = status;
}

static bool is_well(const struct told_facts *f)
{
    return f->worker != CHILD_KILLED && f->redis != CHILD_KILLED;
}

int64_t told_tick(struct told *t, const struct told_facts *now, int64_t now_mono_ms)
{
    bool ready = is_ready(t, now, now_mono_ms);
    int64_t notify_ms, left_ms;

    say(t, ready && !t->is_ready, now->is_stopping && !t->is_stopping, status_of(now));
    notify_ms = notify_tick(&t->notify, is_well(now), now_mono_ms);
    left_ms = patience_left_ms(t, now_mono_ms);
    if (left_ms < 0 || (notify_ms >= 0 && notify_ms < left_ms))
        return notify_ms;
    return left_ms;
}

void told_reloading(struct told *t, int64_t now_mono_us)
{
    char text[64];

    if (!t->is_ready)
        return; /* it says READY=1 when it is */
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, now_mono_us);
    notify_send(&t->notify, text);
}

void told_reloaded(struct told *t)
{
    if (t->is_ready)
        notify_send(&t->notify, "READY=1");
}

void told_init(struct told *t)
{
    *t = (struct told){.works_mono_ms = -1};
    notify_init(&t->notify);
}

void told_fini(struct told *t)
{
    notify_fini(&t->notify);
}
