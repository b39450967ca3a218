/* Ending a session without a loop of one's own: a loop that lives as long as that takes. */
#include "base/list.h"
#include "base/resolve.h"
#include "ha/coord/zk_closer.h"
#include "ha/coord/zk_client.h"

struct run {
    struct loop *loop;
    struct resolve resolve;
    struct zk_closer closer;
    struct timer deadline;
    const struct coord_credentials *whose;
    int64_t until_mono_ms;
    bool is_ended;
};

static void on_idle(struct zk_closer *c, bool is_ended)
{
    struct run *run = CONTAINER_OF(c, struct run, closer);

    run->is_ended = is_ended;
    loop_stop(run->loop);
}

static void on_resolved(struct resolve *r)
{
    struct run *run = CONTAINER_OF(r, struct run, resolve);

    if (r->servers.len && !run->closer.count)
        zk_closer_start(&run->closer, buf_text(&r->servers), run->whose,
                        run->until_mono_ms - timers_now(&run->loop->timers));
}

static void on_deadline(struct timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct run, deadline)->loop);
}

int zk_end_session_run(const char *servers, const struct coord_credentials *whose,
                       int64_t deadline_ms)
{
    struct run run = {.loop = loop_new(), .whose = whose};

    run.until_mono_ms = timers_now(&run.loop->timers) + deadline_ms;
    resolve_init(&run.resolve, run.loop, on_resolved);
    zk_closer_init(&run.closer, run.loop, on_idle);
    timer_init(&run.deadline, on_deadline);
    timer_arm(&run.loop->timers, &run.deadline, deadline_ms);
    resolve_start(&run.resolve, servers);
    loop_run(run.loop);
    zk_closer_fini(&run.closer);
    resolve_fini(&run.resolve);
    loop_free(run.loop);
    return run.is_ended ? 0 : 1;
}
