#include "protocol/api/cluster_encode.h"

#include <inttypes.h>
#include <string.h>

#include "protocol/json/text.h"

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static bool unreached_is_same(const struct store_unreached *a, const struct store_unreached *b)
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

/* ---- store_encode ---- */

static void add_text(struct buf *out, const char *text)
{
    json_add_text(out, bytes_of_text(text));
}

void store_add_weak(struct buf *out, const struct store_numbers *n)
{
    bool is_first = true;

    buf_add_char(out, '[');
    for (unsigned i = 0; i < n->weak_count; i++) {
        if (!n->weak[i].is_so)
            continue;
        buf_add_text(out, is_first ? "" : ",");
        add_text(out, n->weak[i].word);
        is_first = false;
    }
    buf_add_char(out, ']');
}

static void add_finding(struct buf *out, const struct store_weakness *weakness)
{
    buf_add_text(out, "{\"why\":");
    add_text(out, weakness->word);
    buf_add_text(out, ",\"message\":");
    add_text(out, weakness->what);
    buf_add_text(out, ",\"advice\":");
    add_text(out, weakness->advice);
    buf_add_char(out, '}');
}

static void add_check(struct buf *out, const struct store_numbers *n)
{
    bool is_first = true;

    buf_add_char(out, '[');
    for (unsigned i = 0; i < n->weak_count; i++) {
        if (!n->weak[i].is_so)
            continue;
        buf_add_text(out, is_first ? "" : ",");
        add_finding(out, &n->weak[i]);
        is_first = false;
    }
    buf_add_char(out, ']');
}

static void add_breaker(struct buf *out, const struct store_numbers *n, int64_t since_wall_ms)
{
    buf_printf(out,
               "{\"state\":\"%s\",\"since_ms\":%" PRId64 ",\"trips\":%" PRIu64
               ",\"refused\":%" PRIu64 "}",
               n->breaker ? n->breaker : "closed", since_wall_ms, n->breaker_trips, n->broken);
}

/* ---- masters and buckets ---- */

static void add_text_or_null(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text && *text)
        add_text(out, text);
    else
        buf_add_text(out, "null");
}

static void add_master(struct buf *out, const struct store_master *m)
{
    buf_printf(out, "{\"state\":\"%s\"", m->state);
    add_text_or_null(out, "address", m->address);
    add_text_or_null(out, "why", m->why);
    buf_printf(out, ",\"buckets\":%" PRIu64 ",\"in_flight\":%" PRIu64 ",\"breaker\":\"%s\"}",
               m->buckets, m->in_flight, m->breaker ? m->breaker : "closed");
}

static void add_masters(struct buf *out, const struct store_numbers *n)
{
    buf_add_text(out, ",\"masters\":[");
    for (unsigned i = 0; i < n->master_count; i++) {
        buf_add_text(out, i ? "," : "");
        add_master(out, &n->masters[i]);
    }
    buf_add_char(out, ']');
}

static void add_group(struct buf *out, const struct store_numbers *n, unsigned first)
{
    const char *before = "{\"buckets\":[";
    struct buf message = BUF_INIT;

    for (unsigned i = first; i < n->unreached_count; i++) {
        if (!unreached_is_same(&n->unreached[first], &n->unreached[i]))
            continue;
        buf_printf(out, "%s%u", before, n->unreached[i].bucket);
        before = ",";
    }
    buf_add_char(out, ']');
    add_text_or_null(out, "master", n->unreached[first].address);
    add_text_or_null(out, "why", n->unreached[first].why);
    unreached_describe(&message, n, first);
    add_text_or_null(out, "message", buf_text(&message));
    add_text_or_null(out, "advice", unreached_advice(&n->unreached[first]));
    buf_add_char(out, '}');
    buf_fini(&message);
}

static void add_unreached(struct buf *out, const struct store_numbers *n)
{
    bool is_first = true;

    buf_add_text(out, ",\"unreached\":[");
    for (unsigned i = 0; i < n->unreached_count; i++) {
        if (!unreached_is_first(n, i))
            continue;
        buf_add_text(out, is_first ? "" : ",");
        add_group(out, n, i);
        is_first = false;
    }
    buf_add_char(out, ']');
}

static void add_redirects(struct buf *out, const struct store_numbers *n)
{
    buf_printf(out,
               ",\"redirects\":{\"moved\":%" PRIu64 ",\"ask\":%" PRIu64
               ",\"try_again\":%" PRIu64 ",\"down\":%" PRIu64 ",\"maps_read\":%" PRIu64 "}",
               n->moved, n->asked, n->try_again, n->down, n->maps_read);
}

void store_add_status(struct buf *out, const struct store_numbers *n,
                      int64_t breaker_since_wall_ms)
{
    buf_printf(out, "{\"up\":%s,\"address\":", n->is_up ? "true" : "false");
    if (n->address && *n->address)
        add_text(out, n->address);
    else
        buf_add_text(out, "null");
    buf_add_text(out, ",\"weak\":");
    store_add_weak(out, n);
    buf_add_text(out, ",\"breaker\":");
    add_breaker(out, n, breaker_since_wall_ms);
    buf_printf(out, ",\"in_flight\":%" PRIu64 ",\"held\":%" PRIu64 ",\"held_bytes\":%" PRIu64,
               n->in_flight, n->held, n->held_bytes);
    buf_printf(out, ",\"connects\":%" PRIu64 ",\"round_trips\":%" PRIu64 ",\"errors\":%" PRIu64,
               n->connects, n->round_trips, n->errors);
    buf_printf(out,
               ",\"lost\":%" PRIu64 ",\"repeated\":%" PRIu64 ",\"expired\":%" PRIu64
               ",\"dropped\":%" PRIu64 ",\"overflowed\":%" PRIu64,
               n->lost, n->repeated, n->expired, n->dropped, n->overflowed);
    buf_printf(out, ",\"rollbacks\":%" PRIu64 ",\"lost_pushes\":%" PRIu64, n->rollbacks,
               n->lost_pushes);
    add_redirects(out, n);
    add_masters(out, n);
    add_unreached(out, n);
    buf_add_text(out, ",\"check\":");
    add_check(out, n);
    buf_add_char(out, '}');
}

/* Each add_ writes members with a comma in front of each; the function that opens an object
 * writes the first member.
 */

static void add_name(struct buf *out, const char *name)
{
    buf_printf(out, ",\"%s\":", name);
}

/* null for "" */
static void add_text_encode(struct buf *out, const char *name, const char *text)
{
    add_name(out, name);
    if (text[0])
        json_add_text(out, bytes_of_text(text));
    else
        buf_add_text(out, "null");
}

static void add_bool(struct buf *out, const char *name, bool is_true)
{
    add_name(out, name);
    buf_add_text(out, is_true ? "true" : "false");
}

static void add_count(struct buf *out, const char *name, uint64_t n)
{
    add_name(out, name);
    buf_printf(out, "%" PRIu64, n);
}

/* null for what is negative */
static void add_ms(struct buf *out, const char *name, int64_t ms)
{
    add_name(out, name);
    if (ms < 0)
        buf_add_text(out, "null");
    else
        buf_printf(out, "%" PRId64, ms);
}

static int64_t or_none(int64_t ms)
{
    return ms > 0 ? ms : -1;
}

/* ---- this node ---- */

static void add_role(struct buf *out, const struct cluster_status *s)
{
    add_text_encode(out, "role", s->role);
    add_text_encode(out, "reason", s->reason);
    add_ms(out, "role_age_ms", s->role_age_ms);
    add_bool(out, "may_act", s->may_act);
    add_text_encode(out, "token", s->token);
    add_ms(out, "lease_left_ms", s->lease_left_ms);
    add_bool(out, "failsafe", s->is_failsafe);
    add_text_encode(out, "refused", s->refused);
}

static void add_zookeeper(struct buf *out, const struct cluster_status *s)
{
    buf_add_text(out, ",\"zookeeper\":{\"session\":");
    json_add_text(out, bytes_of_text(s->session));
    add_text_encode(out, "server", s->server);
    add_text_encode(out, "why", s->session_why);
    add_ms(out, "asked_ms", s->asked_ms);
    add_ms(out, "granted_ms", or_none(s->granted_ms));
    add_ms(out, "tick_ms", or_none(s->tick_ms));
    add_count(out, "sessions", s->sessions);
    add_count(out, "reconnects", s->reconnects);
    buf_add_char(out, '}');
}

/* With the counts, and the short form without. */
static void add_vip(struct buf *out, const struct vip_status *v, bool is_short)
{
    add_name(out, "vip");
    if (!v) {
        buf_add_text(out, "null");
        return;
    }
    buf_add_text(out, "{\"address\":");
    json_add_text(out, bytes_of_text(v->addresses));
    add_text_encode(out, "state", v->state);
    add_bool(out, "here", v->is_here);
    add_text_encode(out, "interface", v->interface);
    add_text_encode(out, "why", v->why);
    add_text_encode(out, "conflict", v->conflict);
    if (!is_short) {
        add_count(out, "taken", v->taken);
        add_count(out, "restored", v->restored);
        add_count(out, "announcements", v->announcements);
        add_count(out, "conflicts", v->conflicts);
        add_count(out, "failures", v->failures);
    }
    buf_add_char(out, '}');
}

static void add_counters(struct buf *out, const struct cluster_status *s)
{
    buf_add_text(out, ",\"since_start\":{\"elections_lost\":");
    buf_printf(out, "%" PRIu64, s->elections_lost);
    add_count(out, "fenced", s->fenced);
    add_count(out, "peer_deaths", s->peer_deaths);
    add_ms(out, "without_leader_total_ms", s->without_leader_total_ms);
    add_ms(out, "last_failover_ms", s->last_failover_ms);
    buf_add_char(out, '}');
}

/* ---- the cluster ---- */

static const char *mode_of(const struct cluster_status *s)
{
    return s->is_sharing ? "cluster" : "standby";
}

/* Cluster mode; null where one leader moves all that is due. */
static void add_sharing(struct buf *out, const struct cluster_status *s)
{
    add_name(out, "sharing");
    if (!s->is_sharing) {
        buf_add_text(out, "null");
        return;
    }
    buf_printf(out, "{\"view\":%" PRIu64, s->view);
    add_count(out, "scanners", s->scanners);
    add_count(out, "shares", s->shares);
    add_count(out, "own_shares", s->own_shares);
    buf_add_char(out, '}');
}

static void add_lead(struct buf *out, const struct cluster_status *s)
{
    add_text_encode(out, "leader", s->leader);
    add_ms(out, "leader_epoch", s->leader_epoch ? (int64_t)s->leader_epoch : -1);
    add_ms(out, "alone_ms", s->alone_ms);
    add_ms(out, "stale_ms", s->stale_ms);
    add_bool(out, "paused", s->is_paused);
    add_text_encode(out, "paused_by", s->is_paused ? s->paused_by : "");
    add_ms(out, "paused_at_ms", s->is_paused ? or_none(s->paused_at_wall_ms) : -1);
    add_text_encode(out, "wanted", s->wanted);
    add_ms(out, "wanted_at_ms", s->wanted[0] ? or_none(s->wanted_at_wall_ms) : -1);
    add_bool(out, "forced", s->wanted[0] && s->is_forced);
    add_bool(out, "flapping", s->is_flapping);
}

static void add_node(struct buf *out, const struct cluster_node *n)
{
    buf_add_text(out, "{\"name\":");
    json_add_text(out, bytes_of_text(n->name));
    add_bool(out, "here", n->is_here);
    add_bool(out, "member", n->is_member);
    add_bool(out, "store_up", n->is_store_up);
    add_bool(out, "address_away", n->is_address_away);
    add_bool(out, "fenced", n->is_fenced);
    add_text_encode(out, "mode", n->mode ? n->mode : "");
    add_bool(out, "scanning", n->is_scanning);
    add_count(out, "priority", n->priority);
    add_bool(out, "no_failover", n->no_failover);
    add_text_encode(out, "version", n->version);
    add_text_encode(out, "http", n->http);
    add_text_encode(out, "gmq", n->gmq);
    add_text_encode(out, "peer", n->peer);
    buf_add_char(out, '}');
}

static void add_nodes(struct buf *out, const struct cluster_status *s)
{
    buf_add_text(out, ",\"nodes\":[");
    for (unsigned i = 0; i < s->node_count; i++) {
        if (i)
            buf_add_char(out, ',');
        add_node(out, &s->nodes[i]);
    }
    buf_add_char(out, ']');
}

static void add_history(struct buf *out, const struct cluster_status *s)
{
    buf_add_text(out, ",\"history\":[");
    for (unsigned i = 0; i < s->change_count; i++) {
        const struct cluster_change *c = &s->changes[i];

        buf_printf(out, "%s{\"at_ms\":%" PRId64, i ? "," : "", c->at_wall_ms);
        add_text_encode(out, "node", c->node);
        add_text_encode(out, "reason", c->reason);
        add_count(out, "epoch", c->epoch);
        add_ms(out, "without_leader_ms", c->without_leader_ms);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_findings(struct buf *out, const struct cluster_report *report)
{
    buf_add_text(out, ",\"check\":[");
    for (unsigned i = 0; i < report->count; i++) {
        const struct cluster_finding *f = &report->at[i];

        buf_printf(out, "%s{\"level\":\"%s\"", i ? "," : "", f->is_error ? "error" : "warning");
        add_text_encode(out, "message", f->text);
        add_text_encode(out, "advice", f->advice);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_report(struct buf *out, const struct cluster_report *report)
{
    add_bool(out, "can_fail_over", report->can_fail_over);
    add_findings(out, report);
}

void cluster_add_page(struct buf *out, const char *node, const struct cluster_status *s,
                      bool is_alone, const struct cluster_report *report)
{
    buf_printf(out, "{\"mode\":\"%s\",\"node\":", is_alone ? "standalone" : mode_of(s));
    json_add_text(out, bytes_of_text(node));
    if (!is_alone) {
        add_role(out, s);
        add_lead(out, s);
        add_sharing(out, s);
        add_vip(out, s->vip, false);
        add_zookeeper(out, s);
        add_nodes(out, s);
        add_history(out, s);
        add_counters(out, s);
    } else {
        add_text_encode(out, "role", s->may_act ? "leader" : "offline");
        add_text_encode(out, "refused", s->refused);
    }
    add_report(out, report);
    buf_add_char(out, '}');
}

/* The finding about ticks, which otherwise only GET /v1/cluster would show. */
static void add_ticks(struct buf *out, const struct cluster_status *s)
{
    struct cluster_report report;

    cluster_check_ticks(s, &report);
    add_findings(out, &report);
}

void cluster_add_summary(struct buf *out, const struct cluster_status *s)
{
    buf_printf(out, "{\"mode\":\"%s\",\"leader\":", mode_of(s));
    if (s->leader[0])
        json_add_text(out, bytes_of_text(s->leader));
    else
        buf_add_text(out, "null");
    add_ms(out, "leader_epoch", s->leader_epoch ? (int64_t)s->leader_epoch : -1);
    add_ms(out, "lease_left_ms", s->lease_left_ms);
    add_ms(out, "alone_ms", s->alone_ms);
    add_ms(out, "stale_ms", s->stale_ms);
    add_bool(out, "paused", s->is_paused);
    add_ms(out, "paused_at_ms", s->is_paused ? or_none(s->paused_at_wall_ms) : -1);
    add_text_encode(out, "zookeeper", s->session);
    add_text_encode(out, "refused", s->refused);
    add_bool(out, "may_act", s->may_act);
    add_text_encode(out, "wanted", s->wanted);
    add_sharing(out, s);
    add_vip(out, s->vip, true);
    add_ticks(out, s);
    buf_add_char(out, '}');
}
