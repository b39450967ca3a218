/* The queue engine: everything a protocol can do with jobs.
 *
 * It checks what comes in, picks the bucket, hands operations to the store, keeps blocked
 * consumers and wakes them, confirms deliveries, and (while active) moves what is due. It
 * knows nothing of sockets, of ZooKeeper or of Redis.
 *
 * - queue.c: the front door: names checked, requests to their parts, an operator's adoption
 * - engine.c: the parts put together; what they must know of each other; standing by, active,
 *   stopped
 * - core.c: the way of an operation to the store and back
 * - leadership.c: the work of one node at a time: the leader's token asserted, the end awaited
 * - waiters.c: consumers that wait, and the pop in flight for each topic that they wait for
 * - places.c: the room for pops, and how clients share it
 * - deliveries.c: popped jobs that are not confirmed to have reached their consumer
 * - renewals.c: keeps these reserved while their consumer reads: leases sent to the store
 * - scanner.c: one timer a bucket, to find and move what is due
 * - shares.c: this node's topics, in a cluster in which all nodes scan
 * - ids.c: ids alone: the topic of a job, and its holder for acknowledgements that bring no
 *   lease
 * - owned.c: reservations that end with their owner's process
 * - census.c: all jobs counted, for metrics
 * - feed.c: the latest deliveries, for clients that follow them
 * - lease_checks.c: the checks that make leases of clients hard to guess
 * - settings.c: each topic's settings, as Redis and the configuration say; what a push leaves
 *   open comes from them
 * - sweeps.c: all of a state kicked or purged, chunk by chunk
 * - history.c: what jobs went through, written down and read
 * - reconciler.c: proves slowly that every job is in its one place, and mends what is not;
 *   audit.c: where its walk is, and what looked wrong so far
 */
#ifndef DUEQ_NODE_QUEUE_QUEUE_H
#define DUEQ_NODE_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/histogram.h"
#include "base/list.h"
#include "base/timer.h"
#include "node/store/store.h"

/* The form of topics and ids. Pure.
 *
 * Neither may be "." or "..": clients and proxies resolve these in a path, escaped or not:
 * /v1/topics/t/jobs/../kick, meant for one job, would kick all.
 */

#define NAME_MAX_BYTES 200

/* 1 to 200 of [A-Za-z0-9_.:/+;$()-], not starting with '-': beanstalkd's tube names. */
bool topic_name_is_valid(struct bytes topic);

/* 1 to 200 printable ASCII characters without white space. */
bool job_id_is_valid(struct bytes id);

#define QUEUE_TOPICS_PER_POP_MAX 64
#define QUEUE_DELAY_MAX_MS       (INT64_C(3650) * 86400000) /* of gmq and the native API */
#define QUEUE_AT_MAX_MS          ((INT64_C(1) << 48) - 1)   /* what a job's header can hold */
#define QUEUE_TTR_MAX_MS         (INT64_C(7) * 86400000)
#define QUEUE_CLIENT_MAX_BYTES   64    /* of pop.client; the rest is cut off */
#define QUEUE_FOLLOW_MAX         1000  /* deliveries in one answer */
#define QUEUE_FOLLOWERS_MAX      100   /* at once; one more is TOO_MANY_FOLLOWERS */
#define QUEUE_ASKING_MAX         20000 /* topics of pops that only ask; more: TOO_MANY_POPS */
#define QUEUE_TRACE_MAX          1000  /* lines of history in one answer */

/* Do leases of clients carry a check, and have they to? lease_checks.h has the rules. */
enum queue_lease_check {
    QUEUE_LEASE_CHECK_OFF,
    QUEUE_LEASE_CHECK_AUTO,
    QUEUE_LEASE_CHECK_REQUIRE
};

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
    enum queue_lease_check lease_check;
    bool index_ids; /* all pushes are indexed (in.push.is_indexed): a protocol that goes by bare
                     * ids is on */
    int64_t
        lock_ms; /* cluster mode: how long a topic's lock lasts; fixed for the queue's life */
};

/* Numbers of one sample: a row is a field of struct queue_stats, and a metric. */
/* clang-format off */
#define QUEUE_METRICS(X) \
    X(popped_jobs, COUNTER, "dueq_jobs_popped_total", \
      "Jobs delivered to a consumer.") \
    X(returned_jobs, COUNTER, "dueq_jobs_returned_total", \
      "Jobs put back, because their consumer left before it had them; they do not " \
      "count as popped.") \
    X(expired_jobs, COUNTER, "dueq_jobs_expired_total", \
      "Reservations that ran out.") \
    X(pruned_jobs, COUNTER, "dueq_jobs_pruned_total", \
      "Dead jobs deleted by the limits of their topics.") \
    X(late_confirmations, COUNTER, "dueq_confirmations_late_total", \
      "Jobs whose reservation had run out before their delivery was confirmed.") \
    X(lost_confirmations, COUNTER, "dueq_confirmations_lost_total", \
      "Jobs whose delivery or return the store did not take: handed out again in " \
      "seconds.") \
    X(waiting, GAUGE, "dueq_consumers_waiting", \
      "Consumers that wait for a job.") \
    X(following, GAUGE, "dueq_followers", \
      "Clients that follow the deliveries and wait for the next.") \
    X(unconfirmed, GAUGE, "dueq_deliveries_unconfirmed", \
      "Deliveries not yet known to have reached their consumer.") \
    X(census_walks, COUNTER, "dueq_census_walks_total", \
      "How often all topics have been counted, for these metrics.") \
    X(history_lost, COUNTER, "dueq_history_lost_total", \
      "Lines of history that were not written down.") \
    X(audited, COUNTER, "dueq_audited_total", \
      "Jobs, and entries of places, that the reconciler has looked at.") \
    X(audit_walks, COUNTER, "dueq_audit_walks_total", \
      "How often the reconciler has been through the whole store.") \
    X(suspects, COUNTER, "dueq_audit_suspects_total", \
      "Entries that looked wrong to the reconciler at first sight.") \
    X(lock_conflicts, COUNTER, "dueq_topic_lock_conflicts_total", \
      "Scans that left a due topic of this node alone, because another node had " \
      "its lock.")
/* clang-format on */

/* Counters since start; gauges where it says so. */
struct queue_stats {
#define X(field, ...) uint64_t field;
    QUEUE_METRICS(X)
#undef X
    uint64_t done[OP_COUNT];                /* operations that ended OK */
    uint64_t refused[OP_COUNT];             /* ended otherwise, surely without effect */
    uint64_t unknown[OP_COUNT];             /* may have happened */
    uint64_t ended[OP_COUNT][STATUS_COUNT]; /* all of them, by how they ended */
    uint64_t in_flight;                     /* gauge: operations the store has not answered */
    uint64_t died[DEATH_COUNT]; /* jobs that this node moved to dead; DAMAGED: also jobs that
                                 * were dead already */
    uint64_t repaired[DAMAGE_COUNT];    /* those that were wrong, and are mended */
    uint64_t locks_taken;               /* cluster mode: topics' locks that were free */
    uint64_t locks_taken_over;          /* from an older view */
    uint64_t locks_stolen;              /* of others' topics, for their lateness */
    struct histogram move_lateness;     /* ready - due, every job that had a delay */
    struct histogram delivery_lateness; /* sent - due, where a consumer was waiting */
};

struct queue;

/* `store` and `timers` are borrowed for the queue's life. The queue sets the store's events. */
struct queue *queue_new(const struct queue_options *options, struct store *store,
                        struct timers *timers);
void queue_free(struct queue *q); /* after queue_stop's on_stopped; NULL is fine */

/* New limits, from the next request on. */
void queue_reload(struct queue *q, const struct queue_options *options);

/* `heard` is called when an identity has changed, or may have: somebody has said so, or the
 * store is up. There is one listener; NULL: none any more. What was changed is told by an
 * IDENTITIES. */
void queue_hear_identities(struct queue *q, void (*heard)(void *arg), void *arg);

/* The leader's part, in a cluster of which one node at a time moves due jobs. */
struct queue_leader {
    struct bytes token;         /* ha/rule/token.h, at most OP_TOKEN_MAX bytes; copied */
    bool (*may_act)(void *arg); /* asked right before each scan, audit and repair */
    /* The store has seen the token `seen`, which is higher, or of another ensemble: this node
     * stands by again. At most once after each queue_lead(). */
    void (*on_fenced)(void *arg, struct bytes seen);
    void (*on_drained)(void *arg); /* see queue_deactivate() */
    void *arg;
};

/* For tests: leads without a token, and is not told when it is fenced. */
void queue_activate(struct queue *q);

/* Starts moving due jobs, as the leader. The token is asserted on all buckets first, and again
 * whenever the store or a bucket was out of reach; a bucket is scanned once it has taken the
 * token. While may_act says no, nothing is sent, and may_act is asked again later. Callbacks
 * come in a later turn. Ignored unless the queue stands by: at first, after
 * queue_deactivate(), and after on_fenced. */
void queue_lead(struct queue *q, const struct queue_leader *leader);

/* Does the queue lead, and has the store done something for it as the leader since
 * queue_lead()? Then no bucket asked so far has fenced it. False proves nothing: the store may
 * be away. */
bool queue_has_led(const struct queue *q);

/* How many buckets refuse this node's token while others take it, after the node was fenced and
 * has tried to lead again; 0: the buckets are not divided, as far as is known. `seen` is the
 * token that one of the refusing buckets has seen, borrowed until the next try. */
unsigned queue_divided(const struct queue *q, struct bytes *seen);

/* Stops moving due jobs: no new scan begins. on_drained comes, once, when all in flight have
 * ended, unless queue_lead() is called before. Fine for a node that stands by. */
void queue_deactivate(struct queue *q);

/* For a cluster in which all nodes scan (doc/cluster.md). From the first call until
 * queue_stop() this node moves due jobs in the topics of its shares, whoever leads, and
 * queue_lead() is about the reconciler alone. `view` names the nodes that scan, and is copied;
 * the first one is empty, with number 0. Each new view makes the node look at all buckets. */
struct shares_view;
void queue_share(struct queue *q, const struct shares_view *view);

/* The view and its shares, for reports; NULL before queue_share(). Borrowed. */
struct shares;
struct shares *queue_shares(struct queue *q);

/* The node that the view gives the topic to, whoever scans it now; "" before queue_share(), or
 * in an empty view. Borrowed until the next queue_share(). */
struct bytes queue_topic_preferred(struct queue *q, struct bytes topic);

/* An operator's decision between two ensembles: that of `token` is right, or, with "",
 * standalone nodes are. The first round gives all buckets the token, one after the other; the
 * second asks all whether they still have it, because another node's adoption may have run at
 * the same time. The caller embeds the struct.
 *
 * Where adoptions leave the buckets divided, at least one adoption reports it: the last one to
 * begin its second round begins when no adoption writes any more, and finds a bucket with
 * another's token. An adoption that stopped before has said why. No adoption sees what the
 * store loses later, with a master that is replaced. */
struct adoption {
    char token[OP_TOKEN_MAX + 1];
    void (*on_done)(struct adoption *adoption);

    /* Output. OK. FENCED with `lost` above 0: so many buckets follow another token by now, such
     * as `lost_to`. FENCED with `lost` 0: the same ensemble has a higher token, and this leader
     * has been replaced. Else why it stopped at some bucket: it can be retried. */
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
 * rules. A lease with a wrong check ends as a stale one. The topic's settings fill in what a
 * PUSH leaves open (in.push.given). A MOVE without DEAD in its mask brings no job back to life.
 */
void queue_submit(struct queue *q, struct op *op);

/* The caller's client has left, or waits no longer. While the store is away an op that was
 * never sent is dropped, and ends UNAVAILABLE soon; a read that waits for its turn is dropped
 * also while the store is there. All else goes on; so does every ACK, because its work is done.
 * Harmless for an op that is done. */
void queue_abandon(struct queue *q, struct op *op);
unsigned queue_buckets(const struct queue *q);

/* ---- consuming ---- */

struct account;
struct delivery;
struct entry;
struct waiters;

enum place_kind { PLACE_NONE, PLACE_WAITING, PLACE_ASKING, PLACE_KINDS }; /* see waiters.h */

/* A consumer's request for jobs. The caller embeds it. */
struct pop {
    /* inputs: topics in order of priority, borrowed until on_done */
    const struct bytes *topics;
    unsigned topic_count; /* 1 to QUEUE_TOPICS_PER_POP_MAX */
    unsigned count;       /* 1 to OP_ITEMS_MAX jobs at most; answers as soon as it has one */
    int64_t wait_ms;      /* 0: do not wait */
    bool id_only;         /* the consumer will acknowledge by id alone: see queue_ack_by_id */
    bool is_owned;        /* the consumer's connection owns what it gets: see below */
    struct bytes take_id; /* not "": this job, and no other, from ready, delayed or dead. With
                           * one topic, count 1 and wait_ms 0. NOT_FOUND; WRONG_STATE: it is
                           * reserved. Borrowed until on_done */
    uint64_t holder;      /* with id_only: the consumer's number, unique in this process */
    uint64_t group;       /* the same: a number of those it belongs to, such as its machine's
                           * address; 0: none */
    bool is_alone;        /* as in struct op */
    bool has_ttr;         /* ttr_ms counts for what it gets, instead of the jobs' own */
    int64_t ttr_ms;       /* 0: the jobs are done with their delivery */
    struct bytes client;  /* who it is, for people; may be empty; borrowed until on_done */
    struct bytes address; /* the client's, for its share of the places; borrowed for the call */
    void (*on_done)(struct pop *pop);

    /* Outputs, valid while on_done runs. OK with one job or more; NOT_FOUND: nothing came in
     * time; TOO_MANY_WAITERS: there is nothing now, and it may not wait (any longer): see
     * waiters.h; CANCELLED after queue_pop_cancel or queue_stop; or why it was refused. */
    enum status status;
    struct bytes topic; /* of all the jobs */
    const struct job *jobs;
    unsigned job_count;
    int64_t now_ms;            /* on Redis's clock, when they were popped */
    struct delivery *delivery; /* taken over with the jobs, see below */

    /* The queue's own, see waiters.c. */
    struct waiters *waiters;
    struct entry *entries; /* one a topic; NULL: about to be called back */
    unsigned entry_count;
    struct timer timer;
    struct list link;        /* waiting, or to be called back */
    int64_t since_mono_ms;   /* when it came */
    bool is_claimed;         /* an operation in flight may bring a job for it */
    bool may_wait;           /* it has places to wait */
    bool is_patient;         /* it may wait, and its time is not over */
    struct taking *taking;   /* the operation for take_id; NULL: none is on its way */
    struct account *account; /* its address's; NULL: it has no places */
    enum place_kind place_kind;
    struct list place;
    enum status last_error; /* why its last try failed; OK: the try did not fail */
};

void queue_pop(struct queue *q, struct pop *pop);

/* The consumer has left: on_done comes with CANCELLED, soon, and no job is lost to it. Not
 * for a pop that is done. */
void queue_pop_cancel(struct pop *pop);

/* The receiver of a pop's jobs makes exactly one of these three calls; each frees the delivery.
 * Until then the jobs stay reserved, however long it takes, and no try is counted; should the
 * node die, they are free within seconds. A job whose lease is used meanwhile is delivered,
 * whichever call is made. */
void queue_delivered(struct queue *q, struct delivery *d); /* the consumer's kernel has them */
void queue_returned(struct queue *q, struct delivery *d);  /* it never got them */
void queue_left_open(struct queue *q, struct delivery *d); /* nobody can tell: they come again
                                                            * within seconds, unless their
                                                            * leases are used */

/* Owned reservations (pop.is_owned) end with their owner.
 *
 * The store notes each under this process. It becomes ready as soon as
 *   - its connection ends: the protocol sends RELEASE with in.lease.is_owned for each lease
 * that the connection holds, and did not end before;
 *   - the process ends, in whatever way: the leader finds the notes of a process that is
 * silent, and releases what is still reserved. A note goes with the ACK, RELEASE or BURY that
 * brings is_owned, also where the lease is over by then: the protocol ends each lease with one
 * of these, even where it knows that its time is over. */

/* ---- leases ---- */

/* A client holds a lease as the stamp of its job and a check (in.lease.check), which nobody can
 * guess. Writes the check of each job of the pop to `to`, while the pop's on_done runs. False:
 * leases are handed out without, because a node of an older version could not read them. */
bool queue_lease_checks(struct queue *q, const struct pop *pop, uint64_t *to);

/* The nodes that clients may come to with a lease: which of them can read its check? */
enum lease_readers { LEASE_READERS_ALL, LEASE_READERS_SOME, LEASE_READERS_UNKNOWN };

/* The answer to that, for the queue to ask whenever it matters; without one, it is all. */
void queue_ask_lease_readers(struct queue *q, enum lease_readers (*read)(void *arg), void *arg);

/* ---- ids alone ---- */

/* Which topic has the job of this id? Of jobs that were indexed only: by their push
 * (in.push.is_indexed, options.index_ids) or by a pop with id_only. An id that lives in several
 * topics is found in one of them. */
struct id_find {
    struct bytes id;  /* borrowed until on_done */
    bool is_of_store; /* the id was made by the store, or by nobody: one bucket is asked */
    /* May the client know of a job of this topic? NULL: of any. */
    bool (*is_for)(const struct id_find *find, struct bytes topic);
    void (*on_done)(struct id_find *find);

    /* Outputs, valid while on_done runs. OK; NOT_FOUND; or why it could not be told. */
    enum status status;
    struct bytes topic;

    /* The queue's own, see ids.c. */
    struct ids *ids;
    struct id_search *search;
    struct list link;
};

void queue_find(struct queue *q, struct id_find *find);

/* ---- acknowledging without a lease ---- */

/* For protocols whose acknowledgement is a bare id. The lease is the one of this holder,
 * else the newest that one of its group got, else the newest that this node handed out, else
 * the current one in any bucket. */
struct id_ack {
    struct bytes id;        /* borrowed until on_done */
    uint64_t holder, group; /* as in struct pop */
    bool is_alone;          /* as in struct op */
    struct bytes client;    /* the same; for the history */
    /* May the job of this topic be acknowledged so? NULL: of any topic. */
    bool (*is_for)(const struct id_ack *ack, struct bytes topic);
    void (*on_done)(struct id_ack *ack);

    /* OK; NOT_FOUND: no live job has this id and an owner; NOT_OWNER: the time to run is over
     * and the job is, or will be, handed out again; or why it was refused. */
    enum status status;

    /* The queue's own, see ids.c. */
    struct ids *ids;
    struct op op;
    struct id_find find;
    bool is_of_node; /* the lease on its way is another holder's, of this node */
    struct bytes topic;
    char topic_text[NAME_MAX_BYTES];
};

void queue_ack_by_id(struct queue *q, struct id_ack *ack);

/* ---- whole states ---- */

#define SWEEP_CHUNK 100 /* jobs of a sweep that are on their way at once */

/* All jobs of a state kicked (DEAD) or purged. The caller embeds it. The sweep goes chunk by
 * chunk, with other operations in between; jobs that come in meanwhile may be left. */
struct sweep {
    struct bytes topic; /* borrowed until on_done */
    enum op_verb verb;  /* OP_KICK or OP_PURGE */
    unsigned states;  /* 1 << enum job_state of each. KICK: of delayed and dead; 0: the dead */
    uint64_t limit;   /* at most so many; 0: all that were there when it began */
    int64_t since_ms; /* of the dead, as in op.h */
    int64_t before_ms;
    int64_t ttl_ms; /* KICK of the dead, as in op.h */
    unsigned tries;
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
void queue_sweep_cancel(struct sweep *sweep);

/* ---- settings ---- */

/* The topic's settings as they hold here and now, all set: Redis's, else the configuration's,
 * else the built-in ones. Every node knows a change within a second, while its link to Redis
 * works. */
void queue_settings(struct queue *q, struct bytes topic, struct topic_settings *settings);

/* The settings this node's configuration has for the topic, even where Redis's override them.
 * The others are not set. */
void queue_configured_settings(struct queue *q, struct bytes topic,
                               struct topic_settings *settings);

/* The time until which the topic is paused, as far as this node knows; 0: it is not. `now_ms`
 * is from an answer: only the store's clock says to the millisecond whether a pause is over. */
int64_t queue_paused_until(struct queue *q, struct bytes topic, int64_t now_ms);

/* ---- history ---- */

/* A request for a job's history; the job may be gone. The caller embeds it. */
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
void queue_trace_cancel(struct trace *trace);

/* ---- looking on ---- */

/* A job that reached its consumer. */
struct feed_item {
    int64_t seq;   /* one more with each delivery of this node, watched or not */
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
    bool (*is_for)(const struct follow *follow, struct bytes topic); /* NULL: all are */
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
void queue_follow_cancel(struct follow *follow);

/* All jobs counted. Counting takes a while, so the numbers are not of one moment. */
struct census {
    int64_t age_ms;           /* since it was finished */
    struct topic_stats total; /* of all topics looked at; the oldest, and the soonest, of all */
    uint64_t topics;          /* about how many there are */
    uint64_t looked_at;       /* topics with a job that were counted */
    bool is_whole; /* no topic was left out: too many, or its bucket does not answer */
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
     * time, or the store is away; STORE_ERROR: it refuses; CANCELLED), and `last` is an older
     * one. */
    enum status status;
    const struct census *last; /* NULL: there is none yet */

    /* The queue's own, see census.c. */
    struct censuses *censuses;
    struct list link;
    struct timer timer;
};

void queue_census(struct queue *q, struct census_call *call);

/* on_done comes with CANCELLED, soon. Not for one that is done. */
void queue_census_cancel(struct census_call *call);
const struct queue_stats *queue_stats(struct queue *q);

/* The checks of a request before it is let in. Pure.
 *
 * A protocol may have checked already; these checks are those the store relies on. They do not
 * ask whether there is room, or whether the engine still takes work.
 */

/* OK, or why it is refused. The verb must be one that protocols may submit. `buckets` are the
 * store's. */
enum status check_op(const struct op *op, const struct queue_options *options,
                     unsigned buckets) MUST_CHECK;
enum status check_pop(const struct pop *pop) MUST_CHECK;
enum status check_trace(const struct trace *trace) MUST_CHECK;

/* Does the op go to the bucket of its topic? Else it names the bucket itself. */
bool op_is_of_a_topic(const struct op *op);

#endif
