/* The contract of the coordinator's port, as tests that run on the fake ensemble and on a real
 * server, so that the fake cannot lie.
 *
 * A *stand* is two clients of one ensemble and a way to let time pass for them. The tests use
 * only the port.
 */
#ifndef DUEQ_HA_COORD_TESTS_COORDINATOR_CONTRACT_H
#define DUEQ_HA_COORD_TESTS_COORDINATOR_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/coord/coordinator.h"

#define CONTRACT_SESSION_MS 30000

struct stand {
    struct coordinator *first, *second;
    const char *root;                  /* path of a znode for the test, not there yet */
    void (*turn)(struct stand *stand); /* lets the next thing happen */
    void (*cut)(struct stand *stand);  /* the connections of both break, now */
};

/* Around each test: opens both clients and waits for them; closes them. */
void contract_begin(struct stand *it);
void contract_end(void);

extern const struct CMUnitTest coordinator_contract[];
extern const size_t coordinator_contract_count;

#endif
