#include <inttypes.h>
#include <string.h>

#include "protocol/api/encode.h"
#include "protocol/json/write.h"

/* ---- the store ---- */

void store_add_weak(struct buf *out, const struct store_numbers *n)
{
    buf_add_char(out, '[');
    for (unsigned i = 0; i < n->weak_count; i++) {
        if (!n->weak[i].is_so)
            continue;
        json_next(out);
        json_add_text(out, bytes_of_text(n->weak[i].word));
    }
    buf_add_char(out, ']');
}

static void add_finding(struct buf *out, const struct store_weakness *weakness)
{
    json_put_text(out, "{\"why\":", bytes_of_text(weakness->word));
    json_put_text(out, ",\"message\":", bytes_of_text(weakness->what));
    json_put_text(out, ",\"advice\":", bytes_of_text(weakness->advice));
    buf_add_char(out, '}');
}

static void add_check(struct buf *out, const struct store_numbers *n)
{
    buf_add_char(out, '[');
    for (unsigned i = 0; i < n->weak_count; i++) {
        if (!n->weak[i].is_so)
            continue;
        json_next(out);
        add_finding(out, &n->weak[i]);
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

static void add_master(struct buf *out, const struct store_master *m)
{
    buf_printf(out, "{\"state\":\"%s\"", m->state);
    json_put_text_or_null(out, ",\"address\":", m->address);
    json_put_text_or_null(out, ",\"why\":", m->why);
    buf_printf(out, ",\"buckets\":%" PRIu64 ",\"in_flight\":%" PRIu64 ",\"breaker\":\"%s\"}",
               m->buckets, m->in_flight, m->breaker ? m->breaker : "closed");
}

static void add_masters(struct buf *out, const struct store_numbers *n)
{
    buf_add_text(out, ",\"masters\":[");
    for (unsigned i = 0; i < n->master_count; i++) {
        json_next(out);
        add_master(out, &n->masters[i]);
    }
    buf_add_char(out, ']');
}

static void add_group(struct buf *out, const struct store_numbers *n, unsigned first)
{
    struct buf message = BUF_INIT;

    buf_add_text(out, "{\"buckets\":[");
    for (unsigned i = first; i < n->unreached_count; i++) {
        if (!unreached_is_same(&n->unreached[first], &n->unreached[i]))
            continue;
        json_next(out);
        buf_add_number(out, n->unreached[i].bucket);
    }
    buf_add_char(out, ']');
    json_put_text_or_null(out, ",\"master\":", n->unreached[first].address);
    json_put_text_or_null(out, ",\"why\":", n->unreached[first].why);
    unreached_describe(&message, n, first);
    json_put_text_or_null(out, ",\"message\":", buf_text(&message));
    json_put_text_or_null(out, ",\"advice\":", unreached_advice(&n->unreached[first]));
    buf_add_char(out, '}');
    buf_fini(&message);
}

static void add_unreached(struct buf *out, const struct store_numbers *n)
{
    buf_add_text(out, ",\"unreached\":[");
    for (unsigned i = 0; i < n->unreached_count; i++) {
        if (!unreached_is_first(n, i))
            continue;
        json_next(out);
        add_group(out, n, i);
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
    json_put_bool(out, "{\"up\":", n->is_up);
    json_put_text_or_null(out, ",\"address\":", n->address);
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
 * writes the first member. A member without a value is null.
 */

static int64_t or_none(int64_t ms)
{
    return ms > 0 ? ms : -1;
}

/* ---- this node ---- */

static void add_role(struct buf *out, const struct cluster_status *s)
{
    json_put_text_or_null(out, ",\"role\":", s->role);
    json_put_text_or_null(out, ",\"reason\":", s->reason);
    json_put_number_or_null(out, ",\"role_age_ms\":", s->role_age_ms);
    json_put_bool(out, ",\"may_act\":", s->may_act);
    json_put_text_or_null(out, ",\"token\":", s->token);
    json_put_number_or_null(out, ",\"lease_left_ms\":", s->lease_left_ms);
    json_put_bool(out, ",\"failsafe\":", s->is_failsafe);
    json_put_text_or_null(out, ",\"refused\":", s->refused);
}

static void add_zookeeper(struct buf *out, const struct cluster_status *s)
{
    json_put_text(out, ",\"zookeeper\":{\"session\":", bytes_of_text(s->session));
    json_put_text_or_null(out, ",\"server\":", s->server);
    json_put_text_or_null(out, ",\"why\":", s->session_why);
    json_put_number_or_null(out, ",\"asked_ms\":", s->asked_ms);
    json_put_number_or_null(out, ",\"granted_ms\":", or_none(s->granted_ms));
    json_put_number_or_null(out, ",\"tick_ms\":", or_none(s->tick_ms));
    json_put_number(out, ",\"sessions\":", (int64_t)s->sessions);
    json_put_number(out, ",\"reconnects\":", (int64_t)s->reconnects);
    buf_add_char(out, '}');
}

/* With the counts, and the short form without. */
static void add_vip(struct buf *out, const struct vip_status *v, bool is_short)
{
    if (!v) {
        buf_add_text(out, ",\"vip\":null");
        return;
    }
    json_put_text(out, ",\"vip\":{\"address\":", bytes_of_text(v->addresses));
    json_put_text_or_null(out, ",\"state\":", v->state);
    json_put_bool(out, ",\"here\":", v->is_here);
    json_put_text_or_null(out, ",\"interface\":", v->interface);
    json_put_text_or_null(out, ",\"why\":", v->why);
    json_put_text_or_null(out, ",\"conflict\":", v->conflict);
    if (!is_short) {
        json_put_number(out, ",\"taken\":", (int64_t)v->taken);
        json_put_number(out, ",\"restored\":", (int64_t)v->restored);
        json_put_number(out, ",\"announcements\":", (int64_t)v->announcements);
        json_put_number(out, ",\"conflicts\":", (int64_t)v->conflicts);
        json_put_number(out, ",\"failures\":", (int64_t)v->failures);
    }
    buf_add_char(out, '}');
}

static void add_counters(struct buf *out, const struct cluster_status *s)
{
    json_put_number(out, ",\"since_start\":{\"elections_lost\":", (int64_t)s->elections_lost);
    json_put_number(out, ",\"fenced\":", (int64_t)s->fenced);
    json_put_number(out, ",\"peer_deaths\":", (int64_t)s->peer_deaths);
    json_put_number_or_null(out, ",\"without_leader_total_ms\":", s->without_leader_total_ms);
    json_put_number_or_null(out, ",\"last_failover_ms\":", s->last_failover_ms);
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
    if (!s->is_sharing) {
        buf_add_text(out, ",\"sharing\":null");
        return;
    }
    json_put_number(out, ",\"sharing\":{\"view\":", (int64_t)s->view);
    json_put_number(out, ",\"scanners\":", (int64_t)s->scanners);
    json_put_number(out, ",\"shares\":", (int64_t)s->shares);
    json_put_number(out, ",\"own_shares\":", (int64_t)s->own_shares);
    buf_add_char(out, '}');
}

static void add_leader(struct buf *out, const struct cluster_status *s)
{
    json_put_text_or_null(out, ",\"leader\":", s->leader);
    json_put_number_or_null(out, ",\"leader_epoch\":", or_none((int64_t)s->leader_epoch));
}

static void add_standstill(struct buf *out, const struct cluster_status *s)
{
    json_put_number_or_null(out, ",\"leaderless_ms\":", s->leaderless_ms);
    json_put_number_or_null(out, ",\"stale_ms\":", s->stale_ms);
    json_put_bool(out, ",\"paused\":", s->is_paused);
}

static void add_lead(struct buf *out, const struct cluster_status *s)
{
    add_leader(out, s);
    add_standstill(out, s);
    json_put_text_or_null(out, ",\"paused_by\":", s->is_paused ? s->paused_by : "");
    json_put_number_or_null(
        out, ",\"paused_at_ms\":", s->is_paused ? or_none(s->paused_at_wall_ms) : -1);
    json_put_text_or_null(out, ",\"wanted\":", s->wanted);
    json_put_number_or_null(
        out, ",\"wanted_at_ms\":", s->wanted[0] ? or_none(s->wanted_at_wall_ms) : -1);
    json_put_bool(out, ",\"forced\":", s->wanted[0] && s->is_forced);
    json_put_bool(out, ",\"flapping\":", s->is_flapping);
}

static void add_node(struct buf *out, const struct cluster_node *n)
{
    json_put_text(out, "{\"name\":", bytes_of_text(n->name));
    json_put_bool(out, ",\"here\":", n->is_here);
    json_put_bool(out, ",\"member\":", n->is_member);
    json_put_bool(out, ",\"store_up\":", n->is_store_up);
    json_put_bool(out, ",\"address_away\":", n->is_address_away);
    json_put_bool(out, ",\"fenced\":", n->is_fenced);
    json_put_text_or_null(out, ",\"mode\":", n->mode);
    json_put_bool(out, ",\"scanning\":", n->is_scanning);
    json_put_number(out, ",\"priority\":", (int64_t)n->priority);
    json_put_bool(out, ",\"no_failover\":", n->no_failover);
    json_put_text_or_null(out, ",\"version\":", n->version);
    json_put_text_or_null(out, ",\"http\":", n->http);
    json_put_text_or_null(out, ",\"gmq\":", n->gmq);
    json_put_text_or_null(out, ",\"admin\":", n->admin);
    json_put_text_or_null(out, ",\"peer\":", n->peer);
    buf_add_char(out, '}');
}

static void add_nodes(struct buf *out, const struct cluster_status *s)
{
    buf_add_text(out, ",\"nodes\":[");
    for (unsigned i = 0; i < s->node_count; i++) {
        json_next(out);
        add_node(out, &s->nodes[i]);
    }
    buf_add_char(out, ']');
}

static void add_history(struct buf *out, const struct cluster_status *s)
{
    buf_add_text(out, ",\"history\":[");
    for (unsigned i = 0; i < s->change_count; i++) {
        const struct cluster_change *c = &s->changes[i];

        json_next(out);
        json_put_number(out, "{\"at_ms\":", c->at_wall_ms);
        json_put_text_or_null(out, ",\"node\":", c->node);
        json_put_text_or_null(out, ",\"reason\":", c->reason);
        json_put_number(out, ",\"epoch\":", (int64_t)c->epoch);
        json_put_number_or_null(out, ",\"without_leader_ms\":", c->without_leader_ms);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_findings(struct buf *out, const struct cluster_report *report)
{
    buf_add_text(out, ",\"check\":[");
    for (unsigned i = 0; i < report->count; i++) {
        const struct cluster_finding *f = &report->at[i];

        json_next(out);
        json_put_text(out, "{\"level\":", bytes_of_text(f->is_error ? "error" : "warning"));
        json_put_text_or_null(out, ",\"message\":", f->text);
        json_put_text_or_null(out, ",\"advice\":", f->advice);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

void cluster_add_page(struct buf *out, const char *node, const struct cluster_status *s,
                      bool is_standalone, const struct cluster_report *report)
{
    json_put_text(out, "{\"mode\":", bytes_of_text(is_standalone ? "standalone" : mode_of(s)));
    json_put_text(out, ",\"node\":", bytes_of_text(node));
    if (!is_standalone) {
        add_role(out, s);
        add_lead(out, s);
        add_sharing(out, s);
        add_vip(out, s->vip, false);
        add_zookeeper(out, s);
        add_nodes(out, s);
        add_history(out, s);
        add_counters(out, s);
    } else {
        json_put_text_or_null(out, ",\"role\":", s->may_act ? "leader" : "offline");
        json_put_text_or_null(out, ",\"refused\":", s->refused);
    }
    json_put_bool(out, ",\"can_fail_over\":", report->can_fail_over);
    add_findings(out, report);
    buf_add_char(out, '}');
}

void cluster_add_summary(struct buf *out, const struct cluster_status *s)
{
    struct cluster_report ticks; /* which otherwise only GET /v1/cluster would show */

    json_put_text(out, "{\"mode\":", bytes_of_text(mode_of(s)));
    add_leader(out, s);
    json_put_number_or_null(out, ",\"lease_left_ms\":", s->lease_left_ms);
    add_standstill(out, s);
    json_put_number_or_null(
        out, ",\"paused_at_ms\":", s->is_paused ? or_none(s->paused_at_wall_ms) : -1);
    json_put_text_or_null(out, ",\"zookeeper\":", s->session);
    json_put_text_or_null(out, ",\"refused\":", s->refused);
    json_put_bool(out, ",\"may_act\":", s->may_act);
    json_put_text_or_null(out, ",\"wanted\":", s->wanted);
    add_sharing(out, s);
    add_vip(out, s->vip, true);
    cluster_check_ticks(s, &ticks);
    add_findings(out, &ticks);
    buf_add_char(out, '}');
}
