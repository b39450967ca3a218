/* What a run of the load generator is told on its command line: one table (options.c). */
#ifndef DUEQ_ITESTS_BENCH_LOAD_OPTIONS_H
#define DUEQ_ITESTS_BENCH_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *redis; /* unix socket */
    int64_t port;      /* gmq, on loopback */
    int64_t connections;
    int64_t depth; /* direct: commands in flight */
    int64_t topics;
    int64_t buckets;
    int64_t body_bytes;
    int64_t seconds; /* measured; warming up comes before */
    int64_t count;   /* fill: jobs */
    int64_t rate;    /* lateness: jobs a second */
    int64_t delay_s; /* -1: as the mode likes it */
    int64_t ttr_s;
    int64_t at_ms;    /* fill: all are due then; 0: delay_s counts */
    int64_t first_id; /* ids count up from here */
};

/* Defaults, then the words: `--name value`. False, with a message, when one is wrong. */
bool options_parse(struct options *o, int argc, char **argv);

/* The options with their defaults, for people. */
void options_print(void);

#endif
