/* The simulation's program: base.h describes the simulation, world.c judges a run. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "ha/sim/base.h"
#include "ha/sim/plant.h"
#include "ha/sim/world.h"

static const char usage[] =
    "usage: ha_simulation [--seed S] [--runs N] [--seconds N] [--trace] [--plant WORD]\n"
    "  --seed S      the first seed (1); each run takes the next one\n"
    "  --runs N      how many (1000)\n"
    "  --seconds N   as many as there is time for\n"
    "  --trace       prints all that happens, and debug lines\n"
    "  --plant WORD  makes a mistake that must be found: then finding it is success:\n";

struct options {
    uint64_t seed, runs;
    long seconds;
    const char *plant;
};

static uint64_t seed; /* of this run */

/* A failed assertion of the core must print the seed, too. abort() raises the signal in place,
 * so any function may be called here. NOLINTBEGIN(bugprone-signal-handler) */
static void on_abort(int signal)
{
    fprintf(stderr, "aborted with seed %" PRIu64 "; the newest events:\n", seed);
    sim_trace_dump();
    _exit(1);
}
/* NOLINTEND(bugprone-signal-handler) */

static void parse(struct options *o, int argc, char **argv)
{
    static const struct option known[] = {{"seed", required_argument, NULL, 's'},
                                          {"runs", required_argument, NULL, 'n'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"trace", no_argument, NULL, 'v'},
                                          {"plant", required_argument, NULL, 'p'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "h", known, NULL)) >= 0) {
        if (c == 's')
            o->seed = strtoull(optarg, NULL, 10);
        else if (c == 'n')
            o->runs = strtoull(optarg, NULL, 10);
        else if (c == 't')
            o->seconds = strtol(optarg, NULL, 10);
        else if (c == 'v')
            sim_is_tracing = true;
        else if (c == 'p' && sim_plant(optarg))
            o->plant = sim_is_planted(PLANT_NONE) ? NULL : optarg;
        else {
            fputs(usage, c == 'h' ? stdout : stderr);
            sim_plant_list();
            exit(c == 'h' ? 0 : 2);
        }
    }
}

static void add(struct sim_result *sum, const struct sim_result *r)
{
    sum->faults += r->faults;
    sum->leads += r->leads;
    sum->acked += r->acked;
    sum->fenced += r->fenced;
    sum->zk_leaders += r->zk_leaders;
    sum->lasted_ms += r->lasted_ms;
    if (r->longest_ms > sum->longest_ms)
        sum->longest_ms = r->longest_ms;
    if (r->back_ms > sum->back_ms)
        sum->back_ms = r->back_ms;
}

static int found(const struct options *o)
{
    if (o->plant) {
        printf("%s: found with seed %" PRIu64 ": %s\n", o->plant, seed, sim_failure());
        return 0;
    }
    if (!sim_is_tracing)
        sim_trace_dump();
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, sim_failure());
    fprintf(stderr, "again: ha_simulation --seed %" PRIu64 " --runs 1 --trace\n", seed);
    return 1;
}

static int report(const struct options *o, uint64_t runs, const struct sim_result *sum)
{
    if (o->plant) {
        fprintf(stderr, "%s: not found in %" PRIu64 " runs\n", o->plant, runs);
        return 1;
    }
    printf("%" PRIu64 " runs, %lld hours of virtual time: %u faults, %u leads, %u ZooKeeper "
           "leaders, %u jobs, %u scripts fenced\n",
           runs, (long long)(sum->lasted_ms / 3600000), sum->faults, sum->leads,
           sum->zk_leaders, sum->acked, sum->fenced);
    printf("longest without a leader by one node's fault %lld ms; after all was mended %lld "
           "ms (T %d ms, tick T/10 to T/4)\n",
           (long long)sum->longest_ms, (long long)sum->back_ms, SIM_T);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.seed = 1, .runs = 1000};
    struct log_options log = {.level = LEVEL_ERROR, .modules = "", .file = "/dev/null"};
    struct sim_result sum = {0}, r;
    uint64_t runs = 0;
    time_t begin = time(NULL);

    parse(&o, argc, argv);
    if (sim_is_tracing)
        log = (struct log_options){.level = LEVEL_DEBUG, .modules = ""};
    if (log_configure(&log) != STATUS_OK)
        return 2;
    signal(SIGABRT, on_abort);
    for (seed = o.seed; o.seconds ? time(NULL) < begin + o.seconds : runs < o.runs;
         seed++, runs++) {
        if (!sim_run(seed, &r) && (!o.plant || sim_was_unsafe()))
            return found(&o);
        add(&sum, &r);
    }
    return report(&o, runs, &sum);
}
