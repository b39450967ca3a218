/* What a store on Redis is told, and what it does without being told. */
#include "node/store/redis/store_private.h"

#include <string.h>

#include "base/log.h"
#include "node/store/redis/scripts.h"

#define BUCKETS_MAX 128 /* so that ids stay below 2^53 */

static bool is_word(const char *text, size_t max)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789_.-");

    return len >= 1 && len <= max && !text[len];
}

enum status redis_store_check(const struct redis_store_options *options)
{
    if (!is_word(options->prefix, SCRIPT_PREFIX_MAX)) {
        LOG_ERROR("redis", "not a prefix for keys: '%s'", options->prefix);
        return STATUS_BAD_CONFIG;
    }
    if (options->buckets < 1 || options->buckets > BUCKETS_MAX) {
        LOG_ERROR("redis", "not a number of buckets: %u", options->buckets);
        return STATUS_BAD_CONFIG;
    }
    return STATUS_OK;
}

struct redis_store_options redis_store_defaults(void)
{
    return (struct redis_store_options){
        .prefix = "dq",
        .buckets = 64,
        .command_timeout_ms = 5000,
        .hold_ms = 10000,
        .reconnect_ms = 250,
        .look_ms = 10000,
        .flight_max = 4096,
        .replies_max = 8u << 20,
        .held_max = 20000,
        .bytes_max = 256u << 20,
        .breaker_after_ms = 10000,
        .breaker_failures = 3,
        .breaker_trials = 16,
        .replica_timeout_ms = 1000,
    };
}
