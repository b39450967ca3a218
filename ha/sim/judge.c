#include "ha/sim/judge.h"

#include <string.h>

static struct {
    uint64_t epoch; /* the highest epoch that has led */
    unsigned holder;
    unsigned leads;
    int64_t leaderless_since_ms; /* -1: a node may act */
    int64_t longest_ms;
} judge;

void sim_judge_init(void)
{
    judge.epoch = 0;
    judge.leads = 0;
    judge.leaderless_since_ms = sim_now;
    judge.longest_ms = 0;
}

static void note_leaderless(bool is_leaderless)
{
    if (!is_leaderless) {
        judge.leaderless_since_ms = -1;
        return;
    }
    if (judge.leaderless_since_ms < 0)
        judge.leaderless_since_ms = sim_now;
    if (sim_now - judge.leaderless_since_ms > judge.longest_ms)
        judge.longest_ms = sim_now - judge.leaderless_since_ms;
}

void sim_judge_step(void)
{
    const struct sim_node *first = NULL;

    for (unsigned i = 0; i < SIM_NODES; i++) {
        const struct sim_node *n = &sim_nodes[i];

        if (!sim_node_may_act(i))
            continue;
        if (first)
            sim_fail("%s and %s may act at once", first->name, n->name);
        first = n;
    }
    note_leaderless(!first);
}

void sim_judge_role(const struct sim_node *n, const struct role *role, enum role_state before)
{
    uint64_t epoch = role->token.epoch;

    if (role->state != ROLE_LEADER)
        return;
    if (epoch > judge.epoch) {
        judge.epoch = epoch;
        judge.holder = n->number;
        judge.leads++;
    } else if (epoch < judge.epoch || judge.holder != n->number) {
        sim_fail("%s leads with epoch %llu, and %llu has led already", n->name,
                 (unsigned long long)epoch, (unsigned long long)judge.epoch);
    }
}

void sim_judge_fenced(const struct sim_node *n)
{
    sim_trace("%s: is fenced, epoch %llu", n->name, (unsigned long long)n->token.epoch);
    if (sim_node_may_act(n->number))
        sim_fail("%s may act, and a higher token has acted before", n->name);
}

/* Does a stopping node's list lack the node itself? Then it scans nothing any more. */
static bool leaves_itself_out(const struct sim_node *n, unsigned i)
{
    return n->is_stopping && n->number == i && !n->scans[i];
}

static bool have_same_list(const struct sim_node *a, const struct sim_node *b)
{
    for (unsigned i = 0; i < SIM_NODES; i++) {
        if (a->scans[i] != b->scans[i] && !leaves_itself_out(a, i) && !leaves_itself_out(b, i))
            return false;
    }
    return true;
}

void sim_judge_view(const struct sim_node *n)
{
    for (unsigned i = 0; i < SIM_NODES; i++) {
        const struct sim_node *other = &sim_nodes[i];

        if (other->view == n->view && !have_same_list(n, other))
            sim_fail("%s and %s have different lists of view %llu", n->name, other->name,
                     (unsigned long long)n->view);
    }
}

unsigned sim_judge_leads(void)
{
    return judge.leads;
}

int64_t sim_judge_longest_ms(void)
{
    return judge.longest_ms;
}

void sim_judge_forget_longest(void)
{
    judge.longest_ms = 0;
}
