/* What a run of the load generator is told on its command line: one table (options.c).
 *
 * A run with --rate is an open loop: operations are due at fixed times, whatever the server
 * does. Without one it is a closed loop: each place of each connection asks again when it has
 * its answer.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_OPTIONS_H
#define DUEQ_ITESTS_BENCH_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *redis;        /* unix socket */
    const char *protocol;     /* gmq, http, beanstalk */
    const char *say;          /* idle: nothing, request, pop */
    const char *topic_name;   /* the topics are bench-0, bench-1, ...: taken in turn */
    const char *only_buckets; /* fill --bulk: "+-+..", a sign a bucket; "": all */
    int64_t port;             /* on loopback; 0: the protocol's usual one */
    int64_t connections;
    int64_t pipeline; /* operations under way on one connection */
    int64_t depth;    /* direct: commands in flight */
    int64_t topics;
    int64_t first_topic; /* operations: the turn begins there */
    int64_t buckets;
    int64_t body_bytes;
    int64_t seconds;      /* measured; warming up comes before */
    int64_t total;        /* closed loop: so many operations, all measured; 0: seconds count */
    int64_t patience_s;   /* how long what is under way is waited for in the end */
    int64_t count;        /* fill: jobs */
    int64_t bulk;         /* fill: so many at once without the push script; 0: with it */
    int64_t rate;         /* operations a second; 0: closed loop; -1: as the mode likes it */
    int64_t delay_s;      /* -1: as the mode likes it */
    int64_t priorities;   /* of jobs that are pushed, in turn; 0: they say none */
    int64_t ttr_s;        /* 0: gone once delivered, nothing is acknowledged */
    int64_t at_ms;        /* fill: all are due then; 0: delay_s counts */
    int64_t first_id;     /* ids count up from here */
    int64_t prefill;      /* lateness: 1: jobs are put into Redis before, none are pushed */
    int64_t owners;       /* direct_cycle: 1: pops as gmq's, acks need no lease; 0: as HTTP's */
    int64_t until_eof;    /* open loop: 1: ends early when standard input does */
    int64_t tls;          /* 1: connections speak TLS */
    int64_t resume;       /* handshakes: 1: with a ticket, all but the first */
    int64_t count_errors; /* 1: an error reply is counted; 0: it ends the run */
};

/* Defaults, then the words: `--name value`. False, with a message, when one is wrong. */
bool options_parse(struct options *o, int argc, char **argv);

/* The options with their defaults and what they mean, for people. */
void options_print(void);

/* Of a direct_* mode, for its report: one client with many requests under way. */
struct options options_as_client(const struct options *o);

#endif
