/* The queue engine: everything a protocol can do with jobs.
 *
 * It checks what comes in, picks the bucket, hands operations to the store, keeps blocked
 * consumers and wakes them, confirms deliveries, and (while active) moves what is due. It
 * knows nothing of sockets, of ZooKeeper or of Redis.
 *
 * - queue.c: the front door: names checked, requests to their parts, an operator's adoption
 * - engine.c: the parts put together; what they must know of each other
 * - core.c: the way of an operation to the store and back
 * - leadership.c: standing by, active, stopped; what one node at a time is to do: the leader's
 *   token asserted, its end awaited
 * - waiters.c: consumers that wait: their time, their places at topics, their callbacks
 * - topic.c: the pop in flight for each topic that somebody waits for
 * - deliveries.c: what was popped and is not confirmed to have reached its consumer
 * - renewals.c: keeps it reserved while its consumer reads: leases on the way to the store
 * - scanner.c: one timer a bucket, to find and move what is due
 * - shares.c: of which topics, in a cluster in which all nodes scan
 * - owners.c: who holds what, for acknowledgements that bring only an id
 * - census.c: all jobs counted, for metrics
 * - feed.c: what was handed out lately, for those who watch
 * - settings.c: each topic's settings, as Redis and the configuration say; what a push leaves
 *   open comes from them
 * - sweeps.c: all of a state kicked or purged, chunk by chunk
 * - history.c: what jobs went through, written down and read
 * - reconciler.c: proves slowly that every job is in its one place: which topic next, and what
 *   looked wrong so far; audit_steps.c: what it asks
 */
#ifndef DUEQ_NODE_QUEUE_QUEUE_H
#define DUEQ_NODE_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/histogram.h"
#include "base/list.h"
#include "base/timer.h"
#include "node/queue/waiters.h"
#include "node/store/store.h"

/* What a topic and an id may look like. Pure.
 *
 * Neither may be "." or "..": clients and proxies resolve these in a path, escaped or not, and
 * /v1/topics/t/jobs/../kick, which is to kick one job, kicks all.
 */

#define NAME_MAX_BYTES 200

/* 1 to 200 of [A-Za-z0-9_.:/+;$()-], not starting with '-': beanstalkd's tube names. */
bool topic_name_is_valid(struct bytes topic);

/* 1 to 200 printable ASCII characters without white space. */
bool job_id_is_valid(struct bytes id);

#define QUEUE_TOPICS_PER_POP_MAX 64
#define QUEUE_DELAY_MAX_MS       JOB_DELAY_MAX_MS
#define QUEUE_AT_MAX_MS          ((INT64_C(1) << 48) - 1) /* what a job's header can hold */
#define QUEUE_TTR_MAX_MS         (INT64_C(7) * 86400000)
#define QUEUE_CLIENT_MAX_BYTES   64    /* of pop.client; the rest is cut off */
#define QUEUE_FOLLOW_MAX         1000  /* deliveries in one answer */
#define QUEUE_FOLLOWERS_MAX      100   /* who follow at once; one more is TOO_MANY_FOLLOWERS */
#define QUEUE_ASKING_MAX         20000 /* topics of pops that only ask; more is TOO_MANY_POPS */
#define QUEUE_TRACE_MAX          1000  /* lines of history in one answer */

struct queue_options {
    size_t body_max_bytes;
    unsigned waiting_max;     /* topics of pops that wait at the same time */
    unsigned scan_batch;      /* jobs one scan moves at most */
    int64_t scan_interval_ms; /* the safety scan of each bucket */
    unsigned census_topics;   /* topics a census looks at; 0: 20,000 */
    struct bytes node;        /* this node's name, in holders and histories; borrowed */
    const struct settings_rule *rules; /* of the configuration, first match first; borrowed */
    unsigned rule_count;               /* at most OP_RULES_MAX */
    int64_t history_bytes;             /* of a bucket's history, about */
    unsigned audit_rate;               /* jobs looked at a second; 0: no reconciler */
    int64_t
        lock_ms; /* cluster mode: how long a topic's lock lasts; fixed for the queue's life */
};

/* Counters since start; gauges where it says so. */
struct queue_stats {
    uint64_t done[OP_COUNT];                /* operations that ended OK */
    uint64_t refused[OP_COUNT];             /* ended otherwise, surely without effect */
    uint64_t unknown[OP_COUNT];             /* may have happened */
    uint64_t ended[OP_COUNT][STATUS_COUNT]; /* all of them, by how they ended */
    uint64_t popped_jobs;                   /* delivered to a consumer */
    uint64_t returned_jobs;                 /* popped for a consumer that had left */
    uint64_t late_confirmations;            /* of jobs whose reservation had run out */
    uint64_t lost_confirmations;            /* deliveries the store did not take in time */
    uint64_t expired_jobs;                  /* reservations that ran out */
    uint64_t waiting;                       /* gauge: consumers */
    uint64_t unconfirmed;                   /* gauge: deliveries not confirmed yet */
    uint64_t in_flight;                     /* gauge: operations the store has not answered */
    uint64_t following;                     /* gauge: calls that wait for deliveries */
    uint64_t census_walks;                  /* begun */
    uint64_t died[DEATH_COUNT];         /* jobs that went to dead, as far as this node did it;
                                         * DAMAGED: one that had been dead already, too */
    uint64_t pruned_jobs;               /* dead jobs deleted by their topic's limits */
    uint64_t history_lost;              /* lines the store did not take */
    uint64_t audited;                   /* jobs and entries the reconciler looked at */
    uint64_t audit_walks;               /* through the whole store, finished */
    uint64_t suspects;                  /* what looked wrong once */
    uint64_t repaired[DAMAGE_COUNT];    /* what was, and is mended */
    uint64_t locks_taken;               /* of topics, in cluster mode: that were free */
    uint64_t locks_taken_over;          /* from an older view */
    uint64_t locks_stolen;              /* of others' topics, for their lateness */
    uint64_t lock_conflicts;            /* scans that met another's lock on an own topic */
    struct histogram move_lateness;     /* ready - due, every job that had a delay */
    struct histogram delivery_lateness; /* sent - due, where a consumer was waiting */
};

struct queue;

/* Both are borrowed for the queue's life. The queue takes the store's events. */
struct queue *queue_new(const struct queue_options *options, struct store *store,
                        struct timers *timers);
void queue_free(struct queue *q); /* after queue_stop's on_stopped; NULL is fine */

/* New limits, from the next request on. */
void queue_reload(struct queue *q, const struct queue_options *options);

/* Who leads, in a cluster of which one node at a time moves due jobs. */
struct queue_leader {
    struct bytes token;         /* ha/rule/token.h, at most OP_TOKEN_MAX bytes; copied */
    bool (*may_act)(void *arg); /* now? asked right before each scan, audit and repair */
    /* The store has seen `seen`, which is higher, or of another ensemble: this node stands by
     * again. Once at most after each queue_lead(). */
    void (*on_fenced)(void *arg, struct bytes seen);
    void (*on_drained)(void *arg); /* see queue_deactivate() */
    void *arg;
};

/* Starts moving due jobs: as the only node there is. */
void queue_activate(struct queue *q);

/* The same, as the leader: first asserts its token on all buckets, and again whenever the store
 * or a bucket was out of reach; a bucket is scanned once it has taken it. Where it may not act
 * nothing is sent, and may_act is asked again later. Callbacks come in a later turn. */
void queue_lead(struct queue *q, const struct queue_leader *leader);

/* It leads, and since queue_lead() the store has done something for it as the leader: so it is
 * not fenced, as far as was asked. A store that is away proves nothing. */
bool queue_has_led(const struct queue *q);

/* Of a node that was fenced and has tried to lead again: how many buckets refuse it while
 * others take it, with `seen` by one of those that refuse; 0: they are not divided, as far as
 * is known. `seen` is borrowed until it tries again. */
unsigned queue_divided(const struct queue *q, struct bytes *seen);

/* Stops it: no new scan begins. on_drained comes, once, when those in flight have ended, unless
 * queue_lead() comes before. Fine for a node that stands by. */
void queue_deactivate(struct queue *q);

/* In a cluster in which all nodes scan (doc/cluster.md): from the first call on this node moves
 * what is due in the topics of its shares, whoever leads, and queue_lead() is about the
 * reconciler alone. `view` is who scans, copied; with each new one all buckets are looked at.
 * At first an empty one, number 0. For good, until queue_stop(). */
struct shares_view;
void queue_share(struct queue *q, const struct shares_view *view);

/* The view and its shares, for those who look on; NULL: it does not share. Borrowed. */
struct shares;
struct shares *queue_shares(struct queue *q);

/* Whose topic it is by the view, whoever scans it now; "": it does not share, or nobody is in
 * the view. Borrowed until the next queue_share(). */
struct bytes queue_topic_preferred(struct queue *q, struct bytes topic);

/* An operator's decision: of two ensembles this token's is right, or, with "", standalone nodes
 * are. All buckets are told, one after the other; then all are asked whether they have stayed
 * with it, because another node's adoption may have run at the same time. The caller embeds it.
 *
 * So where adoptions have left the buckets divided, one of them at least was told: the last
 * one to begin its second round begins it when no adoption writes any more, and finds a bucket
 * of another's in a divided store. One that stopped before has said why. Nobody sees here what
 * the store loses later, with a master that is replaced. */
struct adoption {
    char token[OP_TOKEN_MAX + 1];
    void (*on_done)(struct adoption *adoption);

    /* Output. OK; FENCED: with `lost` other than 0, so many buckets follow another token by
     * now, such as `lost_to`; else there is a higher token in the same ensemble, and this
     * leader has been replaced. Or why it stopped at some bucket: it can be retried. */
    enum status status;
    unsigned lost;
    char lost_to[OP_TOKEN_MAX + 1];

    /* The queue's own. */
    struct op op;
};

void queue_adopt(struct queue *q, struct adoption *adoption);

/* Answers all waiting consumers with CANCELLED, refuses new work with SHUTTING_DOWN, sends
 * the outstanding confirmations, and calls back when nothing is in flight any more. */
void queue_stop(struct queue *q, void (*on_stopped)(void *arg), void *arg);

/* PUSH, ACK, RELEASE, TOUCH, BURY, CANCEL, MOVE, KICK, PURGE, GET, LIST, STATS, CONFIGURE,
 * SETTINGS and TOPICS: checks the inputs, sets the bucket (but for TOPICS, and SETTINGS without
 * a topic, which the caller asks of one bucket after the other), and submits. See op.h for the
 * rules. What a PUSH leaves open (in.push.given) comes from the topic's settings; with a MOVE
 * that has all states but DEAD in its mask a job is not brought back to life. */
void queue_submit(struct queue *q, struct op *op);

/* Whoever asked has left, or does not wait any longer: while the store is away, what was never
 * sent is dropped, and ends UNAVAILABLE, soon; what only reads also while it is there, if it
 * waits for its turn. All else goes on; and so does an ACK, because the work is done, whoever
 * has left. Harmless for one that is done. */
void queue_abandon(struct queue *q, struct op *op);
unsigned queue_buckets(const struct queue *q);

/* ---- consuming ---- */

struct topic;
struct delivery;
struct pop;

/* A consumer's request for jobs. The caller embeds it. */
struct pop {
    /* inputs: topics in order of priority, borrowed until on_done */
    const struct bytes *topics;
    unsigned topic_count; /* 1 to QUEUE_TOPICS_PER_POP_MAX */
    unsigned count;       /* 1 to OP_ITEMS_MAX jobs at most; answers as soon as it has one */
    int64_t wait_ms;      /* 0: do not wait */
    bool id_only;         /* the consumer will acknowledge by id alone: see queue_ack_by_id */
    uint64_t holder;      /* with id_only: the consumer's number, unique in this process */
    bool has_ttr;         /* ttr_ms counts for what it gets, instead of the jobs' own */
    int64_t ttr_ms;       /* 0: the jobs are done with their delivery */
    struct bytes client;  /* who it is, for people; may be empty; borrowed until on_done */
    struct bytes address; /* whose share of the places it takes; borrowed for the call */
    void (*on_done)(struct pop *pop);

    /* Outputs, valid while on_done runs. OK with one job or more; NOT_FOUND: nothing came in
     * time; TOO_MANY_WAITERS: there is nothing now, and it may not wait (any longer): see
     * waiters.h; CANCELLED after queue_pop_cancel or queue_stop; or why it was refused. */
    enum status status;
    struct bytes topic; /* of all the jobs */
    const struct job *jobs;
    unsigned job_count;
    struct delivery *delivery; /* taken over with the jobs, see below */

    /* The queue's own, see waiters.c. */
    struct waiters *waiters;
    struct seat *seats; /* one a topic; NULL: on its way out */
    unsigned seat_count;
    struct timer timer;
    struct list link;        /* seated, or to be called back */
    int64_t since_mono_ms;   /* when it came */
    bool is_claimed;         /* an operation in flight may bring a job for it */
    bool may_wait;           /* it has the places for it */
    bool is_patient;         /* it may, and its time is not over */
    struct account *account; /* its address's; NULL: it has no places; */
    enum place_kind place_kind;
    struct list place;
    enum status trouble; /* why its last try failed; OK: it did not */
};

void queue_pop(struct queue *q, struct pop *pop);

/* The consumer has left: on_done comes with CANCELLED, soon, and no job is lost to it. Not
 * for a pop that is done. */
void queue_pop_cancel(struct queue *q, struct pop *pop);

/* Whoever took a pop's jobs says what became of them, with exactly one of the three calls;
 * each frees the delivery. Until then the jobs stay reserved, however long it takes, and no try
 * is counted; should the node die, they are free within seconds. A job whose lease is used
 * meanwhile is delivered, whatever is said. */
void queue_delivered(struct queue *q, struct delivery *d); /* the consumer's kernel has them */
void queue_returned(struct queue *q, struct delivery *d);  /* it never got them */
void queue_left_open(struct queue *q, struct delivery *d); /* nobody can tell: they come again
                                                            * within seconds, unless their
                                                            * leases are used */

/* ---- acknowledging without a lease ---- */

/* For protocols whose acknowledgement is a bare id. The lease is the one of this holder,
 * else the newest that this node handed out, else the current one in any bucket. */
struct id_ack {
    struct bytes id;     /* borrowed until on_done */
    uint64_t holder;     /* as in struct pop */
    struct bytes client; /* the same; for the history */
    void (*on_done)(struct id_ack *ack);

    /* OK; NOT_FOUND: no live job has this id and an owner; NOT_OWNER: the time to run is over
     * and the job is, or will be, handed out again; or why it was refused. */
    enum status status;

    /* The queue's own, see owners.c. */
    struct owners *owners;
    struct op op;
    struct id_search *search;
};

void queue_ack_by_id(struct queue *q, struct id_ack *ack);

/* ---- whole states ---- */

#define SWEEP_CHUNK 100 /* jobs of a sweep that are on their way at once */

/* All jobs of a state kicked (DEAD) or purged. The caller embeds it. It goes chunk by chunk,
 * and lets others between; what comes in meanwhile is not promised to be swept. */
struct sweep {
    struct bytes topic; /* borrowed until on_done */
    enum op_verb verb;  /* OP_KICK or OP_PURGE */
    unsigned states;    /* PURGE: 1 << enum job_state of each */
    uint64_t limit;     /* at most so many; 0: all that were there when it began */
    int64_t since_ms;   /* of the dead, as in op.h */
    int64_t before_ms;
    struct bytes client;
    void (*on_done)(struct sweep *sweep);

    /* Outputs, valid while on_done runs. OK; else why it stopped: `count` were swept before,
     * and with UNKNOWN perhaps up to SWEEP_CHUNK more. CANCELLED after queue_sweep_cancel. */
    enum status status;
    uint64_t count;
    bool has_more; /* it ended at the limit, and perhaps not all is swept */

    /* The queue's own, see sweeps.c. */
    struct sweeps *sweeps;
    struct list link;
    struct op op;
    struct timer rest; /* between two chunks */
    uint64_t left;
    bool is_cancelled;
};

void queue_sweep(struct queue *q, struct sweep *sweep);

/* on_done comes with CANCELLED, after the chunk on its way. Not for one that is done. */
void queue_sweep_cancel(struct queue *q, struct sweep *sweep);

/* ---- settings ---- */

/* What holds for the topic here and now: what Redis has, what the configuration says beside it,
 * and what is built in; all are set. Every node knows a change within a second of it, while its
 * link to Redis works. */
void queue_settings(struct queue *q, struct bytes topic, struct topic_settings *settings);

/* What this node's configuration sets for the topic, whether it holds or not: Redis's come
 * before it. The others are not set. */
void queue_configured_settings(struct queue *q, struct bytes topic,
                               struct topic_settings *settings);

/* Until when the topic is paused, 0: it is not, as far as this node knows. `now_ms` is an
 * answer's, for to the millisecond only the store's own clock says whether a pause is over. */
int64_t queue_paused_until(struct queue *q, struct bytes topic, int64_t now_ms);

/* ---- history ---- */

/* What the history says of a job, also of one that is gone. The caller embeds it. */
struct trace {
    struct bytes topic, id; /* borrowed until on_done */
    unsigned limit;         /* 1 to QUEUE_TRACE_MAX: the newest */
    void (*on_done)(struct trace *trace);

    /* Outputs, valid while on_done runs. OK, also when nothing is known of it. */
    enum status status;
    const struct history_item *items; /* oldest first */
    unsigned count;
    bool is_on; /* the topic's history is written */

    /* The queue's own, see history.c. */
    struct traces *traces;
    struct list link;
    struct op op;
    struct timer rest;
    struct trace_room *room;
    bool is_cancelled;
};

void queue_trace(struct queue *q, struct trace *trace);

/* on_done comes with CANCELLED, soon. Not for one that is done. */
void queue_trace_cancel(struct queue *q, struct trace *trace);

/* ---- looking on ---- */

/* A job that reached its consumer. */
struct feed_item {
    int64_t seq;   /* grows by one with each of this node, also those nobody watched */
    int64_t at_ms; /* on Redis's clock, as far as this node knows it */
    struct bytes topic, id, client;
    unsigned tries;  /* as in struct job: before this one */
    int64_t late_ms; /* since it was due, where the consumer was waiting; -1: it was not */
};

/* A request to see deliveries of this node, those of other nodes are not seen here. The caller
 * embeds it. The last 4,096 are remembered, but only while somebody follows, and for a minute
 * after that. */
struct follow {
    /* inputs */
    bool has_after;     /* else from now on */
    int64_t after;      /* those with a higher number */
    struct bytes topic; /* only of this one, "": of all; borrowed until on_done */
    unsigned max;       /* 1 to QUEUE_FOLLOW_MAX; answers as soon as it has one */
    int64_t wait_ms;    /* 0: do not wait */
    void (*on_done)(struct follow *follow);

    /* Outputs, valid while on_done runs. OK, also when nothing came in time; CANCELLED after
     * queue_follow_cancel or queue_stop; or why it was refused. */
    enum status status;
    const struct feed_item *items; /* oldest first */
    unsigned count;
    int64_t next;    /* the `after` of the next call */
    uint64_t missed; /* deliveries behind `after`, of any topic, that are forgotten */

    /* The queue's own, see feed.c. */
    struct feed *feed;
    struct list link;
    int64_t seen_seq; /* up to this one all has been looked at */
    struct timer timer;
};

void queue_follow(struct queue *q, struct follow *follow);

/* on_done comes with CANCELLED, soon. Not for one that is done. */
void queue_follow_cancel(struct queue *q, struct follow *follow);

/* All jobs counted. It takes a while and is not of one moment. */
struct census {
    int64_t age_ms;           /* since it was finished */
    struct topic_stats total; /* of all topics looked at; the oldest, and the soonest, of all */
    uint64_t topics;          /* there are about so many */
    uint64_t looked_at;       /* topics with a job that were counted */
    bool is_whole; /* no topic was left out: too many, or its bucket is out of reach */
    const struct topic_count *top; /* those with the most live jobs first */
    unsigned top_count;            /* at most QUEUE_CENSUS_TOP_MAX */
};

#define QUEUE_CENSUS_TOP_MAX 1000

/* A request to know how many jobs there are. The caller embeds it. A census is taken when
 * somebody asks, and shared by all who ask meanwhile, or within some seconds after. */
struct census_call {
    int64_t wait_ms; /* input: answered no later than this */
    void (*on_done)(struct census_call *call);

    /* Outputs, valid while on_done runs. OK; else why there is no new one (UNAVAILABLE: not in
     * time, or the store is away; CANCELLED), and `last` is an older one. */
    enum status status;
    const struct census *last; /* NULL: there is none yet */

    /* The queue's own, see census.c. */
    struct censuses *censuses;
    struct list link;
    struct timer timer;
};

void queue_census(struct queue *q, struct census_call *call);

/* on_done comes with CANCELLED, soon. Not for one that is done. */
void queue_census_cancel(struct queue *q, struct census_call *call);
const struct queue_stats *queue_stats(struct queue *q);

/* What a request must look like to be let in. Pure.
 *
 * A protocol may have looked already; what is asked here is what the store relies on. Whether
 * there is room, and whether the engine still takes work, is not asked here.
 */

/* OK, or why it is refused. The verb must be one that protocols may submit. `buckets` are the
 * store's. */
enum status check_op(const struct op *op, const struct queue_options *options,
                     unsigned buckets) MUST_CHECK;
enum status check_pop(const struct pop *pop) MUST_CHECK;
enum status check_trace(const struct trace *trace) MUST_CHECK;

/* Does it belong to a topic, whose bucket it goes to? Else it names the bucket itself. */
bool op_is_of_a_topic(const struct op *op);

#endif
