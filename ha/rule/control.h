/* Operators' requests: the text of the znode `control`. Pure.
 *
 * A request names the node `wanted` as the next leader ("*": any other than the leader) from a
 * time on. The leader of that time carries the request out, and the next leader clears it. With
 * `force` the wanted node takes the lead itself if the leader does not answer. `force` stays
 * until the new leader has waited for the old leader's lease to end. Any node that is elected
 * before must wait as well, because an earlier successor may have died waiting.
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
    int64_t paused_at_wall_ms;       /* 0: not said */
    char paused_by[HA_NODE_MAX + 1]; /* the node that took the request; "": not said */
    char wanted[HA_NODE_MAX + 1];    /* a name, "*", or "": nobody */
    int64_t at_wall_ms;              /* the request is not due before */
    bool is_forced;
    char by[HA_NODE_MAX + 1]; /* the node that took the request */
};

void control_parse(struct control *c, struct bytes text);
void control_print(const struct control *c, struct buf *text);

bool control_has_request(const struct control *c, int64_t now_wall_ms); /* a due one? */
void control_clear_request(struct control *c);

#endif
