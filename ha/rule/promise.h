/* Going on without ZooKeeper while every member agrees. Pure arithmetic.
 *
 * Who is elected needs a quorum of ZooKeeper; a leader without it may go on only if it is
 * certain that nobody else is. So it asks every member, and each promises not to stand for 2T/3
 * from the question's receipt. The leader counts a promise from when it *sent* the question, so
 * clocks and the network do not matter:
 *
 *     until = min over members(when the newest question that it promised was sent) + 2T/3
 *
 * One member that is silent, or refuses, ends it. It begins while the write lease still holds,
 * and when it ran out it is over: then only ZooKeeper can make a leader. T is the leader's: the
 * question says it, and `members`, for those who start. A node does not know what it promised
 * before its start, so it begins with an open promise.
 *
 * That leader and member are two halves, in each node, is what the two structs say.
 */
#ifndef DUEQ_HA_RULE_PROMISE_H
#define DUEQ_HA_RULE_PROMISE_H

#include <stdbool.h>
#include <stdint.h>

#include "ha/peer/peers.h"

#define FAILSAFE_ASKED_MAX 16

struct failsafe_member {
    char name[PEER_NAME_MAX + 1];
    bool has_promised;
    int64_t asked_ms; /* when the newest question was sent that it promised */
};

/* The leader's half. */
struct failsafe {
    bool is_on;
    int64_t session_ms;
    struct failsafe_member members[PEERS_MAX]; /* all but this node */
    unsigned member_count;
    int64_t asked_ms[FAILSAFE_ASKED_MAX]; /* of the newest questions, by number */
    uint64_t seq;       /* of the newest; never reset, so no old answer fits */
    uint64_t first_seq; /* since failsafe_begin() */
};

/* A zeroed struct is one that is off. Promises of an earlier time do not count. */
void failsafe_begin(struct failsafe *f, int64_t session_ms);
void failsafe_end(struct failsafe *f);

/* Who must agree; a name may come twice. Adding one while it is on only shortens the lease.
 * Too many: nothing can be proven any more, and it is off. */
void failsafe_add_member(struct failsafe *f, const char *name);

/* A question is sent now. Returns its number. */
uint64_t failsafe_asked(struct failsafe *f, int64_t now_boot_ms);

/* A member's promise. Numbers that were not asked, or long ago, and strangers are ignored. */
void failsafe_promised(struct failsafe *f, const char *name, uint64_t seq);

/* The first millisecond in which the leader may not act; INT64_MIN where nothing is promised.
 */
int64_t failsafe_until(const struct failsafe *f);

/* The member's half: until when it must not stand. */
struct failsafe_promise {
    int64_t until_boot_ms;
};

/* Promises for 2T/3 from now. Never shortens an older promise. */
void failsafe_promise(struct failsafe_promise *p, int64_t now_boot_ms, int64_t session_ms);
bool failsafe_has_promised(const struct failsafe_promise *p, int64_t now_boot_ms);

#endif
