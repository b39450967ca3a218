/* Each add_ writes members with a comma in front of each; the object's first is written by who
 * opens it.
 */
#include "protocol/http/cluster_encode.h"

#include <inttypes.h>

#include "protocol/json/text.h"

static void add_name(struct buf *out, const char *name)
{
    buf_printf(out, ",\"%s\":", name);
}

/* null for "" */
static void add_text(struct buf *out, const char *name, const char *text)
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

static void add_role(struct buf *out, const struct http_cluster_status *s)
{
    add_text(out, "role", s->role);
    add_text(out, "reason", s->reason);
    add_ms(out, "role_age_ms", s->role_age_ms);
    add_bool(out, "may_act", s->may_act);
    add_text(out, "token", s->token);
    add_ms(out, "lease_left_ms", s->lease_left_ms);
    add_bool(out, "failsafe", s->is_failsafe);
    add_text(out, "refused", s->refused);
}

static void add_zookeeper(struct buf *out, const struct http_cluster_status *s)
{
    buf_add_text(out, ",\"zookeeper\":{\"session\":");
    json_add_text(out, bytes_of_text(s->session));
    add_text(out, "server", s->server);
    add_text(out, "why", s->session_why);
    add_ms(out, "asked_ms", s->asked_ms);
    add_ms(out, "granted_ms", or_none(s->granted_ms));
    add_ms(out, "tick_ms", or_none(s->tick_ms));
    add_count(out, "sessions", s->sessions);
    add_count(out, "reconnects", s->reconnects);
    buf_add_char(out, '}');
}

/* With what it has counted, and the short form without. */
static void add_vip(struct buf *out, const struct http_vip_status *v, bool is_short)
{
    add_name(out, "vip");
    if (!v) {
        buf_add_text(out, "null");
        return;
    }
    buf_add_text(out, "{\"address\":");
    json_add_text(out, bytes_of_text(v->addresses));
    add_text(out, "state", v->state);
    add_bool(out, "here", v->is_here);
    add_text(out, "interface", v->interface);
    add_text(out, "why", v->why);
    add_text(out, "conflict", v->conflict);
    if (!is_short) {
        add_count(out, "taken", v->taken);
        add_count(out, "restored", v->restored);
        add_count(out, "announcements", v->announcements);
        add_count(out, "conflicts", v->conflicts);
        add_count(out, "failures", v->failures);
    }
    buf_add_char(out, '}');
}

static void add_counters(struct buf *out, const struct http_cluster_status *s)
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

static const char *mode_of(const struct http_cluster_status *s)
{
    return s->is_sharing ? "cluster" : "standby";
}

/* Cluster mode; null where one leader moves all that is due. */
static void add_sharing(struct buf *out, const struct http_cluster_status *s)
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

static void add_lead(struct buf *out, const struct http_cluster_status *s)
{
    add_text(out, "leader", s->leader);
    add_ms(out, "leader_epoch", s->leader_epoch ? (int64_t)s->leader_epoch : -1);
    add_ms(out, "alone_ms", s->alone_ms);
    add_ms(out, "stale_ms", s->stale_ms);
    add_bool(out, "paused", s->is_paused);
    add_text(out, "paused_by", s->is_paused ? s->paused_by : "");
    add_ms(out, "paused_at_ms", s->is_paused ? or_none(s->paused_at_wall_ms) : -1);
    add_text(out, "wanted", s->wanted);
    add_ms(out, "wanted_at_ms", s->wanted[0] ? or_none(s->wanted_at_wall_ms) : -1);
    add_bool(out, "forced", s->wanted[0] && s->is_forced);
    add_bool(out, "flapping", s->is_flapping);
}

static void add_node(struct buf *out, const struct http_cluster_node *n)
{
    buf_add_text(out, "{\"name\":");
    json_add_text(out, bytes_of_text(n->name));
    add_bool(out, "here", n->is_here);
    add_bool(out, "member", n->is_member);
    add_bool(out, "store_up", n->is_store_up);
    add_bool(out, "address_away", n->is_address_away);
    add_bool(out, "fenced", n->is_fenced);
    add_text(out, "mode", n->mode ? n->mode : "");
    add_bool(out, "scanning", n->is_scanning);
    add_count(out, "priority", n->priority);
    add_bool(out, "no_failover", n->no_failover);
    add_text(out, "version", n->version);
    add_text(out, "http", n->http);
    add_text(out, "gmq", n->gmq);
    add_text(out, "peer", n->peer);
    buf_add_char(out, '}');
}

static void add_nodes(struct buf *out, const struct http_cluster_status *s)
{
    buf_add_text(out, ",\"nodes\":[");
    for (unsigned i = 0; i < s->node_count; i++) {
        if (i)
            buf_add_char(out, ',');
        add_node(out, &s->nodes[i]);
    }
    buf_add_char(out, ']');
}

static void add_history(struct buf *out, const struct http_cluster_status *s)
{
    buf_add_text(out, ",\"history\":[");
    for (unsigned i = 0; i < s->change_count; i++) {
        const struct http_cluster_change *c = &s->changes[i];

        buf_printf(out, "%s{\"at_ms\":%" PRId64, i ? "," : "", c->at_wall_ms);
        add_text(out, "node", c->node);
        add_text(out, "reason", c->reason);
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
        add_text(out, "message", f->text);
        add_text(out, "advice", f->advice);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_report(struct buf *out, const struct cluster_report *report)
{
    add_bool(out, "can_fail_over", report->can_fail_over);
    add_findings(out, report);
}

void cluster_add_page(struct buf *out, const char *node, const struct http_cluster_status *s,
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
        add_text(out, "role", s->may_act ? "leader" : "offline");
        add_text(out, "refused", s->refused);
    }
    add_report(out, report);
    buf_add_char(out, '}');
}

/* What nobody finds who does not ask for all of the cluster. */
static void add_ticks(struct buf *out, const struct http_cluster_status *s)
{
    struct cluster_report report;

    cluster_check_ticks(s, &report);
    add_findings(out, &report);
}

void cluster_add_summary(struct buf *out, const struct http_cluster_status *s)
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
    add_text(out, "zookeeper", s->session);
    add_text(out, "refused", s->refused);
    add_bool(out, "may_act", s->may_act);
    add_text(out, "wanted", s->wanted);
    add_sharing(out, s);
    add_vip(out, s->vip, true);
    add_ticks(out, s);
    buf_add_char(out, '}');
}
