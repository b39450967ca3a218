/* Reads the znodes and parses them into the view's fields. Missing values are "", 0 or false.
 */
#include "ha/lead/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ha/rule/record.h"

static void parse_epoch(struct view *v, struct bytes text)
{
    int64_t epoch = 0;

    v->has_epoch =
        record_get_number(text, "epoch", &epoch) && (uint64_t)epoch < TOKEN_EPOCH_MAX;
    v->epoch = v->has_epoch ? (uint64_t)epoch : 0;
}

static void parse_ensemble(struct view *v, struct bytes text)
{
    struct bytes uuid;

    v->ensemble[0] = '\0';
    if (record_get(text, "uuid", &uuid) && token_is_ensemble(uuid))
        (void)record_text(uuid, v->ensemble, sizeof(v->ensemble));
}

/* The timeout in a znode; 0: not one that a node can have. */
static int64_t timeout_of(struct bytes text)
{
    int64_t ms;

    if (!record_get_number(text, "timeout_ms", &ms) || ms < COORD_TIMEOUT_MIN_MS ||
        ms > COORD_TIMEOUT_MAX_MS)
        return 0;
    return ms;
}

static void parse_leader(struct view *v, struct bytes text)
{
    struct view_leader l = {.epoch = 0};
    int64_t epoch = 0;

    (void)record_get_text(text, "node", l.node, sizeof(l.node));
    (void)record_get_number(text, "epoch", &epoch);
    l.timeout_ms = timeout_of(text);
    l.epoch = (uint64_t)epoch;
    v->leader = l;
}

static void parse_members(struct view *v, struct bytes text)
{
    struct bytes key, value;

    v->member_count = 0;
    v->members_timeout_ms = timeout_of(text);
    while (v->member_count < PEERS_MAX && record_next(&text, &key, &value)) {
        if (bytes_equal(key, BYTES("member")) && value.len > 0 &&
            record_text(value, v->members[v->member_count], HA_NODE_MAX + 1))
            v->member_count++;
    }
}

/* Parses the text of an item that was read. */
static void view_parse_item(struct view *v, enum view_item item, struct bytes text)
{
    switch (item) {
    case VIEW_ENSEMBLE:
        parse_ensemble(v, text);
        break;
    case VIEW_EPOCH:
        parse_epoch(v, text);
        break;
    case VIEW_LEADER:
        parse_leader(v, text);
        break;
    case VIEW_MEMBERS:
        parse_members(v, text);
        break;
    case VIEW_CONTROL:
        control_parse(&v->control, text);
        break;
    case VIEW_HISTORY:
        transitions_parse(&v->history, text);
        break;
    case VIEW_ITEMS:
        break;
    }
}

static void view_parse_node(struct view_node *n, struct bytes text)
{
    struct ha_node node = {.is_here = true, .owner = n->znode.owner};
    char incarnation[17];
    struct bytes store, mode;
    int64_t number;

    snprintf(node.name, sizeof(node.name), "%s", n->node.name);
    (void)record_get_text(text, "version", node.version, sizeof(node.version));
    (void)record_get_text(text, "abilities", node.abilities, sizeof(node.abilities));
    (void)record_get_text(text, "gmq", node.gmq, sizeof(node.gmq));
    (void)record_get_text(text, "http", node.http, sizeof(node.http));
    (void)record_get_text(text, "admin", node.admin, sizeof(node.admin));
    (void)record_get_text(text, "peer", node.peer, sizeof(node.peer));
    if (record_get_text(text, "incarnation", incarnation, sizeof(incarnation)))
        node.incarnation = strtoull(incarnation, NULL, 16);
    if (record_get_number(text, "priority", &number) && number <= 100)
        node.priority = (unsigned)number;
    node.no_failover = record_get_flag(text, "no_failover");
    node.is_fenced = record_get_flag(text, "fenced");
    node.is_address_away = record_get_flag(text, "address_away");
    node.store_up = record_get(text, "store", &store) && bytes_equal(store, BYTES("up"));
    node.shares = record_get(text, "mode", &mode) && bytes_equal(mode, BYTES("cluster"));
    n->timeout_ms = timeout_of(text);
    n->node = node;
}

static const char *const names[] = {
#define X(name, znode) znode,
    VIEW_LIST(X)
#undef X
};

/* Notes whether the znode is there. False: nothing was learned; it must be read again. */
static bool take(struct view *v, struct view_znode *z)
{
    const struct coord_call *call = &z->request.call;

    if (!coord_request_is_answered(&z->request) ||
        (call->status != COORD_OK && call->status != COORD_NO_NODE)) {
        z->is_stale = true;
        if (coord_request_is_answered(&z->request)) {
            z->is_denied = call->status == COORD_DENIED;
            z->retry_boot_ms = context_retry_boot_ms(v->context);
        }
        return false;
    }
    z->is_denied = false;
    z->is_known = true;
    z->exists = call->status == COORD_OK;
    z->version = z->exists ? call->version : -1;
    z->owner = z->exists ? call->owner : 0;
    return true;
}

/* ---- what was read ---- */

static void on_item(struct coord_request *request)
{
    struct view_znode *z = CONTAINER_OF(request, struct view_znode, request);
    struct view *v = z->view;

    if (take(v, z))
        view_parse_item(v, (enum view_item)(z - v->items),
                        z->exists ? request->call.data : bytes_of("", 0));
}

static void on_node(struct coord_request *request)
{
    struct view_znode *z = CONTAINER_OF(request, struct view_znode, request);
    struct view_node *n = CONTAINER_OF(z, struct view_node, znode);

    if (!take(z->view, z))
        return;
    if (z->exists && (!n->node.is_here || n->node.owner != z->owner))
        n->since_boot_ms = context_now(z->view->context);
    if (z->exists)
        view_parse_node(n, request->call.data);
    else
        n->node.is_here = false;
}

/* A slot for a new node: never used, or of a node that has gone. NULL: there are too many. */
static struct view_node *free_slot(struct view *v)
{
    struct view_node *old = NULL;

    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        struct view_node *n = &v->nodes[i];

        if (!n->is_used)
            return n;
        if (!n->is_listed && !n->node.is_here && !n->znode.request.is_in_flight)
            old = n;
    }
    return old;
}

static void znode_init(struct view *v, struct view_znode *z,
                       void (*on_answer)(struct coord_request *request))
{
    z->view = v;
    z->is_stale = true;
    z->is_known = false;
    coord_request_init(&z->request, v->context, on_answer);
}

static void note_node(struct view *v, const char *name)
{
    struct view_node *n = (struct view_node *)view_find(v, name);

    if (!n && strlen(name) <= HA_NODE_MAX && (n = free_slot(v))) {
        memset(n, 0, sizeof(*n));
        n->is_used = true;
        snprintf(n->node.name, sizeof(n->node.name), "%s", name);
        context_path(v->context, n->znode.path, "nodes", name);
        znode_init(v, &n->znode, on_node);
    }
    if (n)
        n->is_listed = n->znode.is_stale = true;
}

static void on_list(struct coord_request *request)
{
    struct view_znode *z = CONTAINER_OF(request, struct view_znode, request);
    struct view *v = z->view;
    struct view_node *n;
    unsigned count;

    if (!take(v, z))
        return;
    /* A node that is no longer listed is found missing when it is read. */
    view_refresh_nodes(v);
    count = z->exists ? request->call.name_count : 0;
    for (unsigned i = 0; i < VIEW_NODES_MAX; i++)
        v->nodes[i].is_listed = false;
    for (unsigned i = 0; i < count; i++) {
        if ((n = (struct view_node *)view_find(v, request->call.names[i])))
            n->is_listed = true; /* so no new node gets its slot */
    }
    for (unsigned i = 0; i < count; i++)
        note_node(v, request->call.names[i]);
}

/* ---- reading ---- */

static bool should_read(struct view_znode *z, int64_t now_boot_ms)
{
    if (!z->is_stale || z->request.is_in_flight)
        return false;
    if (now_boot_ms < z->retry_boot_ms) {
        context_wake_at(z->view->context, z->retry_boot_ms);
        return false;
    }
    z->is_stale = false;
    return true;
}

void view_tick(struct view *v, int64_t now_boot_ms)
{
    if (!context_is_connected(v->context))
        return;
    for (unsigned i = 0; i < VIEW_ITEMS; i++) {
        if (should_read(&v->items[i], now_boot_ms))
            coord_request_read(&v->items[i].request, v->items[i].path, true);
    }
    if (should_read(&v->list, now_boot_ms))
        coord_request_list(&v->list.request, v->list.path, true);
    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        struct view_node *n = &v->nodes[i];

        if (n->is_used && should_read(&n->znode, now_boot_ms))
            coord_request_read(&n->znode.request, n->znode.path, false);
    }
}

void view_refresh(struct view *v, enum view_item item)
{
    v->items[item].is_stale = true;
}

void view_refresh_nodes(struct view *v)
{
    for (unsigned i = 0; i < VIEW_NODES_MAX; i++)
        v->nodes[i].znode.is_stale = v->nodes[i].is_used;
}

#define BEATS_A_ROUND 6

void view_read_in_turn(struct view *v)
{
    struct view_node *leader = (struct view_node *)view_leader_node(v);

    if (leader)
        leader->znode.is_stale = true;
    for (unsigned i = 0; i < VIEW_NODES_MAX / BEATS_A_ROUND + 1; i++) {
        struct view_node *n = &v->nodes[v->turn];

        n->znode.is_stale |= n->is_used && n->node.is_here;
        v->turn = (v->turn + 1) % VIEW_NODES_MAX;
        if (v->turn == 0)
            view_refresh(v, VIEW_LEADER);
    }
}

void view_changed(struct view *v, const char *path)
{
    bool all = !*path;

    for (unsigned i = 0; i < VIEW_ITEMS; i++)
        v->items[i].is_stale |= all || !strcmp(v->items[i].path, path);
    v->list.is_stale |= all || !strcmp(v->list.path, path);
    for (unsigned i = 0; i < VIEW_NODES_MAX; i++) {
        struct view_node *n = &v->nodes[i];

        n->znode.is_stale |= n->is_used && (all || !strcmp(n->znode.path, path));
    }
}

void view_init(struct view *v, struct context *c)
{
    memset(v, 0, sizeof(*v));
    v->context = c;
    for (unsigned i = 0; i < VIEW_ITEMS; i++) {
        context_path(c, v->items[i].path, names[i], NULL);
        znode_init(v, &v->items[i], on_item);
    }
    context_path(c, v->list.path, "nodes", NULL);
    znode_init(v, &v->list, on_list);
}

void view_forget(struct view *v)
{
    view_changed(v, "");
    for (unsigned i = 0; i < VIEW_ITEMS; i++)
        v->items[i].is_known = false;
    v->list.is_known = false;
    for (unsigned i = 0; i < VIEW_NODES_MAX; i++)
        v->nodes[i].znode.is_known = false;
}

/* ---- asking the view ---- */

bool view_is_fresh(const struct view *v, enum view_item item)
{
    const struct view_znode *z = &v->items[item];

    return context_is_connected(v->context) && z->is_known && !z->is_stale &&
           !z->request.is_in_flight;
}

const char *view_denied(const struct view *v)
{
    if (v->list.is_denied)
        return v->list.path;
    for (unsigned i = 0; i < VIEW_ITEMS; i++) {
        if (v->items[i].is_denied)
            return v->items[i].path;
    }
    return NULL;
}

const char *view_denied_node(const struct view *v)
{
    VIEW_EACH_NODE (n, v) {
        if (n->znode.is_denied)
            return n->znode.path;
    }
    return NULL;
}

bool view_has_leader(const struct view *v)
{
    return v->items[VIEW_LEADER].is_known && v->items[VIEW_LEADER].exists;
}

bool view_leader_is(const struct view *v, int64_t session)
{
    return view_has_leader(v) && session != 0 && v->items[VIEW_LEADER].owner == session;
}

const struct view_node *view_leader_node(const struct view *v)
{
    return view_has_leader(v) ? view_find(v, v->leader.node) : NULL;
}

bool view_is_member(const struct view *v, const char *name)
{
    for (unsigned i = 0; i < v->member_count; i++) {
        if (!strcmp(v->members[i], name))
            return true;
    }
    return v->member_count == 0;
}

const struct view_node *view_find(const struct view *v, const char *name)
{
    VIEW_EACH_NODE (n, v) {
        if (!strcmp(n->node.name, name))
            return n;
    }
    return NULL;
}

int64_t view_longest_session_ms(const struct view *v)
{
    int64_t longest = context_session_ms(v->context);

    if (v->leader.timeout_ms > longest)
        longest = v->leader.timeout_ms;
    if (v->members_timeout_ms > longest)
        longest = v->members_timeout_ms;
    VIEW_EACH_NODE (n, v) {
        if (n->timeout_ms > longest)
            longest = n->timeout_ms;
    }
    return longest;
}
