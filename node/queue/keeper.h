/* Jobs stay reserved while their consumer reads them.
 *
 * Until it is confirmed a reservation lasts OP_UNCONFIRMED_MS; a reply may take much longer to
 * be read. So every KEEPER_INTERVAL_MS each delivery is kept (KEEP), until the protocol says
 * what became of it. A node that dies keeps nothing, and its jobs are back within seconds.
 *
 * Nearly every delivery is acknowledged within a tenth of a second: it costs a link in a list,
 * and one timer for all of them looks at the oldest. A keep that fails is not repeated, the
 * next one still comes in time; but where that one's turn is over already, because the first
 * took so long to fail, it is sent at once. So is the first one, when the pop's answer was long
 * on its way. One that comes behind the confirmation or the return changes nothing. When the
 * store is away, or the node is frozen, for longer than a reservation, that is over as with a
 * node that died.
 */
#ifndef DUEQ_NODE_QUEUE_KEEPER_H
#define DUEQ_NODE_QUEUE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/op.h"

#define KEEPER_INTERVAL_MS 2000 /* two fit into a reservation, with room for a slow store */
#define KEEPER_LATE_MS     1000 /* a pop's answer that took so long */

_Static_assert(2 * KEEPER_INTERVAL_MS < OP_UNCONFIRMED_MS, "one keep may fail");

struct core;
struct keep;

struct keeper {
    struct core *core;
    struct list readings; /* whose turn it is next comes first */
    struct timer timer;
};

/* A delivery that is being read. The caller embeds it. */
struct reading {
    const struct list *jobs; /* handed_job.link: 1 to OP_ITEMS_MAX, all of one topic; fewer by
                              * and by */
    struct list link;
    int64_t keep_at_mono_ms;
    int64_t until_ms;  /* as far as is known: the store may say over from then on */
    struct keep *keep; /* on its way to the store; NULL: none is */
    bool is_owed;      /* its turn came meanwhile */
};

void keeper_init(struct keeper *k, struct core *core);
void keeper_fini(struct keeper *k);

/* `jobs` are borrowed until keeper_remove, which comes before the last one is taken out of
 * them. `pop` has brought them. */
void keeper_add(struct keeper *k, struct reading *r, const struct list *jobs,
                const struct op *pop);
/* Harmless twice. */
void keeper_remove(struct reading *r);

#endif
