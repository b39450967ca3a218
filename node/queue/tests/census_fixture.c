#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "node/queue/tests/census_fixture.h"

struct fixture f;

int set_up(void **state)
{
    fixture_start(&f, 4);
    fixture_turn(&f);
    return 0;
}

int set_up_wide(void **state)
{
    fixture_start(&f, 20);
    fixture_turn(&f);
    return 0;
}

int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

void on_asked(struct census_call *call)
{
    struct asked *a = CONTAINER_OF(call, struct asked, call);

    a->done++;
    a->status = call->status;
    a->has_census = call->last;
    if (call->last) {
        a->census = *call->last;
        if (call->last->top_count) {
            struct topic_count first = call->last->top[0];

            snprintf(a->first, sizeof(a->first), "%.*s", BYTES_ARG(first.topic));
            a->first_delayed = first.stats.delayed;
        }
    }
    if (a->asks_again) {
        a->asks_again = false;
        queue_census(f.q, call);
    }
}

void ask(struct asked *a, int64_t wait_ms)
{
    a->call.wait_ms = wait_ms;
    a->call.on_done = on_asked;
    queue_census(f.q, &a->call);
    assert_int_equal(a->done, 0);
}

void ask_and_turn(struct asked *a)
{
    ask(a, 1000);
    fixture_turn(&f);
    assert_int_equal(a->done, 1);
}

uint64_t walks(void)
{
    return queue_stats(f.q)->census_walks;
}

unsigned long pages(void)
{
    return memory_store_count(f.ms, OP_TOPICS);
}
