/* What a script leaves behind when it breaks off in the middle.
 *
 * A script does not roll back. So each script runs again and again on the same scene, and each
 * time another one of its calls fails, from the first to the last. The promises under test:
 *   - where a call that reads fails, no job and no place has been changed;
 *   - wherever a call fails, no job is lost: audits find what is left, and repairs mend it,
 *     until nothing is found; then all jobs that were not to end are alive, and whole.
 */
#ifndef DUEQ_NODE_STORE_CONTRACT_REDIS_CUT_H
#define DUEQ_NODE_STORE_CONTRACT_REDIS_CUT_H

#include "node/store/contract/redis/plant.h"

extern const struct contract_part contract_cut, contract_cut_wide;

/* The jobs of the scene, one of each kind; the last two have no rules. */
#define CUT_IDS 6
extern const char *const cut_ids[CUT_IDS];

/* Made anew before each run. */
extern struct cut_scene {
    struct job held, popped;
    struct lease leases[2];
    const char *more[CUT_IDS]; /* ids that the operation's maker has added, up to a NULL */
    struct op together;        /* travels in the operation's call; no topic: none does */
    bool is_damaged;           /* jobs that end may do so in any way */
    bool pops_behind;          /* pops read behind the moves, which then have happened alone */
    const char *never;         /* a command that is not among the calls */
} cut_scene;

/* A push of a large body, urgent, with a ttl and a single try. */
struct op cut_rich_op(const char *id);

/* `make` changes the scene for its operation on this id, and returns the operation. `ends`: the
 * ids that are to be gone afterwards. */
void assert_survived(struct op (*make)(const char *id), const char *id, const char *ends);

#endif
