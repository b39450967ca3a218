/* Shared by all of the simulation: dice that a seed decides, messages between its parts, and a
 * trace of the newest events.
 *
 * The simulation runs N nodes (the real ha.c and all under it) in one process and in virtual
 * time, against every fault of a bad day, and asserts the promises at every step:
 *
 *   zk*.c       three ZooKeeper servers, as nasty as real ones
 *   client.c    a node's way to them
 *   store.c     Redis: jobs, and a fence in each bucket
 *   peers.c     the links between the nodes, and proofs of death
 *   node.c      a node's process, its warden, its scanner
 *   fault*.c    the faults, by seed
 *   judge.c     the promises that must never be broken
 *   plant.c     planted mistakes, which show that the judge sees
 *   world.c     the clock that drives all of them
 *   main.c      the program
 */
#ifndef DUEQ_HA_SIM_BASE_H
#define DUEQ_HA_SIM_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "ha/fake/wire.h"
#include "ha/rule/token.h"

#define SIM_NODES 3
#define SIM_T     2000 /* session timeout */

/* ---- dice ---- */

void sim_dice_seed(uint64_t seed);
unsigned sim_below(unsigned limit);        /* 0 to limit - 1 */
int64_t sim_between(int64_t a, int64_t b); /* both included */
bool sim_chance(unsigned percent);

/* ---- time ---- */

/* Milliseconds, the same for all; a node's CLOCK_BOOTTIME is that plus an offset of its own. */
extern int64_t sim_now;
extern int64_t sim_tick_ms; /* ZooKeeper's, by the seed: T/10 to T/4 */

/* Arms a timer for `delay_ms` from sim_now, even if `timers` have not been run lately. */
void sim_arm(struct timers *timers, struct timer *t, int64_t delay_ms);

/* The time a message takes: mostly a millisecond, now and then much more. */
int64_t sim_delay(void);

/* ---- messages ---- */

enum sim_kind {
    /* Between ZooKeeper's servers. */
    SIM_PROPOSE, /* entry, index */
    SIM_ACK,     /* index: so many entries have been logged */
    SIM_COMMIT,  /* index: so many entries are decided */
    SIM_PING,
    SIM_PONG,       /* base.data: sessions touched since the last pong */
    SIM_REQUEST,    /* entry */
    SIM_REVALIDATE, /* session, conn */
    SIM_VALID,      /* session, conn; index: 0 no such session */

    /* Between nodes. */
    SIM_HELLO, /* base.who */
    SIM_END,   /* the connection has ended */
    SIM_QUESTION,
    SIM_PROMISE,

    /* To the store and back. */
    SIM_ASSERT, /* token, bucket */
    SIM_LOOK,   /* bucket: which jobs are due? No effect, so no token */
    SIM_DUE,    /* bucket; base.data: their numbers */
    SIM_MOVE,   /* token, bucket; base.data: these become ready */
    SIM_DONE,   /* bucket */
    SIM_FENCED, /* token: the one it has seen; bucket */
};

struct sim_entry;

struct sim_note {
    struct fake_message base; /* first: a note is sent and freed as a fake_message */
    enum sim_kind kind;
    unsigned from;  /* node or server */
    unsigned link;  /* of this connection; void on a newer one */
    unsigned index; /* see above */
    unsigned conn;  /* of a client */
    int64_t session;
    struct sim_entry *entry;
    struct token token;
    uint64_t seq;
    int64_t session_ms;
    struct fake_wire *back; /* where the answer goes */
    unsigned bucket;
    bool is_look; /* a look, a move, or the answer to one */
};

struct sim_note *sim_note_new(enum sim_kind kind, unsigned from);
struct sim_note *sim_note_of(struct fake_message *m);
void sim_note_free(struct sim_note *n);

/* Takes the note, which arrives after sim_delay() and after all notes sent before. */
void sim_send(struct fake_wire *w, struct sim_note *n);

/* ---- trace ---- */

extern bool sim_is_tracing; /* print all at once */
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sim_trace_clear(void);
void sim_trace_dump(void); /* the newest lines, to standard error */

/* A promise was broken, and the run ends. sim_fail(): an event that must never happen.
 * sim_miss(): an event that did not happen, or too late, or too often. Only the first is kept.
 */
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sim_miss(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool sim_has_failed(void);
bool sim_was_unsafe(void);     /* by sim_fail() */
const char *sim_failure(void); /* "": none */
void sim_failure_clear(void);

#endif
