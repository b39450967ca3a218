#include "itests/bench/load/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct options, field)

static const struct {
    const char *name;
    size_t at;
    int64_t fallback, min, max;
} numbers[] = {
    {"--port", AT(port), 9503, 1, 65535},
    {"--connections", AT(connections), 64, 1, 10000},
    {"--depth", AT(depth), 64, 1, 10000},
    {"--topics", AT(topics), 16, 1, 1000},
    {"--buckets", AT(buckets), 64, 1, 128},
    {"--body-bytes", AT(body_bytes), 100, 1, 1 << 20},
    {"--seconds", AT(seconds), 3, 1, 3600},
    {"--count", AT(count), 200000, 1, 100000000},
    {"--rate", AT(rate), 1000, 1, 100000},
    {"--delay", AT(delay_s), -1, -1, 86400},
    {"--ttr", AT(ttr_s), 60, 0, 86400},
    {"--at-ms", AT(at_ms), 0, 0, INT64_MAX},
    {"--first-id", AT(first_id), 10000000000000, 0, 900000000000000},
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(*numbers))

static int64_t *number_of(struct options *o, size_t i)
{
    return (int64_t *)((char *)o + numbers[i].at);
}

static bool set_number(struct options *o, size_t i, const char *text)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < numbers[i].min || value > numbers[i].max)
        return false;
    *number_of(o, i) = value;
    return true;
}

static bool set(struct options *o, const char *name, const char *text)
{
    if (!strcmp(name, "--redis")) {
        o->redis = text;
        return true;
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        if (!strcmp(numbers[i].name, name))
            return set_number(o, i, text);
    }
    return false;
}

bool options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.redis = "redis.sock"};
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        *number_of(o, i) = numbers[i].fallback;
    for (int i = 0; i < argc; i += 2) {
        if (i + 1 == argc || !set(o, argv[i], argv[i + 1])) {
            fprintf(stderr, "dueq-load: unknown or wrong: %s\n", argv[i]);
            return false;
        }
    }
    return true;
}

void options_print(void)
{
    fprintf(stderr, "  %-14s %s\n", "--redis", "redis.sock");
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        fprintf(stderr, "  %-14s %lld\n", numbers[i].name, (long long)numbers[i].fallback);
}
