/* The findings about a cluster: first the store, then cluster mode, then whether a failover
 * would succeed. A finding about the store never keeps a failover from succeeding; mostly all
 * nodes have it, so a failover would not help either. */
#include "protocol/api/cluster_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- unreached buckets ---- */

static const char *text_of(const char *text)
{
    return text ? text : "";
}

bool unreached_is_same(const struct store_unreached *a, const struct store_unreached *b)
{
    return !strcmp(text_of(a->address), text_of(b->address)) &&
           !strcmp(text_of(a->why), text_of(b->why));
}

bool unreached_is_first(const struct store_numbers *n, unsigned i)
{
    for (unsigned before = 0; before < i; before++)
        if (unreached_is_same(&n->unreached[before], &n->unreached[i]))
            return false;
    return true;
}

/* The group's next bucket from `i` on; unreached_count: there is none. */
static unsigned next_of(const struct store_numbers *n, unsigned first, unsigned i)
{
    while (i < n->unreached_count && !unreached_is_same(&n->unreached[first], &n->unreached[i]))
        i++;
    return i;
}

/* Where the run of numbers that begins with `i` ends. */
static unsigned end_of_run(const struct store_numbers *n, unsigned first, unsigned i)
{
    unsigned next = next_of(n, first, i + 1);

    while (next < n->unreached_count &&
           n->unreached[next].bucket == n->unreached[i].bucket + 1) {
        i = next;
        next = next_of(n, first, i + 1);
    }
    return i;
}

void unreached_print(struct buf *to, const struct store_numbers *n, unsigned first)
{
    bool is_one = next_of(n, first, first + 1) == n->unreached_count;
    const char *before = is_one ? "bucket " : "buckets ";

    for (unsigned i = first; i < n->unreached_count;) {
        unsigned last = end_of_run(n, first, i);

        buf_printf(to, "%s%u", before, n->unreached[i].bucket);
        if (last != i)
            buf_printf(to, " to %u", n->unreached[last].bucket);
        before = ", ";
        i = next_of(n, first, last + 1);
    }
}

/* Are all buckets in the group? Buckets without a master are counted apart. */
static bool is_all(const struct store_numbers *n, unsigned first)
{
    uint64_t of_masters = 0, nowhere = 0;

    for (unsigned i = 0; i < n->master_count; i++)
        of_masters += n->masters[i].buckets;
    for (unsigned i = 0; i < n->unreached_count; i++) {
        if (!unreached_is_same(&n->unreached[first], &n->unreached[i]))
            return false;
        nowhere += !*text_of(n->unreached[i].address);
    }
    return n->unreached_count == of_masters + nowhere;
}

/* The buckets come last: they may be many. */
void unreached_describe(struct buf *to, const struct store_numbers *n, unsigned first)
{
    const struct store_unreached *u = &n->unreached[first];

    buf_printf(to, "%s%s%s; ", text_of(u->address), *text_of(u->address) ? ": " : "",
               text_of(u->why));
    if (is_all(n, first)) {
        buf_add_text(to, "all topics stand still");
        return;
    }
    buf_add_text(to, "the topics of ");
    unreached_print(to, n, first);
    buf_add_text(to, " stand still");
}

const char *unreached_advice(const struct store_unreached *u)
{
    return *text_of(u->address)
               ? "look at that Redis, and at the way to it"
               : "'redis-cli --cluster check HOST:PORT' shows which slots nobody has";
}

const struct store_unreached *unreached_find(const struct store_numbers *n, unsigned bucket)
{
    for (unsigned i = 0; i < n->unreached_count; i++)
        if (n->unreached[i].bucket == bucket)
            return &n->unreached[i];
    return NULL;
}

/* ---- findings ---- */

/* Under way. */
struct check {
    const struct cluster_status *s;
    struct cluster_report *report;
    unsigned max;   /* findings in the report */
    bool of_errors; /* this round is for errors */
};

/* Adds a finding, where it is of this round. */
__attribute__((format(printf, 4, 5))) static void
check_find(struct check *c, bool is_error, const char *advice, const char *format, ...)
{
    struct cluster_finding *f = &c->report->at[c->report->count];
    const size_t room = sizeof(f->text);
    va_list args;

    if (is_error != c->of_errors || c->report->count >= c->max)
        return;
    c->report->count++;
    f->is_error = is_error;
    snprintf(f->advice, sizeof(f->advice), "%s", advice);
    va_start(args, format);
    if (vsnprintf(f->text, room, format, args) >= (int)room)
        memcpy(f->text + room - sizeof("..."), "...", sizeof("..."));
    va_end(args);
}

static void check_weakness(struct check *c, const struct store_weakness *weakness)
{
    if (weakness->is_so)
        check_find(c, false, weakness->advice, "%s", weakness->what);
}

static void check_buckets(struct check *c, const struct store_numbers *n, unsigned first)
{
    struct buf text = BUF_INIT;

    unreached_describe(&text, n, first);
    check_find(c, false, unreached_advice(&n->unreached[first]), "%s", buf_text(&text));
    buf_fini(&text);
}

void cluster_check_store(const struct store_numbers *n, struct cluster_report *report)
{
    struct check c = {.report = report, .max = CLUSTER_FINDINGS_MAX};

    for (unsigned i = 0; i < n->unreached_count; i++)
        if (unreached_is_first(n, i))
            check_buckets(&c, n, i);
    for (unsigned i = 0; i < n->weak_count; i++)
        check_weakness(&c, &n->weak[i]);
}

/* Cluster mode: every node whose Redis answers scans, by the same view. None of these findings
 * keeps a failover from succeeding. */

/* Moves are atomic, so both modes work side by side; but the leader still moves what is due in
 * all topics, which may be too much for it. */
static void check_modes(struct check *c)
{
    const struct cluster_node *first = NULL;

    for (unsigned i = 0; i < c->s->node_count; i++) {
        const struct cluster_node *n = &c->s->nodes[i];

        if (!n->is_here || !*text_of(n->mode))
            continue;
        if (!first)
            first = n;
        else if (strcmp(first->mode, n->mode) != 0) {
            check_find(
                c, false,
                "finish the change: the same ha.mode on all nodes, and a restart of each",
                "the nodes are of different modes: %s is set to ha.mode: %s, %s to %s",
                first->name, first->mode, n->name, n->mode);
            return;
        }
    }
}

static bool has_any_a_store(const struct check *c)
{
    for (unsigned i = 0; i < c->s->node_count; i++)
        if (c->s->nodes[i].is_here && c->s->nodes[i].is_store_up)
            return true;
    return false;
}

static void check_view(struct check *c)
{
    if (!c->s->view)
        check_find(c, false, "bring ZooKeeper back; the log says what it answers",
                   "this node has not seen yet who scans: it moves only what others have left "
                   "for a second");
    else if (!c->s->scanners && !has_any_a_store(c))
        check_find(c, false, "look at Redis, and at the nodes' way to it",
                   "no node reaches its Redis: due jobs stand still");
    else if (!c->s->scanners)
        check_find(c, false,
                   "look at the nodes' Redis, and at the rights to scanners/ in ZooKeeper",
                   "no node is listed as scanning: due jobs come a second late");
}

static bool could_scan(const struct cluster_node *n)
{
    return n->is_here && n->is_store_up && !strcmp(text_of(n->mode), "cluster");
}

static void check_scanner(struct check *c, const struct cluster_node *n)
{
    if (could_scan(n) && !n->is_scanning)
        check_find(c, false,
                   "look again: it may be about to start or to stop; else its log says why, as "
                   "does 'dueqctl check' there",
                   "%s is here and does not scan: the others move its topics", n->name);
    else if (n->is_scanning && !n->is_here)
        check_find(c, false,
                   "look at that node: its session with ZooKeeper may be about to end",
                   "%s is listed as scanning, and is not here: its topics come a second late",
                   n->name);
}

/* In cluster mode: do the node's Redis, membership and mode let it scan? */
static void check_sharing(struct check *c)
{
    check_modes(c);
    if (!c->s->is_sharing)
        return;
    check_view(c);
    for (unsigned i = 0; i < c->s->node_count; i++)
        check_scanner(c, &c->s->nodes[i]);
}

/* Each check adds its findings. Two rounds over the same table put errors first. */

#define TIME_ROOM 64
#define TICKS_MIN 4 /* of a session timeout: doc/operations/timeouts.md */

/* What waits without an acting leader. */
static const char *what_waits(const struct check *c)
{
    return c->s->is_sharing ? "due jobs are moved all the same, damaged ones are not repaired"
                            : "due jobs stand still";
}

static bool is_leader(const struct check *c, const struct cluster_node *n)
{
    return !strcmp(n->name, c->s->leader);
}

/* As other nodes see it; of itself a node tells `refused`. */
static bool is_leader_fenced(const struct check *c)
{
    for (unsigned i = 0; i < c->s->node_count; i++)
        if (c->s->nodes[i].is_fenced && is_leader(c, &c->s->nodes[i]))
            return true;
    return false;
}

/* Only the leader itself can find that out: the others see it lead. */
static void check_fence(struct check *c)
{
    for (unsigned i = 0; i < c->s->node_count; i++)
        if (c->s->nodes[i].is_fenced && strcmp(c->s->nodes[i].name, c->s->node) != 0)
            check_find(
                c, true,
                "if the other ensemble is gone for good: 'dueqctl fence adopt', at the leader; "
                "else check ha.zookeeper and store.redis",
                "%s leads, but Redis follows another ZooKeeper ensemble: %s",
                c->s->nodes[i].name, what_waits(c));
}

static bool could_lead(const struct cluster_node *n)
{
    return n->is_here && n->is_member && n->is_store_up && !n->no_failover;
}

/* ---- the cluster ---- */

static void check_session(struct check *c)
{
    const struct cluster_status *s = c->s;

    if (s->refused[0])
        check_find(c, true, "mend that; the node tries again by itself",
                   "this node needs a human: %s", s->refused);
    if (strcmp(s->session, "connected") != 0)
        check_find(c, true, "look at the ZooKeeper servers, and at ha.zookeeper and ha.auth",
                   "this node has no session with ZooKeeper (%s%s%s)", s->session,
                   s->session_why[0] ? ": " : "", s->session_why);
    else if (s->granted_ms != s->asked_ms)
        check_find(c, false,
                   "change ha.session_timeout, or the servers' minSessionTimeout and "
                   "maxSessionTimeout; it is four of their ticks (tickTime) or more",
                   "ZooKeeper grants a session timeout of %" PRId64 " ms, not the %" PRId64
                   " ms of ha.session_timeout",
                   s->granted_ms, s->asked_ms);
}

/* A starting node ends when the servers tell a tick that is too long; this node started when
 * they did not tell. */
static void check_ticks(struct check *c)
{
    const struct cluster_status *s = c->s;
    char advice[200];

    if (strcmp(s->session, "connected") != 0)
        return;
    if (s->tick_ms == 0) {
        snprintf(advice, sizeof(advice),
                 "put 4lw.commands.whitelist=srvr,conf into zoo.cfg of each server, see there "
                 "that tickTime is %" PRId64 " or less, and restart one server after another",
                 s->granted_ms / TICKS_MIN);
        check_find(
            c, false, advice,
            "ZooKeeper (%s) does not tell its tickTime: if the session timeout of %" PRId64
            " ms is less than four ticks, two nodes may lead for a moment",
            s->server, s->granted_ms);
    } else if (TICKS_MIN * s->tick_ms > s->granted_ms) {
        snprintf(advice, sizeof(advice),
                 "set the servers' tickTime to %" PRId64 " or less, or ha.session_timeout to "
                 "%" PRId64 " ms or more on all nodes; a node that starts now ends with 78",
                 s->granted_ms / TICKS_MIN, TICKS_MIN * s->tick_ms);
        check_find(c, false, advice,
                   "ZooKeeper's tickTime of %" PRId64
                   " ms is more than a quarter of the session "
                   "timeout, %" PRId64 " ms: two nodes may lead for a moment",
                   s->tick_ms, s->granted_ms);
    }
}

static void check_leader(struct check *c)
{
    const struct cluster_status *s = c->s;

    if (!s->leader[0] && s->stale_ms > 0)
        check_find(c, true,
                   "bring ZooKeeper back; another node may see more: 'dueqctl --url ... check'",
                   "who leads is not known here; a leader was last seen %" PRId64 " ms ago",
                   s->leaderless_ms);
    else if (!s->leader[0])
        check_find(c, true,
                   s->is_paused
                       ? "failover is paused: 'dueqctl cluster resume', or 'dueqctl switchover'"
                       : "the logs of the nodes say why none stands; is a Redis away?",
                   "no node leads, for %" PRId64 " ms now: %s", s->leaderless_ms,
                   what_waits(c));
    else if (s->leaderless_ms > s->granted_ms &&
             !is_leader_fenced(c)) /* else no other node could act */
        check_find(c, true,
                   "look at its node, and at ZooKeeper; 'dueqctl failover --force' deposes it",
                   "%s holds the lead and has not proven its lease for %" PRId64 " ms: %s",
                   s->leader, s->leaderless_ms, what_waits(c));
    if (s->is_failsafe)
        check_find(c, false, "bring ZooKeeper back; until then nobody else can take over",
                   "the leader has lost ZooKeeper, and goes on by the other nodes' promises");
    if (s->is_flapping)
        check_find(c, false, "'dueqctl history' shows the reasons",
                   "the lead changes too often in these ten minutes");
}

/* The clocks of two nodes differ: a time in the future counts as just now. */
static const char *print_time(char room[TIME_ROOM], int64_t ms)
{
    int64_t s = ms > 0 ? ms / 1000 : 0, min = s / 60, h = min / 60;

    if (h >= 24)
        snprintf(room, TIME_ROOM, "%" PRId64 " d %" PRId64 " h", h / 24, h % 24);
    else if (h > 0)
        snprintf(room, TIME_ROOM, "%" PRId64 " h %" PRId64 " min", h, min % 60);
    else
        snprintf(room, TIME_ROOM, "%" PRId64 " min %" PRId64 " s", min, s % 60);
    return room;
}

static void check_pause(struct check *c)
{
    char room[TIME_ROOM];

    if (!c->s->is_paused)
        return;
    if (!c->s->paused_by[0])
        check_find(c, true, "'dueqctl cluster resume' ends it",
                   "automatic failover is paused: nobody takes over from a leader that dies");
    else
        check_find(
            c, true, "'dueqctl cluster resume' ends it",
            "automatic failover is paused, for %s now (asked of %s): nobody takes over from a "
            "leader that dies",
            print_time(room, c->s->now_wall_ms - c->s->paused_at_wall_ms), c->s->paused_by);
}

static void check_requests(struct check *c)
{
    int64_t in_ms = c->s->wanted_at_wall_ms - c->s->now_wall_ms;
    const char *to = strcmp(c->s->wanted, "*") != 0 ? c->s->wanted : "any other node";
    char room[TIME_ROOM];

    if (c->s->wanted[0] && in_ms >= 1000)
        check_find(c, false,
                   "'dueqctl nodes' shows when; 'dueqctl switchover --cancel' takes it back",
                   "a switchover is planned (to %s), in %s", to, print_time(room, in_ms));
    else if (c->s->wanted[0])
        check_find(c, false, "'dueqctl nodes' shows who leads; wait until it is done",
                   "an operator wants another leader (%s)", to);
}

/* For nodes that are here and lack nothing else. */
static void check_no_failover(struct check *c, const struct cluster_node *n)
{
    if (n->is_here && n->is_member && n->is_store_up && n->no_failover && !is_leader(c, n))
        check_find(c, true,
                   "unset it, or start another node; 'dueqctl switchover --to NODE' works",
                   "%s is set to ha.no_failover, and never leads by itself", n->name);
}

static void check_successor(struct check *c)
{
    const struct cluster_status *s = c->s;

    for (unsigned i = 0; i < s->node_count; i++)
        if (could_lead(&s->nodes[i]) && !is_leader(c, &s->nodes[i]))
            return;
    check_find(c, true, "start another node, or mend what is said of those that are there",
               "no other node could lead now");
    for (unsigned i = 0; i < s->node_count; i++)
        check_no_failover(c, &s->nodes[i]);
}

/* ---- the virtual address ---- */

static void check_vip(struct check *c)
{
    const struct vip_status *v = c->s->vip;

    if (!v)
        return;
    if (!v->is_here && !strcmp(v->state, "held"))
        check_find(c, true, "mend that; the node tries again by itself, several times a second",
                   "this node leads, and does not have the virtual address: %s", v->why);
    else if (v->why[0] && !strcmp(v->state, "away"))
        check_find(c, true,
                   "mend that: a node that takes over without it is not found by its clients",
                   "this node could not take the virtual address: %s", v->why);
    if (v->conflict[0])
        check_find(
            c, false,
            "find that host by its hardware address; nobody else may be set up with this "
            "address",
            "another host has the virtual address (%s), too: %s", v->addresses, v->conflict);
}

/* ---- the nodes ---- */

static void check_node(struct check *c, const struct cluster_node *n)
{
    if (!n->is_here)
        check_find(c, false, "start it; or 'dueqctl forget NODE', when it will not come back",
                   "%s is a member, and not here", n->name);
    else if (!n->is_member)
        check_find(c, false, "a leader adds it within moments; is there one?",
                   "%s is no member yet, and cannot lead", n->name);
    else if (!n->is_store_up)
        check_find(c, false, "look at its Redis, and at its link to it",
                   "the Redis of %s does not answer, so it cannot lead", n->name);
    else if (n->is_address_away &&
             strcmp(n->name, c->s->node) != 0) /* for itself there is a better finding */
        check_find(
            c, false, "'dueqctl check' at that node says why",
            "%s could not have the virtual address: it leads only when no other node can",
            n->name);
}

static void check_versions(struct check *c)
{
    const char *first = NULL;

    for (unsigned i = 0; i < c->s->node_count; i++) {
        const struct cluster_node *n = &c->s->nodes[i];

        if (!n->is_here)
            continue;
        if (!first)
            first = n->version;
        else if (strcmp(first, n->version) != 0) {
            check_find(c, false, "finish the update: standbys first, then a switchover",
                       "the nodes are of different versions (%s and %s)", first, n->version);
            return;
        }
    }
}

static void check_nodes(struct check *c)
{
    for (unsigned i = 0; i < c->s->node_count; i++)
        check_node(c, &c->s->nodes[i]);
    check_versions(c);
}

/* Deaths are noticed, and promises made, over connections of their own. */
static void check_peers(struct check *c)
{
    const struct cluster_status *s = c->s;
    unsigned others = 0;

    for (unsigned i = 0; i < s->node_count; i++)
        others += s->nodes[i].is_here && strcmp(s->nodes[i].name, s->node) != 0;
    if (s->peers_up < others)
        check_find(
            c, false,
            "see that ha.secret is the same on all nodes, and that each can reach the others' "
            "ha.peer.listen; the log says what is wrong",
            "this node is connected with %u of %u other nodes: a dead one of the rest is "
            "noticed only when its session is over",
            s->peers_up, others);
}

static void run(struct check *c)
{
    static void (*const checks[])(struct check * c) = {
        check_session,   check_ticks, check_leader, check_fence, check_pause,   check_requests,
        check_successor, check_vip,   check_nodes,  check_peers, check_sharing,
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        checks[i](c);
}

void cluster_check_alone(const char *refused, struct cluster_report *report)
{
    struct check c = {.report = report, .max = CLUSTER_FINDINGS_MAX, .of_errors = true};

    report->count = 0;
    report->can_fail_over = false;
    if (refused[0])
        check_find(&c, true, "do that; this node looks again every few seconds",
                   "this node is fenced, and does not lead: %s", refused);
    check_find(&c, true,
               "run several nodes with ha.mode: standby, or cluster (doc/operations.md)",
               "this node is alone: there is nobody to take over");
}

void cluster_check_ticks(const struct cluster_status *s, struct cluster_report *report)
{
    struct check c = {.s = s, .report = report, .max = CLUSTER_FINDINGS_MAX};

    report->count = 0;
    report->can_fail_over = true;
    check_ticks(&c);
}

void cluster_check(const struct cluster_status *s, struct cluster_report *report)
{
    struct check c = {.s = s,
                      .report = report,
                      .max = CLUSTER_FINDINGS_MAX - CLUSTER_FINDINGS_STORE,
                      .of_errors = true};

    report->count = 0;
    run(&c);
    report->can_fail_over = report->count == 0;
    c.of_errors = false;
    run(&c);
}
