#include "node/store/redis/flight.h"

#include <assert.h>

static struct redis_call *call_of(struct list *link)
{
    return CONTAINER_OF(link, struct redis_call, link);
}

void redis_flight_init(struct redis_flight *f, int64_t timeout_ms)
{
    list_init(&f->calls);
    f->timeout_ms = timeout_ms;
}

bool redis_flight_is_empty(const struct redis_flight *f)
{
    return list_is_empty(&f->calls);
}

void redis_flight_add(struct redis_flight *f, struct redis_call *call, int64_t now_mono_ms)
{
    call->sent_mono_ms = now_mono_ms;
    call->deadline_mono_ms = now_mono_ms + f->timeout_ms;
    call->is_late = false;
    list_append(&f->calls, &call->link);
}

struct redis_call *redis_flight_take(struct redis_flight *f)
{
    assert(!redis_flight_is_empty(f));
    return call_of(list_pop(&f->calls));
}

int64_t redis_flight_since(const struct redis_flight *f)
{
    assert(!redis_flight_is_empty(f));
    return CONTAINER_OF(f->calls.next, struct redis_call, link)->sent_mono_ms;
}

int64_t redis_flight_left_ms(struct redis_flight *f, int64_t now_mono_ms)
{
    struct redis_call *oldest;

    assert(!redis_flight_is_empty(f));
    oldest = call_of(list_first(&f->calls));
    if (oldest->deadline_mono_ms <= now_mono_ms && !oldest->is_late) {
        oldest->is_late = true;
        oldest->deadline_mono_ms = now_mono_ms + f->timeout_ms / 4;
    }
    return oldest->deadline_mono_ms - now_mono_ms;
}

void redis_flight_fail(struct redis_flight *f)
{
    struct list lost, *link;

    list_init(&lost);
    list_append_all(&lost, &f->calls);
    while ((link = list_pop(&lost)))
        call_of(link)->on_reply(call_of(link), NULL);
}
