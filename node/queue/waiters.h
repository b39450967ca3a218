/* Consumers that wait for jobs, and the pops made for them.
 *
 * A consumer has an entry at each topic it asked for. A topic is `dirty` when it may have
 * ready jobs that nobody here has asked the store for. The rule:
 *
 *   a dirty topic with a free consumer and no pop in flight: claim some of its consumers,
 *   first come first served, clear `dirty`, pop as many jobs as they want together.
 *
 * How many are claimed: two at first, twice as many after each pop that brought all it asked
 * for and left some. Claiming all of them for a single job would keep them from their other
 * topics.
 *
 * What makes a topic dirty:
 *   - its first consumer comes: nobody knows whether there is something for it;
 *   - a consumer comes that does not wait. Else a topic that is not dirty is known to be empty,
 *     or the answer in flight will tell, and its news will be heard: asking it again for every
 *     consumer that comes keeps consumers busy with empty topics. (After a second it is asked
 *     again all the same);
 *   - the store says that the topic has become ready, also while a pop is in flight, whose
 *     answer may be older than the news;
 *   - a pop left some: no push to a line that is not empty is announced;
 *   - a pop failed, or the store was away: anything may have happened.
 *
 * So a wake-up is never lost, and a topic that nobody waits for costs nothing: topics exist
 * here only while a consumer has an entry at them. (A rule without the "while in flight" loses
 * a wake-up within five steps: news and answers travel on different connections.)
 *
 * A scan of this node brings a pop for each clean topic of its bucket with a free consumer
 * (waiters_carry), so that a job which becomes due costs no question. It brings none where the
 * bucket has more such topics than a scan can name, and none for a consumer that might get more
 * important jobs by the same scan. Meanwhile such a consumer is claimed as by any pop.
 *
 * A claimed consumer can be given no other topic's job: at most one operation is in flight
 * for it. It is claimed for a topic only when none of its more important topics is dirty, nor
 * has a pop in flight since before the consumer came, so jobs come in the order of the topics.
 * A topic remembers the consumers that it blocks this way, and releases them when it is clean,
 * or fails.
 *
 * A consumer that waits is not claimed for a topic whose bucket is out of reach, nor blocked by
 * it; when the bucket is back the topic is dirty.
 *
 * A consumer that wants one job by its id (take_id) has no entry: its operation goes to the
 * store at once, and what comes back is handed out like any other job, or returned where the
 * consumer has left.
 *
 * A consumer has its places while it has entries: see struct places. A consumer that wants to
 * wait, where there is no room, asks once without waiting: only the waiting is refused.
 *
 * Jobs that come for a consumer that has left meanwhile are returned. A consumer whose time
 * ends while it is claimed waits for the answer, but not long: the store may be away, and the
 * client may give up. Where some jobs had no room in the answer, the consumer waits a moment
 * more.
 */
#ifndef DUEQ_NODE_QUEUE_WAITERS_H
#define DUEQ_NODE_QUEUE_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/timer.h"
#include "base/list.h"
#include "base/status.h"
#include "node/queue/queue.h"

/* The room for pops, counted in topics, and how clients share it.
 *
 * A pop has one place for each topic it names, because its memory grows with them. Pops that
 * wait and pops that only ask have separate places: waiting pops never take the room of those
 * that only ask.
 *
 * Places are counted by the client's address. One address may use all of them while nobody
 * else wants any. Where too few are left for a newcomer, the address with more than half of
 * them gives some back, oldest pop first, as long as the newcomer's address stays within half.
 */
struct places {
    struct account *accounts;             /* hash by address */
    unsigned used[PLACE_KINDS];           /* topics */
    struct account *largest[PLACE_KINDS]; /* the last that had more than half; NULL: none has */
};

/* Could the pop have its places out of `max`, if others gave way? */
bool places_can_be_had(struct places *ps, const struct pop *pop, enum place_kind kind,
                       unsigned max);

/* The next pop to give way; NULL: there is room. Only if places_can_be_had(). */
struct pop *places_next_victim(struct places *ps, const struct pop *pop, enum place_kind kind,
                               unsigned max);
void places_take(struct places *ps, struct pop *pop, enum place_kind kind, unsigned max);

/* Harmless for a pop without places. */
void places_leave(struct places *ps, struct pop *pop);

struct core;
struct deliveries;
struct ids;
struct pop;
struct topic;

struct waiters {
    struct core *core;
    struct deliveries *deliveries;
    struct ids *ids;
    struct topic *topics; /* hash by name */
    struct {
        struct list topics;
        unsigned count;
    } * by_bucket;
    struct list waiting;  /* pops with entries */
    struct list released; /* entries (blocked) whose consumers may claim lesser topics now */
    bool is_releasing;
    struct later over;        /* pops that end without a job */
    struct timer retry_timer; /* after a pop that failed */
    unsigned count;           /* consumers, those on `over` included */
    struct places places;
};

void waiters_init(struct waiters *w, struct core *core, struct deliveries *deliveries,
                  struct ids *ids);
void waiters_fini(struct waiters *w);

/* Takes a checked pop in, or refuses it with TOO_MANY_POPS. */
void waiters_add(struct waiters *w, struct pop *pop);

/* Calls it back with `status` in a later turn, without any entry. queue_pop_cancel() is here,
 * too. */
void waiters_refuse(struct waiters *w, struct pop *pop, enum status status);
void waiters_cancel_all(struct waiters *w);

/* A scan of the bucket is about to be sent: makes a pop for each topic whose consumers wait for
 * news, and writes them to `pops`, which has room for OP_SCAN_POPS_MAX; returns how many. They
 * are carried (core.h): the scanner ends them. marks: which shares are scanned, as in struct
 * scan_share; NULL: all. */
unsigned waiters_carry(struct waiters *w, unsigned bucket, const char *marks, struct op **pops);

/* The topic may have ready jobs. */
void waiters_wake(struct waiters *w, struct bytes topic);
void waiters_wake_all(struct waiters *w);

/* core_is_away() has changed. */
void waiters_set_bucket(struct waiters *w, unsigned bucket);

#endif
