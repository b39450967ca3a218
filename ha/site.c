#include "ha/site.h"

#include <assert.h>
#include <stdio.h>

int64_t site_now(const struct site *s)
{
    return s->options->now_boot_ms(s->options->arg);
}

bool site_is_connected(const struct site *s)
{
    return s->coordinator->session == COORD_SESSION_CONNECTED;
}

int64_t site_session_ms(const struct site *s)
{
    return s->options->session_ms;
}

void site_wake(struct site *s)
{
    timer_arm(s->timers, &s->tick, 0);
}

void site_wake_at(struct site *s, int64_t boot_ms)
{
    int64_t now = site_now(s);

    if (boot_ms < now)
        boot_ms = now; /* INT64_MIN, too */
    if (boot_ms < s->wake_boot_ms)
        s->wake_boot_ms = boot_ms;
}

void site_path(const struct site *s, char path[SITE_PATH_MAX], const char *name,
               const char *below)
{
    int len = snprintf(path, SITE_PATH_MAX, "%s/%s%s%s", s->options->root, name,
                       below ? "/" : "", below ? below : "");

    assert(len > 0 && len < SITE_PATH_MAX);
}

bool ask_is_answered(const struct ask *a)
{
    switch (a->call.status) {
    case COORD_UNAVAILABLE:
    case COORD_UNKNOWN:
    case COORD_EXPIRED:
        return false;
    default:
        return a->session == a->site->session;
    }
}

static void on_done(struct coord_call *call)
{
    struct ask *a = CONTAINER_OF(call, struct ask, call);
    struct site *s = a->site;

    a->is_in_flight = false;
    a->acked_boot_ms = site_now(s);
    s->in_flight--;
    site_wake(s);
    if (ask_is_answered(a))
        write_lease_touched(&s->lease, a->sent_boot_ms, a->acked_boot_ms);
    a->on_answer(a);
}

void ask_init(struct ask *a, struct site *s, void (*on_answer)(struct ask *ask))
{
    *a = (struct ask){.site = s, .on_answer = on_answer};
}

static void begin(struct ask *a)
{
    assert(!a->is_in_flight);
    a->call = (struct coord_call){.on_done = on_done};
    a->is_in_flight = true;
    a->session = a->site->session;
    a->sent_boot_ms = site_now(a->site);
    a->site->in_flight++;
}

void ask_read(struct ask *a, const char *path, bool watches)
{
    begin(a);
    a->call.path = path;
    a->call.watches = watches;
    coordinator_read(a->site->coordinator, &a->call);
}

void ask_list(struct ask *a, const char *path, bool watches)
{
    begin(a);
    a->call.path = path;
    a->call.watches = watches;
    coordinator_list(a->site->coordinator, &a->call);
}

void ask_write(struct ask *a, const struct coord_change *changes, unsigned count)
{
    begin(a);
    a->call.changes = changes;
    a->call.change_count = count;
    coordinator_write(a->site->coordinator, &a->call);
}
