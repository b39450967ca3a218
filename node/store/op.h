/* One operation on the jobs of one bucket: what the protocols ask for, what the store does.
 *
 * The caller embeds a `struct op` in its own request, fills in the verb and its inputs, and
 * finds the outputs there when `on_done` is called. The rules of every asynchronous call in
 * this code base hold:
 *   - on_done comes exactly once, shutdown and lost connections included, and never from
 *     inside the submitting call;
 *   - inputs (topic, id, body, arrays) are borrowed until then;
 *   - outputs are valid only while on_done runs: what is needed longer is copied;
 *   - from on_done on the op is the caller's again (it may be freed or submitted anew there).
 *
 * status_is_unknown(status): the operation may have happened, or it has and may be lost; every
 * other failure: it did not. A read (TRAIT_READS) never ends UNKNOWN: with its answer lost, it
 * is UNAVAILABLE.
 */
#ifndef DUEQ_NODE_STORE_OP_H
#define DUEQ_NODE_STORE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "node/store/job.h"
#include "node/store/settings.h"
#include "node/store/share.h"

/* Traits of a verb:
 *
 *   READS       it changes nothing, and never ends UNKNOWN (a page of settings drops rows that
 *               say nothing; an audit may keep its token)
 *   RETRIED     it may be sent again when its answer was lost (doc/redis.md)
 *   REPLICATED  its success waits for store.min_replicas
 *   BODIES      its reply has bodies, and may be large
 *   OF_LEASES   the node's own, about in.leases
 *   BY_LEASE    a client's, about the job whose lease in.lease is
 *   FENCED      it brings the leader's token, and is sent at once or not at all: its sender
 *               alone retries it, after it has asked whether this node still leads
 */
enum op_trait {
    TRAIT_READS = 1,
    TRAIT_RETRIED = 2,
    TRAIT_REPLICATED = 4,
    TRAIT_BODIES = 8,
    TRAIT_OF_LEASES = 16,
    TRAIT_FENCED = 32,
    TRAIT_BY_LEASE = 64,
    TRAIT_LOOKS = TRAIT_READS | TRAIT_RETRIED
};

/* clang-format off */
/*    verb       word         traits                            input beside topic and id; what it does */
#define OP_VERBS(X) \
    X(PUSH,      "push",      TRAIT_RETRIED | TRAIT_REPLICATED) /* push:      put a new job into delayed or ready */ \
    X(POP,       "pop",       TRAIT_RETRIED | TRAIT_BODIES)     /* pop:       reserve up to count ready jobs */ \
    X(TAKE,      "take",      TRAIT_BODIES)                     /* pop:       reserve the job with this id, ready, delayed or dead */ \
    X(DELIVERED, "delivered", TRAIT_RETRIED | TRAIT_OF_LEASES)  /* leases:    the consumer has them; real deadlines from now on */ \
    X(KEEP,      "keep",      TRAIT_RETRIED | TRAIT_OF_LEASES)  /* leases:    the consumer is still reading its reply */ \
    X(RETURN,    "return",    TRAIT_RETRIED | TRAIT_OF_LEASES)  /* leases:    the consumer never got them; back, first in line */ \
    X(ACK,       "ack",       TRAIT_RETRIED | TRAIT_REPLICATED | TRAIT_BY_LEASE) /* lease: the reserved job is done; gone */ \
    X(RELEASE,   "release",   TRAIT_BY_LEASE)                   /* lease:     give it back, at once or with a delay */ \
    X(TOUCH,     "touch",     TRAIT_RETRIED | TRAIT_BY_LEASE)   /* lease:     its deadline is ttr from now */ \
    X(BURY,      "bury",      TRAIT_BY_LEASE)                   /* lease:     dead, until somebody kicks or deletes it */ \
    X(CANCEL,    "cancel",    TRAIT_REPLICATED)                 /* cancel:    gone, from any state or some */ \
    X(MOVE,      "move",      0)                                /* move:      due at another time, from any state; run, kick */ \
    X(KICK,      "kick",      0)                                /* chunk:     dead, or delayed, jobs to ready */ \
    X(PURGE,     "purge",     TRAIT_REPLICATED)                 /* chunk:     jobs of one state gone */ \
    X(GET,       "get",       TRAIT_LOOKS | TRAIT_BODIES)       /*            look at it */ \
    X(LIST,      "list",      TRAIT_LOOKS)                      /* list:      the jobs of one state, in order */ \
    X(STATS,     "stats",     TRAIT_LOOKS)                      /*            count the topic's jobs */ \
    X(OWNER,     "owner",     TRAIT_LOOKS)                      /*            (no topic) which topic has this id, in this bucket; with one: who has reserved it */ \
    X(NOTES,     "notes",     TRAIT_LOOKS)                      /* notes:     (no topic, no id) what a process has reserved for owners, in this bucket */ \
    X(BEAT,      "beat",      TRAIT_RETRIED)                    /* beat:      (no topic, no id, bucket 0) this process is there; who is silent */ \
    X(SCAN,      "scan",      TRAIT_FENCED)                     /* scan:      (no topic, no id) move what is due in this bucket */ \
    X(TOPICS,    "topics",    TRAIT_LOOKS)                      /* topics:    (no topic, no id) some of the bucket's, counted */ \
    X(CONFIGURE, "configure", 0)                                /* configure: change the topic's settings, pause it or not */ \
    X(SETTINGS,  "settings",  TRAIT_LOOKS)                      /* settings:  a topic's, or (no topic) some of the bucket's */ \
    X(RECORD,    "record",    0)                                /* record:    (no topic, no id) add to the bucket's history */ \
    X(TRACE,     "trace",     TRAIT_LOOKS)                      /* trace:     what the history says of the job */ \
    X(PLACES,    "places",    TRAIT_LOOKS)                      /* places:    (no topic, no id, no bucket) topics with any key */ \
    X(AUDIT,     "audit",     TRAIT_READS | TRAIT_FENCED)       /* audit:     is each of the topic's jobs in exactly one place? */ \
    X(REPAIR,    "repair",    TRAIT_FENCED)                     /*            put a job, or with id "" its topic, in order */ \
    X(FENCE,     "fence",     TRAIT_FENCED)                     /* fence:     (no topic, no id) the leader's token, asserted */ \
    X(IDENTITIES, "identities", TRAIT_LOOKS)                    /* identities: (no topic, no id, bucket 0) all of them, if they changed */ \
    X(IDENTIFY,  "identify",  TRAIT_RETRIED | TRAIT_REPLICATED) /* identify:  (no topic, bucket 0; id: a name) change an identity, or revoke it */
/* clang-format on */

enum op_verb {
#define X(name, word, traits) OP_##name,
    OP_VERBS(X)
#undef X
        OP_COUNT
};

/* A SCAN may bring POPs of the bucket's topics: one a topic, with OP_ITEMS_MAX jobs together at
 * most. A POP runs behind the moves, where they made jobs of its topic ready, and the topic's
 * wake-up comes only where the POP leaves some. The POPs are not submitted by themselves. When
 * the scan's on_done comes with OK, theirs are status, now_ms and out.pop, which has no job
 * where nothing became ready. */
#define OP_SCAN_POPS_MAX  32
#define OP_SCAN_BYTES_MAX 32768 /* of the big bodies that they bring */

#define OP_ITEMS_MAX        64   /* leases in one DELIVERED, KEEP or RETURN; jobs in one POP */
#define OP_TOPICS_MAX       100  /* topics in one TOPICS */
#define OP_CHUNK_MAX        1000 /* jobs in one KICK or PURGE */
#define OP_LIST_MAX         100  /* jobs in one LIST, suspects in one AUDIT */
#define OP_ROWS_MAX         1000 /* topics in one answer of SETTINGS or PLACES */
#define OP_RECORDS_MAX      64   /* in one RECORD or TRACE */
#define OP_CURSOR_MAX       256  /* bytes of a cursor */
#define OP_RULES_MAX        100  /* in one SCAN */
#define OP_NODE_MAX         64   /* bytes of a node's name */
#define OP_TOKEN_MAX        64   /* bytes of a leader's token */
#define OP_TOKEN_STANDALONE "standalone" /* in its place: see `adopts` */

/* Identities (protocol/access/identity.h). The store keeps of each, by its name, a version and
 * a line; "" for the line is a tombstone: the identity was revoked. A line is text to the
 * store.
 *
 * Versions are of one identity each, and tell which of two lines is the newer one, however they
 * came about: a store that has lost its last writes is healed by the nodes, which put back what
 * they have read. A new version is higher than any of any identity. */
#define OP_IDENTITIES_MAX       1000       /* living ones, and as many tombstones */
#define OP_IDENTITY_BYTES_MAX   (1u << 20) /* of all living lines together */
#define OP_IDENTITY_ROWS_MAX    3000  /* in one answer: healing may double the living ones */
#define OP_IDENTITY_NAME_MAX    64    /* bytes */
#define OP_IDENTITY_LINE_MAX    16384 /* bytes of a line */
#define OP_IDENTITY_MARKS_MAX   3     /* in one IDENTIFY */
#define OP_IDENTITY_MARK_MAX    600   /* bytes of a mark */
#define OP_IDENTITY_ID_CHARS    16    /* hex digits of the id of a change */
#define OP_IDENTITY_VERSION_MAX INT64_C(999999999999999) /* 15 digits */

/* Owned reservations (is_owned of POP and TAKE) are noted under the process that pops for their
 * owner, by its `worker`: a number of the store's, random, for the process's life. A note goes
 * with the reservation where its end says is_owned, too. Other ends (its time, a cancel, a
 * move) leave the note, which is then about a lease that is over, and does no harm.
 *
 * A process that owns reservations says every second that it is there (BEAT); whoever releases
 * those of a silent one reads its notes (NOTES), and releases each lease (RELEASE with is_end,
 * is_owned and that worker). Notes of a process that pops for nobody any more go after
 * OP_NOTES_KEEP_MS. */
#define OP_NOTES_MAX     100 /* in one NOTES */
#define OP_BEATS_MAX     64  /* processes in one BEAT's answer */
#define OP_NOTES_KEEP_MS (INT64_C(8) * 86400000)

#define OP_POP_BYTES_MAX  (1u << 20) /* of the big bodies of a POP that brings several jobs */
#define OP_BODY_SMALL_MAX 1024       /* bytes of a body that is not big */
#define OP_UNCONFIRMED_MS 5000       /* how long a POP or a KEEP reserves */

/* Proof that a consumer still holds a reserved job. */
struct lease {
    struct bytes id;
    int64_t stamp;
    bool has_ttr;        /* DELIVERED: ttr_ms counts instead of the job's own */
    int64_t ttr_ms;      /* 0: the job is done with its delivery */
    struct bytes holder; /* DELIVERED: who has it, for people: at most JOB_HOLDER_MAX, or "" */
};

/* A reservation that a process has made for an owner, and that may be over. */
struct note {
    int64_t stamp;
    int64_t made_ms; /* Redis's clock */
    struct bytes topic, id;
};

/* A process that owns reservations, or has owned some. */
struct worker_beat {
    uint64_t worker;
    int64_t last_ms; /* when it was there the last time, on Redis's clock */
};

/* A topic's jobs, counted by state; how old the oldest ready one is, how far the next due
 * one. */
struct topic_stats {
    int64_t delayed, ready, reserved, dead;
    int64_t oldest_ready_ms; /* since the first ready job was due; -1: none, or it is hidden
                              * behind too many that were cancelled */
    int64_t next_due_ms;     /* until the first delayed job is due, 0 if it is; -1: none */
    int64_t urgent;          /* of the ready ones, those of a priority below the default */
};

/* A topic's lock: which node scans it in cluster mode (doc/cluster.md). */
struct topic_lock {
    struct bytes node; /* "": nobody has it */
    uint64_t view;
    int64_t token;
    int64_t left_ms;
};

struct topic_count {
    struct bytes topic;
    struct topic_stats stats;
    struct topic_lock lock; /* in.topics.owners */
};

struct settings_row {
    struct bytes topic;
    struct topic_settings settings;
};

/* Where others write to Redis, too, name and line may be anything. */
struct identity_row {
    struct bytes name;
    int64_t version;   /* 0: what is kept was not written by dueq; the line is all of it */
    struct bytes line; /* "": a tombstone */
};

/* What a PUSH does where a job with its id lives. */
enum push_mode {
    PUSH_REJECT,  /* DUPLICATE */
    PUSH_REPLACE, /* the living job goes, whatever its state */
    PUSH_IGNORE,  /* OK, the living job stays as it is: out.push.existed */
};

/* A job in a LIST: as in struct job, but without its body. */
struct job_row {
    struct job job;
    int64_t body_bytes;
    int64_t place_ms; /* reserved: its deadline; dead: when it died; else its due */
};

/* clang-format off */
/*    name         word */
#define EVENT_LIST(X)                                                                        \
    X(PUSHED,      "pushed")      /* at: due                                              */ \
    X(REPLACED,    "replaced")    /* by a push of its id                                  */ \
    X(DUE,         "due")         /* delayed to ready                                     */ \
    X(DELIVERED,   "delivered")   /* its consumer has it; at: deadline                    */ \
    X(RETURNED,    "returned")    /* its consumer left without it                         */ \
    X(TOUCHED,     "touched")     /* at: deadline                                         */ \
    X(RELEASED,    "released")    /* at: due                                              */ \
    X(TIMED_OUT,   "timed_out")   /* the reservation ran out; at: due                     */ \
    X(ACKED,       "acked")                                                                  \
    X(DIED,        "died")        /* death says why                                       */ \
    X(MOVED,       "moved")       /* rescheduled, run, kicked; at: due                    */ \
    X(CANCELLED,   "cancelled")                                                              \
    X(REPAIRED,    "repaired")
/* clang-format on */

enum job_event {
#define X(name, word) EVENT_##name,
    EVENT_LIST(X)
#undef X
        EVENT_COUNT
};

/* A line of the history. */
struct history_item {
    enum job_event event;
    enum death death; /* DIED */
    int64_t time_ms;  /* on Redis's clock */
    int64_t at_ms;    /* see EVENT_LIST; 0: none */
    unsigned tries;   /* deliveries so far, where known */
    struct bytes topic, id;
    struct bytes node;   /* who did it: at most OP_NODE_MAX bytes */
    struct bytes client; /* at most JOB_HOLDER_MAX */
};

/* The damages that an AUDIT finds and a REPAIR mends. */
/* clang-format off */
/*    name         word */
#define DAMAGE_LIST(X)                                                                       \
    X(NONE,        "none")                                                                   \
    X(NO_PLACE,    "no_place")    /* a job in no place                                    */ \
    X(TWO_PLACES,  "two_places")  /* a place names a job that is in another one           */ \
    X(NO_JOB,      "no_job")      /* a place, or a body, without a job                    */ \
    X(WRONG_TIME,  "wrong_time")  /* its place has another time than the job              */ \
    X(NO_BODY,     "no_body")     /* a large body is lost                                 */ \
    X(NO_VALUE,    "no_value")    /* what is kept of it was not written by dueq           */ \
    X(NO_EXPIRY,   "no_expiry")   /* its ttl is not watched, or that of another time      */ \
    X(NOT_LISTED,  "not_listed")  /* the topic: missing in the list of topics             */ \
    X(NO_EVENT,    "no_event")    /* the topic: its next event is not planned, or too late */ \
    X(WRONG_BYTES, "wrong_bytes") /* the topic: its counter of bytes is wrong             */
/* clang-format on */

enum damage {
#define X(name, word) DAMAGE_##name,
    DAMAGE_LIST(X)
#undef X
        DAMAGE_COUNT
};

struct suspect {
    struct bytes id; /* "": the topic itself */
    enum damage damage;
};

struct op {
    enum op_verb verb;
    void (*on_done)(struct op *op);

    /* Not for the caller. */
    struct list link;              /* whoever has the op */
    struct core *core;             /* the engine, while it has the op: see core.c */
    void (*answer)(struct op *op); /* the caller's on_done, while the engine listens in */
    int64_t sent_mono_ms;          /* when the engine got it */
    struct op *ahead;              /* an op of the engine that the store gets first; or NULL */
    bool is_ahead;                 /* this op is the `ahead` of another one */
    void *waits;                   /* the store's, while it has the op; else NULL */

    bool is_alone;   /* its sender has no other op on its way, so that its order towards others'
                      * ops of the same turn does not matter */
    unsigned bucket; /* crc16(topic) % buckets; the queue sets it, but for TOPICS */
    struct bytes topic; /* where OP_LIST does not say otherwise */
    struct bytes
        client;      /* who asks, for the history; may be ""; the store does not look at it */
    struct bytes id; /* of the verbs about one job; PUSH with "": the store gives one */

    /* The leader's token as text (ha/rule/token.h), "" of a standalone node; borrowed. For SCAN
     * (without in.scan.share), AUDIT, REPAIR and FENCE, which only a leader may run. Where the
     * bucket has seen a higher token, or one of another ensemble, they end FENCED, with nothing
     * done. The store sends them when they are submitted, or not at all: UNAVAILABLE. */
    struct bytes token;

    union {
        struct {
            struct bytes body;
            int64_t delay_ms; /* from now on Redis's clock; ignored when at_ms is not 0 */
            int64_t at_ms;    /* absolute due time on Redis's clock, or 0 */
            int64_t ttr_ms;
            int64_t
                ttl_ms; /* expires so long after now; 0: never. rules.expires_ms is not read */
            bool ttl_from_due; /* ttl_ms counts from the due time, or from now where that is
                                * past */
            struct job_rules rules;
            bool has_extra; /* the job has struct job_extra: it is counted what happens to it */
            bool by_id;     /* is served in the order of pushes, see there; so has_extra */
            struct bytes attributes; /* packed; "": none, else so has_extra */
            enum push_mode mode;
            bool is_indexed;  /* the job is found by its id alone, as long as it lives: OWNER */
            int64_t jobs_max; /* of its topic: where it has so many, in any state, a new one is
                               * TOPIC_FULL; 0: any number */
            int64_t bytes_max; /* the same of its bodies: TOPIC_FULL_BYTES. With a limit the
                                * job's body counts, as long as the job is there */
            unsigned given; /* SETTING_BITs the caller chose; the engine fills in the rest from
                             * the topic's settings; the store ignores `given` */
        } push;
        struct {
            unsigned count; /* 1 to OP_ITEMS_MAX */
            bool id_only;   /* index the jobs, for acks that bring no topic and no stamp */
            bool is_owned;  /* note the reservations under this process: see OP_NOTES_MAX */
        } pop;              /* POP; TAKE, with count 1 */
        struct {
            const struct lease *items; /* all of one topic */
            unsigned count;            /* 1 to OP_ITEMS_MAX */
            bool is_owned; /* DELIVERED and RETURN: some were noted. A note goes with its
                            * reservation, also where the lease is over */
        } leases;          /* DELIVERED, KEEP and RETURN */
        struct op_lease {
            int64_t stamp;     /* ACK, RELEASE, TOUCH, BURY; 0: nobody's */
            bool has_check;    /* the client has brought one. The store looks at neither: */
            uint64_t check;    /* where it is wrong, the engine has put 0 for the stamp */
            bool is_nodes;     /* the node holds the lease for its client, who does not know it:
                                * it needs no check. The store does not look at that either */
            int64_t delay_ms;  /* RELEASE: 0 for at once; -1: as the job's backoff says */
            int64_t ttr_ms;    /* TOUCH: 0 for the job's own TTR */
            bool has_priority; /* RELEASE, BURY: the job has `priority` from now on */
            uint32_t priority;
            bool is_end; /* RELEASE: its holder is gone, and did not ask for it. delay_ms is 0;
                          * no release is counted, and a try only where the delivery was
                          * confirmed */
            bool is_owned; /* ACK, RELEASE, BURY: the reservation was noted. Its note goes, also
                            * where the lease is over */
            uint64_t worker; /* with is_owned: by that process; 0: by this one */
        } lease;
        struct {
            struct bytes after; /* the last answer's `next`; "" at first */
            unsigned limit;     /* 1 to OP_TOPICS_MAX */
            bool owners;        /* with each topic's lock */
        } topics;
        struct {
            unsigned limit;                    /* move at most so many jobs */
            const struct settings_rule *rules; /* for topics that have no such setting in c */
            unsigned rule_count;               /* at most OP_RULES_MAX */
            struct bytes node;                 /* who scans, for the history */
            int64_t history_bytes;             /* as record.bytes_max */
            const struct scan_share *share;    /* NULL: all topics are the caller's; else the
                                                * topics' locks count, and not the token */
            struct op *const *pops;            /* see OP_SCAN_POPS_MAX */
            unsigned pop_count;
        } scan;
        struct {
            int64_t delay_ms; /* from now; 0: at once. Ignored when at_ms is not 0 */
            int64_t at_ms;
            unsigned states; /* 1 << enum job_state: only from these; else WRONG_STATE */
        } move;
        struct {
            unsigned
                states; /* 1 << enum job_state: only from these, else WRONG_STATE; 0: any */
            bool is_as_seen; /* only while its due, delay and creation are these, as they were
                              * when the caller looked; else WRONG_STATE. A job that replaced
                              * the one that was seen has others, but where both were pushed
                              * within one millisecond */
            int64_t due_ms;
            int64_t delay_ms;
            int64_t created_ms; /* of its EXTRA; 0: it has none */
        } cancel;
        struct {
            enum job_state state; /* PURGE; KICK: JOB_DELAYED, first due first; else the dead */
            unsigned limit;       /* 1 to OP_CHUNK_MAX */
            int64_t since_ms;     /* of the dead, only those who died then or later; 0: all */
            int64_t before_ms;    /* and before then; 0: all */
            int64_t ttl_ms; /* KICK of the dead: they expire so long after now; 0: never */
            unsigned tries; /* KICK of the dead: their max_tries from now on; 0: as it is */
        } chunk;            /* KICK and PURGE */
        struct {
            enum job_state state;
            struct bytes after; /* the last answer's `next`; "" at first */
            unsigned limit;     /* 1 to OP_LIST_MAX */
        } list;
        struct {
            struct topic_settings settings;
            unsigned mask;    /* SETTING_BITs to be changed: to the value, or where not set in
                               * `settings`, to none */
            bool has_pause;   /* settings.paused_until_ms counts: 0 resumes, a past time is
                               * OUT_OF_RANGE */
            int64_t pause_ms; /* the pause's length; 0: paused_until_ms counts */
        } configure;
        struct {
            struct bytes after; /* without a topic: the last answer's `next`; "" at first */
        } settings;
        struct {
            const struct history_item *items; /* all of the bucket */
            unsigned count;                   /* 1 to OP_RECORDS_MAX */
            int64_t bytes_max;                /* the bucket's history is cut to about that */
        } record;
        struct {
            struct bytes before; /* the last answer's `next`; "" at first: the newest */
            unsigned limit;      /* 1 to OP_RECORDS_MAX */
        } trace;
        struct {
            struct bytes after;
        } places; /* PLACES: ""; AUDIT: the last answer's `next` */
        struct {
            bool calls_scan; /* with id "": the topic's next event is now, sound or not */
        } repair;
        struct {
            /* The token replaces another ensemble's, too; a caller without a token leaves
             * OP_TOKEN_STANDALONE. */
            bool adopts;
        } fence;
        struct {
            uint64_t worker; /* 0: this process */
            unsigned limit;  /* 1 to OP_NOTES_MAX */
        } notes;
        struct {
            bool is_there;  /* this process is */
            bool leaves;    /* this process owns nothing any more, and will not; not is_there */
            int64_t age_ms; /* who was not there for longer, or only in times to come, is told;
                             * 0: nobody */
            struct worker_beat forget; /* this one goes, if it has not been there since; worker
                                        * 0: none */
        } beat;
        struct {
            struct bytes known; /* the last answer's `id`; "": tell all */
        } identities;
        struct {
            struct bytes line; /* "" revokes */
            struct bytes id;   /* of this change: OP_IDENTITY_ID_CHARS random hex digits */
            int64_t as;        /* 0: a new version, the highest of all; else heal: see below */
            int64_t floor;    /* the highest version that the caller knows, of any identity: the
                               * new one is higher */
            int64_t expected; /* the living identity's version; 0: there must be none living;
                               * -1: whatever there is */
            const struct bytes *marks; /* words that no other identity's line may have: tokens'
                                        * hashes, between blanks, or behind '=' or ',' and
                                        * before ','; "cert=...", between blanks */
            unsigned mark_count;       /* at most OP_IDENTITY_MARKS_MAX */
        } identify;
        /* IDENTIFY ends with
         *   OK                   done, or found done: a living line equal to the wanted one, or
         *                        a tombstone where "" is wanted, stays as it is, whatever was
         *                        expected; but for a store that has lost what `floor` says
         *   WRONG_STATE          what is there is not as expected
         *   DUPLICATE            another identity's line has a mark
         *   TOO_MANY_IDENTITIES  more than OP_IDENTITIES_MAX, or OP_IDENTITY_BYTES_MAX
         * A name that the store does not know is revoked, too, by a tombstone: nodes may know
         * it. The oldest of too many tombstones is thrown away.
         *
         * With `as`: a node that has read version `as` puts it back, where it is newer than
         * what is there, or of the same version and a tombstone against a line, or absent and
         * newer than the horizon. Where it is not, nothing is done: OK. Expectations and marks
         * do not count; there is room for twice as many, of any length. */
    } in;

    enum status status;
    /* Redis's clock when the script ran; 0 when it did not, or for ACK, OWNER and PLACES. */
    int64_t now_ms;
    int64_t wait_ms; /* until the event that the op made its topic's first; -1: it made none */

    union {
        struct {
            struct bytes id; /* the given one, or the store's */
            int64_t due_ms;  /* with `existed` that of the job that lives */
            bool existed; /* PUSH_IGNORE: nothing was pushed. PUSH_REPLACE: one was replaced */
        } push;
        struct {
            const struct job *jobs; /* state RESERVED */
            unsigned count;
            bool has_more; /* else ready is empty now, or held back; with it no wake-up will
                            * come: ask again */
        } pop;
        struct {
            unsigned
                stale; /* leases that were not valid any more: nothing was changed for them */
        } leases;
        struct job_row row; /* GET, with the body in row.job */
        struct {
            int64_t due_ms;      /* RELEASE, MOVE; 0: it died instead */
            int64_t deadline_ms; /* TOUCH */
            unsigned tries;      /* RELEASE, BURY: deliveries so far */
            enum death death;    /* RELEASE: its tries are used up; BURY */
            bool stays;          /* MOVE: the job was ready, and keeps its place */
        } change;                /* RELEASE, TOUCH, BURY, MOVE */
        struct {
            unsigned count; /* jobs kicked or purged */
            bool has_more;  /* ask again */
        } chunk;            /* KICK, PURGE */
        struct {
            const struct job_row *rows;
            unsigned count;    /* may be 0 before the end */
            struct bytes next; /* "" at the end */
        } list;
        struct {
            const struct settings_row
                *rows;         /* one; or some of the bucket's, each once or twice */
            unsigned count;    /* of a topic: 1, with nothing set if it has none */
            struct bytes next; /* "" at the end */
        } settings;            /* SETTINGS; CONFIGURE: one, as they are now */
        struct {
            const struct history_item *items; /* newest first */
            unsigned count;                   /* may be 0 before the end */
            struct bytes next;                /* "" at the end */
        } trace;
        struct {
            const struct settings_row *rows; /* topic alone; a topic may come several times */
            unsigned count;
            struct bytes next; /* "" at the end */
        } places;
        struct {
            const struct suspect *items;
            unsigned count;
            unsigned looked_at; /* jobs and entries of places */
            struct bytes next;  /* "" at the end */
        } audit;
        struct {
            enum damage damage; /* what it was; NONE: it is healthy, and nothing was done */
        } repair;
        struct {
            struct bytes seen;    /* the token that is higher, or another ensemble's */
        } fenced;                 /* whatever ends FENCED */
        struct topic_stats stats; /* STATS */
        struct {
            const struct topic_count *rows; /* by name; those that have a job */
            unsigned count;                 /* may be 0 before the end */
            struct bytes next;              /* "" at the end */
            int64_t total; /* topics, with some that have just lost their last job */
        } topics;
        struct {
            struct bytes topic; /* of an indexed job with this id; or the op's */
            int64_t stamp;      /* with a topic in the op: of its reservation; else 0 */
        } owner;
        struct {
            const struct note
                *items; /* some, in no order; fewer than the limit: these are all */
            unsigned count;
        } notes;
        struct {
            const struct worker_beat *silent;
            unsigned count;
        } beat;
        struct {
            bool is_same;    /* nothing has changed since `known`; the rest is not set */
            int64_t version; /* the highest so far, of any identity */
            int64_t horizon; /* the version of the newest tombstone that was thrown away */
            struct bytes id; /* of the last change; "": there was none */
            const struct identity_row *rows; /* all of them, in no order */
            unsigned count;
        } identities;
        struct {
            int64_t version; /* of what is there now; 0: a heal found, and left, nothing */
        } identify;
        struct {
            unsigned moved;             /* jobs that changed their place, or were deleted */
            const int64_t *lateness_ms; /* of those that became due: now - due */
            unsigned lateness_count;
            unsigned expired; /* of the moved: reservations that ran out */
            unsigned
                died[DEATH_COUNT]; /* of the moved: to dead, by reason (tries: of `expired`) */
            unsigned pruned;       /* of the moved: dead jobs beyond their topic's limits */
            int64_t next_ms;    /* until the bucket's next event, with `share` that of its own
                                 * topics; 0: more is due now; -1: none, or none near */
            unsigned stuck;     /* topics left alone, because their data contradicts itself */
            struct bytes wrong; /* what is wrong with the first of them, for people */
            /* With `share`, topics' locks: */
            unsigned taken;      /* taken that were free */
            unsigned taken_over; /* taken from an older view */
            unsigned stolen;     /* of `taken`: of others' topics, which were late */
            unsigned conflicts;  /* own topics that are due, but locked by another */
        } scan;
    } out;
};

/* The verb's word, for logs, metrics and the script's file name. */
const char *op_word(enum op_verb verb);

/* The stable words of the history and of what an audit finds. */
const char *event_word(enum job_event event);
const char *damage_word(enum damage damage);

/* Has the verb one of these traits? */
bool op_has(enum op_verb verb, unsigned traits);

/* Will the pushed job have a struct job_extra? */
static inline bool push_has_extra(const struct op *op)
{
    return op->in.push.has_extra || op->in.push.by_id || op->in.push.attributes.len > 0;
}

/* May only a leader run the op? Any node may scan its own shares, whatever its token. */
bool op_leads(const struct op *op);

/* The part of a token that all leaders of its ensemble share: the whole of a shorter token. */
struct bytes op_token_ensemble(struct bytes token);

#endif
