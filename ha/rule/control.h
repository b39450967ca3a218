/* What operators want, as the znode `control` says it. Pure.
 *
 * A request is `wanted` (the node that is to lead next, "*" for any other than the leader) from
 * a time on. Who leads then carries it out, and the next leader takes it back. With `force` the
 * wanted node takes the lead itself where the leader does not answer. `force` stays until that
 * node has waited for the old leader's lease to end: who is elected while it stands there must
 * wait as well, since an earlier successor may have died waiting.
 */
#ifndef DUEQ_HA_RULE_CONTROL_H
#define DUEQ_HA_RULE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "ha/ha.h"

#define CONTROL_ANY "*"

struct control {
    bool is_paused;
    int64_t paused_at_wall_ms;       /* since; 0: not said */
    char paused_by[HA_NODE_MAX + 1]; /* the node that was asked; "": not said */
    char wanted[HA_NODE_MAX + 1];    /* a name, "*", or "": nobody */
    int64_t at_wall_ms;              /* not before */
    bool is_forced;
    char by[HA_NODE_MAX + 1]; /* the node that was asked */
};

void control_parse(struct control *c, struct bytes text);
void control_print(const struct control *c, struct buf *text);

bool control_has_request(const struct control *c, int64_t now_wall_ms); /* that is due */
void control_clear_request(struct control *c);

#endif
