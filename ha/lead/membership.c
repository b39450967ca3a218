/* Who may campaign: the znode `members`, the names that this node has added, and who could lead
 * now. Joining: the shared znodes, and the node's own.
 */
#include "ha/lead/membership.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "ha/rule/record.h"

static void propose(struct membership *m, struct buf *text, const char *name)
{
    record_add(text, "member", name);
    for (unsigned i = 0; i < m->proposed_count; i++) {
        if (!strcmp(m->proposed[i], name))
            return;
    }
    if (m->proposed_count < PEERS_MAX)
        snprintf(m->proposed[m->proposed_count++], HA_NODE_MAX + 1, "%s", name);
}

static bool is_new(const struct membership *m, const struct view_node *n)
{
    return n->node.is_here &&
           (m->view->member_count == 0 || !view_is_member(m->view, n->node.name));
}

void membership_propose(struct membership *m, int64_t session_ms, struct buf *text)
{
    struct view *v = m->view;
    unsigned count = v->member_count;

    buf_clear(text);
    record_add_number(text, "timeout_ms", session_ms);
    for (unsigned i = 0; i < v->member_count; i++)
        propose(m, text, v->members[i]);
    VIEW_EACH_NODE (n, v) {
        if (count < PEERS_MAX && is_new(m, n)) {
            propose(m, text, n->node.name);
            count++;
        }
    }
    /* The read follows the caller's write; until then the proposed names count. */
    view_refresh(v, VIEW_MEMBERS);
}

void membership_add_others(const struct membership *m, struct failsafe *f)
{
    const struct view *v = m->view;
    const char *own = m->context->options->node;

    for (unsigned i = 0; i < v->member_count; i++) {
        if (strcmp(v->members[i], own) != 0)
            failsafe_add_member(f, v->members[i]);
    }
    for (unsigned i = 0; i < m->proposed_count; i++) {
        if (strcmp(m->proposed[i], own) != 0)
            failsafe_add_member(f, m->proposed[i]);
    }
}

bool membership_is_listed(const struct membership *m)
{
    const struct view *v = m->view;

    return v->items[VIEW_MEMBERS].is_known && v->member_count > 0 &&
           view_is_member(v, m->context->options->node);
}

/* `members` is being read already. */
static void membership_on_added(struct coord_request *request)
{
    struct membership *m = CONTAINER_OF(request, struct membership, adding);

    if (request->call.status != COORD_OK)
        m->add_boot_ms = context_retry_boot_ms(m->context);
}

static bool is_anybody_new(const struct membership *m)
{
    VIEW_EACH_NODE (n, m->view) {
        if (is_new(m, n))
            return true;
    }
    return false;
}

bool membership_is_full(const struct membership *m)
{
    return m->view->member_count == PEERS_MAX && is_anybody_new(m);
}

static bool has_new_nodes(const struct membership *m)
{
    return is_anybody_new(m) && !membership_is_full(m);
}

/* Adds new nodes and this leader's T to `members`. */
static void membership_add(struct membership *m, const struct lead *lead, int64_t now)
{
    struct view *v = m->view;
    int64_t session_ms = context_session_ms(m->context);

    if (m->adding.is_in_flight || !view_is_fresh(v, VIEW_MEMBERS))
        return;
    m->proposed_count = 0; /* `members` is as read */
    if (!lead->is_mine || !lead->is_taken_up ||
        (!has_new_nodes(m) && v->members_timeout_ms == session_ms))
        return;
    if (now < m->add_boot_ms) {
        context_wake_at(m->context, m->add_boot_ms);
        return;
    }
    membership_propose(m, session_ms, &m->add_text);
    m->add[0] = (struct coord_change){
        .kind = COORD_CHECK, .path = v->items[VIEW_EPOCH].path, .version = lead->epoch_version};
    m->add[1] = (struct coord_change){.kind = COORD_SET,
                                      .path = v->items[VIEW_MEMBERS].path,
                                      .data = buf_bytes(&m->add_text),
                                      .version = v->items[VIEW_MEMBERS].version};
    coord_request_write(&m->adding, m->add, 2);
}

bool membership_can_lead(const struct membership *m, const struct ha_node *n, bool is_wanted)
{
    return n->is_here && n->store_up && !n->is_address_away &&
           view_is_member(m->view, n->name) && (is_wanted || !n->no_failover);
}

bool membership_is_candidate(const struct membership *m, const struct view_node *n)
{
    return strcmp(n->node.name, m->context->options->node) != 0 &&
           membership_can_lead(m, &n->node, false);
}

const struct ha_node *membership_best(const struct membership *m)
{
    const struct ha_node *best = NULL;

    VIEW_EACH_NODE (n, m->view) {
        if (!membership_is_candidate(m, n))
            continue;
        if (!best || n->node.priority > best->priority ||
            (n->node.priority == best->priority && strcmp(n->node.name, best->name) < 0))
            best = &n->node;
    }
    return best;
}

/* Created after the components of the root, in this order; the last one only where all nodes
 * scan. */
static const char *const parents[] = {"ensemble", "epoch",   "nodes",   "members",
                                      "control",  "history", "scanners"};

#define PARENTS (sizeof(parents) / sizeof(*parents))

static size_t parent_count(const struct membership *m)
{
    return m->context->options->shares ? PARENTS : PARENTS - 1;
}

/* ---- texts ---- */

static void print_hex(struct buf *text, const char *key, uint64_t number)
{
    char digits[17];

    snprintf(digits, sizeof(digits), "%016" PRIx64, number);
    record_add(text, key, digits);
}

void membership_print(const struct membership *m, uint64_t beat, struct buf *text)
{
    const struct ha_options *o = m->context->options;

    buf_clear(text);
    record_add(text, "node", o->node);
    record_add(text, "version", o->version);
    if (o->abilities)
        record_add(text, "abilities", o->abilities);
    record_add(text, "http", o->http);
    record_add(text, "gmq", o->gmq);
    if (o->admin && *o->admin)
        record_add(text, "admin", o->admin);
    record_add(text, "peer", o->peer);
    print_hex(text, "incarnation", o->incarnation);
    record_add_number(text, "priority", o->priority);
    record_add(text, "no_failover", o->no_failover ? "yes" : "no");
    if (o->shares)
        record_add(text, "mode", "cluster");
    record_add(text, "store", m->store_up ? "up" : "down");
    record_add_number(text, "timeout_ms", o->session_ms);
    if (m->is_fenced)
        record_add(text, "fenced", "yes");
    if (m->is_address_away)
        record_add(text, "address_away", "yes");
    if (beat)
        record_add_number(text, "beat", (int64_t)beat);
}

/* A uuid that no other ensemble has. The first node to come creates it. */
static void print_ensemble(struct buf *text)
{
    uint64_t half[2];
    char digits[TOKEN_ENSEMBLE_LEN + 1];

    if (getrandom(half, sizeof(half), 0) != sizeof(half))
        abort();
    snprintf(digits, sizeof(digits), "%016" PRIx64 "%016" PRIx64, half[0], half[1]);
    record_add(text, "uuid", digits);
}

/* ---- joining ---- */

/* The path of a step among the root's components: "/dueq", then "/dueq/main". False: none. */
static bool root_step(const struct membership *m, unsigned step, char path[CONTEXT_PATH_MAX])
{
    const char *root = m->context->options->root, *end = root;

    for (unsigned i = 0; i <= step; i++) {
        if (!*end)
            return false;
        end = strchr(end + 1, '/');
        if (!end)
            end = root + strlen(root);
    }
    snprintf(path, CONTEXT_PATH_MAX, "%.*s", (int)(end - root), root);
    return true;
}

static unsigned root_steps(const struct membership *m)
{
    unsigned count = 0;

    for (const char *at = m->context->options->root; *at; at++)
        count += *at == '/';
    return count;
}

static bool is_parent_step(const struct membership *m)
{
    return m->step < root_steps(m) + parent_count(m);
}

bool membership_has_parents(const struct membership *m)
{
    return !is_parent_step(m);
}

static void create(struct membership *m)
{
    buf_clear(&m->text);
    m->change = (struct coord_change){.kind = COORD_CREATE, .path = m->path};
    if (!is_parent_step(m)) {
        context_path(m->context, m->path, "nodes", m->context->options->node);
        membership_print(m, 0, &m->text);
        m->change.kind = COORD_CREATE_EPHEMERAL;
    } else if (!root_step(m, m->step, m->path)) {
        const char *name = parents[m->step - root_steps(m)];

        context_path(m->context, m->path, name, NULL);
        if (!strcmp(name, "ensemble"))
            print_ensemble(&m->text);
        else if (!strcmp(name, "epoch"))
            record_add_number(&m->text, "epoch", 0);
    }
    m->change.data = buf_bytes(&m->text);
    coord_request_write(&m->request, &m->change, 1);
}

static void retry_later(struct membership *m)
{
    m->retry_boot_ms = context_retry_boot_ms(m->context);
}

static void registered(struct membership *m)
{
    m->is_registered = true;
    m->is_duplicate = false;
    m->rival = 0;
    m->view->list.is_stale = true;
}

static void on_answer(struct coord_request *request)
{
    struct membership *m = CONTAINER_OF(request, struct membership, request);
    enum coord_status status = request->call.status;

    if (!coord_request_is_answered(request))
        return;
    m->is_denied = status == COORD_DENIED;
    if (is_parent_step(m)) {
        if (status == COORD_OK || status == COORD_EXISTS)
            m->step++;
        else
            retry_later(m);
    } else if (status == COORD_OK) {
        registered(m);
    } else {
        m->is_registered = false;
        m->view->list.is_stale = true;
        if (status == COORD_NO_NODE)
            m->step = 0;
        else
            retry_later(m);
    }
}

/* Does the rival outlast 2T? The session of a dead process ends within T, counted from when the
 * rival was first seen or from a newer connection: servers that find a quorum again close the
 * connections and give each session a fresh T. Time alone proves nothing, because this process
 * may have stood still, and a server that lags behind shows sessions that have ended. A read
 * that follows a write made after the 2T is the proof.
 */
static bool outlasts(const struct membership *m, const struct view_node *rival)
{
    int64_t timeout_ms = rival->timeout_ms ? rival->timeout_ms : context_session_ms(m->context);
    int64_t since = m->rival_since_boot_ms;

    if (since < m->context->connected_boot_ms)
        since = m->context->connected_boot_ms;
    return coord_request_is_answered(&m->request) &&
           m->request.sent_boot_ms >= since + 2 * timeout_ms &&
           rival->znode.request.sent_boot_ms >= m->request.acked_boot_ms;
}

/* Our name is taken by this session (an answer was lost), by an earlier one, or by a stranger.
 */
static bool look_who_has_our_name(struct membership *m, int64_t now)
{
    const struct view_node *n = view_find(m->view, m->context->options->node);

    /* The znode is being read again. */
    if (n && (!n->znode.is_known || n->znode.is_stale || n->znode.request.is_in_flight))
        return false;
    if (!n || !n->node.is_here) {
        m->rival = 0;
        return false;
    }
    if (n->node.owner == m->context->coordinator->credentials.session) {
        registered(m);
        return true;
    }
    if (m->rival != n->node.owner) {
        m->rival = n->node.owner;
        m->rival_since_boot_ms = now;
        m->is_duplicate = false;
    }
    if (n->node.incarnation != m->context->options->incarnation && outlasts(m, n))
        m->is_duplicate = true;
    return true;
}

static bool is_own_missing(const struct membership *m)
{
    const struct view_znode *list = &m->view->list;
    const struct view_node *n = view_find(m->view, m->context->options->node);

    if (!list->is_known || list->is_stale || list->request.is_in_flight)
        return false;
    if (!n)
        return true;
    if (!n->znode.is_known || n->znode.is_stale || n->znode.request.is_in_flight)
        return false;
    return !n->node.is_here || n->node.owner != m->context->coordinator->credentials.session;
}

/* Was a shared znode deleted, by hand or with all of ZooKeeper's data? */
static bool is_parent_missing(const struct membership *m)
{
    for (unsigned i = 0; i < VIEW_ITEMS; i++) {
        if (i != VIEW_LEADER && view_is_fresh(m->view, i) && !m->view->items[i].exists)
            return true;
    }
    return false;
}

void membership_tick(struct membership *m, const struct lead *lead, int64_t now)
{
    if (!context_is_connected(m->context))
        return;
    membership_add(m, lead, now);
    if (m->request.is_in_flight)
        return;
    if (now < m->retry_boot_ms) {
        context_wake_at(m->context, m->retry_boot_ms);
        return;
    }
    if (m->is_registered && is_own_missing(m))
        membership_lost(m);
    if (!is_parent_step(m) && (m->lacks_parent || is_parent_missing(m)))
        m->step = 0;
    m->lacks_parent = false;
    if (is_parent_step(m)) {
        create(m);
    } else if (!m->is_registered && !m->is_store_known && now < m->register_boot_ms) {
        context_wake_at(m->context, m->register_boot_ms);
    } else if (!m->is_registered) {
        if (look_who_has_our_name(m, now) && !m->is_registered)
            retry_later(m);
        if (!m->is_registered)
            create(m);
    }
}

bool membership_waits_for_name(const struct membership *m)
{
    return !m->is_registered && m->rival != 0;
}

void membership_lost(struct membership *m)
{
    m->is_registered = false;
}

void membership_begin(struct membership *m)
{
    m->step = 0;
    m->is_registered = m->lacks_parent = false;
    m->retry_boot_ms = 0;
    m->rival = 0;
    /* Most often the state of Redis, which nodes/<node> shows, is about to be known. */
    m->register_boot_ms = context_retry_boot_ms(m->context);
}

void membership_init(struct membership *m, struct context *c, struct view *v)
{
    *m = (struct membership){.context = c, .view = v};
    coord_request_init(&m->request, c, on_answer);
    coord_request_init(&m->adding, c, membership_on_added);
}

void membership_fini(struct membership *m)
{
    buf_fini(&m->text);
    buf_fini(&m->add_text);
}
