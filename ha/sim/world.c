#include "ha/sim/world.h"

#include <string.h>

#include "ha/sim/faults.h"
#include "ha/sim/judge.h"

/* How soon a leader is back after the loss of one node: the session ends T after it was last
 * heard, in whole ticks, and a ping may be half a tick late; then the delay of campaigning, and
 * a few round trips. */
#define ONE_GONE_MS (SIM_T + 2 * sim_tick_ms + SIM_T / 20 + 150)

/* How soon a leader that was cut off for less than ONE_GONE_MS leads again: what it had sent
 * arrives when the fault ends, and prolongs its session, so that nobody else may lead. An
 * attempt to connect that began in the fault ends within T/3; the lease is proven T/4 + T/12
 * later, with a beat of T/6 in between (ha/rule/lease.h). */
#define SAME_BACK_MS (SIM_T / 3 + SIM_T / 4 + SIM_T / 12 + SIM_T / 6 + 150)

/* After a storm all nodes may have lost their sessions, and the old sessions hold their names
 * for that long; then a node still has to join and to prove a lease. */
#define ALL_GONE_MS (ONE_GONE_MS + SIM_T)

static struct timers world;
static struct timer next_fault;
static struct sim_result result;
static bool has_preferences; /* so the lead may go back after a fault */

/* ---- time ---- */

/* The timers of all parts that run. */
static unsigned sources(struct timers *all[])
{
    unsigned count = 0;

    all[count++] = &world;
    all[count++] = sim_zk_timers();
    all[count++] = sim_store_timers();
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        if ((all[count] = sim_zk_server_timers(i)))
            count++;
    }
    for (unsigned i = 0; i < SIM_NODES; i++) {
        if (sim_node_runs(&sim_nodes[i]))
            all[count++] = &sim_nodes[i].timers;
    }
    return count;
}

static int64_t due(const struct timers *ts)
{
    return ts->count ? ts->heap[1]->due_mono_ms : INT64_MAX;
}

static bool still_runs(const struct timers *ts)
{
    struct timers *all[3 + SIM_SERVERS + SIM_NODES];
    unsigned count = sources(all);

    for (unsigned i = 0; i < count; i++) {
        if (all[i] == ts)
            return true;
    }
    return false;
}

/* Makes the next event happen. False: there is none until `until_ms`. */
static bool step(int64_t until_ms)
{
    struct timers *all[3 + SIM_SERVERS + SIM_NODES];
    unsigned count = sources(all), first = sim_below(count);
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < count; i++) {
        if (due(all[i]) < next)
            next = due(all[i]);
    }
    if (next > until_ms) {
        sim_now = until_ms;
        sim_judge_step();
        return false;
    }
    if (next > sim_now)
        sim_now = next;
    for (unsigned i = 0; i < count; i++) {
        struct timers *ts = all[(first + i) % count];

        if (due(ts) > sim_now || !still_runs(ts))
            continue;
        timers_run(ts, sim_now);
        sim_judge_step();
    }
    return true;
}

static void run_to(int64_t until_ms)
{
    unsigned same = 0;
    int64_t last = sim_now;

    while (!sim_has_failed() && step(until_ms)) {
        same = sim_now == last ? same + 1 : 0;
        last = sim_now;
        if (same > 2000)
            sim_miss("something turns for ever");
    }
}

static void run(int64_t ms)
{
    run_to(sim_now + ms);
}

/* Returns how long it took until a leader was there; more than `ms` is a failure. */
static int64_t await_leader(int64_t ms, const char *after)
{
    int64_t begin = sim_now, limit = sim_now + ms;

    while (!sim_has_failed() && sim_acting() < 0) {
        if (!step(limit) && sim_acting() < 0)
            sim_miss("%lld ms after %s nobody leads", (long long)ms, after);
    }
    return sim_now - begin;
}

static void longest(int64_t *most, int64_t ms)
{
    if (ms > *most)
        *most = ms;
}

/* Waits, with all faults over, until ZooKeeper's servers have found together. */
static void await_back(int64_t limit_ms)
{
    int64_t limit = sim_now + (SIM_SYNC_TICKS + 3) * sim_tick_ms;

    while (!sim_has_failed() && !sim_zk_is_whole()) {
        run(10);
        if (sim_now > limit)
            sim_miss("ZooKeeper does not find together");
    }
    longest(&result.back_ms, await_leader(limit_ms, "all was mended"));
}

/* ---- a single fault, and calm before and after it ---- */

/* For how long a fault of one node may leave the cluster without a leader. */
static int64_t bound_ms(enum sim_scope scope, int64_t fault_ms, bool is_same_reign)
{
    if (scope == SIM_SCOPE_DEAF)
        return ONE_GONE_MS + SIM_T * 2 / 3;
    if (scope == SIM_SCOPE_CUT && is_same_reign && fault_ms < ONE_GONE_MS &&
        fault_ms + SAME_BACK_MS > ONE_GONE_MS)
        return fault_ms + SAME_BACK_MS;
    return ONE_GONE_MS;
}

static bool is_of_one_node(enum sim_scope scope)
{
    return scope == SIM_SCOPE_NODE || scope == SIM_SCOPE_CUT || scope == SIM_SCOPE_DEAF;
}

static void one_fault(void)
{
    unsigned leads, faults = sim_fault_count();
    enum sim_scope scope;
    int64_t begin_ms, end_ms, most_ms;

    run(sim_between(SIM_T, 2 * SIM_T));
    leads = sim_judge_leads();
    sim_judge_forget_longest();
    begin_ms = sim_now;
    end_ms = sim_fault_begin(&scope);
    run_to(end_ms + 1);
    sim_faults_end();
    await_back(ONE_GONE_MS);
    run(2 * SIM_T);
    if (sim_judge_leads() - leads > sim_fault_count() - faults)
        sim_miss("%u leaders by one fault", sim_judge_leads() - leads);
    if (scope == SIM_SCOPE_NODE || scope == SIM_SCOPE_CUT)
        longest(&result.longest_ms, sim_judge_longest_ms());
    most_ms = bound_ms(scope, end_ms - begin_ms, sim_judge_leads() == leads);
    if (is_of_one_node(scope) && sim_judge_longest_ms() > most_ms)
        sim_miss("%lld ms without a leader by a fault of one node, %lld ms are promised",
                 (long long)sim_judge_longest_ms(), (long long)most_ms);
}

/* ---- many at once ---- */

static void on_next_fault(struct timer *timer)
{
    enum sim_scope scope;

    sim_fault_begin(&scope);
    sim_arm(&world, timer, sim_between(0, 3000));
}

static void storm(void)
{
    sim_arm(&world, &next_fault, 0);
    run(sim_between(3 * SIM_T, 10 * SIM_T));
    timer_disarm(&world, &next_fault);
    sim_trace("all is mended");
    sim_faults_end();
    await_back(ALL_GONE_MS);
}

/* ---- a run ---- */

static void begin(uint64_t seed)
{
    sim_dice_seed(seed);
    sim_now = 1000000;
    sim_tick_ms = SIM_T / sim_between(4, 10);
    sim_trace_clear();
    sim_failure_clear();
    memset(&result, 0, sizeof(result));
    timers_init(&world, sim_now);
    timer_init(&next_fault, on_next_fault);
    sim_faults_init(&world);
    sim_judge_init();
    sim_peers_reset_all();
    sim_store_init();
    sim_zk_init();
    has_preferences = seed % 4 == 3;
    sim_nodes_init(sim_chance(50) ? HA_FAILSAFE : HA_STOP, has_preferences, sim_chance(60));
    for (unsigned i = 0; i < SIM_NODES; i++)
        sim_node_start(i);
}

static void await_all_acked(void)
{
    int64_t limit = sim_now + 20 * SIM_T;

    sim_store_stop_pushing();
    while (!sim_has_failed() && !sim_store_is_empty()) {
        run(200);
        if (sim_now > limit)
            sim_fail("jobs are lost: some were never acknowledged");
    }
}

/* Waits until every scanning node has its znode again: an ended session has deleted the old
 * one.
 */
static void await_shares(void)
{
    int64_t limit = sim_now + ALL_GONE_MS;

    while (!sim_has_failed() && !sim_nodes_share()) {
        run(10);
        if (sim_now > limit)
            sim_miss("not all know that all scan");
    }
}

static void end(void)
{
    result.faults = sim_fault_count();
    result.leads = sim_judge_leads();
    result.acked = sim_store_acked();
    result.fenced = sim_store_fenced();
    result.zk_leaders = sim_zk_leaders();
    result.lasted_ms = sim_now - 1000000;
    sim_faults_end();
    sim_nodes_fini();
    sim_zk_fini();
    sim_store_fini();
    timers_fini(&world);
}

/* At most one lead more for each fault; a preferred node may also take the lead back. */
static void judge_leads(void)
{
    unsigned most = sim_fault_count() + 1;

    if (has_preferences)
        most *= 2;
    if (!sim_has_failed() && sim_judge_leads() > most)
        sim_miss("%u leaders, and %u faults only", sim_judge_leads(), sim_fault_count());
}

bool sim_run(uint64_t seed, struct sim_result *r)
{
    begin(seed);
    await_leader(3 * SIM_T, "the start");
    if (seed % 2) {
        storm();
    } else {
        for (int i = 0; i < 3 && !sim_has_failed(); i++)
            one_fault();
    }
    await_all_acked();
    await_shares();
    judge_leads();
    end();
    *r = result;
    return !sim_has_failed();
}
