#include "itests/bench/load/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "itests/bench/load/bulk.h"

#define AT(field) offsetof(struct options, field)

static const struct {
    const char *name;
    size_t at;
    int64_t fallback, min, max; /* -1: the mode has one of its own */
    const char *text;
} numbers[] = {
    {"--port", AT(port), 0, 0, 65535, "on loopback; 0: the protocol's usual one"},
    {"--connections", AT(connections), 64, 1, 60000, "opened at the start, and kept"},
    {"--pipeline", AT(pipeline), 1, 1, 1000, "operations under way on one connection"},
    {"--depth", AT(depth), 64, 1, 10000, "direct_*: scripts in flight"},
    {"--topics", AT(topics), 16, 1, 1000000, "taken in turn"},
    {"--first-topic", AT(first_topic), 0, 0, 999999, "operations: the turn begins with it"},
    {"--buckets", AT(buckets), 64, 1, 128, "as the node has them"},
    {"--body-bytes", AT(body_bytes), 100, 0, 1 << 20, "of each job"},
    {"--seconds", AT(seconds), 3, 1, 3600, "measured; warming up comes before"},
    {"--total", AT(total), 0, 0, 100000000,
     "closed loop: ends after so many operations, all of them measured; 0: after --seconds"},
    {"--patience", AT(patience_s), 30, 1, 3600,
     "seconds that answers are waited for in the end"},
    {"--count", AT(count), 200000, 1, 100000000, "fill: jobs"},
    {"--bulk", AT(bulk), 0, 0, BULK_JOBS_MAX,
     "fill: so many at once, past the push script; 0: with it"},
    {"--rate", AT(rate), -1, -1, 1000000, "operations a second; 0: a closed loop"},
    {"--delay", AT(delay_s), -1, -1, 86400, "seconds"},
    {"--priorities", AT(priorities), 0, 0, 1000,
     "http: jobs have so many in turn, 1 and up; 0: they say none"},
    {"--ttr", AT(ttr_s), 60, 0, 86400,
     "seconds; 0: gone once delivered, nothing is acknowledged"},
    {"--at-ms", AT(at_ms), 0, 0, INT64_MAX, "fill: all are due then; 0: --delay counts"},
    {"--first-id", AT(first_id), 10000000000000, 0, 900000000000000, "ids count up from here"},
    {"--prefill", AT(prefill), 0, 0, 1,
     "lateness: 1: jobs are put into Redis before, none are pushed"},
    {"--owners", AT(owners), 1, 0, 1,
     "direct_cycle: 1: pops as gmq's; 0: as HTTP's, with leases"},
    {"--until-eof", AT(until_eof), 0, 0, 1,
     "open loop: 1: ends early when standard input does"},
    {"--tls", AT(tls), 0, 0, 1, "1: connections speak TLS"},
    {"--resume", AT(resume), 0, 0, 1, "handshakes: 1: all but the first bring a ticket"},
    {"--count-errors", AT(count_errors), 0, 0, 1,
     "1: an error reply is counted; 0: it ends the run"},
};

static const struct {
    const char *name;
    size_t at;
    const char *fallback;
    const char *choices; /* between blanks; NULL: anything */
    const char *text;
} words[] = {
    {"--redis", AT(redis), "redis.sock", NULL, "its unix socket"},
    {"--topic-name", AT(topic_name), "bench", NULL, "the topics are NAME-0, NAME-1, ..."},
    {"--only-buckets", AT(only_buckets), "", NULL,
     "fill --bulk: a sign a bucket, + or -: topics of others are left out; nothing: all"},
    {"--protocol", AT(protocol), "gmq", " gmq http beanstalk ", "gmq, http or beanstalk"},
    {"--say", AT(say), "nothing", " nothing request pop ",
     "idle: what each connection says first: nothing, request or pop"},
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(*numbers))
#define WORD_COUNT   (sizeof(words) / sizeof(*words))

static int64_t *number_of(struct options *o, size_t i)
{
    return (int64_t *)((char *)o + numbers[i].at);
}

static const char **word_of(struct options *o, size_t i)
{
    return (const char **)((char *)o + words[i].at);
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

static bool set_word(struct options *o, size_t i, const char *text)
{
    char between_blanks[32];

    snprintf(between_blanks, sizeof(between_blanks), " %s ", text);
    if (words[i].choices && (strchr(text, ' ') || !strstr(words[i].choices, between_blanks)))
        return false;
    *word_of(o, i) = text;
    return true;
}

static bool set(struct options *o, const char *name, const char *text)
{
    for (size_t i = 0; i < WORD_COUNT; i++) {
        if (!strcmp(words[i].name, name))
            return set_word(o, i, text);
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        if (!strcmp(numbers[i].name, name))
            return set_number(o, i, text);
    }
    return false;
}

bool options_parse(struct options *o, int argc, char **argv)
{
    for (size_t i = 0; i < WORD_COUNT; i++)
        *word_of(o, i) = words[i].fallback;
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
    for (size_t i = 0; i < WORD_COUNT; i++)
        fprintf(stderr, "  %-14s %-14s  %s\n", words[i].name, words[i].fallback, words[i].text);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        char fallback[24] = "the mode's";

        if (numbers[i].fallback >= 0)
            snprintf(fallback, sizeof(fallback), "%lld", (long long)numbers[i].fallback);
        fprintf(stderr, "  %-14s %-14s  %s\n", numbers[i].name, fallback, numbers[i].text);
    }
}

struct options options_as_client(const struct options *o)
{
    struct options client = *o;

    client.protocol = "redis";
    client.connections = 1;
    client.pipeline = o->depth;
    client.rate = 0;
    return client;
}
