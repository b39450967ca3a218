/* The same scripts without a node: what Redis can do, and how the store is filled.
 *
 * A lane is a place in the pipeline: it sends its next operation when its answer came, and
 * answers come in the order of sending, so the lanes take turns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/redis.h"
#include "itests/bench/load/report.h"
#include "itests/bench/load/supply.h"

struct lane {
    struct op op;
    unsigned topic;
    int64_t since_us;
    char id[24];
};

static struct {
    const struct options *o;
    struct lane *lanes;
    struct report report;
    int64_t next_id;
} run;

static void send_push(struct lane *lane)
{
    int len = snprintf(lane->id, sizeof(lane->id), "%" PRId64, run.next_id);

    /* As the clients of a node do: each operation has the next topic. */
    redis_set_topic(&lane->op, (unsigned)((run.next_id++ - run.o->first_id) % run.o->topics));
    lane->since_us = clock_mono_us();
    redis_fill_in_push(&lane->op, bytes_of(lane->id, (size_t)len));
    redis_append(&lane->op);
}

static void send_pop(struct lane *lane)
{
    lane->op.verb = OP_POP;
    memset(&lane->op.in, 0, sizeof(lane->op.in));
    lane->op.in.pop.count = 1;
    lane->op.in.pop.id_only = run.o->owners;
    redis_append(&lane->op);
}

static void send_ack(struct lane *lane)
{
    const struct job *job = lane->op.out.pop.jobs;
    int64_t stamp;

    if (lane->op.out.pop.count != 1)
        die("nothing was ready");
    stamp = job->stamp;
    memcpy(lane->id, job->id.at, job->id.len);
    lane->op.id = bytes_of(lane->id, job->id.len);
    lane->op.verb = OP_ACK;
    memset(&lane->op.in, 0, sizeof(lane->op.in));
    lane->op.in.lease.stamp = stamp;
    redis_append(&lane->op);
}

static void init_lanes(const struct options *o)
{
    run.o = o;
    run.next_id = o->first_id;
    run.lanes = must_calloc(o->depth, sizeof(*run.lanes));
    supply_init(o);
    redis_open(o);
}

static void fini_lanes(void)
{
    free(run.lanes);
    redis_close();
    supply_fini();
}

/* Waits for the lane's answer; true when that ended what is counted. */
static bool turn(struct lane *lane, bool is_cycle)
{
    redis_take(&lane->op);
    if (is_cycle && lane->op.verb == OP_PUSH) {
        send_pop(lane);
        return false;
    }
    if (is_cycle && lane->op.verb == OP_POP) {
        send_ack(lane);
        return false;
    }
    report_add(&run.report, lane->since_us, clock_mono_us());
    return true;
}

static void run_lanes(const struct options *o, const char *mode, bool is_cycle)
{
    struct options reported = options_as_client(o);
    int64_t busy = o->depth;

    init_lanes(o);
    report_init(&run.report, mode, &reported);
    for (int64_t i = 0; i < o->depth; i++)
        send_push(&run.lanes[i]);
    /* The pipeline is full while time is left; then it runs dry, lane after lane. */
    for (int64_t i = 0; busy > 0; i = (i + 1) % o->depth) {
        struct lane *lane = &run.lanes[i];

        if (lane->since_us == 0 || !turn(lane, is_cycle))
            continue;
        if (report_is_over(&run.report, clock_mono_us())) {
            lane->since_us = 0;
            busy--;
        } else {
            send_push(lane);
        }
    }
    report_print(&run.report);
    fini_lanes();
}

void mode_direct_push(const struct options *o)
{
    run_lanes(o, "direct_push", false);
}

void mode_direct_cycle(const struct options *o)
{
    run_lanes(o, "direct_cycle", true);
}
