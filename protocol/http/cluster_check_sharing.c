/* Cluster mode: every node whose Redis answers scans, by the same view. Nothing of this keeps a
 * failover from succeeding. */
#include <inttypes.h>
#include <string.h>

#include "protocol/http/cluster_check_private.h"

static const char *mode_of(const struct http_cluster_node *n)
{
    return n->mode ? n->mode : "";
}

/* Moves are atomic, so the two get on; but what one leader could not carry, it still moves. */
static void check_modes(struct check *c)
{
    const struct http_cluster_node *first = NULL;

    for (unsigned i = 0; i < c->s->node_count; i++) {
        const struct http_cluster_node *n = &c->s->nodes[i];

        if (!n->is_here || !*mode_of(n))
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

static bool could_scan(const struct http_cluster_node *n)
{
    return n->is_here && n->is_store_up && !strcmp(mode_of(n), "cluster");
}

static void check_scanner(struct check *c, const struct http_cluster_node *n)
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

void check_sharing(struct check *c)
{
    check_modes(c);
    if (!c->s->is_sharing)
        return;
    check_view(c);
    for (unsigned i = 0; i < c->s->node_count; i++)
        check_scanner(c, &c->s->nodes[i]);
}
