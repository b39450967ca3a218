#include "ha/context.h"

#include <assert.h>
#include <stdio.h>

int64_t context_now(const struct context *c)
{
    return c->options->now_boot_ms(c->options->arg);
}

bool context_is_connected(const struct context *c)
{
    return c->coordinator->session == COORD_SESSION_CONNECTED;
}

int64_t context_session_ms(const struct context *c)
{
    return c->options->session_ms;
}

int64_t context_retry_boot_ms(const struct context *c)
{
    return context_now(c) + context_session_ms(c) / 6;
}

void context_wake(struct context *c)
{
    timer_arm(c->timers, &c->tick, 0);
}

void context_wake_at(struct context *c, int64_t boot_ms)
{
    int64_t now = context_now(c);

    if (boot_ms < now)
        boot_ms = now; /* INT64_MIN, too */
    if (boot_ms < c->wake_boot_ms)
        c->wake_boot_ms = boot_ms;
}

void context_path(const struct context *c, char path[CONTEXT_PATH_MAX], const char *name,
                  const char *below)
{
    int len = snprintf(path, CONTEXT_PATH_MAX, "%s/%s%s%s", c->options->root, name,
                       below ? "/" : "", below ? below : "");

    assert(len > 0 && len < CONTEXT_PATH_MAX);
}

bool coord_request_is_answered(const struct coord_request *r)
{
    switch (r->call.status) {
    case COORD_UNAVAILABLE:
    case COORD_UNKNOWN:
    case COORD_EXPIRED:
        return false;
    default:
        return r->session == r->context->session;
    }
}

static void on_done(struct coord_call *call)
{
    struct coord_request *r = CONTAINER_OF(call, struct coord_request, call);
    struct context *c = r->context;

    r->is_in_flight = false;
    r->acked_boot_ms = context_now(c);
    c->in_flight--;
    context_wake(c);
    if (coord_request_is_answered(r))
        write_lease_touched(&c->lease, r->sent_boot_ms, r->acked_boot_ms);
    r->on_answer(r);
}

void coord_request_init(struct coord_request *r, struct context *c,
                        void (*on_answer)(struct coord_request *request))
{
    *r = (struct coord_request){.context = c, .on_answer = on_answer};
}

static void begin(struct coord_request *r)
{
    assert(!r->is_in_flight);
    r->call = (struct coord_call){.on_done = on_done};
    r->is_in_flight = true;
    r->session = r->context->session;
    r->sent_boot_ms = context_now(r->context);
    r->context->in_flight++;
}

void coord_request_read(struct coord_request *r, const char *path, bool watches)
{
    begin(r);
    r->call.path = path;
    r->call.watches = watches;
    coordinator_read(r->context->coordinator, &r->call);
}

void coord_request_list(struct coord_request *r, const char *path, bool watches)
{
    begin(r);
    r->call.path = path;
    r->call.watches = watches;
    coordinator_list(r->context->coordinator, &r->call);
}

void coord_request_write(struct coord_request *r, const struct coord_change *changes,
                         unsigned count)
{
    begin(r);
    r->call.changes = changes;
    r->call.change_count = count;
    coordinator_write(r->context->coordinator, &r->call);
}
