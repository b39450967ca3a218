/* The registry: which identities a node knows, from access.file and, with access.in_redis, from
 * Redis. It tells access.h of them, and whoever waits for a change.
 *
 *   the file     read at the start and at SIGHUP, by its owner (registry_take_file)
 *   Redis        read at the start, when another node says that they have changed, and once a
 *                second besides. The node's copy (copy.h) outlives whatever Redis loses: what
 *                Redis lacks or has older is told to it, with its version
 *
 * Both count; of two identities of a name the one of the file does. Until Redis has answered
 * for the first time, access is incomplete: requests of identities that are not known yet wait
 * as long as the store holds the reading (store.hold), and are refused after that. A first
 * reading without any identity may be of a Redis that has just been emptied: they wait for
 * REGISTRY_SETTLE_MS more, in which the other nodes tell Redis what it has lost.
 *
 * Once on, a node does not open by itself: neither an empty Redis nor one that is away gives
 * anybody rights. A line that cannot be read makes its identity nobody's, and no other's.
 */
#ifndef DUEQ_PROTOCOL_ACCESS_REGISTRY_H
#define DUEQ_PROTOCOL_ACCESS_REGISTRY_H

#include "base/status.h"
#include "base/timer.h"
#include "node/store/op.h"
#include "protocol/access/copy.h"
#include "protocol/access/identity.h"

struct access;
struct queue;

#define REGISTRY_READ_MS   1000 /* between two readings; */
#define REGISTRY_HEARD_MS  50   /* where a change was heard of, */
#define REGISTRY_AGAIN_MS  100  /* or the last one failed */
#define REGISTRY_SETTLE_MS (2 * REGISTRY_READ_MS)

struct registry {
    /* The owner's: borrowed, and set before registry_init(). */
    struct access *access;
    struct queue *queue;
    struct timers *timers;
    void (*on_changed)(void *arg); /* identities have changed, or are no longer waited for;
                                    * not from inside the owner's calls */
    void *arg;

    /* Its own. */
    bool has_file, is_in_redis, is_closed;
    bool is_read;            /* Redis has answered, since it was turned on, */
    bool is_settled;         /* and an identity that it did not tell of is nobody's */
    bool has_given_up;       /* it has not answered in time */
    bool is_stale;           /* `read` was sent before it was turned off and on */
    bool is_asking;          /* `read` is on its way, */
    bool is_heard_of;        /* and there was a change since */
    bool is_telling;         /* `tell` is on its way */
    int64_t read_mono_ms;    /* when Redis answered last, */
    int64_t settles_mono_ms; /* and from when on that settles it */
    struct buf file;         /* its text */
    struct buf known;        /* the id of what was read; empty: nothing was */
    bool has_noted;          /* and the copy has more than that */
    struct buf asked;        /* what `read` borrows */
    struct buf told;         /* what `tell` borrows, */
    char told_id[OP_IDENTITY_ID_CHARS + 1];
    struct copy copy;
    struct op read, tell;
    struct timer again;
};

void registry_init(struct registry *r);

/* After registry_close(), and with no operation on its way: when the queue has stopped, there
 * is none. */
void registry_fini(struct registry *r);

/* The identities of the file from now on; a text without any is a file, too. BAD_CONFIG: `why`
 * gets what is wrong, and nothing has changed. */
enum status registry_take_file(struct registry *r, struct bytes text,
                               struct buf *why) MUST_CHECK;

/* There is no file any more. Without Redis, too, access is off: everybody may do everything. */
void registry_forget_file(struct registry *r);

/* Whether Redis's count. */
void registry_use_redis(struct registry *r, bool is_in_redis);

/* Nothing is read or told any more; call before queue_stop(). */
void registry_close(struct registry *r);

/* Why Redis's identities are not known, for people; NULL: they are, or are not asked for.
 * Static. */
const char *registry_trouble(const struct registry *r);

/* Since Redis answered last; -1: it has not, or is not asked. */
int64_t registry_age_ms(const struct registry *r);

/* ---- for whoever changes one ---- */

/* Why this node is not the one to ask for Redis's identities, for people; NULL: it is. Static.
 */
const char *registry_why_not(const struct registry *r);

#define REGISTRY_MARKS_MAX (IDENTITY_TOKENS_MAX + 1)

/* What the operation of a change borrows. All zero at first; the caller's until it is done. */
struct registry_change {
    struct buf line;
    unsigned mark_count;
    struct buf texts[REGISTRY_MARKS_MAX];
    struct bytes marks[REGISTRY_MARKS_MAX];
    char id[OP_IDENTITY_ID_CHARS + 1];
};

/* Makes an IDENTIFY of `op`, all but `on_done`: `line` in the place of the identity `name`
 * (borrowed), or with "" none. `expected` is as in op.h, but -1 is the version that this node
 * knows, so that a change that is sent again after a lost answer undoes no later one. Else
 * `why` gets what is wrong, for people: with the line (BAD_REQUEST), with it beside others
 * (DUPLICATE), or with asking this node (WRONG_STATE). */
enum status registry_prepare(const struct registry *r, struct bytes name, struct bytes line,
                             int64_t expected, struct registry_change *change, struct op *op,
                             struct buf *why) MUST_CHECK;

/* The change was made: this node acts by it at once. */
void registry_note(struct registry *r, const struct op *op);

void registry_change_fini(struct registry_change *change);

#endif
