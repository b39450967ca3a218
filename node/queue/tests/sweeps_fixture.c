#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/sweeps_fixture.h"

struct fixture f;

int set_up(void **state)
{
    fixture_start(&f, 4);
    fixture_turn(&f);
    return 0;
}

int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

void on_swept(struct sweep *sweep)
{
    struct broom *broom = CONTAINER_OF(sweep, struct broom, sweep);

    broom->done++;
    broom->status = sweep->status;
    broom->count = sweep->count;
    broom->has_more = sweep->has_more;
}

void begin(struct broom *broom, enum op_verb verb, unsigned states)
{
    broom->sweep.topic = BYTES("t");
    broom->sweep.verb = verb;
    broom->sweep.states = states;
    broom->sweep.on_done = on_swept;
    queue_sweep(f.q, &broom->sweep);
    assert_int_equal(broom->done, 0); /* never from inside the call */
}

void sweep(struct broom *broom, enum op_verb verb, unsigned states)
{
    begin(broom, verb, states);
    fixture_turn(&f);
    assert_int_equal(broom->done, 1);
}

void push_many(unsigned count, int64_t delay_ms)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(push(&f, "t", "", delay_ms, 5000), STATUS_OK);
}

void bury_many(unsigned count)
{
    struct consumer c = {0};

    push_many(count, 0);
    for (unsigned i = 0; i < count; i++) {
        struct call call = {0};

        consume(&f, &c, "t", 1, 0);
        assert_int_equal(submit(&f, &call, OP_BURY, "t", c.ids[0], c.stamps[0]), STATUS_OK);
        delivered(&f, &c);
    }
}

struct call stats(void)
{
    struct call call = {0};

    assert_int_equal(submit(&f, &call, OP_STATS, "t", "", 0), STATUS_OK);
    return call;
}

void begin_slowly(struct broom *broom)
{
    broom->sweep.limit = 2000;
    push_many(2000, 0);
    memory_store_hold(f.ms);
    begin(broom, OP_PURGE, 1u << JOB_READY);
    fixture_advance(&f, 30);
    memory_store_unhold(f.ms);
    fixture_turn(&f);
}
