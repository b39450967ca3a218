/* Three nodes, a fake ensemble and links between the nodes, in virtual time.
 *
 * At every millisecond the fixture checks that at most one node may act, or hold. A frozen
 * node's timers stand still while its clock goes on.
 */
#ifndef DUEQ_HA_TESTS_HA_FIXTURE_H
#define DUEQ_HA_TESTS_HA_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "ha/fake/coordinator.h"
#include "ha/ha.h"

#define NODES 3
#define T     2000

struct test_node {
    struct timers timers;
    struct fake_coordinator zk;
    struct peers peers;
    struct ha_options options;
    struct ha *ha;
    char name[8], address[16];
    bool is_alive, is_frozen;
    bool is_silent;     /* its peer link */
    bool drains;        /* answers DRAINING with ha_drained() at once; default */
    bool is_store_mute; /* the test calls ha_store_is(); else Redis is up from the start */
    bool is_left, is_stopped;
    struct coord_credentials reported; /* its session, to the others */
    unsigned peer_count;
    char refused[320];
    unsigned promoted, demoted;
    /* The list of the newest on_scanners: "na nb", sorted. */
    bool is_inside; /* a call: it must not come now */
    uint64_t view;
    char scanners[64];
    unsigned views;                   /* number of on_scanners */
    enum role_reason why[ROLE_COUNT]; /* the newest reason for entering each role */
};

extern struct fake_ensemble ensemble;
extern struct test_node nodes[NODES];
extern unsigned old, next, third; /* by their roles: the first leader, and the two others */
extern int64_t now, wall_offset;
extern unsigned acting_max; /* at any time, since the set-up */

/* A cluster without nodes: the test may change options, then start nodes. Ends the world
 * before. */
int world_setup(void **state);
int world_teardown(void **state);
int three_nodes_setup(void **state); /* all started, one leads */

#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)
#define ON_THREE(test) cmocka_unit_test_setup_teardown(test, three_nodes_setup, world_teardown)

void name_the_roles(void); /* `old` leads now; done by three_nodes_setup() */

void node_start(unsigned i);
void first_leads(void);     /* starts node 0, which is elected */
void node_kill(unsigned i); /* kill -9: its session ends by the clock */
void node_freeze(unsigned i, bool is_frozen);
void fence_by_another_ensemble(unsigned i);      /* Redis has seen its token */
void node_proves_dead(unsigned i, unsigned who); /* its peer link says that `who` is dead */
void node_scans(unsigned i, bool is_scanning);   /* where it shares: from its start on */

void run(int64_t ms);

void leads_on(int64_t ms); /* runs; `old` leads at every moment */

/* Runs until holds(), and fails after `ms`. Returns how long it took. */
int64_t await(bool (*holds)(void), int64_t ms);

/* The names under scanners/, as the ensemble has them: "na nb". */
const char *scanners_there(void);

int leader(void); /* the node that may act, or -1 */
bool is_led(void);
bool is_not_led(void);
bool has_another_leader(void); /* than `old` */
enum role_state role_of(unsigned i);
struct ha_status status_of(unsigned i);

/* The newest line of the history, as the leader sees it; until the next call. */
const struct ha_transition *newest_change(void);

/* By hand: sets a znode, or creates it; deletes it. */
void znode_put(const char *path, const char *text);
void znode_delete(const char *path);
bool znode_exists(const char *path);

/* The servers lose, or find, the quorum: they close all connections then. */
void lose_the_quorum(void);
void find_the_quorum(void);
void expire_all(void); /* every session */

/* From now on reads and lists with `part` in their path, and writes with it in the path of
 * their first change, end with `status` at node `i`, whatever was done; NULL: no more. For one
 * node at a time, already started. */
void calls_fail(unsigned i, const char *part, enum coord_status status);
void reads_fail(unsigned i, const char *part, enum coord_status status); /* writes do not */
/* The same for writes only, which write nothing. */
void writes_fail(unsigned i, const char *part, enum coord_status status);
unsigned calls_failed(void); /* since one of these was called */
void calls_succeed(void);    /* all of them, again */

/* Sends a request through node `i` and returns its end. */
enum status command(unsigned i, enum ha_request request, const char *to);
extern struct ha_command last_command;

#endif
