#include "ha/zk_probe.h"

#define PATIENCE_MS 10000 /* for the good-bye, which nobody waits for */

static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk_probe *p = context;

    if (type != ZOO_SESSION_EVENT || !p->pump.handle)
        return;
    if (state != ZOO_CONNECTED_STATE)
        p->served_mono_ms = 0;
    else if (!p->served_mono_ms)
        p->served_mono_ms = timers_now(&p->pump.loop->timers);
}

bool zk_probe_tick(struct zk_probe *p, const char *servers, int64_t session_ms)
{
    struct zk_target target = {
        .servers = servers, .session_ms = session_ms, .on_watch = on_watch, .context = p};

    /* One that is over itself, because the servers went once more, begins anew. */
    if (p->pump.handle && is_unrecoverable(p->pump.handle))
        zk_probe_stop(p);
    if (!p->pump.handle && *servers && zk_pump_start(&p->pump, &target) != STATUS_OK)
        return false;
    return p->served_mono_ms &&
           timers_now(&p->pump.loop->timers) >= p->served_mono_ms + 2 * session_ms;
}

void zk_probe_stop(struct zk_probe *p)
{
    p->served_mono_ms = 0;
    zk_pump_stop(&p->pump, PATIENCE_MS);
}

void zk_probe_fini(struct zk_probe *p)
{
    zk_pump_fini(&p->pump);
}

void zk_probe_init(struct zk_probe *p, struct loop *loop)
{
    p->served_mono_ms = 0;
    zk_pump_init(&p->pump, loop, NULL);
}
