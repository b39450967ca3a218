#include "node/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "node/lead.h"
#include "node/queue/queue.h"
#include "node/queue/shares.h"
#include "node/store/redis/durability.h"
#include "node/vip/vip_app.h"

_Static_assert(WEAKNESS_COUNT <= STORE_WEAKNESSES_MAX, "there is room for all");

static void add_weaknesses(unsigned weak, struct store_numbers *to)
{
    to->weak_count = WEAKNESS_COUNT;
    for (unsigned w = 0; w < WEAKNESS_COUNT; w++)
        to->weak[w] = (struct store_weakness){
            .word = weakness_word((enum weakness)w),
            .what = weakness_what((enum weakness)w),
            .advice = weakness_advice((enum weakness)w),
            .is_so = weak >> w & 1,
        };
}

static void read_numbers(const struct redis_store_stats *from, struct store_numbers *to)
{
#define X(field, ...) to->field = from->field;
    STORE_METRICS(X)
#undef X
    to->is_up = from->state != REDIS_STORE_DOWN;
    to->round_trips = from->round_trip_us.total;
    to->round_trip_us = &from->round_trip_us;
    to->errors = from->refused + from->malformed;
    to->lost = from->unknown;
    to->moved = from->moved;
    to->asked = from->asked;
    to->try_again = from->try_again;
    to->down = from->down;
    to->breaker = breaker_word(from->breaker);
    to->breaker_since_mono_ms = from->breaker_since_mono_ms;
    add_weaknesses(from->weak, to);
}

/* ---- masters and buckets ---- */

/* Without the address, which stands beside it. Before the first attempt there is no reason. */
static const char *reason_of(const char *why, const char *address)
{
    size_t len = strlen(address);

    if (!*why)
        return "it has not answered yet";
    return len && !strncmp(why, address, len) && !strncmp(why + len, ": ", 2) ? why + len + 2
                                                                              : why;
}

static void read_master(struct report_store *s, unsigned i)
{
    struct redis_lane_stats lane;

    redis_store_lane(s->store, i, &lane);
    s->masters[i] = (struct store_master){
        .address = lane.address,
        .state = lane.state,
        .why = lane.is_up ? "" : reason_of(lane.why, lane.address),
        .breaker = breaker_word(lane.breaker),
        .is_up = lane.is_up,
        .buckets = lane.buckets,
        .in_flight = lane.in_flight,
    };
}

static void read_masters(struct report_store *s, struct store_numbers *to)
{
    unsigned count = redis_store_lanes(s->store);

    while (to->master_count < count && to->master_count < STORE_MASTERS_MAX)
        read_master(s, to->master_count++);
    to->masters = s->masters;
}

static void read_unreached(struct report_store *s, struct store_numbers *to)
{
    for (unsigned b = 0; b < s->buckets && b < STORE_BUCKETS_MAX; b++) {
        const char *address, *why = redis_store_bucket_why(s->store, b, &address);

        if (why)
            s->unreached[to->unreached_count++] = (struct store_unreached){
                .bucket = b, .address = address, .why = reason_of(why, address)};
    }
    to->unreached = s->unreached;
}

void report_store_read(struct report_store *s, struct store_numbers *to)
{
    read_numbers(redis_store_stats(s->store), to);
    to->address = redis_store_address(s->store);
    to->aof_cut_bytes = s->aof_cut_bytes ? *s->aof_cut_bytes : 0;
    read_masters(s, to);
    read_unreached(s, to);
}

/* ---- the cluster ---- */

#define FENCED_ALONE                                                                           \
    "a cluster's leader moves the jobs of this Redis; set ha.mode: standby or cluster "        \
    "and that cluster's ha.zookeeper, or, where that cluster is gone for good: dueqctl fence " \
    "adopt"

/* ---- how it is ---- */

static void read_nodes(struct report_cluster *c, struct cluster_status *to)
{
    while (to->node_count < c->status.node_count && to->node_count < REPORT_NODES_MAX) {
        const struct ha_node *n = &c->status.nodes[to->node_count];

        c->nodes[to->node_count++] = (struct cluster_node){
            .name = n->name,
            .version = n->version,
            .gmq = n->gmq,
            .http = n->http,
            .admin = n->admin,
            .peer = n->peer,
            .priority = n->priority,
            .no_failover = n->no_failover,
            .is_here = n->is_here,
            .is_member = n->is_member,
            .is_store_up = n->store_up,
            .is_address_away = n->is_address_away,
            .is_fenced = n->is_fenced,
            .mode = !n->is_here ? ""
                    : n->shares ? "cluster"
                                : "standby",
            .is_scanning = n->is_scanning,
        };
    }
    to->nodes = c->nodes;
}

static void read_changes(struct report_cluster *c, struct cluster_status *to)
{
    for (; to->change_count < c->status.transition_count; to->change_count++) {
        const struct ha_transition *t = &c->status.transitions[to->change_count];

        c->changes[to->change_count] =
            (struct cluster_change){.at_wall_ms = t->at_wall_ms,
                                    .node = t->node,
                                    .reason = t->reason,
                                    .epoch = t->epoch,
                                    .without_leader_ms = t->without_leader_ms};
    }
    to->changes = c->changes;
}

/* Counts of leading are shown from the start, so that an alert sees the rise from 0 at the
 * first election. */
static bool is_shown(unsigned state, unsigned reason, uint64_t count)
{
    return count || (state == ROLE_LEADER &&
                     (reason == ROLE_ELECTED_REASON || reason == ROLE_FORCED_REASON ||
                      reason == ROLE_RESUMED_REASON));
}

static void read_counts(struct report_cluster *c, struct cluster_status *to)
{
    const struct role *role = c->status.role;

    for (unsigned i = 0; i < REPORT_COUNTS_MAX; i++) {
        unsigned state = i / ROLE_REASON_COUNT, reason = i % ROLE_REASON_COUNT;
        uint64_t count = role->entered[state][reason];

        if (is_shown(state, reason, count))
            c->counts[to->count_count++] =
                (struct cluster_count){role_word((enum role_state)state),
                                       role_reason_word((enum role_reason)reason), count};
    }
    to->counts = c->counts;
}

static void read_hooks(struct report_cluster *c, struct cluster_status *to)
{
    hooks_count(c->hooks, c->hook_counts);
    to->hook_counts = c->hook_counts;
    to->hook_count_count = HOOKS_COUNTS;
}

static void read_shares(struct report_cluster *c, struct cluster_status *to)
{
    struct shares *shares = queue_shares(c->queue);

    if (!shares)
        return;
    to->is_sharing = true;
    to->view = shares_number(shares);
    to->scanners = c->status.scanner_count;
    to->shares = (uint64_t)SHARES * queue_buckets(c->queue);
    to->own_shares = shares_own_count(shares);
}

static void read_role(struct report_cluster *c, struct cluster_status *to)
{
    const struct role *role = c->status.role;

    if (role->state == ROLE_LEADER || role->state == ROLE_DRAINING)
        token_print(&role->token, c->token);
    else
        c->token[0] = '\0';
    to->token = c->token;
    to->role = role_word(role->state);
    to->reason = role_reason_word(role->reason);
    to->role_age_ms = clock_boot_ms() - role->since_boot_ms;
    to->may_act = ha_may_act(node_lead_ha(c->lead));
}

#define TELL_ONE_NODE \
    "is to move the jobs, and tell it `dueqctl fence adopt` again, and no other"

static const char *kind_of(struct bytes token)
{
    return bytes_equal(token, BYTES(OP_TOKEN_STANDALONE)) ? "nodes that are"
                                                          : "the leader with the token";
}

/* For a node that Redis refuses: do all buckets refuse it, or some? */
static void read_divided(struct report_cluster *c, struct cluster_status *to)
{
    struct bytes seen;
    unsigned refusing = queue_divided(c->queue, &seen);

    if (refusing == 0)
        return;
    snprintf(c->divided, sizeof(c->divided),
             "the buckets of Redis are divided: %u of %u follow %s %.*s, others this node%s. "
             "Two nodes were told `dueqctl fence adopt` at the same time, "
             "or one could not end it: decide which of them " TELL_ONE_NODE,
             refusing, queue_buckets(c->queue), kind_of(seen), BYTES_ARG(seen),
             queue_shares(c->queue) ? "" : ", and due jobs come late");
    to->refused = c->divided;
}

static bool read_status(void *arg, struct cluster_status *to)
{
    struct report_cluster *c = arg;
    const struct ha_status *s = &c->status;

    if (!node_lead_ha(c->lead)) {
        to->may_act = !node_lead_is_standalone_fenced(c->lead);
        to->refused = to->may_act ? "" : FENCED_ALONE;
        to->fenced = node_lead_standalone_fenced_count(c->lead);
        if (!to->may_act)
            read_divided(c, to);
        return false;
    }
    ha_status(node_lead_ha(c->lead), &c->status);
    *to = (struct cluster_status){
        .node = c->node,
        .lease_left_ms = s->lease_left_ms,
        .is_failsafe = s->is_failsafe,
        .stale_ms = s->stale_ms,
        .leader = s->leader,
        .leader_epoch = s->leader_token.epoch,
        .leaderless_ms = s->leaderless_ms,
        .is_paused = s->is_paused,
        .paused_at_wall_ms = s->paused_at_wall_ms,
        .paused_by = s->paused_by,
        .now_wall_ms = clock_wall_ms(),
        .wanted = s->wanted,
        .wanted_at_wall_ms = s->wanted_at_wall_ms,
        .is_forced = s->is_forced,
        .is_flapping = s->is_flapping,
        .refused = s->refused,
        .session = coord_session_word(s->session),
        .server = s->server,
        .session_why = s->session_why,
        .asked_ms = c->asked_ms,
        .granted_ms = s->granted_ms,
        .tick_ms = s->tick_ms,
        .peers_up = node_lead_peers_up(c->lead),
        .peers_plain = node_lead_peers_plain(c->lead),
        .elections_lost = s->elections_lost,
        .fenced = s->fenced,
        .sessions = s->sessions,
        .reconnects = s->reconnects,
        .peer_deaths = s->peer_deaths,
        .without_leader_total_ms = (int64_t)s->without_leader_total_ms,
        .last_failover_ms = s->last_failover_ms,
    };
    read_role(c, to);
    read_nodes(c, to);
    read_changes(c, to);
    read_counts(c, to);
    read_hooks(c, to);
    read_shares(c, to);
    if (s->is_fenced)
        read_divided(c, to);
    if (vip_app_read(c->vip, &c->vip_status))
        to->vip = &c->vip_status;
    return true;
}

/* ---- what is wanted ---- */

struct request {
    struct ha_command command;
    struct adoption adoption;
    struct timer refusal; /* answers what is refused at once in a turn of its own */
    struct cluster_command *asked;
    struct report_cluster *cluster;
};

static void answer(struct request *w, enum status status, const char *why)
{
    struct cluster_command *asked = w->asked;

    asked->status = status;
    asked->why = why;
    asked->on_done(asked);
    free(w);
}

static void on_command_done(struct ha_command *command)
{
    answer(CONTAINER_OF(command, struct request, command), command->status, command->why);
}

static void say_lost(const struct report_cluster *c, const struct adoption *adoption, char *why,
                     size_t size)
{
    snprintf(why, size,
             "another node was told `fence adopt` at the same time: of the %u buckets %u went "
             "to %s %s meanwhile, and perhaps neither has all. Decide which of the "
             "two " TELL_ONE_NODE,
             queue_buckets(c->queue), adoption->lost, kind_of(bytes_of_text(adoption->lost_to)),
             adoption->lost_to);
}

static void on_adopted(struct adoption *adoption)
{
    struct request *w = CONTAINER_OF(adoption, struct request, adoption);
    char why[512];

    if (adoption->status == STATUS_OK)
        node_lead_adopted(w->cluster->lead);
    if (adoption->lost) {
        say_lost(w->cluster, adoption, why, sizeof(why));
        answer(w, STATUS_WRONG_STATE, why);
    } else if (adoption->status == STATUS_FENCED)
        answer(w, STATUS_WRONG_STATE, "another node of this cluster leads by now; ask again");
    else if (adoption->status == STATUS_UNAVAILABLE)
        answer(w, STATUS_UNAVAILABLE, "Redis cannot be reached; ask again");
    else if (adoption->status == STATUS_UNKNOWN)
        answer(w, STATUS_UNKNOWN, "Redis did not answer; it is safe to ask again");
    else
        answer(w, adoption->status, "");
}

static const struct ha_node *leader_row(const struct ha_status *s)
{
    for (unsigned i = 0; i < s->node_count; i++)
        if (!strcmp(s->nodes[i].name, s->leader))
            return &s->nodes[i];
    return NULL;
}

/* Of its operators; "": it has none. */
static const char *address_of(const struct ha_node *n)
{
    return n->admin[0] ? n->admin : n->http;
}

/* Only the leader may adopt Redis: any other node would do it on hearsay. */
static void say_who_adopts(struct report_cluster *c, char *why, size_t size)
{
    const struct ha_node *n;

    ha_status(node_lead_ha(c->lead), &c->status);
    n = leader_row(&c->status);
    if (c->status.session != COORD_SESSION_CONNECTED)
        snprintf(why, size,
                 "ZooKeeper is away, and without it nobody leads for sure: bring it "
                 "back, and ask the leader then");
    else if (!c->status.leader[0])
        snprintf(why, size, "there is no leader to adopt it for");
    else if (c->status.role->state == ROLE_LEADER)
        snprintf(why, size,
                 "this node leads, and Redis does not refuse it: there is nothing to adopt");
    else if (!strcmp(c->status.leader, c->node))
        snprintf(why, size, "this node leads, but ZooKeeper does not answer it now; ask again");
    else if (n && *address_of(n))
        snprintf(
            why, size,
            "%s leads, and only the leader can: dueqctl fence adopt on its machine, or with "
            "a token dueqctl --url %s%s fence adopt",
            n->name, strstr(address_of(n), "://") ? "" : "http://", address_of(n));
    else
        snprintf(why, size, "%s leads, and only the leader can: ask it", c->status.leader);
}

static void on_refusal(struct timer *timer)
{
    struct request *w = CONTAINER_OF(timer, struct request, refusal);
    char why[512] = "this node is alone (ha.mode is standalone)";

    if (w->asked->request == CLUSTER_ADOPT && node_lead_ha(w->cluster->lead))
        say_who_adopts(w->cluster, why, sizeof(why));
    else if (w->asked->request == CLUSTER_ADOPT)
        snprintf(why, sizeof(why),
                 "Redis does not refuse this node: there is nothing to adopt");
    answer(w, STATUS_WRONG_STATE, why);
}

static enum ha_request request_of(enum cluster_request request)
{
    static const enum ha_request requests[] = {
        [CLUSTER_SWITCHOVER] = HA_SWITCHOVER, [CLUSTER_FAILOVER] = HA_FAILOVER,
        [CLUSTER_PAUSE] = HA_PAUSE,           [CLUSTER_RESUME] = HA_RESUME,
        [CLUSTER_FORGET] = HA_FORGET,         [CLUSTER_CANCEL] = HA_CANCEL,
    };

    return requests[request];
}

/* False: the request cannot be submitted, and on_done will not come. */
static bool submit_request(struct report_cluster *c, struct request *w)
{
    const struct cluster_command *asked = w->asked;
    struct ha *ha = node_lead_ha(c->lead);

    if (asked->request == CLUSTER_ADOPT)
        return node_lead_adopt(c->lead, &w->adoption);
    if (ha)
        ha_command(ha, &w->command);
    return ha;
}

static void submit(void *arg, struct cluster_command *asked)
{
    struct report_cluster *c = arg;
    struct request *w = must(calloc(1, sizeof(*w)));

    w->asked = asked;
    w->cluster = c;
    w->adoption.on_done = on_adopted;
    if (asked->request != CLUSTER_ADOPT)
        w->command = (struct ha_command){.request = request_of(asked->request),
                                         .to = asked->to,
                                         .at_wall_ms = asked->at_wall_ms,
                                         .on_done = on_command_done};
    timer_init(&w->refusal, on_refusal);
    if (!submit_request(c, w))
        timer_arm(c->timers, &w->refusal, 0);
}

void report_cluster_init(struct report_cluster *c)
{
    c->port = (struct cluster_port){.read = read_status, .submit = submit, .arg = c};
}

/* ---- hooks ---- */

static bool leads(enum role_state state)
{
    return state == ROLE_LEADER || state == ROLE_DRAINING;
}

/* A lead that is kept after all (DRAINING -> LEADER) was never given up. */
void report_cluster_tell(struct hook_hold *hold, const struct role *role,
                         enum role_state before)
{
    char token[TOKEN_TEXT_LEN + 1];
    bool is_fenced =
        role->reason == ROLE_FENCED_REASON || role->reason == ROLE_OTHER_ENSEMBLE_REASON;
    const char *what = leads(role->state) ? "promote" : is_fenced ? "fenced" : "demote";

    if (leads(role->state) == leads(before))
        return;
    token_print(&role->token, token);
    hook_hold_run(hold, what, token, role_reason_word(role->reason));
}
