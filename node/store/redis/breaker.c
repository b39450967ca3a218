#include "node/store/redis/breaker.h"

void breaker_init(struct redis_breaker *b, int64_t after_ms, unsigned failures, unsigned probes)
{
    *b = (struct redis_breaker){.after_ms = after_ms,
                                .failures = failures,
                                .probes = probes ? probes : 1,
                                .silent_since_mono_ms = -1};
}

static void enter(struct redis_breaker *b, enum breaker_state state, int64_t now_mono_ms)
{
    if (state == BREAKER_OPEN && b->state == BREAKER_CLOSED)
        b->trips++;
    b->state = state;
    b->since_mono_ms = now_mono_ms;
    b->proved = 0;
}

void breaker_asked(struct redis_breaker *b, int64_t now_mono_ms)
{
    if (b->silent_since_mono_ms < 0)
        b->silent_since_mono_ms = now_mono_ms;
}

void breaker_answered(struct redis_breaker *b, int64_t now_mono_ms)
{
    b->late = 0;
    b->silent_since_mono_ms = -1;
    if (b->state == BREAKER_OPEN) /* the connection has outlived its patience */
        enter(b, BREAKER_HALF_OPEN, now_mono_ms);
    if (b->state == BREAKER_HALF_OPEN && ++b->proved >= b->probes)
        enter(b, BREAKER_CLOSED, now_mono_ms);
}

void breaker_lost(struct redis_breaker *b, bool is_late, int64_t now_mono_ms)
{
    b->late += is_late;
    if (b->state == BREAKER_HALF_OPEN ||
        (b->state == BREAKER_CLOSED && b->failures && b->late >= b->failures))
        enter(b, BREAKER_OPEN, now_mono_ms);
}

void breaker_connected(struct redis_breaker *b, int64_t now_mono_ms)
{
    b->silent_since_mono_ms = -1; /* the handshake was answered */
    if (b->state == BREAKER_OPEN)
        enter(b, BREAKER_HALF_OPEN, now_mono_ms);
}

void breaker_idle(struct redis_breaker *b)
{
    b->silent_since_mono_ms = -1;
}

bool breaker_try(struct redis_breaker *b, int64_t now_mono_ms)
{
    if (b->state != BREAKER_OPEN || now_mono_ms < b->since_mono_ms + BREAKER_RETRY_MS)
        return false;
    b->silent_since_mono_ms = -1;
    enter(b, BREAKER_HALF_OPEN, now_mono_ms);
    return true;
}

int64_t breaker_look(struct redis_breaker *b, int64_t now_mono_ms)
{
    int64_t at_mono_ms;

    if (b->state == BREAKER_OPEN)
        return now_mono_ms + BREAKER_RETRY_MS;
    if (!b->after_ms || b->silent_since_mono_ms < 0)
        return -1;
    at_mono_ms = b->silent_since_mono_ms + b->after_ms;
    if (now_mono_ms < at_mono_ms)
        return at_mono_ms;
    enter(b, BREAKER_OPEN, now_mono_ms);
    return now_mono_ms + BREAKER_RETRY_MS;
}

bool breaker_passes(const struct redis_breaker *b, unsigned in_flight)
{
    return b->state == BREAKER_CLOSED ||
           (b->state == BREAKER_HALF_OPEN && b->proved + in_flight < b->probes);
}

bool breaker_refuses(const struct redis_breaker *b)
{
    return b->state == BREAKER_OPEN;
}

const char *breaker_word(enum breaker_state state)
{
    static const char *const words[BREAKER_STATES] = {[BREAKER_CLOSED] = "closed",
                                                      [BREAKER_OPEN] = "open",
                                                      [BREAKER_HALF_OPEN] = "half_open"};

    return words[state];
}
