/* A loop whose time passes only when a test says so, with timers_run(): it is an hour ahead of
 * the real clock, which then moves no timer, however slow the machine is. */
#ifndef DUEQ_PROTOCOL_CONN_TESTS_AHEAD_H
#define DUEQ_PROTOCOL_CONN_TESTS_AHEAD_H

#include "base/clock.h"
#include "base/loop.h"

static inline struct loop *loop_new_ahead(void)
{
    struct loop *loop = loop_new();

    timers_run(&loop->timers, clock_mono_ms() + 3600000);
    return loop;
}

#endif
