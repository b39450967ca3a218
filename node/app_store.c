#include "node/app_store.h"

#include <string.h>

#include "node/store/redis/durability.h"

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
    to->clock_jumps = from->clock_jumps;
    to->broken = from->broken;
    to->moved = from->moved;
    to->asked = from->asked;
    to->try_again = from->try_again;
    to->down = from->down;
    to->maps_read = from->maps_read;
    to->breaker = breaker_word(from->breaker);
    to->breaker_trips = from->breaker_trips;
    to->breaker_since_mono_ms = from->breaker_since_mono_ms;
    add_weaknesses(from->weak, to);
}

/* ---- masters and buckets ---- */

/* Without the address, which stands beside it. Before the first attempt there is no reason. */
static const char *reason_of(const char *why, const char *address)
{
    size_t len = strlen(address);

    if (!*why)
        return "it has not answered yet";
    return len && !strncmp(why, address, len) && !strncmp(why + len, ": ", 2) ? why + len + 2
                                                                              : why;
}

static void read_master(struct app_store *s, unsigned i)
{
    struct redis_lane_stats lane;

    redis_store_lane(s->store, i, &lane);
    s->masters[i] = (struct http_store_master){
        .address = lane.address,
        .state = lane.state,
        .why = lane.is_up ? "" : reason_of(lane.why, lane.address),
        .breaker = breaker_word(lane.breaker),
        .is_up = lane.is_up,
        .buckets = lane.buckets,
        .in_flight = lane.in_flight,
    };
}

static void read_masters(struct app_store *s, struct http_store_numbers *to)
{
    unsigned count = redis_store_lanes(s->store);

    while (to->master_count < count && to->master_count < HTTP_STORE_MASTERS_MAX)
        read_master(s, to->master_count++);
    to->masters = s->masters;
}

static void read_unreached(struct app_store *s, struct http_store_numbers *to)
{
    for (unsigned b = 0; b < s->buckets && b < HTTP_STORE_BUCKETS_MAX; b++) {
        const char *address, *why = redis_store_bucket_why(s->store, b, &address);

        if (why)
            s->unreached[to->unreached_count++] = (struct http_store_unreached){
                .bucket = b, .address = address, .why = reason_of(why, address)};
    }
    to->unreached = s->unreached;
}

void app_store_read(struct app_store *s, struct http_store_numbers *to)
{
    read_numbers(redis_store_stats(s->store), to);
    to->address = redis_store_address(s->store);
    to->aof_cut_bytes = s->aof_cut_bytes ? *s->aof_cut_bytes : 0;
    read_masters(s, to);
    read_unreached(s, to);
}
