/* What the znodes say, into the view's fields. What is missing is "", 0 or false. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ha/rule/record.h"
#include "ha/lead/view.h"

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

/* 0: it is none that a node can have, and not to be waited for. */
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

void view_parse_item(struct view *v, enum view_item item, struct bytes text)
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

void view_parse_node(struct view_node *n, struct bytes text)
{
    struct ha_node node = {.is_here = true, .owner = n->znode.owner};
    char incarnation[17];
    struct bytes store, mode;
    int64_t number;

    snprintf(node.name, sizeof(node.name), "%s", n->node.name);
    (void)record_get_text(text, "version", node.version, sizeof(node.version));
    (void)record_get_text(text, "gmq", node.gmq, sizeof(node.gmq));
    (void)record_get_text(text, "http", node.http, sizeof(node.http));
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
