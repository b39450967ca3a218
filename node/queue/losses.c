#include "node/queue/losses.h"

#include "base/log.h"
#include "node/queue/census.h"

static uint64_t jobs_of(const struct census *census)
{
    const struct topic_stats *total = &census->total;

    return (uint64_t)(total->delayed + total->ready + total->reserved + total->dead);
}

static const char *bound(const struct census *census)
{
    return census->is_whole ? "" : "at least ";
}

static void on_counted(struct census_call *call)
{
    struct losses *l = CONTAINER_OF(call, struct losses, call);

    if (l->has_fallen_again && call->status == STATUS_OK) {
        l->has_fallen_again = false;
        censuses_ask(l->censuses, call); /* no walk where this one began after the last fall */
        return;
    }
    l->is_counting = false;
    if (call->status != STATUS_OK)
        LOG_WARN("queue", "the jobs that are left could not be counted: %s",
                 status_text(call->status));
    else if (l->before_age_ms < 0)
        LOG_WARN("queue", "%s%llu jobs are left; before, they were never counted",
                 bound(call->last), (unsigned long long)jobs_of(call->last));
    else
        LOG_WARN("queue",
                 "%s%llu jobs are left; there were %llu when they were last counted, %lld s "
                 "before",
                 bound(call->last), (unsigned long long)jobs_of(call->last),
                 (unsigned long long)l->before, (long long)(l->before_age_ms / 1000));
}

void losses_init(struct losses *l, struct censuses *censuses)
{
    *l = (struct losses){.censuses = censuses};
    l->call.on_done = on_counted;
    l->call.wait_ms = LOSSES_PATIENCE_MS;
}

void losses_count(struct losses *l)
{
    const struct census *last;

    censuses_outdate(l->censuses);
    l->has_fallen_again = l->is_counting;
    if (l->is_counting)
        return;
    last = censuses_last(l->censuses);
    l->is_counting = true;
    l->before = last ? jobs_of(last) : 0;
    l->before_age_ms = last ? last->age_ms : -1;
    censuses_ask(l->censuses, &l->call);
}
