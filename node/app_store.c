#include "node/app_store.h"

#include "node/store/redis/weakness.h"

_Static_assert(WEAKNESS_COUNT <= HTTP_STORE_WEAKNESSES_MAX, "there is room for all");

static void add_weaknesses(unsigned weak, struct http_store_numbers *to)
{
    to->weak_count = WEAKNESS_COUNT;
    for (unsigned w = 0; w < WEAKNESS_COUNT; w++)
        to->weak[w] = (struct http_store_weakness){
            .word = weakness_word((enum weakness)w),
            .what = weakness_what((enum weakness)w),
            .advice = weakness_advice((enum weakness)w),
            .is_so = weak >> w & 1,
        };
}

static void read_numbers(const struct redis_store_stats *from, struct http_store_numbers *to)
{
    to->is_up = from->state != REDIS_STORE_DOWN;
    to->connects = from->connects;
    to->round_trips = from->round_trip_us.total;
    to->round_trip_us = &from->round_trip_us;
    to->errors = from->refused + from->malformed;
    to->lost = from->unknown;
    to->expired = from->expired;
    to->overflowed = from->overflowed;
    to->replica_waits = from->replica_waits;
    to->replica_timeouts = from->replica_timeouts;
    to->waiting_for_replicas = from->waiting_for_replicas;
    to->in_flight = from->in_flight;
    to->held = from->held;
    to->held_bytes = from->held_bytes;
    to->repeated = from->repeated;
    to->dropped = from->dropped;
    to->older = from->older;
    to->lost_pushes = from->lost_pushes;
    to->broken = from->broken;
    to->breaker = breaker_word(from->breaker);
    to->breaker_trips = from->breaker_trips;
    to->breaker_since_mono_ms = from->breaker_since_mono_ms;
    add_weaknesses(from->weak, to);
}

/* ---- masters and buckets ---- */

#define NO_REASON_YET "it has not answered yet"

static const char *why_down(const struct app_store *s)
{
    const char *why = redis_store_why(s->store);

    return *why ? why : NO_REASON_YET;
}

static void read_masters(struct app_store *s, struct http_store_numbers *to)
{
    s->masters[0] = (struct http_store_master){
        .address = redis_store_address(s->store),
        .state = to->is_up ? "up" : "connecting",
        .why = to->is_up ? "" : why_down(s),
        .breaker = to->breaker,
        .is_up = to->is_up,
        .buckets = s->buckets,
        .in_flight = to->in_flight,
    };
    to->masters = s->masters;
    to->master_count = 1;
}

static void read_unreached(struct app_store *s, struct http_store_numbers *to)
{
    for (unsigned b = 0; b < s->buckets && !to->is_up; b++)
        s->unreached[to->unreached_count++] = (struct http_store_unreached){
            .bucket = b, .address = redis_store_address(s->store), .why = why_down(s)};
    to->unreached = s->unreached;
}

void app_store_read(struct app_store *s, struct http_store_numbers *to)
{
    read_numbers(redis_store_stats(s->store), to);
    to->address = redis_store_address(s->store);
    read_masters(s, to);
    read_unreached(s, to);
}
