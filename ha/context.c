#include "ha/context.h"

#include <assert.h>
#include <stdio.h>

int64_t context_now(const struct context *s)
{
    return s->options->now_boot_ms(s->options->arg);
}

bool context_is_connected(const struct context *s)
{
    return s->coordinator->session == COORD_SESSION_CONNECTED;
}

int64_t context_session_ms(const struct context *s)
{
    return s->options->session_ms;
}

void context_wake(struct context *s)
{
    timer_arm(s->timers, &s->tick, 0);
}

void context_wake_at(struct context *s, int64_t boot_ms)
{
    int64_t now = context_now(s);

    if (boot_ms < now)
        boot_ms = now; /* INT64_MIN, too */
    if (boot_ms < s->wake_boot_ms)
        s->wake_boot_ms = boot_ms;
}

void context_path(const struct context *s, char path[CONTEXT_PATH_MAX], const char *name,
                  const char *below)
{
    int len = snprintf(path, CONTEXT_PATH_MAX, "%s/%s%s%s", s->options->root, name,
                       below ? "/" : "", below ? below : "");

    assert(len > 0 && len < CONTEXT_PATH_MAX);
}

bool coord_request_is_answered(const struct coord_request *a)
{
    switch (a->call.status) {
    case COORD_UNAVAILABLE:
    case COORD_UNKNOWN:
    case COORD_EXPIRED:
        return false;
    default:
        return a->session == a->context->session;
    }
}

static void on_done(struct coord_call *call)
{
    struct coord_request *a = CONTAINER_OF(call, struct coord_request, call);
    struct context *s = a->context;

    a->is_in_flight = false;
    a->acked_boot_ms = context_now(s);
    s->in_flight--;
    context_wake(s);
    if (coord_request_is_answered(a))
        write_lease_touched(&s->lease, a->sent_boot_ms, a->acked_boot_ms);
    a->on_answer(a);
}

void coord_request_init(struct coord_request *a, struct context *s,
                        void (*on_answer)(struct coord_request *request))
{
    *a = (struct coord_request){.context = s, .on_answer = on_answer};
}

static void begin(struct coord_request *a)
{
    assert(!a->is_in_flight);
    a->call = (struct coord_call){.on_done = on_done};
    a->is_in_flight = true;
    a->session = a->context->session;
    a->sent_boot_ms = context_now(a->context);
    a->context->in_flight++;
}

void coord_request_read(struct coord_request *a, const char *path, bool watches)
{
    begin(a);
    a->call.path = path;
    a->call.watches = watches;
    coordinator_read(a->context->coordinator, &a->call);
}

void coord_request_list(struct coord_request *a, const char *path, bool watches)
{
    begin(a);
    a->call.path = path;
    a->call.watches = watches;
    coordinator_list(a->context->coordinator, &a->call);
}

void coord_request_write(struct coord_request *a, const struct coord_change *changes,
                         unsigned count)
{
    begin(a);
    a->call.changes = changes;
    a->call.change_count = count;
    coordinator_write(a->context->coordinator, &a->call);
}
