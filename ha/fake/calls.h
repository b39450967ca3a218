/* The calls of the port that a client has under way, as zk_client.c has them for the real one.
 *
 * Calls are answered in the order in which they were sent. A call that could not begin, or
 * whose connection is gone, ends in a later turn.
 */
#ifndef DUEQ_HA_FAKE_CALLS_H
#define DUEQ_HA_FAKE_CALLS_H

#include "base/timer.h"
#include "ha/coord/coordinator.h"
#include "ha/fake/wire.h"

struct fake_calls {
    struct list in_flight;
    struct later ended; /* to be told */
    bool is_telling;    /* on_done of a call is running */
};

void fake_calls_init(struct fake_calls *cs, struct timers *timers);
void fake_calls_fini(struct fake_calls *cs); /* no on_done any more */

/* Writes the question of `call` into the message. */
void fake_calls_begin(struct fake_calls *cs, struct coord_call *call, struct fake_message *m);
void fake_calls_refuse(struct fake_calls *cs, struct coord_call *call,
                       enum coord_status status);

/* Ends the oldest call with a FAKE_ANSWER. */
void fake_calls_answer(struct fake_calls *cs, const struct fake_message *m);
void fake_calls_end_all(struct fake_calls *cs, enum coord_status status);

#endif
