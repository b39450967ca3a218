#include "node/app_options.h"

#include <sys/resource.h>

#define OWN_DESCRIPTORS 128 /* clients of HTTP that are being turned away included */
#define PROTOCOLS       2   /* the limit of connections is for each */

struct redis_store_options app_store_options(const struct conf *conf, const char *address)
{
    struct redis_store_options options = redis_store_defaults();

    options.address = address;
    options.password = conf->store.password;
    options.prefix = conf->store.prefix;
    options.buckets = conf->store.buckets;
    options.is_strict = conf->store.strict;
    options.command_timeout_ms = conf->store.command_timeout_ms;
    options.hold_ms = conf->store.hold_ms;
    return options;
}

struct queue_options app_queue_options(const struct conf *conf)
{
    return (struct queue_options){
        .body_max_bytes = conf->limits.body_bytes,
        .waiting_max = conf->limits.waiting,
        .scan_batch = conf->queue.scan_batch,
        .scan_interval_ms = conf->queue.scan_interval_ms,
    };
}

struct gmq_options app_gmq_options(const struct conf *conf)
{
    return (struct gmq_options){
        .strict = conf->gmq.strict,
        .pop_wait_ms = conf->gmq.pop_wait_ms,
        .body_max_bytes = conf->limits.body_bytes,
        .connections_max = conf->limits.connections,
        .pipelined_max = conf->limits.pipelined,
        .output_max_bytes = conf->limits.output_bytes,
        .reading_ms = conf->limits.request_ms,
        .idle_ms = conf->limits.idle_ms,
    };
}

struct http_options app_http_options(const struct conf *conf)
{
    return (struct http_options){
        .connections_max = conf->limits.connections,
        .metrics_topics = conf->http.metrics_topics,
        .hosts = conf->http.hosts,
        .idle_ms = conf->limits.idle_ms,
        .request_ms = conf->limits.request_ms,
        .body_max_bytes = conf->limits.http_body_bytes,
        .bodies_max_bytes = conf->limits.http_bodies_bytes,
    };
}

void app_store_address(const struct conf *conf, const char *socket, struct buf *to)
{
    if (socket)
        buf_printf(to, "unix:%s", socket);
    else
        buf_add_text(to, conf->store.redis.text);
}

void app_store_numbers(const struct redis_store_stats *from, struct http_store_numbers *to)
{
    to->is_up = from->state != REDIS_STORE_DOWN;
    to->connects = from->connects;
    to->round_trips = from->round_trip_us.total;
    to->round_trip_us = &from->round_trip_us;
    to->errors = from->refused + from->malformed;
    to->lost = from->unknown;
    to->expired = from->expired;
    to->overflowed = from->overflowed;
    to->in_flight = from->in_flight;
    to->held = from->held;
    to->held_bytes = from->held_bytes;
}

void app_gmq_numbers(const struct gmq_stats *from, struct http_protocol_numbers *to)
{
    *to = (struct http_protocol_numbers){
        .name = "gmq",
        .connections = from->connections,
        .accepted = from->accepted,
        .turned_away = from->turned_away,
        .crowded_out = from->crowded_out,
        .requests = from->requests,
        .refused = from->refused,
    };
}

void app_raise_descriptors(const struct conf *conf)
{
    rlim_t wanted = (rlim_t)conf->limits.connections * PROTOCOLS + OWN_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < wanted)
        LOG_WARN("app",
                 "the system allows %llu open files, limits.connections may take %llu: raise "
                 "the one (ulimit -Hn) or lower the other",
                 (unsigned long long)limit.rlim_max, (unsigned long long)wanted);
}
