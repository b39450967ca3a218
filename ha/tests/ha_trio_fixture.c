#include "ha/tests/ha_trio_fixture.h"

unsigned old, next, third;

int trio_setup(void **state)
{
    three_nodes_setup(state);
    old = (unsigned)leader();
    next = (old + 1) % NODES;
    third = (old + 2) % NODES;
    return 0;
}

bool has_another_leader(void)
{
    return is_led() && leader() != (int)old;
}

const struct ha_transition *newest_change(void)
{
    static struct ha_status s;

    s = status_of((unsigned)leader());
    return &s.transitions[s.transition_count - 1];
}
