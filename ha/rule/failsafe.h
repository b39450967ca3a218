/* Going on without ZooKeeper while every member agrees. Pure arithmetic.
 *
 * An election needs a quorum of ZooKeeper; a leader without a quorum may go on only if no other
 * node can be elected. So the leader asks every member, and each promises not to campaign for
 * 2T/3 from the receipt of the question. The leader counts a promise from when it *sent* the
 * question, so clocks and the network do not matter:
 *
 *     until = min over members(when the newest question that it promised was sent) + 2T/3
 *
 * One member that is silent, or refuses, ends the failsafe lease. It begins while the write
 * lease still holds; once it is over, only ZooKeeper can make a leader. T is the leader's: the
 * question carries it, and `members` says it to nodes that start. A node does not know what it
 * promised before its start, so it starts as if it had promised.
 *
 * The two structs are the leader's half and the member's half; each node has both.
 */
#ifndef DUEQ_HA_RULE_FAILSAFE_H
#define DUEQ_HA_RULE_FAILSAFE_H

#include <stdbool.h>
#include <stdint.h>

#include "ha/peer/peers.h"

#define FAILSAFE_ASKED_MAX 16

struct failsafe_member {
    char name[PEER_NAME_MAX + 1];
    bool has_promised;
    int64_t asked_ms; /* when the newest question that it promised was sent */
};

/* The leader's half. */
struct failsafe {
    bool is_on;
    int64_t session_ms;
    struct failsafe_member members[PEERS_MAX]; /* all but this node */
    unsigned member_count;
    int64_t asked_ms[FAILSAFE_ASKED_MAX]; /* of the newest questions, by number */
    uint64_t seq;       /* of the newest question; never reset, so no old answer fits */
    uint64_t first_seq; /* the first since failsafe_begin() */
};

/* A zeroed struct is off. Promises from before failsafe_begin() do not count. */
void failsafe_begin(struct failsafe *f, int64_t session_ms);
void failsafe_end(struct failsafe *f);

/* Adds a member that must agree; a name may come twice. An addition can only shorten the lease.
 * With more than PEERS_MAX members nothing can be proven: failsafe is off. */
void failsafe_add_member(struct failsafe *f, const char *name);

/* A question is sent now. Returns its number. */
uint64_t failsafe_asked(struct failsafe *f, int64_t now_boot_ms);

/* Notes a member's promise. Unknown or old numbers, and strangers, are ignored. */
void failsafe_promised(struct failsafe *f, const char *name, uint64_t seq);

/* The first millisecond in which the leader may not act; INT64_MIN: not all have promised. */
int64_t failsafe_until(const struct failsafe *f);

/* The member's half: this node must not campaign before. */
struct failsafe_promise {
    int64_t until_boot_ms;
};

/* Promises for 2T/3 from now. Never shortens an older promise. */
void failsafe_promise(struct failsafe_promise *p, int64_t now_boot_ms, int64_t session_ms);
bool failsafe_has_promised(const struct failsafe_promise *p, int64_t now_boot_ms);

#endif
