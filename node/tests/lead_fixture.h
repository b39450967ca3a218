/* Two nodes as far as leading goes: lead.c with a real ha/ and a real engine, on one memory
 * store and one fake ensemble, in virtual time. What it makes itself, the coordinator on
 * ZooKeeper and the links to other nodes, is replaced here under the same names.
 * Include after cmocka's headers.
 */
#ifndef DUEQ_NODE_TESTS_LEAD_FIXTURE_H
#define DUEQ_NODE_TESTS_LEAD_FIXTURE_H

#include "base/loop.h"
#include "ha/fake/coordinator.h"
#include "node/channel.h"
#include "node/lead.h"
#include "node/queue/queue.h"
#include "node/store/memory/store.h"

#define NODES         2
#define BUCKETS       4
#define T             2000
#define PATIENCE_MS   (5 * T)
#define LOCK_MS       3000
#define DIRECTORY_LEN 32

struct notifier {
    enum role_state role, before;
    enum role_reason reason;
    int64_t session, until_boot_ms; /* what the warden had been told by then */
    int64_t at_ms;
};

struct node {
    struct conf conf;
    struct loop loop;
    struct queue *queue;
    struct node_lead *lead;
    struct channel_reported warden; /* what it was told */
    struct memory_store *ms;
    struct fake_coordinator zk;
    struct peers peers;
    bool is_running, is_stopped;
    char refused[256]; /* what on_refused said; "": nothing */

    struct notifier told[32]; /* each on_role */
    unsigned told_count;
    int warden_fd;                 /* the warden's end of the channel */
    int64_t warden_session;        /* what was read there last */
    unsigned warden_messages;      /* how many told of a session */
    int64_t warden_until_boot_ms;  /* read there last */
    bool is_no_successor_reported; /* the same */
};

extern struct fake_ensemble ensemble;
extern struct node nodes[NODES];
extern int64_t now;
extern char directory[DIRECTORY_LEN]; /* the first node's ha.journal, and the log of errors */

/* cmocka's: two nodes that may still be changed, and none is started. */
int world_setup(void **state);
int world_teardown(void **state);

void node_start(unsigned i);
void node_stop(unsigned i); /* begins to; is_stopped */

void run(int64_t ms);
void await(bool (*holds)(void)); /* for PATIENCE_MS at most, else the test fails */

bool first_leads(void), second_leads(void); /* by their role */
struct ha_status status_of(unsigned i);
enum role_state role_of(unsigned i);

/* The warden's end: reads what is there. */
void read_warden(struct node *n);

/* Nobody's operations, right at the store: all buckets get this token; does a scan of the first
 * one with this token have an effect? */
void fence_all(const char *token);
enum status scan_at_store(const char *token);

/* Pushes a job that is due in `delay_ms`; how many are ready. */
void push(unsigned i, int64_t delay_ms);
int64_t ready_count(unsigned i);

/* A file in `directory`; "" where there is none. Valid until the next call. */
const char *read_file(const char *name);

#endif
