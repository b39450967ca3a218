#include "ha/coord/zk_closer.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/resolve.h"

#define AGAIN_MS 50

static void next(struct zk_closer *c);

static void take_next(struct zk_closer *c, bool is_ended)
{
    unsigned long long session = (unsigned long long)c->line[0].session;

    if (is_ended)
        LOG_INFO("zookeeper", "the session 0x%llx of a process that has ended is over",
                 session);
    else
        LOG_WARN("zookeeper",
                 "the session 0x%llx of a process that has ended is left to expire: %s",
                 session, *c->io.why ? c->io.why : "no server has answered in time");
    c->count--;
    memmove(c->line, c->line + 1, c->count * sizeof(c->line[0]));
    explicit_bzero(&c->line[c->count], sizeof(c->line[0]));
    if (c->count)
        next(c);
    else if (c->on_idle)
        c->on_idle(c, is_ended);
}

static int64_t left_ms(const struct zk_closer *c)
{
    return c->until_mono_ms - timers_now(&c->io.loop->timers);
}

/* A server that hung up without an answer leaves the end unknown: another server is tried. */
static void ended(struct zk_closer *c, bool is_ended)
{
    if (!is_ended && left_ms(c) > AGAIN_MS)
        timer_arm(&c->io.loop->timers, &c->again, AGAIN_MS);
    else
        take_next(c, is_ended);
}

/* A callback of the library, which must be stopped in a later turn. */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk_closer *c = context;

    if (type != ZOO_SESSION_EVENT || !c->io.handle)
        return;
    if (state != ZOO_CONNECTED_STATE && state != ZOO_EXPIRED_SESSION_STATE)
        return;
    c->is_expired = state == ZOO_EXPIRED_SESSION_STATE;
    timer_arm(&c->io.loop->timers, &c->over, 0);
}

/* Stopping a connected handle ends the session. */
static void on_over(struct timer *timer)
{
    struct zk_closer *c = CONTAINER_OF(timer, struct zk_closer, over);

    if (!zk_io_stop(&c->io, left_ms(c)))
        ended(c, c->is_expired);
}

static void on_drained(struct zk_drain *d, bool is_over)
{
    ended(CONTAINER_OF(d, struct zk_closer, io.drain), is_over);
}

static void attach(struct zk_closer *c)
{
    struct zk_target target = {.servers = c->servers,
                               .session_ms = c->deadline_ms,
                               .resume = &c->line[0],
                               .on_watch = on_watch,
                               .context = c};
    bool has_begun;

    c->is_expired = false;
    has_begun = zk_io_start(&c->io, &target) == STATUS_OK;
    timer_arm(&c->io.loop->timers, &c->over, has_begun ? left_ms(c) : 0);
}

static void on_again(struct timer *timer)
{
    attach(CONTAINER_OF(timer, struct zk_closer, again));
}

static void next(struct zk_closer *c)
{
    c->until_mono_ms = timers_now(&c->io.loop->timers) + c->deadline_ms;
    attach(c);
}

void zk_closer_init(struct zk_closer *c, struct loop *loop,
                    void (*on_idle)(struct zk_closer *c, bool is_ended))
{
    *c = (struct zk_closer){.on_idle = on_idle};
    zk_io_init(&c->io, loop, on_drained);
    timer_init(&c->over, on_over);
    timer_init(&c->again, on_again);
}

void zk_closer_fini(struct zk_closer *c)
{
    zk_io_fini(&c->io);
    timer_disarm(&c->io.loop->timers, &c->over);
    timer_disarm(&c->io.loop->timers, &c->again);
    explicit_bzero(c->line, sizeof(c->line));
    free(c->servers);
}

void zk_closer_start(struct zk_closer *c, const char *servers,
                     const struct coord_credentials *whose, int64_t deadline_ms)
{
    if (c->count == ZK_CLOSER_LINE) {
        LOG_WARN("zookeeper", "too many sessions to end at once: 0x%llx is left to expire",
                 (unsigned long long)whose->session);
        return;
    }
    c->line[c->count++] = *whose;
    c->deadline_ms = deadline_ms;
    if (c->count > 1)
        return;
    free(c->servers);
    c->servers = must(strdup(servers));
    next(c);
}

/* ---- with a loop that lives as long as the call ---- */

struct run {
    struct loop *loop;
    struct resolve resolve;
    struct zk_closer closer;
    struct timer deadline;
    const struct coord_credentials *whose;
    int64_t until_mono_ms;
    bool is_ended;
};

static void on_ended(struct zk_closer *c, bool is_ended)
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
    zk_closer_init(&run.closer, run.loop, on_ended);
    timer_init(&run.deadline, on_deadline);
    timer_arm(&run.loop->timers, &run.deadline, deadline_ms);
    resolve_start(&run.resolve, servers);
    loop_run(run.loop);
    zk_closer_fini(&run.closer);
    resolve_fini(&run.resolve);
    loop_free(run.loop);
    return run.is_ended ? 0 : 1;
}
