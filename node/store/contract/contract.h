/* The contract of the store port, as tests that run on every store.
 *
 * A *stand* is one store, fresh for each test, with a way to let it work and to let its time
 * pass. The tests see nothing but the port: state they cannot ask for shows in what happens
 * next. No test sleeps; a test waits until the store's clock shows a time.
 *
 *   contract.c         the stand and the common steps of the tests
 *   contract_test.c    the stores under test
 *   redis/             the tests that change keys in Redis itself
 *   the others         the tests, one file for each part of doc/store.md
 *
 * An operation that was run here keeps its outputs until the test is over.
 *
 * No outcome may depend on the machine's speed. DUEQ_SLOW=n proves that: n ms of virtual time
 * go by before each operation, so only the stores in memory are tested.
 */
#ifndef DUEQ_NODE_STORE_CONTRACT_CONTRACT_H
#define DUEQ_NODE_STORE_CONTRACT_CONTRACT_H

#include "base/tests/unit.h"
#include "node/store/store.h"

/* With 4 buckets, TOPIC and OTHER share one, ELSEWHERE and MARKER have their own. */
#define CONTRACT_BUCKETS 4
#define TOPIC            BYTES("orders")
#define OTHER            BYTES("mails")
#define ELSEWHERE        BYTES("invoices")
#define MARKER           BYTES("marker")

#define BODY      BYTES("body")
#define TTR_MS    60000
#define SOON_MS   5   /* near enough to wait for; nothing has to be done before it */
#define ROOM_MS   500 /* for some operations before it, on a slow machine too */
#define FAR_MS    3600000
#define BATCH_MAX OP_ITEMS_MAX

/* The clock in memory stands in the middle of a millisecond, as Redis's nearly always does. */
#define BETWEEN_US 500
#define BEGUN_MS   1 /* so durations are counted from the next millisecond */

struct stand {
    struct store *store;
    void (*start)(struct stand *stand);            /* the store's events are set */
    void (*turn)(struct stand *stand);             /* lets the store work, until wake() */
    void (*wake)(struct stand *stand);             /* something happened */
    void (*pass)(struct stand *stand, int64_t ms); /* lets about so much time go by */

    /* lose: the value of TOPIC's delayed or reserved job goes, its place still names it.
     * repair: the place forgets it, too. */
    void (*lose)(struct stand *stand, struct bytes id);
    void (*repair)(struct stand *stand, struct bytes id);
};

struct contract_part {
    const struct CMUnitTest *tests;
    size_t count;
};

#define TEST(name) cmocka_unit_test(name)

extern const struct contract_part contract_pushes, contract_places, contract_leases;
extern const struct contract_part contract_takes, contract_notes;
extern const struct contract_part contract_ids, contract_scans, contract_orphans;
extern const struct contract_part contract_scan_pops;
extern const struct contract_part contract_events, contract_bytes, contract_topics;
extern const struct contract_part contract_priorities, contract_expiry, contract_tries;
extern const struct contract_part contract_moves, contract_modes, contract_fences;
extern const struct contract_part contract_locks, contract_locks_rules, contract_locks_late;

/* Around each test. Returns when the store is up. */
void contract_begin(struct stand *stand);
void contract_end(void);

/* ---- running operations ---- */

/* Submits a copy of `op`, with its bucket set, and returns the answered copy. */
struct op run(struct op op);

/* The same; it must be OK. */
struct op run_well(struct op op);

/* All at once; the answers replace the operations. */
void run_all(struct op *ops, unsigned count);

/* Submits `op` as it is, and abandons it at once. */
void submit_and_abandon(struct op *op);

unsigned bucket_of(struct bytes topic);

/* The store's process. */
uint64_t own_worker(void);

struct op push_op(struct bytes topic, const char *id); /* at once, BODY, TTR_MS */
struct op lease_op(enum op_verb verb, const struct job *job);
struct op id_op(enum op_verb verb, const char *id);

/* In TOPIC, and successful (else the test fails). */
struct op push(const char *id);
struct op push_delayed(const char *id, int64_t delay_ms);
struct op push_ttr(const char *id, int64_t ttr_ms);
struct op push_delayed_in(struct bytes topic, const char *id, int64_t delay_ms);
struct op pop(unsigned count);
struct job pop_one(void);
struct job pop_one_of(struct bytes topic);
struct job get(const char *id);
struct op scan_op(void);        /* of TOPIC's bucket, for a leader, without history */
struct op scan(unsigned limit); /* the same; done */

/* In TOPIC; the caller looks at the status. */
struct op ack(const struct job *job);
struct op release(const struct job *job, int64_t delay_ms);
struct op touch(const struct job *job, int64_t ttr_ms);
struct op delivered(const struct job *jobs, unsigned count);
struct op delivered_for(const struct job *job, int64_t ttr_ms); /* instead of its own */
struct op kept(const struct job *jobs, unsigned count);
struct op returned(const struct job *jobs, unsigned count);
struct op cancel(const char *id);

/* So many jobs at once, with the names numbered(first) and on. Or they are cancelled. */
void push_numbered(struct bytes topic, unsigned first, unsigned count, int64_t delay_ms);
void cancel_numbered(struct bytes topic, unsigned first, unsigned count);
const char *numbered(unsigned i); /* i < NUMBERS; names are in the order of numbers */
#define NUMBERS 10000

/* "a", "b", ... in TOPIC, one after the other; popped, too, where nothing else is ready. */
void push_letters(unsigned count);
const struct job *reserve_letters(unsigned count);

/* Pushed and popped; nothing else may be ready. */
struct job reserve(struct op op);

/* With a body of LARGE_BYTES, which a script keeps apart. */
struct op large_op(const char *id);
#define LARGE_BYTES 4096

/* With rules; in TOPIC, and successful. */
struct op push_ruled(const char *id, struct job_rules rules);
struct op push_ranked(const char *id, uint32_t priority);
struct op push_limited(const char *id, unsigned max_tries);
struct op push_mortal(const char *id, int64_t delay_ms, int64_t ttl_ms);

/* In TOPIC; the caller looks at the status. */
struct op bury(const struct job *job);
struct op move(const char *id, int64_t delay_ms, unsigned states); /* FROM(...) | ... */

#define FROM(state)   (1u << JOB_##state)
#define FROM_ANYWHERE (FROM(DELAYED) | FROM(READY) | FROM(RESERVED) | FROM(DEAD))

/* Pushed, popped and buried; nothing else may be ready. */
void make_dead(const char *id);

/* As get, with the time of its place. */
struct job_row look(const char *id);

/* A reserved job whose consumer has it, for `ttr_ms`. */
struct job hold(const char *id, int64_t ttr_ms);

/* The stand's. */
void lose(const char *id);
void repair(const char *id);

/* ---- looking ---- */

int64_t store_now(void);
int64_t after(const struct op *op,
              int64_t ms);       /* when what began with it and lasts `ms` is over */
void wait_until(int64_t now_ms); /* on the store's clock */

/* Scans TOPIC's bucket until the clock has reached `now_ms`; the last scan. */
struct op scan_at(int64_t now_ms);

/* When TOPIC's next job is due or next deadline ends; -1: never. Pushes and takes a job of
 * its own to find out. */
int64_t next_event_ms(void);

/* How often `topic` has been announced; waits for what is on its way. */
unsigned wake_ups(struct bytes topic);

/* ---- judging ---- */

#define assert_status(op, expected) assert_int_equal((op).status, STATUS_##expected)

void assert_bytes(struct bytes actual, struct bytes expected);
void assert_state(const char *id, enum job_state state);
void assert_dead(const char *id, enum death death);
void assert_gone(const char *id);
void assert_counts(struct bytes topic, int delayed, int ready, int reserved); /* none dead */
void assert_all_counts(int delayed, int ready, int reserved, int dead);       /* of TOPIC */

/* These ids, in this order, are what was popped. */
void assert_popped(const struct op *op, unsigned count, const char *const *ids);
#define ASSERT_POPPED(op, ...)                                                   \
    assert_popped(&(op), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
                  (const char *[]){__VA_ARGS__})

/* These ids, in this order, are all that is ready in TOPIC. They are popped. */
void assert_ready(unsigned count, const char *const *ids);
#define ASSERT_READY(...)                                                \
    assert_ready(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
                 (const char *[]){__VA_ARGS__})

#endif
