#include "ha/sim/node.h"

#include <stdio.h>
#include <string.h>

#include "ha/fake/process.h"
#include "ha/sim/judge.h"

#define SCAN_MS 100

struct sim_node sim_nodes[SIM_NODES];

/* ---- the scanner ---- */

static bool is_asserted(const struct sim_node *n)
{
    return n->asserted == SIM_BUCKETS;
}

static void send_script(struct sim_node *n, enum sim_kind kind, unsigned bucket,
                        const struct buf *jobs)
{
    struct sim_note *script = sim_note_new(kind, n->number);

    script->token = n->token;
    script->bucket = bucket;
    script->seq = n->lead;
    script->is_look = kind != SIM_ASSERT;
    if (jobs)
        buf_add_bytes(&script->base.data, buf_bytes(jobs));
    n->in_flight++;
    n->looking += kind != SIM_ASSERT;
    sim_store_send(script, &n->from_store);
}

/* Looks go out only when none is under way; an assert, which has an effect, at any time. */
static void send_scripts(struct sim_node *n)
{
    bool all = n->in_flight == 0 || (is_asserted(n) && n->looking == 0);

    for (unsigned b = 0; b < SIM_BUCKETS && all && sim_node_may_act(n->number); b++)
        send_script(n, is_asserted(n) ? SIM_LOOK : SIM_ASSERT, b, NULL);
    if (is_asserted(n) && sim_node_may_act(n->number))
        send_script(n, SIM_ASSERT, sim_below(SIM_BUCKETS), NULL);
}

static void on_scan(struct timer *timer)
{
    struct sim_node *n = CONTAINER_OF(timer, struct sim_node, scan);

    if (n->role == ROLE_LEADER)
        send_scripts(n);
    else if (n->role == ROLE_DRAINING && n->in_flight == 0)
        ha_drained(n->ha);
    if (n->role == ROLE_LEADER || n->role == ROLE_DRAINING)
        sim_arm(&n->timers, timer, SCAN_MS);
}

static void take_answer(struct sim_node *n, const struct sim_note *note)
{
    n->in_flight--;
    n->looking -= note->is_look;
    if (note->kind == SIM_FENCED) {
        sim_judge_fenced(n);
        ha_fenced(n->ha, &note->token);
    } else if (note->kind == SIM_DONE && !is_asserted(n)) {
        n->asserted++;
    } else if (note->kind == SIM_DUE && note->base.data.len && sim_node_may_act(n->number)) {
        send_script(n, SIM_MOVE, note->bucket, &note->base.data);
    }
    if (n->role == ROLE_DRAINING && n->in_flight == 0)
        ha_drained(n->ha);
}

static void on_answer(struct fake_wire *w, struct fake_message *m)
{
    struct sim_node *n = CONTAINER_OF(w, struct sim_node, from_store);
    struct sim_note *note = sim_note_of(m);

    if (note->seq == n->lead)
        take_answer(n, note);
    sim_note_free(note);
}

/* ---- what ha asks and tells ---- */

static int64_t now_boot_ms(void *arg)
{
    const struct sim_node *n = arg;

    return sim_now + n->clock_offset_ms;
}

static int64_t now_wall_ms(void *arg)
{
    return sim_now + 1700000000000;
}

static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct sim_node *n = arg;

    if (n->is_dying)
        return;
    sim_trace("%s: %s -> %s, %s, epoch %llu", n->name, role_word(before),
              role_word(role->state), role_reason_word(role->reason),
              (unsigned long long)role->token.epoch);
    n->role = role->state;
    if (role->state == ROLE_LEADER && before != ROLE_DRAINING) {
        n->token = role->token;
        n->asserted = n->in_flight = n->looking = 0;
        n->lead++;
    }
    if (role->state == ROLE_LEADER || role->state == ROLE_DRAINING)
        sim_arm(&n->timers, &n->scan, 0);
    sim_judge_role(n, role, before);
}

static void on_refused(void *arg, const char *why)
{
    const struct sim_node *n = arg;

    if (!n->is_dying)
        sim_fail("%s is refused: %s", n->name, why);
}

static void on_scanners(void *arg, const struct ha_scanners *scanners)
{
    struct sim_node *n = arg;

    if (n->is_dying)
        return;
    n->view = scanners->number;
    memset(n->scans, 0, sizeof(n->scans));
    for (unsigned k = 0; k < scanners->count; k++) {
        for (unsigned i = 0; i < SIM_NODES; i++)
            n->scans[i] |= !strcmp(scanners->nodes[k], sim_nodes[i].name);
    }
    sim_trace("%s: view %llu of %u", n->name, (unsigned long long)n->view, scanners->count);
    sim_judge_view(n);
}

bool sim_nodes_share(void)
{
    for (unsigned i = 0; i < SIM_NODES; i++) {
        for (unsigned k = 0; k < SIM_NODES; k++) {
            if (sim_nodes[i].options.shares && !sim_nodes[i].scans[k])
                return false;
        }
        if (sim_nodes[i].view != sim_nodes[0].view)
            return false;
    }
    return true;
}

bool sim_node_may_act(unsigned i)
{
    return sim_nodes[i].ha && ha_may_act(sim_nodes[i].ha);
}

int sim_acting(void)
{
    for (int i = 0; i < SIM_NODES; i++) {
        if (sim_node_may_act((unsigned)i))
            return i;
    }
    return -1;
}

/* ---- life ---- */

void sim_node_start(unsigned i)
{
    struct sim_node *n = &sim_nodes[i];

    if (n->ha)
        return;
    sim_trace("%s: starts", n->name);
    n->is_frozen = n->is_dying = n->is_stopping = false;
    n->has_vanished = n->is_store_down = false;
    n->role = ROLE_OFFLINE;
    timers_init(&n->timers, sim_now);
    timer_init(&n->scan, on_scan);
    fake_wire_init(&n->from_store, &n->timers, on_answer);
    sim_client_init(&n->zk, &n->timers, SIM_T);
    sim_peers_init(&n->peers, i, &n->timers);
    n->ha = fake_process_begin(&n->options, &n->zk.zk, &n->peers.base, &n->timers);
    n->view = 0;
    memset(n->scans, 0, sizeof(n->scans));
    ha_store_is(n->ha, true);
    ha_scans(n->ha, true);
}

void sim_node_kill_worker(unsigned i)
{
    struct sim_node *n = &sim_nodes[i];

    if (!n->ha)
        return;
    sim_trace("%s: killed", n->name);
    n->is_dying = true;
    timer_disarm(&n->timers, &n->scan);
    sim_store_forget(i);
    fake_wire_fini(&n->from_store);
    sim_peers_fini(&n->peers);
    fake_process_kill(n->ha, &n->zk.zk, &n->timers, sim_now);
    n->ha = NULL;
    n->is_frozen = false;
    sim_peers_fini(&n->peers);
    sim_client_hold(&n->zk, false, false);
    fake_coordinator_fini(&n->zk.zk);
    timers_fini(&n->timers);
    sim_peers_died(i);
}

void sim_node_kill(unsigned i)
{
    if (sim_nodes[i].ha)
        sim_nodes[i].options.incarnation++;
    sim_node_kill_worker(i);
}

void sim_node_freeze(unsigned i, bool is_frozen)
{
    struct sim_node *n = &sim_nodes[i];

    if (n->ha && n->is_frozen != is_frozen) {
        sim_trace("%s: %s", n->name, is_frozen ? "frozen" : "thawed");
        n->is_frozen = is_frozen;
    }
}

void sim_node_set_store(unsigned i, bool is_up)
{
    struct sim_node *n = &sim_nodes[i];

    n->is_store_down = !is_up;
    if (!sim_node_runs(n))
        return;
    ha_store_is(n->ha, is_up);
    ha_scans(n->ha, is_up);
}

void sim_nodes_init(enum ha_on_loss on_loss, bool has_preferences, bool shares)
{
    unsigned barred = has_preferences ? sim_below(2 * SIM_NODES) : SIM_NODES;

    for (unsigned i = 0; i < SIM_NODES; i++) {
        struct sim_node *n = &sim_nodes[i];

        *n = (struct sim_node){.number = i, .clock_offset_ms = sim_between(0, 1000000)};
        snprintf(n->name, sizeof(n->name), "n%c", 'a' + (char)i);
        snprintf(n->address, sizeof(n->address), "10.0.0.%u:9504", i + 1);
        n->options = fake_process_options(n->name, n->address);
        n->options.incarnation = 1000000 * (i + 1);
        n->options.session_ms = SIM_T;
        n->options.on_loss = on_loss;
        if (has_preferences)
            n->options.priority = sim_below(101);
        n->options.no_failover = i == barred;
        n->options.tenure_ms = SIM_T;
        n->options.flap_max = 1000;
        n->options.now_boot_ms = now_boot_ms;
        n->options.now_wall_ms = now_wall_ms;
        n->options.on_role = on_role;
        n->options.on_refused = on_refused;
        n->options.shares = shares;
        n->options.on_scanners = on_scanners;
        n->options.arg = n;
    }
}

void sim_nodes_fini(void)
{
    for (unsigned i = 0; i < SIM_NODES; i++)
        sim_node_kill(i);
}
